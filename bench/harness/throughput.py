# SPDX-License-Identifier: Apache-2.0
"""How fast records are read: one round runs every target once, so that what disturbs the machine
disturbs them alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from . import data, mounts
from .data import FIELD, Dataset
from .tools import BenchError, Run, Tools

READERS = 8
WARM_PASSES = 10


@dataclass(frozen=True)
class Case:
    dataset: Dataset
    kind: str  # "zstd" or "stored"
    shuffled: bool

    @property
    def label(self) -> str:
        return f"{self.dataset.label} {self.kind} {'random' if self.shuffled else 'in order'}"


@dataclass
class Series:
    """The runs of one case, target by target, one a round."""

    runs: dict[str, list[Run]] = field(default_factory=lambda: defaultdict(list))
    warm_requests: list[int] = field(default_factory=list)

    def rate(self, target: str) -> float:
        """Records a second, the median of the rounds."""
        return median(run.rate for run in self.runs[target])

    def rate_bytes(self, target: str) -> float:
        return median(run.size / run.seconds for run in self.runs[target])

    def ratio(self, target: str, other: str) -> float:
        """Paired by round: a machine that gets slower in between does not move it."""
        pairs = zip(self.runs[target], self.runs[other], strict=True)
        return median(a.rate / b.rate for a, b in pairs)

    def share_of_floor(self) -> float:
        """The mount's rate as a share of what FUSE alone and decoding alone leave possible."""
        rounds = zip(self.runs["sdsfs"], self.runs["floor"], self.runs["decode"], strict=True)
        return median(ours.rate * (1 / floor.rate + 1 / decode.rate) for ours, floor, decode in rounds)


def expected_rate(series: Series) -> float:
    return 1 / (1 / series.rate("floor") + 1 / series.rate("decode"))


def cases(datasets: list[Dataset]) -> list[Case]:
    return [
        Case(dataset, kind, shuffled)
        for dataset in datasets
        for kind in ("zstd", "stored")
        for shuffled in (True, False)
    ]


def measure(
    tools: Tools, datasets: list[Dataset], rounds: int, say: Callable[[str], None]
) -> dict[Case, Series]:
    result = {case: Series() for case in cases(datasets)}
    for number in range(1, rounds + 1):
        for case, series in result.items():
            say(f"round {number} of {rounds}: {case.label}")
            measure_round(tools, case, number if case.shuffled else 0, series)
    return result


def measure_round(tools: Tools, case: Case, seed: int, series: Series) -> None:
    """Every target once, in the order that seed gives (0: ascending)."""
    dataset, root = case.dataset, case.dataset.root(case.kind)
    data.preread(root)  # the last time may be minutes ago
    shape = (FIELD, dataset.count)
    runs = series.runs

    with mounts.sdsfs(tools, root) as point:
        runs["sdsfs"].append(tools.read_files(point, *shape, seed=seed))
        if case.shuffled:
            warm_up(tools, dataset, point, seed)
            before = mounts.RequestCounter(point)
            runs["warm"].append(timed_passes(tools, dataset, point, seed))
            series.warm_requests.append(before.since())
    with mounts.nullfs(tools, dataset) as point:
        runs["floor"].append(tools.read_files(point, *shape, seed=seed))
        if case.shuffled:
            runs["floor warm"].append(warm_passes(tools, dataset, point, seed))
    runs["decode"].append(tools.decode_shards(dataset.shards(case.kind), seed=seed))
    runs["plain"].append(plain_passes(tools, dataset, seed))
    runs["reference"].append(tools.reference("index", root, *shape, seed=seed))
    if not case.shuffled:
        runs["iterate"].append(tools.reference("iterate", root, *shape, seed=seed))
        return
    with mounts.sdsfs(tools, root) as point:
        runs["readers"].append(tools.read_files(point, *shape, seed=seed, threads=READERS))
    with mounts.nullfs(tools, dataset) as point:
        runs["floor readers"].append(tools.read_files(point, *shape, seed=seed, threads=READERS))
    with mounts.sdsfs(tools, root) as point:
        runs["np.load"].append(tools.reference("load", point, *shape, seed=seed))


def warm_up(tools: Tools, dataset: Dataset, folder: Path, seed: int) -> None:
    """The same files again, for the first time, which is neither timed nor counted: the kernel then
    moves the pages to its active list, on any file system, and asks a FUSE file system that can be
    written to for the attributes of each file once more."""
    tools.read_files(folder, FIELD, dataset.count, seed=seed)


def timed_passes(tools: Tools, dataset: Dataset, folder: Path, seed: int) -> Run:
    return tools.read_files(folder, FIELD, dataset.count, seed=seed, passes=WARM_PASSES)


def warm_passes(tools: Tools, dataset: Dataset, folder: Path, seed: int) -> Run:
    warm_up(tools, dataset, folder, seed)
    return timed_passes(tools, dataset, folder, seed)


def plain_passes(tools: Tools, dataset: Dataset, seed: int) -> Run:
    """Plain files, treated as the mounts are: where in memory the pages of a file happen to lie moves
    its rate by a third, so they too get new pages in each round."""
    data.drop_pages(dataset.files)
    tools.read_files(dataset.files, FIELD, dataset.count, seed=seed)
    return warm_passes(tools, dataset, dataset.files, seed)


def check_bytes(tools: Tools, dataset: Dataset) -> None:
    """What is timed has to be right: the mounts serve what the plain files hold."""
    shape = (FIELD, dataset.count)
    wanted = tools.read_files(dataset.files, *shape, seed=0, digest=True).digest
    for kind in ("zstd", "stored"):
        with mounts.sdsfs(tools, dataset.root(kind)) as point:
            if tools.read_files(point, *shape, seed=0, digest=True).digest != wanted:
                raise BenchError(f"{dataset.root(kind)}: the mount serves other bytes than the files hold")
