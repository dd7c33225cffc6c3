# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md: what it says is what the program says. Messages that are cheap to have are produced; the
words of the others have to be somewhere in the sources."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
from conftest import HERE, SAMPLE, daemon_of, is_mounted, needs_fuse, needs_root, run, sdsfs, wait_until
from pages import DOCS
from test_user import user

__all__ = ["user"]

PAGE = (DOCS / "troubleshooting.md").read_text()
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
NOT_OURS = {"unknown filesystem type 'sdsfs'", "mount failed: Operation not permitted"}  # mount(8)'s, libfuse's
FUSERMOUNT = ("option allow_other only", "user has no write access")


def explained(text: str | bytes) -> bool:
    """The page has a row with these words."""
    told = text if isinstance(text, str) else text.decode()
    return any(re.search(".*".join(map(re.escape, row.split("..."))), told) for row in MESSAGES)


def test_the_words_are_in_the_sources():
    """The longest piece of each row, less the check before it, as C or system text."""
    paths = [*(HERE.parent.parent / "src").rglob("*.c"), *(HERE.parent.parent / "src").rglob("*.h")]
    sources = re.sub(r'"\s*"', "", "\n".join(path.read_text() for path in paths))
    system = {os.strerror(getattr(errno, name)) for name in ("ENOTCONN", "EIO", "ETIMEDOUT", "EACCES", "EROFS", "EINVAL", "EPERM", "EBADF")}
    for row in MESSAGES:
        if row in NOT_OURS or row in system or row.startswith(FUSERMOUNT):
            continue
        check, _, rest = row.partition(": ")
        pieces = [piece.strip(" :()") for piece in (rest or check).split("...")]
        said = max(pieces, key=len) or check
        known = said in sources or said in system or f'"{said}' in sources
        assert known, f"{row}: nobody says {said!r}"
        if rest and re.fullmatch(r"[a-z_]+", check):
            assert f'"{check}"' in sources, f"{row}: there is no check {check!r}"


@pytest.fixture
def bad(tmp_path):
    """A copy of the sample, and its first data shard."""
    root = Path(shutil.copytree(SAMPLE, tmp_path / "bad.sds"))
    return root, min(root.glob("objects/data/*/*"))


def shown(*argv: object, **more: object) -> str:
    done = sdsfs(*argv, **more)
    assert done.returncode != 0
    return done.stderr.decode()


def test_roots_and_arguments(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for argv in (
        ("info", tmp_path / "nope"),
        ("info", tmp_path / "empty"),
        ("info", "ftp://host/x"),
        ("mount", SAMPLE, tmp_path / "nope"),
        ("mount", SAMPLE, SAMPLE / "root.json"),
        ("mount", "-o", "cachedir=/x", SAMPLE, tmp_path / "empty"),
        ("mount", "--fd", "77", SAMPLE),
        ("umount", tmp_path / "empty"),
        ("umount", "/proc"),
        ("query", "-o", f"cache_dir={tmp_path}/cache", SAMPLE, "rate > 1e6"),
        ("index", "-o", "cache_dir=/proc/x", SAMPLE),
        ("index", "-o", f"cache_dir={tmp_path}/open", SAMPLE),
        ("annotate", "-o", "state_dir=/proc/x", SAMPLE, "s", "--rows", "-"),
        ("annotate", SAMPLE, "s", "--rows", "/dev/null"),
        ("info", "-o", "profile=nosuch", "s3://bucket/x"),
    ):
        told = shown(*argv, stdin=-3)
        assert explained(told), told


def test_damage(bad, tmp_path):
    root, shard = bad
    content = shard.read_bytes()
    read = ("cat", root, "records/000000/samples.npy")
    assert explained(told := shown("cat", "-o", "max_record=1K", *read[1:])) and "limit:" in told
    shard.chmod(0o644)
    shard.write_bytes(content[:200] + b"x" + content[201:])
    assert explained(told := shown(*read)) and "chunk_hash:" in told
    shard.write_bytes(content[:-5])
    assert explained(told := shown(*read)) and "stored_bytes:" in told
    shard.unlink()
    assert explained(told := shown(*read)) and "absent:" in told


def test_servers(tmp_path):
    quick = "timeout=2,retries=0"
    assert explained(shown("info", "-o", quick, "http://127.0.0.1:1/x"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told = shown("info", "-o", quick, f"http://127.0.0.1:{silent.getsockname()[1]}/x")
    assert explained(told) and ("stalled:" in told or "timeout:" in told)


@needs_fuse
def test_of_a_mount(bad, tmp_path):
    root, shard = bad
    point = tmp_path / "captures"
    point.mkdir()
    own = {**os.environ, "STATE_DIRECTORY": str(tmp_path / "state"), "CACHE_DIRECTORY": str(tmp_path / "cache")}
    assert sdsfs("mount", root, point, env=own).returncode == 0
    try:
        assert explained(told := shown("mount", root, point)) and "already" in told
        with open(point / "root.json"):
            assert explained(told := shown("umount", point)) and "in use" in told
        for number, action in (
            (errno.EROFS, lambda: (point / "records/x").mkdir()),
            (errno.EIO, lambda: (point / "records/000000/samples.npy").read_bytes()),
        ):
            shard.unlink(missing_ok=True)
            with pytest.raises(OSError) as caught:
                action()
            assert caught.value.errno == number and explained(os.strerror(number))
        last = json.loads((point / "control/errors.jsonl").read_text().splitlines()[-1])
        assert explained(f"{last['check']}: {last['message']}"), last
        os.kill(daemon_of(point), signal.SIGKILL)
        assert wait_until(lambda: b"is not connected" in run("cat", point / "root.json").stderr)
        assert explained(run("cat", point / "root.json").stderr)
        assert explained(told := shown("status", point)) and "dead mount" in told
    finally:
        assert sdsfs("umount", point).returncode == 0
    assert not is_mounted(point)


@needs_root
@needs_fuse
def test_without_the_right_to_mount(tmp_path):
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = run(*powerless, os.environ["SDSFS"], "mount", SAMPLE, tmp_path)
    assert done.returncode == 4 and explained(done.stderr), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to prepare")
@pytest.mark.parametrize(
    ("options", "where", "as_root"),
    [
        ("-o auto_unmount", "$MNT", ""),
        ("-o allow_other", "$MNT", ""),
        ("", "/usr", ""),
        ("", "$MNT", "chmod 600 /dev/fuse"),
        ("", "$MNT", 'mount --bind /dev/null "$(readlink -f "$(command -v fusermount3)")"'),
    ],
)
def test_ordinary_users(user, options, where, as_root):
    conf = Path("/etc/fuse.conf")
    if "allow" in options and conf.exists() and "\nuser_allow_other" in conf.read_text():
        pytest.skip("allowed here")
    done = user.run(f'"$SDSFS" mount {options} "$ROOT" {where}', as_root=as_root)
    assert done.returncode == 4 and explained(done.stderr), done.stderr
