# SPDX-License-Identifier: Apache-2.0
"""Publishing through control/annotations of a mounted dataset: the reference's publication vectors, and
what is seen of it where and when. How drafts behave as files stands in test_drafts.py."""

from __future__ import annotations

import base64
import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import signal_dataset as sds
from conftest import SDSFS, alive, daemon_of, detach, fails_with, needs_fuse, needs_root, run, sdsfs, wait_until
from test_annotate import VECTORS, expect_written, files, plain_rows, root, source, write_rows  # noqa: F401

pytestmark = needs_fuse


@pytest.fixture(autouse=True)
def state_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def mount(root, point):
    """Mounts the root of the test, with options; all are unmounted by the program itself."""
    points = []

    def do(*options: str, where: Path = point, of: Path = root) -> Path:
        where.mkdir(exist_ok=True)
        done = sdsfs("mount", "-o", ",".join(("refresh=0.2", *options)), of, where)
        assert done.returncode == 0, done.stderr
        points.append((where, daemon_of(where)))
        return where

    yield do
    for where, daemon in points:
        if os.path.ismount(where):
            done = sdsfs("umount", where)
            assert done.returncode == 0, done.stderr
        assert not alive(daemon)


def write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def draft_of(point: Path, name: str, rows: list | None = None, **files: object) -> Path:
    draft = point / "control/annotations" / name
    draft.mkdir(parents=True)
    if rows is not None:
        write_rows(draft / "rows.jsonl", rows)
    for file, content in files.items():
        (draft / f"{file}.json").write_text(json.dumps(content, ensure_ascii=False))
    return draft


def commit(draft: Path, line: str = "publish") -> None:
    write(draft / "commit", line.encode() + b"\n")


def status(draft: Path) -> dict:
    return json.loads((draft / "status.json").read_bytes())


# --- the vectors ----------------------------------------------------------------------------------


def fill(draft: Path, step: dict) -> Path:
    """The draft, or the worker's draft in it, with the files of a step."""
    options = {k: step[k] for k in ("publication_id", "records_per_shard") if step.get(k)}
    if options:
        (draft / "options.json").write_text(json.dumps(options))
    if step.get("metadata") is not None:
        (draft / "metadata.json").write_text(json.dumps(step["metadata"], ensure_ascii=False))
    if "shards" in step:
        (draft / "logical-shards").write_text("\n".join(step["shards"]) + "\n")
        return draft
    rows, where = step["rows"], draft
    if "logical_shard_id" in step:
        where = draft / "shards" / step["logical_shard_id"]
        where.mkdir(parents=True)
        rows = [{k: v for k, v in json.loads(r).items() if k != "source_record_id"} for r in rows]
        for i, row in enumerate(rows):
            row["ordinal"] = step["first_ordinal"] + i
    for name, data in VECTORS["npy_base64"].items():
        (where / name).write_bytes(base64.b64decode(data))
    write_rows(where / "rows.jsonl", rows)
    return where


def test_the_vectors_step_by_step(root, mount):
    point = mount()
    for number, step in enumerate(VECTORS["steps"]):
        step = {**VECTORS["steps"][step["same_as"]], **step} if "same_as" in step else step
        before = files(root)
        draft = point / "control/annotations" / step["name"]
        try:
            draft.mkdir()
            where = fill(draft, step)
            if step["result"] == "ok":
                commit(where, "check")
            assert files(root) == before
            commit(where)
        except OSError as exc:
            assert step["result"] != "ok", number
            assert exc.errno == (errno.EEXIST if "exists" in step["message"] else errno.EINVAL)
            assert files(root) == before
        else:
            assert step["result"] == "ok", number
            written = step["writes"]
            if step.get("returned_pointer_is_first"):
                written = [w for w in written if w["outcome"] == "exists"]
            assert set(files(root)) == set(before) | {w["path"] for w in written}
            for w in written:
                if w["outcome"] != "exists":
                    expect_written(root, w)
            receipt = json.loads((where / "receipt.json").read_bytes())
            assert set() < {o["path"] for o in receipt["objects"]} <= {w["path"] for w in written}
            if "logical_shard_id" not in step:
                assert (point / "records/000000/annotations" / step["name"] / "annotation.json").exists()
        if draft.exists():
            shutil.rmtree(draft)
    assert set(sds.open(str(root)).annotations) == {"alpha", "Beta.2", "delta"}
    assert set(sds.open(str(point)).annotations) == {"alpha", "Beta.2", "delta"}


# --- what is seen of it ---------------------------------------------------------------------------


def test_it_is_seen_at_once_and_everywhere(root, mount, tmp_path):
    point, other = mount(), mount(where=tmp_path / "other")
    assert not (point / "annotations/catalog.json").exists()
    assert os.listdir(point / "records/000002/annotations") == []
    fails_with(errno.ENOENT, (point / "records/000002/annotations/review").stat)
    for turn in range(5):
        name = f"review{turn}"
        commit(draft_of(point, name, plain_rows()))
        row = json.loads((point / f"records/000002/annotations/{name}/annotation.json").read_bytes())
        assert row["source_index"] == 2 and row["values"] == {"i": 2}
        assert name in os.listdir(point / "records/000002/annotations")
        assert name in os.listdir(point / "annotations/sets")
        assert (point / "annotations/catalog.json").read_bytes() == (root / "annotations/catalog.json").read_bytes()
        assert len(sds.open(str(point)).annotations) == turn + 1
        assert wait_until(lambda: (other / f"records/000004/annotations/{name}").exists(), 2)
        assert (other / "annotations/catalog.json").read_bytes() == (root / "annotations/catalog.json").read_bytes()
    for name in ("review0", "review4"):
        assert [r.values["i"] for r in sds.open(str(root)).annotations[name]] == list(range(5))


def test_tensors_metadata_and_options(root, mount):
    point = mount()
    rows = plain_rows()
    array = np.arange(12, dtype="<f4").reshape(3, 4)
    rows[1]["fields"] = {"mask": {"npy": "fields/1/mask.npy", "axes": [{"name": "y"}, {"name": "x", "metadata": {"unit": "px"}}]}}
    draft = draft_of(point, "set", rows, metadata={"who": "ä"}, options={"publication_id": "p1", "records_per_shard": 2})
    (draft / "fields/1").mkdir(parents=True)
    np.save(draft / "fields/1/mask.npy", array)
    (draft / "notes.txt").write_text("ignored")
    commit(draft)
    assert (np.load(point / "records/000001/annotations/set/mask.npy") == array).all()
    published = json.loads((root / "annotations/sets/set/p1/root.json").read_bytes())
    assert published["metadata"] == {"who": "ä"} and len(published["shards"]) == 3
    field = sds.open(str(root)).annotations["set"][1].fields["mask"]
    assert (field.data == array).all() and field.axes[1].metadata == {"unit": "px"}


# --- what is refused ------------------------------------------------------------------------------


def test_wrong_rows_are_told_line_by_line(root, mount):
    point = mount()
    rows = [json.dumps(r) for r in plain_rows()]
    rows[1] = "{"
    rows[2] = json.dumps({"ordinal": 2, "status": "great"})
    rows[4] = json.dumps({"ordinal": 3, "status": "success"})
    draft = draft_of(point, "set", rows)
    before = files(root)
    for line in ("check", "publish"):
        fails_with(errno.EINVAL, lambda line=line: commit(draft, line))
        told = {p["line"]: p["reason"] for p in status(draft)["problems"] if "line" in p}
        assert {2, 3} <= set(told) and "great" in told[3]
    assert files(root) == before
    write_rows(draft / "rows.jsonl", plain_rows())
    commit(draft)
    assert status(draft)["state"] == "published" and status(draft)["problems"] == []


@pytest.mark.parametrize("name", ["../../../root.json", "/etc/passwd", "link.npy", "dir", "nope.npy", "../t/a.npy"])
def test_arrays_lie_in_the_draft(root, mount, state_dir, name):
    point = mount()
    other = draft_of(point, "t")
    np.save(other / "a.npy", np.zeros(2, "<f4"))
    rows = plain_rows()
    rows[0]["fields"] = {"x": {"npy": name, "axes": [{"name": "t"}]}}
    draft = draft_of(point, "set", rows)
    (draft / "dir").mkdir()
    (next(state_dir.glob("drafts/*/sets/set")) / "link.npy").symlink_to(other / "a.npy")
    before = files(root)
    fails_with(errno.EINVAL, lambda: commit(draft))
    assert files(root) == before
    assert name.split("/")[-1] in json.dumps(status(draft)["problems"])


def test_a_name_that_is_taken(root, mount):
    point = mount()
    commit(draft_of(point, "set", plain_rows()))
    shutil.rmtree(point / "control/annotations/set")
    commit(draft_of(point, "set", plain_rows()))  # the same again is fine
    shutil.rmtree(point / "control/annotations/set")
    draft = draft_of(point, "set", plain_rows(more=1))
    before = files(root)
    fails_with(errno.EEXIST, lambda: commit(draft))
    assert files(root) == before and status(draft)["state"] == "failed"
    assert "set" in status(draft)["error"]


def test_a_check_looks_at_the_name(root, mount):
    point = mount()
    commit(draft_of(point, "set", plain_rows()))
    assert run("rm", "-r", point / "control/annotations/set").returncode == 0
    draft = draft_of(point, "set", plain_rows(label="x"))
    before = files(root)
    fails_with(errno.EEXIST, lambda: commit(draft, "check"))
    assert "name already exists" in status(draft)["error"]
    assert files(root) == before
    write_rows(draft / "rows.jsonl", plain_rows())
    commit(draft, "check")
    assert status(draft)["state"] == "open"


def test_a_shard_that_was_reported_before(root, mount):
    point = mount()
    for ordinals, note in ((slice(0, 2), None), (slice(2, 3), "reported before: records 0 to 1; ")):
        draft = draft_of(point, "set", options={"publication_id": "run"})
        shard = draft / "shards/a"
        shard.mkdir(parents=True)
        write_rows(shard / "rows.jsonl", plain_rows()[ordinals])
        commit(shard)
        assert json.loads((shard / "pointer.json").read_bytes())["first_ordinal"] == 0
        told = status(shard)["note"]
        assert told is None if note is None else note in told and ", record 2," in told
        assert run("rm", "-r", draft).returncode == 0


def test_a_root_that_cannot_be_written(root, mount, point):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    where = mount()
    draft = draft_of(where, "set", plain_rows())
    root.chmod(0o555)
    try:
        fails_with(errno.EACCES, lambda: commit(draft))
    finally:
        root.chmod(0o755)
    commit(draft)


@needs_root
def test_a_root_that_is_mounted_read_only(root, mount, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    assert run("mount", "--bind", root, there).returncode == 0
    try:
        assert run("mount", "-o", "remount,bind,ro", there).returncode == 0
        point = mount(of=there)
        draft = draft_of(point, "set", plain_rows())
        fails_with(errno.EACCES, lambda: commit(draft))
        assert status(draft)["state"] == "failed"
        assert sdsfs("umount", point).returncode == 0
    finally:
        assert run("umount", there).returncode == 0


def test_a_read_only_mount(mount):
    point = mount("ro")
    fails_with(errno.EROFS, lambda: (point / "control/annotations/set").mkdir())
    assert os.listdir(point / "control/annotations") == []


def test_without_a_home(root, point):
    if os.geteuid() == 0:
        pytest.skip("root has /var/lib/sdsfs")
    done = sdsfs("mount", root, point, env={"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    fails_with(errno.EPERM, lambda: (point / "control/annotations/set").mkdir())
    assert "neither state_dir= nor HOME" in (point / "control/errors.jsonl").read_text()
    assert sdsfs("umount", point).returncode == 0


def warnings(root: Path, point: Path, *options: str, **more: object) -> list[str]:
    """What the log of a mount says about publishing."""
    process = subprocess.Popen([SDSFS, "mount", "-f", "-o", ",".join(("rw", *options)), root, point], stderr=subprocess.PIPE, text=True, **more)
    assert wait_until(lambda: os.path.ismount(point))
    assert (point / "root.json").exists()
    assert sdsfs("umount", point).returncode == 0
    return [line for line in process.communicate(timeout=10)[1].splitlines() if "published" in line]


def test_a_state_directory_that_will_not_do_is_told_at_once(root, point, tmp_path):
    good, open_to_all, file, link = (tmp_path / name for name in ("good", "open", "file", "link"))
    for directory, mode in ((good, 0o700), (open_to_all, 0o777)):
        directory.mkdir()
        directory.chmod(mode)
    file.touch()
    link.symlink_to(good)
    bad = [open_to_all, file, link]
    if os.geteuid() == 0:
        others = tmp_path / "others"
        others.mkdir()
        os.chown(others, 65534, 65534)
        bad.append(others)
    for path in bad:
        (line,) = warnings(root, point, f"state_dir={path}", "log=warning")
        assert "nothing can be published" in line and "state_dir" in line and str(path) in line
        assert warnings(root, point, f"state_dir={path}", "ro") == []
    for path in (good, good / "not/yet/there"):
        assert warnings(root, point, f"state_dir={path}") == []
    assert os.listdir(good) == []
    if os.geteuid() != 0:  # root has /var/lib/sdsfs
        (line,) = warnings(root, point, env={"PATH": os.environ["PATH"]})
        assert "HOME" in line


def test_the_option_beats_the_environment(mount, tmp_path):
    point = mount(f"state_dir={tmp_path}/elsewhere")
    draft_of(point, "set", plain_rows())
    assert len(list((tmp_path / "elsewhere").glob("drafts/*/sets/set/rows.jsonl"))) == 1
    assert not (tmp_path / "state").exists()


# --- arrays that are still mapped -------------------------------------------------------------------


def test_what_numpy_has_mapped_is_published(root, mount):
    """Neither the arrays nor the rows are flushed: what a reader of the draft sees is what is published."""
    point = mount()
    draft = draft_of(point, "set", plain_rows())
    axes = [{"name": "y"}, {"name": "x"}]
    rows = [json.dumps({**row, "fields": {"mask": {"npy": f"{i}.npy", "axes": axes}}}) for i, row in enumerate(plain_rows())]
    arrays = [np.lib.format.open_memmap(draft / f"{i}.npy", mode="w+", dtype="<f4", shape=(300, 70)) for i in range(len(rows))]
    for i, array in enumerate(arrays):
        array[:] = i + 1
    text = ("\n".join(rows) + "\n").encode()
    write(draft / "rows.jsonl", b" " * len(text))
    mapped = np.memmap(draft / "rows.jsonl", mode="r+", dtype=np.uint8)
    mapped[:] = np.frombuffer(text, np.uint8)
    commit(draft, "check")
    commit(draft)
    for array in (mapped, *arrays):
        array.flush()
    for i, row in enumerate(sds.open(str(root)).annotations["set"]):
        assert row.values == {"i": i} and (row.fields["mask"].data == i + 1).all()


# --- a dataset that is put back to what it was ------------------------------------------------------


def put_back(root: Path, saved: Path) -> None:
    """In place, so that it is the same directory to the drafts."""
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(saved, root, dirs_exist_ok=True)


@pytest.fixture
def put_back_draft(root, mount, point, tmp_path):
    """A draft that was published into a state of the dataset that is no more."""
    shutil.copytree(root, tmp_path / "saved")
    mount()
    draft = draft_of(point, "set", plain_rows())
    commit(draft)
    assert sdsfs("umount", point).returncode == 0
    put_back(root, tmp_path / "saved")
    mount()
    assert (draft / "receipt.json").exists() and set(sds.open(str(root)).annotations) == set()
    return draft


def test_a_published_draft_is_published_again_where_it_is_not(root, put_back_draft):
    before = (put_back_draft / "receipt.json").stat().st_mtime_ns
    commit(put_back_draft, "check")
    assert set(sds.open(str(root)).annotations) == set()
    commit(put_back_draft)
    assert [r.values["i"] for r in sds.open(str(root)).annotations["set"]] == list(range(5))
    assert status(put_back_draft)["state"] == "published"
    assert (put_back_draft / "receipt.json").stat().st_mtime_ns > before


@pytest.mark.parametrize("line", ["check", "publish"])
def test_a_draft_whose_name_was_taken_meanwhile_is_no_longer_published(root, put_back_draft, tmp_path, line):
    rows = write_rows(tmp_path / "rows.jsonl", plain_rows(by="another"))
    assert sdsfs("annotate", root, "set", "--rows", rows).returncode == 0
    fails_with(errno.EEXIST, lambda: commit(put_back_draft, line))
    assert status(put_back_draft)["state"] == "failed" and "set" in status(put_back_draft)["error"]
    assert not (put_back_draft / "receipt.json").exists()
    (put_back_draft / "note").touch()  # it can be changed
    assert len(sds.open(str(root)).annotations["set"]) == 5


# --- several at once, and the end of a daemon -----------------------------------------------------


def test_drafts_at_once(root, mount):
    """Different sets at the same time through one mount, beside the command and the reference."""
    point = mount()
    failures: list = []

    def through_the_mount(i: int) -> None:
        try:
            commit(draft_of(point, f"mount-{i}", plain_rows(by=i)))
        except OSError as exc:
            failures.append(exc)

    def by_command(i: int) -> None:
        rows = write_rows(point.parent / f"rows-{i}.jsonl", plain_rows(by=i))
        done = sdsfs("annotate", root, f"command-{i}", "--rows", rows)
        if done.returncode != 0:
            failures.append(done.stderr)

    threads = [threading.Thread(target=through_the_mount, args=(i,)) for i in range(5)]
    threads += [threading.Thread(target=by_command, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = {f"mount-{i}" for i in range(5)} | {f"command-{i}" for i in range(2)}
    assert set(sds.open(str(root)).annotations) == expected
    assert wait_until(lambda: set(os.listdir(point / "records/000000/annotations")) == expected, 2)


def test_workers_through_two_mounts(root, mount, tmp_path):
    point, other = mount(), mount(where=tmp_path / "other")
    draft = draft_of(point, "set", options={"publication_id": "run"})
    for where, name, ordinals in ((point, "east", range(0, 2)), (other, "west", range(2, 5))):
        shard = where / "control/annotations/set/shards" / name
        shard.mkdir(parents=True)
        write_rows(shard / "rows.jsonl", [plain_rows()[i] for i in ordinals])
        commit(shard)
        pointer = json.loads((shard / "pointer.json").read_bytes())
        assert pointer["logical_shard_id"] == name and pointer["uri"].startswith(str(root))
    # A second worker of the same name gets what the first one wrote.
    shutil.rmtree(other / "control/annotations/set/shards/west")
    shard = other / "control/annotations/set/shards/west"
    shard.mkdir()
    write_rows(shard / "rows.jsonl", [plain_rows(late=True)[i] for i in range(2, 5)])
    commit(shard)
    assert json.loads((shard / "pointer.json").read_bytes()) == pointer
    (draft / "logical-shards").write_text("east\nwest\n")
    commit(draft)
    assert [r.values for r in sds.open(str(root)).annotations["set"]] == [{"i": i} for i in range(5)]
    assert status(draft)["what"] == "coordinate"


@pytest.mark.parametrize("delay", [0, 0.002, 0.004, 0.008, 0.016, 0.03])
def test_a_daemon_that_is_killed(root, mount, point, delay):
    mount()
    draft = draft_of(point, "set", plain_rows(), options={"records_per_shard": 1})
    writer = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'wb', 0).write(b'publish')", draft / "commit"],
                              stderr=subprocess.DEVNULL)
    time.sleep(delay + 0.03)
    os.kill(daemon_of(point), signal.SIGKILL)
    writer.wait()
    detach(point)
    sds.open(str(root))
    mount()
    assert status(draft)["state"] in ("open", "interrupted", "published")
    commit(draft)
    assert status(draft)["state"] == "published"
    assert [r.values for r in sds.open(str(root)).annotations["set"]] == [{"i": i} for i in range(5)]
    assert (point / "records/000000/annotations/set/annotation.json").exists()


def test_published_drafts_do_not_matter_to_the_set(root, mount):
    point = mount()
    draft = draft_of(point, "set", plain_rows())
    commit(draft)
    fails_with(errno.EROFS, lambda: (draft / "x").touch())
    assert run("rm", "-r", draft).returncode == 0
    assert (point / "records/000000/annotations/set/annotation.json").exists()
    assert len(list(sds.open(str(root)).annotations["set"])) == 5
    with io.BytesIO((point / "annotations/catalog.json").read_bytes()) as catalog:
        assert json.load(catalog)["revision"]["path"].startswith("annotations/catalogs/")
