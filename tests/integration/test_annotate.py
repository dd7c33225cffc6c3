# SPDX-License-Identifier: Apache-2.0
"""`sdsfs annotate` beside the reference: the steps of its publication vectors, and rows of every kind
published by both on copies of one dataset. Every byte has to agree, the containers' included."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import pty
import random
import shutil
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import signal_dataset as sds
from conftest import HERE, SDSFS, error_line, run, sdsfs
from signal_dataset.annotation.publisher import publish_shards, write_shard

VECTORS = json.loads((HERE.parent / "data/publish/vectors.json").read_bytes())
DATA = HERE.parent / "data/signal-dataset/data.tar.zst"
DTYPES = ["|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8", "<c8"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The dataset of the vectors: five records, two of them with one id."""
    where = tmp_path_factory.mktemp("source")
    subprocess.run(["tar", "--zstd", "-xf", DATA, "-C", where, VECTORS["source_dataset"]], check=True)
    return where / VECTORS["source_dataset"]


@pytest.fixture
def root(source, tmp_path):
    return Path(shutil.copytree(source, tmp_path / "root"))


@pytest.fixture(autouse=True)
def state_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))


def files(root: Path) -> dict[str, str]:
    """Digests of what is stored, by path."""
    return {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in root.rglob("*")
        if p.is_file() and not p.name.startswith(".")
    }


def annotate(root: Path, name: str, *argv: object, **more: object) -> subprocess.CompletedProcess:
    return sdsfs("annotate", root, name, *argv, **more)


def write_rows(path: Path, rows: list) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


def plain_rows(count: int = 5, **values: object) -> list[dict]:
    return [{"ordinal": i, "status": "success", "values": {"i": i, **values}} for i in range(count)]


# ---- the vectors


def as_command(step: dict, where: Path) -> list[object]:
    argv: list[object] = []
    if step.get("publication_id") is not None:
        argv += ["--publication-id", step["publication_id"]]
    if step.get("metadata") is not None:
        (where / "metadata.json").write_text(json.dumps(step["metadata"], ensure_ascii=False))
        argv += ["--metadata", where / "metadata.json"]
    if "shards" in step:
        (where / "ids").write_text("\n".join(step["shards"]))
        return [*argv, "--coordinate", where / "ids"]
    rows = step["rows"]
    if "logical_shard_id" in step:  # whose rows begin where the step says, whatever ordinal they give
        rows = [{k: v for k, v in json.loads(r).items() if k != "source_record_id"} for r in rows]
        for i, row in enumerate(rows):
            row["ordinal"] = step["first_ordinal"] + i
        argv += ["--shard", step["logical_shard_id"]]
    elif step.get("records_per_shard"):
        argv += ["--records-per-shard", step["records_per_shard"]]
    for name, data in VECTORS["npy_base64"].items():
        (where / name).write_bytes(base64.b64decode(data))
    return [*argv, "--rows", write_rows(where / "rows.jsonl", rows)]


def expect_written(root: Path, write: dict) -> None:
    path = root / write["path"]
    assert path.is_file(), write["path"]
    if write["path"].endswith(".arrayrecord"):
        assert path.stat().st_size == write["bytes"]
        listed = [json.loads(line) for line in sdsfs("shard", "--json", path).stdout.splitlines()]
        assert [(x["bytes"], x["sha256"]) for x in listed] == [(x["bytes"], x["sha256"]) for x in write["payloads"]]
    elif "/shards/" in write["path"]:  # which embeds the root as it was given
        text = write["text"].replace(f'"{VECTORS["root_string"]}/', f'"{root}/')
        assert path.read_text() == text
    else:
        assert path.read_text() == write["text"]


def test_the_vectors_step_by_step(root, tmp_path):
    for number, step in enumerate(VECTORS["steps"]):
        step = {**VECTORS["steps"][step["same_as"]], **step} if "same_as" in step else step
        before = files(root)
        done = annotate(root, step["name"], *as_command(step, tmp_path))
        after = files(root)
        if step["result"] != "ok":
            assert done.returncode in (1, 2), number
            assert error_line(done)
            assert after == before, number  # the reference leaves orphans behind; we look first
            continue
        assert done.returncode == 0, (number, done.stderr)
        written = step["writes"]
        if step.get("returned_pointer_is_first"):
            assert after == before
            written = [w for w in written if w["outcome"] == "exists"]
        assert set(after) == set(before) | {w["path"] for w in written}
        assert all(after[p] == before[p] for p in before if p != "annotations/catalog.json")
        for write in written:
            if write["outcome"] != "exists":
                expect_written(root, write)
    assert set(sds.open(str(root)).annotations) == {"alpha", "Beta.2", "delta"}


# ---- rows of every kind, published by both


class Rows:
    """Random rows, as lines for us and as records for the reference."""

    def __init__(self, seed: int, where: Path, ids: list[str]) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.where = where
        self.ids = ids
        self.lines: list[str] = []
        self.records: list[sds.AnnotationRecord] = []
        for ordinal in range(len(ids)):
            self.add(ordinal)

    def text(self) -> str:
        alphabet = 'abc "\\/\n\t\b\x01\x7fé€\u2028😀'
        return "".join(self.random.choice(alphabet) for _ in range(self.random.randrange(12)))

    def number(self):
        kind = self.random.randrange(6)
        if kind == 0:
            return self.random.randrange(-(10**40), 10**40)
        if kind == 1:
            return self.random.choice([0, -0.0, 0.0, 1e-5, 1e16, 1e15, 123456789.0, 5e-324, 1.7976931348623157e308, 2**53 + 1])
        if kind == 2:
            return self.random.choice([True, False, None])
        return self.random.uniform(-1, 1) * 10.0 ** self.random.randrange(-20, 20)

    def value(self, depth: int = 0):
        kind = self.random.randrange(4 if depth > 3 else 6)
        if kind < 3:
            return self.number()
        if kind == 3:
            return self.text()
        if kind == 4:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return self.object(depth + 1)

    def object(self, depth: int = 0) -> dict:
        return {self.text(): self.value(depth) for _ in range(self.random.randrange(5))}

    def coordinate(self, length: int) -> dict | None:
        kind = self.random.randrange(4)
        if kind == 0:
            return None
        if kind == 1:
            return {"start": self.random.uniform(-5, 5), "step": self.random.randrange(1, 9), "unit": self.text()}
        if kind == 2:
            return {"values": [self.random.choice([i, i / 3, self.text(), [i, None]]) for i in range(length)], "metadata": self.object()}
        return {"unit": None, "metadata": {}}

    def field(self, name: str) -> tuple[dict, sds.Field]:
        shape = [self.random.randrange(5) for _ in range(self.random.randrange(1, 4))]
        raw = self.numbers.integers(0, 256, int(np.prod(shape)) * 8, dtype=np.uint8)
        dtype = np.dtype(self.random.choice(DTYPES))
        array = (raw[: int(np.prod(shape))] % 2 == 1 if dtype.kind == "b" else raw.view("<u1")[: int(np.prod(shape)) * dtype.itemsize].view(dtype)).reshape(shape)
        file = f"{name}-{dtype.str[1:]}.npy"
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, version=self.random.choice([(1, 0), (2, 0), (3, 0)]))
        (self.where / file).write_bytes(buffer.getvalue())
        axes, spec = [], []
        for i, length in enumerate(shape):
            axis = {"name": f"a{i}", "role": self.random.choice([None, "r"]), "id": None, "coordinate": self.coordinate(length), "metadata": self.object()}
            coordinate = None if axis["coordinate"] is None else sds.Coordinate(**axis["coordinate"])
            axes.append(sds.Axis(axis["name"], length, axis["role"], axis["id"], coordinate, axis["metadata"]))
            if self.random.random() < 0.5:
                axis["length"] = length
            spec.append({k: v for k, v in axis.items() if v is not None or self.random.random() < 0.5})
        metadata = self.object()
        return {"npy": file, "axes": spec, "metadata": metadata}, sds.Field(array, tuple(axes), metadata)

    def add(self, ordinal: int) -> None:
        status = self.random.choice(["success", "skipped", "failed"])
        detail = self.random.choice([None, "x" + self.text()])
        values, provenance = self.object(), self.object()
        specs, fields = {}, {}
        for i in range(self.random.choice([0, 0, 1, 3, 14])):
            name = f"{self.text()}{i}"
            specs[name], fields[name] = self.field(f"{ordinal}-{i}")
        row = {"ordinal": ordinal, "source_record_id": self.ids[ordinal], "status": status, "values": values,
               "provenance": provenance, "detail_status": detail, "fields": specs}
        if self.random.random() < 0.5 and self.ids.count(self.ids[ordinal]) == 1:
            del row["ordinal"]
        elif self.random.random() < 0.5:
            del row["source_record_id"]
        row = dict(self.random.sample(list(row.items()), len(row)))
        self.lines.append(json.dumps(row, ensure_ascii=self.random.random() < 0.5, indent=None, separators=self.random.choice([(",", ":"), (", ", ": ")])))
        self.records.append(sds.AnnotationRecord(self.ids[ordinal], ordinal, sds.AnnotationStatus(status), values, fields, provenance, detail))


def both(source: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies that are called the same, since worker pointers name the root."""
    ours, theirs = tmp_path / "ours/root", tmp_path / "theirs/root"
    for root in (ours, theirs):
        shutil.copytree(source, root)
    return ours, theirs


@pytest.mark.parametrize("seed", range(40))
def test_random_rows_as_the_reference_publishes_them(source, tmp_path, seed):
    ours, theirs = both(source, tmp_path)
    dataset = sds.open(str(theirs))
    ids = [m.id for m in dataset.record_metadata]
    staging = tmp_path / "staging"
    staging.mkdir()
    for turn in range(2):  # the second into a catalog that is there
        rows = Rows(1000 * seed + turn, staging, ids)
        lines = rows.lines[:]
        rows.random.shuffle(lines)
        per_shard = rows.random.choice([1, 2, 3, 10000])
        metadata = rows.object()
        (staging / "metadata.json").write_text(json.dumps(metadata))
        sds.publish_annotations(dataset, f"set-{turn}", rows.records, metadata=metadata, options=sds.AnnotationOptions(records_per_shard=per_shard))
        done = annotate(ours, f"set-{turn}", "--rows", write_rows(staging / "rows.jsonl", lines),
                        "--metadata", staging / "metadata.json", "--records-per-shard", per_shard)
        assert done.returncode == 0, done.stderr
        assert files(ours) == files(theirs)
    for name in ("set-0", "set-1"):
        assert len(list(sds.open(str(ours)).annotations[name])) == len(ids)


@pytest.mark.parametrize("name", ["catalog_empty", "duplicates", "empty_none", "empty_shard", "indices", "names", "paged", "uneven"])
def test_other_datasets_as_the_reference_publishes_into_them(tmp_path, name):
    subprocess.run(["tar", "--zstd", "-xf", DATA, "-C", tmp_path, name], check=True)
    ours, theirs = both(tmp_path / name, tmp_path)
    dataset = sds.open(str(theirs))
    rows = Rows(7, tmp_path, [m.id for m in dataset.record_metadata])
    sds.publish_annotations(dataset, "set", rows.records, options=sds.AnnotationOptions(records_per_shard=3))
    done = annotate(ours, "set", "--rows", write_rows(tmp_path / "rows.jsonl", rows.lines), "--records-per-shard", 3)
    assert done.returncode == 0, done.stderr
    assert files(ours) == files(theirs)


@pytest.mark.parametrize("seed", range(6))
def test_workers_as_the_reference_has_them(source, tmp_path, seed, monkeypatch):
    ours, theirs = both(source, tmp_path)
    monkeypatch.chdir(tmp_path / "theirs")
    dataset = sds.open(str(theirs))
    ids = [m.id for m in dataset.record_metadata]
    staging = tmp_path / "staging"
    staging.mkdir()
    rows = Rows(seed, staging, ids)
    split = rows.random.randrange(1, len(ids))
    parts = {"first": range(split), "second": range(split, len(ids))}
    for shard, ordinals in parts.items():
        write_shard(dataset, "set", "run", ordinals.start, [rows.records[i] for i in ordinals], logical_shard_id=shard)
        write_rows(staging / "rows.jsonl", [rows.lines[i] for i in reversed(ordinals)])
        done = annotate(ours, "set", "--publication-id", "run", "--shard", shard, "--rows", staging / "rows.jsonl", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["pointer"]["record_ids"] == [ids[i] for i in ordinals]
    pointers = [p for p in files(ours) if "/shards/" in p]
    assert len(pointers) == 2
    for path in pointers:
        expected = (theirs / path).read_text().replace(f'"{theirs}/', f'"{ours}/')
        assert (ours / path).read_text() == expected
    # Each coordinates what the other's workers wrote.
    (staging / "ids").write_text("second\r\n\n first \n")
    for path in pointers:
        shutil.copyfile(theirs / path, ours / path)
    done = annotate(ours, "set", "--publication-id", "run", "--coordinate", staging / "ids")
    assert done.returncode == 0, done.stderr
    published = [sds.PublishedAnnotationShard(**{**p, **{k: tuple(p[k]) for k in ("record_ids", "statuses", "terminal_statuses")}})
                 for p in (json.loads((theirs / path).read_bytes()) for path in pointers)]
    publish_shards(dataset, "set", "run", published)
    assert files(ours) == files(theirs)


def test_each_finishes_what_the_other_began(source, tmp_path):
    ours, theirs = both(source, tmp_path)
    rows = plain_rows()
    records = [sds.AnnotationRecord(m.id, i, sds.AnnotationStatus.SUCCESS, {"i": i}) for i, m in enumerate(sds.open(str(theirs)).record_metadata)]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    sds.publish_annotations(sds.open(str(theirs)), "set", records)
    assert annotate(ours, "set", "--rows", path).returncode == 0
    for root in (ours, theirs):
        (root / "annotations/catalog.json").unlink()
    assert annotate(theirs, "set", "--rows", path).returncode == 0
    sds.publish_annotations(sds.open(str(ours)), "set", records)
    assert files(ours) == files(theirs)


# ---- what the reference refuses


def refuse(root: Path, tmp_path: Path, rows: list, *words: str) -> None:
    before = files(root)
    done = annotate(root, "set", "--rows", write_rows(tmp_path / "rows.jsonl", rows))
    assert done.returncode == 1
    line = error_line(done)
    assert all(word in line for word in words), line
    assert files(root) == before


@pytest.mark.parametrize("array, word", [
    (np.zeros(3, ">f4"), "big-endian"),
    (np.zeros(3, "<c16"), "c16"),
    (np.asfortranarray(np.ones((2, 3))), "Fortran"),
    (np.array(1.0), "shape"),
    (np.zeros(3, [("a", "<f4")]), "descr"),
    (np.array(["x"]), "U1"),
])
def test_arrays_that_cannot_be_records(root, tmp_path, array, word):
    np.save(tmp_path / "a.npy", array)
    rows = plain_rows()
    rows[3]["fields"] = {"m": {"npy": "a.npy", "axes": [{"name": f"a{i}"} for i in range(array.ndim)]}}
    refuse(root, tmp_path, rows, "line 4", 'field "m"', "a.npy")


def test_an_array_of_objects(root, tmp_path):
    np.save(tmp_path / "a.npy", np.array([None]), allow_pickle=True)
    rows = plain_rows()
    rows[0]["fields"] = {"m": {"npy": "a.npy", "axes": [{"name": "t"}]}}
    refuse(root, tmp_path, rows, "line 1", "a.npy")


def test_rows_that_are_wrong(root, tmp_path):
    rows = plain_rows()
    refuse(root, tmp_path, rows[:4], "record 4 has no row")
    refuse(root, tmp_path, [*rows, rows[2]], "line 6", "line 3")
    refuse(root, tmp_path, [*rows[:4], {**rows[4], "ordinal": 5}], "line 5", "there is no record 5")
    refuse(root, tmp_path, [*rows[:4], {"source_record_id": "rec-1", "status": "failed"}], "line 5", "records 1 and 3")
    refuse(root, tmp_path, [*rows[:4], {**rows[4], "source_record_id": "rec-0"}], "line 5", '"rec-0"')
    refuse(root, tmp_path, [*rows[:4], {**rows[4], "status": "ok"}], "line 5", "status")
    refuse(root, tmp_path, [*rows[:4], "{}"], "line 5", "ordinal")


def test_every_wrong_row_is_told(root, tmp_path):
    rows = [{**r, "status": "?"} if r["ordinal"] % 2 == 0 else r for r in plain_rows()]
    done = annotate(root, "set", "--rows", write_rows(tmp_path / "rows.jsonl", rows))
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert [line.split(": ")[2] for line in lines] == ["line 1", "line 3", "line 5"]


# ---- the command


def test_rows_from_a_pipe(root, tmp_path, monkeypatch):
    np.save(tmp_path / "m.npy", np.arange(3, dtype="<i4"))
    rows = plain_rows()
    rows[1]["fields"] = {"m": {"npy": "m.npy", "axes": [{"name": "t"}]}}
    text = "".join(json.dumps(r) + "\n" for r in rows).encode()
    monkeypatch.chdir(tmp_path)  # which names of files are relative to
    assert annotate(root, "a", "--rows", "-", input=text).returncode == 0
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=lambda: (tmp_path / "fifo").write_bytes(text))
    writer.start()
    done = annotate(root, "b", "--rows", tmp_path / "fifo")
    writer.join()
    assert done.returncode == 0, done.stderr
    published = sds.open(str(root)).annotations
    assert all(list(published[s][1].fields["m"].data) == [0, 1, 2] for s in "ab")
    assert not list((tmp_path / "state").iterdir())  # nothing stays there


def test_names_are_relative_to_the_rows(root, tmp_path, monkeypatch):
    (tmp_path / "in/fields").mkdir(parents=True)
    np.save(tmp_path / "in/fields/m.npy", np.ones(1))
    rows = plain_rows()
    rows[0]["fields"] = {"m": {"npy": "fields/m.npy", "axes": [{"name": "t"}]}}
    write_rows(tmp_path / "in/rows.jsonl", rows)
    monkeypatch.chdir(tmp_path)
    assert annotate(root, "a", "--rows", "in/rows.jsonl").returncode == 0
    monkeypatch.chdir(tmp_path / "in")
    assert annotate(root, "b", "--rows", "rows.jsonl").returncode == 0


def test_null_is_what_the_reference_makes_of_it(source, tmp_path):
    ours, theirs = both(source, tmp_path)
    np.save(tmp_path / "m.npy", np.zeros(1))
    ids = [m.id for m in sds.open(str(theirs)).record_metadata]
    rows = [{"ordinal": i, "status": "failed", "values": None, "provenance": None,
             "fields": {"m": {"npy": "m.npy", "axes": [{"name": "t", "metadata": None}], "metadata": None}}} for i in range(len(ids))]
    field = sds.Field(np.zeros(1), (sds.Axis("t", 1, metadata=None),), None)
    records = [sds.AnnotationRecord(ids[i], i, sds.AnnotationStatus.FAILED, None, {"m": field}, None) for i in range(len(ids))]
    sds.publish_annotations(sds.open(str(theirs)), "set", records)
    assert annotate(ours, "set", "--rows", write_rows(tmp_path / "rows.jsonl", rows)).returncode == 0
    assert files(ours) == files(theirs)


def test_what_is_wrong_with_the_metadata(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    metadata = tmp_path / "about.json"
    before = files(root)
    for text, word in (("[]", "object: []"), ("null", "object: null"), ("0", "object: 0"), ("false", "object: false"), ("{", "json"),
                       ('{"x": NaN}', "JSON has no NaN"), ("\ufeff{}", "byte order mark"), ("", "empty")):
        metadata.write_text(text)
        done = annotate(root, "set", "--rows", rows, "--metadata", metadata)
        assert done.returncode == 2
        line = error_line(done)
        assert line.startswith(f"{metadata}: ") and word in line, line
    assert files(root) == before


def test_a_pipe_without_an_end_of_line(root, tmp_path):
    """A line that is too long is refused while it is copied, not when the disk is full."""
    with open("/dev/zero", "rb") as zeros:
        done = annotate(root, "set", "--rows", "-", stdin=zeros)
    assert done.returncode == 1
    assert error_line(done).startswith("-: row_size: line 1 has more than")
    done = annotate(root, "set", "--rows", "-", input=b"\n\n" + b" " * ((64 << 20) + 1))
    assert done.returncode == 1 and "line 3 has more than" in error_line(done)


def test_a_closed_standard_output(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    shard = next(root.rglob("*.arrayrecord"))
    for argv in (("annotate", root, "set", "--rows", rows), ("annotate", root, "set", "--rows", rows, "--json"), ("info", root), ("ls", root),
                 ("verify", root), ("shard", shard), ("cat", root, "root.json"), ("--version",), ("--help",), ("annotate", "--help")):
        done = run("sh", "-c", 'exec "$@" >&-', "sh", SDSFS, *argv)
        assert done.returncode == 3, argv
        assert "Bad file descriptor" in error_line(done)
    assert "set" in sds.open(str(root)).annotations  # the first of them all the same
    done = run("sh", "-c", 'exec "$@" <&-', "sh", SDSFS, "annotate", root, "more", "--rows", "-")
    assert done.returncode == 3 and "Bad file descriptor" in error_line(done)


def test_a_file_that_is_written_to_meanwhile(root, tmp_path):
    """Either all of one version is published, or nothing."""
    whole = np.zeros(4 << 20, dtype="|u1")
    np.save(tmp_path / "m.npy", whole)
    start = (tmp_path / "m.npy").stat().st_size - whole.nbytes
    rows = plain_rows()
    rows[3]["fields"] = {"m": {"npy": "m.npy", "axes": [{"name": "t"}]}}
    path = write_rows(tmp_path / "rows.jsonl", rows)
    done = threading.Event()

    def overwrite() -> None:
        with open(tmp_path / "m.npy", "r+b", buffering=0) as file:
            value = 0
            while not done.is_set():
                value = (value + 1) % 256
                for at in range(0, whole.nbytes, 1 << 16):
                    os.pwrite(file.fileno(), bytes([value]) * (1 << 16), start + at)
                time.sleep(random.random() / 10)

    writer = threading.Thread(target=overwrite)
    writer.start()
    outcomes = [annotate(root, f"set-{i}", "--rows", path) for i in range(20)]
    done.set()
    writer.join()
    for i, outcome in enumerate(outcomes):
        if outcome.returncode == 0:
            assert len(np.unique(sds.open(str(root)).annotations[f"set-{i}"][3].fields["m"].data)) == 1
        else:
            line = error_line(outcome)
            assert "line 4: changed: " in line and '"m.npy"' in line
            assert outcome.returncode == 1 and f"set-{i}" not in sds.open(str(root)).annotations


def test_a_check_looks_at_the_name(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    other = write_rows(tmp_path / "other.jsonl", plain_rows(label="x"))
    (tmp_path / "ids").write_text("all")
    as_shard = ("--publication-id", "run", "--rows", rows, "--shard", "all")
    assert annotate(root, "set", *as_shard).returncode == 0
    assert annotate(root, "set", "--rows", rows).returncode == 0
    before = files(root)
    done = annotate(root, "set", "--rows", rows, "--check")
    assert (done.returncode, done.stdout) == (0, b"checked set: nothing is wrong\n")
    for argv in (
        ("--rows", other),
        ("--rows", rows, "--records-per-shard", 2),
        ("--rows", rows, "--publication-id", "run"),
        as_shard,
        ("--publication-id", "run", "--coordinate", tmp_path / "ids"),
    ):
        said = []
        for more in ((), ("--check",)):
            done = annotate(root, "set", *argv, *more)
            assert done.returncode == 1
            said.append(error_line(done))
        assert said[0] == said[1] and "annotation set name already exists: set" in said[0]
    assert files(root) == before


def test_a_shard_that_was_reported_before(root, tmp_path):
    def shard(rows: list, *more: str) -> subprocess.CompletedProcess:
        return annotate(root, "set", "--publication-id", "run", "--shard", "a",
                        "--rows", write_rows(tmp_path / "rows.jsonl", rows), *more)

    done = shard(plain_rows()[:2])
    assert (done.stdout, done.stderr) == (b"wrote shard a of set\n", b"")
    before = files(root)
    told = b"shard a of set was reported before: records 0 to 1"
    done = shard(plain_rows(label="x")[:2])
    assert (done.returncode, done.stdout, done.stderr) == (0, told + b"\n", b"")
    for more in ((), ("--check",), ("--json",)):
        done = shard(plain_rows()[2:3], *more)
        assert done.returncode == 0
        assert "was reported before: records 0 to 1;" in error_line(done) and "record 2," in error_line(done)
        assert json.loads(done.stdout)["pointer"]["first_ordinal"] == 0 if "--json" in more else told in done.stdout
    assert files(root) == before


def test_check_writes_nothing(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    before = files(root)
    done = annotate(root, "set", "--rows", rows, "--check")
    assert (done.returncode, files(root)) == (0, before), done.stderr
    assert not (tmp_path / "state").exists()
    done = annotate(root, "set", "--rows", write_rows(rows, plain_rows(4)), "--check")
    assert done.returncode == 1 and files(root) == before


def test_the_receipt(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    done = annotate(root, "set", "--rows", rows, "--json")
    receipt = json.loads(done.stdout)
    assert receipt["set"] == "set" and receipt["publication_id"] in receipt["objects"][0]["path"]
    stored = files(root)
    for written in receipt["objects"]:
        assert stored[written["path"]] == written["sha256"]
        assert (root / written["path"]).stat().st_size == written["stored_bytes"]
    assert [w["outcome"] for w in receipt["objects"]] == ["created"] * 3 + ["written"]


def test_usage_never_touches_the_store(tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    nowhere = tmp_path / "nowhere"
    for argv in (
        [nowhere],
        [nowhere, "set"],
        [nowhere, "set", "more", "--rows", rows],
        [nowhere, "set", "--rows", rows, "--coordinate", rows, "--publication-id", "p"],
        [nowhere, "set", "--rows", rows, "--shard", "s"],
        [nowhere, "set", "--coordinate", rows],
        [nowhere, "set", "--rows", rows, "--shard", "s", "--publication-id", "p", "--metadata", rows],
        [nowhere, "set", "--rows", rows, "--shard", "s", "--publication-id", "p", "--records-per-shard", "1"],
        [nowhere, "set", "--rows", rows, "--records-per-shard", "0"],
        [nowhere, "set", "--rows", rows, "--records-per-shard", "x"],
        [nowhere, "set", "--rows", tmp_path / "none"],
        [nowhere, "set", "--rows", tmp_path],
        [nowhere, "set", "--rows", rows, "--metadata", tmp_path / "none"],
        [nowhere, "set", "--rows"],
        [nowhere, "set", "--rows", rows, "--unknown"],
    ):
        done = sdsfs("annotate", *argv)
        assert done.returncode == 2, argv
        assert error_line(done)
    assert sdsfs("annotate", nowhere, "set", "--rows", rows).returncode == 3


def test_names_that_are_not_portable(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    for argv in (["a b"], ["set", "--publication-id", "a/b"], ["set", "--publication-id", ""], ["set", "--publication-id", "p", "--shard", "."]):
        done = sdsfs("annotate", root, *argv, "--rows", rows)
        assert done.returncode == 2
        assert error_line(done)


def test_a_name_that_is_taken(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    assert annotate(root, "set", "--rows", rows).returncode == 0
    done = annotate(root, "set", "--rows", rows, "--publication-id", "other")
    assert done.returncode == 1
    assert "annotation set name already exists: set" in error_line(done)


def test_a_state_directory_that_cannot_be(root, tmp_path):
    (tmp_path / "file").touch()
    done = annotate(root, "set", "--rows", write_rows(tmp_path / "rows.jsonl", plain_rows()), "-o", f"state_dir={tmp_path}/file/x")
    assert done.returncode == 3
    assert "state_dir=" in error_line(done)


def test_progress_on_a_terminal(root, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows())
    main, side = pty.openpty()
    process = subprocess.Popen([SDSFS, "annotate", root, "set", "--rows", rows], stderr=side, stdout=subprocess.PIPE)
    os.close(side)
    seen = b""
    try:
        while chunk := os.read(main, 4096):
            seen += chunk
    except OSError:
        pass  # the other end is closed
    assert process.wait(60) == 0
    process.stdout.close()
    os.close(main)
    assert b"100%" in seen and seen.endswith(b"\r\x1b[K")
