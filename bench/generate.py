#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the datasets that bench/local measures, with the reference package's own code.

    generate.py DATA NAME [--count N] [--size BYTES] [--shards N] [--scale | --described]

makes DATA/NAME/, unless it is there:
    zstd.sds    records of one field "samples" in the reference's default shards (zstd level 3)
    stored.sds  the same records in uncompressed shards
    files/      the same fields as plain files, records/<ordinal>/samples.npy
or, with --scale, only zstd.sds: N records of a few bytes each, 10,000 a shard;
or, with --described, zstd.sds of N records of a few bytes that have a scene and about as much
metadata as a capture has, and files/<ordinal>.json with the metadata of the first 100,000.

Samples are Gaussian noise of a 16-bit converter that uses about half of its bits, so zstd makes
them about 1.7 times smaller, as it does with real captures. Needs signal_dataset and numpy.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import signal_dataset as sds
from signal_dataset.record.metadata import RecordMetadataCodec
from signal_dataset.storage import ArrayRecordShardStore

STORED = "group_size:1,uncompressed"
NOISE_STEPS = 48  # standard deviation
SCALE_SHARD = 10_000
DESCRIBED_SHARD = 20_000
DESCRIBED_FILES = 100_000
SHARDS = 4
PLACEHOLDER = "placeholder"  # as long as every id it stands for


def samples(ordinal: int, size: int) -> np.ndarray:
    noise = np.random.default_rng(ordinal).standard_normal(size // 2, dtype=np.float32)
    return (noise * NOISE_STEPS).astype(np.int16)


def record(name: str, values: np.ndarray) -> sds.Record:
    ticks = sds.Coordinate(start=0.0, step=1e-6, unit="s")
    axis = sds.Axis("time", len(values), role="sample", coordinate=ticks)
    return sds.Record(
        name,
        {"samples": sds.Field(values, (axis,), {"unit": "steps"})},
        metadata={"sample_rate_hz": 1_000_000, "receiver": "bench"},
    )


def publish(root: Path, name: str, shards: list[sds.PublishedShard]) -> None:
    sds.publish(str(root), shards, dataset_id=f"bench-{name}", snapshot_id="v1")


def shard_ranges(count: int, per_shard: int) -> Iterator[range]:
    for first in range(0, count, per_shard):
        yield range(first, min(first + per_shard, count))


# ---- records of a useful size


def make_root(
    root: Path, name: str, count: int, size: int, shard_count: int, options: sds.StorageOptions
) -> None:
    root.mkdir(parents=True)
    shards = [
        sds.write_shard(
            (record(f"record-{i:07d}", samples(i, size)) for i in ordinals),
            str(root),
            work_id=f"{ordinals.start:012d}",
            options=options,
        )
        for ordinals in shard_ranges(count, -(-count // shard_count))
    ]
    publish(root, name, shards)


def make_files(folder: Path, count: int, size: int) -> None:
    width = max(6, len(str(count - 1)))
    for i in range(count):
        path = folder / "records" / f"{i:0{width}d}" / "samples.npy"
        path.parent.mkdir(parents=True)
        np.save(path, samples(i, size))


def check_root(root: Path, count: int, size: int) -> None:
    """Reads a few records back through the reference."""
    dataset = sds.open(str(root))
    assert len(dataset) == count
    for i in {0, count // 2, count - 1}:
        assert np.array_equal(dataset[i]["samples"].data, samples(i, size))


def make_sized(folder: Path, name: str, count: int, size: int, shard_count: int) -> None:
    for root, options in (
        ("zstd.sds", sds.StorageOptions()),
        ("stored.sds", sds.StorageOptions(writer_options=STORED)),
    ):
        make_root(folder / root, name, count, size, shard_count, options)
        check_root(folder / root, count, size)
    make_files(folder / "files", count, size)


# ---- very many records


def scale_name(ordinal: int) -> str:
    return f"r{ordinal:0{len(PLACEHOLDER) - 1}d}"


def scale_values(ordinal: int) -> np.ndarray:
    return np.arange(ordinal, ordinal + 4, dtype="<i4")


def scale_record(ordinal: int) -> sds.Record:
    return record(scale_name(ordinal), scale_values(ordinal))


def scale_payloads(ordinals: range) -> Iterator[tuple[bytes, bytes]]:
    """Data and metadata payloads as the reference encodes them.

    It is asked once and its answer is a template for the rest: ids are equally long, so nothing but
    the id and the values differs (checked against the reference for the first and last record).
    """
    mark = np.array([0x5EED5EED] * 4, "<i4")
    template = record(PLACEHOLDER, mark)
    metadata_codec = RecordMetadataCodec()
    head, rest = sds.encode(template).split(mark.tobytes())
    middle, tail = rest.split(PLACEHOLDER.encode())
    metadata = metadata_codec.encode(sds.RecordMetadata.from_record(template))
    metadata_head, metadata_tail = metadata.split(PLACEHOLDER.encode())
    for i in ordinals:
        name = scale_name(i).encode()
        data = b"".join((head, scale_values(i).tobytes(), middle, name, tail))
        entry = b"".join((metadata_head, name, metadata_tail))
        if i in (ordinals[0], ordinals[-1]):
            assert data == sds.encode(scale_record(i))
            assert entry == metadata_codec.encode(sds.RecordMetadata.from_record(scale_record(i)))
        yield data, entry


def make_scale_shard(root: Path, ordinals: range) -> sds.PublishedShard:
    work_id = f"{ordinals.start:012d}"
    shard = hashlib.sha256(f"{work_id}:0".encode()).hexdigest()
    paths = [
        root / "objects" / kind / shard[:2] / f"{shard}.arrayrecord" for kind in ("data", "metadata")
    ]
    store = ArrayRecordShardStore()
    for path, payloads in zip(paths, zip(*scale_payloads(ordinals))):
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write(path, payloads, options=sds.StorageOptions().writer_options)
    sizes = [path.stat().st_size for path in paths]
    return sds.PublishedShard(str(paths[0]), str(paths[1]), work_id, 0, len(ordinals), *sizes)


def make_scale(folder: Path, name: str, count: int) -> None:
    root = folder / "zstd.sds"
    root.mkdir(parents=True)
    with multiprocessing.Pool() as pool:
        work = functools.partial(make_scale_shard, root)
        shards = pool.map(work, shard_ranges(count, SCALE_SHARD), chunksize=1)
    publish(root, name, shards)
    dataset = sds.open(str(root))
    assert len(dataset) == count
    for i in itertools.chain(range(0, count, max(1, count // 7)), [count - 1]):
        assert np.array_equal(dataset[i]["samples"].data, scale_values(i))
        assert dataset.record_metadata[i].id == scale_name(i)


# ---- records that are searched for


def described_record(ordinal: int) -> sds.Record:
    return sds.Record(
        f"capture-{ordinal:08d}",
        {"x": sds.Field(np.zeros(16, np.float32), (sds.Axis("time", 16),))},
        scene_id=f"scene-{ordinal % 500}",
        metadata={
            "sample_rate_hz": 250_000 + ordinal,
            "center_frequency_hz": 433_920_000,
            "started_at": "2026-03-02T09:03:00Z",
            "gain": [1, 2, 3],
            "site": {"name": "rooftop", "lat": 52.1, "lon": 4.3},
        },
    )


def make_described_shard(root: Path, ordinals: range) -> sds.PublishedShard:
    return sds.write_shard(map(described_record, ordinals), str(root), work_id=f"{ordinals.start:012d}")


def make_described(folder: Path, name: str, count: int) -> None:
    root, files = folder / "zstd.sds", folder / "files"
    root.mkdir(parents=True)
    with multiprocessing.Pool() as pool:
        work = functools.partial(make_described_shard, root)
        publish(root, name, pool.map(work, shard_ranges(count, DESCRIBED_SHARD), chunksize=1))
    files.mkdir()
    for i, entry in enumerate(itertools.islice(sds.open(str(root)).iter_record_metadata(), DESCRIBED_FILES)):
        assert entry.id == f"capture-{i:08d}"
        text = {"id": entry.id, "scene_id": entry.scene_id, "metadata": described_record(i).metadata}
        (files / f"{i:06d}.json").write_text(json.dumps(text, default=dict) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes a benchmark dataset.")
    parser.add_argument("data", type=Path)
    parser.add_argument("name")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--size", type=int, default=65536, help="bytes of samples a record")
    parser.add_argument("--shards", type=int, default=SHARDS)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--scale", action="store_true")
    kind.add_argument("--described", action="store_true")
    args = parser.parse_args()

    folder = args.data.absolute() / args.name
    if folder.exists():
        return
    partial = folder.with_name(folder.name + ".partial")
    if partial.exists():
        shutil.rmtree(partial)
    if args.scale:
        make_scale(partial, args.name, args.count)
    elif args.described:
        make_described(partial, args.name, args.count)
    else:
        make_sized(partial, args.name, args.count, args.size, args.shards)
    os.sync()  # so that the pages can be dropped
    partial.rename(folder)


if __name__ == "__main__":
    main()
