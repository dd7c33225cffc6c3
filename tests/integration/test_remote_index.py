# SPDX-License-Identifier: Apache-2.0
"""The index of a dataset in a bucket: built from few large ranges, the same as that of the same files on a disk, used
by everybody who shares the cache, and neither wrong nor short whatever happens on the way."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import error_line, needs_fuse, sdsfs, wait_until
from remote import Client, bucket, gcs_bucket, nowhere, services, shard_keys  # noqa: F401
from services.proxy import Proxy

pytestmark = needs_fuse

RECORDS, EACH = 9000, 3000  # so that a metadata shard is more than one window of 4 MiB, and not many
WINDOW = 4 << 20


@pytest.fixture(scope="module")
def described(tmp_path_factory) -> Path:
    """Records with metadata that do not compress well."""
    import numpy as np  # noqa: PLC0415
    import signal_dataset as sds  # noqa: PLC0415

    field = {"x": sds.Field(np.zeros(2, np.float32), (sds.Axis("t", 2),))}
    dice = random.Random(5)

    def records(first: int):
        for i in range(first, first + EACH):
            note = base64.b64encode(dice.randbytes(1500)).decode()
            yield sds.Record(f"r-{i}", field, scene_id=f"s-{i % 7}", metadata={"n": i, "note": note})

    root = tmp_path_factory.mktemp("described") / "root"
    shards = [sds.write_shard(records(first), str(root), work_id=f"{first:06d}") for first in range(0, RECORDS, EACH)]
    sds.publish(str(root), shards, dataset_id="described", snapshot_id="s")
    return root


@pytest.fixture(scope="module")
def lines(described: Path, tmp_path_factory) -> bytes:
    """records.jsonl of the files on a disk."""
    done = sdsfs("query", "--json", "-o", f"cache_dir={tmp_path_factory.mktemp('local')}", described, "1")
    assert done.returncode == 0 and done.stdout.count(b"\n") == RECORDS
    return done.stdout


@dataclass
class Remote:
    """The dataset in a bucket behind a proxy."""

    root: str
    proxy: Proxy
    client: Client
    cache: Path  # where its index lies

    def asked_for(self, what: str) -> list[dict]:
        """Requests for bytes of these objects; whether an object still is the same is not one."""
        log = [told for told in self.proxy.log() if f"/objects/{what}/" in told["path"]]
        return [told for told in log if told["range"] or told["down"] > 65536]

    def files(self, suffix: str) -> list[Path]:
        return sorted((self.cache / "index").glob(f"*{suffix}"))


@pytest.fixture(params=["s3", "gcs"])
def remote(request, services, described: Path, nowhere: dict):  # noqa: F811
    made = request.getfixturevalue("bucket" if request.param == "s3" else "gcs_bucket")
    if not getattr(made, "has_described", False):
        made.upload(described, "described")
        made.has_described = True
    with Proxy(made.endpoint) as proxy:
        client = made.client(nowhere, "timeout=8", "retries=12")
        client = client.at(proxy.url) if request.param == "s3" else client.but(STORAGE_EMULATOR_HOST=proxy.url)
        yield Remote(made.uri("described"), proxy, client, Path(nowhere["CACHE_DIRECTORY"]))


def check_requests(remote: Remote, described: Path) -> None:
    """Each metadata shard once, in few ranges, and nothing of the records."""
    sizes = [(described / key).stat().st_size for key in shard_keys(described, "metadata")]
    asked = remote.asked_for("metadata")
    assert min(sizes) > WINDOW and len(sizes) == RECORDS // EACH
    assert len(asked) <= sum(-(-size // WINDOW) for size in sizes)
    assert sum(told["down"] for told in asked) <= 1.05 * sum(sizes)
    assert remote.asked_for("data") == []


def test_a_mount_builds_it_from_few_large_ranges(remote: Remote, described: Path, lines: bytes, point: Path) -> None:
    with remote.client.mounted(remote.root, point):
        remote.proxy.reset()
        assert (point / "index/records.jsonl").read_bytes() == lines
        check_requests(remote, described)
        assert (point / "index/by-id/r-8999").readlink().name == "008999"
        assert len(list((point / "index/by-scene/s-3").iterdir())) == sum(i % 7 == 3 for i in range(RECORDS))
        check_requests(remote, described)
    with remote.client.mounted(remote.root, point):
        remote.proxy.reset()
        assert (point / "index/records.jsonl").read_bytes() == lines
        assert remote.asked_for("metadata") == remote.asked_for("data") == []
    remote.proxy.reset()
    found = remote.client.run("query", remote.root, "metadata->>'$.n' = 77")
    assert found.stdout == b"77\n" and remote.asked_for("metadata") == []


def test_commands_build_and_use_it(remote: Remote, described: Path, lines: bytes, point: Path) -> None:
    done = remote.client.run("index", "--json", remote.root)
    assert done.returncode == 0 and json.loads(done.stdout)["records"] == RECORDS, done.stderr
    check_requests(remote, described)
    (file,) = remote.files(".sqlite")
    before = file.stat().st_ino
    remote.proxy.reset()
    assert remote.client.run("query", "--json", remote.root, "1").stdout == lines
    condition = "scene_id = 's-2' AND metadata->>'$.n' % 1000 = 2"
    local = sdsfs("query", "-o", f"cache_dir={remote.cache}", described, condition)
    assert remote.client.run("query", remote.root, condition).stdout == local.stdout != b""
    with remote.client.mounted(remote.root, point):
        assert (point / "index/records.jsonl").read_bytes() == lines
    assert remote.asked_for("metadata") == remote.asked_for("data") == []
    assert file.stat().st_ino == before


SPOILED = [
    {"action": "error", "status": 503, "retry_after": 0, "times": 3},
    {"action": "reset", "times": 3},
    {"action": "truncate", "times": 3},
    {"action": "shorten", "times": 2},
    {"action": "close", "times": 3},
    {"action": "range", "shift": 4096, "times": 2},
    {"action": "flip", "offset": 100_000, "times": 1},
    {"action": "stall", "bytes": 1 << 20, "seconds": 60, "times": 1},
]


@pytest.mark.parametrize("rule", SPOILED, ids=lambda rule: rule["action"])
def test_what_gets_better_costs_only_time(rule: dict, remote: Remote, lines: bytes) -> None:
    remote.proxy.rules(rule | {"contains": "/objects/metadata/", "after": 1})
    done = remote.client.run("index", "--json", remote.root, timeout=120)
    assert done.returncode == 0, done.stderr
    remote.proxy.release()  # what is stalled still
    assert wait_until(lambda: remote.proxy.stats()["fired"].get(rule["action"]) == rule["times"], 10)
    told = json.loads(done.stdout)
    assert (told["records"], told["bad"]) == (RECORDS, 0)
    assert remote.client.run("query", "--json", remote.root, "1").stdout == lines


OUTAGES = [{"action": "error", "status": 503}, {"action": "reset"}, {"action": "stall", "bytes": 65536, "seconds": 300}]


@pytest.mark.parametrize("rule", OUTAGES, ids=lambda rule: rule["action"])
def test_an_outage_is_no_short_index(rule: dict, remote: Remote, lines: bytes, point: Path) -> None:
    """Neither for the command nor for a mount."""
    hasty = remote.client.but("timeout=3", "retries=1")
    remote.proxy.rules(rule | {"contains": "/objects/metadata/", "after": 1})
    done = hasty.run("index", remote.root, timeout=120)
    assert done.returncode == 3 and done.stdout == b"" and error_line(done)
    assert remote.files(".sqlite") == []
    with hasty.mounted(remote.root, point):
        with pytest.raises(OSError):
            (point / "index/records.jsonl").read_bytes()
        with pytest.raises(OSError):
            list((point / "index/by-id").iterdir())
        assert remote.files(".sqlite") == []
        remote.proxy.rules()
        assert wait_until(lambda: is_readable(point / "index/records.jsonl"), 30)
        assert (point / "index/records.jsonl").read_bytes() == lines
    assert len(remote.files(".sqlite")) == 1 and remote.files(".building") == []


def is_readable(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False
