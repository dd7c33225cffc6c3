# SPDX-License-Identifier: Apache-2.0
"""index/ of real mounts, and the commands around it: what it says is what the reference says, it is built once, and
nothing that happens to it while it is built or kept is worse than building it again."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import SAMPLE, SDSFS, alive, daemon_of, error_line, fails_with, is_mounted, needs_fuse, needs_root, run, sdsfs, wait_until
from test_fixtures import EXPECTED, is_plain, roots, same_json  # noqa: F401

reference = pytest.importorskip("signal_dataset")
pytestmark = needs_fuse

NAMES = ["annotations", "by-id", "by-scene", "records.jsonl", "records.sqlite"]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@contextlib.contextmanager
def mount(root: Path, point: Path, cache: Path | None, *options: str, environment: dict[str, str] | None = None):
    told = [*([f"cache_dir={cache}"] if cache else []), *options]
    done = sdsfs("mount", *(["-o", ",".join(told)] if told else []), root, point, env=environment)
    assert done.returncode == 0, done.stderr
    daemon = daemon_of(point)
    try:
        yield point
    finally:
        if is_mounted(point):
            assert sdsfs("umount", point).returncode == 0
        wait_until(lambda: not alive(daemon), 30)
        assert not alive(daemon)


def lines_of(path: Path) -> list[dict]:
    data = path.read_bytes()
    assert len(data) == path.stat().st_size and (not data or data.endswith(b"\n"))
    return [json.loads(line) for line in data.splitlines()]


def build_state(point: Path) -> dict:
    return json.loads((point / "control/status.json").read_bytes())["index"]


def index_files(cache: Path, suffix: str) -> list[Path]:
    return sorted((cache / "index").glob(f"*{suffix}"))


# ---- what it says


def name_of(text: str, suffix: str = "") -> str:
    """The rule of docs/tree.md, stated a second time; names in bytes."""
    raw = text.encode("utf-8", "surrogatepass")
    kept = [bytes([b]) if b not in b"/%\x7f" and b >= 0x20 and not (i == 0 and b == 0x2E) else b"%%%02X" % b for i, b in enumerate(raw)]
    whole = b"".join(kept) or b"%"
    if len(whole) + len(suffix) <= 255:
        return (whole + suffix.encode()).decode("utf-8", "surrogateescape")
    return ""  # cut: not guessed here


def looks_numbered(text: str) -> bool:
    head, at, tail = text.rpartition("@")
    return bool(at) and tail.isascii() and tail.isdigit()


def expected_ids(entries: list[dict]) -> dict[str, int]:
    texts = [entry["id"] for entry in entries if entry.get("ok") and isinstance(entry["id"], str)]
    out = {}
    for ordinal, entry in enumerate(entries):
        if entry.get("ok") and isinstance(entry["id"], str):
            again = texts.count(entry["id"]) > 1 or looks_numbered(entry["id"])
            out[name_of(entry["id"], f"@{ordinal:06d}" if again else "")] = ordinal
    return out


def listed_links(directory: Path, up: str) -> dict[str, int]:
    out = {}
    for name in os.listdir(directory):
        target = os.readlink(directory / name)
        assert target.startswith(up + "records/") and os.lstat(directory / name).st_size == len(os.fsencode(target))
        out[name] = int(target.rpartition("/")[2])
        assert len(target.rpartition("/")[2]) >= 6
    return out


def check_line(line: dict, entry: dict) -> None:
    if not entry.get("ok"):
        assert "error" in line and line["id"] is line["scene_id"] is line["metadata"] is line["fields"] is None
        return
    assert set(line) == {"ordinal", "id", "scene_id", "metadata", "fields"}
    assert same_json(line["id"], entry["id"]) and same_json(line["scene_id"], entry["scene_id"])
    assert same_json(line["metadata"], entry["record_metadata"])
    for name, field in entry["fields"].items():
        assert (line["fields"][name]["dtype"], line["fields"][name]["shape"]) == (field["dtype"], field["shape"])


@pytest.mark.parametrize("name", [name for name, want in EXPECTED.items() if want["mount"] == "ok"])
def test_every_dataset(name: str, roots: Path, point: Path, cache: Path) -> None:  # noqa: F811
    want = EXPECTED[name]
    entries = [record["metadata"] for record in sorted(want["records"], key=lambda r: r["ordinal"])]
    with mount(roots / name, point, cache):
        lines = lines_of(point / "index/records.jsonl")
        assert [line["ordinal"] for line in lines] == list(range(want["record_count"]))
        unsure = False
        for line, entry in zip(lines, entries, strict=True):
            unsure |= entry.get("may_differ", False) or (entry.get("ok") and not is_plain(entry))
            if not entry.get("may_differ") and (is_plain(entry) or not entry.get("ok")):
                check_line(line, entry)
        links = listed_links(point / "index/by-id", "../../")
        for entry, ordinal in links.items():
            assert (point / "index/by-id" / entry).lstat().st_ino > 0
            assert lines[ordinal]["error"] if "error" in lines[ordinal] else isinstance(lines[ordinal]["id"], str)
        if not unsure:
            wanted = expected_ids(entries)
            assert {k: v for k, v in links.items() if k in wanted} == {k: v for k, v in wanted.items() if k}
            assert sorted(links.values()) == sorted(o for o, e in enumerate(entries) if e.get("ok"))
        scenes: dict[str, list[int]] = {}
        for line in lines:
            if isinstance(line["scene_id"], str):
                scenes.setdefault(name_of(line["scene_id"]), []).append(line["ordinal"])
        if "" not in scenes:
            assert sorted(os.listdir(point / "index/by-scene")) == sorted(scenes)
            for scene, ordinals in scenes.items():
                held = listed_links(point / "index/by-scene" / scene, "../../../")
                assert held == {f"{o:06d}": o for o in ordinals}
        check_database(point / "index/records.sqlite", lines)
        for set_name, spec in want["annotations"].get("sets", {}).items():
            check_set(point / f"index/annotations/{set_name}.jsonl", spec["rows"])
        if want["kind"] == "good":
            check_reference(point, lines)


def check_database(path: Path, lines: list[dict]) -> None:
    """As SQLite itself reads it, in place."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.text_factory = bytes
    rows = db.execute("SELECT ordinal, id, scene_id, metadata, fields, shard, error FROM records ORDER BY ordinal").fetchall()
    assert [row[0] for row in rows] == [line["ordinal"] for line in lines]
    for row, line in zip(rows, lines, strict=True):
        for value, text in ((line["id"], row[1]), (line["scene_id"], row[2])):
            assert text == (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None)
        for value, text in ((line["metadata"], row[3]), (line["fields"], row[4])):
            assert (value is None and text is None) or same_json(json.loads(text), value)
        assert (row[6] is None) == ("error" not in line)
    scenes = db.execute("SELECT scene_id, records FROM scenes ORDER BY scene_id").fetchall()
    assert sum(count for _, count in scenes) == sum(isinstance(line["scene_id"], str) for line in lines)
    assert db.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)]
    db.close()


def check_set(path: Path, rows: list[dict]) -> None:
    got = lines_of(path)
    assert [line["source_index"] for line in got] == list(range(len(rows)))
    for line, row in zip(got, rows, strict=True):
        if row.get("ok"):
            keys = ["source_record_id", "source_index", "status", "values", "provenance", "detail_status"]
            assert list(line) == keys and same_json(line, {key: row[key] for key in keys})
        elif not row.get("may_differ"):
            assert set(line) == {"source_index", "error"}


def thawed(value: object) -> object:
    """The reference's read-only mappings and tuples as what JSON knows."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, list | tuple) else value


def check_reference(point: Path, lines: list[dict]) -> None:
    """The reference, reading the mount itself."""
    dataset = reference.open(str(point))
    for line, meta in zip(lines, dataset.iter_record_metadata(), strict=True):
        assert (line["id"], line["scene_id"]) == (meta.id, meta.scene_id)
        assert same_json(line["metadata"], thawed(meta.metadata))


def test_an_empty_dataset_has_an_empty_index(roots: Path, point: Path, cache: Path) -> None:  # noqa: F811
    empty = [name for name, want in EXPECTED.items() if want["mount"] == "ok" and want["record_count"] == 0]
    assert empty
    with mount(roots / empty[0], point, cache):
        assert sorted(os.listdir(point / "index")) == NAMES
        assert (point / "index/records.jsonl").read_bytes() == b""
        assert os.listdir(point / "index/by-id") == os.listdir(point / "index/by-scene") == []
        assert sdsfs("query", "-o", f"cache_dir={cache}", roots / empty[0], "1").stdout == b""


def test_looking_around(point: Path, cache: Path) -> None:
    with mount(SAMPLE, point, cache):
        found = run("find", point / "index", "-printf", "%y %P\n")
        assert found.returncode == 0 and not found.stderr
        kinds = [line.split(" ", 1)[0] for line in found.stdout.decode().splitlines()]
        assert kinds.count("l") >= 2 * 48 - 1 and kinds.count("f") >= 2
        assert run("find", "-L", point / "index/by-id", "-maxdepth", "2", "-name", "metadata.json").stdout.count(b"\n") == 48
        for name in ("nothing", "by-id/nothing", "by-scene/nothing", "annotations/nothing.jsonl", "annotations/x"):
            fails_with(errno.ENOENT, (point / "index" / name).stat)
        fails_with(errno.EROFS, lambda: (point / "index/new").write_text("x"))
        fails_with(errno.ENOTDIR, lambda: os.listdir(point / "index/records.jsonl"))
        fails_with(errno.EINVAL, lambda: os.readlink(point / "index/records.jsonl"))
        names = sorted(os.listdir(point / "index/by-id"))
        assert [os.readlink(point / "index/by-id" / name)[-6:] for name in names]
        assert os.path.samefile(point / "index/by-id" / names[0] / "metadata.json", point / "records" / os.readlink(point / "index/by-id" / names[0])[-6:] / "metadata.json")


def test_any_part_of_a_file(point: Path, cache: Path) -> None:
    with mount(SAMPLE, point, cache):
        for name in ("records.jsonl", "records.sqlite", "annotations/" + os.listdir(point / "index/annotations")[0]):
            whole = (point / "index" / name).read_bytes()
            with (point / "index" / name).open("rb", buffering=0) as file:
                fd = file.fileno()
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                for off in range(len(whole) - 1, -1, -997):
                    assert os.pread(fd, 500, off) == whole[off : off + 500]
                assert os.pread(fd, 10, len(whole)) == b""


def test_odd_names(tmp_path: Path, point: Path, cache: Path) -> None:
    """Whatever a string can hold: NUL, slashes, dots, 300 letters, what is no UTF-8, what repeats, what looks numbered."""
    import numpy as np  # noqa: PLC0415

    ids = ["\0", "a\0b", "a\0c", "x/y", ".", "..", ".hidden", "%", "ü" * 300, "ü" * 299 + "v", "twice", "twice", "like@3", "new\nline", " ", "\U0001f4e1"]
    scenes = ["\0", "s\0t", "s\0u", "a/b", "..", None, "long" * 100, "long" * 99 + "gone", "%", "", "x@1", None, "\x7f", "é", "e\u0301", " "]
    field = {"x": reference.Field(np.zeros(3, np.float32), (reference.Axis("t", 3),))}
    records = [reference.Record(i, field, scene_id=s, metadata={"n": k}) for k, (i, s) in enumerate(zip(ids, scenes, strict=True))]
    root = tmp_path / "root"
    reference.publish(str(root), [reference.write_shard(records, str(root), work_id="w")], dataset_id="d", snapshot_id="s")
    with mount(root, point, cache):
        lines = lines_of(point / "index/records.jsonl")
        assert [line["id"] for line in lines] == ids and [line["scene_id"] for line in lines] == scenes
        links = listed_links(point / "index/by-id", "../../")
        assert sorted(links.values()) == list(range(len(ids)))
        for name, ordinal in expected_ids([{"ok": True, "id": text} for text in ids]).items():
            assert not name or links[name] == ordinal
        assert sum(len(os.fsencode(name)) > 200 for name in links) == 2
        held = {}
        for name in os.listdir(point / "index/by-scene"):
            for ordinal in listed_links(point / "index/by-scene" / name, "../../../").values():
                held[ordinal] = name
        assert sorted(held) == [k for k, scene in enumerate(scenes) if scene is not None]
        assert len(set(held.values())) == len({scene for scene in scenes if scene is not None})
        assert held[1] == "s%00t" and held[9] == "%"
        check_database(point / "index/records.sqlite", lines)
    found = sdsfs("query", "-o", f"cache_dir={cache}", root, "id = 'a' || char(0) || 'b'")
    assert found.stdout == b"1\n"


# ---- the commands


def query(cache: Path, *argv: object, **more: object) -> subprocess.CompletedProcess:
    return sdsfs("query", "-o", f"cache_dir={cache}", *argv, **more)


def test_queries(cache: Path) -> None:
    want = [i for i, m in enumerate(reference.open(str(SAMPLE)).iter_record_metadata()) if i % 3 == 0 and m.scene_id is not None]
    condition = "ordinal % 3 = 0 AND scene_id IS NOT NULL"
    assert query(cache, SAMPLE, condition).stdout.split() == [str(i).encode() for i in want]
    assert query(cache, "--paths", SAMPLE, condition).stdout.decode().split() == [f"records/{i:06d}" for i in want]
    told = [json.loads(line) for line in query(cache, "--json", SAMPLE, condition).stdout.splitlines()]
    assert [line["ordinal"] for line in told] == want and all("metadata" in line for line in told)
    assert query(cache, SAMPLE, "0").stdout == b"" and query(cache, SAMPLE, "0").returncode == 0
    assert query(cache, SAMPLE, "ordinal IN (SELECT min(ordinal) FROM records GROUP BY scene_id)").returncode == 0


def test_a_query_tells_of_records_that_are_not_in_it(cache: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(SAMPLE, tmp_path / "broken.sds"))
    shard = min(root.glob("objects/metadata/**/*.arrayrecord"), key=lambda p: p.stat().st_size)
    shard.chmod(0o644)
    content = bytearray(shard.read_bytes())
    for at in range(40, len(content) - 65536 - 40 if len(content) > 2 * 65536 else len(content) // 2):
        content[at] ^= 1
    shard.write_bytes(content)
    done = query(cache, root, "1")
    bad = query(cache, root, "error IS NOT NULL").stdout.split()
    assert bad and done.returncode == 0
    assert error_line(done) == f"{root}: {len(bad)} record{'s' * (len(bad) > 1)} could not be indexed (error IS NOT NULL)"
    assert query(cache, SAMPLE, "1").stderr == b""


@pytest.mark.parametrize(
    "condition",
    ["", "no_such = 1", "1; SELECT 1", "1) OR (1", "1); DELETE FROM records; --", "ordinal =", "json_extract(metadata, 'no path') = 1",
     "abs(-9223372036854775808) = 1", "load_extension('x')", "1 /*", "1))/*", "x" * 70000, "zeroblob(2000000000) = 1", "ordinal = ?",
     "1)) UNION ALL SELECT -7, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE ((1", "1 UNION SELECT 1", "1 LIMIT 1"],
)  # fmt: skip
def test_what_is_no_condition(condition: str, cache: Path) -> None:
    done = query(cache, SAMPLE, condition)
    assert done.returncode == 2 and done.stdout == b"", done
    assert "where: " in error_line(done)


def test_a_statement_is_no_condition(cache: Path) -> None:
    for statement in ("SELECT * FROM records", "WHERE ordinal = 1", "ORDER BY id"):
        assert "a condition is wanted, what stands behind WHERE" in error_line(query(cache, SAMPLE, statement)), statement
    unclosed = error_line(query(cache, SAMPLE, "scene_id = 'roof"))
    assert "unrecognized token" in unclosed and "is a quote missing?" in unclosed and "x0A" not in unclosed
    assert query(cache, "--paths", "--json", SAMPLE, "1").returncode == 2


@pytest.mark.parametrize("condition", ["no_such = 1", '"no_such" = 1', 'scene_id = "no_such"', "1 ORDER BY no_such"])
def test_a_column_that_there_is_not_is_no_text(condition: str, cache: Path) -> None:
    done = query(cache, SAMPLE, condition)
    assert done.returncode == 2 and done.stdout == b""
    assert "no such column: no_such" in error_line(done)
    for column in sqlite3.connect(index_files(cache, ".sqlite")[0]).execute("SELECT name FROM pragma_table_info('records')"):
        assert f" {column[0]}" in error_line(done)


def test_a_reader_that_goes_away(cache: Path) -> None:
    done = run("bash", "-c", f"set -o pipefail; {SDSFS} query -o cache_dir={cache} --json {SAMPLE} 1 | head -n 1 | wc -l")
    assert done.stdout.strip() == b"1"
    with open("/dev/full", "w") as full:
        broken = subprocess.run([SDSFS, "query", "-o", f"cache_dir={cache}", str(SAMPLE), "1"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert broken.returncode == 3 and broken.stderr.count(b"\n") == 1


def test_the_command_that_builds(cache: Path) -> None:
    done = sdsfs("index", "--json", "-o", f"cache_dir={cache}", SAMPLE)
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["records"] == 48 and told["bad"] == 0 and told["bytes"] == index_files(cache, ".sqlite")[0].stat().st_size
    before = index_files(cache, ".sqlite")[0].stat()
    again = sdsfs("index", "-o", f"cache_dir={cache}", SAMPLE)
    each = before.st_size // 48 / 1024
    assert again.stdout.decode() == f"indexed 48 records, 0 of them bad, in {before.st_size / 1024:.1f} KiB ({each:.1f} KiB for each)\n"
    assert index_files(cache, ".sqlite")[0].stat().st_ino == before.st_ino
    assert before.st_mode & 0o777 == 0o600 and (cache / "index").stat().st_mode & 0o777 == 0o700
    assert sdsfs("index", SAMPLE, "x").returncode == 2


def test_what_nobody_opened_for_a_month_is_removed(cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sds"
    shutil.copytree(SAMPLE, other)
    root = json.loads((other / "root.json").read_bytes())
    (other / "root.json").write_text(json.dumps(root | {"dataset_id": "another"}))

    def age(path: Path, days: int) -> None:
        os.utime(path, (time.time() - days * 86400,) * 2)

    for days, kept in ((40, 1), (20, 2)):
        assert sdsfs("index", "-o", f"cache_dir={cache}", SAMPLE).returncode == 0
        (of_sample,) = index_files(cache, ".sqlite")
        age(of_sample, days)
        assert sdsfs("index", "-o", f"cache_dir={cache}", other).returncode == 0
        assert len(index_files(cache, ".sqlite")) == kept
        for path in index_files(cache, ".sqlite"):
            if path != of_sample:
                path.unlink()


def test_a_dataset_that_is_made_again_has_another_index(cache: Path, tmp_path: Path) -> None:
    """The reference writes the same documents for the same names, whatever the records say."""
    import numpy as np  # noqa: PLC0415

    root = tmp_path / "again.sds"
    field = {"x": reference.Field(np.zeros(2, np.float32), (reference.Axis("t", 2),))}
    documents = set()
    for age in (20, 50):
        shutil.rmtree(root, ignore_errors=True)
        made = [reference.Record(f"r{i}", field, metadata={"age": age + i}) for i in range(5)]
        shard = reference.write_shard(made, str(root), work_id="w")
        reference.publish(str(root), [shard], dataset_id="again", snapshot_id="s")
        documents.add((root / "root.json").read_bytes())
        found = sdsfs("query", "-o", f"cache_dir={cache}", root, f"metadata->>'$.age' >= {age + 2}")
        assert found.stdout == b"2\n3\n4\n", found
    assert len(documents) == 1


# ---- a dataset that takes a while

SANITIZED = "san" in SDSFS  # everything takes ten times as long
COUNT, EACH = (20000, 2000) if SANITIZED else (60000, 6000)


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """Many small records; written once, by the reference."""
    import numpy as np  # noqa: PLC0415

    root = tmp_path_factory.mktemp("large") / "root"
    field = {"x": reference.Field(np.zeros(2, np.float32), (reference.Axis("t", 2),))}

    def records(first: int):
        for i in range(first, first + EACH):
            yield reference.Record(f"r-{i}", field, scene_id=f"s-{i % 7}", metadata={"n": i})

    shards = [reference.write_shard(records(first), str(root), work_id=f"w{first:06d}") for first in range(0, COUNT, EACH)]
    reference.publish(str(root), shards, dataset_id="large", snapshot_id="s")
    return root


def check_large(point: Path) -> None:
    digest = hashlib.sha256()
    with (point / "index/records.jsonl").open("rb") as file:
        for i, line in enumerate(file):
            told = json.loads(line)
            assert told["ordinal"] == i and told["id"] == f"r-{i}" and told["metadata"] == {"n": i}
            digest.update(line)
    assert i == COUNT - 1
    assert os.readlink(point / f"index/by-id/r-{COUNT - 1}") == f"../../records/{COUNT - 1:06d}"
    assert len(os.listdir(point / "index/by-id")) == COUNT
    assert sum(len(os.listdir(point / f"index/by-scene/s-{k}")) for k in range(7)) == COUNT


def wait_for_rows(cache: Path, process_is_there) -> bool:
    """Until a build has written some."""

    def some() -> bool:
        files = index_files(cache, ".building") if (cache / "index").is_dir() else []
        return bool(files) and files[0].stat().st_size > 1 << 20

    return wait_until(lambda: some() or not process_is_there(), 30) and some()


def rows_left(cache: Path) -> int:
    left = index_files(cache, ".building")
    if not left:
        return 0
    copy = cache / "copy.sqlite"
    for suffix in ("", "-journal"):
        source = Path(f"{left[0]}{suffix}")
        if source.exists():
            shutil.copy(source, f"{copy}{suffix}")
    db = sqlite3.connect(copy)
    count, top = db.execute("SELECT count(*), max(ordinal) FROM records").fetchone()
    told = db.execute("SELECT value FROM about WHERE key = 'records'").fetchone()
    db.close()
    assert (told[0] if told else 0) == count == (top + 1 if top is not None else 0)
    return count


def test_a_build_that_is_killed_costs_only_time(large: Path, point: Path, cache: Path) -> None:
    command = [SDSFS, "index", "-o", f"cache_dir={cache}", str(large)]
    killed = 0
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if wait_for_rows(cache, lambda p=process: p.poll() is None):
            process.kill()
            killed += process.wait() == -signal.SIGKILL
        process.communicate()
        if index_files(cache, ".sqlite"):
            break
        rows_left(cache)
    assert killed or index_files(cache, ".sqlite")
    with mount(large, point, cache):
        check_large(point)
    assert not index_files(cache, ".building") and not index_files(cache, "-journal")


def test_a_daemon_that_is_killed_while_it_builds(large: Path, point: Path, cache: Path) -> None:
    assert sdsfs("mount", "-o", f"cache_dir={cache}", large, point).returncode == 0
    daemon = daemon_of(point)
    asker = subprocess.Popen(["stat", str(point / "index/by-id/r-5")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_rows(cache, lambda: asker.poll() is None)
    os.kill(daemon, signal.SIGKILL)
    asker.wait(30)
    run("umount", "-l", point)
    assert wait_until(lambda: not alive(daemon) and not is_mounted(point))
    with mount(large, point, cache):
        check_large(point)


def test_unmounting_gives_up_a_build(large: Path, point: Path, cache: Path) -> None:
    with mount(large, point, cache):
        asker = subprocess.Popen(["stat", str(point / "index/by-id/r-5")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_rows(cache, lambda: asker.poll() is None)
        asker.kill()
        asker.wait(30)
        start = time.monotonic()
        assert sdsfs("umount", point).returncode == 0
        assert time.monotonic() - start < 20
    with mount(large, point, cache):
        check_large(point)


def test_two_mounts_build_it_once(large: Path, tmp_path: Path, cache: Path) -> None:
    points = [tmp_path / "a", tmp_path / "b"]
    for p in points:
        p.mkdir()
    with mount(large, points[0], cache), mount(large, points[1], cache):
        askers = [subprocess.Popen(["ls", "-l", str(p / "index/")], stdout=subprocess.PIPE) for p in points]
        told = [asker.communicate(timeout=120)[0] for asker in askers]
        assert told[0].count(b"\n") == told[1].count(b"\n") == len(NAMES) + 1
        sizes = {(p / "index/records.jsonl").stat().st_size for p in points}
        assert len(sizes) == 1
        assert [build_state(p)["state"] for p in points] == ["built", "built"]
        read = [sum(int(line.split()[1]) for line in Path(f"/proc/{daemon_of(p)}/io").read_text().splitlines() if line.startswith("wchar")) for p in points]
        assert min(read) < max(read) / 2  # one wrote it
    assert len(index_files(cache, ".sqlite")) == 1


def test_nobody_else_waits_while_it_is_built(large: Path, point: Path, cache: Path) -> None:
    """More askers than threads, and the rest of the mount answers."""
    (cache / "index").mkdir(parents=True, mode=0o700)
    os.chmod(cache, 0o700)
    with mount(large, point, cache, "threads=2"):
        assert sdsfs("index", "-o", f"cache_dir={cache}", large).returncode == 0
        lock = index_files(cache, ".lock")[0]
        index_files(cache, ".sqlite")[0].unlink()
        holder = subprocess.Popen(["flock", str(lock), "sh", "-c", "echo held; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert holder.stdout.readline() == b"held\n"
        askers = [subprocess.Popen(["stat", str(point / f"index/by-id/r-{i}")], stdout=subprocess.DEVNULL) for i in range(6)]
        assert wait_until(lambda: build_state(point)["state"] == "building")
        for i in range(0, COUNT, COUNT // 50):
            assert json.loads((point / f"records/{i:06d}/metadata.json").read_bytes())["id"] == f"r-{i}"
        assert os.listdir(point / "index/annotations") == [] and all(asker.poll() is None for asker in askers)
        askers[0].kill()  # who waits can be killed
        assert askers[0].wait(20) == -signal.SIGKILL
        holder.communicate(b"", timeout=10)
        assert [asker.wait(60) for asker in askers[1:]] == [0] * 5
        assert build_state(point)["state"] == "built" and build_state(point)["records"] == COUNT


# ---- a cache directory that is not to be had, or damaged


def check_rest(point: Path) -> None:
    assert json.loads((point / "records/000000/metadata.json").read_bytes())["id"]
    assert len((point / "records/000000/record.safetensors").read_bytes()) > 100
    assert sorted(os.listdir(point / "index")) == NAMES


def told_errors(point: Path) -> list[dict]:
    return [json.loads(line) for line in (point / "control/errors.jsonl").read_bytes().splitlines()]


def test_no_cache_directory(tmp_path: Path, point: Path) -> None:
    (tmp_path / "file").write_text("")
    with mount(SAMPLE, point, tmp_path / "file/cache"):
        check_rest(point)
        with pytest.raises(OSError) as caught:
            os.listdir(point / "index/by-id")
        assert caught.value.errno in (errno.EIO, errno.EACCES)
        with pytest.raises(OSError):
            (point / "index/by-id/capture").stat()
        assert any(line["path"].startswith("index") and line["check"] == "cache_dir" for line in told_errors(point))
        assert build_state(point)["state"] == "failed"
    done = query(tmp_path / "file/cache", SAMPLE, "1")
    assert done.returncode == 3 and "cache_dir: " in error_line(done)


def test_a_directory_of_somebody_else(tmp_path: Path, point: Path, cache: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    cache.mkdir(mode=0o700)
    (cache / "index").mkdir(mode=0o777)
    os.chown(cache / "index", 65534, 65534)
    with mount(SAMPLE, point, cache):
        check_rest(point)
        fails_with(errno.EACCES, lambda: os.listdir(point / "index/by-id"))
        assert any(line["check"] == "cache_dir" for line in told_errors(point))
        os.chown(cache / "index", 0, 0)
        os.chmod(cache / "index", 0o700)
        assert wait_until(lambda: run("ls", point / "index/by-id").returncode == 0)  # tried again


@pytest.mark.parametrize("how", ["open to all", "a link"])
def test_a_query_in_a_directory_that_others_may_write(how: str, tmp_path: Path, cache: Path) -> None:
    """An index that is there already is no better than the directory that it is in."""
    assert query(cache, SAMPLE, "ordinal = 0").stdout == b"0\n"
    if how == "a link":
        (cache / "index").rename(tmp_path / "elsewhere")
        (cache / "index").symlink_to(tmp_path / "elsewhere")
    else:
        (cache / "index").chmod(0o777)
    done = query(cache, SAMPLE, "ordinal = 0")
    assert done.returncode == 3 and done.stdout == b"" and "cache_dir: " in error_line(done)


def test_links_in_its_place_are_not_followed(tmp_path: Path, point: Path, cache: Path) -> None:
    assert sdsfs("index", "-o", f"cache_dir={cache}", SAMPLE).returncode == 0
    file = index_files(cache, ".sqlite")[0]
    (tmp_path / "precious").write_text("precious")
    building = file.with_suffix(".building")
    file.unlink()
    file.symlink_to(tmp_path / "precious")
    building.symlink_to(tmp_path / "precious")
    assert sdsfs("index", "-o", f"cache_dir={cache}", SAMPLE).returncode == 0
    assert (tmp_path / "precious").read_text() == "precious" and not file.is_symlink()


@needs_root
def test_a_full_disk(large: Path, tmp_path: Path, point: Path) -> None:
    cache = tmp_path / "small"
    cache.mkdir()
    assert run("mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", cache).returncode == 0
    try:
        done = sdsfs("index", "-o", f"cache_dir={cache}", large)
        assert done.returncode == 3 and "full" in error_line(done)
        with mount(large, point, cache):
            fails_with(errno.EIO, lambda: os.listdir(point / "index/by-id"))
            assert json.loads((point / "records/000009/metadata.json").read_bytes())["id"] == "r-9"
            assert any("full" in line["message"] for line in told_errors(point))
            run("mount", "-o", "remount,size=100m", cache)
            assert wait_until(lambda: run("ls", point / "index/by-scene").returncode == 0, 60)
            check_large(point)
    finally:
        assert run("umount", cache).returncode == 0


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "empty":
        data = bytearray()
    elif how == "short":
        data = data[: len(data) // 2]
    elif how == "text":
        data = bytearray(b"not a database\n" * 100)
    elif how == "first page":
        data[100:4000] = b"\xaa" * 3900
    elif how == "the rest":
        data[16384:] = b"\xaa" * (len(data) - 16384)
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["empty", "short", "text", "first page", "the rest"])
def test_a_damaged_file_is_built_again(how: str, large: Path, point: Path, cache: Path) -> None:
    assert sdsfs("index", "-o", f"cache_dir={cache}", large).returncode == 0
    file = index_files(cache, ".sqlite")[0]
    sound = hashlib.sha256(file.read_bytes()).hexdigest()
    damage(file, how)
    with mount(large, point, cache):
        # The first one who meets the damage may be told.
        assert wait_until(lambda: run("stat", point / "index/by-id/r-77").returncode == 0, 60)
        assert wait_until(lambda: run("cat", point / "index/records.jsonl").returncode == 0, 60)
        check_large(point)
    assert hashlib.sha256(index_files(cache, ".sqlite")[0].read_bytes()).hexdigest() == sound
    damage(index_files(cache, ".sqlite")[0], how)
    codes = [query(cache, large, "id = 'r-77'").returncode for _ in range(2)]
    assert codes[1] == 0 and codes[0] in (0, 1)


@pytest.mark.parametrize("how", ["empty", "short", "text", "first page", "the rest"])
def test_a_damaged_rest_of_a_build_is_built_again(how: str, large: Path, point: Path, cache: Path) -> None:
    process = subprocess.Popen([SDSFS, "index", "-o", f"cache_dir={cache}", str(large)], stdout=subprocess.DEVNULL)
    if wait_for_rows(cache, lambda: process.poll() is None):
        process.kill()
    process.wait()
    left = index_files(cache, ".building")
    if not left:
        pytest.skip("it was built too fast to be interrupted")
    damage(left[0], how)
    with mount(large, point, cache):
        check_large(point)


def test_a_build_that_is_killed_just_before_it_got_its_name(cache: Path) -> None:
    assert sdsfs("index", "-o", f"cache_dir={cache}", SAMPLE).returncode == 0
    file = index_files(cache, ".sqlite")[0]
    ino = file.stat().st_ino
    file.rename(file.with_suffix(".building"))
    done = sdsfs("index", "-o", f"cache_dir={cache}", SAMPLE)
    assert done.returncode == 0, done.stderr
    assert file.stat().st_ino == ino and index_files(cache, ".building") == []


@pytest.mark.parametrize("sql", ["DROP TABLE lines", "CREATE INDEX records_by_scene ON records (scene_id)", "INSERT INTO records (ordinal) VALUES (30)"])
def test_a_rest_of_a_build_with_other_tables_is_built_again(sql: str, large: Path, cache: Path) -> None:
    process = subprocess.Popen([SDSFS, "index", "-o", f"cache_dir={cache}", str(large)], stdout=subprocess.DEVNULL)
    if wait_for_rows(cache, lambda: process.poll() is None):
        process.kill()
    process.wait()
    left = index_files(cache, ".building")
    if not left:
        pytest.skip("it was built too fast to be interrupted")
    db = sqlite3.connect(left[0])
    db.execute("DELETE FROM records WHERE ordinal >= 20")
    db.execute("UPDATE about SET value = 20 WHERE key = 'records'")
    db.execute(sql)
    db.commit()
    db.close()
    assert sdsfs("index", "-o", f"cache_dir={cache}", large).returncode == 0
    assert query(cache, large, "id = 'r-77'").stdout == b"77\n"


def put_in_place(path: Path, what: str) -> None:
    whole = path.read_bytes() if path.is_file() else b""
    path.unlink(missing_ok=True)
    if what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to("/etc/hostname")
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(f"/proc/self/fd/{os.open(path.parent, os.O_PATH)}/{path.name}")
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "flipped": whole[:300] + b"#" + whole[301:], "other": b"{}\n"}[what])


@pytest.mark.parametrize("what", ["fifo", "link", "socket", "empty", "cut", "flipped", "other"])
@pytest.mark.parametrize("suffix", [".sqlite", ".jsonl", ".building"])
def test_what_does_not_belong_there_is_made_again(suffix: str, what: str, point: Path, cache: Path) -> None:
    """In the place of an index, of the lines of a set, and of either while it is made."""
    if suffix == ".sqlite" and what == "flipped":
        pytest.skip("SQLite has no checksums")
    lines = "annotations/review-v1.jsonl"
    with mount(SAMPLE, point, cache):
        sound = [(point / "index" / name).read_bytes() for name in (lines, "records.jsonl")]
    files = index_files(cache, ".jsonl") + index_files(cache, ".sqlite")
    for path in files if suffix == ".building" else index_files(cache, suffix):
        if suffix == ".building":
            shutil.copy(path, path.with_suffix(suffix))
            path.unlink()
        put_in_place(path.with_suffix(suffix), what)
    with mount(SAMPLE, point, cache):
        for _ in range(2):  # who meets the damage of a database may be told
            told = run("cat", point / "index/records.jsonl")
        assert [run("cat", point / "index" / lines).stdout, told.stdout] == sound
        assert run("ls", point / "index/by-id").stdout.count(b"\n") == 48
    assert query(cache, SAMPLE, "ordinal < 2").stdout == b"0\n1\n"


def test_another_snapshot_has_another_index(tmp_path: Path, cache: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(SAMPLE, copy)
    for root in (SAMPLE, copy, copy):
        assert sdsfs("index", "-o", f"cache_dir={cache}", root).returncode == 0
    assert len(index_files(cache, ".sqlite")) == 2


# ---- file handles, and sets that are published meanwhile


@needs_root
def test_file_handles(point: Path, cache: Path) -> None:
    from test_kernel import Handle, handle_of, libc  # noqa: PLC0415

    with mount(SAMPLE, point, cache):
        scene = os.listdir(point / "index/by-scene")[0]
        within = os.listdir(point / "index/by-scene" / scene)[0]
        names = ["records.jsonl", f"by-id/{os.listdir(point / 'index/by-id')[0]}", f"by-scene/{scene}", f"by-scene/{scene}/{within}"]
        names += [f"annotations/{name}" for name in os.listdir(point / "index/annotations")[:1]]
        handles: list[tuple[int, Handle]] = [(os.lstat(point / "index" / n).st_ino, handle_of(point / "index" / n)) for n in names]
        run("sh", "-c", "echo 2 > /proc/sys/vm/drop_caches")
        fd = os.open(point, os.O_RDONLY)
        for name, (ino, handle) in zip(names, handles, strict=True):
            opened = libc.open_by_handle_at(fd, ctypes.byref(handle), os.O_PATH | os.O_NOFOLLOW)
            assert opened >= 0, (name, os.strerror(ctypes.get_errno()))
            assert os.fstat(opened).st_ino == ino
            os.close(opened)
        os.close(fd)


def test_a_set_that_is_published_meanwhile(tmp_path: Path, point: Path, cache: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(SAMPLE, root)
    state = {**os.environ, "STATE_DIRECTORY": str(tmp_path / "state")}
    with mount(root, point, cache, environment=state):
        fails_with(errno.ENOENT, (point / "index/annotations/late.jsonl").stat)
        draft = point / "control/annotations/late"
        draft.mkdir()
        rows = [{"ordinal": i, "status": "success", "values": {"n": i}} for i in range(48)]
        (draft / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (draft / "commit").write_text("publish\n")
        assert "late.jsonl" in os.listdir(point / "index/annotations")
        got = lines_of(point / "index/annotations/late.jsonl")
        assert [line["values"]["n"] for line in got] == list(range(48))


def lines_open(pid: int) -> int:
    """Files of lines that a process has open. Descriptors of reads under way may be gone meanwhile."""
    open_ = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            open_ += os.readlink(entry).endswith(".jsonl")
    return open_


def test_more_sets_than_may_be_open(tmp_path: Path, point: Path, cache: Path) -> None:
    """Listing them takes no descriptor each for the life of the mount, and all of them can be read, in any order."""
    import numpy as np  # noqa: PLC0415

    root, count = tmp_path / "root", 150
    field = {"x": reference.Field(np.zeros(2, np.float32), (reference.Axis("t", 2),))}
    records = [reference.Record(f"r-{i}", field) for i in range(2)]
    dataset = reference.publish(str(root), [reference.write_shard(records, str(root), work_id="w")], dataset_id="d", snapshot_id="s")
    for k in range(count):
        rows = [reference.AnnotationRecord(f"r-{i}", i, reference.AnnotationStatus.SUCCESS, {"k": k}) for i in range(2)]
        reference.publish_annotations(dataset, f"set-{k}", rows)
    with mount(root, point, cache):
        sizes = {name: (point / "index/annotations" / name).stat().st_size for name in os.listdir(point / "index/annotations")}
        assert len(sizes) == count
        held = [os.open(point / "index/annotations" / name, os.O_RDONLY) for name in sizes]
        assert 0 < lines_open(daemon_of(point)) <= 64
        for order in (1, -1):
            for fd, (name, size) in list(zip(held, sizes.items(), strict=True))[::order]:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                text = os.pread(fd, size + 1, 0)
                assert len(text) == size
                assert [json.loads(line)["values"]["k"] for line in text.splitlines()] == [int(name[4:-6])] * 2
        assert 0 < lines_open(daemon_of(point)) <= 64
        for fd in held:
            os.close(fd)


def test_many_readers_at_once(large: Path, point: Path, cache: Path) -> None:
    """Lookups, listings and reads from the first moment on, all of them right."""
    wrong: list[object] = []

    def ask(k: int) -> None:
        try:
            for i in range(k, COUNT, COUNT // 40):
                if os.readlink(point / f"index/by-id/r-{i}") != f"../../records/{i:06d}":
                    wrong.append(i)
            if len(os.listdir(point / f"index/by-scene/s-{k}")) < COUNT // 7:
                wrong.append(k)
        except OSError as error:
            wrong.append(error)

    with mount(large, point, cache):
        threads = [threading.Thread(target=ask, args=[k]) for k in range(7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


@needs_fuse
def test_what_was_put_right_is_seen_by_the_next_mount(tmp_path: Path, point: Path, cache: Path) -> None:
    """Objects that were not there when the index was built, as on a server where an upload is under way."""
    root = Path(shutil.copytree(SAMPLE, tmp_path / "sample.sds"))
    objects = [*sorted((root / "objects/metadata").glob("*/*"))[:1], *(root / "annotations/sets/review-v1").glob("*/objects/*/*")]
    for path in objects:
        path.rename(path.with_suffix(".away"))
    names = ["records.jsonl", "annotations/review-v1.jsonl"]
    with mount(root, point, cache):
        assert all(any("error" in line for line in lines_of(point / "index" / name)) for name in names)
    for path in objects:
        path.with_suffix(".away").rename(path)
    with mount(root, point, cache):
        assert not any("error" in line for name in names for line in lines_of(point / "index" / name))
        assert len(os.listdir(point / "index/by-id")) == 48
    assert len(index_files(cache, ".jsonl")) == 1 and index_files(cache, ".building") == []
