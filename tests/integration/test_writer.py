# SPDX-License-Identifier: Apache-2.0
"""The ArrayRecord writer against the reference: the same records give the same file."""

from __future__ import annotations

import ctypes.util
import os
import random
import subprocess

import pytest

reference = pytest.importorskip("array_record.python.array_record_module")
WRITE_RECORDS = os.environ.get("WRITE_RECORDS", "")


def zstd_version() -> int:
    return ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1").ZSTD_versionNumber()


pytestmark = [
    pytest.mark.skipif(not WRITE_RECORDS, reason="write_records was not built"),
    pytest.mark.skipif(
        not 10504 <= zstd_version() <= 10506, reason="this zstd compresses a little differently from the reference's"
    ),
]


def theirs(path, records: list[bytes]) -> bytes:
    writer = reference.ArrayRecordWriter(str(path), "group_size:1")
    for record in records:
        writer.write(record)
    writer.close()
    return path.read_bytes()


def ours(records: list[bytes]) -> bytes:
    framed = b"".join(len(r).to_bytes(8, "little") + r for r in records)
    return subprocess.run([WRITE_RECORDS], input=framed, capture_output=True, check=True, timeout=60).stdout


def assert_same(tmp_path, records: list[bytes]) -> None:
    expected, written = theirs(tmp_path / "theirs", records), ours(records)
    assert len(written) == len(expected)
    # Not "written == expected": pytest would explain the difference for minutes.
    differs = next((i for i in range(0, len(expected), 64) if written[i : i + 64] != expected[i : i + 64]), None)
    assert differs is None, f"first difference within 64 bytes of {differs}"


def text(length: int, seed: int = 0) -> bytes:
    words = [b"status", b"success", b"values", b'{"score":0.%d}', b"ordinal", b"mask", b"[1,2,3]", b"null"]
    rng = random.Random(seed)
    out = bytearray()
    while len(out) < length:
        out += rng.choice(words) + b" %d " % rng.randrange(1000)
    return bytes(out[:length])


def noise(length: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(length)


def test_no_record_and_empty_records(tmp_path):
    assert_same(tmp_path, [])
    assert_same(tmp_path, [b""])
    assert_same(tmp_path, [b"", b"a", b""])


@pytest.mark.parametrize("make", [text, noise, lambda n: bytes(n)], ids=["text", "noise", "zeros"])
def test_records_of_many_sizes(tmp_path, make):
    sizes = [*range(0, 300, 7), *range(4085, 4105), *range(8185, 8200), 65535, 65536, 65537]
    sizes += [131071, 131072, 131073, 262144, 1 << 20, (1 << 20) + 1, 5 << 20]
    assert_same(tmp_path, [make(size) for size in sizes])
    for size in (1, 4095, 4096, 4097, 131072, 5 << 20):  # what is left of one record must not show in the next
        assert_same(tmp_path, [make(size)])


@pytest.mark.parametrize("size", range(65200, 65560, 5))
def test_block_edges(tmp_path, size):
    assert_same(tmp_path, [noise(size), b"x", noise(130, 1)])


# Where the blocks of the footer outgrow the reference's buffer: entries from some 340 on, sizes from 4086.
@pytest.mark.parametrize("count", [*range(325, 425), *range(4080, 4092), 10000])
def test_footers(tmp_path, count):
    assert_same(tmp_path, [b"%d" % i for i in range(count)])


@pytest.mark.parametrize("seed", range(40))
def test_random_files(tmp_path, seed):
    rng = random.Random(seed)
    records = []
    for i in range(rng.randrange(1, 60)):
        size = int(2 ** rng.uniform(0, 17))
        record = rng.choice([text, noise])(size, seed * 1000 + i)
        records.append(record if rng.random() < 0.8 else record[: size // 2] + bytes(size // 2))
    assert_same(tmp_path, records)


def test_records_like_carriers(tmp_path):
    head = b'{"fields":{"__empty__":{"axes":[{"coordinate":null,"id":null,"length":0,"metadata":{},"name":"empty"}]}},"id":'
    assert_same(tmp_path, [head + b'"record-%07d","values":{"k":%d}}' % (i, i * i) + text(i % 500, i) for i in range(3000)])
