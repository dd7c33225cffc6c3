# SPDX-License-Identifier: Apache-2.0
"""The local store beside the reference's: the same files, the same lock, the same versions (docs/stores.md)."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import stat
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import needs_root, run

pytest.importorskip("signal_dataset")
from signal_dataset.errors import PublicationCollisionError  # noqa: E402
from signal_dataset.storage import LocalObjectStore  # noqa: E402

STORE_OBJECT = os.environ.get("STORE_OBJECT", "")
CATALOG = "annotations/catalog.json"
pytestmark = pytest.mark.skipif(not STORE_OBJECT, reason="store_object was not built")


def ours(root: Path, *argv: object, content: bytes = b"", **more: object) -> str:
    """What the program printed: "" or a token when it succeeded, else kind and check."""
    done = run(STORE_OBJECT, root, *argv, input=content, **more)
    assert done.returncode in (0, 1) and not done.stderr, done
    return done.stdout.decode().strip()


class Reference:
    def __init__(self, root: Path) -> None:
        self.root, self.store = root, LocalObjectStore(root=root)

    def create(self, path: str, content: bytes) -> bool:
        try:
            self.store.create(f"{self.root}/{path}", content, content_type="")
        except PublicationCollisionError:
            return False
        return True

    def seen(self, path: str):
        return self.store.read_version(f"{self.root}/{path}")

    def swap(self, path: str, content: bytes, seen: int | None) -> bool:
        try:
            self.store.compare_and_swap(f"{self.root}/{path}", content, expected_generation=seen, content_type="")
        except PublicationCollisionError:
            return False
        return True


def tree(root: Path) -> dict[str, tuple[str, bytes]]:
    """Everything below a root: type, mode and content."""
    return {
        str(p.relative_to(root)): (stat.filemode(p.lstat().st_mode), p.read_bytes() if p.is_file() else b"")
        for p in root.rglob("*")
    }


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077, 0o002])
def test_leaves_what_the_reference_leaves(tmp_path, umask):
    for who in ("ours", "theirs"):
        (tmp_path / who).mkdir()
    old = os.umask(umask)
    try:
        theirs = Reference(tmp_path / "theirs")
        theirs.create("a/b/object", b"content")
        theirs.create("a/c/empty", b"")
        theirs.swap(CATALOG, b"one", None)
        theirs.swap(CATALOG, b"two", theirs.seen(CATALOG).generation)
        root = tmp_path / "ours"
        assert ours(root, "create", "a/b/object", content=b"content") == ""
        assert ours(root, "create", "a/c/empty") == ""
        assert ours(root, "swap", CATALOG, "-", content=b"one") == ""
        assert ours(root, "swap", CATALOG, ours(root, "version", CATALOG), content=b"two") == ""
    finally:
        os.umask(old)
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    assert ".catalog.json.lock" in os.listdir(root / "annotations")


def test_each_sees_what_the_other_did(tmp_path):
    theirs = Reference(tmp_path)
    assert ours(tmp_path, "create", "a/x", content=b"1") == ""
    assert not theirs.create("a/x", b"2")
    assert theirs.seen("a/x").data == b"1"
    assert theirs.create("a/y", b"2")
    assert ours(tmp_path, "create", "a/y", content=b"1") == "conflict exists"

    assert ours(tmp_path, "version", CATALOG) == "-"
    assert theirs.swap(CATALOG, b"theirs", None)
    assert ours(tmp_path, "swap", CATALOG, "-", content=b"ours") == "conflict changed"
    token = ours(tmp_path, "version", CATALOG)
    assert theirs.swap(CATALOG, b"theirs", theirs.seen(CATALOG).generation)  # the same bytes
    assert ours(tmp_path, "swap", CATALOG, token, content=b"ours") == "conflict changed"

    seen = theirs.seen(CATALOG).generation
    assert ours(tmp_path, "swap", CATALOG, ours(tmp_path, "version", CATALOG), content=b"ours") == ""
    assert not theirs.swap(CATALOG, b"lost", seen)
    assert not theirs.swap(CATALOG, b"lost", None)
    assert theirs.swap(CATALOG, b"last", theirs.seen(CATALOG).generation)
    assert theirs.seen(CATALOG).data == b"last"


def test_waits_for_their_lock(tmp_path):
    assert ours(tmp_path, "swap", CATALOG, "-", content=b"one") == ""
    token = ours(tmp_path, "version", CATALOG)
    with open(tmp_path / "annotations/.catalog.json.lock", "a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen([STORE_OBJECT, tmp_path, "swap", CATALOG, token], stdin=subprocess.DEVNULL)
        time.sleep(0.3)
        assert waiting.poll() is None
        assert (tmp_path / CATALOG).read_bytes() == b"one"
    assert waiting.wait(10) == 0
    assert (tmp_path / CATALOG).read_bytes() == b""


def test_two_versions_of_theirs_in_one_step_of_the_clock(tmp_path):
    theirs = Reference(tmp_path)
    theirs.swap(CATALOG, b"one", None)
    token, seen = ours(tmp_path, "version", CATALOG), theirs.seen(CATALOG)
    theirs.swap(CATALOG, b"two", seen.generation)
    os.utime(tmp_path / CATALOG, ns=(seen.generation, seen.generation))
    assert ours(tmp_path, "swap", CATALOG, token, content=b"lost") == "conflict changed"
    # And the next one of ours is told apart by them, though the clock has not moved for them.
    assert ours(tmp_path, "swap", CATALOG, ours(tmp_path, "version", CATALOG), content=b"ours") == ""
    assert theirs.seen(CATALOG).generation > seen.generation


def count_theirs(root: Path, times: int) -> None:
    theirs = Reference(root)
    while times > 0:
        try:
            seen = theirs.seen("deep/counter")
        except FileNotFoundError:
            times -= theirs.swap("deep/counter", b"1", None)
            continue
        times -= theirs.swap("deep/counter", str(int(seen.data) + 1).encode(), seen.generation)


def race(root: Path, writers: int, times: int) -> int:
    theirs = multiprocessing.get_context("spawn").Process(target=count_theirs, args=(root, times))
    theirs.start()
    mine = [
        subprocess.Popen([STORE_OBJECT, root, "count", "deep/counter", str(times)], stdin=subprocess.DEVNULL)
        for _ in range(writers)
    ]
    assert [p.wait(120) for p in mine] == [0] * writers
    theirs.join(120)
    assert theirs.exitcode == 0
    assert sorted(os.listdir(root / "deep")) == [".counter.lock", "counter"]
    return int((root / "deep/counter").read_bytes())


def test_no_swap_is_lost(tmp_path):
    assert race(tmp_path, writers=4, times=50) == 5 * 50


def test_one_creates(tmp_path):
    theirs = Reference(tmp_path)
    for n in range(30):
        path = f"d{n}/e/object"
        won = []

        def mine(content: str) -> None:
            if ours(tmp_path, "create", path, content=content.encode()) == "":
                won.append(content)

        def reference() -> None:
            if theirs.create(path, b"theirs"):
                won.append("theirs")

        threads = [threading.Thread(target=mine, args=(c,)) for c in "ab"] + [threading.Thread(target=reference)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won == [(tmp_path / path).read_text()]
        assert os.listdir(tmp_path / f"d{n}/e") == ["object"]


def test_both_refuse_links(tmp_path):
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "link").symlink_to("real")
    (root / "real/file").symlink_to("nothing")
    (root / "plain").write_bytes(b"")
    theirs = Reference(root)
    for path in ("link/x", "plain/x"):
        with pytest.raises(ValueError, match="symbolic links are not allowed"):
            theirs.create(path, b"")
        assert ours(root, "create", path) == "corrupt path"
    assert not theirs.create("real/file", b"")
    assert ours(root, "create", "real/file") == "corrupt path"
    assert not (root / "real/nothing").exists()


def test_declared_bucket_mount(tmp_path):
    declared = {**os.environ, "SIGNAL_DATASET_MOUNT_ROOTS": f"/mnt/bucket:{tmp_path}"}
    assert ours(tmp_path, "can-publish") == ""
    assert ours(tmp_path, "can-publish", env=declared) == "unsupported conditional_writes"


@contextmanager
def file_system(point: Path, *argv: object):
    """Mounts something there for the time being; skips where that is not possible."""
    point.mkdir()
    if run("mount", *argv, point).returncode != 0:
        pytest.skip("cannot mount it here")
    try:
        yield point
    finally:
        run("umount", "-l", point)


def names(root: Path) -> list[str]:
    return sorted(p for p, (mode, _) in tree(root).items() if mode[0] != "d")


@needs_root
def test_full_disk(tmp_path):
    with file_system(tmp_path / "m", "-t", "tmpfs", "-o", "size=256k", "none") as root:
        assert ours(root, "create", "a/fits", content=b"x" * 100_000) == ""
        assert ours(root, "create", "a/large", content=b"x" * 500_000) == "storage space"
        assert ours(root, "swap", CATALOG, "-", content=b"one") == ""
        token = ours(root, "version", CATALOG)
        assert ours(root, "swap", CATALOG, token, content=b"x" * 500_000) == "storage space"
        assert (root / CATALOG).read_bytes() == b"one"
        assert names(root) == ["a/fits", CATALOG]
        assert ours(root, "swap", CATALOG, token, content=b"two") == ""


@needs_root
def test_read_only_file_system(tmp_path):
    with file_system(tmp_path / "m", "-t", "tmpfs", "none") as root:
        assert ours(root, "swap", CATALOG, "-", content=b"one") == ""
        token = ours(root, "version", CATALOG)
        assert run("mount", "-o", "remount,ro", root).returncode == 0
        assert ours(root, "create", "new/x") == "denied read_only"
        assert ours(root, "create", "annotations/x") == "denied read_only"
        assert ours(root, "create", CATALOG) == "conflict exists"
        assert ours(root, "swap", CATALOG, token, content=b"two") == "denied read_only"


@needs_root
def test_another_users_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for path in (root, *root.parents[:3]):
        path.chmod(0o755)
    assert ours(root, "create", "a/x", user="nobody") == "denied permission"
    root.chmod(0o777)
    assert ours(root, "swap", CATALOG, "-", content=b"one") == ""
    (root / CATALOG).chmod(0o644)
    token = ours(root, "version", CATALOG, user="nobody")
    assert ours(root, "swap", CATALOG, token, user="nobody") == "denied permission"
    assert names(root) == [CATALOG]


@needs_root
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_two_users_of_one_root(tmp_path, umask):
    """What the first one makes can be read by whoever can read root.json, its lock included, so the
    second one, who may write into the directory, replaces it."""
    root = tmp_path / "root"
    (root / "annotations").mkdir(parents=True)
    for path in (root, *root.parents[:3]):
        path.chmod(0o755)
    (root / "annotations").chmod(0o777)
    (root / "root.json").write_text("{}")
    (root / "root.json").chmod(0o644)
    token = "-"
    for user in (None, None, "nobody", None, "nobody"):  # the second swap makes the lock
        more = {"user": user, "group": "nogroup", "extra_groups": []} if user else {}
        assert ours(root, "swap", CATALOG, token, content=str(user).encode(), umask=umask, **more) == ""
        assert stat.S_IMODE((root / CATALOG).stat().st_mode) == 0o644
        token = ours(root, "version", CATALOG)
    assert stat.S_IMODE((root / "annotations/.catalog.json.lock").stat().st_mode) == 0o644
    assert (root / "annotations/.catalog.json.lock").stat().st_uid == 0


@needs_root
def test_mtimes_in_whole_seconds(tmp_path):
    """A file system that keeps no parts of a second: versions are told apart all the same."""
    image = tmp_path / "image"
    with open(image, "wb") as f:
        f.truncate(8 << 20)
    if run("mkfs.ext4", "-q", "-I", "128", image).returncode != 0:
        pytest.skip("no mkfs.ext4")
    with file_system(tmp_path / "m", "-o", "loop", image) as root:
        theirs = Reference(root)
        assert ours(root, "swap", CATALOG, "-", content=b"0") == ""
        for n in range(2):
            seen = theirs.seen(CATALOG)
            assert seen.generation % 1_000_000_000 == 0
            assert ours(root, "swap", CATALOG, ours(root, "version", CATALOG), content=b"%d" % n) == ""
            assert not theirs.swap(CATALOG, b"lost", seen.generation)
        assert (root / CATALOG).read_bytes() == b"1"
