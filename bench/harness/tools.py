# SPDX-License-Identifier: Apache-2.0
"""The programs a benchmark runs, and what one run of them measured."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
RUN_SECONDS = 600  # no single run takes longer


class BenchError(Exception):
    """The benchmark cannot go on; the message says why."""


def run(argv: list[str | Path], timeout: float = RUN_SECONDS, env: dict[str, str] | None = None) -> str:
    """Runs a program to its end and returns its output; its own words are the error."""
    try:
        done = subprocess.run(
            [str(a) for a in argv], capture_output=True, text=True, timeout=timeout, env=env
        )
    except OSError as exc:
        raise BenchError(f"{argv[0]}: {exc.strerror}") from exc
    except subprocess.TimeoutExpired as exc:
        raise BenchError(f"{argv[0]}: no answer after {timeout:g} s") from exc
    if done.returncode != 0:
        raise BenchError(f"{argv[0]}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


@dataclass(frozen=True)
class Run:
    """One run over some records."""

    records: int
    size: int
    seconds: float
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Run:
        value = json.loads(text)
        return cls(value["records"], value["bytes"], value["seconds"], value.get("digest", ""))

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.records / self.seconds


@dataclass(frozen=True)
class Tools:
    sdsfs: Path
    nullfs: Path
    decode: Path
    reader: Path
    python: str  # one that has signal_dataset

    @classmethod
    def find(cls, build: Path, python: str) -> Tools:
        places = [build / "sdsfs", build / "src" / "cli" / "sdsfs"]
        helpers = [build / "bench" / name for name in ("nullfs", "decode", "reader")]
        sdsfs = next((p for p in places if p.is_file()), places[0])
        for path in (sdsfs, *helpers):
            if not path.is_file():
                raise BenchError(f"{path} is not there: build the project first")
        return cls(sdsfs, *helpers, python)

    def read_files(
        self,
        folder: Path,
        field: str,
        count: int,
        *,
        seed: int,
        passes: int = 1,
        threads: int = 1,
        digest: bool = False,
        limit: int | None = None,
    ) -> Run:
        options = ["-s", str(seed), "-p", str(passes), "-t", str(threads), *(["-d"] if digest else [])]
        options += ["-l", str(limit)] if limit is not None else []
        return Run.parse(run([self.reader, *options, folder, f"{field}.npy", str(count)]))

    def decode_shards(self, shards: list[Path], *, seed: int) -> Run:
        return Run.parse(run([self.decode, "-s", str(seed), *shards]))

    def reference(self, way: str, source: Path, field: str, count: int, *, seed: int) -> Run:
        script = [self.python, BENCH / "reference.py", way, source, field]
        return Run.parse(run([*script, "--seed", str(seed), "--count", str(count)]))

    def generate(self, data: Path, arguments: list[str]) -> None:
        run([self.python, BENCH / "generate.py", data, *arguments], timeout=3600)
