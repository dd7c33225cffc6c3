# SPDX-License-Identifier: Apache-2.0
"""Building an index, and finding records with it, with find and grep over plain files, and with the reference."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shlex
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from . import mounts
from .data import DescribedDataset, files_of, preread
from .publishing import run_for_memory
from .throughput import Series
from .tools import BENCH, BenchError, Run, Tools, run

LOOKUPS = 10_000


@dataclass(frozen=True)
class Question:
    """What somebody wants to know, in three ways that print as many lines each."""

    label: str
    ours: str  # a shell command; {index}: the directory in the mount, {query}: `sdsfs query` and its options
    files: str  # over the plain files {files}
    reference: str  # an expression over `entry`, one of iter_record_metadata


QUESTIONS = (
    Question("a record by its id", "ls -d {index}/by-id/{id}", "grep -rlF {id} {files}", "entry.id == {id!r}"),
    Question("the records of a scene", "ls {index}/by-scene/{scene}", "grep -rlF '\"{scene}\"' {files}", "entry.scene_id == {scene!r}"),
    Question(
        "records by their metadata",
        "{query} \"metadata->>'$.sample_rate_hz' = {rate}\"",
        "grep -rlF '\"sample_rate_hz\": {rate},' {files}",
        "entry.metadata['sample_rate_hz'] == {rate}",
    ),
    Question("all metadata", "cat {index}/records.jsonl", "find {files} -type f -exec cat {{}} +", "True"),
)


@dataclass
class Searching:
    records: int  # of the large dataset
    building: Series = field(default_factory=Series)  # of that
    peak_bytes: list[int] = field(default_factory=list)
    index_bytes: int = 0
    searched: int = 0  # records of the small one
    seconds: dict[tuple[Question, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    lookups: list[float] = field(default_factory=list)  # of ids, a second
    listings: list[float] = field(default_factory=list)  # of ids, a second

    def answer(self, question: Question, who: str) -> float:
        return median(self.seconds[question, who])

    def ratio(self, question: Question, who: str) -> float:
        pairs = zip(self.seconds[question, who], self.seconds[question, "sdsfs"], strict=True)
        return median(theirs / ours for theirs, ours in pairs)


def full(data: Path) -> tuple[DescribedDataset, DescribedDataset]:
    return (
        DescribedDataset(data, "described-million", "1,000,000 described records", 1_000_000, 64),
        DescribedDataset(data, "described", "100,000 described records", 100_000, 64),
    )


def quick(data: Path) -> tuple[DescribedDataset, DescribedDataset]:
    small = DescribedDataset(data, "quick-described", "3,000 described records", 3_000, 64)
    return small, small


@contextlib.contextmanager
def empty_cache(dataset: DescribedDataset) -> Iterator[Path]:
    """A cache directory on the disk that holds the dataset."""
    with tempfile.TemporaryDirectory(prefix="cache-", dir=dataset.data) as where:
        yield Path(where)


def build(tools: Tools, dataset: DescribedDataset, result: Searching) -> None:
    """All of it is timed, from the start of the program to its end."""
    with empty_cache(dataset) as cache:
        command = [tools.sdsfs, "index", "-o", f"cache_dir={cache}", dataset.root("zstd")]
        seconds, peak = run_for_memory(command)
        result.building.runs["sdsfs"].append(Run(dataset.count, 0, seconds))
        result.peak_bytes.append(peak)
        result.index_bytes = sum(path.stat().st_size for path in files_of(cache))


def reference(tools: Tools, dataset: DescribedDataset, condition: str) -> tuple[int, float]:
    """How many entries it holds for, and how long finding them took."""
    text = run([tools.python, BENCH / "reference_metadata.py", dataset.root("zstd"), condition])
    told = json.loads(text)
    if told["records"] != dataset.count:
        raise BenchError(f"the reference iterates over {told['records']} of {dataset.count} records")
    return told["found"], told["seconds"]


def counted(command: str) -> tuple[int, float]:
    start = time.perf_counter()
    text = run(["sh", "-c", f"{command} | wc -l"])
    return int(text), time.perf_counter() - start


def look_up(point: Path, ordinals: list[int]) -> float:
    """Ids a second, by the link's target."""
    start = time.perf_counter()
    for i in ordinals:
        if not os.readlink(point / f"index/by-id/capture-{i:08d}").endswith(f"/{i:06d}"):
            raise BenchError(f"capture-{i:08d} leads to another record")
    return len(ordinals) / (time.perf_counter() - start)


def ask(tools: Tools, dataset: DescribedDataset, number: int, result: Searching) -> None:
    """One round of questions, a mount with its index built already, and the kernel's caches empty."""
    wanted = random.Random(number).randrange(dataset.count)
    words = {"id": f"capture-{wanted:08d}", "scene": f"scene-{wanted % 500}", "rate": 250_000 + wanted}
    with empty_cache(dataset) as cache:
        options = ["-o", f"cache_dir={cache}"]
        root = dataset.root("zstd")
        run([tools.sdsfs, "index", *options, root])
        query = shlex.join([str(tools.sdsfs), "query", *options, str(root)])
        with mounts.mounted([tools.sdsfs, "mount", *options, root]) as point:
            places = {"index": point / "index", "files": dataset.files, "query": query}
            for question in QUESTIONS:
                ours, theirs = (text.format(**places, **words) for text in (question.ours, question.files))
                answers = {
                    "sdsfs": counted(ours),
                    "plain files": counted(theirs),
                    "reference": reference(tools, dataset, question.reference.format(**words)),
                }
                if len({found for found, _ in answers.values()}) != 1:
                    raise BenchError(f"{question.label}: other answers: {answers}")
                for who, (_, seconds) in answers.items():
                    result.seconds[question, who].append(seconds)
            ordinals = random.Random(-number).sample(range(dataset.count), min(LOOKUPS, dataset.count))
            result.lookups.append(look_up(point, ordinals))
            listed, seconds = counted(f"ls -U {point}/index/by-id")
            if listed != dataset.count:
                raise BenchError(f"by-id lists {listed} of {dataset.count} records")
            result.listings.append(listed / seconds)


def measure(
    tools: Tools, large: DescribedDataset, small: DescribedDataset, rounds: int, say: Callable[[str], None]
) -> Searching:
    result = Searching(large.count, searched=small.count)
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}: building")
        preread(large.root("zstd"))
        build(tools, large, result)
        _, seconds = reference(tools, large, "False")
        result.building.runs["reference"].append(Run(large.count, 0, seconds))
        say(f"round {number} of {rounds}: searching")
        preread(small.files)
        ask(tools, small, number, result)
    return result
