# SPDX-License-Identifier: Apache-2.0
"""Mounting and unmounting: what the commands promise, and what they say when it does not work."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import (
    SAMPLE,
    SDSFS,
    alive,
    daemon_of,
    error_line,
    is_mounted,
    mount_lines,
    needs_fuse,
    needs_root,
    run,
    sdsfs,
    wait_until,
)


def copy_of_sample(where: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, where / "copy.sds"))


# --- the ordinary way -----------------------------------------------------------------------------


@needs_fuse
def test_mount_is_ready_when_the_command_returns(mounted):
    assert (mounted / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()
    line = next(m for m in mount_lines() if f" {mounted} " in m)
    assert line.split()[0] == str(SAMPLE) and line.split()[2] == "fuse.sdsfs"
    status = json.loads((mounted / "control/status.json").read_bytes())
    assert status["root"] == str(SAMPLE) and status["errors"] == 0
    assert {"pid", "version", "driver", "dataset_id", "snapshot_id", "since"} <= set(status)


@needs_fuse
def test_umount_waits_for_the_daemon(point):
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    daemon = daemon_of(point)
    done = sdsfs("umount", point)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not is_mounted(point) and not alive(daemon)


@needs_fuse
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_daemon_and_the_mount(point, number):
    for _ in range(5):  # at once, too, when the session has just begun
        assert sdsfs("mount", SAMPLE, point).returncode == 0
        daemon = daemon_of(point)
        os.kill(daemon, number)
        assert wait_until(lambda: not alive(daemon), 5)
        assert not is_mounted(point)


@needs_fuse
def test_hangup_is_ignored(mounted):
    daemon = daemon_of(mounted)
    os.kill(daemon, signal.SIGHUP)
    time.sleep(0.2)
    assert alive(daemon) and (mounted / "root.json").exists()


@needs_fuse
def test_two_mounts_of_one_root(mounted, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    assert sdsfs("mount", SAMPLE, other).returncode == 0
    numbers = [p.lstat().st_ino for p in (mounted / "records", other / "records")]
    assert numbers[0] == numbers[1]
    assert sdsfs("umount", other).returncode == 0
    assert (mounted / "root.json").exists()


@needs_fuse
def test_foreground(point):
    process = subprocess.Popen([SDSFS, "mount", "-f", SAMPLE, point], stderr=subprocess.PIPE, text=True)
    assert wait_until(lambda: is_mounted(point))
    assert daemon_of(point) == process.pid
    assert f"mounted on {point}" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    assert "unmounted" in process.stderr.read()
    process.stderr.close()


@needs_fuse
def test_relative_paths(point):
    os.mkdir(point.parent / "data")
    root = copy_of_sample(point.parent / "data")
    done = sdsfs("mount", "./data/copy.sds/", "mnt", cwd=point.parent)
    assert done.returncode == 0, done.stderr
    assert json.loads((point / "control/status.json").read_bytes())["root"] == str(root)
    assert sdsfs("umount", "mnt", cwd=point.parent).returncode == 0


@needs_fuse
def test_through_a_link_and_over_a_directory_that_is_not_empty(point):
    (point / "file").write_text("below")
    (point.parent / "link").symlink_to("mnt")
    assert sdsfs("mount", SAMPLE, point.parent / "link").returncode == 0
    assert (point / "root.json").exists() and not (point / "file").exists()
    assert sdsfs("umount", point.parent / "link").returncode == 0
    assert (point / "file").read_text() == "below"


@needs_fuse
def test_names_with_blanks_commas_and_backslashes(tmp_path):
    where = tmp_path / "a b,c\\d\n"
    where.mkdir()
    root = copy_of_sample(where)
    point = where / "mount point"
    point.mkdir()
    done = sdsfs("mount", root, point)
    assert done.returncode == 0, done.stderr
    assert (point / "root.json").exists()
    done = sdsfs("umount", point)
    assert done.returncode == 0, done.stderr
    assert not os.path.ismount(point)


# --- surroundings ---------------------------------------------------------------------------------


@needs_fuse
def test_without_environment_and_standard_descriptors(point):
    closed = f'exec <&- >&- 2>&-; exec "{SDSFS}" mount "{SAMPLE}" "{point}"'
    assert run("sh", "-c", closed, env={}).returncode == 0
    assert (point / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()
    assert sdsfs("umount", point, env={}).returncode == 0


@needs_fuse
def test_the_daemon_lets_go_of_everything(point):
    ours, theirs = socket.socketpair()
    done = sdsfs("mount", SAMPLE, point, pass_fds=[theirs.fileno()])
    assert done.returncode == 0
    theirs.close()
    ours.settimeout(5)
    assert ours.recv(1) == b""  # nobody holds the other end
    ours.close()
    daemon = daemon_of(point)
    assert os.readlink(f"/proc/{daemon}/cwd") == "/"
    assert {os.readlink(f"/proc/{daemon}/fd/{n}") for n in range(3)} == {"/dev/null"}
    assert os.getsid(daemon) == daemon
    assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_many_files_may_be_open(mounted):
    limits = Path(f"/proc/{daemon_of(mounted)}/limits").read_text()
    soft, hard = next(line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files"))
    assert soft == hard or int(soft) == 65536


@needs_fuse
def test_options_reach_the_mount(point):
    done = sdsfs("mount", "-o", "uid=12,gid=34,umask=027,ro,noexec,x-systemd.automount,_netdev", SAMPLE, point)
    assert done.returncode == 0, done.stderr
    st = (point / "root.json").stat() if os.geteuid() == 0 else None
    if st is not None:
        assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (12, 34, 0o440)
    line = next(m for m in mount_lines() if f" {point} " in m)
    assert {"ro", "noexec", "default_permissions"} <= set(line.split()[3].split(","))
    assert sdsfs("umount", point).returncode == 0


# --- dead, busy and foreign mounts ----------------------------------------------------------------


@needs_fuse
def test_a_killed_daemon_is_replaced(point):
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    before = (point / "records/000001").stat().st_ino
    os.kill(daemon_of(point), signal.SIGKILL)
    assert wait_until(lambda: subprocess.run(["stat", point], capture_output=True).returncode != 0)
    done = sdsfs("mount", SAMPLE, point)
    assert done.returncode == 0, done.stderr
    assert (point / "records/000001").stat().st_ino == before
    assert sdsfs("umount", point).returncode == 0
    assert not is_mounted(point)


@needs_fuse
def test_a_killed_daemon_can_be_unmounted(point):
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    os.kill(daemon_of(point), signal.SIGKILL)
    assert wait_until(lambda: subprocess.run(["stat", point], capture_output=True).returncode != 0)
    done = sdsfs("umount", point)
    assert (done.returncode, done.stderr) == (0, b"")


@needs_fuse
def test_a_live_mount_is_not_mounted_over(mounted):
    done = sdsfs("mount", SAMPLE, mounted)
    assert done.returncode == 4
    assert error_line(done) == f"{mounted}: {SAMPLE} is mounted there already"


@needs_root
def test_foreign_mounts(point):
    assert run("mount", "-t", "tmpfs", "none", point).returncode == 0
    done = sdsfs("umount", point)
    assert done.returncode == 4 and "not by sdsfs (type tmpfs)" in error_line(done)
    done = sdsfs("mount", SAMPLE, point)  # on top of it is fine
    assert done.returncode == 0, done.stderr
    assert sdsfs("umount", point).returncode == 0
    assert is_mounted(point)
    assert run("umount", point).returncode == 0


@needs_fuse
def test_busy(mounted):
    with open(mounted / "root.json", "rb"):
        done = sdsfs("umount", mounted)
        assert done.returncode == 4
        assert error_line(done) == f"{mounted}: in use: some process has a file or directory open"
        assert (mounted / "root.json").exists()


@needs_fuse
def test_umount_waits_for_a_daemon_that_is_slow_to_answer(point):
    """As on a machine that is busy with something else."""
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    daemon = daemon_of(point)
    os.kill(daemon, signal.SIGSTOP)
    later = threading.Timer(4, os.kill, (daemon, signal.SIGCONT))
    later.start()
    done = sdsfs("umount", point, timeout=60)
    later.join()
    assert (done.returncode, done.stderr) == (0, b"")
    assert not is_mounted(point) and not alive(daemon)


@needs_fuse
def test_a_stopped_daemon_does_not_hang_umount(point):
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    daemon = daemon_of(point)
    os.kill(daemon, signal.SIGSTOP)
    try:
        done = sdsfs("umount", point, timeout=60)
        assert done.returncode == 0 and "does not answer" in error_line(done)
        assert not is_mounted(point)
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert wait_until(lambda: not alive(daemon))


@needs_fuse
def test_sigterm_while_in_use(point):
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    daemon = daemon_of(point)
    stop = threading.Event()

    def read_on():
        while not stop.is_set():
            try:
                for path in point.glob("records/*/record.safetensors"):
                    path.read_bytes()
            except OSError:
                return

    readers = [threading.Thread(target=read_on) for _ in range(4)]
    for reader in readers:
        reader.start()
    held = open(point / "root.json", "rb")
    time.sleep(0.3)
    os.kill(daemon, signal.SIGTERM)
    assert wait_until(lambda: not alive(daemon), 5)
    stop.set()
    for reader in readers:
        reader.join(10)
    held.close()
    assert not is_mounted(point)


# --- what is refused, and how ---------------------------------------------------------------------


def test_mountpoints_that_are_none(tmp_path):
    (tmp_path / "file").touch()
    for where, why in (("nope", "does not exist"), ("file", "not a directory")):
        done = sdsfs("mount", SAMPLE, tmp_path / where)
        assert done.returncode == 4
        assert str(tmp_path / where) in error_line(done) and why in error_line(done)
    done = sdsfs("umount", tmp_path)
    assert done.returncode == 4 and "nothing is mounted there" in error_line(done)
    assert sdsfs("umount", tmp_path / "nope").returncode == 4


@needs_fuse
def test_datasets_that_are_refused(point):
    root = copy_of_sample(point.parent)
    (root / "root.json").write_text("{")
    done = sdsfs("mount", root, point)
    assert done.returncode == 1 and error_line(done).startswith(f"{root}: root.json: json: ")
    (root / "root.json").unlink()
    assert sdsfs("mount", root, point).returncode == 1
    done = sdsfs("mount", point.parent / "nope", point)
    assert done.returncode == 3 and str(point.parent / "nope") in error_line(done)
    assert not is_mounted(point)


@needs_fuse
def test_tolerated_annotations_are_told(point):
    root = copy_of_sample(point.parent)
    (root / "annotations/catalog.json").write_text("{")
    assert sdsfs("mount", root, point).returncode == 1
    done = sdsfs("mount", "-o", "tolerate=annotations", root, point)
    assert done.returncode == 0 and b"catalog.json" in done.stderr
    assert os.listdir(point / "annotations") == []
    assert b"catalog.json" in (point / "control/errors.jsonl").read_bytes()
    assert sdsfs("umount", point).returncode == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("allow_othr", "allow_othr: unknown option (did you mean allow_other?)"),
        ("zzz", "zzz: unknown option"),
        ("thread=3", "thread: unknown option (did you mean threads?)"),
        ("threads", "threads needs a value"),
        ("threads=0", "threads=0: expected 1-256"),
        ("threads=x", "threads=x: expected 1-256"),
        ("allow_other=1", "allow_other=1: expected yes or no"),
        ("uid=root", "uid=root: expected NUMBER"),
        ("uid=4294967295", "uid=4294967295: expected NUMBER"),
        ("umask=1000", "umask=1000: expected OCTAL"),
        ("umask=8", "umask=8: expected OCTAL"),
        ("mem_cache=", "mem_cache=: expected SIZE"),
        ("mem_cache=1T", "mem_cache=1T: expected SIZE"),
        ("mem_cache=99999999999G", "mem_cache=99999999999G: expected SIZE"),
        ("max_record=-1", "max_record=-1: expected SIZE"),
        ("state_dir=", "state_dir=: expected DIRECTORY"),
        ("refresh=", "refresh=: expected SECONDS"),
        ("refresh=-1", "refresh=-1: expected SECONDS"),
        ("refresh=1.2.3", "refresh=1.2.3: expected SECONDS"),
        ("refresh=1000001", "refresh=1000001: expected SECONDS"),
        ("external=relative", "external=relative: expected"),
        ("tolerate=everything", "tolerate=everything: expected annotations"),
        ("log=loud", "log=loud: expected error|warning|info|debug"),
        ("log_format=xml", "log_format=xml: expected text|json"),
        ("remount", "remount: not possible"),
    ],
)
def test_options_that_are_none(tmp_path, options, why):
    for command in ("mount", "ls"):
        done = sdsfs(command, "-o", f"ro,{options}", "/nonexistent/root", tmp_path)
        assert done.returncode == 2
        assert why in error_line(done)


def test_usage_errors_come_before_anything_else(tmp_path):
    for argv in (
        ["mount"],
        ["mount", SAMPLE],
        ["mount", SAMPLE, tmp_path, "more"],
        ["mount", "-x", SAMPLE, tmp_path],
        ["mount", "-o"],
        ["umount"],
        ["umount", "a", "b"],
        ["umount", "-l", "a"],
    ):
        done = sdsfs(*argv)
        assert done.returncode == 2
        assert f"(see sdsfs {argv[0]} --help)" in error_line(done)


# --- mount(8) -------------------------------------------------------------------------------------


@pytest.fixture
def helper(tmp_path):
    link = tmp_path / "mount.sdsfs"
    link.symlink_to(SDSFS)
    return link


@needs_fuse
def test_helper_takes_what_mount_hands_over(helper, point):
    done = run(helper, SAMPLE, point, "-n", "-v", "-o", "rw,nofail,_netdev,x-systemd.requires=x,user=me", "-t", "sdsfs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"sdsfs: {SAMPLE} mounted on {point}\n"
    assert (point / "root.json").exists()
    assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_helper_is_sloppy_when_asked(helper, point):
    assert run(helper, SAMPLE, point, "-o", "no_such_option").returncode == 2
    assert run(helper, SAMPLE, point, "-s", "-o", "no_such_option").returncode == 0
    assert sdsfs("umount", point).returncode == 0


def test_helper_fakes(helper, tmp_path):
    assert run(helper, "/nonexistent", tmp_path / "nope", "-f").returncode == 0
    assert run(helper, "/nonexistent", tmp_path, "-f", "-o", "zzz").returncode == 2


@needs_root
@needs_fuse
def test_mount_8_and_umount_8(point):
    script = f"""
        mkdir "{point}/sbin" && cp -a /sbin/. "{point}/sbin" 2>/dev/null
        ln -s "{SDSFS}" "{point}/sbin/mount.sdsfs" && mount --bind "{point}/sbin" /usr/sbin &&
        mkdir "{point.parent}/there" && mount -t sdsfs -o ro,nofail "{SAMPLE}" "{point.parent}/there" &&
        cat "{point.parent}/there/root.json" && umount "{point.parent}/there"
    """
    done = run("unshare", "-m", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (SAMPLE / "root.json").read_bytes()


@needs_root
@needs_fuse
def test_without_the_device(point):
    script = f'mount -t tmpfs none /dev && exec "{SDSFS}" mount "{SAMPLE}" "{point}"'
    done = run("unshare", "-m", "sh", "-c", script)
    assert done.returncode == 4
    assert error_line(done).startswith(f"{point}: /dev/fuse: No such file or directory (load the kernel module")
