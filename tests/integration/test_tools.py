# SPDX-License-Identifier: Apache-2.0
"""Ordinary programs on a mounted dataset."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import SAMPLE, daemon_of, needs_fuse, needs_root, requests_of, run, sdsfs, wait_until

pytestmark = needs_fuse


def snapshot(root) -> dict[str, object]:
    found = {}
    for where, dirs, names in os.walk(root):
        if "control" in dirs:
            dirs.remove("control")
        for name in dirs + names:
            path = os.path.join(where, name)
            key = os.path.relpath(path, root)
            if os.path.islink(path):
                found[key] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as f:
                    found[key] = f.read()
            else:
                found[key] = None
    return found


def test_the_raw_part_is_the_dataset(mounted):
    assert run("diff", "-r", SAMPLE, mounted).stdout.decode().splitlines() == [
        f"Only in {mounted}: control",
        f"Only in {mounted}: index",
        f"Only in {mounted}: records",
        f"Only in {mounted}: shards",
    ]


def test_cp_tar_and_rsync_copy_the_tree(mounted, tmp_path):
    expected = snapshot(mounted)
    assert run("cp", "-a", mounted, tmp_path / "copied").returncode == 0
    assert snapshot(tmp_path / "copied") == expected
    (tmp_path / "untarred").mkdir()
    packed = f'tar -C "{mounted}" --exclude=./control -cf - . | tar -C "{tmp_path}/untarred" -xf -'
    done = run("bash", "-c", f"set -o pipefail; {packed}")
    assert done.returncode == 0 and done.stderr == b""
    assert snapshot(tmp_path / "untarred") == expected
    if shutil.which("rsync"):
        assert run("rsync", "-a", "--exclude=/control", f"{mounted}/", tmp_path / "synced").returncode == 0
        again = run("rsync", "-ai", "--exclude=/control", f"{mounted}/", tmp_path / "synced")
        assert (again.returncode, again.stdout) == (0, b"")
        assert snapshot(tmp_path / "synced") == expected
    for copy in ("copied", "untarred", "synced"):  # read-only directories, as in the mount
        run("chmod", "-R", "u+w", tmp_path / copy)


def test_find_and_du(mounted):
    found = run("find", mounted, "-name", "*.npy")
    assert found.returncode == 0 and found.stderr == b""
    assert len(found.stdout.splitlines()) >= 48
    sizes = {os.path.join(w, n): os.lstat(os.path.join(w, n)).st_size for w, _, ns in os.walk(mounted / "records") for n in ns}
    kilobytes = int(run("du", "-sk", mounted / "records").stdout.split()[0])
    assert sum(sizes.values()) <= kilobytes * 1024 <= sum(sizes.values()) + 1024 * len(sizes)
    apparent = int(run("du", "-s", "--apparent-size", "--block-size=1", mounted / "records").stdout.split()[0])
    assert apparent == sum(sizes.values())


def test_walking_reads_no_content(mounted):
    cost = requests_of(mounted, lambda: run("find", mounted / "records", "-type", "f", "-size", "+0"))
    assert "read" not in cost and "open" not in cost


def test_a_warm_pass_costs_nothing(mounted):
    """Apart from the first fstat of each file after its bytes came from us: the kernel takes it that
    reading changed the access time."""
    paths = sorted(mounted.glob("records/*/*.npy"))

    def read_all():  # open, fstat, read and close of each
        for path in paths:
            path.read_bytes()

    read_all()
    assert requests_of(mounted, read_all) == {"getattr": len(paths)}
    assert requests_of(mounted, read_all) == {}


def test_on_a_read_only_mount_not_even_the_second_pass_costs_anything(point):
    assert sdsfs("mount", "-o", "ro", SAMPLE, point).returncode == 0
    paths = sorted(point.glob("records/*/*.npy"))
    for path in paths:
        path.read_bytes()
    assert requests_of(point, lambda: [path.read_bytes() for path in paths]) == {}
    assert sdsfs("umount", point).returncode == 0


@needs_root
def test_a_mount_that_can_be_written_to_is_written_to_by_nobody(mounted):
    """Root may open anything for writing, and map it: what comes of it is refused and forgotten."""
    path = mounted / "records/000003/samples.npy"
    expected = path.read_bytes()
    fd = os.open(path, os.O_RDWR)
    with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as m:
        m[200:204] = b"EVIL"
        with pytest.raises(OSError):
            m.flush()
    with contextlib.suppress(OSError):
        os.close(fd)
    assert wait_until(lambda: path.read_bytes() == expected)
    for refused in (lambda: path.write_bytes(b"x"), path.unlink, (mounted / "new").mkdir):
        with pytest.raises(OSError) as caught:
            refused()
        assert caught.value.errno == errno.EROFS


def test_readers_side_by_side(mounted):
    paths = sorted(mounted.glob("records/*/record.safetensors"))
    expected = {path: path.read_bytes() for path in paths}
    if os.geteuid() == 0:
        run("sh", "-c", "echo 3 > /proc/sys/vm/drop_caches")

    def same(path) -> bool:
        return path.read_bytes() == expected[path]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(same, paths * 4))


def test_inode_numbers_are_unique(mounted):
    seen: dict[int, str] = {}
    for where, dirs, names in os.walk(mounted):
        for name in dirs + names:
            path = os.path.join(where, name)
            number = os.lstat(path).st_ino
            assert seen.setdefault(number, path) == path


@pytest.mark.parametrize("command", [["cat"], ["md5sum"], ["wc", "-c"], ["dd", "bs=1000", "status=none", "of=/dev/null"]])
def test_no_reader_is_surprised(mounted, command):
    for path in mounted.glob("records/00000[0-3]/*"):
        if path.is_file():
            argument = f"if={path}" if command[0] == "dd" else str(path)
            done = subprocess.run([*command, argument], capture_output=True)
            assert done.returncode == 0 and done.stderr == b""


def test_statfs(mounted):
    done = run("df", "--output=avail,itotal", mounted)
    assert done.stdout.split()[-2:] == [b"0", b"48"]


def test_memory_stays_small(mounted):
    snapshot(mounted)
    with open(f"/proc/{daemon_of(mounted)}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak < 512 << 10  # sanitizers included
