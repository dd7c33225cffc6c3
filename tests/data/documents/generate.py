#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Control documents of signal-dataset 0.1, and what the reference package says to each of them.

    generate.py documents DATASETS > documents.cases    all documents of the datasets in folder DATASETS,
                                                        and mutations of one document of each kind
    generate.py paths > paths.json
    generate.py versions > versions.json

documents.cases is a sequence of

    KIND VERDICT OFFSET REMOVED INSERTED LF, then INSERTED bytes, then LF

"KIND base 0 0 N" gives the base text of a kind; each case after it is that text with REMOVED bytes at
OFFSET replaced. VERDICT is "accepted" or "refused" as the reference answers, or "limit" where it accepts
numbers that sdsfs has a ceiling for: counts and ordinals above 2^40, sizes of pages above 2^63 - 1.
"""

import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from signal_dataset._internal.json import frozen_mapping, strict_json_loads
from signal_dataset.annotation import catalog as annotations
from signal_dataset.annotation.model import SET_NAME
from signal_dataset.config import StorageOptions
from signal_dataset.dataset.layout import DatasetRoot, Manifest, Snapshot
from signal_dataset.dataset.versions import parse, require_reader
from signal_dataset.errors import CorruptDatasetError
from signal_dataset.storage.paths import safe_relative_path
from signal_dataset.storage.registry import is_absolute_uri

OPTIONS = StorageOptions()
REFUSALS = (CorruptDatasetError, ValueError, TypeError, KeyError, AttributeError, OverflowError)

# What the reference says.


def load(data: bytes) -> dict:
    value = strict_json_loads(data, max_depth=128, max_nodes=1_000_000)
    if not isinstance(value, dict):
        raise CorruptDatasetError("not an object")
    return value


def ask_root(data: bytes) -> None:
    root = DatasetRoot.from_dict(load(data))
    require_reader(root.min_reader_version, root="")
    frozen_mapping(root.metadata)


def ask_snapshot(data: bytes) -> None:
    Snapshot.from_dict(load(data))


def ask_manifest(data: bytes) -> None:
    Manifest.from_dict(load(data))


def ask_catalog(data: bytes) -> None:
    annotations._catalog_pointer(annotations._parse(data, OPTIONS, "pointer"))


def ask_revision(data: bytes) -> None:
    annotations._catalog_revision(annotations._parse(data, OPTIONS, "revision"))


class OneSet:
    """A dataset with one annotation set, whose name, snapshot and length are what the set root says."""

    root = "/dataset"
    storage_options = OPTIONS
    shard_store = None
    record_metadata = ()

    def __init__(self, data: bytes) -> None:
        document = load(data)
        name, self.snapshot_id = document.get("name"), document.get("source_snapshot_id")
        if not isinstance(self.snapshot_id, str):
            self.snapshot_id = "other"
        if not isinstance(name, str) or not SET_NAME.fullmatch(name):
            name = "other"
        count = document.get("record_count")
        self.count = count if isinstance(count, int) else 0
        path = f"annotations/sets/{name}/publication/root.json"
        revision = json.dumps({"sets": {name: {"path": path, "stored_bytes": len(data)}}}).encode()
        revision_path = f"annotations/catalogs/{hashlib.sha256(revision).hexdigest()}.json"
        pointer = json.dumps({"revision": {"path": revision_path}}).encode()
        self.objects = {annotations.CATALOG: pointer, revision_path: revision, path: data}
        self.object_store = self

    def __len__(self) -> int:
        return self.count

    def read(self, uri: str, generation: int | None = None) -> bytes:
        return self.objects[uri.removeprefix(self.root + "/")]

    def read_version(self, uri: str) -> SimpleNamespace:
        return SimpleNamespace(data=self.read(uri))

    def info(self, uri: str, generation: int | None = None) -> SimpleNamespace:
        return SimpleNamespace(size=len(self.read(uri)))


def ask_set(data: bytes) -> None:
    annotations.open_catalog(OneSet(data))


ASK = {
    "root": ask_root,
    "snapshot": ask_snapshot,
    "manifest": ask_manifest,
    "catalog": ask_catalog,
    "revision": ask_revision,
    "set": ask_set,
}


def over_limit(kind: str, data: bytes) -> bool:
    document = load(data)
    entries = [document, *document.get("manifests", ()), *document.get("shards", ())]
    if kind not in ("snapshot", "manifest", "set"):
        return False
    keys = ["record_count", "first_ordinal"] + (["shard_count"] if kind == "snapshot" else [])
    # A first_ordinal in a snapshot or a set root itself is an unknown key.
    counts = [e[k] for e in entries for k in keys if k in e and (e, k) != (document, "first_ordinal")]
    if kind == "manifest":
        counts.append(document["first_ordinal"])
    sizes = [e["stored_bytes"] for e in entries] if kind == "snapshot" else []
    return any(c > 2**40 for c in counts) or any(s > 2**63 - 1 for s in sizes)


def verdict(kind: str, data: bytes) -> str:
    try:
        ASK[kind](data)
    except REFUSALS:
        return "refused"
    return "limit" if over_limit(kind, data) else "accepted"


# Documents.


def reference(path: str, size: int = 3) -> dict:
    return {"path": path, "stored_bytes": size, "generation": None}


def shard(first: int, count: int, **more) -> dict:
    return {
        "first_ordinal": first,
        "record_count": count,
        "data": reference(f"objects/data/{first}"),
        "metadata": reference(f"objects/metadata/{first}"),
        **more,
    }


def page(first: int, count: int, shards: int, size: int) -> dict:
    return {
        "first_ordinal": first,
        "record_count": count,
        "shard_count": shards,
        "stored_bytes": size,
        "object": reference(f"manifests/{first}"),
    }


def snapshot(*pages: dict, **totals) -> dict:
    return {
        "format": "signal-dataset.snapshot",
        "layout_version": "0.1",
        "snapshot_id": "s",
        "record_count": sum(p["record_count"] for p in pages),
        "shard_count": sum(p["shard_count"] for p in pages),
        "stored_bytes": sum(p["stored_bytes"] for p in pages),
        "manifests": list(pages),
        **totals,
    }


def manifest(first: int, *shards: dict, **more) -> dict:
    return {
        "format": "signal-dataset.manifest",
        "layout_version": "0.1",
        "first_ordinal": first,
        "record_count": sum(s["record_count"] for s in shards),
        "shards": list(shards),
        **more,
    }


def annotation_set(*counts: int) -> dict:
    firsts = [sum(counts[:i]) for i in range(len(counts))]
    return {
        "name": "alpha",
        "publication_id": "p1",
        "source_snapshot_id": "s",
        "record_count": sum(counts),
        "metadata": {"k": 1},
        "shards": [
            {"first_ordinal": f, "record_count": c, "object": reference(f"objects/{f}")}
            for f, c in zip(firsts, counts, strict=True)
        ],
    }


def set_reference(name: str) -> dict:
    return reference(f"annotations/sets/{name}/p1/root.json")


HASH = "0123456789abcdef" * 4

BASES = {
    "root": {
        "format": "signal-dataset.dataset",
        "layout_version": "0.1",
        "dataset_id": "d",
        "snapshot": reference("snapshots/s/snapshot.json"),
        "record_codec": {"name": "safetensors"},
        "shard_format": {"name": "array_record"},
        "min_reader_version": "0.3.0",
        "metadata": {"k": [1]},
    },
    "snapshot": snapshot(page(0, 2, 1, 6), page(2, 0, 0, 0), page(2, 1, 2, 12)),
    "manifest": manifest(5, shard(5, 2, record_indices=[7, 1]), shard(7, 0), shard(7, 1)),
    "catalog": {"revision": {"path": f"annotations/catalogs/{HASH}.json", "generation": None}},
    "revision": {"sets": {"alpha": set_reference("alpha"), "b-2": set_reference("b-2")}},
    "set": annotation_set(2, 1),
}

# Where a single edit would only break a sum.
WHOLE = {
    "root": [],
    "snapshot": [
        snapshot(),
        snapshot(page(0, 2**40, 2**40, 2**63 - 1)),
        snapshot(page(0, 2**40 + 1, 1, 6)),
        snapshot(page(0, 1, 2**40 + 1, 6)),
        snapshot(page(0, 1, 1, 2**63)),
        snapshot(page(0, 1, 1, 2**64 + 6)),
        snapshot(page(0, 1, 1, 2**62), page(1, 1, 1, 2**62)),
        snapshot(page(0, 1, 1, 2**62), page(1, 1, 1, 2**62 - 1)),
        snapshot(page(0, 2**39, 1, 1), page(2**39, 2**39, 1, 1)),
        snapshot(page(0, 2**39, 1, 1), page(2**39, 2**39 + 1, 1, 1)),
        # Sums that agree modulo 2^64.
        snapshot(*[page(0, 0, 1, 2**63 - 1)] * 2, page(0, 0, 0, 2), stored_bytes=0),
        snapshot(*[page(0, 0, 1, 2**62)] * 4, stored_bytes=0),
    ],
    "manifest": [
        manifest(0),
        manifest(7),
        manifest(2**40, shard(2**40, 1)),
        manifest(2**40 + 1, shard(2**40 + 1, 1)),
        manifest(0, shard(0, 2**40)),
        manifest(0, shard(0, 2**40 + 1)),
        manifest(0, shard(0, 2**64)),
        manifest(0, shard(0, 1, record_indices=[2**64])),
        manifest(0, shard(0, 1, record_indices=[10**400])),
        manifest(0, shard(0, 0, record_indices=[])),
        manifest(0, shard(0, 0, record_indices={})),
        manifest(0, shard(0, 0, record_indices="")),
        manifest(0, shard(0, 1, record_indices="0")),
        manifest(0, shard(0, 1, record_indices={"0": 0})),
        manifest(0, shard(0, 3, record_indices=[4, 4, 0])),
        manifest(0, shard(0, 1, data=reference("s3://b//k", 10**30))),
        manifest(0, shard(0, 1, data=reference("/x/../y", 2**64 - 1))),
    ],
    "catalog": [],
    "revision": [{"sets": {}}, *({"sets": {n: set_reference(n)}} for n in (
        "a" * 128, "a" * 129, "", ".a", "-a", "_a", "a.", "A_b-c.d", "a\n", "a/b", "é", "..", "a b", "0"))],
    "set": [
        annotation_set(),
        annotation_set(2**40),
        annotation_set(2**40 + 1),
        annotation_set(2**39, 2**39 + 1),
        annotation_set(2**63),
        annotation_set(0),
        annotation_set(1, 0),
    ],
}

ATOMS = [
    "null", "true", "false", "0", "-0", "-1", "1", "2", "0.0", "1.0", "1e0", "-1.5", "1e999", "-1e999", "1e-999",
    '""', '"x"', '"1"', '"0.1"', '"\\ud800"', '"\\u0000"', "[]", "{}", "[0]", "[null]", "[[]]", '{"x":1}',
    "[1e999]", '{"a":[{"b":-1e999}]}', '{"a":1e-999}', str(2**40), str(2**40 + 1), str(2**63), str(2**64 - 1),
    str(2**64), "1" + "0" * 30,
]  # fmt: skip
DIGITS = ["1" * 4300, "1" * 4301, "-" + "1" * 4300]

PATHS = [
    "a//b", "a/", "a/./b", ".", "./", "./a", "a/.", "..", "a/..", "a/../b", "...", "a/...", "//a", "/a", " ",
    "a b", "a\nb", "a\\b", "a\0b", "a#b", "a?b", "a%2fb", "a:b", "gs:notascheme", "gs://b/k", "S3://b/k",
    "s3://", "s3://b//k/../x", "http://x/y", "file:///x", "a://b", "://x", "é", "", "..a", "a..", "~",
    "a/b/c.json", "gs:/x", " s3://b/k", "/",
]  # fmt: skip

VERSIONS = [
    "0.3", "0.3.0", "0.3.0.1", "0.4.0", "0.4", "0.4.0rc1", "0.4.0.0", "0.4.0.1", "1", "0.10", "0.3a.9", "v0.3",
    "", ".3", "0..3", " 0.3", "0.3 ", "0.3.x", "0.4.0-dev", "00.04.000", "-1", "0.4.1", "0.5",
    "0", "0.", "0.4.", "0.4.0.", "0.3.999999999999999999999999", "999999999999999999999999", "0.3.0.9.9.9",
    "0.4.0.x", "0.4.00000000000000000000000000000000000001", "0.4294967296", "0.18446744073709551620.0",
    "٠.٣", "٠.٤.١", "0.٣", "𝟘.𝟛", "𝟘.𝟝", "0.3²", "0.²", "²", "0.3.0.²", "9.²", "0.4é", "0.4.é", "é", "0.①",
    "0.³", "0.፩", "0.𐩀", "0.🄀", "0.Ⅳ", "0.四", "0.\ud800", "0.3\0.9", "0\0",
    "0" * 4300, "0" * 4301, "0.3." + "1" * 4300, "0.3." + "1" * 4301, "0.3.x" + "1" * 5000,
]  # fmt: skip

SET_PATHS = [
    "annotations/sets/alpha/p1/root.json", "annotations//sets/./alpha/p1/root.json/",
    "/annotations/sets/alpha/p1/root.json", "annotations/sets/beta/p1/root.json",
    "annotations/sets/alpha/p1/x/root.json", "annotations/sets/alpha/root.json",
    "annotations/sets/alpha/.p/root.json", "annotations/sets/alpha/p 1/root.json",
    "annotations/sets/alpha/../alpha/p1/root.json", "annotations/sets/alpha/p1/root.jsonx",
    "annotations/sets/alpha/p1/root.json#", "annotations/sets/alphap1/root.json",
    "annotations/sets/alpha/" + "p" * 128 + "/root.json", "annotations/sets/alpha/" + "p" * 129 + "/root.json",
    "Annotations/sets/alpha/p1/root.json", "s3://annotations/sets/alpha/p1/root.json",
]  # fmt: skip

CATALOG_PATHS = [
    f"annotations/catalogs/{HASH.upper()}.json", f"annotations/catalogs/{HASH[1:]}.json",
    f"annotations/catalogs/{HASH}0.json", f"annotations/catalogs/{HASH}.json\n",
    f"annotations/catalogs/{HASH}.jsonx", f"annotations//catalogs/{HASH}.json", f"./annotations/catalogs/{HASH}.json",
    f"annotations/catalogs/{HASH[:-1]}g.json", f"annotations/catalogs/{HASH}xjson",
    f"annotations/catalogs/{HASH}.json\0", f"annotations/catalogs/{HASH}", f"annotations/catalogs/.json",
]  # fmt: skip

PLACEHOLDER = "\ue000"


def text(value) -> str:
    return json.dumps(value, separators=(",", ":"))


def places(value, at=()):
    """Every place below a value, as a tuple of keys and indices."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*at, key)
        yield from places(member, (*at, key))


def edited(base, place, edit):
    """A copy of base after edit(container, key) at the place."""
    copy = json.loads(text(base))
    container = copy
    for key in place[:-1]:
        container = container[key]
    edit(container, place[-1])
    return text(copy)


def replaced(base, place, raw: str) -> str:
    def put(container, key):
        container[key] = PLACEHOLDER

    return edited(base, place, put).replace(text(PLACEHOLDER), raw)


def get(base, place):
    for key in place:
        base = base[key]
    return base


def added_key(container, key):
    container[key]["unknown"] = {"x": [1e308]}


def atoms_for(value, place) -> list[str]:
    atoms = list(ATOMS)
    if isinstance(value, int) or "metadata" in place:
        atoms += DIGITS
    if isinstance(value, int):
        atoms += [str(value + 1), str(value - 1), f"{value}.0"]
    if place[-1] == "path":
        atoms += [text(p) for p in PATHS + SET_PATHS + CATALOG_PATHS]
    if place[-1] == "min_reader_version":
        atoms += [text(v) for v in VERSIONS]
    return atoms


def mutations(kind: str):
    base = BASES[kind]
    yield from (text(document) for document in WHOLE[kind])
    for place in places(base):
        value = get(base, place)
        yield edited(base, place, lambda container, key: container.pop(key))
        yield from (replaced(base, place, atom) for atom in atoms_for(value, place))
        if isinstance(value, dict):
            yield edited(base, place, added_key)
        if place[-1] == "stored_bytes":  # last but for generation, which null or its absence leaves unset
            yield replaced(base, place, f'{value},"stored_bytes":{value}')
    yield replaced({**base, "unknown": 0}, ("unknown",), "1e999")
    yield text(list(base.items()))
    yield "null"
    yield '"x"'
    yield " " + text(base) + "\r\n\t"
    yield text(base) + "\0"
    yield text(base) * 2


def encodings(kind: str):
    for codec in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        yield text(BASES[kind]).encode(codec)


FILES = {
    "root": "root.json",
    "snapshot": "snapshots/**/snapshot.json",
    "manifest": "manifests/**/*.json",
    "catalog": "annotations/catalog.json",
    "revision": "annotations/catalogs/*.json",
    "set": "annotations/sets/*/*/root.json",
}


def kept(kind: str, datasets: Path):
    for dataset in sorted(datasets.iterdir()):
        for file in sorted(dataset.glob(FILES[kind])):
            if file.is_file() and not file.is_symlink() and not file.parent.is_symlink():
                yield file.read_bytes()


# Output.


def splice(base: bytes, data: bytes) -> tuple[int, int, bytes]:
    """Offset, number of bytes to remove there, and bytes to insert, which make data of base."""
    shorter = min(len(base), len(data))
    head = next((i for i in range(shorter) if base[i] != data[i]), shorter)
    tail = next((i for i in range(shorter - head) if base[-1 - i] != data[-1 - i]), shorter - head)
    return head, len(base) - head - tail, data[head : len(data) - tail]


def write_documents(datasets: Path) -> None:
    out = sys.stdout.buffer
    for kind in ASK:
        base = text(BASES[kind]).encode()
        out.write(f"{kind} base 0 0 {len(base)}\n".encode() + base + b"\n")
        cases = [base, *kept(kind, datasets), *encodings(kind)]
        cases += [mutation.encode() for mutation in mutations(kind)]
        for data in dict.fromkeys(cases):
            offset, removed, inserted = splice(base, data)
            line = f"{kind} {verdict(kind, data)} {offset} {removed} {len(inserted)}\n"
            out.write(line.encode() + inserted + b"\n")


def print_rows(rows: list) -> None:
    print("[" + ",\n".join(json.dumps(row) for row in rows) + "]")


def write_paths() -> None:
    cases = []
    for path in PATHS:
        try:
            normalised = safe_relative_path(path)
        except ValueError:
            normalised = None
        cases.append({"path": path, "absolute": is_absolute_uri(path), "normalised": normalised})
    print_rows(cases)


def digits_in_any_script():
    """0.0x for each digit x of Unicode 14 (Python 3.11) beyond ASCII, and for its neighbours."""
    digits = {code for code in range(0x80, 0x110000) if chr(code).isdigit()}
    return (f"0.0{chr(code)}" for code in sorted(digits | {c - 1 for c in digits} | {c + 1 for c in digits}))


def write_versions() -> None:
    cases = []
    for version in (*VERSIONS, *digits_in_any_script()):
        try:
            parse(version)
            accepts = parse("0.4.0") >= parse(version)
        except (CorruptDatasetError, ValueError):
            accepts = None
        cases.append({"version": version, "accepted": accepts})
    print_rows(cases)


def main() -> None:
    what, *arguments = sys.argv[1:]
    if what == "documents":
        write_documents(Path(arguments[0]))
    elif what == "paths":
        write_paths()
    elif what == "versions":
        write_versions()


if __name__ == "__main__":
    main()
