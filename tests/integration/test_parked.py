# SPDX-License-Identifier: Apache-2.0
"""Requests that have to wait for the store: they hold no thread, nobody else waits for them, and
whoever asked can be killed, interrupted, told that it takes too long, or left alone."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import (
    HERE,
    TOY_BIG_BYTES,
    TOYFS,
    Toy,
    alive,
    detach,
    fails_with,
    is_mounted,
    needs_fuse,
    needs_root,
    run,
    toy_bytes,
    wait_until,
)

pytestmark = needs_fuse

# Reads the file of each argument in a thread of its own, and prints what became of all.
READERS = """
import os, sys, threading
done = []
def read(path):
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            done.append(os.read(fd, 6).decode("latin-1"))
        finally:
            os.close(fd)
    except OSError as e:
        done.append(e.errno)
threads = [threading.Thread(target=read, args=[path]) for path in sys.argv[1:]]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(done, key=str))
"""

# One read(2), whose errno Python would hide if it were EINTR, under a timer that fires all the time.
TICKING = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_RDONLY)
signal.signal(signal.SIGALRM, lambda *a: None)
signal.siginterrupt(signal.SIGALRM, sys.argv[2] == "interrupt")
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
buf = ctypes.create_string_buffer(100)
n = libc.read(fd, buf, 100)
e = ctypes.get_errno()
signal.setitimer(signal.ITIMER_REAL, 0)
print(n, e if n < 0 else buf.raw[:n].decode())
"""


def value(fs: Toy, i: int) -> Path:
    return fs.point / f"many/{i:06}/value"


def waiting(fs: Toy) -> int:
    return metric(fs, "sdsfs_waiting_requests")


def metric(fs: Toy, name: str) -> int:
    return int(re.search(rf"^{name} (\d+)$", (fs.point / "control/metrics").read_text(), re.M)[1])


def script(text: str, *argv: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextlib.contextmanager
def readers(*paths: object):
    process = script(READERS, *paths)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def outcome(process: subprocess.Popen, seconds: float = 20) -> list:
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return eval(out)


def ends_within(process: subprocess.Popen, seconds: float) -> None:
    process.wait(seconds)  # raises when it does not


@pytest.fixture
def fs(point):
    fs = Toy(point, "-t", "8")
    yield fs
    fs.tell("flow")
    assert fs.stop() == 0


# --- nobody else waits ----------------------------------------------------------------------------


def test_a_thousand_readers_wait_and_nobody_else(fs):
    warm = [value(fs, i) for i in range(2)]
    assert warm[0].read_bytes() == b"000000"
    fs.tell("reads")
    count = 1000
    with readers(*(value(fs, i) for i in range(2, 2 + count - 200))) as some, readers(
        *(value(fs, i) for i in range(800, 1000))
    ) as others:
        assert wait_until(lambda: waiting(fs) == 998, 30)
        before = time.monotonic()
        assert warm[0].read_bytes() == b"000000"
        assert (fs.point / "hello.txt").read_bytes() == b"hello, world\n"
        assert len(os.listdir(fs.point / "many")) == 1000
        assert run("ls", "-l", fs.point / "dir", timeout=5).returncode in (0, 1)
        assert run("df", fs.point, timeout=5).returncode == 0
        assert (fs.point / "many/000999").stat().st_mode
        status = json.loads((fs.point / "control/status.json").read_bytes())
        assert status["store"] == {"waiting": 998}
        assert (fs.point / "control/errors.jsonl").exists()
        assert time.monotonic() - before < 5
        threads = len(os.listdir(f"/proc/{fs.process.pid}/task"))
        assert threads < 40
        fs.tell("flow")
        assert outcome(some) == [f"{i:06}" for i in range(2, 802)]
        assert outcome(others) == [f"{i:06}" for i in range(800, 1000)]
    assert waiting(fs) == 0
    # Each was run once more, and only once more.
    assert metric(fs, "sdsfs_toy_asked_total") == 998


def test_everything_else_that_asks_the_store_waits_without_a_thread_too(fs):
    (fs.point / "dir").stat()
    fs.tell("all")
    actions = [
        ["stat", fs.point / "many/000007"],
        ["ls", fs.point / "growing"],
        ["ls", "-l", fs.point / "many"],
        ["readlink", fs.point / "link"],
        ["cat", fs.point / "dir/inner.txt"],
        ["getfattr", "-d", fs.point / "dir"] if shutil.which("getfattr") else ["cat", fs.point / "empty"],
    ] * 3
    started = [subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, text=True) for argv in actions]
    assert wait_until(lambda: waiting(fs) >= 6)  # one for each name, and each list of attributes
    assert os.statvfs(fs.point).f_namemax == 255
    assert json.loads((fs.point / "control/status.json").read_bytes())["store"]["waiting"] >= 6
    time.sleep(0.3)
    assert all(process.poll() is None for process in started)
    fs.tell("flow")
    for process in started:
        process.communicate(timeout=20)
        assert process.returncode == 0, process.args
    assert (fs.point / "control/errors.jsonl").read_bytes() == b""


def test_readers_of_one_file_share_nothing_but_the_wait(fs):
    fs.tell("reads")
    with contextlib.ExitStack() as stack:
        each = [stack.enter_context(readers(*[fs.point / "big.bin"] * 20)) for _ in range(5)]
        assert wait_until(lambda: waiting(fs) > 0)
        time.sleep(0.3)
        fs.tell("flow")
        for process in each:
            assert len(set(outcome(process))) == 1
    assert (fs.point / "big.bin").read_bytes() == toy_bytes(0, TOY_BIG_BYTES)


# --- listings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stall", "at_once"), [("lists", 20), ("attrs", 3)])
def test_a_listing_gives_what_it_has_and_waits_for_the_rest(fs, stall, at_once):
    """With attributes, as the kernel wants them for who looks at what it lists."""
    text = """
import os, sys
for entry in os.scandir(sys.argv[1]):
    entry.stat(follow_symlinks=False)
    print(entry.name, flush=True)
"""
    names = [f"{i:06}" for i in range(1000)]
    fs.tell(stall)
    process = script(text, fs.point / "many")
    try:
        assert [process.stdout.readline().strip() for _ in range(at_once)] == names[:at_once]
        assert wait_until(lambda: waiting(fs) == 1)
        assert process.poll() is None
        fs.tell("flow")
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
        assert out.split() == names[at_once:]
    finally:
        process.kill()
        process.communicate()


# --- signals --------------------------------------------------------------------------------------


def test_a_killed_reader_is_gone_at_once_and_others_wait_on(fs):
    fs.tell("reads")
    with readers(value(fs, 1)) as killed, readers(value(fs, 2), value(fs, 3)) as other:
        assert wait_until(lambda: waiting(fs) == 3)
        killed.kill()
        ends_within(killed, 1)
        assert wait_until(lambda: waiting(fs) == 2)
        assert metric(fs, "sdsfs_killed_requests_total") == 1
        fs.tell("flow")
        assert outcome(other) == ["000002", "000003"]
    assert value(fs, 1).read_bytes() == b"000001"
    assert (fs.point / "control/errors.jsonl").read_bytes() == b""


def test_all_threads_of_a_killed_process_are_let_go(fs):
    fs.tell("reads")
    with readers(*(value(fs, i) for i in range(200))) as killed:
        assert wait_until(lambda: waiting(fs) == 200)
        killed.kill()
        ends_within(killed, 1)
    assert wait_until(lambda: waiting(fs) == 0)


def test_a_signal_that_kills_after_one_that_does_not(fs):
    """The kernel tells of the first one only."""
    fs.tell("reads")
    text = (
        "import signal, sys; signal.signal(signal.SIGUSR1, lambda *a: None); open(sys.argv[1], 'rb').read()"
    )
    process = script(text, value(fs, 1))
    try:
        assert wait_until(lambda: waiting(fs) == 1)
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        assert process.poll() is None and waiting(fs) == 1
        process.terminate()
        ends_within(process, 1)
        assert process.returncode == -signal.SIGTERM
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("restart", ["restart", "interrupt"])
def test_a_ticking_timer_is_not_an_error(fs, restart):
    fs.tell("reads")
    process = script(TICKING, value(fs, 5), restart)
    try:
        assert wait_until(lambda: waiting(fs) == 1)
        time.sleep(0.5)
        assert process.poll() is None and waiting(fs) == 1
        fs.tell("flow")
        out, err = process.communicate(timeout=10)
        assert (out, process.returncode) == ("6 000005\n", 0), err
    finally:
        process.kill()
        process.communicate()


def test_a_killed_look_up_frees_the_name(fs):
    fs.tell("all")
    process = script("import os, sys; os.stat(sys.argv[1])", fs.point / "dir")
    assert wait_until(lambda: waiting(fs) == 1)
    process.kill()
    ends_within(process, 1)
    process.communicate()
    fs.tell("flow")
    assert (fs.point / "dir").is_dir()


def test_what_a_killed_reader_had_read_ahead_is_given_up(fs):
    """Nobody interrupts readahead; its pages are locked, and unmounting would wait for them."""
    fs.tell("reads")
    process = script("import sys; open(sys.argv[1], 'rb').read()", fs.point / "big.bin")
    assert wait_until(lambda: waiting(fs) > 0)
    process.kill()
    ends_within(process, 1)
    process.communicate()
    assert wait_until(lambda: waiting(fs) == 0, 3)


# --- time -----------------------------------------------------------------------------------------


def test_what_takes_too_long_is_a_timeout_and_is_told(point):
    fs = Toy(point, "-w", "300")
    try:
        fs.tell("reads")
        before = time.monotonic()
        with readers(*(value(fs, i) for i in range(50))) as process:
            assert outcome(process) == [errno.ETIMEDOUT] * 50
        took = time.monotonic() - before
        assert 1.3 <= took < 5  # the kernel asks twice: what was read ahead fails, then the page alone
        told = [json.loads(line) for line in (point / "control/errors.jsonl").read_text().splitlines()]
        assert {one["check"] for one in told} == {"timeout"}
        assert {one["path"] for one in told} == {f"many/{i:06}/value" for i in range(50)}
        assert "0.3 seconds" in told[0]["message"]
        assert metric(fs, "sdsfs_late_requests_total") >= 50
        fails_with(errno.ETIMEDOUT, value(fs, 1).read_bytes)
        fs.tell("flow")
        assert value(fs, 1).read_bytes() == b"000001"
        # A name that was not found in time is not taken for absent.
        fs.tell("all")
        fails_with(errno.ETIMEDOUT, (point / "many/000444").stat)
        fs.tell("flow")
        assert (point / "many/000444").is_dir()
    finally:
        assert fs.stop() == 0


# --- the end --------------------------------------------------------------------------------------


def test_sigterm_ends_it_although_the_store_stalls(point):
    fs = Toy(point)
    fs.tell("reads")
    with readers(*(value(fs, i) for i in range(100)), point / "big.bin") as process:
        assert wait_until(lambda: waiting(fs) > 100)
        before = time.monotonic()
        assert fs.stop() == 0
        assert time.monotonic() - before < 5
        assert {type(one) for one in outcome(process)} == {int}
    assert not is_mounted(point)


def test_sigterm_ends_a_publication_that_the_store_stalls(point, tmp_path):
    fs = Toy(point, "-s", str(tmp_path / "state"))
    draft = point / "control/annotations/set"
    draft.mkdir()
    (draft / "rows.jsonl").write_text("stall\n")
    fs.tell("all")
    process = script("import sys; open(sys.argv[1], 'w').write('publish')", draft / "commit")
    try:
        assert wait_until(lambda: json.loads((draft / "status.json").read_bytes())["state"] == "publishing")
        before = time.monotonic()
        assert fs.stop() == 0
        assert time.monotonic() - before < 5
    finally:
        process.kill()
        process.communicate()


def test_unmounting_lazily_leaves_those_who_wait_alone(fs_gone):
    fs = fs_gone
    fs.tell("reads")
    with readers(value(fs, 1), value(fs, 2)) as process:
        assert wait_until(lambda: waiting(fs) == 2)
        detach(fs.point)
        assert not is_mounted(fs.point)
        time.sleep(0.3)
        assert process.poll() is None and alive(fs.process.pid)
        fs.tell("flow")
        assert outcome(process) == ["000001", "000002"]
    fs.process.stdin.close()
    assert fs.process.wait(10) == 0


def test_a_busy_mount_is_not_unmounted(fs):
    fs.tell("reads")
    with readers(value(fs, 1)) as process:
        assert wait_until(lambda: waiting(fs) == 1)
        done = run("umount", fs.point) if os.geteuid() == 0 else run("fusermount3", "-u", fs.point)
        assert done.returncode != 0 and is_mounted(fs.point)
        fs.tell("flow")
        assert outcome(process) == ["000001"]


@pytest.fixture
def fs_gone(point):
    """A mount that the test takes away itself."""
    fs = Toy(point)
    yield fs
    fs.process.kill()
    fs.process.wait()
    fs.process.stdout.close()


# --- readahead ------------------------------------------------------------------------------------


def test_readahead_that_waits_holds_nobody_up(fs):
    """More readers read ahead than libfuse's default of requests in the background, 12."""
    fs.tell("reads")
    paths = [value(fs, i) for i in range(300)]
    text = "import os, sys\nfor p in sys.argv[1:]: os.posix_fadvise(os.open(p, 0), 0, 6, os.POSIX_FADV_WILLNEED)"
    ahead = script(text, *paths)
    try:
        ends_within(ahead, 10)  # nothing in it waits
        assert ahead.returncode == 0
        with readers(value(fs, 800)) as process:
            assert wait_until(lambda: process.poll() is None and waiting(fs) >= 1)
            assert (fs.point / "hello.txt").read_bytes() == b"hello, world\n"
            fs.tell("flow")
            assert outcome(process) == ["000800"]
    finally:
        ahead.communicate()


@needs_root
def test_the_kernel_takes_our_number_of_requests_in_the_background(fs):
    number = os.minor(fs.point.stat().st_dev)
    with contextlib.ExitStack() as stack:
        if not Path("/sys/fs/fuse/connections").exists() or not os.listdir("/sys/fs/fuse/connections"):
            if run("mount", "-t", "fusectl", "fusectl", "/sys/fs/fuse/connections").returncode != 0:
                pytest.skip("no fusectl here")
            stack.callback(run, "umount", "/sys/fs/fuse/connections")
        assert int(Path(f"/sys/fs/fuse/connections/{number}/max_background").read_text()) == 4096


# --- control/prefetch -----------------------------------------------------------------------------


def order(*ordinals: int) -> int:
    total = 0
    for ordinal in ordinals:
        total = (total * 31 + ordinal + 1) % (1 << 64)
    return total


def test_ordinals_are_announced(fs):
    prefetch = fs.point / "control/prefetch"
    assert "prefetch" in os.listdir(fs.point / "control")
    st = prefetch.stat()
    assert (st.st_mode & 0o7777, st.st_size) == (0o200, 0)
    prefetch.write_text("7\n000003 12\n20-22\n")
    assert metric(fs, "sdsfs_toy_announced_total") == 6
    assert metric(fs, "sdsfs_toy_order") == order(7, 3, 12, 20, 21, 22)
    with open(prefetch, "ab") as f:
        f.write(b"1\n")
        f.flush()
        f.write(b"\n2\n")
    assert metric(fs, "sdsfs_toy_order") == order(7, 3, 12, 20, 21, 22, 1, 2)
    assert prefetch.stat().st_size == 0


@pytest.mark.parametrize("text", ["1", "1\n1000\n", "1\n-2\n", "1\n2-1\n", "1\n2-\n", "1\nx\n", "1\n2-1000\n", "1\n+2\n"])
def test_what_is_no_ordinal_announces_nothing(fs, text):
    fd = os.open(fs.point / "control/prefetch", os.O_WRONLY)
    try:
        fails_with(errno.EINVAL, lambda: os.write(fd, text.encode()))
    finally:
        os.close(fd)
    assert metric(fs, "sdsfs_toy_announced_total") == 0


def test_what_is_wrong_with_an_announcement_is_told(fs):
    """An error number is all that the writer gets; the reason is where those of other failures are."""
    for text, reason in ((b"7\nfoo\n", '"foo" is neither an ordinal below 1000'), (b"7", "no newline at the end")):
        fd = os.open(fs.point / "control/prefetch", os.O_WRONLY)
        try:
            fails_with(errno.EINVAL, lambda fd=fd, text=text: os.write(fd, text))
        finally:
            os.close(fd)
        told = json.loads((fs.point / "control/errors.jsonl").read_text().splitlines()[-1])
        assert (told["path"], told["check"]) == ("control/prefetch", "prefetch")
        assert reason in told["message"]


def test_long_writes_are_announced_whole(fs):
    fd = os.open(fs.point / "control/prefetch", os.O_WRONLY)
    try:
        lines = b"".join(b"%06d\n" % (i % 1000) for i in range(140_000))
        assert os.write(fd, lines) == len(lines) == 980_000
        assert metric(fs, "sdsfs_toy_announced_total") == 140_000
        # The kernel hands on what begins within a page, or is longer than it likes, in pieces.
        assert os.write(fd, lines[:21_000]) == 21_000
        assert os.write(fd, lines * 3) == len(lines) * 3
        assert metric(fs, "sdsfs_toy_announced_total") == 563_000
        assert metric(fs, "sdsfs_toy_order") == order(*[i % 1000 for i in [*range(140_000), *range(3000)]],
                                                      *[i % 1000 for i in range(140_000)] * 3)
        os.lseek(fd, 0, os.SEEK_SET)
        fails_with(errno.E2BIG, lambda: os.write(fd, b"0-999\n" * 1049))
    finally:
        os.close(fd)
    assert metric(fs, "sdsfs_toy_announced_total") == 563_000


# --- as somebody else -----------------------------------------------------------------------------


def python_of_nobody() -> str | None:
    text = "import pytest, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    for python in (sys.executable, "/usr/bin/python3"):
        argv = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", text)
        if os.path.exists(python) and run(*argv).returncode == 0:
            return python
    return None


@needs_root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
@pytest.mark.skipif(shutil.which("fusermount3") is None, reason="fusermount3 is not installed")
def test_all_this_as_an_ordinary_user(tmp_path_factory):
    home = tmp_path_factory.mktemp("user")
    for above in [home, *home.parents][:3]:
        above.chmod(0o755)
    for name in ("conftest.py", Path(__file__).name):
        shutil.copy(HERE / name, home)
    program = shutil.copy(TOYFS, home / "toyfs")
    (home / "tmp").mkdir()
    shutil.chown(home / "tmp", 65534, 65534)
    # In a mount namespace of its own, where everybody may open /dev/fuse.
    node = home / "fuse"
    setup = f'mknod "{node}" c 10 229 && chmod 666 "{node}" && mount --bind "{node}" /dev/fuse && rm "{node}"'
    python = python_of_nobody()
    if python is None:
        pytest.skip("an ordinary user has no Python with pytest here")
    tests = f'"{python}" -m pytest -q -p no:cacheprovider "{home / Path(__file__).name}"'
    done = run(
        *("unshare", "-m", "bash", "-c"),
        f"{setup} && exec setpriv --reuid=65534 --regid=65534 --clear-groups {tests}",
        env={**os.environ, "TOYFS": str(program), "TMPDIR": str(home / "tmp"), "HOME": str(home / "tmp")},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout.decode()[-4000:]
    assert b"passed" in done.stdout
