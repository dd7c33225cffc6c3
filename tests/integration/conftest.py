# SPDX-License-Identifier: Apache-2.0
"""Mounts for the tests: the program on the sample dataset, and toyfs. Each is taken away afterwards,
and a daemon or a mount that is left behind fails the test that left it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "data" / "sample.sds"
SDSFS = os.environ.get("SDSFS", str(HERE.parent.parent / "build" / "sdsfs"))
TOYFS = os.environ.get("TOYFS", "")
TOY_BIG_BYTES = (5 << 20) + 123


def toy_bytes(start: int, end: int) -> bytes:
    return bytes((i * 31 + (i >> 8)) & 0xFF for i in range(start, end))


def can_mount() -> bool:
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return os.geteuid() == 0 or shutil.which("fusermount3") is not None


needs_fuse = pytest.mark.skipif(not can_mount(), reason="this user cannot mount here")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def run(*argv: object, timeout: float = 60, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(a) for a in argv], capture_output=True, timeout=timeout, **more)


def sdsfs(*argv: object, **more: object) -> subprocess.CompletedProcess:
    return run(SDSFS, *argv, **more)


def error_line(done: subprocess.CompletedProcess) -> str:
    """The one line on stderr that every failure is."""
    text = done.stderr.decode()
    assert text.endswith("\n") and text.count("\n") == 1 and text.startswith("sdsfs: "), text
    return text[len("sdsfs: ") : -1]


def fails_with(number: int, action) -> None:
    with pytest.raises(OSError) as caught:
        action()
    assert caught.value.errno == number, caught.value


def detach(point: Path) -> None:
    if os.geteuid() == 0:
        run("umount", "-l", point)
    else:
        run("fusermount3", "-u", "-z", point)


def mount_lines() -> list[str]:
    """Of all mounts; those of others may be called anything."""
    return Path("/proc/mounts").read_text(errors="surrogateescape").splitlines()


def is_mounted(point: Path) -> bool:
    return any(line.split()[1] == str(point) for line in mount_lines())


def requests(point: Path) -> dict[str, int]:
    """Requests by operation, as control/metrics tells them."""
    text = (point / "control/metrics").read_text()
    return {op: int(n) for op, n in re.findall(r'sdsfs_requests_total\{op="(\w+)"\} (\d+)', text)}


def requests_of(point: Path, action) -> dict[str, int]:
    """What an action cost, apart from reading the metrics itself."""

    def cost(act) -> dict[str, int]:
        before = requests(point)
        act()
        after = requests(point)
        return {op: after[op] - before[op] for op in after}

    cost(lambda: None)  # the first open of all is the one that tells the kernel not to ask
    nothing = cost(lambda: None)
    return {op: n - nothing[op] for op, n in cost(action).items() if n != nothing[op]}


def wait_until(condition, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def daemon_of(point: Path) -> int:
    import json

    return json.loads((point / "control/status.json").read_bytes())["pid"]


@pytest.fixture
def point(tmp_path):
    """A directory to mount on; whatever is mounted there at the end is an error."""
    where = tmp_path / "mnt"
    where.mkdir()
    yield where
    left = is_mounted(where)
    while is_mounted(where):
        detach(where)
    assert not left, "the test left its mount behind"


@pytest.fixture
def mounted(point):
    """The sample dataset, mounted; unmounted by the program itself."""
    done = sdsfs("mount", SAMPLE, point)
    assert done.returncode == 0, done.stderr
    daemon = daemon_of(point)
    yield point
    if is_mounted(point):
        done = sdsfs("umount", point)
        assert done.returncode == 0, done.stderr
    assert not alive(daemon)


class Toy:
    """toyfs on a mountpoint. `tell` switches its knobs."""

    def __init__(self, point: Path, *argv: str) -> None:
        self.point = point
        self.process = subprocess.Popen(
            [TOYFS, *argv, str(point)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "ready\n"

    def tell(self, word: str) -> None:
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def stop(self) -> int:
        self.process.stdin.close()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self.process.stdout.close()
        return code


@pytest.fixture
def toy(point):
    fs = Toy(point)
    yield fs
    assert fs.stop() == 0
