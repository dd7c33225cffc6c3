# SPDX-License-Identifier: Apache-2.0
"""On which ways a mount reaches its store, and as whom: HTTP/2 where it is offered, proxies of the
environment, certificates, session tokens."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import error_line, is_mounted, needs_fuse
from remote import (
    COUNTED,
    PER_SHARD,
    Client,
    boto3,
    bucket,
    counted,
    counted_root,
    faulty,
    metric,
    nowhere,
    prefix,
    proxy,
    right,
    sample,
    services,
    x_of,
)
from services.h2 import Http2
from services.processes import ServiceError
from services.proxy import Proxy
from services.tunnel import Tunnel
from services.web import Web

__all__ = ["bucket", "counted", "counted_root", "faulty", "nowhere", "prefix", "proxy", "sample", "services"]

pytestmark = needs_fuse
READERS = 16


@pytest.fixture
def trusting(bucket, services, nowhere) -> Client:
    """A client that knows our authority."""
    return bucket.client(nowhere, f"ca_bundle={services.authority.ca}")


def read_together(point, order) -> None:
    with ThreadPoolExecutor(READERS) as pool:
        assert all(pool.map(lambda i: right(x_of(point, i).read_bytes(), i), order))


def http2(*what: object) -> Http2:
    """Where it cannot run the tests skip, as with the servers."""
    try:
        return Http2(*what)
    except ServiceError as error:
        if os.environ.get("SDSFS_NEED_SERVICES"):
            raise
        pytest.skip(str(error))


# --- HTTP/2 ------------------------------------------------------------------------------------------


@pytest.fixture(params=["s3", "http"])
def offering(request, counted, counted_root, services, nowhere, trusting):
    """The dataset behind a server that offers HTTP/2 as well as HTTP/1.1: root, client and what was seen. Requests
    take a while there, so that readers meet."""
    if request.param == "s3":
        with Proxy(services.s3.endpoint) as slow, http2(slow.url, services.authority) as front:
            yield counted, trusting.at(front.url), front, slow
    else:
        with Web(counted_root) as web, Proxy(web.url) as slow, http2(slow.url, services.authority) as front:
            yield front.url, Client([f"ca_bundle={services.authority.ca}"], nowhere), front, slow


def test_many_readers_share_a_connection(offering, point):
    root, client, front, slow = offering
    order = random.Random(8).sample(range(COUNTED), 96)
    with client.mounted(root, point):
        for first in range(0, COUNTED, PER_SHARD):
            assert right(x_of(point, first).read_bytes(), first)
        slow.rules(latency_ms=50)
        read_together(point, order)
        slow.rules()
        seen = front.seen()
        assert {one.protocol for one in seen} == {"h2"}
        assert {one.status for one in seen} <= {200, 206, 404}  # there is no catalog
        assert len(seen) > len(order) and len({one.connection for one in seen}) == 1
        assert metric(point, "sdsfs_store_connections_total") == 1
        assert metric(point, "sdsfs_store_requests_total") == len(seen)
        assert slow.stats()["connections"] >= READERS // 2  # so many were on their way together


def test_a_server_that_offers_no_more_than_http_1(counted, services, trusting, point):
    with http2(services.s3.endpoint, services.authority, "http/1.1") as front:
        with trusting.at(front.url).mounted(counted, point):
            read_together(point, range(0, COUNTED, 17))
        assert {one.protocol for one in front.seen()} == {"http/1.1"}


def test_a_stream_that_breaks_is_asked_for_again(counted, services, trusting, point):
    """The streams beside it go on."""
    with Proxy(services.s3.endpoint) as bad, http2(bad.url, services.authority) as front:
        with trusting.at(front.url).but("timeout=20", "retries=12").mounted(counted, point):
            bad.rules({"action": "reset", "rate": 0.15}, {"action": "error", "status": 503, "rate": 0.15}, {"action": "truncate", "rate": 0.1})
            read_together(point, range(0, COUNTED, 5))
            assert sum(bad.stats()["fired"].values()) > 5
            assert {one.protocol for one in front.seen()} == {"h2"}


# --- proxies of the environment ------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY"])
def test_a_proxy_for_https(counted, services, trusting, point, variable):
    client = trusting.at(services.s3.tls_endpoint)
    target = services.s3.tls_endpoint.removeprefix("https://")
    with Tunnel() as tunnel:
        behind = client.but(**{variable: f"http://{tunnel.address}"})
        with behind.mounted(counted, point):
            read_together(point, range(0, COUNTED, 17))
        assert set(tunnel.asked) == {("CONNECT", target)}
        assert len(tunnel.asked) < COUNTED // 17  # a tunnel is used for more than one request
        del tunnel.asked[:]
        with behind.but(no_proxy="localhost").mounted(counted, point):
            assert right(x_of(point, 0).read_bytes(), 0)
        assert tunnel.asked == []


def test_a_proxy_that_wants_a_password(counted, services, trusting, point):
    client = trusting.at(services.s3.tls_endpoint).but("timeout=5", "retries=1")
    with Tunnel("someone", "pr0xyword") as tunnel:
        refused = client.but(https_proxy=f"http://someone:wr0ngword@{tunnel.address}").run("mount", counted, point)
        text = error_line(refused)
        assert refused.returncode == 3 and not is_mounted(point)
        assert "the proxy refuses it" in text and "407" in text and "wr0ngword" not in text and "someone" not in text, text
        with client.but(https_proxy=f"http://someone:pr0xyword@{tunnel.address}").mounted(counted, point):
            assert right(x_of(point, 0).read_bytes(), 0)
            for name in ("status.json", "config", "errors.jsonl", "metrics"):
                assert "pr0xyword" not in (point / "control" / name).read_text()


# --- session tokens ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def temporary(services) -> dict[str, str]:
    """A key for a quarter of an hour, as STS gives it out to those whom a policy lets ask."""
    s3 = services.s3
    who = {"aws_access_key_id": s3.key_id, "aws_secret_access_key": s3.secret, "region_name": s3.region}
    allow = [{"Effect": "Allow", "Action": ["sts:GetSessionToken", "s3:*"], "Resource": "*"}]
    policy = json.dumps({"Version": "2012-10-17", "Statement": allow})
    iam = boto3.client("iam", endpoint_url=s3.endpoint, **who)
    iam.put_user_policy(UserName="test", PolicyName="sessions", PolicyDocument=policy)
    told = boto3.client("sts", endpoint_url=s3.endpoint, **who).get_session_token(DurationSeconds=900)["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": told["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": told["SecretAccessKey"],
        "AWS_SESSION_TOKEN": told["SessionToken"],
    }


def test_a_session_token(counted, bucket, temporary, nowhere, point):
    with bucket.client(nowhere).but(**temporary).mounted(counted, point):
        read_together(point, range(0, COUNTED, 7))
        for name in ("status.json", "config", "errors.jsonl", "metrics"):
            assert temporary["AWS_SESSION_TOKEN"] not in (point / "control" / name).read_text()


def test_a_session_token_in_a_credentials_file(counted, bucket, temporary, nowhere, point, tmp_path):
    names = {"AWS_ACCESS_KEY_ID": "aws_access_key_id", "AWS_SECRET_ACCESS_KEY": "aws_secret_access_key", "AWS_SESSION_TOKEN": "aws_session_token"}
    lines = [f"{names[name]} = {value}" for name, value in temporary.items()]
    (tmp_path / "credentials").write_text("\n".join(["[short]", *lines, ""]))
    client = bucket.client(nowhere, "profile=short").but(AWS_SHARED_CREDENTIALS_FILE=str(tmp_path / "credentials"))
    with client.but(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None).mounted(counted, point):
        assert right(x_of(point, 0).read_bytes(), 0)


REFUSALS = {
    "spoilt": lambda told: {"AWS_SESSION_TOKEN": told["AWS_SESSION_TOKEN"][::-1]},
    "garbage": lambda _told: {"AWS_SESSION_TOKEN": "n0t-a-t0ken"},
    "of another key": lambda _told: {"AWS_SECRET_ACCESS_KEY": "x" * 40},
    "missing": lambda _told: {"AWS_SESSION_TOKEN": None},
}


@pytest.mark.parametrize("how", REFUSALS)
def test_a_session_token_that_is_refused(counted, bucket, temporary, nowhere, point, how):
    wrong = temporary | REFUSALS[how](temporary)
    done = bucket.client(nowhere).but(**wrong).run("mount", counted, point)
    text = error_line(done)
    assert done.returncode == 3 and not is_mounted(point)
    assert "the credentials are refused" in text, text
    secrets = [v for name, v in (temporary | wrong).items() if v and name != "AWS_ACCESS_KEY_ID"]
    assert not any(secret in text for secret in secrets), text
