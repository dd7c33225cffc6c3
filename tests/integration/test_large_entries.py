# SPDX-License-Identifier: Apache-2.0
"""The index of records whose metadata entries are as large as they may be, and a little larger: it says what the
reference says, and is built in bounded memory."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import random
import sqlite3
from pathlib import Path

import pytest
from conftest import SDSFS, daemon_of, needs_fuse, sdsfs
from test_index import build_state, cache, mount  # noqa: F401

reference = pytest.importorskip("signal_dataset")
pytestmark = needs_fuse

LIMIT = 16 << 20  # bytes of an entry
MEMORY = 256 << 20
NODES = 1_000_000  # values in an entry


def record(ordinal: int) -> reference.Record:
    import numpy as np  # noqa: PLC0415

    return reference.Record(f"r-{ordinal}", {"x": reference.Field(np.zeros(2, np.float32), (reference.Axis("t", 2),))}, metadata={"fill": 0})


def entry_of(ordinal: int, metadata: str, size: int | None = None, name: str | None = None, scene: str = "null") -> bytes:
    """An entry with this text as its metadata, and spaces behind it up to a size."""
    fields = '{"x":{"dtype":"<f4","shape":[2],"axes":[{"name":"t","length":2}]}}'
    text = f'{{"id":"{name or f"r-{ordinal}"}","scene_id":{scene},"metadata":{metadata},"fields":{fields}}}'.encode()
    return text if size is None else text.ljust(size)


def text_of(size: int, seed: int) -> str:
    """A text that compresses badly."""
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4)).decode()


def entries() -> list[bytes]:
    x, digits = "x" * (LIMIT - 400), "1234567890123"
    large = [entry_of(i, f'{{"n":{i},"text":"{text_of(LIMIT - 400, i)}"}}') for i in range(6)]
    return [
        *large,
        entry_of(6, f'{{"n":6,"text":"{x}"}}', LIMIT),
        entry_of(7, f'{{"n":7,"text":"{x}"}}', LIMIT + 1),
        entry_of(8, f'{{"n":8,"list":[{",".join([digits] * (NODES - 20))}]}}'),
        entry_of(9, f'{{"n":9,"list":[{",".join([digits] * NODES)}]}}'),
        entry_of(10, '{"n":10}', name="i" * (LIMIT - 400)),
        entry_of(11, '{"n":11}', scene='"' + "s" * (LIMIT - 400) + '"'),
        entry_of(12, '{"n":12,"text":"' + "\\u00e9\\n" * ((LIMIT - 400) // 8) + '"}'),
        entry_of(13, '{"n":13}', LIMIT),
        entry_of(14, '{"n":14}'),
    ]


BAD = {7: "metadata_size", 9: "json_nodes"}


def write_shard(root: Path, first: int, stored: list[bytes]) -> reference.PublishedShard:
    """As reference.write_shard lays it out, but with the entries given."""
    from signal_dataset.storage import ArrayRecordShardStore  # noqa: PLC0415

    shard = hashlib.sha256(f"w{first:03d}:0".encode()).hexdigest()
    paths = [root / "objects" / kind / shard[:2] / f"{shard}.arrayrecord" for kind in ("data", "metadata")]
    data = [reference.encode(record(first + i)) for i in range(len(stored))]
    for path, payloads in zip(paths, (data, stored), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        ArrayRecordShardStore().write(path, payloads, options=reference.StorageOptions().writer_options)
    sizes = [path.stat().st_size for path in paths]
    return reference.PublishedShard(str(paths[0]), str(paths[1]), f"w{first:03d}", 0, len(stored), *sizes)


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    root, stored = tmp_path_factory.mktemp("entries") / "root", entries()
    shards = [write_shard(root, first, stored[first : first + 5]) for first in range(0, len(stored), 5)]
    reference.publish(str(root), shards, dataset_id="large-entries", snapshot_id="s")
    return root


def by_reference(root: Path, ordinal: int):
    """The entry of a record, or None where the reference refuses it."""
    try:
        return reference.open(str(root)).record_metadata[ordinal]
    except Exception:  # noqa: BLE001
        return None


def check_line(root: Path, ordinal: int, line: bytes) -> None:
    told, want = json.loads(line), by_reference(root, ordinal)
    assert told["ordinal"] == ordinal and (want is None) == (ordinal in BAD)
    if want is None:
        assert f": {BAD[ordinal]}: " in told["error"] and told["id"] is told["metadata"] is None
        return
    assert (told["id"], told["scene_id"]) == (want.id, want.scene_id)
    assert told["metadata"] == {k: list(v) if isinstance(v, tuple) else v for k, v in want.metadata.items()}
    assert list(told["fields"]) == list(want.fields)


def check_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT ordinal, length(id), length(scene_id), metadata->>'$.n', length(metadata), error FROM records").fetchall()
        assert db.execute("SELECT ordinal FROM records WHERE id = ?", ("i" * (LIMIT - 400),)).fetchall() == [(10,)]
    assert [row[0] for row in rows if row[5] is not None] == sorted(BAD)
    assert [row[3] for row in rows] == [None if i in BAD else i for i in range(len(rows))]
    assert rows[10][1] == LIMIT - 400 and rows[11][2] == LIMIT - 400
    assert min(rows[i][4] for i in range(7)) > LIMIT - 500 and rows[13][4] == len('{"n":13}')


def test_entries_near_the_limit(large: Path, point: Path, cache: Path) -> None:  # noqa: F811
    with mount(large, point, cache):
        index = point / "index"
        assert (index / "records.jsonl").stat().st_size > 8 * (LIMIT - 400)
        assert build_state(point)["bad"] == len(BAD)
        status = Path(f"/proc/{daemon_of(point)}/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        assert peak * 1024 < MEMORY or "san" in SDSFS
        with (index / "records.jsonl").open("rb") as file:
            for ordinal, line in enumerate(file):
                check_line(large, ordinal, line)
        assert ordinal == 14
        check_database(index / "records.sqlite")
        cut = [name for name in os.listdir(index / "by-id") if name.startswith("i")]
        assert len(cut) == 1 and os.readlink(index / "by-id" / cut[0]) == "../../records/000010"
        scenes = os.listdir(index / "by-scene")
        assert len(scenes) == 1 and os.listdir(index / "by-scene" / scenes[0]) == ["000011"]
    found = sdsfs("query", "-o", f"cache_dir={cache}", large, "length(metadata) > 1000000 AND metadata->>'$.n' % 2 = 0")
    assert found.stdout.split() == [b"0", b"2", b"4", b"6", b"8", b"12"]
    told = sdsfs("query", "--json", "-o", f"cache_dir={cache}", large, "ordinal = 5")
    check_line(large, 5, told.stdout)
