# SPDX-License-Identifier: Apache-2.0
"""A store that does not answer hurts those who wait for it, nobody else, and not for ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import SDSFS, alive, daemon_of, is_mounted, needs_fuse, run, sdsfs, wait_until
from remote import (
    COUNTED,
    PER_SHARD,
    bucket,
    counted,
    counted_root,
    faulty,
    nowhere,
    payload_of,
    prefix,
    proxy,
    right,
    services,
    x_of,
)
from services.processes import clean_environment

__all__ = ["bucket", "counted", "counted_root", "faulty", "nowhere", "prefix", "proxy", "services"]

pytestmark = needs_fuse
READERS = 40  # more than there are threads of any kind


def reader(path: Path) -> subprocess.Popen:
    """Says why it fails, or nothing."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "env": {"LC_ALL": "C", "PATH": os.environ["PATH"]}}
    return subprocess.Popen(["cat", str(path)], text=True, **quiet)


def said(one: subprocess.Popen, seconds: float = 30) -> str:
    return one.communicate(timeout=seconds)[1].strip().rpartition(": ")[2]


@pytest.fixture
def stalled(counted, faulty, proxy, point):
    """A mount whose store has stopped answering for all shards but the first, and readers that wait."""
    with faulty.but("timeout=6", "retries=1").mounted(counted, point):
        for i in range(3):
            assert right(x_of(point, i).read_bytes(), i)
        os.listdir(point / "records")
        proxy.rules({"action": "hang", "seconds": 90, "contains": "/objects/"})
        waiting = [reader(payload_of(point, COUNTED - 1 - i)) for i in range(READERS)]
        assert wait_until(lambda: proxy.stats()["held"] > 0, 10)
        yield point, waiting
        for one in waiting:
            one.kill()
            one.wait()
            one.stderr.close()
        proxy.rules()
        proxy.release()


def quickly(action, seconds: float = 2):
    start = time.monotonic()
    result = action()
    assert time.monotonic() - start < seconds
    return result


def test_everybody_else_is_answered(stalled):
    point, _ = stalled
    assert quickly(lambda: right(x_of(point, 1).read_bytes(), 1))
    assert quickly(lambda: len(os.listdir(point / "records"))) == COUNTED
    quickly(lambda: os.statvfs(point))
    status = quickly(lambda: json.loads((point / "control/status.json").read_bytes()))
    assert alive(status["pid"])
    assert quickly(lambda: (point / "control/metrics").read_bytes())
    assert quickly(lambda: (point / "root.json").read_bytes())
    # Whoever drops what the kernel has of a file gets it from the daemon's own caches.
    assert quickly(lambda: run("dd", f"if={payload_of(point, 2)}", "of=/dev/null", "bs=1M", "iflag=nocache").returncode) == 0
    quickly(lambda: (point / "control/annotations/draft").mkdir())


def test_a_killed_reader_goes_at_once(stalled):
    _, waiting = stalled
    for number in (signal.SIGKILL, signal.SIGTERM):
        one = waiting.pop()
        one.send_signal(number)
        quickly(lambda one=one: one.wait(5))
        one.stderr.close()


def test_waiting_ends_with_the_deadline(stalled):
    point, waiting = stalled
    start = time.monotonic()
    told = {said(one) for one in waiting}
    assert time.monotonic() - start < 12
    assert told <= {"Connection timed out", "Input/output error"} and "Connection timed out" in told
    assert right(x_of(point, 1).read_bytes(), 1)


def test_it_goes_on_when_the_store_does(stalled, proxy):
    point, waiting = stalled
    proxy.rules()
    proxy.release()
    assert {said(one) for one in waiting} == {""}
    assert right(x_of(point, COUNTED - 1).read_bytes(), COUNTED - 1)


def test_sigterm_ends_it_within_five_seconds(stalled):
    point, waiting = stalled
    daemon = daemon_of(point)
    os.kill(daemon, signal.SIGTERM)
    assert wait_until(lambda: not alive(daemon), 5)
    assert not is_mounted(point)
    assert all(said(one, 5) != "" for one in waiting)


def test_unmounting_while_nobody_is_left(stalled):
    point, waiting = stalled
    for one in waiting:
        one.kill()
        one.wait(5)
    done = quickly(lambda: sdsfs("umount", point), 8)
    assert done.returncode == 0, done.stderr


def test_a_stall_within_a_body(counted, faulty, proxy, point):
    with faulty.but("timeout=6", "retries=1").mounted(counted, point):
        assert right(x_of(point, 0).read_bytes(), 0)
        proxy.rules({"action": "stall", "seconds": 60, "contains": "/objects/data/"})
        start = time.monotonic()
        with pytest.raises(OSError):
            payload_of(point, PER_SHARD).read_bytes()
        assert time.monotonic() - start < 14
        proxy.rules()
        proxy.release()
        assert wait_until(lambda: right(x_of(point, PER_SHARD).read_bytes(), PER_SHARD), 5)


def test_a_stalled_connection_is_left_for_another(counted, faulty, proxy, point):
    """Only one connection is dead; the retry goes over a new one, within the deadline."""
    with faulty.but("timeout=30").mounted(counted, point):
        proxy.rules({"action": "hang", "seconds": 90, "contains": "/objects/data/", "times": 1})
        start = time.monotonic()
        assert right(x_of(point, PER_SHARD).read_bytes(), PER_SHARD)
        assert time.monotonic() - start < 25
        proxy.rules()
        proxy.release()


def test_mounting_a_store_that_stalls(counted, faulty, proxy, point):
    proxy.rules({"action": "hang", "seconds": 90})
    start = time.monotonic()
    done = faulty.but("timeout=4", "retries=1").run("mount", counted, point)
    assert done.returncode == 3 and not is_mounted(point)
    assert time.monotonic() - start < 12
    proxy.release()


def test_interrupting_a_mount_that_stalls(counted, faulty, proxy, point, nowhere):
    proxy.rules({"action": "hang", "seconds": 90})
    client = faulty.but("timeout=60")
    argv = [SDSFS, "mount", "-f", "-o", ",".join(client.options), counted, str(point)]
    mounting = subprocess.Popen(argv, env=clean_environment() | client.environment, stderr=subprocess.DEVNULL)
    assert wait_until(lambda: proxy.stats()["held"] > 0, 10)
    mounting.send_signal(signal.SIGTERM)
    mounting.wait(5)
    assert not is_mounted(point)
    proxy.release()
