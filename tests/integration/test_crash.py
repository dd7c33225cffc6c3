# SPDX-License-Identifier: Apache-2.0
"""Publications that are killed, or whose store fails, at each operation in turn.

Whatever happens, the reference opens the dataset with the catalog of before or of after and reads every row of every
set, and the same command repeated ends with what an undisturbed one leaves, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import SAMPLE, error_line, sdsfs

reference = pytest.importorskip("signal_dataset")

FAULTS = os.environ.get("FAULTS", "")
pytestmark = pytest.mark.skipif(not FAULTS, reason="the faults library was not built")

SET, PUBLICATION, COUNT = "reviewed", "second-look", 48
HALVES = {"first": range(0, COUNT // 2), "second": range(COUNT // 2, COUNT)}
LOCK = ".catalog.json.lock"  # stays beside the catalog: that is the protocol


@pytest.fixture
def place() -> Iterator[Path]:
    """Room for datasets where a sync costs nothing, if there is such."""
    memory = Path("/dev/shm")
    where = tempfile.mkdtemp(prefix="sdsfs-crash-", dir=memory if os.access(memory, os.W_OK) else None)
    yield Path(where).resolve()
    shutil.rmtree(where)


def write_rows(path: Path, ordinals: range) -> Path:
    rows = ({"ordinal": i, "status": "success", "values": {"score": i / 8, "by": "crash"}} for i in ordinals)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# ---- what is published


def shard(place: Path, root: Path, half: str) -> list[object]:
    rows = write_rows(place / f"{half}.jsonl", HALVES[half])
    return ["annotate", root, SET, "--publication-id", PUBLICATION, "--shard", half, "--rows", rows]


def whole_set(place: Path, root: Path) -> list[object]:
    rows = write_rows(place / "rows.jsonl", range(COUNT))
    return ["annotate", root, SET, "--rows", rows, "--records-per-shard", COUNT // 2]


def worker(place: Path, root: Path) -> list[object]:
    return shard(place, root, "first")


def coordinator(place: Path, root: Path) -> list[object]:
    (place / "ids").write_text("".join(half + "\n" for half in HALVES))
    return ["annotate", root, SET, "--publication-id", PUBLICATION, "--coordinate", place / "ids"]


def drop_annotations(place: Path, root: Path) -> None:
    shutil.rmtree(root / "annotations")


def publish_shards(place: Path, root: Path) -> None:
    for half in HALVES:
        must_work(place, shard(place, root, half))


@dataclass(frozen=True)
class Publication:
    command: Callable[[Path, Path], list[object]]
    adds: frozenset[str]  # to the catalog
    operations: frozenset[str]  # that it takes, besides those of every publication
    prepare: Callable[[Path, Path], None] = lambda place, root: None


SWAP = frozenset({"flock", "rename"})
PUBLICATIONS = {
    "set": Publication(whole_set, frozenset({SET}), SWAP | {"mkdir"}),
    "first-set": Publication(whole_set, frozenset({SET}), frozenset({"mkdir"}), drop_annotations),
    "worker": Publication(worker, frozenset(), frozenset({"mkdir"})),
    "coordinator": Publication(coordinator, frozenset({SET}), SWAP, publish_shards),
}


# ---- running it


@dataclass(frozen=True)
class Fault:
    """What goes wrong at one operation; see faults.c."""

    do: str
    always: bool = False
    reads: bool = False

    def environment(self, number: int) -> dict[str, str]:
        flags = {"FAULTS_ALWAYS": self.always, "FAULTS_READS": self.reads}
        return {"FAULTS_DO": self.do, "FAULTS_AT": str(number)} | {name: "1" for name, on in flags.items() if on}

    def may_leave_temporary(self, operation: str) -> bool:
        """A process that is dead, or that could not remove its file or never heard that it made one."""
        return self.do == "kill" or (self.do, operation) == ("lost", "create") or operation == "unlink"


FAULTS_TO_MEET = {
    "kill": Fault("kill"),
    "no-space": Fault("ENOSPC"),
    "no-space-from-there-on": Fault("ENOSPC", always=True),
    "io-error": Fault("EIO"),
    "io-error-from-there-on": Fault("EIO", always=True),
    "lost-answer": Fault("lost"),
    "read-error": Fault("EIO", reads=True),
}


def environment(place: Path, **more: str) -> dict[str, str]:
    return os.environ | {"STATE_DIRECTORY": str(place / "state")} | more


def must_work(place: Path, argv: list[object]) -> None:
    done = sdsfs(*argv, env=environment(place))
    assert done.returncode == 0, done.stderr


def run_with_faults(place: Path, root: Path, argv: list[object], settings: dict[str, str]):
    """The finished process, and its operations, each with what it was done to."""
    log = place / "log"
    log.unlink(missing_ok=True)
    asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    faults = {"LD_PRELOAD": FAULTS, "FAULTS_BELOW": str(root), "FAULTS_LOG": str(log), "ASAN_OPTIONS": asan}
    done = sdsfs(*argv, env=environment(place, **faults, **settings))
    return done, log.read_text().splitlines() if log.exists() else []


def make_root(place: Path) -> Path:
    """Always under the same path: pointers of workers hold it."""
    root = place / "root.sds"
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(place / "prepared.sds", root)
    return root


# ---- looking at the outcome


def content(root: Path) -> dict[str, str]:
    """Everything but temporary files."""
    found = {}
    for path in root.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            found[str(path.relative_to(root))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def temporaries(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob(".*") if path.name != LOCK)


def read_with_reference(root: Path) -> set[str]:
    """The sets of a dataset as the reference opens it, each read to its last row."""
    dataset = reference.open(str(root))
    for name, rows in dataset.annotations.items():
        assert [rows[i].source_index for i in range(len(dataset))] == list(range(len(dataset))), name
    return set(dataset.annotations)


known: dict[frozenset, set[str]] = {}


def sets_that_read(root: Path) -> set[str]:
    """The same, but what was read before is not read again: many faults leave the same bytes."""
    key = frozenset(content(root).items())
    if key not in known:
        known[key] = read_with_reference(root)
    return known[key]


class Trial:
    """One publication, and what it leaves when nothing disturbs it."""

    def __init__(self, place: Path, publication: Publication) -> None:
        self.place = place
        self.publication = publication
        shutil.copytree(SAMPLE, place / "root.sds")
        publication.prepare(place, place / "root.sds")
        (place / "root.sds").rename(place / "prepared.sds")
        root = make_root(place)
        self.argv = publication.command(place, root)
        self.before = sets_that_read(root)
        self.done, self.operations = run_with_faults(place, root, self.argv, {})
        assert self.done.returncode == 0, self.done.stderr
        self.after = sets_that_read(root)
        self.left = content(root)
        assert temporaries(root) == []

    def survives(self, fault: Fault, number: int) -> bool:
        """Makes one operation go wrong, checks what is left, and repeats; false when there is no such operation."""
        root = make_root(self.place)
        done, operations = run_with_faults(self.place, root, self.argv, fault.environment(number))
        hit = next((line[2:] for line in operations if line.startswith("! ")), None)
        if hit is None:
            assert done.returncode == 0, done.stderr
            return False
        try:
            self.check(fault, hit.split()[0], done, root)
        except AssertionError as exc:
            raise AssertionError(f"operation {number}, {hit}: exit {done.returncode}, {done.stderr!r}: {exc}") from exc
        return True

    def check(self, fault: Fault, operation: str, done, root: Path) -> None:
        assert sets_that_read(root) in (self.before, self.after)
        if fault.do == "kill":
            assert done.returncode == -9
        elif done.returncode == 0:  # a fault that does not matter
            assert content(root) == self.left
        else:
            assert done.returncode in (1, 3)
            assert error_line(done)
        if not fault.may_leave_temporary(operation):
            assert temporaries(root) == []
        must_work(self.place, self.argv)
        assert content(root) == self.left


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_each_operation_is_seen(place, name):
    """The faults below are worth nothing if the library misses what the program does."""
    trial = Trial(place, PUBLICATIONS[name])
    kinds = {line.split()[0] for line in trial.operations}
    assert trial.publication.operations | {"create", "write", "fsync", "link", "unlink"} <= kinds
    assert trial.after == trial.before | trial.publication.adds


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_what_has_a_name_lasts(place, name):
    """A machine that stops cannot be had here. But a file is made durable before it gets its name, and the name, or a
    new directory, before anything that comes later."""
    steps = [line.split(" ", 1) for line in Trial(place, PUBLICATIONS[name]).operations if not line.endswith(LOCK)]
    named = [(i, path) for i, (kind, path) in enumerate(steps) if kind in ("link", "rename")]
    assert named
    for at, path in named:
        folder, _, file = path.rpartition("/")
        draft = [kind for kind, other in steps[:at] if other.startswith(f"{folder}/.{file}.")]
        assert draft[-1] == "fsync" and "write" in draft, (path, draft)
    for at, path in named + [(i, path) for i, (kind, path) in enumerate(steps) if kind == "mkdir"]:
        later = [i for i, (kind, _) in enumerate(steps) if i > at and kind in ("link", "rename", "mkdir")]
        between = steps[at + 1 : later[0] if later else None]
        assert ["fsync", path.rpartition("/")[0] or "."] in between, (path, between)


@pytest.mark.parametrize("fault", FAULTS_TO_MEET)
@pytest.mark.parametrize("name", PUBLICATIONS)
def test_faults(place, name, fault):
    trial = Trial(place, PUBLICATIONS[name])
    number = 1
    while trial.survives(FAULTS_TO_MEET[fault], number):
        number += 1
    assert number > 5
