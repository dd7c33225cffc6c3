# SPDX-License-Identifier: Apache-2.0
"""What the kernel makes of our answers: caching, directory streams, mappings, signals, errors."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import TOY_BIG_BYTES, Toy, fails_with, needs_fuse, needs_root, requests_of, run, toy_bytes, wait_until

pytestmark = needs_fuse
libc = ctypes.CDLL(None, use_errno=True)


# --- what costs no request ------------------------------------------------------------------------


def read_whole(path) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 1 << 20)
    finally:
        os.close(fd)


def test_a_warm_open_read_close_costs_nothing(toy):
    path = toy.point / "hello.txt"
    assert read_whole(path) == b"hello, world\n"
    assert requests_of(toy.point, lambda: [read_whole(path) for _ in range(100)]) == {}


def test_names_and_attributes_are_asked_for_once(toy):
    paths = [toy.point / "many/000001", toy.point / "dir/inner.txt", toy.point / "link"]
    for path in paths:
        path.stat()
    assert requests_of(toy.point, lambda: [path.stat() for path in paths]) == {}


def test_reading_from_us_makes_the_next_stat_ask_once(toy):
    """The kernel believes that it changed the access time; on a read-only mount it does not."""
    big, hello = toy.point / "big.bin", toy.point / "hello.txt"
    for path in (big, hello):
        path.stat()
    assert "getattr" not in requests_of(toy.point, lambda: read_whole(hello))
    assert requests_of(toy.point, hello.stat) == {"getattr": 1}
    assert requests_of(toy.point, lambda: (hello.stat(), read_whole(hello), hello.stat())) == {}


def test_a_read_only_mount_does_not_even_ask_once(point):
    fs = Toy(point, "-o", "ro")
    try:
        (point / "hello.txt").stat()
        read_whole(point / "hello.txt")
        assert requests_of(point, (point / "hello.txt").stat) == {}
    finally:
        assert fs.stop() == 0


def test_a_missing_name_is_asked_for_once(toy):
    def look(name):
        fails_with(errno.ENOENT, (toy.point / name).stat)

    look("many/nope")
    look("nope")
    assert requests_of(toy.point, lambda: (look("many/nope"), look("nope"))) == {}


def test_a_growing_directory_is_always_asked(toy):
    growing = toy.point / "growing"
    fails_with(errno.ENOENT, (growing / "g0").stat)
    assert os.listdir(growing) == []
    toy.tell("grow")
    assert (growing / "g0").read_bytes() == b"000000"
    assert os.listdir(growing) == ["g0"]
    toy.tell("grow")
    assert sorted(os.listdir(growing)) == ["g0", "g1"]
    assert (growing / "g1").exists()
    # What was found once stays.
    assert requests_of(toy.point, (growing / "g0").stat) == {}


def test_a_short_listing_is_kept_by_the_kernel(toy):
    os.listdir(toy.point / "dir")
    cost = requests_of(toy.point, lambda: os.listdir(toy.point / "dir"))
    assert "readdir" not in cost and "readdirplus" not in cost


def test_attributes_of_a_long_listing_come_in_bulk(toy):
    os.listdir(toy.point / "many")
    cost = requests_of(toy.point, lambda: run("ls", "-l", toy.point / "many"))
    assert sum(cost.values()) < 100  # for 1000 names


def test_listing_brings_the_attributes(toy):
    run("ls", "-l", toy.point / "dir")
    cost = requests_of(toy.point, lambda: [(toy.point / "dir" / n).lstat() for n in ("inner.txt", "bad.bin")])
    assert cost == {}


# --- directory streams ----------------------------------------------------------------------------


class Dirent(ctypes.Structure):
    _fields_ = [
        ("ino", ctypes.c_uint64),
        ("off", ctypes.c_int64),
        ("reclen", ctypes.c_ushort),
        ("type", ctypes.c_ubyte),
        ("name", ctypes.c_char * 256),
    ]


libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
libc.opendir.argtypes = [ctypes.c_char_p]
for call in (libc.readdir, libc.telldir, libc.rewinddir, libc.closedir):
    call.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


class Stream:
    def __init__(self, path) -> None:
        self.at = libc.opendir(os.fsencode(path))
        assert self.at

    def next(self) -> tuple[bytes, int] | None:
        entry = libc.readdir(self.at)
        if not entry:
            return None
        dirent = Dirent.from_address(entry)
        return dirent.name, dirent.ino

    def rest(self) -> list[bytes]:
        names = []
        while (entry := self.next()) is not None:
            names.append(entry[0])
        return names

    def close(self) -> None:
        libc.closedir(self.at)


@pytest.mark.parametrize("name", [".", "dir", "many", "wide", "control"])
def test_every_position_of_a_stream_can_be_returned_to(toy, name):
    stream = Stream(toy.point / name)
    places, names = [], []
    while True:
        places.append(libc.telldir(stream.at))
        entry = stream.next()
        if entry is None:
            break
        names.append(entry[0])
    assert sorted(names) == sorted([b".", b"..", *map(os.fsencode, os.listdir(toy.point / name))])
    step = max(1, len(names) // 40)
    for i in [*range(0, len(names), step), len(names)]:
        libc.seekdir(stream.at, places[i])
        assert stream.rest() == names[i:]
    libc.rewinddir(stream.at)
    assert stream.rest() == names
    # A position holds for another handle, too.
    other = Stream(toy.point / name)
    libc.seekdir(other.at, places[len(names) // 2])
    assert other.rest() == names[len(names) // 2 :]
    other.close()
    stream.close()


def test_listed_numbers_are_those_of_stat(toy):
    for name in ("dir", "many", "wide"):
        stream = Stream(toy.point / name)
        while (entry := stream.next()) is not None:
            if entry[0] not in (b".", b"..", b"gone.bin"):
                assert os.lstat(os.path.join(os.fsencode(toy.point / name), entry[0])).st_ino == entry[1]
        stream.close()


def test_streams_at_the_same_time(toy):
    expected = sorted(os.listdir(toy.point / "many"))

    def list_it(_):
        return sorted(os.listdir(toy.point / "many")) == expected

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(list_it, range(40)))


def test_a_large_directory_streams(point):
    fs = Toy(point, "-n", "200000")
    try:
        assert len(os.listdir(point / "many")) == 200000
        with open(f"/proc/{fs.process.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        assert peak < 400 << 10  # sanitizers included; nothing is kept for each name
    finally:
        assert fs.stop() == 0


# --- content --------------------------------------------------------------------------------------


def test_reads_at_any_offset(toy):
    fd = os.open(toy.point / "big.bin", os.O_RDONLY)
    for off, n in ((0, 1), (4095, 2), (131071, 70000), (1 << 20, 1 << 20), (TOY_BIG_BYTES - 3, 100), (TOY_BIG_BYTES, 5)):
        end = min(off + n, TOY_BIG_BYTES)
        assert os.pread(fd, n, off) == toy_bytes(off, end)
    os.close(fd)


def test_whole_file_by_read_mmap_sendfile_and_direct(toy, tmp_path):
    path, expected = toy.point / "big.bin", toy_bytes(0, TOY_BIG_BYTES)
    assert path.read_bytes() == expected
    with open(path, "rb") as f:
        with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
            assert m[:] == expected
        with open(tmp_path / "sent", "wb") as out:
            off = 0
            while off < TOY_BIG_BYTES:
                off += os.sendfile(out.fileno(), f.fileno(), off, 1 << 20)
    assert (tmp_path / "sent").read_bytes() == expected
    shutil.copyfile(path, tmp_path / "copied")
    assert (tmp_path / "copied").read_bytes() == expected
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 1 << 20)
    assert os.preadv(fd, [buffer], 1 << 20) == 1 << 20
    assert buffer[:] == expected[1 << 20 : 2 << 20]
    buffer.close()
    os.close(fd)


def test_many_readers(toy):
    def read_one(i: int) -> bool:
        with open(toy.point / f"many/{i % 1000:06d}/value", "rb") as f:
            return f.read() == b"%06d" % (i % 1000)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read_one, range(4000)))


def test_signals_do_not_reach_a_reader(toy):
    """A 1 ms interval timer with a handler: no EINTR, no EIO, no short read."""
    fired = 0

    def count(*_):
        nonlocal fired
        fired += 1

    before = signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for i in range(300):
            assert (toy.point / f"many/{i:06d}/value").read_bytes() == b"%06d" % i
        fd = os.open(toy.point / "big.bin", os.O_RDONLY)
        assert os.pread(fd, 1 << 20, 12345) == toy_bytes(12345, 12345 + (1 << 20))
        os.close(fd)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fired > 10


# --- failures -------------------------------------------------------------------------------------


def test_bad_content_is_an_error_and_nothing_else_is(toy):
    assert (toy.point / "dir/bad.bin").stat().st_size == 4096
    fails_with(errno.EIO, (toy.point / "dir/bad.bin").read_bytes)
    fails_with(errno.EIO, (toy.point / "dir/gone.bin").stat)
    assert "gone.bin" in os.listdir(toy.point / "dir")
    assert (toy.point / "dir/inner.txt").read_bytes() == b"inner\n"
    assert os.getxattr(toy.point / "dir/bad.bin", "user.sds.error").startswith(b"bad.bin: hash: ")


def test_an_outage_is_no_absence_and_is_over_when_it_is_over(toy):
    toy.tell("down")
    fails_with(errno.EIO, (toy.point / "hello.txt").stat)
    fails_with(errno.EIO, (toy.point / "nope").stat)
    toy.tell("up")
    assert (toy.point / "hello.txt").read_bytes() == b"hello, world\n"
    fails_with(errno.ENOENT, (toy.point / "nope").stat)
    assert (toy.point / "control/errors.jsonl").read_text().count('"check":"down"') >= 1


def test_everything_that_writes_is_refused(toy):
    p = toy.point
    refused = (errno.EROFS, errno.EACCES, errno.EPERM)
    hello = os.open(p / "hello.txt", os.O_RDWR) if os.geteuid() == 0 else None
    actions = [
        lambda: open(p / "new", "wb"),
        lambda: open(p / "hello.txt", "wb"),
        lambda: open(p / "control/status.json", "ab", buffering=0).write(b"x"),
        lambda: os.mkdir(p / "dir/new"),
        lambda: os.mknod(p / "dir/new", stat.S_IFREG | 0o644),
        lambda: os.symlink("x", p / "new"),
        lambda: os.link(p / "hello.txt", p / "new"),
        lambda: os.unlink(p / "hello.txt"),
        lambda: os.rmdir(p / "dir"),
        lambda: os.rename(p / "hello.txt", p / "new"),
        lambda: os.chmod(p / "hello.txt", 0o777),
        lambda: os.chown(p / "hello.txt", 1, 1),
        lambda: os.utime(p / "hello.txt"),
        lambda: os.truncate(p / "hello.txt", 0),
        lambda: os.setxattr(p / "hello.txt", "user.sds.x", b"1"),
        lambda: os.removexattr(p / "dir", "user.sds.id"),
    ]
    if hello is not None:
        actions += [
            lambda: os.write(hello, b"x"),
            lambda: os.pwrite(hello, b"x", 100),
            lambda: os.ftruncate(hello, 1),
            lambda: os.posix_fallocate(hello, 0, 100),
        ]
    for i, action in enumerate(actions):
        with pytest.raises(OSError) as caught:
            action()
        assert caught.value.errno in refused, (i, caught.value)
    if hello is not None:
        os.close(hello)
    assert (p / "hello.txt").read_bytes() == b"hello, world\n"


BIG = toy_bytes(0, TOY_BIG_BYTES)


def refused(action) -> None:
    """EROFS where the call itself is told, EIO from a close that found a page it could not write."""
    with pytest.raises(OSError) as caught:
        action()
    assert caught.value.errno in (errno.EROFS, errno.EIO)


def see(path) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
    finally:
        with contextlib.suppress(OSError):  # reports what another's write came to
            os.close(fd)


@pytest.fixture
def writable(toy):
    """A descriptor that only root gets: big.bin for writing. The bytes are the same afterwards."""
    fd = os.open(toy.point / "big.bin", os.O_RDWR)
    yield fd
    with contextlib.suppress(OSError):
        os.close(fd)
    assert wait_until(lambda: see(toy.point / "big.bin") == BIG)
    assert os.stat(toy.point / "big.bin").st_size == TOY_BIG_BYTES


@needs_root
@pytest.mark.parametrize("warm", [True, False])
def test_refused_writes_leave_no_bytes(toy, writable, warm):
    for off, n in ((0, 4096), (10, 5), (4090, 10), (1 << 20, 300000), (TOY_BIG_BYTES - 3, 3), (TOY_BIG_BYTES - 3, 10)):
        if warm:
            assert os.pread(writable, n, off) == BIG[off : off + n]
        else:
            os.posix_fadvise(writable, 0, 0, os.POSIX_FADV_DONTNEED)
        refused(lambda: os.pwrite(writable, b"!" * n, off))
        assert os.pread(writable, n, off) == BIG[off : off + n]
    source = os.open(toy.point / "hello.txt", os.O_RDONLY)
    refused(lambda: os.copy_file_range(source, writable, 5))
    refused(lambda: os.sendfile(writable, source, 0, 5))
    os.close(source)


@needs_root
def test_refused_direct_writes_leave_no_bytes(toy, writable):
    fd = os.open(toy.point / "big.bin", os.O_WRONLY | os.O_DIRECT)
    assert os.pread(writable, 8192, 0) == BIG[:8192]
    with mmap.mmap(-1, 8192) as buffer:
        refused(lambda: os.pwritev(fd, [buffer], 0))
    os.close(fd)
    assert os.pread(writable, 8192, 0) == BIG[:8192]


@needs_root
def test_refused_truncations_change_nothing(toy, writable):
    path = toy.point / "big.bin"
    for action in (
        lambda: os.ftruncate(writable, 100),
        lambda: os.ftruncate(writable, 100 << 20),
        lambda: os.open(path, os.O_WRONLY | os.O_TRUNC),
        lambda: os.posix_fallocate(writable, 0, 100 << 20),
    ):
        refused(action)
        assert path.stat().st_size == TOY_BIG_BYTES and see(path) == BIG


@needs_root
def test_a_shared_mapping_that_was_written_into_is_dropped(toy, writable):
    """The kernel takes the bytes without asking; that they are nobody's is known at write-back."""
    with mmap.mmap(writable, 3 << 20, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as m:
        for off in (0, 5000, (2 << 20) + 7):
            m[off : off + 4] = b"EVIL"
        refused(m.flush)
        assert wait_until(lambda: m[: 3 << 20] == BIG[: 3 << 20], 5)
        assert see(toy.point / "big.bin") == BIG
        m[0:4] = b"EVIL"  # and again, with nobody who asks for it
    with contextlib.suppress(OSError):
        os.close(writable)  # writes back
    assert wait_until(lambda: see(toy.point / "big.bin") == BIG, 5)


@needs_root
def test_refusing_while_others_read_and_the_mount_ends(point):
    """Pages are dropped while they are read, and up to the end of the session."""
    fs = Toy(point)
    stop = threading.Event()
    wrong = []

    def read_on() -> None:
        while not stop.is_set():
            try:
                if see(point / "big.bin")[1 << 20 :] != BIG[1 << 20 :]:
                    wrong.append("bytes")
            except OSError:
                return

    # A process of its own: the end of the mount takes its mapping away with SIGBUS.
    write_on = """
import contextlib, mmap, os, sys
m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 1 << 20, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
while True:
    m[0:4] = b"EVIL"
    with contextlib.suppress(OSError):
        m.flush()
"""
    writer = subprocess.Popen([sys.executable, "-c", write_on, point / "big.bin"], stderr=subprocess.DEVNULL)
    readers = [threading.Thread(target=read_on) for _ in range(4)]
    for reader in readers:
        reader.start()
    time.sleep(1)
    try:
        assert fs.stop() == 0
    finally:
        stop.set()
        writer.kill()
        assert writer.wait(20) in (-signal.SIGBUS, -signal.SIGKILL)
        for reader in readers:
            reader.join(20)
            assert not reader.is_alive()
    assert wrong == []
    assert not os.path.ismount(point)


# --- attributes and the whole ---------------------------------------------------------------------


def test_extended_attributes(toy):
    p = toy.point / "dir"
    assert os.listxattr(p) == ["user.sds.id", "user.sds.large"]
    assert os.getxattr(p, "user.sds.id") == b"toy"
    assert os.getxattr(p, "user.sds.large") == b"x" * 65536
    fails_with(errno.ENODATA, lambda: os.getxattr(p, "user.sds.none"))
    buffer = ctypes.create_string_buffer(2)
    name = os.fsencode(p)
    assert libc.getxattr(name, b"user.sds.id", None, 0) == 3
    assert libc.getxattr(name, b"user.sds.id", buffer, 2) == -1 and ctypes.get_errno() == errno.ERANGE
    assert libc.listxattr(name, buffer, 2) == -1 and ctypes.get_errno() == errno.ERANGE


def test_statfs_while_the_store_is_down(toy):
    toy.tell("down")
    whole = os.statvfs(toy.point)
    assert whole.f_blocks * whole.f_frsize >= 1234567
    assert (whole.f_bavail, whole.f_bfree, whole.f_files, whole.f_namemax) == (0, 0, 1000, 255)
    toy.tell("up")


def test_links(toy):
    assert os.readlink(toy.point / "link") == "dir/inner.txt"
    assert (toy.point / "link").read_bytes() == b"inner\n"
    fails_with(errno.ELOOP, (toy.point / "loop").read_bytes)
    assert requests_of(toy.point, lambda: os.readlink(toy.point / "link")) == {}


def test_a_control_file_that_changes_is_one_text_for_a_reader(toy):
    path = toy.point / "control/errors.jsonl"
    with open(path, "rb") as f:
        assert f.read() == b""
    fails_with(errno.EIO, (toy.point / "dir/bad.bin").read_bytes)
    first = path.read_bytes()
    assert first.count(b"\n") == 1 and len(first) == path.stat().st_size
    fails_with(errno.EIO, (toy.point / "dir/gone.bin").stat)
    assert path.read_bytes().count(b"\n") == 2
    # Reading in steps, while others look at the file and it changes.
    text = (toy.point / "control/metrics").read_text
    for _ in range(50):
        with open(toy.point / "control/metrics", "rb", buffering=0) as f:
            parts = iter(lambda: f.read(100), b"")
            assert b"".join(parts).endswith(b"# EOF\n")
    assert text().endswith("# EOF\n")


# --- file handles ---------------------------------------------------------------------------------


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]


def handle_of(path) -> Handle:
    handle, mount_id = Handle(bytes=128), ctypes.c_int()
    done = libc.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount_id), 0)
    assert done == 0, os.strerror(ctypes.get_errno())
    return handle


@needs_root
@pytest.mark.parametrize("name", ["hello.txt", "many/000007/value", "many/000007", "control/metrics"])
def test_file_handles_outlive_the_cache(toy, name):
    """What an NFS server does: a handle, then nothing but the handle."""
    expected = (toy.point / name).stat().st_ino
    handle = handle_of(toy.point / name)
    run("sh", "-c", "echo 2 > /proc/sys/vm/drop_caches")
    mount = os.open(toy.point, os.O_RDONLY)
    fd = libc.open_by_handle_at(mount, ctypes.byref(handle), os.O_RDONLY)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    assert os.fstat(fd).st_ino == expected
    os.close(fd)
    os.close(mount)


# --- threads --------------------------------------------------------------------------------------


def test_a_single_thread_serves_too(point):
    fs = Toy(point, "-t", "1")
    try:
        test_many_readers(fs)
        assert (point / "big.bin").read_bytes() == toy_bytes(0, TOY_BIG_BYTES)
    finally:
        assert fs.stop() == 0


def test_stop_while_busy(point):
    """SIGTERM with readers at work: the session ends, and the readers get errors, not hangs."""
    fs = Toy(point, "-n", "100000")
    stop = threading.Event()

    def read_on(start: int) -> None:
        i = start
        while not stop.is_set():
            try:
                (point / f"many/{i % 100000:06d}/value").read_bytes()
            except OSError as exc:
                assert exc.errno in (errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT, errno.EIO)
                return
            i += 1

    readers = [threading.Thread(target=read_on, args=(n * 1000,)) for n in range(8)]
    for reader in readers:
        reader.start()
    try:
        assert fs.stop() == 0
    finally:
        stop.set()
        for reader in readers:
            reader.join(20)
            assert not reader.is_alive()
    assert not os.path.ismount(point)


def test_names_that_are_too_long(toy):
    fails_with(errno.ENAMETOOLONG, (toy.point / ("n" * 256)).stat)
    fails_with(errno.ENOENT, (toy.point / ("n" * 255)).stat)


def test_wide_nodes_survive_the_cache(toy):
    for i in range(100):
        assert (toy.point / f"wide/w{i}").read_bytes() == b"%06d" % (i + 1)
    numbers = [(toy.point / f"wide/w{i}").stat().st_ino for i in range(100)]
    if os.geteuid() == 0:
        run("sh", "-c", "echo 2 > /proc/sys/vm/drop_caches")
    assert [(toy.point / f"wide/w{i}").stat().st_ino for i in range(100)] == numbers
    assert (toy.point / "wide/w5").read_bytes() == b"000006"
