# SPDX-License-Identifier: Apache-2.0
"""Mounting and unmounting: each cold run has a mount of its own, so the kernel's dentries and pages
of the file system are gone while the shards' own pages stay."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .data import FIELD, Dataset
from .tools import BenchError, Tools, run


@contextlib.contextmanager
def mounted(command: list[str | Path], env: dict[str, str] | None = None) -> Iterator[Path]:
    """Mounts by a command that gets the mount point in the place of "{}", or as its last argument;
    unmounts whatever happens."""
    point = Path(tempfile.mkdtemp(prefix="sdsfs-bench-"))
    try:
        placed = [point if word == "{}" else word for word in command]
        run(placed if "{}" in command else [*command, point], timeout=60, env=env)
        yield point
    finally:
        unmount(point)
        point.rmdir()


def unmount(point: Path) -> None:
    """An ordinary unmount, a few times while the mount is busy; then the lazy one."""
    helper, lazy = (["umount"], "-l") if os.geteuid() == 0 else (["fusermount3", "-u"], "-z")
    for _ in range(20):
        done = subprocess.run([*helper, point], capture_output=True)
        if done.returncode == 0 or not is_mounted(point):
            return
        time.sleep(0.1)
    subprocess.run([*helper, lazy, point], capture_output=True)


def is_mounted(point: Path) -> bool:
    """From the kernel's list, since a mount whose daemon died answers nothing else."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return any(line.split()[4] == str(point) for line in lines)


def sdsfs(tools: Tools, root: Path) -> contextlib.AbstractContextManager[Path]:
    return mounted([tools.sdsfs, "mount", root])


def nullfs(tools: Tools, dataset: Dataset) -> contextlib.AbstractContextManager[Path]:
    shape = ["-n", str(dataset.count), "-b", str(dataset.size), "-F", FIELD]
    return mounted([tools.nullfs, *shape])


def daemon_pid(point: Path) -> int:
    return json.loads((point / "control" / "status.json").read_bytes())["pid"]


def memory(pid: int, line: str) -> int:
    """VmRSS (now) or VmHWM (peak) of a process, in bytes."""
    for text in Path(f"/proc/{pid}/status").read_text().splitlines():
        if text.startswith(line + ":"):
            return int(text.split()[1]) * 1024
    return 0


def requests_served(point: Path) -> int:
    """What the kernel has asked of the daemon so far, as control/metrics counts it. Without forgets:
    the kernel sends those when it wants memory, and nobody waits for them."""
    text = (point / "control" / "metrics").read_text()
    counts = re.findall(r'^sdsfs_requests_total\{op="(\w+)"\} (\d+)$', text, re.MULTILINE)
    if not counts:
        raise BenchError("control/metrics has no sdsfs_requests_total")
    return sum(int(count) for op, count in counts if op != "forget")


class RequestCounter:
    """How many requests the daemon gets from here on. Asking takes some too: as many as between two
    questions with nothing in between."""

    def __init__(self, point: Path) -> None:
        self._point = point
        first = requests_served(point)
        self._before = requests_served(point)
        self._own = self._before - first

    def since(self) -> int:
        return requests_served(self._point) - self._before - self._own
