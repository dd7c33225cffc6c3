# SPDX-License-Identifier: Apache-2.0
"""Fields as tools other than NumPy read them: SigMF recordings, checked by SigMF's own schema and opened by
the package of its authors, and plain bytes. docs/views.md has the tables."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from conftest import HERE, SAMPLE, SDSFS, is_mounted, needs_fuse, requests_of, run, sdsfs
from test_how_to import script_of

sigmf = pytest.importorskip("sigmf", reason="the package sigmf is not installed")
sds = pytest.importorskip("signal_dataset", reason="the reference is not installed")

# As docs/views.md has it.
ELEMENTS = {"|i1": "i8", "|u1": "u8", "<i2": "i16_le", "<u2": "u16_le", "<i4": "i32_le", "<u4": "u32_le", "<f4": "f32_le",
            "<f8": "f64_le", "<c8": "f32_le"}


def expected_recordings(field: dict) -> list[tuple[str, str, tuple]]:
    """Of a field of a metadata entry: number, datatype and index of each recording."""
    axes, dtype, shape = field["axes"], field["dtype"], field["shape"]
    named = [i for i, a in enumerate(axes) if a["name"] == "time"] or [i for i, a in enumerate(axes) if a.get("role") == "time"][-1:]
    if dtype not in ELEMENTS or not named or 0 in shape:
        return []
    time = named[0]
    iq = dtype != "<c8" and time < len(axes) - 1 and shape[-1] == 2 and axes[-1]["name"] == "iq"
    datatype = ("c" if dtype == "<c8" or iq else "r") + ELEMENTS[dtype]
    if time == 0:
        return [("", datatype, ())]
    places = list(np.ndindex(*shape[:time]))
    width = len(str(len(places) - 1))
    return [(f".{i:0{width}d}", datatype, place) for i, place in enumerate(places)] if len(places) <= 256 else []


def opened(stem: Path) -> sigmf.SigMFFile:
    """A recording that satisfies the schema, without a namespace that is not declared."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recording = sigmf.sigmffile.fromfile(f"{stem}.sigmf-meta", autoscale=False)
        recording.validate()
    meta = json.loads(Path(f"{stem}.sigmf-meta").read_bytes())
    sigmf.validate.validate(meta)
    assert {e["name"] for e in meta["global"]["core:extensions"]} == {"sdsfs"}
    return recording


def check_record(base: Path) -> int:
    """Every recording of a record against its .npy files; returns how many there are."""
    entry = json.loads((base / "metadata.json").read_bytes())
    names = {p.name for p in base.iterdir()}
    taken = {name for name, field in entry["fields"].items() if [n for n, _, _ in expected_recordings(field)] == [""]}
    wanted = set()
    for name, field in entry["fields"].items():
        array = np.load(base / f"{name}.npy", mmap_mode="r")
        for number, datatype, place in expected_recordings(field):
            if number and name + number in taken:
                continue
            stem = base / f"{name}{number}"
            wanted |= {f"{stem.name}.sigmf-meta", f"{stem.name}.sigmf-data"}
            recording = opened(stem)
            meta = recording.get_global_info()
            assert meta["core:datatype"] == datatype
            assert (meta["sdsfs:id"], meta["sdsfs:field"], meta["sdsfs:ordinal"]) == (entry["id"], name, int(base.name))
            assert tuple(meta.get("sdsfs:index", ())) == place
            part = array[place]
            # SigMF reads integers as they are, I and Q as numbers behind each other.
            raw = Path(f"{stem}.sigmf-data").read_bytes()
            assert raw == np.ascontiguousarray(part).tobytes()
            assert Path(f"{stem}.sigmf-data").stat().st_size == len(raw)
            samples = recording.read_samples()  # of 32 bits each, whatever they were
            if datatype.startswith("c") and part.dtype.kind != "c":
                part = part[..., 0] + 1j * part[..., 1]
            assert np.array_equal(samples.reshape(part.shape), part.astype("<f4") if part.dtype == "<f8" else part)
            assert len(recording) == array.shape[len(place)]
    assert wanted == {n for n in names if ".sigmf-" in n}
    return len(wanted) // 2


@pytest.fixture
def mounted(mounted):
    yield mounted
    gc.collect()  # the package's objects hold files open until then


# --- the sample dataset ---------------------------------------------------------------------------


@needs_fuse
def test_records_of_the_sample(mounted):
    assert sum(check_record(base) for base in sorted((mounted / "records").iterdir())[::6]) == 8 * 2


@needs_fuse
def test_what_the_sample_says(mounted):
    recording = opened(mounted / "records/000003/samples.1")
    assert recording.sample_rate == 250000
    (capture,) = recording.get_captures()
    assert capture == {"core:sample_start": 0, "core:frequency": 433920000, "core:datetime": "2026-03-02T09:03:00Z"}
    meta = recording.get_global_info()
    assert meta["sdsfs:unit"] == "full scale" and meta["sdsfs:scene_id"] == "rooftop"
    assert meta["sdsfs:metadata"] == json.loads((mounted / "records/000003/metadata.json").read_bytes())["metadata"]
    with pytest.raises(OSError):
        (mounted / "records/000003/samples.0.sigmf-meta").write_text("{}")


@needs_fuse
def test_nothing_is_decoded_for_a_listing_nor_for_the_text(mounted):
    """Entries are read and sizes told; the payloads stay where they are."""

    def misses() -> int:
        text = (mounted / "control/metrics").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("sdsfs_cache_misses_total "))

    run("ls", "-l", mounted / "records/000003")
    before = misses()
    run("ls", "-l", mounted / "records/000003")
    (mounted / "records/000003/samples.0.sigmf-meta").read_bytes()
    assert misses() == before  # the text was made for its size
    (mounted / "records/000003/samples.0.sigmf-data").read_bytes()
    assert misses() > before
    # What was read once is the kernel's.
    again = requests_of(mounted, lambda: (mounted / "records/000003/samples.0.sigmf-data").read_bytes())
    assert "read" not in again


# --- the option -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "views"),
    [
        ([], "npy sigmf"),
        (["-o", "views=npy,sigmf"], "npy sigmf"),
        (["-o", "views=npy,bin"], "npy bin"),
        (["-o", "ro,views=npy,bin,log=error"], "npy bin"),
        (["-o", "views=bin:npy:sigmf"], "npy sigmf bin"),
        (["-o", "views=sigmf"], "sigmf"),
        (["-o", "views="], ""),
        (["-o", "views=bin", "-o", "views=npy"], "npy"),
    ],
)
def test_which_views_are_shown(option, views):
    files = {
        "npy": {"samples.npy", "gain.npy"},
        "bin": {"samples.bin", "gain.bin"},
        "sigmf": {f"samples.{c}.sigmf-{part}" for c in (0, 1) for part in ("meta", "data")},
    }
    done = sdsfs("ls", *option, SAMPLE, "records/000003")
    assert (done.returncode, done.stderr) == (0, b"")
    fixed = {"annotations", "metadata.json", "record.safetensors"}
    assert set(done.stdout.decode().split()) == fixed.union(*(files[v] for v in views.split()))
    row = sdsfs("ls", *option, SAMPLE, "records/000003/annotations/review-v1").stdout.decode().split()
    assert set(row) == {"annotation.json"} | {f"mask.{v}" for v in views.split() if v != "sigmf"}


@pytest.mark.parametrize("option", ["views=nope", "views=npy:nope", "views=npy,nope", "views"])
def test_views_that_there_are_not(option):
    done = sdsfs("ls", "-o", option, SAMPLE)
    assert done.returncode == 2 and done.stdout == b""


@needs_fuse
def test_plain_bytes_in_a_mount(point):
    assert sdsfs("mount", "-o", "views=npy,bin", SAMPLE, point).returncode == 0
    try:
        for base in sorted((point / "records").iterdir())[:4]:
            for path in base.glob("**/*.npy"):
                raw = path.with_suffix(".bin").read_bytes()
                assert raw == np.load(path).tobytes() and path.with_suffix(".bin").stat().st_size == len(raw)
        assert not list(point.glob("records/*/*.sigmf-*"))
    finally:
        assert sdsfs("umount", point).returncode == 0


def test_cat_and_cp_without_a_mount(tmp_path):
    text = sdsfs("cat", SAMPLE, "records/000003/samples.0.sigmf-meta").stdout
    assert json.loads(text)["global"]["core:datatype"] == "cf32_le"
    assert sdsfs("cp", "-r", "-o", "views=npy,sigmf,bin", SAMPLE, "records/000003", tmp_path / "copy").returncode == 0
    assert check_record(copied(tmp_path / "copy")) == 2


def copied(where: Path) -> Path:
    where.rename(where.with_name("000003"))
    return where.with_name("000003")


# --- other datasets -------------------------------------------------------------------------------


def axis(name: str, length: int, **more) -> sds.Axis:
    return sds.Axis(name, length, **more)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One record with a field of every element type and several orders of axes."""
    where = tmp_path_factory.mktemp("made") / "made.sds"
    where.mkdir()
    rng = np.random.default_rng(7)
    ms = sds.Coordinate(start=0.0, step=0.5, unit="ms")
    dtypes = ["<c8", "<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"]
    fields = {}
    for dtype in dtypes:
        values = rng.integers(0, 2 if dtype == "|b1" else 100, 40).astype(dtype)
        fields[f"one_{dtype[1:]}"] = sds.Field(values, (axis("time", 40),), {})
    fields["late"] = sds.Field(rng.normal(size=(12, 30)).astype("<f4"), (axis("channel", 12), axis("time", 30, coordinate=ms)), {"unit": "mV"})
    fields["early"] = sds.Field(rng.normal(size=(30, 3)).astype("<f8"), (axis("time", 30), axis("channel", 3)), {})
    fields["between"] = sds.Field(rng.integers(0, 99, (2, 3, 20, 4)).astype("<i2"),
                                  tuple(axis(n, k) for n, k in (("array", 2), ("antenna", 3), ("time", 20), ("band", 4))), {})
    fields["iq"] = sds.Field(rng.integers(-99, 99, (3, 50, 2)).astype("<i2"), (axis("channel", 3), axis("time", 50), axis("iq", 2)), {})
    fields["role"] = sds.Field(rng.normal(size=(4, 9)).astype("<f4"), (axis("slow", 4, role="time"), axis("fast", 9, role="time")), {})
    fields["wide"] = sds.Field(np.zeros((257, 5), "<f4"), (axis("channel", 257), axis("time", 5)), {})
    fields["late.00"] = sds.Field(np.arange(5, dtype="<f4"), (axis("time", 5),), {})
    fields["nothing"] = sds.Field(np.zeros((0,), "<f4"), (axis("time", 0),), {})
    fields["still"] = sds.Field(np.zeros((4,), "<f4"), (axis("x", 4),), {})
    metadata = {
        "sample_rate": 48000,
        "started_at": "2026-03-02T10:00:00.25+01:00",
        "annotations": [
            {"start_s": 0.0002, "stop_s": 0.0004, "label": "late", "freq_lower_hz": 10, "freq_upper_hz": 20.5},
            {"sample_start": 2, "sample_count": 3, "label": "soon", "comment": "by hand"},
        ],
    }
    record = sds.Record("r", fields, scene_id="s", metadata=metadata)
    shard = sds.write_shard([record], str(where), work_id="w")
    sds.publish(str(where), [shard], dataset_id="d", snapshot_id="v")
    return where


@pytest.fixture
def made_mounted(made, point):
    assert sdsfs("mount", made, point).returncode == 0
    yield point / "records/000000"
    gc.collect()
    assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_every_element_type_and_order_of_axes(made_mounted):
    names = {p.name for p in made_mounted.iterdir()}
    assert {"iq.2.sigmf-data", "late.11.sigmf-meta", "early.sigmf-data", "between.5.sigmf-data", "role.3.sigmf-data"} <= names
    assert not {n for n in names if ".sigmf-" in n and n.startswith(("wide", "nothing", "still", "one_f2", "one_i8", "one_u8", "one_b1"))}


@needs_fuse
def test_samples_are_those_of_numpy(made_mounted):
    assert check_record(made_mounted) == 9 + 11 + 1 + 6 + 3 + 4 + 1
    # The recording of the field `late.00` stands where one of `late` would.
    assert opened(made_mounted / "late.00").sample_count == 5
    assert opened(made_mounted / "late.01").sample_count == 30 and opened(made_mounted / "late.01").sample_rate == 2000
    early = opened(made_mounted / "early")
    assert early.num_channels == 3 and early.sample_rate == 48000
    assert opened(made_mounted / "between.5").num_channels == 4
    iq = opened(made_mounted / "iq.2")
    assert iq.get_global_field("core:datatype") == "ci16_le" and iq.num_channels == 1 and iq.sample_count == 50


@needs_fuse
def test_metadata_become_times_and_annotations(made_mounted):
    recording = opened(made_mounted / "early")
    assert recording.get_captures()[0]["core:datetime"] == "2026-03-02T09:00:00.25Z"
    assert recording.get_annotations() == [
        {"core:sample_start": 2, "core:sample_count": 3, "core:label": "soon", "core:comment": "by hand"},
        {"core:sample_start": 10, "core:sample_count": 9, "core:freq_lower_edge": 10, "core:freq_upper_edge": 20.5, "core:label": "late"},
    ]
    assert opened(made_mounted / "late.03").get_global_field("sdsfs:unit") == "mV"


@needs_fuse
def test_fixtures(point, tmp_path):
    """Recordings of every dataset that the other tests compare with the reference."""
    data = HERE.parent / "data" / "signal-dataset"
    subprocess.run(["tar", "--zstd", "-xf", data / "data.tar.zst", "-C", tmp_path], check=True)
    listed = json.loads(subprocess.run(["zstd", "-dcq", data / "expected.json.zst"], capture_output=True, check=True).stdout)["datasets"]
    count = 0
    for name, want in listed.items():
        if want["kind"] != "good" or not (tmp_path / name).is_dir():
            continue
        assert sdsfs("mount", tmp_path / name, point).returncode == 0
        try:
            for base in sorted((point / "records").iterdir())[:5]:
                if any(p.name.endswith(".sigmf-meta") for p in base.iterdir()):
                    count += check_record(base)
        finally:
            gc.collect()
            assert sdsfs("umount", point).returncode == 0
    assert count > 10


@needs_fuse
def test_sigmf_validate(mounted, tmp_path):
    """The command that comes with the package, over copies of a record's recordings."""
    tool = shutil.which("sigmf_validate") or str(Path(sys.executable).with_name("sigmf_validate"))
    if not Path(tool).exists():
        pytest.skip("no sigmf_validate")
    done = run(tool, mounted / "records/000003/samples.0.sigmf-meta", mounted / "records/000003/samples.1.sigmf-data")
    assert done.returncode == 0, done.stderr


@needs_fuse
def test_the_page(tmp_path):
    """The commands of docs/views.md, run as they stand there; those for programs that are not here name files that are."""
    page = (HERE.parent.parent / "docs/views.md").read_text()
    (tmp_path / "tests").symlink_to(HERE.parent)
    path = f"{Path(SDSFS).resolve().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = script_of(page, tmp_path)
    assert "sigmf_validate" in script and "block-" in script
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for name in re.findall(r"captures/(records/\S+?\.sigmf-data)", text if language == "text" else ""):
            assert sdsfs("ls", SAMPLE, name).returncode == 0
    try:
        done = run("bash", "-c", script, cwd=tmp_path, env={**os.environ, "PATH": path})
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().splitlines()[-3].startswith("250000") and not is_mounted(tmp_path / "captures")
    finally:
        if is_mounted(tmp_path / "captures"):
            sdsfs("umount", tmp_path / "captures")
    labels = [a["core:label"] for a in json.loads((tmp_path / "reviewed.sigmf-meta").read_bytes())["annotations"]]
    assert labels == ["noise"]
