# SPDX-License-Identifier: Apache-2.0
"""control/annotations as a file system, and its commands, over the toy dataset: what the rows say
becomes of them (tests/unit/fs/toy.h)."""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Toy, detach, fails_with, needs_fuse, needs_root, run, wait_until

pytestmark = needs_fuse


class Drafts(Toy):
    def __init__(self, point: Path, state: Path, *argv: str) -> None:
        super().__init__(point, "-s", str(state), *argv)
        self.state = state
        self.top = point / "control/annotations"

    def draft(self, name: str, rows: str | None = "rows\n") -> Path:
        path = self.top / name
        path.mkdir(parents=True)
        if rows is not None:
            (path / "rows.jsonl").write_text(rows)
        return path

    def backing(self, name: str) -> Path:
        return next(self.state.glob(f"drafts/*/sets/{name}"))

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def anonymous_kb(self) -> int:
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def fs(point, state):
    drafts = Drafts(point, state)
    yield drafts
    assert drafts.stop() == 0


def command(draft: Path, line: str) -> None:
    """One write; its error is the answer."""
    fd = os.open(draft / "commit", os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def status(draft: Path) -> dict:
    return json.loads((draft / "status.json").read_bytes())


def shell(script: str, **more: object) -> subprocess.CompletedProcess:
    return run("bash", "-c", script, **more)


# --- an ordinary file system ----------------------------------------------------------------------


def test_it_is_there_before_anybody_makes_a_draft(fs):
    assert "annotations" in os.listdir(fs.point / "control")
    assert os.listdir(fs.top) == []
    st = fs.top.stat()
    assert stat.S_IMODE(st.st_mode) == 0o700 and (st.st_uid, st.st_gid) == (os.getuid(), os.getgid())
    assert not fs.state.exists()
    fails_with(errno.ENOENT, (fs.top / "x").stat)


def test_write_read_append_truncate(fs):
    path = fs.draft("s", None) / "f"
    path.write_bytes(b"one\n")
    with open(path, "ab") as f:
        f.write(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    path.write_bytes(b"3\n")  # what is truncated by opening leaves nothing behind
    assert path.read_bytes() == b"3\n" and path.stat().st_size == 2
    with open(path, "r+b") as f:
        f.seek(5000)
        f.write(b"end")
        f.seek(1)
        f.write(b"x")
        f.truncate(6000)
    assert path.read_bytes() == b"3x" + bytes(4998) + b"end" + bytes(997)
    os.truncate(path, 2)
    assert path.read_bytes() == b"3x"
    big = os.urandom((3 << 20) + 17)
    path.write_bytes(big)
    assert path.read_bytes() == big
    assert fs.backing("s/f").read_bytes() == big
    fd = os.open(path, os.O_RDWR)
    os.posix_fallocate(fd, 0, 4 << 20)
    os.fsync(fd)
    os.fdatasync(fd)
    os.close(fd)
    assert path.stat().st_size == 4 << 20


def test_mapped_files(fs):
    path = fs.draft("s", None) / "f"
    path.write_bytes(bytes(100000))
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[50000:50005] = b"hello"
        m.flush()
        m[0:2] = b"xy"
    assert path.read_bytes() == b"xy" + bytes(49998) + b"hello" + bytes(49995)
    assert fs.backing("s/f").read_bytes() == path.read_bytes()


def test_direct_io(fs):
    path = fs.draft("s", None) / "f"
    page = mmap.mmap(-1, 8192)
    page[:] = b"d" * 8192
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    assert os.write(fd, page) == 8192
    assert os.preadv(fd, [page], 4096) == 4096
    os.close(fd)
    assert path.read_bytes() == b"d" * 8192


def test_attributes(fs):
    draft = fs.draft("s", None)
    path = draft / "f"
    path.write_bytes(b"x" * 10000)
    for thing, mode in ((draft, 0o700), (path, 0o600)):
        os.chmod(thing, 0o777)  # accepted, and stays as it is
        os.chown(thing, os.getuid(), os.getgid())
        os.chown(thing, -1, -1)
        assert stat.S_IMODE(thing.stat().st_mode) == mode
        fails_with(errno.EPERM, lambda thing=thing: os.chown(thing, os.getuid() + 1, -1))
        os.utime(thing, ns=(10**18 + 1, 10**18 + 7))
        assert (thing.stat().st_atime_ns, thing.stat().st_mtime_ns) == (10**18 + 1, 10**18 + 7)
        before = time.time() - 5
        os.utime(thing)
        assert thing.stat().st_mtime > before
    st = path.stat()
    assert st.st_size == 10000 and st.st_blocks * 512 >= 10000 and st.st_nlink == 1
    numbers = {p.stat().st_ino for p in (fs.top, draft, path, draft / "commit")}
    assert len(numbers) == 4
    free = os.statvfs(path)
    assert (free.f_bavail, free.f_bfree) == (0, 0)


def test_listing(fs):
    draft = fs.draft("s", None)
    names = {f"f{i:04d}" for i in range(2000)}
    for name in names:
        (draft / name).touch()
    (draft / "dir").mkdir()
    assert set(os.listdir(draft)) == names | {"dir", "commit", "status.json"}
    with os.scandir(draft) as entries:
        for entry in entries:
            assert entry.inode() == os.lstat(entry.path).st_ino
            assert entry.is_dir() == (entry.name == "dir")
    with ThreadPoolExecutor(8) as pool:
        assert all(len(x) == 2003 for x in pool.map(lambda _: os.listdir(draft), range(20)))
    shutil.rmtree(draft)
    assert os.listdir(fs.top) == []


def test_what_is_not_here(fs):
    draft = fs.draft("s")
    fails_with(errno.EPERM, lambda: os.symlink("x", draft / "l"))
    fails_with(errno.EPERM, lambda: os.link(draft / "rows.jsonl", draft / "l"))
    fails_with(errno.EPERM, lambda: os.mkfifo(draft / "l"))
    fails_with(errno.EPERM, lambda: (fs.top / "file").touch())
    fails_with(errno.EINVAL, lambda: (fs.top / ".hidden").mkdir())
    fails_with(errno.EINVAL, lambda: (fs.top / "a b").mkdir())
    told = [json.loads(line) for line in (fs.point / "control/errors.jsonl").read_text().splitlines()]
    assert [(one["path"], one["check"], one["message"].split(" is no name")[0]) for one in told][-2:] == [
        ("control/annotations", "name", '".hidden"'),
        ("control/annotations", "name", '"a b"'),
    ]
    fails_with(errno.EOPNOTSUPP, lambda: os.setxattr(draft / "rows.jsonl", "user.x", b"1"))
    assert os.listxattr(draft / "rows.jsonl") == []
    os.mknod(draft / "plain", stat.S_IFREG | 0o644)
    assert (draft / "plain").stat().st_size == 0
    for name in ("new", "control/new"):
        with pytest.raises(OSError) as caught:
            (fs.point / name).mkdir()
        assert caught.value.errno in (errno.EROFS, errno.EACCES)
    with pytest.raises(OSError) as caught:
        os.rename(draft / "plain", fs.point / "plain")
    assert caught.value.errno in (errno.EROFS, errno.EACCES)
    assert os.rename(draft / "plain", draft / "plain2") is None


def test_exclusive_creation(fs):
    draft = fs.draft("s", None)
    made = []

    def make(i: int) -> None:
        try:
            os.close(os.open(draft / "lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            made.append(i)
        except FileExistsError:
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(40)))
    assert len(made) == 1


def test_files_of_ours(fs):
    draft = fs.draft("s")
    for name in ("status.json", "receipt.json", "pointer.json"):
        fails_with(errno.EPERM, lambda name=name: (draft / name).write_text("x"))
        fails_with(errno.EPERM, lambda name=name: os.rename(draft / "rows.jsonl", draft / name))
    fails_with(errno.EPERM, lambda: os.rename(draft / "commit", draft / "x"))
    assert (draft / "commit").read_bytes() == b""
    os.unlink(draft / "commit")
    assert shell(f'echo publish > "{draft}/commit"').returncode == 0  # made again by the shell


# --- what programs do -----------------------------------------------------------------------------


def test_editors(fs):
    """Write beside, keep a backup, rename over it."""
    path = fs.draft("s", "old\n") / "rows.jsonl"
    reader = open(path, "rb")
    (path.parent / ".rows.jsonl.swp").write_text("swap")
    os.rename(path, path.parent / "rows.jsonl~")
    path.write_text("new\n")
    os.unlink(path.parent / "rows.jsonl~")
    os.unlink(path.parent / ".rows.jsonl.swp")
    assert reader.read() == b"old\n"
    (path.parent / "rows.jsonl.tmp").write_text("newer\n")
    os.replace(path.parent / "rows.jsonl.tmp", path)
    assert path.read_text() == "newer\n"
    reader.seek(0)
    assert reader.read() == b"old\n"
    reader.close()
    assert sorted(os.listdir(path.parent)) == ["commit", "rows.jsonl", "status.json"]
    done = shell(f'sed -i s/newer/newest/ "{path}" && cat "{path}"')
    assert (done.stdout, done.stderr) == (b"newest\n", b"")


def test_a_file_that_is_unlinked_while_open(fs):
    draft = fs.draft("s", None)
    with open(draft / "f", "w+b") as f:
        f.write(b"text")
        f.flush()
        os.unlink(draft / "f")
        (draft / "f").write_bytes(b"other")
        f.write(b" and more")
        f.flush()
        f.seek(0)
        assert f.read() == b"text and more"
        assert os.fstat(f.fileno()).st_nlink == 0
    before = fs.descriptors()
    for i in range(1000):
        (draft / f"g{i}").write_bytes(b"x")
    for i in range(1000):
        (draft / f"g{i}").unlink()
    assert wait_until(lambda: fs.descriptors() <= before)
    assert (draft / "f").read_bytes() == b"other"


def make_tree(where: Path) -> Path:
    tree = where / "fields"
    for i in range(20):
        (tree / str(i)).mkdir(parents=True)
        (tree / str(i) / "mask.npy").write_bytes(os.urandom(5000 + i))
    return tree


def assert_same_tree(a: Path, b: Path) -> None:
    assert run("diff", "-r", a, b).stdout == b""


def test_cp_and_mv(fs, tmp_path):
    tree, draft = make_tree(tmp_path), fs.draft("s")
    for flags in ("-r", "-a"):
        done = run("cp", flags, tree, draft / f"copied{flags}")
        assert (done.returncode, done.stderr) == (0, b"")
        assert_same_tree(tree, draft / f"copied{flags}")
    assert (draft / "copied-a/3/mask.npy").stat().st_mtime_ns == (tree / "3/mask.npy").stat().st_mtime_ns
    run("mv", draft / "copied-r", draft / "moved")
    assert_same_tree(tree, draft / "moved")
    os.rename(draft / "moved/3", draft / "copied-a/33")
    assert (draft / "copied-a/33/mask.npy").stat().st_size == 5003
    # mv copies where a directory would become a draft.
    done = run("mv", draft / "copied-a", fs.top / "t")
    assert (done.returncode, done.stderr) == (0, b"")
    assert_same_tree(tree / "7", fs.top / "t/7")
    assert (fs.top / "t/commit").exists() and status(fs.top / "t")["set"] == "t"
    run("mv", fs.top / "t", fs.top / "u")
    assert_same_tree(tree / "7", fs.top / "u/7")
    assert status(fs.top / "u")["set"] == "u"


def test_rsync(fs, tmp_path):
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed")
    tree, draft = make_tree(tmp_path), fs.draft("s")
    for _ in range(2):
        done = run("rsync", "-rtp", f"{tree}/", draft / "fields")
        assert (done.returncode, done.stderr) == (0, b"")
        assert_same_tree(tree, draft / "fields")
    (tree / "3/mask.npy").write_bytes(b"changed")
    shutil.rmtree(tree / "4")
    done = run("rsync", "-rt", "--delete", f"{tree}/", draft / "fields")
    assert (done.returncode, done.stderr) == (0, b"")
    assert_same_tree(tree, draft / "fields")


def test_tar(fs, tmp_path):
    tree, draft = make_tree(tmp_path), fs.draft("s")
    done = shell(f'tar c -C "{tree.parent}" fields | tar x --no-same-owner -C "{draft}"')
    assert (done.returncode, done.stderr) == (0, b"")
    assert_same_tree(tree, draft / "fields")


def test_a_tree_deeper_than_a_path(fs):
    draft = fs.draft("s")
    name = "d" * 200
    fd = os.open(draft, os.O_RDONLY)
    for i in range(40):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    file = os.open("file", os.O_RDWR | os.O_CREAT, dir_fd=fd)
    os.write(file, b"deep down")
    assert os.pread(file, 100, 0) == b"deep down"
    assert os.listdir(fd) == ["file"]
    os.close(file)
    os.close(fd)
    done = run("rm", "-r", draft)
    assert (done.returncode, done.stderr) == (0, b"")
    assert os.listdir(fs.top) == []


def test_a_path_has_a_ceiling(fs):
    draft, name = fs.draft("s"), "d" * 250
    fd = os.open(draft, os.O_RDONLY)
    for i in range(300):
        try:
            os.mkdir(name, dir_fd=fd)
        except OSError as exc:
            assert exc.errno == errno.ENAMETOOLONG and i > 200
            break
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    else:
        pytest.fail("no end")
    os.close(fd)
    command(draft, "discard")
    assert os.listdir(fs.top) == []


def test_many_small_files(fs):
    draft = fs.draft("s")
    before, memory = fs.descriptors(), fs.anonymous_kb()
    for d in range(10):
        (draft / f"{d}").mkdir()
        for i in range(500):
            (draft / f"{d}/{i}.npy").write_bytes(b"x" * 200)
    assert fs.descriptors() <= before
    assert fs.anonymous_kb() - memory < 80 << 10  # sanitizers included
    assert sum(len(files) for _, _, files in os.walk(draft)) == 5000 + 3
    done = run("rm", "-r", draft)
    assert (done.returncode, done.stderr) == (0, b"")
    assert wait_until(lambda: fs.descriptors() <= before)


def test_many_at_once(fs):
    """Writers, renamers and readers in the same draft."""
    draft = fs.draft("s")

    def work(n: int) -> None:
        for i in range(60):
            directory = draft / f"d{n}"
            directory.mkdir()
            (directory / "f").write_bytes(b"%d" % i * 1000)
            os.rename(directory, draft / f"moved{n}")
            assert (draft / f"moved{n}/f").read_bytes() == b"%d" % i * 1000
            with open(draft / f"moved{n}/f", "ab") as f:
                os.rename(draft / f"moved{n}", draft / f"again{n}")
                f.write(b"more")
            assert (draft / f"again{n}/f").read_bytes().endswith(b"more")
            shutil.rmtree(draft / f"again{n}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(os.listdir(draft)) == ["commit", "rows.jsonl", "status.json"]


@needs_root
def test_file_handles_of_drafts(fs):
    """An NFS server has nothing but a handle, which is stale once the kernel forgot the file."""
    libc = ctypes.CDLL(None, use_errno=True)

    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    path = fs.draft("s", "rows\n") / "rows.jsonl"
    handle, mount_id = Handle(bytes=128), ctypes.c_int()
    held = os.open(path, os.O_RDONLY)
    assert libc.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount_id), 0) == 0
    mount = os.open(fs.point, os.O_RDONLY)
    fd = libc.open_by_handle_at(mount, ctypes.byref(handle), os.O_RDONLY)
    assert fd >= 0 and os.read(fd, 100) == b"rows\n"
    os.close(fd)
    os.close(held)
    run("sh", "-c", "echo 2 > /proc/sys/vm/drop_caches")
    fd = libc.open_by_handle_at(mount, ctypes.byref(handle), os.O_RDONLY)
    assert fd >= 0 or ctypes.get_errno() == errno.ESTALE
    if fd >= 0:
        os.close(fd)
    os.close(mount)
    assert path.read_bytes() == b"rows\n"


# --- commands -------------------------------------------------------------------------------------


def test_a_shell_publishes(fs):
    draft = fs.draft("s")
    assert shell(f'echo check > "{draft}/commit" && echo publish > "{draft}/commit" && cat "{draft}/receipt.json"').returncode == 0
    assert json.loads((draft / "receipt.json").read_bytes())["set"] == "s"
    assert status(draft)["state"] == "published"
    fails_with(errno.EROFS, lambda: (draft / "rows.jsonl").write_text("x"))
    fails_with(errno.EROFS, lambda: (draft / "new").touch())
    assert (draft / "rows.jsonl").read_text() == "rows\n"
    assert stat.S_IMODE((draft / "rows.jsonl").stat().st_mode) == 0o600
    done = run("rm", "-r", draft)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_shell_is_told_that_it_failed(fs):
    draft = fs.draft("s", "invalid\n")
    done = shell(f'echo publish > "{draft}/commit" || echo "it failed"')
    assert done.stdout == b"it failed\n" and b"Invalid argument" in done.stderr
    assert status(draft)["problems"] == [{"line": 3, "reason": "invalid: the rows say so"}]
    for line in ("", "\n", "pubish\n", "publish\npublish\n", "x" * 100000):
        if line:
            fails_with(errno.EINVAL, lambda line=line: command(draft, line))
    told = [json.loads(line) for line in (fs.point / "control/errors.jsonl").read_text().splitlines()]
    assert any(
        (one["path"], one["check"]) == ("control/annotations/s/commit", "command")
        and one["message"].endswith("is none of check, publish and discard")
        and "pubish" in one["message"]
        for one in told
    ), told


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        ("conflict", errno.EEXIST),
        ("unsupported", errno.EPERM),
        ("timeout", errno.ETIMEDOUT),
        ("denied", errno.EACCES),
        ("storage", errno.EIO),
    ],
)
def test_errors_of_a_publication(fs, rows, number):
    draft = fs.draft("s", rows)
    fails_with(number, lambda: command(draft, "publish"))
    assert status(draft)["state"] == "failed" and status(draft)["error"].startswith(rows)
    (draft / "rows.jsonl").write_text("rows")
    command(draft, "publish")
    assert (fs.point / "control/errors.jsonl").read_text().count(f'"check":"{rows}"') == (rows != "conflict")


def test_ways_to_write_a_command(fs):
    draft = fs.draft("s")
    for script in (
        "printf check > commit",
        "echo check >> commit",
        "echo check | tee commit",
        "echo check > line && cp line commit",
        "echo check | dd of=commit conv=fsync status=none",
        "truncate -s 100 commit && echo check > commit",
        "touch commit; chmod 666 commit; echo check 1<> commit",
    ):
        done = shell(script, cwd=draft)
        assert (done.returncode, done.stderr) == (0, b""), script
        assert status(draft)["state"] == "open" and status(draft)["started"] is not None
        assert (draft / "commit").stat().st_size == 0 and (draft / "commit").read_bytes() == b""


def test_discard(fs, tmp_path):
    draft = fs.draft("s")
    shutil.copytree(make_tree(tmp_path), draft / "fields")
    done = shell('echo discard > commit; echo "$?"', cwd=draft)
    assert (done.stdout, done.stderr) == (b"0\n", b"")
    assert os.listdir(fs.top) == []
    assert not any(fs.state.glob("drafts/*/tmp/*"))
    fs.draft("s")
    assert sorted(os.listdir(draft)) == ["commit", "rows.jsonl", "status.json"]


COMMIT = "import os, sys\nfd = os.open(sys.argv[1], os.O_WRONLY)\nprint('begin', flush=True)\ntry:\n    os.write(fd, b'publish')\nexcept OSError as e:\n    print(e.errno)\nelse:\n    print('done')\n"


def start_commit(draft: Path, before: str = "") -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", before + COMMIT, draft / "commit"], stdout=subprocess.PIPE, text=True)
    while process.stdout.readline() != "begin\n":
        pass
    return process


def in_background(action) -> tuple[threading.Thread, list]:
    result: list = []

    def body() -> None:
        try:
            result.append(action())
        except OSError as exc:
            result.append(exc.errno)

    thread = threading.Thread(target=body)
    thread.start()
    return thread, result


def test_a_draft_is_frozen_while_it_is_published(fs):
    draft, other = fs.draft("s", "wait\n"), fs.draft("t")
    writer = open(draft / "rows.jsonl", "r+b", buffering=0)
    first, first_result = in_background(lambda: command(draft, "publish"))
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    assert wait_until(lambda: (status(draft)["progress"] or {}).get("stage") == "waiting")
    seen = status(draft)["progress"]["done"]
    assert wait_until(lambda: status(draft)["progress"]["done"] > seen)
    fails_with(errno.EBUSY, lambda: writer.write(b"x"))
    fails_with(errno.EBUSY, lambda: (draft / "new").touch())
    fails_with(errno.EBUSY, lambda: os.rename(draft, fs.top / "u"))
    fails_with(errno.EBUSY, lambda: command(draft, "check"))
    fails_with(errno.EBUSY, lambda: command(draft, "discard"))
    assert b"busy" in run("rm", "-r", draft).stderr
    assert (draft / "rows.jsonl").read_bytes() == b"wait\n"
    second, second_result = in_background(lambda: command(draft, "publish"))
    killed = start_commit(draft)  # is not in anybody's way, either
    time.sleep(0.1)
    killed.kill()
    assert killed.wait(2) == -signal.SIGKILL
    killed.stdout.close()
    # Everything else goes on meanwhile.
    command(other, "publish")
    assert (fs.point / "hello.txt").read_bytes() == b"hello, world\n"
    assert first_result == [] and second_result == []
    fs.tell("go")
    first.join(10)
    second.join(10)
    assert first_result == [None] and second_result == [None]
    fails_with(errno.EROFS, lambda: writer.write(b"x"))
    writer.close()


def test_more_commands_than_threads(point, state):
    """Those who wait take no thread from those who do not."""
    fs = Drafts(point, state, "-t", "2")
    try:
        drafts = [fs.draft(f"s{i}", "wait\n") for i in range(8)]
        waiting = [in_background(lambda d=d: command(d, "publish")) for d in drafts]
        assert wait_until(lambda: sum(status(d)["state"] == "publishing" for d in drafts) == 4)
        assert (point / "hello.txt").read_bytes() == b"hello, world\n"
        fs.tell("go")
        for thread, result in waiting:
            thread.join(10)
            assert result == [None]
    finally:
        assert fs.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_is_fatal_frees_the_writer(fs, number):
    draft = fs.draft("s", "wait\n")
    process = start_commit(draft, "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n")
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    begun = time.monotonic()
    process.send_signal(number)
    assert process.wait(5) == -number
    assert time.monotonic() - begun < 1
    process.stdout.close()
    assert status(draft)["state"] == "publishing"
    joined, result = in_background(lambda: command(draft, "publish"))
    time.sleep(0.1)
    assert result == []
    fs.tell("go")
    joined.join(10)
    assert result == [None] and status(draft)["state"] == "published"


def test_a_signal_that_is_not_fatal_changes_nothing(fs):
    draft = fs.draft("s", "wait\n")
    process = start_commit(
        draft,
        "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None)\nsignal.signal(signal.SIGUSR2, signal.SIG_IGN)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05); signal.signal(signal.SIGALRM, lambda *_: None)\n",
    )
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGWINCH):
        process.send_signal(number)
    time.sleep(0.5)
    assert process.poll() is None
    fs.tell("go")
    assert process.communicate(timeout=10)[0] == "done\n"


def test_a_second_signal_may_be_the_fatal_one(fs):
    draft = fs.draft("s", "wait\n")
    process = start_commit(draft, "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None)\n")
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.3)
    assert process.poll() is None
    process.kill()
    assert process.wait(5) == -signal.SIGKILL
    process.stdout.close()
    fs.tell("go")
    assert wait_until(lambda: status(draft)["state"] == "published")


def test_workers_and_their_coordinator(fs):
    draft = fs.draft("s", None)
    (draft / "options.json").write_text('{"publication_id": "p"}')
    for name in ("east", "west"):
        shard = fs.draft(f"s/shards/{name}")
        command(shard, "publish")
        assert json.loads((shard / "pointer.json").read_bytes()) == {"logical_shard_id": name}
        assert json.loads((shard / "receipt.json").read_bytes())["publication_id"] == "p"
        fails_with(errno.EROFS, lambda shard=shard: (shard / "x").touch())
    fails_with(errno.EINVAL, lambda: (draft / "shards/a b").mkdir())
    (draft / "logical-shards").write_text("east\nwest\n")
    command(draft, "publish")
    assert json.loads((draft / "receipt.json").read_bytes())["shard_ids"] == ["east", "west"]
    done = run("rm", "-r", draft)
    assert (done.returncode, done.stderr) == (0, b"")


# --- what is mapped -------------------------------------------------------------------------------

MAPPED = """import mmap, sys
f = open(sys.argv[1], "r+b")
m = mmap.mmap(f.fileno(), 0)
for line in sys.stdin:
    m[: len(line)] = line.encode()
    print("done", flush=True)
"""


class Mapping:
    """A shared mapping of a file, written into and never flushed, in a process of its own."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", MAPPED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def write(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def close(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(10) == 0
        self.process.stdout.close()


@pytest.mark.parametrize("line", ["check", "publish"])
def test_a_command_takes_what_is_in_a_mapping(fs, line):
    draft = fs.draft("s", "rows" + " " * 20 + "\n")
    with open(draft / "rows.jsonl", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[:8] = b"invalid\n"
        fails_with(errno.EINVAL, lambda: command(draft, line))
        m[:8] = b"rows\n   "
        command(draft, line)
        assert fs.backing("s/rows.jsonl").read_bytes() == bytes(m)
        m.flush()  # nothing is left to be refused
    assert status(draft)["state"] == ("published" if line == "publish" else "open")


def test_mappings_of_other_processes_and_other_files(fs):
    draft = fs.draft("s", "invalid\n")
    (draft / "deep/er").mkdir(parents=True)
    (draft / "options.json").write_text(json.dumps({"publication_id": "old"}) + " " * 20)
    (draft / "deep/er/x.npy").write_bytes(bytes(10000))
    mappings = [Mapping(draft / name) for name in ("rows.jsonl", "options.json", "deep/er/x.npy")]
    for mapping, text in zip(mappings, ("rows", '{"publication_id": "new"} ', "array"), strict=True):
        mapping.write(text)
    os.rename(draft / "deep", draft / "moved")
    command(draft, "publish")
    assert json.loads((draft / "receipt.json").read_bytes())["publication_id"] == "new"
    assert fs.backing("s/moved/er/x.npy").read_bytes()[:6] == b"array\n"
    for mapping in mappings:
        mapping.close()


def test_a_worker_has_what_is_mapped_of_its_sets_options(fs):
    draft = fs.draft("s", None)
    (draft / "options.json").write_text('{"publication_id": "old"} ')
    shard = fs.draft("s/shards/east")
    mapping = Mapping(draft / "options.json")
    mapping.write('{"publication_id": "new"}')
    command(shard, "publish")
    assert json.loads((shard / "receipt.json").read_bytes())["publication_id"] == "new"
    mapping.close()


def test_a_set_leaves_its_workers_alone(fs):
    """What is mapped in a draft that is being worked on would be refused now, and can be written later."""
    draft, shard = fs.draft("s"), fs.draft("s/shards/east", "wait\n")
    (shard / "x.npy").write_bytes(bytes(5000))
    waiter, result = in_background(lambda: command(shard, "check"))
    assert wait_until(lambda: status(shard)["state"] == "checking")
    reader = os.open(shard / "x.npy", os.O_RDONLY)  # closed at the end: every close has the kernel write back
    assert os.read(reader, 5) == bytes(5)
    mapping = Mapping(shard / "x.npy")
    mapping.write("later")
    fails_with(errno.EBUSY, lambda: command(draft, "check"))
    assert os.pread(reader, 5, 0) == b"later"
    fs.tell("go")
    waiter.join(10)
    assert result == [None]
    command(draft, "check")
    assert fs.backing("s/shards/east/x.npy").read_bytes()[:5] == b"later"
    os.close(reader)
    mapping.close()


def test_a_mapping_that_goes_on_being_written(fs):
    """Either these bytes or later ones; the files are never written to by anybody else."""
    draft = fs.draft("s")
    size, files, stop = 64 << 10, 4, threading.Event()
    begun = [0] * files

    def work(n: int) -> None:
        path = draft / f"{n}.npy"
        with open(path, "w+b") as f:
            f.truncate(size)
            with mmap.mmap(f.fileno(), size) as m:
                while not stop.is_set():
                    value = begun[n] + 1
                    for at in range(0, size, 4096):
                        m[at : at + 8] = value.to_bytes(8, "little")
                    begun[n] = value
                    time.sleep(0)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(files)]
    for thread in threads:
        thread.start()
    assert wait_until(lambda: all(begun))
    for _ in range(20):
        at_least = list(begun)
        command(draft, "check")
        for n in range(files):
            data = fs.backing(f"s/{n}.npy").read_bytes()
            assert min(int.from_bytes(data[at : at + 8], "little") for at in range(0, size, 4096)) >= at_least[n]
    command(draft, "publish")
    stop.set()
    for thread in threads:
        thread.join()


def test_a_draft_of_many_held_files(fs):
    draft = fs.draft("s")
    for i in range(10000):
        (draft / f"{i}.npy").write_bytes(b"x" * 200)
    held = [os.open(draft / f"{i}.npy", os.O_RDONLY) for i in range(0, 10000, 20)]
    with open(draft / "9999.npy", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[:4] = b"last"
        begun = time.monotonic()
        command(draft, "check")
        assert time.monotonic() - begun < 5  # some milliseconds, but for sanitizers
        assert fs.backing("s/9999.npy").read_bytes()[:4] == b"last"
    for fd in held:
        os.close(fd)


def test_the_end_of_a_mount_while_a_mapping_is_written_back(point, state):
    fs = Drafts(point, state)
    draft = fs.draft("s")
    with open(draft / "big", "w+b") as f:
        f.truncate(256 << 20)
        with mmap.mmap(f.fileno(), 0) as m:
            for at in range(0, len(m), 4096):
                m[at] = 1
            waiter, result = in_background(lambda: command(draft, "publish"))
            time.sleep(0.05)
            assert fs.stop() == 0
            waiter.join(20)
    assert not waiter.is_alive() and len(result) == 1


@needs_root
def test_a_mapping_that_cannot_be_written_back(point, state):
    state.mkdir()
    assert run("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", state).returncode == 0
    try:
        fs = Drafts(point, state)
        try:
            draft = fs.draft("s")
            with open(draft / "mapped", "w+b") as f:
                f.truncate(1 << 20)
                with mmap.mmap(f.fileno(), 0) as m, open(draft / "big", "wb", buffering=0) as big:
                    with pytest.raises(OSError):
                        while True:
                            big.write(bytes(4096))
                    m[:4] = b"lost"
                    fails_with(errno.ENOSPC, lambda: command(draft, "publish"))
            assert not (draft / "receipt.json").exists()
            assert '"path":"control/annotations/s/mapped"' in (point / "control/errors.jsonl").read_text()
        finally:
            assert fs.stop() == 0
    finally:
        assert run("umount", state).returncode == 0


# --- the end of a mount ---------------------------------------------------------------------------


def test_drafts_survive_a_remount(point, state):
    fs = Drafts(point, state)
    draft = fs.draft("s")
    numbers = {p.name: p.stat().st_ino for p in draft.iterdir()}
    command(fs.draft("published"), "publish")
    assert fs.stop() == 0
    fs = Drafts(point, state)
    try:
        assert (draft / "rows.jsonl").read_text() == "rows\n"
        assert {p.name: p.stat().st_ino for p in draft.iterdir()} == numbers
        fails_with(errno.EROFS, lambda: (fs.top / "published/x").touch())
        command(draft, "publish")
    finally:
        assert fs.stop() == 0


def test_a_daemon_that_is_killed_while_it_publishes(point, state):
    fs = Drafts(point, state)
    draft = fs.draft("s", "wait\n")
    waiter, result = in_background(lambda: command(draft, "publish"))
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    fs.process.kill()
    fs.process.wait()
    fs.process.stdin.close()
    fs.process.stdout.close()
    waiter.join(10)
    assert result and result[0] in (errno.ECONNABORTED, errno.ENOTCONN)
    detach(point)
    fs = Drafts(point, state)
    try:
        assert status(draft)["state"] == "interrupted"
        assert not any(fs.state.glob("drafts/*/tmp/*"))
        fs.tell("go")
        command(draft, "publish")
        assert status(draft)["state"] == "published"
    finally:
        assert fs.stop() == 0


def test_a_mount_that_ends_while_it_publishes(point, state):
    """Those who wait get an error; the publication runs on to its end before the daemon goes."""
    fs = Drafts(point, state)
    draft = fs.draft("s", "wait\n")
    waiter, result = in_background(lambda: command(draft, "publish"))
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    fs.process.send_signal(signal.SIGTERM)
    waiter.join(10)
    assert len(result) == 1 and result[0] in (errno.ENOTCONN, errno.ECONNABORTED)  # EINTR, and Python tries again
    assert wait_until(lambda: not os.path.ismount(point))
    fs.tell("go")
    assert fs.stop() == 0
    assert json.loads(fs.backing("s/status.json").read_bytes())["state"] == "published"


def test_two_mounts_of_one_root(fs, tmp_path):
    other_point = tmp_path / "other"
    other_point.mkdir()
    other = Drafts(other_point, fs.state)
    try:
        draft = fs.draft("s", "wait\n")
        there = other.top / "s"
        (there / "more").write_text("from there")
        assert (draft / "more").read_text() == "from there"
        (draft / "more").write_text("from here")
        assert (there / "more").read_text() == "from here"
        waiter, result = in_background(lambda: command(draft, "publish"))
        assert wait_until(lambda: status(there)["state"] == "publishing")
        fails_with(errno.EBUSY, lambda: (there / "more").write_text("x"))
        fails_with(errno.EBUSY, lambda: command(there, "publish"))
        fs.tell("go")
        waiter.join(10)
        assert result == [None] and status(there)["state"] == "published"
        fails_with(errno.EROFS, lambda: (there / "more").write_text("x"))
        shutil.rmtree(there)
        assert os.listdir(fs.top) == []
    finally:
        assert other.stop() == 0


# --- surroundings ---------------------------------------------------------------------------------


def test_read_only(point, state):
    fs = Drafts(point, state)
    fs.draft("s")
    assert fs.stop() == 0
    fs = Drafts(point, state, "-o", "ro")
    try:
        assert (fs.top / "s/rows.jsonl").read_text() == "rows\n"
        fails_with(errno.EROFS, lambda: (fs.top / "t").mkdir())
        fails_with(errno.EROFS, lambda: command(fs.top / "s", "publish"))
        fails_with(errno.EROFS, lambda: os.unlink(fs.top / "s/rows.jsonl"))
    finally:
        assert fs.stop() == 0


def test_a_state_directory_that_cannot_be_made(point):
    fs = Drafts(point, Path("/proc/none/state"))
    try:
        fails_with(errno.EPERM, lambda: (fs.top / "s").mkdir())
        assert '"check":"state_dir"' in (point / "control/errors.jsonl").read_text()
        assert (point / "hello.txt").read_bytes() == b"hello, world\n"
        assert os.listdir(fs.top) == []
    finally:
        assert fs.stop() == 0


def test_a_state_directory_that_others_may_write_to(point, state):
    state.mkdir()
    state.chmod(0o777)
    fs = Drafts(point, state)
    try:
        fails_with(errno.EPERM, lambda: (fs.top / "s").mkdir())
        assert "nobody else may write there" in (point / "control/errors.jsonl").read_text()
        assert os.listdir(state) == []
    finally:
        assert fs.stop() == 0


def test_nobody_else_can_read_the_state(fs):
    fs.draft("s")
    for where, _, files in os.walk(fs.state):
        assert stat.S_IMODE(os.stat(where).st_mode) == 0o700
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(where, name)).st_mode) == 0o600


@needs_root
def test_a_full_disk(point, state):
    state.mkdir()
    assert run("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", state).returncode == 0
    try:
        fs = Drafts(point, state)
        try:
            draft = fs.draft("s")
            with open(draft / "big", "wb", buffering=0) as f:
                with pytest.raises(OSError) as caught:
                    for _ in range(40):
                        f.write(bytes(65536))
                assert caught.value.errno == errno.ENOSPC
            with pytest.raises(OSError) as caught:
                while True:
                    (draft / "little").open("ab").write(b"x" * 100000)
            assert caught.value.errno == errno.ENOSPC
            fails_with(errno.ENOSPC, lambda: command(draft, "publish"))
            noted = json.loads((point / "control/errors.jsonl").read_text())
            assert (noted["path"], noted["check"]) == ("control/annotations/s", "state_dir")
            assert noted["message"] == "status.json cannot be written: No space left on device"
            assert not (draft / "receipt.json").exists()
            assert (draft / "rows.jsonl").read_text() == "rows\n"
            os.unlink(draft / "big")
            command(draft, "publish")
            assert status(draft)["state"] == "published"
        finally:
            assert fs.stop() == 0
    finally:
        assert run("umount", state).returncode == 0


@needs_root
def test_a_state_directory_that_has_become_read_only(point, state):
    state.mkdir()
    assert run("mount", "-t", "tmpfs", "-o", "mode=700", "none", state).returncode == 0
    try:
        fs = Drafts(point, state)
        try:
            draft = fs.draft("s")
            assert run("mount", "-o", "remount,ro", state).returncode == 0
            for line in ("check", "publish", "discard"):
                fails_with(errno.EROFS, lambda line=line: command(draft, line))
            told = [json.loads(line) for line in (point / "control/errors.jsonl").read_text().splitlines()]
            assert [(e["path"], e["check"]) for e in told] == [("control/annotations/s", "state_dir")] * 2
            assert told[0]["count"] == 2 and "discarded" in told[1]["message"]
            assert run("mount", "-o", "remount,rw", state).returncode == 0
            command(draft, "publish")
        finally:
            assert fs.stop() == 0
    finally:
        assert run("umount", state).returncode == 0


def test_a_limit_of_the_daemon(fs):
    path = fs.draft("s") / "f"
    resource.prlimit(fs.process.pid, resource.RLIMIT_FSIZE, (100000, resource.RLIM_INFINITY))
    with open(path, "wb", buffering=0) as f:
        assert f.write(bytes(200000)) == 100000
        fails_with(errno.EFBIG, lambda: f.write(b"x"))
    fails_with(errno.EFBIG, lambda: os.truncate(path, 200000))
    assert path.stat().st_size == 100000


@needs_root
def test_another_user(point, state):
    fs = Drafts(point, state, "-o", "allow_other")
    try:
        draft = fs.draft("s")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for parent in (point.parent, *point.parent.parents):
            if parent.name.startswith(("pytest-", "test_")):
                parent.chmod(0o755)
        assert run(*nobody, "cat", point / "hello.txt").returncode == 0
        for script in (f'ls "{fs.top}"', f'cat "{draft}/rows.jsonl"', f'echo publish > "{draft}/commit"', f'mkdir "{fs.top}/t"'):
            done = run(*nobody, "sh", "-c", script)
            assert done.returncode != 0 and b"ermission denied" in done.stderr, script
    finally:
        assert fs.stop() == 0


@needs_root
def test_a_reader_follows_status(fs):
    """However often it is replaced, nobody sees half of it or an old one."""
    draft = fs.draft("s", "wait\n")
    waiter, result = in_background(lambda: command(draft, "publish"))
    assert wait_until(lambda: status(draft)["state"] == "publishing")
    last = -1
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        done = (status(draft)["progress"] or {"done": -1})["done"]
        assert done >= last
        last = done
    assert last > 0
    fs.tell("go")
    waiter.join(10)
    assert status(draft)["state"] == "published"
