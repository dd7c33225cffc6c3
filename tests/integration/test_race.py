# SPDX-License-Identifier: Apache-2.0
"""Publishers of annotations at once on one root, ours and the reference's: none is lost, and of several
contents for one name one wins."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import SAMPLE, SDSFS

sds = pytest.importorskip("signal_dataset")

OURS, THEIRS, ROUNDS = 8, 2, 20
ROWS = len(sds.open(str(SAMPLE)))
LOST = "retry limit"  # a publisher that others were faster than eight times; repeating it is what its user would do


def rows_of(tag: str) -> list[dict]:
    return [{"ordinal": i, "status": "success", "values": {"by": tag, "k": i}} for i in range(ROWS)]


def start(root: Path, name: str, tag: str) -> subprocess.Popen:
    """sdsfs annotate with rows that carry the tag."""
    rows = root.parent / f"{tag}.jsonl"
    if not rows.exists():
        rows.write_text("".join(json.dumps(row) + "\n" for row in rows_of(tag)))
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([SDSFS, "annotate", root, name, "--rows", rows], **quiet)


def finish(root: Path, name: str, tag: str, publisher: subprocess.Popen) -> tuple[int, str]:
    for _ in range(4):
        said = publisher.communicate(timeout=60)[1].decode()
        if publisher.returncode == 0 or LOST not in said:
            break
        publisher = start(root, name, tag)
    return publisher.returncode, said


def publish_theirs(root: str, name: str, tag: str) -> None:
    dataset = sds.open(root)
    rows = [
        sds.AnnotationRecord(record.id, row["ordinal"], sds.AnnotationStatus.SUCCESS, row["values"])
        for record, row in zip(dataset.record_metadata, rows_of(tag), strict=True)
    ]
    for _ in range(4):
        try:
            sds.publish_annotations(dataset, name, rows)
        except sds.PublicationCollisionError as error:
            if LOST not in str(error):
                raise
        else:
            return


def serve_theirs(orders) -> None:
    """A publisher of the reference: root, name and tag in, what went wrong out."""
    while (order := orders.recv()) is not None:
        try:
            publish_theirs(*order)
        except Exception as error:  # noqa: BLE001
            orders.send(repr(error))
        else:
            orders.send("")


@pytest.fixture(scope="module")
def theirs():
    """The pipes of publishers of the reference, which take longer to start than to publish."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(THEIRS):
        here, there = context.Pipe()
        processes.append(context.Process(target=serve_theirs, args=(there,), daemon=True))
        processes[-1].start()
        pipes.append(here)
    yield pipes
    for pipe, process in zip(pipes, processes, strict=True):
        pipe.send(None)
        process.join(10)


def fresh_root(where: Path) -> Path:
    """The sample without annotations: the first catalog is raced for as well."""
    root = where / "root"
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(SAMPLE, root, ignore=shutil.ignore_patterns("annotations"))
    return root


def tags(root: Path) -> dict[str, set[str]]:
    """Who wrote the rows of each set, as the reference reads it."""
    return {name: {rows[i].values["by"] for i in range(ROWS)} for name, rows in sds.open(str(root)).annotations.items()}


def no_leftovers(root: Path) -> None:
    assert [p.name for p in root.rglob(".*")] in ([], [".catalog.json.lock"])


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "grown"])
def test_no_set_is_lost(tmp_path, theirs, fresh):
    root = fresh_root(tmp_path)
    want: dict[str, set[str]] = {}
    for n in range(ROUNDS // 2):
        if fresh and n > 0:
            root, want = fresh_root(tmp_path), {}
        mine = {f"ours-{n}-{i}": None for i in range(OURS)}
        for i, pipe in enumerate(theirs):
            pipe.send((str(root), f"theirs-{n}-{i}", f"theirs-{n}-{i}"))
        for name in mine:
            mine[name] = start(root, name, name)
        done = {name: finish(root, name, name, publisher) for name, publisher in mine.items()}
        assert done == dict.fromkeys(mine, (0, ""))
        assert [pipe.recv() for pipe in theirs] == [""] * THEIRS
        want |= {name: {name} for name in [*mine, *(f"theirs-{n}-{i}" for i in range(THEIRS))]}
        assert tags(root) == want
        no_leftovers(root)


def test_one_content_wins_a_name(tmp_path, theirs):
    for n in range(ROUNDS // 4):
        root = fresh_root(tmp_path)
        contents = [f"{letter}-{n}" for letter in "xyz"]
        publishers = {tag: start(root, "same", tag) for tag in contents}
        done = {tag: finish(root, "same", tag, publisher) for tag, publisher in publishers.items()}
        (winner,) = [tag for tag, (code, _) in done.items() if code == 0]
        for tag, (code, said) in done.items():
            assert tag == winner or (code == 1 and "exists" in said), done
        assert tags(root) == {"same": {winner}}
        # The winner's may be published again, by anybody, and nobody else's.
        theirs[0].send((str(root), "same", winner))
        theirs[1].send((str(root), "same", "late"))
        again = finish(root, "same", winner, start(root, "same", winner))
        late = finish(root, "same", "late", start(root, "same", "late"))
        assert again == (0, "")
        assert late[0] == 1 and "exists" in late[1]
        assert theirs[0].recv() == ""
        assert "exists" in theirs[1].recv()
        assert tags(root) == {"same": {winner}}


def test_one_content_by_several(tmp_path, theirs):
    """The same rows under the same name at once: everybody has published them."""
    for n in range(ROUNDS // 4):
        root = fresh_root(tmp_path)
        for pipe in theirs:
            pipe.send((str(root), "same", "all"))
        publishers = [start(root, "same", "all") for _ in range(3)]
        assert [finish(root, "same", "all", publisher) for publisher in publishers] == [(0, "")] * 3
        assert [pipe.recv() for pipe in theirs] == [""] * THEIRS
        assert tags(root) == {"same": {"all"}}
        assert len(list(root.glob("annotations/sets/same/*/objects/*/*"))) == 1
        no_leftovers(root)
