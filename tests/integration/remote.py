# SPDX-License-Identifier: Apache-2.0
"""What tests over servers share: the servers themselves (tests/services), datasets copied to them, and
mounts whose environment leads nowhere else. Fixtures are imported by name into the modules that use them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from conftest import HERE, SAMPLE, alive, daemon_of, is_mounted, sdsfs

sys.path.insert(0, str(HERE.parent))
from services.processes import ServiceError, clean_environment  # noqa: E402
from services.proxy import Proxy  # noqa: E402
from services.session import Session  # noqa: E402

boto3 = pytest.importorskip("boto3")
from botocore.config import Config  # noqa: E402

SANITIZED = "san" in os.environ.get("SDSFS", "")
NOT_IN_A_STORE = re.compile(r"symlink|directory|_dir_")  # datasets that only a file system can hold


@pytest.fixture(scope="session")
def services():
    """The servers. Where they cannot run the tests skip, unless SDSFS_NEED_SERVICES says that they have to."""
    try:
        session = Session()
    except ServiceError as error:
        if os.environ.get("SDSFS_NEED_SERVICES"):
            raise
        pytest.skip(str(error))
    yield session
    session.close()


@dataclass
class Client:
    """Options and environment of an sdsfs that is to find a store, and nothing else of this machine's."""

    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def but(self, *options: str, **environment: str | None) -> Client:
        """The same with other options behind its own, and other variables (None: not there)."""
        merged = self.environment | environment
        return Client([*self.options, *options], {k: v for k, v in merged.items() if v is not None})

    def at(self, url: str) -> Client:
        """The same towards another address of the store."""
        return Client([o for o in self.options if not o.startswith("endpoint=")] + [f"endpoint={url}"], self.environment)

    def run(self, command: str, *argv: object, **more: object) -> subprocess.CompletedProcess:
        return sdsfs(command, "-o", ",".join(self.options or ["rw"]), *argv, env=clean_environment() | self.environment, **more)

    @contextlib.contextmanager
    def mounted(self, root: str, point: Path):
        done = self.run("mount", root, point)
        assert done.returncode == 0, done.stderr
        daemon = daemon_of(point)
        yield point
        if is_mounted(point):
            done = sdsfs("umount", point)
            assert done.returncode == 0 and done.stderr == b"", done.stderr
        assert not alive(daemon), "the daemon has outlived its mount"


@pytest.fixture
def nowhere(tmp_path) -> dict[str, str]:
    """Variables that keep a client from this machine's own accounts, caches and state."""
    for name in ("home", "state", "cache"):
        (tmp_path / name).mkdir(exist_ok=True)
    return {
        "HOME": str(tmp_path / "home"),
        "STATE_DIRECTORY": str(tmp_path / "state"),
        "CACHE_DIRECTORY": str(tmp_path / "cache"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "GCE_METADATA_HOST": "127.0.0.1:1",
        "NO_GCE_CHECK": "true",
    }


def files_of(root: Path) -> list[tuple[str, Path]]:
    found = [(os.path.join(d, name), name) for d, _, names in os.walk(root) for name in names]
    return [(os.path.relpath(path, root), Path(path)) for path, _ in found if not os.path.islink(path)]


class S3Bucket:
    """A new bucket at the S3 service, with a client of its owner."""

    scheme = "s3"

    def __init__(self, s3, name: str | None = None) -> None:
        self.s3, self.name = s3, name or f"t-{uuid.uuid4().hex[:20]}"
        who = {"aws_access_key_id": s3.key_id, "aws_secret_access_key": s3.secret, "region_name": s3.region}
        patient = Config(max_pool_connections=16, s3={"addressing_style": "path"})
        self.api = boto3.client("s3", endpoint_url=s3.endpoint, config=patient, **who)
        self.api.create_bucket(Bucket=self.name)
        self.endpoint = s3.endpoint

    def uri(self, prefix: str = "") -> str:
        return f"s3://{self.name}/{prefix}".rstrip("/")

    def put(self, key: str, data: bytes, **more: object) -> None:
        self.api.put_object(Bucket=self.name, Key=key, Body=data, **more)

    def get(self, key: str) -> bytes:
        return self.api.get_object(Bucket=self.name, Key=key)["Body"].read()

    def delete(self, key: str) -> None:
        self.api.delete_object(Bucket=self.name, Key=key)

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.api.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def upload(self, root: Path, prefix: str, **more: object) -> str:
        """A folder's files below a prefix; the root to mount."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda f: self.put(f"{prefix}/{f[0]}", f[1].read_bytes(), **more), files_of(root)))
        return self.uri(prefix)

    def download(self, prefix: str, where: Path) -> Path:
        for key in self.keys(prefix + "/"):
            path = where / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.get(key))
        return where / prefix

    @cached_property
    def variables(self) -> dict[str, str]:
        s3 = self.s3
        return {"AWS_ACCESS_KEY_ID": s3.key_id, "AWS_SECRET_ACCESS_KEY": s3.secret, "AWS_REGION": s3.region}

    def client(self, nowhere: dict[str, str], *options: str) -> Client:
        return Client([f"endpoint={self.endpoint}", "path_style", *options], nowhere | self.variables)


class GcsBucket:
    scheme = "gs"

    def __init__(self, gcs, name: str | None = None) -> None:
        self.gcs, self.name, self.endpoint = gcs, name or f"t-{uuid.uuid4().hex[:20]}", gcs.endpoint
        gcs.make_bucket(self.name)

    def uri(self, prefix: str = "") -> str:
        return f"gs://{self.name}/{prefix}".rstrip("/")

    def put(self, key: str, data: bytes) -> int:
        return self.gcs.put(self.name, key, data)

    def get(self, key: str) -> bytes:
        return self.gcs.get(self.name, key)

    def delete(self, key: str) -> None:
        self.gcs.delete(self.name, key)

    def upload(self, root: Path, prefix: str) -> str:
        for name, path in files_of(root):
            self.put(f"{prefix}/{name}", path.read_bytes())
        return self.uri(prefix)

    def keys(self, prefix: str = "") -> list[str]:
        return self.gcs.keys(self.name, prefix)

    def download(self, prefix: str, where: Path) -> Path:
        return S3Bucket.download(self, prefix, where)

    def client(self, nowhere: dict[str, str], *options: str) -> Client:
        return Client(["no_sign_request", *options], nowhere | {"STORAGE_EMULATOR_HOST": self.endpoint})


@pytest.fixture(scope="session")
def bucket(services):
    """An S3 bucket of this run of pytest; each test takes a prefix of its own in it."""
    return S3Bucket(services.s3)


@pytest.fixture(scope="session")
def gcs_bucket(services):
    return GcsBucket(services.gcs)


@pytest.fixture
def prefix() -> str:
    return f"p-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def sample(bucket, prefix) -> str:
    """The sample dataset in the bucket: the root to mount."""
    return bucket.upload(SAMPLE, prefix)


@pytest.fixture
def proxy(services):
    """A proxy in front of the S3 service."""
    with Proxy(services.s3.endpoint) as made:
        yield made


@pytest.fixture
def faulty(bucket, proxy, nowhere) -> Client:
    """A client that goes through the proxy."""
    return bucket.client(nowhere).at(proxy.url)


# --- a dataset whose records can be counted --------------------------------------------------------

PER_SHARD, VALUES = 60, 16384  # 64 KiB a record


def record_values(ordinal: int, values: int = VALUES) -> np.ndarray:
    return np.random.default_rng(ordinal).standard_normal(values).astype(np.float32)


def write_counted(root: Path, count: int, per_shard: int = PER_SHARD, values: int = VALUES) -> None:
    """Records that do not compress, of 64 KiB if nothing else is said, in several shards, written by the reference."""
    import signal_dataset as sds  # noqa: PLC0415

    def records(first: int):
        for i in range(first, min(first + per_shard, count)):
            yield sds.Record(f"r{i}", {"x": sds.Field(record_values(i, values), (sds.Axis("t", values),))})

    shards = [sds.write_shard(records(a), str(root), work_id=f"{a:06d}") for a in range(0, count, per_shard)]
    sds.publish(str(root), shards, dataset_id="counted", snapshot_id="s")


COUNTED = 240


@pytest.fixture(scope="session")
def counted_root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("counted") / "root"
    root.mkdir()
    write_counted(root, COUNTED)
    return root


@pytest.fixture(scope="session")
def counted(bucket, counted_root) -> str:
    return bucket.upload(counted_root, "counted")


def x_of(point: Path, ordinal: int) -> Path:
    return point / f"records/{ordinal:06d}/x.npy"


def payload_of(point: Path, ordinal: int) -> Path:
    return point / f"records/{ordinal:06d}/record.safetensors"


def right(data: bytes, ordinal: int) -> bool:
    return data[-VALUES * 4 :] == record_values(ordinal).tobytes()


def shard_keys(root: Path, kind: str = "data") -> list[str]:
    """Paths of the shards in the order of their ordinals."""

    def load(path: str) -> dict:
        return json.loads((root / path).read_bytes())

    snapshot = load(load("root.json")["snapshot"]["path"])
    pages = [load(page["object"]["path"]) for page in snapshot["manifests"]]
    return [shard[kind]["path"] for page in pages for shard in page["shards"]]


def metric(point: Path, name: str) -> float:
    """A metric's value, summed over its labels."""
    text = (point / "control/metrics").read_text()
    values = re.findall(rf"^{name}(?:\{{[^}}]*\}})? ([0-9.e+]+)$", text, re.MULTILINE)
    assert values, f"no {name} in control/metrics"
    return sum(map(float, values))
