# SPDX-License-Identifier: Apache-2.0
"""How fast annotations are published, and in how much memory. Each publication has a copy of the dataset
of its own, and what the two programs leave behind is compared before anything counts."""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import mounts
from .data import ScaleDataset, files_of, preread
from .throughput import Series
from .tools import BENCH, RUN_SECONDS, BenchError, Run, Tools, run

SET = "bench"
POLL_SECONDS = 0.005


@dataclass(frozen=True)
class RowSet:
    """A row for each record of a dataset."""

    dataset: ScaleDataset
    label: str
    mask: int = 0  # bytes of a tensor in each row
    shuffled: bool = False

    @property
    def folder(self) -> Path:
        kind = "masks" if self.mask else "shuffled" if self.shuffled else "values"
        return self.dataset.data / f"{self.dataset.name}-{kind}"

    @property
    def file(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def root(self) -> Path:
        return self.dataset.root("zstd")

    def ensure(self, tools: Tools) -> None:
        self.dataset.ensure(tools)
        options = ["--mask", str(self.mask), *(["--shuffled"] if self.shuffled else [])]
        name_and_count = [self.folder.name, "--count", str(self.dataset.count)]
        run([tools.python, BENCH / "generate_rows.py", self.dataset.data, *name_and_count, *options])


@dataclass(frozen=True)
class Large:
    """One publication of very many rows."""

    label: str
    rows: int
    seconds: float
    peak_bytes: int


def full(data: Path) -> tuple[list[RowSet], list[RowSet]]:
    return row_sets(data, "publish", 10_000, ScaleDataset(data, "million", "1,000,000 records", 1_000_000, 16))


def quick(data: Path) -> tuple[list[RowSet], list[RowSet]]:
    return row_sets(data, "quick-publish", 1_000, ScaleDataset(data, "quick-many", "12,000 records", 12_000, 16))


def row_sets(data: Path, name: str, count: int, many: ScaleDataset) -> tuple[list[RowSet], list[RowSet]]:
    """What speed is measured with, and what memory is."""
    dataset = ScaleDataset(data, name, f"{count:,} records", count, 16)
    return (
        [
            RowSet(dataset, f"{count:,} rows of values"),
            RowSet(dataset, f"{count:,} rows with a mask of 4 KiB", mask=4 << 10),
        ],
        [
            RowSet(many, f"{many.count:,} rows in order"),
            RowSet(many, f"{many.count:,} rows shuffled", shuffled=True),
        ],
    )


@contextlib.contextmanager
def copy_of(root: Path) -> Iterator[Path]:
    """A dataset of links: objects are never written again, and documents that are replaced are not
    written in place."""
    with tempfile.TemporaryDirectory(prefix="publish-", dir=root.parent) as where:
        copy = Path(where) / "root.sds"
        shutil.copytree(root, copy, copy_function=os.link)
        yield copy


def annotate(tools: Tools, root: Path, rows: RowSet) -> list[str | Path]:
    return [tools.sdsfs, "annotate", root, SET, "--rows", rows.file]


def publish(tools: Tools, root: Path, rows: RowSet) -> Run:
    """All of it is timed, from the start of the program to its end."""
    start = time.perf_counter()
    run(annotate(tools, root, rows))
    return Run(rows.dataset.count, 0, time.perf_counter() - start)


def publish_with_reference(tools: Tools, root: Path, rows: RowSet) -> Run:
    return Run.parse(run([tools.python, BENCH / "reference_publish.py", root, SET, rows.file]))


def check_same(ours: Path, theirs: Path) -> None:
    """What is timed has to be right."""
    names = [
        {str(path.relative_to(root)) for path in files_of(root) if not path.name.startswith(".")}
        for root in (ours, theirs)
    ]
    if names[0] != names[1]:
        raise BenchError(f"{SET}: other objects than the reference's: {sorted(names[0] ^ names[1])[:3]}")
    differ = [name for name in names[0] if not filecmp.cmp(ours / name, theirs / name, shallow=False)]
    if differ:
        raise BenchError(f"{SET}: other bytes than the reference's in {sorted(differ)[:3]}")


def measure(
    tools: Tools, row_sets: list[RowSet], rounds: int, say: Callable[[str], None]
) -> dict[RowSet, Series]:
    result = {rows: Series() for rows in row_sets}
    for number in range(1, rounds + 1):
        for rows, series in result.items():
            say(f"round {number} of {rounds}: {rows.label}")
            preread(rows.root)
            preread(rows.folder)
            with copy_of(rows.root) as ours, copy_of(rows.root) as theirs:
                series.runs["sdsfs"].append(publish(tools, ours, rows))
                series.runs["reference"].append(publish_with_reference(tools, theirs, rows))
                check_same(ours, theirs)
    return result


def run_for_memory(argv: list[str | Path]) -> tuple[float, int]:
    """Seconds, and the most memory that was resident."""
    start, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=words)
        try:
            while process.poll() is None:
                # Not the peak that wait4 tells: it counts what this process had when it forked.
                peak = max(peak, mounts.memory(process.pid, "VmHWM"))
                if time.perf_counter() - start > RUN_SECONDS:
                    raise BenchError(f"{argv[0]}: no answer after {RUN_SECONDS} s")
                time.sleep(POLL_SECONDS)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            words.seek(0)
            text = words.read().decode(errors="replace").strip()
            raise BenchError(f"{argv[0]}: exit {process.returncode}: {text[-500:]}")
    return time.perf_counter() - start, peak


def measure_memory(tools: Tools, row_sets: list[RowSet], say: Callable[[str], None]) -> list[Large]:
    result = []
    for rows in row_sets:
        say(f"memory: {rows.label}")
        with copy_of(rows.root) as root:
            seconds, peak = run_for_memory(annotate(tools, root, rows))
        result.append(Large(rows.label, rows.dataset.count, seconds, peak))
    return result
