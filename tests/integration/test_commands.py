# SPDX-License-Identifier: Apache-2.0
"""The commands that read a dataset without a kernel."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pty
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import HERE, SAMPLE, SDSFS, error_line, needs_fuse, sdsfs


@pytest.fixture
def broken(tmp_path) -> Path:
    """A copy of the sample with one byte of a data shard wrong: one record's chunk."""
    root = Path(shutil.copytree(SAMPLE, tmp_path / "broken.sds"))
    shard = max(root.glob("objects/data/*/*.arrayrecord"), key=lambda p: p.stat().st_size)
    shard.chmod(0o644)
    content = bytearray(shard.read_bytes())
    content[1000] ^= 1
    shard.write_bytes(content)
    return root


def test_help_and_version():
    done = sdsfs("--help")
    assert done.returncode == 0 and done.stderr == b""
    commands = ["mount", "umount", "info", "verify", "ls", "cat", "cp", "shard"]
    for command in commands:
        assert f"\n  {command} ".encode() in done.stdout
        own = sdsfs(command, "--help")
        assert own.returncode == 0 and own.stdout.startswith(f"Usage: sdsfs {command} ".encode())
        takes_options = command not in ("umount", "shard")
        assert (b"Options (-o):" in own.stdout) == takes_options
    done = sdsfs("--version")
    assert done.returncode == 0 and done.stdout.startswith(b"sdsfs 0.")


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["info", "/no\nwhere"], '"/no\\x0Awhere": '),
        (["info", "s3://b/a\tb"], '"s3://b/a\\x09b": root: it has a tab in it'),
        (["ls", SAMPLE, "a\x1b[31m"], "\\x1B[31m"),
        (["cp", SAMPLE, "root.json", "/no\n/where/"], "\\x0A"),
        (["umount", "/no\nwhere"], "\\x0A"),
        (["mount", SAMPLE, "/no\nwhere"], "\\x0A"),
        (["no\nsuch"], '"no\\x0Asuch": unknown command'),
        (["info", "--no\nsuch", "x"], '"--no\\x0Asuch": unknown option'),
        (["info", "-o", "no\nsuch", "x"], "unknown option"),
        (["info", "-o", "threads=\n", "x"], "threads="),
        (["shard", "/no\nwhere"], "\\x0A"),
        (["status", "/no\nwhere"], "\\x0A"),
    ],
)
def test_an_error_is_one_line_whatever_was_typed(argv, shown):
    done = sdsfs(*argv)
    line = error_line(done)
    assert done.returncode != 0 and shown in line and line.isprintable()


def at_server(home: Path, *argv: str, **env: str) -> subprocess.CompletedProcess:
    known = {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "*"}
    return sdsfs(*argv, env=known | {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")} | env)


def test_credentials_that_fail_are_one_line(tmp_path):
    (tmp_path / ".aws").mkdir()
    os.mkfifo(tmp_path / ".aws/credentials")
    options = f"endpoint=http://127.0.0.1:1,retries=1,timeout=3,cache_dir={tmp_path / 'cache'}"
    done = at_server(tmp_path, "info", "-o", options, "s3://b/a", AWS_REGION="x")
    assert done.returncode == 3 and "is a pipe, not a file" in error_line(done) and "s3://b/a" in error_line(done)
    (tmp_path / ".aws/credentials").unlink()
    with socket.create_server(("127.0.0.1", 0)) as mute:  # connections are made, and nobody answers
        where = f"http://127.0.0.1:{mute.getsockname()[1]}/keys"
        for level in ("info", "warning"):
            argv = ("info", "-o", f"{options},log={level}", "s3://b/a")
            line = error_line(at_server(tmp_path, *argv, AWS_CONTAINER_CREDENTIALS_FULL_URI=where))
            assert "s3://b/a" in line and "the container's endpoint" in line, line


def test_a_cache_directory_that_does_not_work_is_named_once(tmp_path):
    done = at_server(tmp_path, "info", "-o", "cache_dir=/proc/x,timeout=2,retries=0", "http://127.0.0.1:1/x")
    first, _ = done.stderr.decode().splitlines()
    assert first == 'sdsfs: http://127.0.0.1:1/x: the disk cache does not work: cache_dir: "/proc/x": cannot be made: No such file or directory'


def test_the_manual_knows_every_option():
    text = (HERE.parent.parent / "man/sdsfs.1").read_text()
    own = sdsfs("mount", "--help").stdout.decode().split("Options (-o):", 1)[1]
    names = [line.split()[0].split("=")[0] for line in own.splitlines() if line.startswith("  ")][:-1]
    assert len(names) > 8
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        ([], "a command is missing"),
        (["moutn"], "moutn: unknown command (did you mean mount?)"),
        (["unmount"], "unmount: unknown command (did you mean umount?)"),
        (["stat"], "stat: unknown command (did you mean status?)"),
        (["list"], "list: unknown command (see"),  # cat, ls and shard are other words
        (["--nope"], "--nope: unknown command"),
        (["ls"], "ROOT is missing"),
        (["ls", "a", "b", "c"], "too many arguments: c"),
        (["cat", "a"], "PATH is missing"),
        (["cp", "a", "b"], "DEST is missing"),
        (["query", "a"], "WHERE is missing"),
        (["annotate", "a"], "SET is missing"),
        (["umount"], "MOUNTPOINT is missing"),
        (["status", "a", "b\n"], 'too many arguments: "b\\x0A"'),
        (["mount"], "ROOT is missing"),
        (["mount", "a"], "MOUNTPOINT is missing"),
        (["mount", "a", "b", "c"], "too many arguments: c"),
        (["info", "--nope", "a"], "--nope: unknown option (see"),
        (["verify", "--recods", "a"], "--recods: unknown option (did you mean --records?)"),
        (["annotate", "--publicaton-id=3", "a", "b"], "unknown option (did you mean --publication-id?)"),
        (["ls", "-z", "a"], "-z: unknown option"),
        (["info", "-o"], "-o needs an argument"),
        (["info", "-o", "mem_cache=5x", "a"], "mem_cache=5x: expected SIZE, such as 512M"),
        (["info", "-o", "refresh=soon", "a"], "refresh=soon: expected SECONDS, such as 30"),
        (["info", "-o", "umask=9", "a"], "umask=9: expected OCTAL, such as 022"),
        (["info", "-o", "log=all", "a"], "log=all: expected error|warning|info|debug (see"),
        (["info", "-o", "cache=1", "a"], "cache: unknown option (did you mean cache_dir, cache_size?)"),
        (["info", "-o", "tmeout=1", "a"], "tmeout: unknown option (did you mean timeout?)"),
        (["info", "-o", "color", "a"], "color: unknown option (see"),
        (["shard"], "FILE is missing"),
        (["shard", "a", "1", "2"], "too many arguments: 2"),
        (["shard", "file", "-1"], "-1: unknown option"),
        (["shard", "file", "one"], "one: not an index"),
        (["shard", "file", "99999999999999999999"], "not an index"),
    ],
)
def test_usage(argv, why):
    done = sdsfs(*argv)
    assert done.returncode == 2
    assert why in error_line(done)


def test_roots_that_are_none(tmp_path):
    for command in ("info", "verify", "ls"):
        done = sdsfs(command, tmp_path / "nope")
        assert done.returncode == 3 and str(tmp_path / "nope") in error_line(done)
        done = sdsfs(command, tmp_path)
        assert done.returncode == 1 and str(tmp_path) in error_line(done)
        done = sdsfs(command, "ftp://host/data")
        assert done.returncode == 2 and "ftp://host/data" in error_line(done)


def test_roots_that_are_links_or_files(tmp_path):
    (tmp_path / "link").symlink_to(SAMPLE)
    (tmp_path / "astray").symlink_to("nowhere")
    for root, told in (
        (tmp_path / "link", f'it is a symbolic link; what it leads to can be given: "{SAMPLE.resolve()}"'),
        (tmp_path / "astray", "it is a symbolic link that leads nowhere"),
        (SAMPLE / "root.json", "it is a file, not a directory (the root is the directory above root.json)"),
    ):
        done = sdsfs("info", root)
        assert done.returncode == 2 and told in error_line(done), done.stderr


def test_roots_that_were_to_be_on_a_server():
    for root, place in (("s3:/bucket/x", "s3://BUCKET"), ("gs:bucket", "gs://BUCKET"), ("https:/host/x", "https://HOST")):
        done = sdsfs("info", root)
        assert done.returncode == 3 and f"there is no such directory (a path; write {place} for" in error_line(done)
    assert "BUCKET" not in error_line(sdsfs("info", "s3x"))


@pytest.mark.parametrize(
    "root",
    [
        "http://user:s3cret@127.0.0.1:9/data",
        "https://s3cret@host/data",
        "http://user:s3cret/of@host/data",
        "http://user:pa@s3cret@host/data",
        "http://user:s3cret?of@host/data",
        "https://127.0.0.1:9/data?token=s3cret",
        "https://127.0.0.1:9/data#s3cret",
        "s3://key:s3cret@bucket/data",
        "gs://bucket/data?token=s3cret",
        "ftp://user:s3cret@host/data",
    ],
)
def test_no_output_has_a_password(tmp_path, root):
    commands = [
        *([command, root] for command in ("info", "verify", "ls")),
        ["cat", root, "root.json"],
        ["cp", root, "root.json", tmp_path],
        ["mount", root, tmp_path],
        ["mount", "-f", "-o", "log=debug", root, tmp_path],
        ["mount", "-o", "external=any", root, tmp_path],
    ]
    for command in commands:
        done = sdsfs(*command)
        assert done.returncode == 2, (command, done)
        assert b"s3cret" not in done.stdout + done.stderr, (command, done)
        assert "***" in error_line(done), (command, done)


# --- ls, cat --------------------------------------------------------------------------------------


def test_ls(tmp_path):
    top = sdsfs("ls", SAMPLE).stdout.decode().splitlines()
    assert top == sorted(top) and {"root.json", "records", "shards", "annotations"} <= set(top)
    assert "control" not in top and "index" not in top
    assert sdsfs("ls", SAMPLE, "records").stdout == b"".join(b"%06d\n" % i for i in range(48))
    assert sdsfs("ls", SAMPLE, "records/000003/metadata.json").stdout == b"records/000003/metadata.json\n"
    assert sdsfs("ls", f"{SAMPLE}/", "/records//000003/../000003/").returncode == 0


def test_ls_with_details():
    rows = [row.split() for row in sdsfs("ls", "-l", SAMPLE, "shards/000000").stdout.decode().splitlines()]
    named = {row[2]: row for row in rows}
    assert named["records"][0] == "dr-xr-xr-x"
    assert named["shard.json"][0] == "-r--r--r--"
    assert int(named["shard.json"][1]) == len(sdsfs("cat", SAMPLE, "shards/000000/shard.json").stdout)
    link = named["data.arrayrecord"]
    assert link[0] == "lrwxrwxrwx" and link[3] == "->" and link[4].startswith("../../objects/data/")
    assert int(link[1]) == len(link[4])


def test_cat_follows_links_and_goes_on():
    direct = sdsfs("cat", SAMPLE, "records/000002/metadata.json").stdout
    assert json.loads(direct)
    assert sdsfs("cat", SAMPLE, "shards/000000/records/000002/metadata.json").stdout == direct
    done = sdsfs("cat", SAMPLE, "nope", "root.json", "records", "root.json")
    assert done.returncode == 1
    assert done.stdout == 2 * (SAMPLE / "root.json").read_bytes()
    assert done.stderr.decode().splitlines() == [
        'sdsfs: nope: path: "nope": no such file or directory',
        "sdsfs: records: path: it is a directory",
    ]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("records/42/metadata.json", '"42": no such file or directory (it is called 000042)'),
        ("records/0000042", "(it is called 000042)"),
        ("shards/1/records/30", '"1": no such file or directory (it is called 000001)'),
        ("shards/000001/records/30", "(it is called 000030)"),
        ("records/000048", "(the last one is 000047)"),
        ("records/99999999999999999999", "(the last one is 000047)"),
        ("shards/99", '"99": no such file or directory'),
        ("records/x42", '"x42": no such file or directory'),
        ("records/000042/42", '"42": no such file or directory'),
    ],
)
def test_numbers_that_are_no_names(path, hint):
    for command in ("ls", "cat"):
        done = sdsfs(command, SAMPLE, path)
        assert done.returncode == 1 and error_line(done).endswith(hint)


def test_output_that_is_lost_is_an_error():
    for argv in (["ls", SAMPLE], ["cat", SAMPLE, "root.json"], ["info", SAMPLE], ["verify", SAMPLE], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([SDSFS, *argv], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 3 and b"No space left" in done.stderr


@needs_fuse
def test_the_tree_is_that_of_the_mount(mounted):
    def compare(path: str) -> None:
        names = sorted(os.listdir(mounted / path))
        listed = sdsfs("ls", SAMPLE, path).stdout.decode().splitlines()
        assert listed == [n for n in names if path or n not in ("control", "index")]
        for name in listed:
            if (mounted / path / name).is_dir() and not (mounted / path / name).is_symlink():
                if path != "records" or name < "000002":
                    compare(f"{path}/{name}" if path else name)

    compare("")


# --- cp -------------------------------------------------------------------------------------------


def files(root: Path) -> dict[str, object]:
    found = {}
    for where, dirs, names in os.walk(root):
        for name in dirs + names:
            path = Path(where, name)
            key = str(path.relative_to(root))
            found[key] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


@needs_fuse
def test_cp_copies_the_whole_tree(mounted, tmp_path):
    done = sdsfs("cp", "-r", SAMPLE, "", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, b"")
    expected = files(mounted)
    expected = {k: v for k, v in expected.items() if not k.startswith(("control", "index"))}
    assert files(tmp_path / "out") == expected
    # Again, over what is there, links included.
    assert sdsfs("cp", "-r", SAMPLE, "/", tmp_path / "out").returncode == 0
    assert files(tmp_path / "out") == expected


def test_cp_knows_where_to(tmp_path):
    assert sdsfs("cp", SAMPLE, "root.json", tmp_path).returncode == 0
    assert (tmp_path / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()
    assert sdsfs("cp", SAMPLE, "root.json", tmp_path / "other").returncode == 0
    assert (tmp_path / "other").read_bytes() == (SAMPLE / "root.json").read_bytes()
    assert sdsfs("cp", "-r", SAMPLE, "records/000001", tmp_path).returncode == 0
    assert (tmp_path / "000001/metadata.json").is_file()
    assert sdsfs("cp", "-r", SAMPLE, "records/000001/", tmp_path / "one").returncode == 0
    assert files(tmp_path / "one") == files(tmp_path / "000001")
    done = sdsfs("cp", SAMPLE, "records/000001", tmp_path / "two")
    assert done.returncode == 2 and "use -r" in error_line(done)
    done = sdsfs("cp", SAMPLE, "root.json", tmp_path / "no/where")
    assert done.returncode == 1 and str(tmp_path / "no/where") in error_line(done)


def test_cp_never_writes_through_a_link(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    out = tmp_path / "out"
    (out / "records").mkdir(parents=True)
    (out / "root.json").symlink_to(tmp_path / "precious")
    (out / "records/000001").symlink_to(tmp_path / "elsewhere")
    done = sdsfs("cp", "-r", SAMPLE, "", out)
    assert done.returncode == 1 and b"records/000001" in done.stderr
    assert (tmp_path / "precious").read_text() == "mine" and not os.listdir(tmp_path / "elsewhere")
    assert (out / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()
    assert (out / "records/000002/metadata.json").is_file()


def test_cp_goes_on_after_errors(broken, tmp_path):
    done = sdsfs("cp", "-r", broken, "records", tmp_path)
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert lines and all(line.startswith('sdsfs: "records/0') for line in lines)
    bad = [d for d in (tmp_path / "records").iterdir() if not (d / "record.safetensors").exists()]
    assert 1 <= len(bad) < 48
    assert all((d / "metadata.json").is_file() for d in (tmp_path / "records").iterdir())


# --- info, verify ---------------------------------------------------------------------------------


def test_info():
    facts = json.loads(sdsfs("info", "--json", SAMPLE).stdout)
    assert facts["record_count"] == 48
    keys = {"driver", "dataset_id", "snapshot_id", "shard_count", "stored_bytes", "manifest_pages", "annotation_sets"}
    assert keys <= set(facts)
    for line in (line for line in sdsfs("info", "--json", SAMPLE).stdout.decode().splitlines() if '"title"' in line):
        assert line.startswith('    "title"')  # what was copied as text stands where it would otherwise
    text = sdsfs("info", SAMPLE).stdout.decode()
    assert "metadata\n  {\n    \"license\"" in text
    for key in ("driver", "dataset_id", "snapshot_id", "record_count"):
        assert any(line.split() == [key, str(facts[key])] for line in text.splitlines())
    assert "review-v1" in text


def test_verify_a_sound_dataset():
    for argv in ([], ["--records"], ["--records", "--strict"]):
        done = sdsfs("verify", *argv, SAMPLE)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"sound: 0 problems, 0 warnings\n", b"")
    assert json.loads(sdsfs("verify", "--json", SAMPLE).stdout) == {"sound": True, "problems": 0, "warnings": 0}


def test_verify_names_each_problem(broken):
    done = sdsfs("verify", "--records", broken)
    *findings, summary = done.stdout.decode().splitlines()
    assert done.returncode == 1 and summary.startswith("unsound: ")
    assert findings and all(line.startswith("problem: ") for line in findings)
    done = sdsfs("verify", "--records", "--json", broken)
    *findings, summary = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 1
    assert summary == {"sound": False, "problems": len(findings), "warnings": 0}
    assert all(set(f) == {"severity", "path", "object", "check", "message"} for f in findings)
    done = sdsfs("ls", broken)  # the rest keeps working
    assert done.returncode == 0


def test_verify_shows_progress_on_a_terminal():
    leader, follower = pty.openpty()
    done = subprocess.run([SDSFS, "verify", "--records", SAMPLE], stdout=subprocess.PIPE, stderr=follower)
    os.close(follower)
    drawn = b""
    with contextlib.suppress(OSError):  # what reading a terminal that nobody holds any more ends in
        while part := os.read(leader, 1 << 16):
            drawn += part
    os.close(leader)
    assert done.returncode == 0 and done.stdout == b"sound: 0 problems, 0 warnings\n"
    assert b"\r" in drawn and drawn.endswith(b"\r\x1b[K")


# --- shard ----------------------------------------------------------------------------------------


def test_shard(broken):
    path = next(SAMPLE.glob("objects/data/*/*.arrayrecord"))
    rows = [json.loads(row) for row in sdsfs("shard", "--json", path).stdout.splitlines()]
    assert [row["index"] for row in rows] == list(range(len(rows))) and rows
    one = sdsfs("shard", path, len(rows) - 1)
    assert one.returncode == 0 and len(one.stdout) == rows[-1]["bytes"]
    assert hashlib.sha256(one.stdout).hexdigest() == rows[-1]["sha256"]
    text = [row.split() for row in sdsfs("shard", path).stdout.decode().splitlines()]
    assert text == [[str(r["index"]), str(r["bytes"]), r["sha256"]] for r in rows]
    done = sdsfs("shard", path, len(rows))
    assert done.returncode == 1 and not done.stdout and "index" in error_line(done)


def test_shard_that_is_broken(broken, tmp_path):
    path = max(broken.glob("objects/data/*/*.arrayrecord"), key=lambda p: p.stat().st_size)
    done = sdsfs("shard", "--json", path)
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    assert done.returncode == 1 and any("error" in row for row in rows) and any("sha256" in row for row in rows)
    assert b" error: " in sdsfs("shard", path).stdout
    (tmp_path / "none").write_bytes(b"not an ArrayRecord file")
    done = sdsfs("shard", tmp_path / "none")
    assert done.returncode == 1 and not done.stdout and str(tmp_path / "none") in error_line(done)
    assert sdsfs("shard", tmp_path).returncode == 3
    assert sdsfs("shard", tmp_path / "nope").returncode == 3


def test_cp_never_touches_the_dataset(tmp_path):
    root = Path(shutil.copytree(SAMPLE, tmp_path / "x"))
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    for path, to in (("root.json", root), ("objects", root), (".", root), ("root.json", root / "new"), (".", root / "objects")):
        done = sdsfs("cp", "-r", root, path, to)
        assert done.returncode == 1 and "inside the dataset" in error_line(done)
    assert {p: p.read_bytes() for p in root.rglob("*") if p.is_file()} == before


def test_cp_loses_nothing_when_it_fails(broken, tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("precious")
    bad = next(p for p in sdsfs("verify", "--records", broken).stdout.decode().split() if p.startswith("records/"))
    assert sdsfs("cp", broken, bad.rstrip(":"), kept).returncode == 1
    assert kept.read_text() == "precious" and sorted(os.listdir(tmp_path)) == ["broken.sds", "kept"]
    done = sdsfs("cp", SAMPLE, "root.json", f"{tmp_path}/nodir/")
    assert done.returncode == 1 and "no such directory" in error_line(done)
    assert not (tmp_path / "nodir").exists()


def test_cp_writes_to_pipes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    assert sdsfs("cp", SAMPLE, "root.json", pipe).returncode == 0
    assert reader.communicate(timeout=30)[0] == (SAMPLE / "root.json").read_bytes()
    assert pipe.is_fifo()


def test_shard_does_not_wait_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert sdsfs("shard", tmp_path / "pipe", timeout=20).returncode != 0


def test_a_low_limit_of_descriptors_is_enough(tmp_path):
    """Each record in a shard of its own, more shards than descriptors."""
    import signal_dataset as sds  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    root = tmp_path / "root"
    shards = [
        sds.write_shard([sds.Record(f"r{i}", {"x": sds.Field(np.zeros(3, np.float32), (sds.Axis("t", 3),))})], str(root), work_id=f"{i:03d}")
        for i in range(80)
    ]
    sds.publish(str(root), shards, dataset_id="d", snapshot_id="s")
    done = subprocess.run(["bash", "-c", 'ulimit -n 64; exec "$0" verify --records -o mem_cache=256M "$1"', SDSFS, root], capture_output=True)
    assert done.returncode == 0, done.stdout
