# SPDX-License-Identifier: Apache-2.0
"""The servers of the tests do what the tests rely on: the real ones keep conditions and check signatures,
the proxy spoils what it says it spoils."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from conftest import alive, wait_until
from remote import S3Bucket, bucket, gcs_bucket, services
from services import session
from services.processes import http as request
from services.proxy import Proxy
from services.web import Web

__all__ = ["bucket", "gcs_bucket", "services"]

boto3 = pytest.importorskip("boto3")
from botocore.exceptions import ClientError  # noqa: E402

DATA = bytes(range(256)) * 400


@pytest.fixture
def web(tmp_path):
    (tmp_path / "file").write_bytes(DATA)
    with Web(tmp_path) as made:
        yield made


@pytest.fixture
def proxy(web):
    with Proxy(web.url) as made:
        yield made


def ask(url: str, path: str = "/file", method: str = "GET", **headers: str) -> tuple[int, dict, bytes]:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


RANGE = {"Range": "bytes=1000-1999"}


def test_what_has_no_rule_passes(proxy):
    status, headers, body = ask(proxy.url, **RANGE)
    assert (status, body) == (206, DATA[1000:2000]) and headers["Content-Range"] == f"bytes 1000-1999/{len(DATA)}"
    assert ask(proxy.url, "/nothing")[0] == 404
    assert ask(proxy.url, method="HEAD")[1]["Content-Length"] == str(len(DATA))
    stats = proxy.stats()
    assert (stats["requests"], stats["down"], stats["methods"]) == (3, 1000 + 13, {"GET": 2, "HEAD": 1})
    assert [one["range"] for one in proxy.log()] == ["bytes=1000-1999", None, None]


def test_rules_that_change_an_answer(proxy):
    def told(**rule: object) -> tuple[int, dict, bytes]:
        proxy.rules(rule)
        return ask(proxy.url, **RANGE)

    status, headers, body = told(action="error", status=503, retry_after=7)
    assert status == 503 and headers["Retry-After"] == "7" and b"SlowDown" in body
    status, headers, body = told(action="shorten", bytes=10)
    assert (status, headers["Content-Length"], body) == (206, "10", DATA[1000:1010])
    assert told(action="range", shift=2)[1]["Content-Range"] == f"bytes 1002-2001/{len(DATA)}"
    assert told(action="range", total=5)[1]["Content-Range"] == "bytes 1000-1999/5"
    status, headers, body = told(action="whole")
    assert (status, body) == (200, DATA[1000:2000]) and "Content-Range" not in headers
    assert told(action="header", name="ETag", value='"x"')[1]["ETag"] == '"x"'
    assert "ETag" not in told(action="header", name="ETag")[1]
    body = told(action="flip", offset=3)[2]
    assert body[3] == DATA[1003] ^ 1 and body[:3] + body[4:] == DATA[1000:1003] + DATA[1004:2000]


def test_rules_that_break_an_answer(proxy):
    for rule, error, got in (
        ({"action": "close"}, http.client.RemoteDisconnected, None),
        ({"action": "lose"}, ConnectionResetError, None),
        ({"action": "reset", "bytes": 100}, (ConnectionResetError, http.client.IncompleteRead), None),
        ({"action": "truncate", "bytes": 100}, http.client.IncompleteRead, 100),
    ):
        proxy.rules(rule)
        with pytest.raises(error) as caught:
            ask(proxy.url, **RANGE)
        assert got is None or len(caught.value.partial) == got
    assert proxy.stats()["fired"] == {"close": 1, "lose": 1, "reset": 1, "truncate": 1}


def test_rules_that_take_time(proxy):
    def seconds(**rule: object) -> float:
        proxy.rules(rule)
        start = time.monotonic()
        assert ask(proxy.url, **RANGE)[2] == DATA[1000:2000]
        return time.monotonic() - start

    assert seconds(action="delay", ms=300) >= 0.3
    assert seconds(action="drip", bytes=250, ms=100) >= 0.3
    for action in ("hang", "stall"):
        proxy.rules({"action": action, "seconds": 60})
        child = subprocess.Popen(["curl", "-s", "-o", "/dev/null", "-r", "0-9", proxy.url + "/file"])
        assert wait_until(lambda: proxy.stats()["held"] == 1)
        proxy.release()
        assert child.wait(10) != 0


def test_which_requests_a_rule_is_for(proxy):
    rule = {"action": "error", "status": 500}

    def statuses(count: int = 4, **more: object) -> list[int]:
        proxy.rules(rule | more)
        return [ask(proxy.url)[0] for _ in range(count)]

    assert statuses(after=1, times=2) == [200, 500, 500, 200]
    assert statuses(method="PUT") == statuses(prefix="/other") == statuses(contains="other") == [200] * 4
    assert statuses(ranged=True) == statuses(conditional=True) == [200] * 4
    assert statuses(prefix="/fi", contains="il", method="GET") == [500] * 4
    some = statuses(40, rate=0.5)
    assert 8 < some.count(500) < 32 and statuses(40, rate=0.5) == some


def test_the_s3_service_is_a_real_one(bucket, services):
    api, name = bucket.api, bucket.name

    def code(action, **more: object) -> str:
        with pytest.raises(ClientError) as caught:
            action(Bucket=name, **more)
        return caught.value.response["Error"]["Code"]

    api.put_object(Bucket=name, Key="k", Body=b"one", IfNoneMatch="*")
    assert code(api.put_object, Key="k", Body=b"two", IfNoneMatch="*") == "PreconditionFailed"
    tag = api.head_object(Bucket=name, Key="k")["ETag"].strip('"')
    assert code(api.put_object, Key="k", Body=b"two", IfMatch="0" * 32) == "PreconditionFailed"
    api.put_object(Bucket=name, Key="k", Body=b"two", IfMatch=tag)
    assert code(api.get_object, Key="k", IfMatch=tag) == "PreconditionFailed"
    assert api.get_object(Bucket=name, Key="k", Range="bytes=1-2")["Body"].read() == b"wo"
    liar = boto3.client("s3", endpoint_url=bucket.endpoint, aws_access_key_id=services.s3.key_id, aws_secret_access_key="x", region_name="us-east-1")
    assert code(liar.get_object, Key="k") == "SignatureDoesNotMatch"


def test_the_gcs_service_keeps_generations(gcs_bucket):
    first, second = (gcs_bucket.put("g", data) for data in (b"one", b"two"))
    assert first < second and gcs_bucket.get("g") == b"two"
    where = f"{gcs_bucket.endpoint}/download/storage/v1/b/{gcs_bucket.name}/o/g?alt=media&generation="
    assert request(f"{where}{second}") == b"two"
    with pytest.raises(OSError):
        request(f"{where}{first + 1}")


def test_servers_end_with_their_keeper(services, tmp_path):
    """Even when nothing was left that could have ended them."""
    script = (
        "import sys; from pathlib import Path; from services import tls, gcs; import time\n"
        f"top = Path({str(tmp_path)!r}); g = gcs.GcsServer(top / 'gcs', tls.make_authority(top / 'tls'))\n"
        "print(g.child.pid, flush=True); time.sleep(60)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(session.Path(session.__file__).parent.parent)}
    keeper = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    pid = int(keeper.stdout.readline())
    assert alive(pid)
    keeper.send_signal(signal.SIGKILL)
    keeper.wait()
    keeper.stdout.close()
    assert wait_until(lambda: not alive(pid), 5)


def test_buckets_are_apart(services):
    one, other = S3Bucket(services.s3), S3Bucket(services.s3)
    one.put("k", b"x")
    assert other.keys() == [] and one.keys() == ["k"]
