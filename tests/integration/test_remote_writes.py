# SPDX-License-Identifier: Apache-2.0
"""Publishing annotations into buckets: what the reference reads there, lost replies, conflicts, races, and
servers that keep no conditions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import SAMPLE, SDSFS, error_line, needs_fuse, sdsfs
from remote import (
    Client,
    S3Bucket,
    bucket,
    faulty,
    gcs_bucket,
    nowhere,
    prefix,
    proxy,
    services,
)
from services.processes import clean_environment
from services.s3_double import S3Double
from services.web import Web
from test_remote import double_client, fill_double

__all__ = ["bucket", "faulty", "gcs_bucket", "nowhere", "prefix", "proxy", "services"]

sds = pytest.importorskip("signal_dataset")

ROWS = len(sds.open(str(SAMPLE)))
LOST = "retry limit"  # others were faster eight times; whoever publishes says it again


@pytest.fixture
def rows(tmp_path) -> Path:
    return rows_by("us", tmp_path)


def rows_by(tag: str, where: Path, fields: bool = False) -> Path:
    path = where / f"rows-{tag}.jsonl"
    told = [{"ordinal": i, "status": "success", "values": {"by": tag, "k": i}} for i in range(ROWS)]
    if fields:
        np.save(where / "mask.npy", np.arange(1000, dtype=np.uint8))
        for row in told:
            row["fields"] = {"mask": {"npy": "mask.npy", "axes": [{"name": "t"}]}}
    path.write_text("".join(json.dumps(row) + "\n" for row in told))
    return path


@pytest.fixture(params=["s3", "gs"])
def place(request, bucket, gcs_bucket):
    return {"s3": bucket, "gs": gcs_bucket}[request.param]


def sets_of(place, prefix: str, where: Path) -> dict[str, set[str]]:
    """Who wrote each set's rows, as the reference reads what lies in the bucket."""
    copy = place.download(prefix, where)
    dataset = sds.open(str(copy))
    return {name: {found[i].values["by"] for i in range(ROWS)} for name, found in dataset.annotations.items()}



def bare(place, prefix: str, tmp_path: Path) -> str:
    """The sample without annotations."""
    root = tmp_path / "bare"
    subprocess.run(["cp", "-r", SAMPLE, root], check=True)
    subprocess.run(["rm", "-rf", root / "annotations"], check=True)
    return place.upload(root, prefix)


def test_what_is_published_is_what_the_reference_reads(place, prefix, nowhere, tmp_path):
    uri, client = bare(place, prefix, tmp_path), place.client(nowhere)
    rows = rows_by("us", tmp_path, fields=True)
    done = client.run("annotate", uri, "review", "--rows", rows)
    assert done.returncode == 0, done.stderr
    assert sets_of(place, prefix, tmp_path / "copy") == {"review": {"us"}}
    # The same objects, byte for byte, that publishing into a directory makes.
    local = tmp_path / "bare"
    assert sdsfs("annotate", local, "review", "--rows", rows, env=os.environ | nowhere).returncode == 0
    theirs = {str(p.relative_to(local)): p.read_bytes() for p in local.rglob("*") if p.is_file() and not p.name.startswith(".")}
    copy = tmp_path / "copy" / prefix
    assert {str(p.relative_to(copy)): p.read_bytes() for p in copy.rglob("*") if p.is_file()} == theirs
    # And again is the same again; another content under the name is refused.
    assert client.run("annotate", uri, "review", "--rows", rows).returncode == 0
    done = client.run("annotate", uri, "review", "--rows", rows_by("else", tmp_path))
    assert done.returncode == 1 and "exists" in error_line(done)


def test_the_reference_finishes_and_reads_over_s3(bucket, prefix, nowhere, tmp_path, rows, monkeypatch):
    """Both publish into one bucket, and each sees the other's."""
    uri, client = bare(bucket, prefix, tmp_path), bucket.client(nowhere)
    assert client.run("annotate", uri, "ours", "--rows", rows).returncode == 0
    for name, value in (bucket.variables | nowhere | {"AWS_ENDPOINT_URL": bucket.endpoint, "AWS_DEFAULT_REGION": "us-east-1"}).items():
        monkeypatch.setenv(name, value)
    dataset = sds.open(uri)
    assert dataset.annotations["ours"][0].values["by"] == "us"
    theirs = [sds.AnnotationRecord(r.id, i, sds.AnnotationStatus.SUCCESS, {"by": "them"}) for i, r in enumerate(dataset.record_metadata)]
    sds.publish_annotations(dataset, "theirs", theirs)
    listed = client.run("ls", uri, "annotations/sets").stdout.decode().split()
    assert listed == ["ours", "theirs"]
    assert set(sds.open(uri).annotations) == {"ours", "theirs"}


@needs_fuse
def test_publishing_through_the_mount(place, prefix, nowhere, tmp_path, rows, point):
    uri = bare(place, prefix, tmp_path)
    with place.client(nowhere).mounted(uri, point):
        draft = point / "control/annotations/review"
        draft.mkdir()
        (draft / "rows.jsonl").write_bytes(rows.read_bytes())
        fd = os.open(draft / "commit", os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b"publish\n")
        os.close(fd)
        assert json.loads((point / "records/000000/annotations/review/annotation.json").read_bytes())["values"]["by"] == "us"
    assert sets_of(place, prefix, tmp_path / "copy") == {"review": {"us"}}


SPOILT = [
    [{"action": "lose", "method": "PUT", "rate": 0.4}],
    [{"action": "error", "status": 409, "code": "ConditionalRequestConflict", "conditional": True, "rate": 0.4}],
    [{"action": "error", "status": 503, "rate": 0.3}],
    [{"action": "error", "status": 500, "method": "PUT", "rate": 0.4}],
    [{"action": "reset", "rate": 0.3}],
    [{"action": "close", "rate": 0.3}],
]


@pytest.mark.parametrize("rules", SPOILT, ids=lambda rules: f"{rules[0]['action']}-{rules[0].get('status', '')}")
def test_it_converges_whatever_is_lost(bucket, faulty, proxy, prefix, tmp_path, rows, rules):
    uri = bare(bucket, prefix, tmp_path)
    for seed in range(3):
        proxy.rules(*rules, seed=seed + 7)
        done = faulty.but("retries=12").run("annotate", uri, f"set-{seed}", "--rows", rows)
        assert done.returncode == 0, done.stderr
    proxy.rules()
    assert sum(proxy.stats()["fired"].values()) > 0
    assert sets_of(bucket, prefix, tmp_path / "copy") == {f"set-{seed}": {"us"} for seed in range(3)}


def test_every_lost_reply_by_itself(bucket, faulty, proxy, prefix, tmp_path, rows):
    """Each of the writes in turn is done and not heard of."""
    uri = bare(bucket, prefix, tmp_path)
    done = faulty.run("annotate", uri, "first", "--rows", rows)
    assert done.returncode == 0, done.stderr
    writes = proxy.stats()["methods"]["PUT"]
    assert writes >= 3
    for n in range(writes):
        proxy.rules({"action": "lose", "method": "PUT", "after": n, "times": 1})
        done = faulty.run("annotate", uri, f"lost-{n}", "--rows", rows)
        assert done.returncode == 0, (n, done.stderr)
        assert proxy.stats()["fired"].get("lose") == n + 1
    proxy.rules()
    assert set(sets_of(bucket, prefix, tmp_path / "copy")) == {"first"} | {f"lost-{n}" for n in range(writes)}


def test_an_outage_is_told_and_the_same_command_finishes(bucket, faulty, proxy, prefix, tmp_path, rows):
    uri = bare(bucket, prefix, tmp_path)
    hasty = faulty.but("timeout=3", "retries=1")
    proxy.rules({"action": "error", "status": 503, "method": "PUT", "after": 1})
    done = hasty.run("annotate", uri, "set", "--rows", rows)
    assert done.returncode == 3 and error_line(done)
    proxy.rules()
    assert hasty.run("annotate", uri, "set", "--rows", rows).returncode == 0
    assert sets_of(bucket, prefix, tmp_path / "copy") == {"set": {"us"}}


def start(client: Client, uri: str, name: str, rows: Path) -> subprocess.Popen:
    argv = [SDSFS, "annotate", "-o", ",".join(client.options), uri, name, "--rows", str(rows)]
    return subprocess.Popen(argv, env=clean_environment() | client.environment, stderr=subprocess.PIPE)


def finish(client: Client, uri: str, name: str, rows: Path, publisher: subprocess.Popen) -> tuple[int, str]:
    for _ in range(4):
        said = publisher.communicate(timeout=120)[1].decode()
        if publisher.returncode == 0 or LOST not in said:
            break
        publisher = start(client, uri, name, rows)
    return publisher.returncode, said


def test_six_at_once_lose_nothing(place, prefix, nowhere, tmp_path, rows):
    uri, client = bare(place, prefix, tmp_path), place.client(nowhere)
    publishers = {f"race-{i}": start(client, uri, f"race-{i}", rows) for i in range(6)}
    told = {name: finish(client, uri, name, rows, one) for name, one in publishers.items()}
    assert told == dict.fromkeys(told, (0, ""))
    assert sets_of(place, prefix, tmp_path / "copy") == {name: {"us"} for name in told}


def test_one_content_wins_a_name(place, prefix, nowhere, tmp_path):
    uri, client = bare(place, prefix, tmp_path), place.client(nowhere)
    contents = {tag: rows_by(tag, tmp_path) for tag in "xyz"}
    publishers = {tag: start(client, uri, "same", path) for tag, path in contents.items()}
    told = {tag: finish(client, uri, "same", contents[tag], one) for tag, one in publishers.items()}
    (winner,) = [tag for tag, (code, _) in told.items() if code == 0]
    assert all(code == 1 and "exists" in said for tag, (code, said) in told.items() if tag != winner), told
    assert sets_of(place, prefix, tmp_path / "copy") == {"same": {winner}}


@pytest.mark.parametrize("conditions", ["ignored", "refused"])
def test_a_server_that_keeps_no_conditions_is_refused(nowhere, rows, conditions):
    with S3Double(conditions=conditions) as double:
        uri = fill_double(double)
        before = {key: data for key, data in double.objects.items() if key.endswith(("root.json", "catalog.json"))}
        done = double_client(double, nowhere).run("annotate", uri, "set", "--rows", rows)
        assert done.returncode != 0 and "condition" in error_line(done)
        assert {key: double.objects[key] for key in before} == before
        listed = double_client(double, nowhere).run("ls", uri, "annotations/sets").stdout.decode().split()
        assert "set" not in listed


def test_a_server_that_keeps_them_is_not(nowhere, rows):
    with S3Double() as double:
        uri = fill_double(double)
        done = double_client(double, nowhere).run("annotate", uri, "set", "--rows", rows)
        assert done.returncode == 0, done.stderr


def test_without_the_right_to_write(services, nowhere, prefix, rows):
    public = S3Bucket(services.s3)
    uri = public.upload(SAMPLE, prefix, ACL="public-read")
    client = public.client(nowhere, "no_sign_request").but(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    done = client.run("annotate", uri, "set", "--rows", rows)
    assert done.returncode == 3 and "permission" in error_line(done)


def test_the_web_is_read_only(nowhere, rows, tmp_path):
    with Web(SAMPLE) as web:
        done = Client([], nowhere).run("annotate", web.url, "set", "--rows", rows)
        assert done.returncode in (1, 3) and error_line(done)
        assert all(method in ("GET", "HEAD") for method, _, _ in web.requests)
