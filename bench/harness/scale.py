# SPDX-License-Identifier: Apache-2.0
"""What very many records cost: mounting, listing, walking, and the daemon's memory."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from . import data, mounts
from .data import ScaleDataset
from .tools import BenchError, Tools, run

FIND_SECONDS = 3600
SETTLE_SECONDS = 60
SETTLED_BYTES = 64 << 20


@dataclass
class Scale:
    records: int
    mount_seconds: list[float] = field(default_factory=list)
    list_seconds: list[float] = field(default_factory=list)
    list_seconds_floor: list[float] = field(default_factory=list)
    listed: list[int] = field(default_factory=list)
    found: int = 0  # what find printed
    find_seconds: float = 0
    idle_bytes: int = 0  # the daemon's resident memory before find
    peak_bytes: int = 0
    settled_bytes: int = 0  # afterwards

    def list_ratio(self) -> float:
        pairs = zip(self.list_seconds, self.list_seconds_floor, strict=True)
        return median(ours / floor for ours, floor in pairs)


def shell_count(command: str, folder: Path) -> tuple[int, float]:
    """The number that `command FOLDER | wc -l` prints, and how long it took."""
    start = time.perf_counter()
    text = run(["sh", "-c", f"{command} {shlex.quote(str(folder))} | wc -l"], timeout=FIND_SECONDS)
    return int(text), time.perf_counter() - start


def list_once(tools: Tools, dataset: ScaleDataset, result: Scale) -> None:
    start = time.perf_counter()
    with mounts.sdsfs(tools, dataset.root("zstd")) as point:
        result.mount_seconds.append(time.perf_counter() - start)
        listed, seconds = shell_count("ls", point / "records")
        result.listed.append(listed)
        result.list_seconds.append(seconds)
    with mounts.nullfs(tools, dataset) as point:
        listed, seconds = shell_count("ls", point / "records")
        if listed != dataset.count:
            raise BenchError(f"nullfs lists {listed} of {dataset.count} records")
        result.list_seconds_floor.append(seconds)


def walk(tools: Tools, dataset: ScaleDataset, result: Scale) -> None:
    with mounts.sdsfs(tools, dataset.root("zstd")) as point:
        pid = mounts.daemon_pid(point)
        result.idle_bytes = mounts.memory(pid, "VmRSS")
        result.found, result.find_seconds = shell_count("find", point / "records")
        result.peak_bytes = mounts.memory(pid, "VmHWM")
        result.settled_bytes = settled_memory(pid)


def settled_memory(pid: int) -> int:
    """Resident memory once an idle daemon has given back what it was going to, or at the end of its
    time."""
    until = time.monotonic() + SETTLE_SECONDS
    while (now := mounts.memory(pid, "VmRSS")) > SETTLED_BYTES and time.monotonic() < until:
        time.sleep(1)
    return now


def measure(
    tools: Tools, dataset: ScaleDataset, rounds: int, say: Callable[[str], None]
) -> Scale:
    result = Scale(dataset.count)
    data.preread(dataset.root("zstd"))
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}: mounting and listing {dataset.label}")
        list_once(tools, dataset, result)
    say(f"find over {dataset.label} (minutes)")
    walk(tools, dataset, result)
    return result
