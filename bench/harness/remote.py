# SPDX-License-Identifier: Apache-2.0
"""How fast records are read from a bucket, and with how many requests and bytes. All candidates go through
one proxy that adds the same delay to each request and counts; each run has a mount of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from . import mounts
from .data import FIELD, Dataset
from .tools import BENCH, BenchError, Run, Tools, run

sys.path.insert(0, str(BENCH.parent / "tests"))
from services.processes import ServiceError, clean_environment  # noqa: E402
from services.proxy import Proxy  # noqa: E402
from services.rgw import Rgw  # noqa: E402
from services.tls import make_authority  # noqa: E402

READERS = 16
BUCKET = "bench"
SHARDS = 12
STAGED = 1000  # shards, so all of them
FLOOR, REFERENCE = "ranged GET", "reference"
OURS, OURS_REFERENCE = "sdsfs", "sdsfs, reference on top"
MOUNTS = {"rclone, cache off": "rclone", "rclone, cache full": "rclone", "s3fs": "s3fs"}  # the program each needs


@dataclass(frozen=True)
class Plan:
    """What is read."""

    dataset: Dataset
    latencies: tuple[int, ...]  # milliseconds a request
    random: dict[int, int]  # how many records at random, by latency
    many: int  # records for all readers together
    everything: bool = True  # else only what the targets need

    @property
    def root(self) -> Path:
        return self.dataset.root("stored")


@dataclass(frozen=True)
class Cost:
    """One run, and what passed the proxy meanwhile."""

    run: Run
    requests: int
    down: int
    data_requests: int  # those that brought bytes of a data shard

    @property
    def rate(self) -> float:
        return self.run.rate

    @property
    def requests_a_record(self) -> float:
        return self.requests / self.run.records

    @property
    def bytes_a_byte(self) -> float:
        return self.down / self.run.size


@dataclass
class Measured:
    """The costs of each pattern at each latency, candidate by candidate, one a round."""

    plan: Plan
    costs: dict[tuple[int, str, str], list[Cost]] = field(default_factory=lambda: defaultdict(list))
    missing: list[str] = field(default_factory=list)

    def of(self, latency: int, pattern: str, candidate: str) -> list[Cost]:
        return self.costs.get((latency, pattern, candidate), [])

    def median(self, latency: int, pattern: str, candidate: str, what: str) -> float:
        return median(getattr(cost, what) for cost in self.of(latency, pattern, candidate))

    def ratio(self, latency: int, ours: tuple[str, str], theirs: tuple[str, str]) -> float:
        """Rates of two (pattern, candidate), paired by round."""
        pairs = zip(self.of(latency, *ours), self.of(latency, *theirs), strict=True)
        return median(a.rate / b.rate for a, b in pairs)

    def candidates(self, latency: int, pattern: str) -> list[str]:
        return [who for at, what, who in self.costs if (at, what) == (latency, pattern)]


class Place:
    """The server, the proxy in front of it, and the dataset in a bucket there."""

    def __init__(self, tools: Tools, plan: Plan, top: Path) -> None:
        self.tools, self.plan, self.top = tools, plan, top
        self.server = Rgw(top / "rgw", make_authority(top / "tls"))
        self.proxy = Proxy(self.server.where.endpoint)
        where = self.server.where
        home = top / "home"
        home.mkdir()
        # CURL_CA_BUNDLE and the like of this machine make rclone refuse to start.
        self.environment = clean_environment() | {
            "HOME": str(home),
            "STATE_DIRECTORY": str(top / "state"),
            "AWS_ACCESS_KEY_ID": where.key_id,
            "AWS_SECRET_ACCESS_KEY": where.secret,
            "AWS_REGION": where.region,
            "AWS_DEFAULT_REGION": where.region,
            "AWS_ENDPOINT_URL": self.proxy.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.uri = f"s3://{BUCKET}/{plan.root.name}"
        self.python("upload", plan.root, BUCKET)

    def close(self) -> None:
        self.proxy.close()
        self.server.stop()

    def python(self, *argv: object) -> str:
        script = [self.tools.python, BENCH / "remote_readers.py", *map(str, argv)]
        return run(script, timeout=1800, env=self.environment)

    def timed_python(self, way: str, *argv: object, seed: int = 0) -> Cost:
        """In Python, where the clock starts and the counters begin at the same time."""
        before = ["--before", self.proxy.control("/reset")]
        return self.cost(Run.parse(self.python(way, *argv, "--seed", seed, *before)))

    def cost(self, done: Run) -> Cost:
        stats = self.proxy.stats()
        data = sum(1 for one in self.proxy.log() if "/objects/data/" in one["path"] and one["down"] > 0)
        return Cost(done, stats["requests"], stats["down"], data)

    @property
    def first(self) -> list[int]:
        """The first record of each shard: reading it makes the shard's index known."""
        shards = len(self.plan.dataset.shards("stored"))
        return list(range(0, self.plan.dataset.count, -(-self.plan.dataset.count // shards)))

    # --- mounts ---

    @contextlib.contextmanager
    def sdsfs(self, cache: Path) -> Iterator[Path]:
        cache.mkdir(exist_ok=True)
        command = [self.tools.sdsfs, "mount", "-o", f"path_style,cache_dir={cache}", self.uri]
        with mounts.mounted(command, self.environment) as point:
            yield point

    @contextlib.contextmanager
    def other(self, candidate: str) -> Iterator[Path]:
        """A mount of the bucket's objects by another program; its root is the dataset."""
        with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as cache:
            command, more = self.rclone(candidate.rpartition(" ")[2], cache) if "rclone" in candidate else self.s3fs()
            with mounts.mounted(command, self.environment | more) as point:
                yield point

    def rclone(self, mode: str, cache: str) -> tuple[list[str], dict[str, str]]:
        options = ["--config", "/dev/null", "--read-only", "--daemon", "--cache-dir", cache, "--vfs-cache-mode", mode]
        remote = f":s3:{BUCKET}/{self.plan.root.name}"
        variables = {"PROVIDER": "Ceph", "ENV_AUTH": "true", "ENDPOINT": self.proxy.url}
        return ["rclone", "mount", remote, "{}", *options], {f"RCLONE_S3_{k}": v for k, v in variables.items()}

    def s3fs(self) -> tuple[list[str], dict[str, str]]:
        where = self.server.where
        options = f"url={self.proxy.url},use_path_request_style,ro"
        keys = {"AWSACCESSKEYID": where.key_id, "AWSSECRETACCESSKEY": where.secret}
        return ["s3fs", f"{BUCKET}:/{self.plan.root.name}", "{}", "-o", options], keys

    # --- what is read ---

    def know_indexes(self, point: Path) -> None:
        width = max(6, len(str(self.plan.dataset.count - 1)))
        for i in self.first:
            (point / f"records/{i:0{width}d}/{FIELD}.npy").read_bytes()

    def files(self, point: Path, *, seed: int, limit: int | None = None, threads: int = 1) -> Cost:
        self.proxy.reset()
        shape = (FIELD, self.plan.dataset.count)
        return self.cost(self.tools.read_files(point, *shape, seed=seed, limit=limit, threads=threads))


@contextlib.contextmanager
def place(tools: Tools, plan: Plan) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="sdsfs-bench-remote-") as top:
        try:
            made = Place(tools, plan, Path(top))
        except ServiceError as error:
            raise BenchError(str(error)) from error
        try:
            yield made
        finally:
            made.close()


def measure(here: Place, rounds: int, say: Callable[[str], None]) -> Measured:
    result = Measured(here.plan)
    others = [name for name, program in MOUNTS.items() if shutil.which(program)] if here.plan.everything else []
    result.missing = [name for name in MOUNTS if name not in others]
    for number in range(1, rounds + 1):
        for latency in here.plan.latencies:
            say(f"round {number} of {rounds}: {latency} ms a request")
            here.proxy.rules(latency_ms=latency)
            Round(here, latency, number, result).run(others)
    return result


class Round:
    """Every candidate once, in the same order of records."""

    def __init__(self, here: Place, latency: int, seed: int, result: Measured) -> None:
        self.here, self.latency, self.seed, self.result = here, latency, seed, result
        self.limit = here.plan.random[latency]

    def add(self, pattern: str, candidate: str, cost: Cost) -> None:
        self.result.costs[self.latency, pattern, candidate].append(cost)

    def run(self, others: list[str]) -> None:
        self.ours()
        self.ours_under_the_reference()
        self.floor()
        self.reference()
        for name in others:
            self.other(name)

    def ours(self) -> None:
        here, seed = self.here, self.seed
        with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as top:
            cache = Path(top, "cache")
            here.proxy.reset()
            start = time.perf_counter()
            with here.sdsfs(cache) as point:
                self.add("open", OURS, here.cost(Run(1, 1, time.perf_counter() - start)))
                here.know_indexes(point)
                self.add("random", OURS, here.files(point, seed=seed, limit=self.limit))
                self.add("second pass", OURS, here.files(point, seed=seed, limit=self.limit))
            with here.sdsfs(cache) as point:
                here.know_indexes(point)
                self.add("remount", OURS, here.files(point, seed=seed, limit=self.limit))
        with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as top, here.sdsfs(Path(top)) as point:
            here.know_indexes(point)
            self.add(f"{READERS} readers", OURS, here.files(point, seed=seed, limit=here.plan.many, threads=READERS))
        with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as top, here.sdsfs(Path(top)) as point:
            self.add("in order", OURS, here.files(point, seed=0))

    def in_python(self, pattern: str, candidate: str, way: str, *argv: object) -> None:
        self.add(pattern, candidate, self.here.timed_python(way, *argv, seed=self.seed))

    @property
    def random_options(self) -> list[object]:
        return ["--limit", self.limit]

    @property
    def first_option(self) -> list[str]:
        return ["--first", ",".join(map(str, self.here.first))]

    def ours_under_the_reference(self) -> None:
        here = self.here
        with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as top, here.sdsfs(Path(top)) as point:
            self.in_python("random", OURS_REFERENCE, "index", point, FIELD, *self.random_options, *self.first_option)
        with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as top, here.sdsfs(Path(top)) as point:
            self.in_python("in order", OURS_REFERENCE, "iterate", point, FIELD)

    def floor(self) -> None:
        here = self.here
        self.in_python("random", FLOOR, "ranges", BUCKET, here.plan.root, *self.random_options, "--first", "0")
        many = ["--limit", here.plan.many, "--threads", READERS, "--first", "0"]
        self.in_python(f"{READERS} readers", FLOOR, "ranges", BUCKET, here.plan.root, *many)

    def reference(self) -> None:
        here = self.here
        self.in_python("open", REFERENCE, "open", here.uri)
        self.in_python("random", REFERENCE, "index", here.uri, FIELD, *self.random_options)
        self.in_python("in order", REFERENCE, "iterate", here.uri, FIELD)
        if here.plan.everything:
            staged = ["--open-shards", STAGED]
            self.in_python("random", "reference, all staged", "index", here.uri, FIELD, *self.random_options, *staged)

    def other(self, name: str) -> None:
        with self.here.other(name) as point:
            self.in_python("random", name, "index", point, FIELD, *self.random_options, *self.first_option)
        with self.here.other(name) as point:
            self.in_python("in order", name, "iterate", point, FIELD)


def check_bytes(here: Place) -> None:
    """What is timed has to be right: the mount serves what the plain files hold."""
    dataset, tools = here.plan.dataset, here.tools
    shape = (FIELD, dataset.count)
    wanted = tools.read_files(dataset.files, *shape, seed=0, digest=True).digest
    here.proxy.rules()
    with tempfile.TemporaryDirectory(prefix="sdsfs-bench-cache-") as top, here.sdsfs(Path(top)) as point:
        if tools.read_files(point, *shape, seed=1, threads=READERS, digest=True).digest != wanted:
            raise BenchError("the mount serves other bytes than the files hold")


def stored_bytes(plan: Plan) -> int:
    """All shards, data and metadata."""
    return sum(os.path.getsize(path) for path in (plan.root / "objects").rglob("*.arrayrecord"))


@dataclass(frozen=True)
class ManyShards(Dataset):
    """More shards than the reference keeps staged by itself, which are four: as in any dataset of a useful size."""

    def generator_arguments(self) -> list[str]:
        return [*super().generator_arguments(), "--shards", str(SHARDS)]


def full(data: Path) -> Plan:
    dataset = ManyShards(data, "remote-64k", "64 KiB", 1800, 64 << 10)
    # At random a few records a shard only: in a dataset of terabytes nobody comes to a shard so often that having
    # fetched all of it pays, and after some hundred records of this small one who fetches whole shards has it all.
    return Plan(dataset, (0, 10, 50), {0: 60, 10: 60, 50: 40}, many=960)


def quick(data: Path) -> Plan:
    dataset = ManyShards(data, "quick-remote-64k", "64 KiB", 240, 64 << 10)
    return Plan(dataset, (10,), {10: 60}, many=160, everything=False)
