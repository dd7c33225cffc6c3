# SPDX-License-Identifier: Apache-2.0
"""Annotation sets that the reference publishes while a dataset is mounted."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import SAMPLE, needs_fuse, requests_of, sdsfs, wait_until

sds = pytest.importorskip("signal_dataset")
pytestmark = needs_fuse

RECORDS = 48


@pytest.fixture
def root(tmp_path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "copy.sds"))


@pytest.fixture
def mount(root, point):
    """Mounts the copy with these options."""

    def mount_with(*options: str) -> Path:
        argv = ["-o", ",".join(options)] if options else []
        done = sdsfs("mount", *argv, root, point)
        assert done.returncode == 0, done.stderr
        return point

    yield mount_with
    assert sdsfs("umount", point).returncode == 0


def publish(root: Path, name: str, label: str = "x") -> None:
    dataset = sds.open(str(root))
    rows = [
        sds.AnnotationRecord(dataset[i].id, i, sds.AnnotationStatus.SUCCESS, {"label": label}, {}, {})
        for i in range(len(dataset))
    ]
    sds.publish_annotations(dataset, name, rows)


def shows(point: Path, name: str) -> bool:
    return name in os.listdir(point / "records/000007/annotations")


def test_a_set_is_seen_within_the_time(mount, root):
    point = mount()
    row = point / "records/000007/annotations/late"
    for missing in (row, point / "annotations/sets/late"):
        assert not missing.exists()
    before = (point / "annotations/catalog.json").read_bytes()
    assert sorted(os.listdir(point / "annotations/sets")) == ["review-v1"]
    publish(root, "late", "found")
    published = time.monotonic()
    assert wait_until(row.exists, 5)
    assert time.monotonic() - published < 1.5
    assert json.loads((row / "annotation.json").read_bytes())["values"] == {"label": "found"}
    assert sorted(os.listdir(row.parent)) == ["late", "review-v1"]
    assert sorted(os.listdir(point / "annotations/sets")) == ["late", "review-v1"]
    now = (point / "annotations/catalog.json").read_bytes()
    assert now == (root / "annotations/catalog.json").read_bytes() != before
    assert [s["name"] for s in json.loads((point / "control/status.json").read_bytes())["annotation_sets"]] == ["late", "review-v1"]
    # Each file that the new catalog leads to, byte for byte.
    for file in (root / "annotations").rglob("*"):
        if file.is_file() and not file.name.startswith("."):
            assert (point / file.relative_to(root)).read_bytes() == file.read_bytes()
    assert [row.values["label"] for row in sds.open(str(point)).annotations["late"]] == ["found"] * RECORDS
    assert json.loads((point / "control/errors.jsonl").read_bytes() or "{}") == {}


def test_without_a_delay_a_set_is_seen_at_once(mount, root):
    point = mount("refresh=0")
    for i in range(8):
        name = f"set-{7 - i}"
        assert not shows(point, name)
        publish(root, name)
        assert shows(point, name)
        assert name in sds.open(str(point)).annotations
        assert (point / "annotations/catalog.json").read_bytes() == (root / "annotations/catalog.json").read_bytes()


def test_a_long_delay_is_kept(mount, root):
    point = mount("refresh=3600")
    publish(root, "late")
    time.sleep(1.2)
    assert not shows(point, "late")


def test_an_open_catalog_is_read_afresh(mount, root):
    point = mount("refresh=0")
    with open(point / "annotations/catalog.json", "rb", buffering=0) as f:
        first = f.read()
        publish(root, "late")
        f.seek(0)
        assert f.read() == (root / "annotations/catalog.json").read_bytes() != first
    # A name that was read just before the publication leads on.
    old = json.loads(first)["revision"]["path"]
    assert list(json.loads((point / old).read_bytes())["sets"]) == ["review-v1"]


def test_the_first_set_of_all(mount, root):
    shutil.rmtree(root / "annotations")
    point = mount("refresh=0")
    assert os.listdir(point / "annotations") == []
    publish(root, "first")
    assert sorted(os.listdir(point / "annotations")) == ["catalog.json", "catalogs", "sets"]
    assert shows(point, "first")


def test_a_broken_catalog_changes_nothing_and_is_told_once(mount, root):
    point = mount("refresh=0")
    good = (root / "annotations/catalog.json").read_bytes()
    (root / "annotations/catalog.json").write_text('{"revision":{}}')
    time.sleep(0.01)
    for _ in range(3):
        assert shows(point, "review-v1")
        time.sleep(1.1)  # it is looked at again after a second
    assert (point / "annotations/catalog.json").read_bytes() == good
    (line,) = (point / "control/errors.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert told["object"] == "annotations/catalog.json" and told.get("count", 1) == 1
    (root / "annotations/catalog.json").write_bytes(good)
    publish(root, "late")
    assert wait_until(lambda: shows(point, "late"), 3)


def test_what_following_costs(mount, root):
    point = mount()
    row = point / "records/000007/annotations/review-v1/annotation.json"
    catalog = point / "annotations/catalog.json"
    row.read_bytes(), catalog.read_bytes()
    row.stat()
    assert requests_of(point, row.read_bytes) == {}  # a row is never asked for again
    assert requests_of(point, catalog.stat) == {"getattr": 1}
    cost = requests_of(point, catalog.read_bytes)
    assert set(cost) == {"getattr"} and cost["getattr"] < 9  # its bytes are still in the cache


def test_readers_while_sets_are_published(mount, root):
    point = mount("refresh=0.05")
    ended = threading.Event()

    def follow(number: int) -> int:
        seen, last = {"review-v1"}, False
        while not last:
            last = ended.is_set()
            names = set(os.listdir(point / f"records/{number:06d}/annotations"))
            assert seen <= names
            seen = names
            for name in names:
                text = (point / f"records/{number:06d}/annotations/{name}/annotation.json").read_bytes()
                assert json.loads(text)["source_index"] == number
            dataset = sds.open(str(point))  # the whole chain, as the reference reads it
            assert set(dataset.annotations) >= {"review-v1"}
        return len(seen)

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(follow, number) for number in range(8)]
        for i in range(12):
            publish(root, f"set-{i}")
        time.sleep(0.2)
        ended.set()
        assert [reader.result(60) for reader in readers] == [13] * 8
    assert (point / "control/errors.jsonl").read_text() == ""
