# SPDX-License-Identifier: Apache-2.0
"""The disk cache under mounts: what it saves, what it must never do, and what becomes of it when the disk, a
process or a file breaks."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import signal_dataset as sds
from conftest import alive, daemon_of, is_mounted, needs_fuse, needs_root, run, sdsfs, wait_until
from remote import (
    COUNTED,
    PER_SHARD,
    bucket,
    counted,
    counted_root,
    faulty,
    files_of,
    nowhere,
    prefix,
    proxy,
    right,
    services,
    shard_keys,
    x_of,
)

__all__ = ["bucket", "counted", "counted_root", "faulty", "nowhere", "prefix", "proxy", "services"]

pytestmark = needs_fuse
SOME = random.Random(8).sample(range(COUNTED), 40)


@pytest.fixture
def cache(tmp_path):
    where = tmp_path / "cached"
    where.mkdir()
    return where


@pytest.fixture
def cached(faulty, cache):
    return faulty.but(f"cache_dir={cache}")


def read(point: Path, ordinals=SOME) -> None:
    for i in ordinals:
        assert right(x_of(point, i).read_bytes(), i), i


def data_requests(proxy) -> list[dict]:
    return [one for one in proxy.log() if "/objects/data/" in one["path"] and one["down"] > 0]


def size_of(cache: Path) -> int:
    return sum(path.stat().st_blocks * 512 for _, path in files_of(cache))


def fill(cached, counted: str, point: Path) -> None:
    with cached.mounted(counted, point):
        read(point)


def test_a_second_mount_asks_for_no_data(counted, cached, proxy, point, cache):
    fill(cached, counted, point)
    proxy.reset()
    with cached.mounted(counted, point):
        read(point)
        assert data_requests(proxy) == []
    assert size_of(cache) > 0


def test_files_of_the_cache_are_the_owners_alone(counted, cached, point, cache):
    fill(cached, counted, point)
    assert all(path.stat().st_mode & 0o077 == 0 for _, path in files_of(cache))


def test_two_mounts_share_it(counted, cached, proxy, point, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with cached.mounted(counted, point), cached.mounted(counted, other):
        read(point)
        proxy.reset()
        # What one has fetched the other finds, once it is written.
        assert wait_until(lambda: (proxy.reset(), read(other), data_requests(proxy) == [])[2], 10)
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda i: right(x_of((point, other)[i % 2], i).read_bytes(), i), range(COUNTED)))


def spoil(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "flipped":
        for at in range(0, len(data), 997):
            data[at] ^= 0x40
        path.write_bytes(data)
    elif how == "cut":
        os.truncate(path, len(data) // 2)
    elif how == "empty":
        os.truncate(path, 0)
    elif how == "longer":
        path.write_bytes(bytes(data) + b"x" * 5000)
    elif how == "garbage":
        path.write_bytes(os.urandom(len(data)))
    else:
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("how", ["flipped", "cut", "empty", "longer", "garbage", "directory"])
def test_broken_files_are_never_believed(counted, cached, proxy, point, cache, how):
    fill(cached, counted, point)
    assert files_of(cache)
    for _, path in files_of(cache):
        spoil(path, how)
    with cached.mounted(counted, point):
        read(point)
        assert json.loads((point / "control/status.json").read_bytes())["errors"] == 0
    with cached.mounted(counted, point):
        read(point)


def test_files_swapped_with_each_other(counted, cached, point, cache):
    """Sound blocks under a wrong name."""
    fill(cached, counted, point)
    paths = sorted((path for _, path in files_of(cache)), key=lambda p: p.stat().st_size)[-8:]
    contents = [path.read_bytes() for path in paths]
    for path, data in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(data)
    with cached.mounted(counted, point):
        read(point)


def test_a_replaced_object_is_not_taken_from_the_cache(bucket, counted_root, cached, prefix, proxy, point):
    uri = bucket.upload(counted_root, prefix)
    with cached.mounted(uri, point):
        read(point, [0, 1])
    # Another dataset of the same layout: the same paths, other content.
    other = point.parent / "other"
    other.mkdir()
    values = np.full(16384, 7, np.float32)
    shards = [
        sds.write_shard((sds.Record(f"r{i}", {"x": sds.Field(values, (sds.Axis("t", 16384),))}) for i in range(a, a + 60)), str(other), work_id=f"{a:06d}")
        for a in range(0, COUNTED, 60)
    ]
    sds.publish(str(other), shards, dataset_id="counted", snapshot_id="s")
    assert shard_keys(other) == shard_keys(counted_root)
    bucket.upload(other, prefix)
    with cached.mounted(uri, point):
        for i in (0, 1, 2):
            assert x_of(point, i).read_bytes()[-65536:] == values.tobytes()


def test_its_size_is_bounded(counted, cached, point, cache):
    bound = 4 << 20
    with cached.but(f"cache_size={bound}").mounted(counted, point):
        for i in range(0, COUNTED):
            assert right(x_of(point, i).read_bytes(), i)
            if i % 20 == 0:
                assert size_of(cache) <= bound * 1.25 + (1 << 20)
    assert size_of(cache) <= bound * 1.1


@needs_root
def test_a_full_disk_means_streaming(counted, cached, point, cache):
    assert run("mount", "-t", "tmpfs", "-o", "size=600k", "none", cache).returncode == 0
    try:
        with cached.mounted(counted, point):
            read(point, range(COUNTED))
            assert json.loads((point / "control/status.json").read_bytes())["errors"] == 0
    finally:
        assert run("umount", cache).returncode == 0


@needs_root
@pytest.mark.parametrize("how", ["read-only", "file"])
def test_a_directory_that_will_not_do(counted, cached, point, cache, how):
    if how == "file":
        cache.rmdir()
        cache.write_text("not a directory")
    else:
        assert run("mount", "-t", "tmpfs", "-o", "ro", "none", cache).returncode == 0
    try:
        done = cached.run("mount", counted, point)
        if done.returncode == 0:  # streaming, with a word about it
            try:
                read(point)
            finally:
                assert sdsfs("umount", point).returncode == 0
        else:
            assert b"cached" in done.stderr
    finally:
        if how == "read-only":
            assert run("umount", cache).returncode == 0


def test_a_cache_that_vanishes_under_the_mount(counted, cached, point, cache):
    with cached.mounted(counted, point):
        read(point, SOME[:10])
        run("rm", "-rf", cache)
        read(point)


def test_kill_9_leaves_a_sound_cache(counted, cached, point, proxy):
    for seed in range(4):
        assert cached.run("mount", counted, point).returncode == 0
        daemon = daemon_of(point)
        order = random.Random(seed).sample(range(COUNTED), COUNTED)
        readers = subprocess.Popen(["sh", "-c", "cat " + " ".join(f"'{x_of(point, i)}'" for i in order) + " >/dev/null 2>&1"])
        read(point, order[:15])
        os.kill(daemon, signal.SIGKILL)
        readers.wait(20)
        assert wait_until(lambda: not alive(daemon))
        done = sdsfs("umount", point)
        assert done.returncode == 0 and not is_mounted(point)
        with cached.mounted(counted, point):
            read(point, range(0, COUNTED, 5))


def test_a_large_cache_is_ready_at_once(counted, cached, point, cache):
    """Nothing is looked through when mounting: a cache full of files is no slower than an empty one."""
    fill(cached, counted, point)
    folders = {path.parent for _, path in files_of(cache)}
    for n, folder in enumerate(sorted(folders)):
        for k in range(20000 // len(folders)):
            (folder / f"{n:04x}{k:060x}").touch()
    start = time.monotonic()
    with cached.mounted(counted, point):
        assert time.monotonic() - start < 3
        read(point)


def test_without_a_cache(counted, faulty, point, nowhere):
    """No HOME and no directory: streaming."""
    client = faulty.but(HOME=None, CACHE_DIRECTORY=None, XDG_CACHE_HOME=None)
    with client.mounted(counted, point):
        read(point)


# --- one wrong answer --------------------------------------------------------------------------------

WRONG = [
    ("/root.json", 0),
    ("/snapshot.json", 0),
    ("/manifests/", 0),
    ("/objects/data/", 5),
    ("/objects/data/", 2000),  # not of a shard's ends, which come first
    ("/objects/metadata/", 5),
    ("/objects/metadata/", 200),
]


def flip(what: str, at: int, **more: object) -> dict:
    return {"action": "flip", "method": "GET", "contains": what, "offset": at, "after": 2 if at == 2000 else 0} | more


@pytest.mark.parametrize(("what", "at"), WRONG)
def test_one_wrong_answer_spoils_neither_mount_nor_cache(counted, cached, proxy, point, what, at):
    proxy.rules(flip(what, at, times=1))
    with cached.mounted(counted, point):
        assert right(x_of(point, 0).read_bytes(), 0)
        assert json.loads((point / "control/status.json").read_bytes())["errors"] == 0
        assert b"\nsdsfs_store_doubts_total 0\n" not in (point / "control/metrics").read_bytes()
    assert proxy.stats()["fired"] == {"flip": 1}
    done = cached.run("info", counted)
    assert done.returncode == 0, done.stderr
    with cached.mounted(counted, point):
        assert right(x_of(point, 0).read_bytes(), 0)
        assert b"\nsdsfs_store_doubts_total 0\n" in (point / "control/metrics").read_bytes()


@pytest.mark.parametrize(("what", "at"), WRONG[:3])
def test_a_command_that_got_a_wrong_answer(counted, cached, proxy, what, at):
    proxy.rules(flip(what, at, times=1))
    done = cached.run("verify", counted)
    assert done.returncode == 0, done.stderr
    assert proxy.stats()["fired"] == {"flip": 1}


@pytest.mark.parametrize(("what", "at"), WRONG)
def test_wrong_answers_that_last_leave_a_sound_cache(counted, cached, proxy, point, what, at):
    name = "metadata.json" if "metadata" in what else "x.npy"
    proxy.rules(flip(what, at))
    for _ in range(2):
        done = cached.run("cat", counted, f"records/000000/{name}")
        assert done.returncode == 1 and not done.stdout, done.stderr
    assert proxy.stats()["fired"]["flip"] <= 8
    proxy.rules()
    with cached.mounted(counted, point):
        assert right(x_of(point, 0).read_bytes(), 0)


def test_a_cache_that_begins_while_it_is_mounted(counted, faulty, cache, proxy, point, tmp_path):
    """SIGHUP with another cache_size in the configuration."""
    file = tmp_path / "captures.conf"
    file.write_text(f"[mount]\ncache_dir = {cache}\ncache_size = 0\n")
    client = faulty.but(f"config={file}")
    with client.mounted(counted, point):
        read(point, SOME[:10])
        assert files_of(cache) == [] and "sdsfs_disk_cache" not in (point / "control/metrics").read_text()
        file.write_text(f"[mount]\ncache_dir = {cache}\ncache_size = 1G\n")
        os.kill(daemon_of(point), signal.SIGHUP)
        assert wait_until(lambda: "sdsfs_disk_cache_working 1" in (point / "control/metrics").read_text(), 10)
        read(point, SOME[10:])
    proxy.reset()
    with client.mounted(counted, point):
        read(point, SOME[10:])
        assert len(data_requests(proxy)) <= 2 * COUNTED // PER_SHARD  # indexes, which were read before there was a cache
