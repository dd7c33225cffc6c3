# SPDX-License-Identifier: Apache-2.0
"""Mounts of a bucket behind a proxy that spoils what passes: never a wrong byte, an outage that is no
absence, and what can get better does."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import error_line, fails_with, is_mounted, needs_fuse, wait_until
from remote import (
    COUNTED,
    PER_SHARD,
    SANITIZED,
    Client,
    bucket,
    counted,
    counted_root,
    faulty,
    gcs_bucket,
    nowhere,
    payload_of,
    prefix,
    proxy,
    record_values,
    right,
    services,
    shard_keys,
    write_counted,
    x_of,
)
from services.proxy import Proxy
from services.web import Web

__all__ = ["bucket", "counted", "counted_root", "faulty", "gcs_bucket", "nowhere", "prefix", "proxy", "services"]

pytestmark = needs_fuse
SOME = range(0, COUNTED, 23)


def outcomes(point: Path, ordinals=SOME) -> dict[int, str]:
    """right, wrong, or the errno's name, by ordinal."""
    told = {}
    for i in ordinals:
        try:
            told[i] = "right" if right(x_of(point, i).read_bytes(), i) else "wrong"
        except OSError as error:
            told[i] = errno.errorcode[error.errno]
    return told


def peak_mb(pid: int) -> int:
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) >> 10


@pytest.fixture
def patient(faulty):
    return faulty.but("timeout=20", "retries=12")


@pytest.fixture
def hasty(faulty):
    """Gives up after a few seconds."""
    return faulty.but("timeout=4", "retries=2")


# --- what gets better -------------------------------------------------------------------------------

TRANSIENT = [
    {"action": "error", "status": 503, "retry_after": 0},
    {"action": "error", "status": 500},
    {"action": "error", "status": 429, "code": "TooManyRequests"},
    {"action": "error", "status": 400, "code": "RequestTimeout"},
    {"action": "reset"},
    {"action": "truncate"},
    {"action": "close"},
    {"action": "shorten"},
    {"action": "range"},
    {"action": "range", "total": 12345},
]


@pytest.mark.parametrize("rule", TRANSIENT, ids=lambda r: "-".join(map(str, r.values())))
def test_what_fails_now_and_then_is_tried_again(counted, patient, proxy, point, rule):
    proxy.rules(rule | {"rate": 0.3})
    with patient.mounted(counted, point):
        assert set(outcomes(point).values()) == {"right"}
    assert sum(proxy.stats()["fired"].values()) > 0


def test_everything_at_once(counted, patient, proxy, point):
    proxy.rules({"action": "error", "rate": 0.15}, {"action": "reset", "rate": 0.1}, {"action": "truncate", "rate": 0.1}, {"action": "close", "rate": 0.05})
    with patient.mounted(counted, point):
        assert set(outcomes(point, range(0, COUNTED, 7)).values()) == {"right"}


def test_a_slow_drip_is_no_stall(counted, patient, proxy, point):
    with patient.mounted(counted, point):
        proxy.rules({"action": "drip", "bytes": 30000, "ms": 100, "prefix": "/", "contains": "/objects/data/"})
        assert outcomes(point, [0]) == {0: "right"}


def test_retry_after_is_honoured(counted, patient, proxy, point):
    with patient.mounted(counted, point):
        proxy.reset()
        proxy.rules({"action": "error", "status": 503, "retry_after": 2, "contains": "/objects/data/", "times": 1})
        start = time.monotonic()
        assert outcomes(point, [0]) == {0: "right"}
        assert time.monotonic() - start >= 2
        assert proxy.stats()["fired"] == {"error": 1}


def test_retry_after_beyond_the_deadline_is_not_waited_for(counted, hasty, proxy, point):
    with hasty.mounted(counted, point):
        proxy.rules({"action": "error", "status": 503, "retry_after": 3600, "contains": "/objects/data/"})
        start = time.monotonic()
        assert outcomes(point, [0])[0] in ("EIO", "ETIMEDOUT")
        assert time.monotonic() - start < 8


def test_what_cannot_get_better_is_not_tried_again(counted, patient, proxy, point):
    with patient.mounted(counted, point):
        proxy.reset()
        proxy.rules({"action": "error", "status": 403, "code": "AccessDenied", "contains": "/objects/data/"})
        start = time.monotonic()
        assert outcomes(point, [0])[0] in ("EIO", "EACCES")
        assert time.monotonic() - start < 3
        assert proxy.stats()["fired"]["error"] <= 6  # of stat and read, and of what reads ahead; retries would be twelve each
        proxy.rules()
        assert wait_until(lambda: outcomes(point, [0]) == {0: "right"}, 5)


# --- never a wrong byte -----------------------------------------------------------------------------

SPOILT = [
    {"action": "range"},
    {"action": "range", "shift": -1},
    {"action": "range", "total": 1 << 40},
    {"action": "shorten"},
    {"action": "whole"},
    {"action": "header", "name": "Content-Range"},
    {"action": "header", "name": "Content-Range", "value": "bytes 0-99999999999999999999/7"},
    {"action": "header", "name": "ETag", "value": '"00000000000000000000000000000000"'},
    {"action": "header", "name": "Content-Encoding", "value": "gzip"},
    {"action": "flip", "offset": 70},
    {"action": "flip", "offset": 5000},
]


@pytest.mark.parametrize("rule", SPOILT, ids=lambda r: "-".join(str(v)[:24] for v in r.values()))
def test_never_a_wrong_byte(counted, hasty, proxy, point, rule):
    with hasty.mounted(counted, point):
        proxy.rules(rule | {"method": "GET", "contains": "/objects/data/"})
        told = outcomes(point, [0, 1, 2, PER_SHARD, COUNTED - 1])
        assert "wrong" not in told.values() and "ENOENT" not in told.values()
        assert proxy.stats()["fired"].get(rule["action"], 0) > 0
        if rule["action"] != "flip" and rule.get("name") != "ETag":
            # Whoever believed nothing of it has something to try again, and the verdict is not for ever.
            # (Another version of an object may stay refused, as damage may that was found in its bytes.)
            assert set(told.values()) <= {"EIO", "ETIMEDOUT", "right"}
            proxy.rules()
            assert wait_until(lambda: set(outcomes(point, [0, 1, 2, PER_SHARD, COUNTED - 1]).values()) == {"right"}, 10)


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_one_wrong_version_is_overruled(counted, hasty, proxy, point, after):
    """The first answer of all included, whose version is all that is known of the object."""
    with hasty.mounted(counted, point):
        etag = {"name": "ETag", "value": '"00000000000000000000000000000000"'}
        proxy.rules(etag | {"action": "header", "method": "GET", "contains": "/objects/data/", "after": after, "times": 1})
        assert set(outcomes(point, range(0, PER_SHARD, 7)).values()) == {"right"}
        assert proxy.stats()["fired"] == {"header": 1}


def test_flipped_bytes_of_a_record_are_found(counted, hasty, proxy, point):
    with hasty.mounted(counted, point):
        assert outcomes(point, [0]) == {0: "right"}
        proxy.rules({"action": "flip", "offset": 20000, "contains": "/objects/data/"})
        told = outcomes(point, [PER_SHARD + 1, PER_SHARD + 20])
        assert "wrong" not in told.values()


# --- an outage ---------------------------------------------------------------------------------------


def test_an_outage_is_no_absence_and_heals(counted, hasty, proxy, point):
    with hasty.mounted(counted, point):
        proxy.rules({"action": "error", "status": 503, "contains": "/objects/"}, {"action": "error", "status": 503, "contains": "/manifests/"})
        fails = (errno.EIO, errno.ETIMEDOUT)
        for action in (
            lambda: os.listdir(point / "records/000150"),
            lambda: (point / "records/000150/metadata.json").read_bytes(),
            lambda: payload_of(point, 150).read_bytes(),
            lambda: (point / "records/000150/x.npy").stat(),
        ):
            with pytest.raises(OSError) as caught:
                action()
            assert caught.value.errno in fails
        assert len(os.listdir(point / "records")) == COUNTED
        assert "503" in (point / "control/errors.jsonl").read_text() or "SlowDown" in (point / "control/errors.jsonl").read_text()
        proxy.rules()
        assert wait_until(lambda: outcomes(point, [150, 151]) == {150: "right", 151: "right"}, 10)


def test_nobody_listens_for_a_while(counted, bucket, hasty, proxy, point):
    with hasty.mounted(counted, point):
        assert outcomes(point, [0]) == {0: "right"}
        proxy.rules({"action": "close"})
        told = outcomes(point, [0, 70])
        assert told[0] == "right" and told[70] in ("EIO", "ETIMEDOUT")
        proxy.rules()
        assert wait_until(lambda: outcomes(point, [70]) == {70: "right"}, 10)


def test_mounting_during_an_outage(counted, hasty, proxy, point):
    proxy.rules({"action": "error", "status": 503})
    start = time.monotonic()
    done = hasty.run("mount", counted, point)
    assert done.returncode == 3 and not is_mounted(point)
    assert time.monotonic() - start < 12
    assert "root.json" in error_line(done)


# --- objects that change -----------------------------------------------------------------------------


@pytest.fixture
def mine(bucket, counted_root, prefix):
    """A copy of the dataset that may be spoilt."""
    return bucket.upload(counted_root, prefix)


def test_a_replaced_object_is_never_mixed_with_what_was_there(mine, bucket, counted_root, prefix, nowhere, point):
    first = shard_keys(counted_root)[0]
    old = (counted_root / first).read_bytes()
    new = bytearray(old)
    new[-1] ^= 1
    with bucket.client(nowhere, "timeout=5").mounted(mine, point):
        assert outcomes(point, [0]) == {0: "right"}
        bucket.put(f"{prefix}/{first}", bytes(new))
        try:
            assert (point / first).read_bytes() == old
        except OSError as error:
            assert error.errno == errno.EIO
        told = outcomes(point, range(0, PER_SHARD, 7))
        assert set(told.values()) <= {"right", "EIO"} and "EIO" in told.values()
        assert '"changed"' in (point / "control/errors.jsonl").read_text()
        assert outcomes(point, [PER_SHARD]) == {PER_SHARD: "right"}


def test_a_vanished_object(mine, bucket, counted_root, prefix, nowhere, point):
    last = shard_keys(counted_root)[-1]
    with bucket.client(nowhere, "timeout=5").mounted(mine, point):
        bucket.delete(f"{prefix}/{last}")
        fails_with(errno.EIO, payload_of(point, COUNTED - 1).read_bytes)
        assert outcomes(point, [0]) == {0: "right"}


def test_a_catalog_that_cannot_be_fetched_again(counted, hasty, proxy, point):
    """Following annotations: what was known stays."""
    with hasty.but("refresh=0").mounted(counted, point):
        proxy.rules({"action": "error", "status": 503, "contains": "/annotations/"})
        assert outcomes(point, [0]) == {0: "right"}
        try:
            os.listdir(point / "annotations")
        except OSError as error:
            assert error.errno in (errno.EIO, errno.ETIMEDOUT)
        proxy.rules()
        assert wait_until(lambda: os.listdir(point / "annotations") == [], 5)


def test_the_memory_stays_bounded_when_everything_is_slow(counted, faulty, proxy, point):
    """Read-ahead and waiting readers are inside the ceiling."""
    with faulty.but("mem_cache=16M").mounted(counted, point):
        proxy.rules(latency_ms=20)
        with ThreadPoolExecutor(16) as pool:
            told = list(pool.map(lambda i: outcomes(point, [i])[i], range(COUNTED)))
        assert set(told) == {"right"}
        pid = json.loads((point / "control/status.json").read_bytes())["pid"]
        assert peak_mb(pid) < 128 or SANITIZED


LARGE, LARGE_VALUES = 24, 2 << 20  # 8 MiB a record


@pytest.fixture(scope="module")
def large(bucket, tmp_path_factory) -> str:
    root = tmp_path_factory.mktemp("large") / "root"
    root.mkdir()
    write_counted(root, LARGE, per_shard=6, values=LARGE_VALUES)
    return bucket.upload(root, "large")


def test_readers_of_large_records_queue_for_memory(large, faulty, proxy, point):
    """However many there are: a few records at a time are in memory, each is read whole, and what is small passes by."""
    with faulty.but("mem_cache=16M", "cache_size=0", "timeout=60").mounted(large, point):
        pid = json.loads((point / "control/status.json").read_bytes())["pid"]
        proxy.rules(latency_ms=50)
        script = "import sys, hashlib; print(hashlib.sha256(open(sys.argv[1], 'rb').read()[-int(sys.argv[2]):]).hexdigest())"
        readers = [
            subprocess.Popen([sys.executable, "-S", "-c", script, x_of(point, i % LARGE), str(LARGE_VALUES * 4)], stdout=subprocess.PIPE, text=True)
            for i in range(2 * LARGE)
        ]
        readers[-1].kill()  # wherever it is
        assert len(os.listdir(point / "records")) == LARGE
        told = [reader.communicate()[0].strip() for reader in readers]
        wanted = [hashlib.sha256(record_values(i, LARGE_VALUES).tobytes()).hexdigest() for i in range(LARGE)]
        assert told[:-1] == (wanted + wanted)[:-1]
        assert peak_mb(pid) < 96 or SANITIZED


def test_a_record_larger_than_the_budget_can_be_read(large, faulty, point):
    with faulty.but("mem_cache=4M", "cache_size=0").mounted(large, point):
        for i in (0, 1):
            assert x_of(point, i).read_bytes()[-LARGE_VALUES * 4 :] == record_values(i, LARGE_VALUES).tobytes()


# --- the other kinds of store -------------------------------------------------------------------------


class Elsewhere:
    """A copy of the dataset in another store than S3, behind a proxy."""

    def __init__(self, uri: str, client: Client, proxy: Proxy, replace) -> None:
        self.uri, self.client, self.proxy, self.replace = uri, client, proxy, replace


@pytest.fixture(params=["gs", "http"])
def elsewhere(request, gcs_bucket, counted_root, prefix, nowhere, tmp_path):
    if request.param == "gs":
        uri = gcs_bucket.upload(counted_root, prefix)
        with Proxy(gcs_bucket.endpoint) as proxy:
            client = gcs_bucket.client(nowhere, "timeout=20", "retries=12").but(STORAGE_EMULATOR_HOST=proxy.url)
            yield Elsewhere(uri, client, proxy, lambda path, data: gcs_bucket.put(f"{prefix}/{path}", data))
        return
    copy = Path(shutil.copytree(counted_root, tmp_path / "site"))
    with Web(copy) as web, Proxy(web.url) as proxy:
        client = Client(["timeout=20", "retries=12"], nowhere)
        yield Elsewhere(proxy.url, client, proxy, lambda path, data: (copy / path).write_bytes(data))


def test_other_stores_try_again_too(elsewhere, point):
    elsewhere.proxy.rules(
        {"action": "error", "rate": 0.1, "body": "sorry"},
        {"action": "reset", "rate": 0.1},
        {"action": "truncate", "rate": 0.1},
        {"action": "shorten", "rate": 0.1},
        {"action": "range", "rate": 0.1},
    )
    with elsewhere.client.mounted(elsewhere.uri, point):
        assert set(outcomes(point).values()) == {"right"}


def test_other_stores_serve_no_wrong_byte(elsewhere, point):
    with elsewhere.client.but("timeout=3", "retries=1").mounted(elsewhere.uri, point):
        for rule in ({"action": "range"}, {"action": "shorten"}, {"action": "whole"}, {"action": "flip", "offset": 70}):
            elsewhere.proxy.rules(rule | {"contains": "/objects/data/", "method": "GET"})
            assert "wrong" not in outcomes(point, [0, COUNTED - 1]).values()


def test_other_stores_never_mix_versions(elsewhere, counted_root, point):
    first = shard_keys(counted_root)[0]
    old = (counted_root / first).read_bytes()
    with elsewhere.client.mounted(elsewhere.uri, point):
        assert outcomes(point, [0]) == {0: "right"}
        elsewhere.replace(first, old[:-1] + bytes([old[-1] ^ 1]))
        told = outcomes(point, range(0, PER_SHARD, 7))
        assert set(told.values()) <= {"right", "EIO"} and "EIO" in told.values()


@pytest.mark.parametrize("after", [0, 1, 3])
def test_one_wrong_version_is_overruled_elsewhere(elsewhere, point, after):
    version = {"name": "x-goog-generation", "value": "7"} if elsewhere.uri.startswith("gs:") else {"name": "ETag", "value": '"0"'}
    with elsewhere.client.mounted(elsewhere.uri, point):
        elsewhere.proxy.rules(version | {"action": "header", "method": "GET", "contains": "/objects/data/", "after": after, "times": 1})
        assert set(outcomes(point, range(0, PER_SHARD, 7)).values()) == {"right"}
        assert elsewhere.proxy.stats()["fired"] == {"header": 1}


def test_other_stores_are_read_with_few_requests(elsewhere, point):
    with elsewhere.client.mounted(elsewhere.uri, point):
        assert elsewhere.proxy.stats()["requests"] <= 8
        assert set(outcomes(point, range(0, COUNTED, PER_SHARD)).values()) == {"right"}
        elsewhere.proxy.reset()
        order = [i for i in range(0, COUNTED, 11) if i % PER_SHARD]
        assert set(outcomes(point, order).values()) == {"right"}
        assert elsewhere.proxy.stats()["requests"] <= 1.1 * len(order)
