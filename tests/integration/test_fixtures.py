# SPDX-License-Identifier: Apache-2.0
"""Every dataset of tests/data/signal-dataset, mounted, against what the reference answered: sound ones
record for record and by the reference itself through the mount, broken ones refused where they are
broken and nowhere else."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import HERE, is_mounted, needs_fuse, sdsfs

DATA = HERE.parent / "data" / "signal-dataset"
DTYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8"}
EXPECTED = json.loads(subprocess.run(["zstd", "-dcq", DATA / "expected.json.zst"], capture_output=True, check=True).stdout)["datasets"]

pytestmark = needs_fuse


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    where = tmp_path_factory.mktemp("fixtures")
    subprocess.run(["tar", "--zstd", "-xf", DATA / "data.tar.zst", "-C", where], check=True)
    return where


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def content(path: Path) -> bytes | None:
    """The whole file, of the size that stat told; None when it is refused."""
    try:
        size = path.stat().st_size
        data = path.read_bytes()
    except OSError:
        return None
    assert len(data) == size and size > 0, path
    return data


def entry_name(name: str) -> str:
    """The rule of docs/tree.md, for names short enough not to be cut."""
    raw = name.encode("utf-8", "surrogatepass")
    out = b"".join(
        b"%%%02X" % b if b in b"/%\x7f" or b < 0x20 or (i == 0 and b == 0x2E) else bytes([b])
        for i, b in enumerate(raw)
    )
    return (out or b"%").decode("utf-8", "surrogateescape") + ".npy"


def is_plain(entry: dict) -> bool:
    """Whether a metadata entry is one that everybody has to accept: the reference takes more."""
    return (
        entry.get("ok", False)
        and not entry.get("may_differ")
        and isinstance(entry["id"], str)
        and entry["id"] != ""
        and all(f["dtype"] in DTYPES for f in entry["fields"].values())
    )


def check_npy(path: Path, want: dict) -> None:
    data = content(path)
    assert data is not None, path
    assert data[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + int.from_bytes(data[8:10], "little")
    head = ast.literal_eval(data[10:start].decode("latin-1"))
    assert start % 64 == 0 and head == {"descr": want["dtype"], "fortran_order": False, "shape": tuple(want["shape"])}
    assert sha256(data[start:]) == want["sha256"], path


def same_json(a: object, b: object) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def check_entry(base: Path, want: dict) -> None:
    text = content(base / "metadata.json")
    if is_plain(want):
        assert text is not None and text.endswith(b"\n"), base
        got = json.loads(text)
        assert got["id"] == want["id"] and got.get("scene_id") == want["scene_id"]
        assert same_json(got.get("metadata") or {}, want["record_metadata"])
        assert set(got["fields"]) == set(want["fields"])
        assert os.getxattr(base, "user.sds.id").decode("utf-8", "surrogatepass") == want["id"]
    elif not want.get("ok") and not want.get("may_differ"):
        assert text is None, base


def check_fields(base: Path, data: dict, entry: dict) -> None:
    """A field is shown as the entry tells it and served from a sound payload that agrees."""
    for name, field in data.get("fields", {}).items():
        file = base / entry_name(name)
        if len(file.name.encode("utf-8", "surrogateescape")) > 255:
            continue
        told = entry["fields"].get(name) if is_plain(entry) else field if not entry.get("ok") else None
        if told is not None and (told["dtype"], told["shape"]) == (field["dtype"], field["shape"]):
            check_npy(file, field)
        elif told is not None:
            assert content(file) is None, file
    if not data.get("ok") and is_plain(entry):
        for name in entry["fields"]:
            assert content(base / entry_name(name)) is None


def check_record(base: Path, record: dict) -> None:
    data, entry = record["data"], record["metadata"]
    if data.get("may_differ"):
        return
    payload = content(base / "record.safetensors")
    if data.get("ok"):
        assert payload is not None and sha256(payload) == data["payload_sha256"], base
    else:
        assert payload is None, base
    check_entry(base, entry)
    check_fields(base, data, entry)


def check_row(base: Path, row: dict) -> None:
    text = content(base / "annotation.json")
    if not row.get("ok"):
        assert text is None or row.get("may_differ"), base
        return
    keys = ["source_record_id", "source_index", "status", "values", "provenance", "detail_status"]
    got = json.loads(text)
    assert list(got) == keys and same_json(got, {key: row[key] for key in keys}), base
    assert set(os.listdir(base)) == {"annotation.json"} | {entry_name(name) for name in row["fields"]}
    for name, field in row["fields"].items():
        check_npy(base / entry_name(name), field)


def parts(want: dict):
    for record in want.get("records", []):
        yield from (record["data"], record["metadata"])
    for spec in want["annotations"].get("sets", {}).values():
        yield from spec.get("rows", [])


def check_tree(point: Path, want: dict) -> None:
    names = sorted(os.listdir(point / "records"))
    assert names == [f"{i:06d}" for i in range(want["record_count"])]
    for record in want["records"]:
        check_record(point / f"records/{record['ordinal']:06d}", record)
    for name, spec in want["annotations"].get("sets", {}).items():
        for i, row in enumerate(spec["rows"]):
            check_row(point / f"records/{row.get('ordinal', i):06d}/annotations/{name}", row)
    told = [json.loads(line) for line in (point / "control/errors.jsonl").read_bytes().splitlines()]
    assert told or all(part.get("ok") for part in parts(want))
    assert all({"time", "path", "object", "check", "message"} <= set(line) for line in told)


def check_reference(point: Path, want: dict) -> None:
    import signal_dataset  # noqa: PLC0415

    dataset = signal_dataset.open(str(point))
    assert len(dataset) == want["record_count"]
    for record in want["records"]:
        if record["data"].get("ok"):
            got = dataset[record["ordinal"]]
            for name, field in record["data"]["fields"].items():
                assert sha256(got[name].data.tobytes()) == field["sha256"]
    for name, spec in want["annotations"].get("sets", {}).items():
        assert [row.status for row in dataset.annotations[name]] == [row["status"] for row in spec["rows"]]


def check_offline(root: Path, point: Path, want: dict) -> None:
    """`ls`, `cat` and `verify` see the same tree."""
    listed = sdsfs("ls", root, "records").stdout.decode().split()
    assert listed == [f"{i:06d}" for i in range(want["record_count"])]
    for top in sorted(os.listdir(point)):
        if top not in ("control", "index"):
            done = sdsfs("ls", root, top)
            got = done.stdout.decode("utf-8", "surrogateescape").splitlines()
            path = point / top
            assert got == (sorted(os.listdir(path)) if path.is_dir() else [top]), top
    if want["record_count"]:
        for file in ("metadata.json", "record.safetensors"):
            path = f"records/000000/{file}"
            assert sdsfs("cat", root, path).stdout == (content(point / path) or b"")


@pytest.mark.parametrize("name", list(EXPECTED))
def test_dataset(name: str, roots: Path, point: Path) -> None:
    want, root = EXPECTED[name], roots / name
    done = sdsfs("mount", root, point)
    verify = sdsfs("verify", "--records", root)
    if want["mount"] == "refused":
        assert done.returncode in (1, 2, 3) and not is_mounted(point)
        text = done.stderr.decode()
        assert text.startswith("sdsfs: ") and text.count("\n") == 1 and len(text) > 20
        assert verify.returncode in (1, 2, 3)
        return
    assert done.returncode == 0, done.stderr
    try:
        check_tree(point, want)
        if want["kind"] == "good":
            check_reference(point, want)
            check_offline(root, point, want)
    finally:
        assert sdsfs("umount", point).returncode == 0
    if not any(part.get("may_differ") for part in parts(want)):
        bad = any(not part.get("ok") for part in parts(want))
        assert verify.returncode == (1 if bad else 0), verify.stdout


def publish_with_entry(root: Path, entry: bytes) -> None:
    """A dataset of one record whose metadata entry is these bytes."""
    import dataclasses  # noqa: PLC0415

    import numpy as np  # noqa: PLC0415
    import signal_dataset as sds  # noqa: PLC0415
    from array_record.python.array_record_module import ArrayRecordWriter  # noqa: PLC0415

    record = sds.Record("r", {"x": sds.Field(np.zeros(3, np.float32), (sds.Axis("t", 3),))})
    shard = sds.write_shard([record], str(root), work_id="w")
    os.unlink(shard.metadata_uri)
    writer = ArrayRecordWriter(shard.metadata_uri, "group_size:1")
    writer.write(entry)
    writer.close()
    shard = dataclasses.replace(shard, metadata_bytes=os.path.getsize(shard.metadata_uri))
    sds.publish(str(root), [shard], dataset_id="d", snapshot_id="s")


def test_an_entry_that_indenting_would_blow_up(tmp_path: Path, point: Path) -> None:
    """A million values behind 240 spaces each: shown as stored, and inside the memory ceiling."""
    values = "[" * 118 + ",".join(["0"] * 990000) + "]" * 118
    field = '{"dtype":"<f4","shape":[3],"axes":[{"name":"t","length":3}],"metadata":{}}'
    entry = ('{"id":"r","scene_id":null,"metadata":{"v":%s},"fields":{"x":%s}}' % (values, field)).encode()
    publish_with_entry(tmp_path / "root", entry)
    assert sdsfs("mount", tmp_path / "root", point).returncode == 0
    try:
        pid = json.loads((point / "control/status.json").read_bytes())["pid"]
        assert content(point / "records/000000/metadata.json") == entry + b"\n"
        peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        assert int(peak.split()[1]) < 256 << 10 or "san" in os.environ["SDSFS"]
    finally:
        assert sdsfs("umount", point).returncode == 0


def test_a_dataset_cannot_lead_into_its_own_mount(tmp_path: Path, point: Path) -> None:
    """Whoever followed such a reference would wait for itself, beyond the reach of SIGKILL."""
    root = tmp_path / "root"
    publish_with_entry(root, b'{"id":"r","fields":{}}')
    snapshot = json.loads((root / "snapshots/s/snapshot.json").read_bytes())
    page_path = root / snapshot["manifests"][0]["object"]["path"]
    page = json.loads(page_path.read_bytes())
    for path in (f"{point}/shards/000000/data.arrayrecord", f"{point.parent}//./mnt/records/x", f"{tmp_path}/a/../mnt/root.json"):
        page["shards"][0]["data"]["path"] = path
        text = json.dumps(page).encode()
        page_path.write_bytes(text)
        snapshot["manifests"][0]["object"]["stored_bytes"] = len(text)
        told = json.dumps(snapshot).encode()
        (root / "snapshots/s/snapshot.json").write_bytes(told)
        document = json.loads((root / "root.json").read_bytes())
        document["snapshot"]["stored_bytes"] = len(told)
        (root / "root.json").write_text(json.dumps(document))
        assert sdsfs("mount", root, point).returncode == 0
        try:
            done = subprocess.run(["cat", point / "records/000000/record.safetensors"], capture_output=True, timeout=20)
            assert done.returncode == 1 and b"Input/output error" in done.stderr
            assert '"external"' in (point / "control/errors.jsonl").read_text()
        finally:
            assert sdsfs("umount", point).returncode == 0
