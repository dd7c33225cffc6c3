# SPDX-License-Identifier: Apache-2.0
"""The datasets that are measured: where they are, and that they are there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from .tools import Tools

FIELD = "samples"
KINDS = {"zstd": "zstd.sds", "stored": "stored.sds"}  # compressed and not


@dataclass(frozen=True)
class Dataset:
    """One folder that generate.py makes."""

    data: Path
    name: str
    label: str
    count: int
    size: int  # bytes of values in a record's field

    def ensure(self, tools: Tools) -> None:
        tools.generate(self.data, self.generator_arguments())

    def generator_arguments(self) -> list[str]:
        return [self.name, "--count", str(self.count), "--size", str(self.size)]

    def root(self, kind: str) -> Path:
        return self.data / self.name / KINDS[kind]

    @property
    def files(self) -> Path:
        return self.data / self.name / "files"

    def shards(self, kind: str) -> list[Path]:
        """The data shards in the order of their ordinals."""
        root = self.root(kind)
        snapshot = load(root, load(root, "root.json")["snapshot"]["path"])
        pages = [load(root, page["object"]["path"]) for page in snapshot["manifests"]]
        return [root / shard["data"]["path"] for page in pages for shard in page["shards"]]


@dataclass(frozen=True)
class ScaleDataset(Dataset):
    """Very many records of a few bytes."""

    def generator_arguments(self) -> list[str]:
        return [self.name, "--count", str(self.count), "--scale"]


@dataclass(frozen=True)
class DescribedDataset(Dataset):
    """Records with scenes and metadata, to be searched."""

    def generator_arguments(self) -> list[str]:
        return [self.name, "--count", str(self.count), "--described"]


def load(root: Path, path: str) -> dict:
    return json.loads((root / path).read_bytes())


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def preread(folder: Path) -> None:
    """Brings every file of a folder into the page cache."""
    for path in files_of(folder):
        with path.open("rb", buffering=0) as stream:
            while stream.read(1 << 20):
                pass


def drop_pages(folder: Path) -> None:
    """The opposite."""
    for path in files_of(folder):
        with path.open("rb", buffering=0) as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def full(data: Path) -> tuple[list[Dataset], ScaleDataset]:
    return (
        [
            Dataset(data, "64k", "64 KiB", 4000, 64 << 10),
            Dataset(data, "8m", "8 MiB", 64, 8 << 20),
        ],
        ScaleDataset(data, "million", "1,000,000 records", 1_000_000, 16),
    )


def quick(data: Path) -> tuple[list[Dataset], ScaleDataset]:
    return (
        [
            Dataset(data, "quick-64k", "64 KiB", 100, 64 << 10),
            Dataset(data, "quick-8m", "8 MiB", 4, 8 << 20),
        ],
        ScaleDataset(data, "quick-many", "12,000 records", 12_000, 16),
    )
