# SPDX-License-Identifier: Apache-2.0
"""A mount as a service: what the manager is told, reloading, looking in, mounts made by others."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from conftest import (
    HERE,
    SAMPLE,
    SDSFS,
    TOYFS,
    Toy,
    daemon_of,
    detach,
    error_line,
    is_mounted,
    mount_lines,
    needs_fuse,
    needs_root,
    run,
    sdsfs,
    wait_until,
)

UNIT = HERE.parent.parent / "contrib/systemd/sdsfs@.service"


class Manager:
    """What a service manager is to a service: a socket that it tells how it is."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address[0] == "@" else address)
        self.told: list[str] = []

    def environment(self, watchdog_ms: int = 0) -> dict[str, str]:
        watchdog = {"WATCHDOG_USEC": str(watchdog_ms * 1000)} if watchdog_ms else {}
        return {**os.environ, "NOTIFY_SOCKET": self.address, **watchdog}

    def take(self, seconds: float = 0) -> list[str]:
        """Everything that is told within so long."""
        taken, end = [], time.monotonic() + seconds
        try:
            while True:
                self.socket.settimeout(max(end - time.monotonic(), 0.000001))
                taken += self.socket.recv(8192).decode().splitlines()
        except (TimeoutError, BlockingIOError):
            self.told += taken
            return taken

    def wait_for(self, line: str) -> bool:
        return wait_until(lambda: self.take() is not None and line in self.told)


@pytest.fixture
def manager(tmp_path):
    made = Manager(str(tmp_path / "notify"))
    yield made
    made.socket.close()


@pytest.fixture
def service(point, manager, tmp_path):
    """`sdsfs mount -f` as a manager starts it; started(...) gives the process."""
    processes = []

    def started(*argv: object, watchdog_ms: int = 0, **more: object) -> subprocess.Popen:
        env = {**manager.environment(watchdog_ms), "STATE_DIRECTORY": str(tmp_path / "state"), **more}
        processes.append(
            subprocess.Popen([SDSFS, "mount", "-f", *map(str, argv)], env=env, stderr=subprocess.PIPE, text=True)
        )
        assert manager.wait_for("READY=1"), processes[-1].poll()
        return processes[-1]

    yield started
    for process in processes:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=20)


def config_of(point: Path) -> dict[str, tuple[str, str]]:
    """control/config as name -> (value, source)."""
    lines = [line for line in (point / "control/config").read_text().splitlines() if line[0] not in "#["]
    return {line.split(" = ")[0]: tuple(line.split(" = ", 1)[1].split("  # ")) for line in lines}


# --- the manager ----------------------------------------------------------------------------------


@needs_fuse
def test_ready_means_that_it_answers(service, manager, point):
    process = service(SAMPLE, point)
    assert (point / "root.json").exists()
    assert f"STATUS={SAMPLE} on {point}, 48 records" in manager.told
    assert f"MAINPID={process.pid}" in manager.told
    process.terminate()
    assert process.wait(20) == 0
    assert manager.wait_for("STOPPING=1")
    assert manager.told.count("STOPPING=1") == 1


@needs_fuse
def test_unmounting_is_stopping(service, manager, point):
    process = service(SAMPLE, point)
    assert sdsfs("umount", point).returncode == 0
    assert process.wait(20) == 0
    assert manager.wait_for("STOPPING=1")


@needs_fuse
def test_the_daemon_tells_who_it_is(point, tmp_path):
    manager = Manager(f"@sdsfs-test-{os.getpid()}")
    env = manager.environment(watchdog_ms=400)
    assert sdsfs("mount", SAMPLE, point, env=env).returncode == 0
    try:
        daemon = daemon_of(point)
        assert manager.wait_for("READY=1") and f"MAINPID={daemon}" in manager.told
        assert manager.wait_for("WATCHDOG=1")
        kept = Path(f"/proc/{daemon}/environ").read_bytes()
        assert sdsfs("umount", point).returncode == 0
        assert manager.wait_for("STOPPING=1") and kept
    finally:
        if is_mounted(point):
            detach(point)
        manager.socket.close()


@needs_fuse
@pytest.mark.parametrize("name", [b"new\nFDSTORE=1", "é".encode() * 120, b"x" + "é".encode() * 119, b"no \xff\xfe text", b"\x1b[31m"])
def test_mountpoints_of_any_bytes(name, service, manager, point, tmp_path):
    """What is told of them stays assignments of UTF-8, lines of a log, and JSON."""
    where = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(where)
    process = service("-o", "log_format=json", SAMPLE, os.fsdecode(where))
    manager.take(0.1)
    told = sdsfs("status", os.fsdecode(where)).stdout.decode().splitlines()
    assert told[1].split()[0] == "root" and "\x1b" not in told[0]
    assert json.loads(sdsfs("status", "--json", os.fsdecode(where)).stdout.decode())["state"] == "mounted"
    assert sdsfs("umount", os.fsdecode(where)).returncode == 0
    log = [json.loads(line) for line in process.communicate(timeout=20)[1].splitlines()]
    assert [line["message"].rpartition(": ")[2].split(" ")[0] for line in log] == ["mounted", "unmounted"]
    manager.take(0.1)
    assert {line.partition("=")[0] for line in manager.told} == {"READY", "MAINPID", "STATUS", "STOPPING"}


@needs_fuse
def test_a_root_of_any_bytes(service, point, tmp_path):
    root = os.path.join(os.fsencode(tmp_path), b"no \xff text.sds")
    shutil.copytree(os.fsencode(SAMPLE), root)
    service(os.fsdecode(root), point)
    assert json.loads((point / "control/status.json").read_bytes().decode())["root"].endswith("/no ? text.sds")
    assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_a_dataset_id_of_any_characters(service, point, tmp_path):
    """Half of a surrogate pair, a line feed, what a terminal takes as an order."""
    root = Path(shutil.copytree(SAMPLE, tmp_path / "odd.sds"))
    document = json.loads((root / "root.json").read_bytes())
    document["dataset_id"] = "half \ud800\n\x1b[31m"
    (root / "root.json").chmod(0o644)
    (root / "root.json").write_text(json.dumps(document))
    service(root, point)
    for told in ((point / "control/status.json").read_bytes(), sdsfs("info", "--json", root).stdout):
        assert json.loads(told.decode())["dataset_id"] == "half ???\n\x1b[31m"
    table = sdsfs("status", point).stdout.decode()
    assert '"half ???\\x0A\\x1B[31m", snapshot v1' in table and "\x1b" not in table
    assert json.loads(sdsfs("status", "--json", point).stdout.decode())["status"]["record_count"] == 48
    assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_a_mount_that_is_refused_is_never_ready(manager, point, tmp_path):
    assert sdsfs("mount", "-f", tmp_path, point, env=manager.environment()).returncode == 1
    assert manager.take(0.1) == []


@needs_fuse
def test_building_the_index_is_told(service, manager, point, tmp_path):
    service(SAMPLE, point, watchdog_ms=200, CACHE_DIRECTORY=str(tmp_path / "cache"))
    assert len((point / "index/records.jsonl").read_text().splitlines()) == 48
    assert manager.wait_for("WATCHDOG=1")


@needs_fuse
@pytest.mark.skipif(not TOYFS, reason="toyfs is not built")
def test_the_watchdog_barks_only_while_requests_are_answered(manager, point, monkeypatch):
    for name, value in manager.environment(watchdog_ms=200).items():
        monkeypatch.setenv(name, value)
    toy = Toy(point, "-t", "2")
    readers = []
    try:
        assert manager.wait_for("WATCHDOG=1")
        toy.tell("stuck")
        # One thread that hangs leaves one to answer, two leave none.
        readers.append(subprocess.Popen(["cat", str(point / "big.bin")], stdout=subprocess.DEVNULL))
        time.sleep(0.3)
        manager.take()
        assert "WATCHDOG=1" in manager.take(0.5)
        readers += [subprocess.Popen(["ls", str(point / name)], stdout=subprocess.DEVNULL) for name in ("many", "wide")]
        silent = lambda: "WATCHDOG=1" not in manager.take(0.5)  # noqa: E731
        assert wait_until(silent) and silent()
        toy.tell("free")
        assert all(reader.wait(20) == 0 for reader in readers)
        assert "WATCHDOG=1" in manager.take(0.5)
        toy.process.send_signal(signal.SIGHUP)
        assert manager.wait_for("RELOADED=1")
    finally:
        toy.tell("free")
        assert toy.stop() == 0


# --- configuration --------------------------------------------------------------------------------


@needs_fuse
def test_a_configuration_file_is_enough(service, point, tmp_path):
    file = tmp_path / "captures.conf"
    file.write_text(f"[mount]\nroot = {SAMPLE}\nmountpoint = {point}  # here\nmem_cache = 32M\nro = yes\nlog = error\n")
    service("--config", file, "-o", "log=info")
    config = config_of(point)
    assert config["root"] == (str(SAMPLE), f"{file}:2")
    assert config["mem_cache"] == ("32M", f"{file}:4")
    assert config["log"] == ("info", "command line")
    assert config["ro"] == ("yes", f"{file}:5")
    assert config["state_dir"] == (str(tmp_path / "state"), "environment: STATE_DIRECTORY")
    assert config["threads"][1] == "default"
    assert " ro," in next(line for line in mount_lines() if str(point) in line)
    # It is a configuration file itself.
    again = tmp_path / "again.conf"
    again.write_text((point / "control/config").read_text())
    assert run(SDSFS, "umount", point).returncode == 0
    assert sdsfs("mount", "--config", again).returncode == 0
    assert config_of(point)["mem_cache"][0] == "32M"
    assert sdsfs("umount", point).returncode == 0


def test_mistakes_in_a_configuration_file(tmp_path):
    file = tmp_path / "x.conf"
    file.write_text("[mount]\nmem_cach = 1\n")
    for argv in (["mount", "--config", file], ["ls", "-o", f"config={file}", SAMPLE]):
        done = sdsfs(*argv)
        assert done.returncode == 2
        assert f"{file}:2: mem_cach: unknown option (did you mean mem_cache?)" in error_line(done)
    done = sdsfs("mount", "--config", tmp_path / "none.conf")
    assert done.returncode == 2 and "none.conf: No such file or directory" in error_line(done)


def test_the_file_that_is_read_without_being_asked_for(tmp_path):
    home = tmp_path / "config"
    (home / "sdsfs").mkdir(parents=True)
    (home / "sdsfs/sdsfs.conf").write_text("[mount]\nlog = loud\n")
    if os.geteuid() == 0:
        # In a copy of /etc, so that nothing is left behind in the real one.
        etc = f'cp -a /etc "{tmp_path}/etc" && mkdir -p "{tmp_path}/etc/sdsfs" && mount --bind "{tmp_path}/etc" /etc'
        script = f'{etc} && cp "{home}/sdsfs/sdsfs.conf" /etc/sdsfs/ && exec "{SDSFS}" ls "{SAMPLE}"'
        done = run("unshare", "-m", "sh", "-c", script)
    else:
        done = sdsfs("ls", SAMPLE, env={**os.environ, "XDG_CONFIG_HOME": str(home)})
    assert done.returncode == 2
    assert "sdsfs.conf:2: log=loud: expected error|warning|info|debug" in error_line(done)


@needs_fuse
def test_hangup_reloads(service, manager, point, tmp_path):
    file = tmp_path / "captures.conf"
    file.write_text(f"[mount]\nroot = {SAMPLE}\nmountpoint = {point}\n")
    process = service("--config", file)
    manager.told.clear()
    file.write_text(f"[mount]\nroot = {SAMPLE}\nmountpoint = {point}\nmem_cache = 8M\nthreads = 3\nlog_format = json\n")
    process.send_signal(signal.SIGHUP)
    assert manager.wait_for("READY=1") and "RELOADING=1" in manager.told
    assert any(line.startswith("MONOTONIC_USEC=") for line in manager.told)
    assert config_of(point)["mem_cache"] == ("8M", f"{file}:4")
    assert config_of(point)["threads"][1] == "default"
    assert "sdsfs_cache_budget_bytes 8388608" in (point / "control/metrics").read_text()
    # A file that is wrong changes nothing, and ends nothing.
    manager.told.clear()
    file.write_text("[mount]\nnonsense\n")
    process.send_signal(signal.SIGHUP)
    assert manager.wait_for("READY=1")
    assert config_of(point)["mem_cache"][0] == "8M"
    process.terminate()
    told = process.communicate(timeout=20)[1]
    assert "reload: mem_cache is now 8M" in told
    assert "reload: threads is now 3, which takes mounting again" in told
    assert f"reload: {file}:2: nonsense: unknown option: everything stays as it was" in told
    assert json.loads(told.splitlines()[-1])["message"] == f"{point}: unmounted"


@needs_fuse
def test_a_configuration_file_that_became_a_pipe(service, manager, point, tmp_path):
    """Nobody writes to it: whoever waited for that would neither reload nor stop any more."""
    file = tmp_path / "captures.conf"
    file.write_text("[mount]\nmem_cache = 16M\n")
    process = service("--config", file, SAMPLE, point)
    manager.told.clear()
    file.unlink()
    os.mkfifo(file)
    process.send_signal(signal.SIGHUP)
    assert manager.wait_for("READY=1")
    assert config_of(point)["mem_cache"][0] == "16M"
    process.terminate()
    assert "it cannot be read again" in process.communicate(timeout=20)[1]
    assert process.returncode == 0


@needs_fuse
def test_the_journal_gets_levels(point, tmp_path):
    with open(tmp_path / "journal", "w") as journal:
        st = os.fstat(journal.fileno())
        env = {**os.environ, "JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"}
        process = subprocess.Popen([SDSFS, "mount", "-f", "-o", "ro", str(SAMPLE), str(point)], env=env, stderr=journal)
        assert wait_until(lambda: is_mounted(point))
        assert sdsfs("umount", point).returncode == 0
        assert process.wait(20) == 0
    assert (tmp_path / "journal").read_text() == f"<6>{SAMPLE}: mounted on {point}\n<6>{point}: unmounted\n"


# --- looking in -----------------------------------------------------------------------------------


@needs_fuse
def test_status(mounted):
    (mounted / "records/000003/metadata.json").read_bytes()
    done = sdsfs("status", mounted)
    assert done.returncode == 0, done.stderr
    table = dict(line.split(None, 1) for line in done.stdout.decode().splitlines()[1:])
    assert table["root"] == str(SAMPLE)
    assert table["dataset"] == "sample-captures, snapshot v1 (signal-dataset)"
    assert table["records"].startswith("48 in 2 shards")
    assert f"pid {daemon_of(mounted)}," in table["daemon"]
    assert re.fullmatch(r"\S+Z \((just now|[1-9]\d* s|1 min( \d+ s)?)\)", table["since"])
    assert table["errors"] == "0" and table["waiting"].startswith("0 now") and table["index"]
    all_ = json.loads(sdsfs("status", "--json", mounted).stdout)
    assert all_["state"] == "mounted" and all_["mountpoint"] == str(mounted)
    assert all_["status"]["record_count"] == 48
    assert all_["metrics"]["sdsfs_cache_budget_bytes"] == 96 << 20


def status_is(point: Path, code: int, state: str, why: str) -> None:
    done = sdsfs("status", point)
    assert done.returncode == code and why in error_line(done)
    done = sdsfs("status", "--json", point)
    assert done.returncode == code and json.loads(done.stdout)["state"] == state


@needs_fuse
def test_status_of_what_does_not_answer(point):
    status_is(point, 4, "none", "nothing is mounted there")
    status_is(point / "nowhere", 4, "none", "does not exist")
    status_is(Path("/proc"), 4, "foreign", "mounted, but not by sdsfs (type proc)")
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    daemon = daemon_of(point)
    os.kill(daemon, signal.SIGSTOP)
    status_is(point, 3, "silent", "its daemon does not answer")
    os.kill(daemon, signal.SIGKILL)
    os.kill(daemon, signal.SIGCONT)
    assert wait_until(lambda: b'"dead"' in sdsfs("status", "--json", point).stdout)
    status_is(point, 4, "dead", "its daemon is gone")
    # A dead mount is replaced.
    assert sdsfs("mount", SAMPLE, point).returncode == 0
    assert sdsfs("status", point).returncode == 0
    assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_metrics_are_openmetrics(tmp_path, point):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    root = tmp_path / "bad.sds"
    shutil.copytree(SAMPLE, root)
    shard = next((root / "objects/data").rglob("*.arrayrecord"))
    shard.chmod(0o644)
    raw = bytearray(shard.read_bytes())
    raw[len(raw) // 2] ^= 1
    shard.write_bytes(raw)
    assert sdsfs("mount", root, point).returncode == 0
    try:
        for path in point.glob("records/*/*.npy"):
            try:
                path.read_bytes()
            except OSError:
                pass
        for path in point.glob("records/*/record.safetensors"):
            try:
                path.read_bytes()
            except OSError:
                pass

        def families_now() -> dict:
            text = (point / "control/metrics").read_text()
            return {family.name: family for family in parser.text_string_to_metric_families(text)}

        def counts_of(families: dict, name: str, suffix: str) -> dict:
            return {s.labels["op"]: s.value for s in families[name].samples if s.name.endswith(suffix)}

        def all_answered() -> bool:  # what was read ahead may be on its way still
            families = families_now()
            durations = counts_of(families, "sdsfs_request_duration_seconds", "_count")
            return durations["read"] == counts_of(families, "sdsfs_requests", "_total")["read"] > 0

        assert wait_until(all_answered)
        families = families_now()
        errors = {s.labels["check"]: s.value for s in families["sdsfs_errors"].samples}
        assert sum(errors.values()) > 0
        durations = families["sdsfs_request_duration_seconds"]
        assert durations.type == "histogram"
        assert families["sdsfs_decode_seconds"].samples[0].value > 0
        assert families["sdsfs_decoded_bytes"].samples[0].value > 0
        assert families["sdsfs_read_bytes"].samples[0].value > 0
        assert families["sdsfs_cache_hits"].samples[0].value > 0
    finally:
        assert sdsfs("umount", point).returncode == 0


@needs_fuse
def test_a_failure_that_repeats_is_logged_so_often_only(service, point, tmp_path):
    root = tmp_path / "bad.sds"
    shutil.copytree(SAMPLE, root)
    for shard in (root / "objects/data").rglob("*.arrayrecord"):
        shard.chmod(0o644)
        shard.write_bytes(b"\0" * shard.stat().st_size)
    process = service("-o", "log_format=json", root, point)
    failed = 0
    for ordinal in range(48):
        try:
            (point / f"records/{ordinal:06}/record.safetensors").read_bytes()
        except OSError:
            failed += 1
    assert failed == 48
    kept = [json.loads(line) for line in (point / "control/errors.jsonl").read_text().splitlines()]
    assert sum(line.get("count", 1) for line in kept) >= 48
    process.terminate()
    lines = [json.loads(line) for line in process.communicate(timeout=20)[1].splitlines()]
    failures = [line for line in lines if "check" in line]
    assert len(failures) == 20
    assert set(failures[0]) == {"time", "level", "message", "path", "object", "check"}
    assert failures[0]["path"].startswith("records/")


# --- mounts of others -----------------------------------------------------------------------------


def mount_device(point: Path, where: str = "fuse.sdsfs") -> int:
    """Mounts without a daemon, as a container's manager does, and returns the device."""
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    data = f"fd={device},rootmode=40000,user_id=0,group_id=0,default_permissions,max_read=1048576"
    assert libc.mount(b"captures", bytes(point), where.encode(), 0, data.encode()) == 0, os.strerror(ctypes.get_errno())
    return device


@needs_root
@needs_fuse
@pytest.mark.parametrize("as_argument", [False, True])
def test_a_device_that_was_handed_over(point, as_argument):
    device = mount_device(point)
    where = [SAMPLE, f"/dev/fd/{device}"] if as_argument else ["--fd", device, SAMPLE]
    try:
        done = sdsfs("mount", *where, pass_fds=[device])
        assert done.returncode == 0, done.stderr
    finally:
        os.close(device)
    assert (point / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()
    daemon = daemon_of(point)
    assert sdsfs("status", point).returncode == 0
    assert sdsfs("umount", point).returncode == 0
    assert wait_until(lambda: not Path(f"/proc/{daemon}").exists())


def test_descriptors_that_are_none(tmp_path):
    assert sdsfs("mount", "--fd", "x", SAMPLE).returncode == 2
    assert sdsfs("mount", "--fd", "3", SAMPLE, tmp_path).returncode == 2
    for number in ("-1", " 3", "3x", "", "4294967299", "99999999999"):
        done = sdsfs("mount", "--fd", number, SAMPLE)
        assert done.returncode == 2 and "expected a number" in error_line(done)
    done = sdsfs("mount", "--fd", "77", SAMPLE)
    assert done.returncode == 4 and "descriptor 77: Bad file descriptor" in error_line(done)
    for name in ("/dev/null", SDSFS):
        with open(name) as file:
            done = sdsfs("mount", "--fd", file.fileno(), SAMPLE, pass_fds=[file.fileno()])
            assert done.returncode == 4 and f"descriptor {file.fileno()} is not /dev/fuse" in error_line(done)


@needs_root
@needs_fuse
def test_a_descriptor_without_a_mount():
    with open("/dev/fuse", "r+b", buffering=0) as device:
        done = sdsfs("mount", "--fd", device.fileno(), SAMPLE, pass_fds=[device.fileno()])
    assert done.returncode == 4 and b"(a mount has to be made with the descriptor first)" in done.stderr


@needs_fuse
@pytest.mark.parametrize("dead", [False, True])
def test_two_that_mount_at_the_same_time(point, dead):
    for _ in range(6):
        if dead:
            assert sdsfs("mount", SAMPLE, point).returncode == 0
            os.kill(daemon_of(point), signal.SIGKILL)
            assert wait_until(lambda: b'"dead"' in sdsfs("status", "--json", point).stdout)
        both = [subprocess.Popen([SDSFS, "mount", str(SAMPLE), str(point)], stderr=subprocess.PIPE) for _ in range(2)]
        told = [process.communicate(timeout=60)[1] for process in both]
        assert sorted(process.returncode for process in both) == [0, 4], told
        assert b"is mounted there already" in b"".join(told)
        assert sdsfs("umount", point).returncode == 0
        assert not is_mounted(point)


@needs_root
@needs_fuse
@pytest.mark.parametrize("kind", ["fuse.sdsfs", "fuse.sshfs"])
def test_a_mount_that_hangs_is_told_not_waited_for(point, kind):
    device = mount_device(point, kind)
    try:
        done = sdsfs("mount", SAMPLE, point, timeout=20)
        assert done.returncode == 4 and "a mount is there already, and its daemon does not answer" in error_line(done)
        assert sum(line.split()[1] == str(point) for line in mount_lines()) == 1
    finally:
        os.close(device)
        detach(point)


@needs_fuse
@pytest.mark.skipif(shutil.which("fusermount3") is None, reason="needs fusermount3")
def test_auto_unmount(point):
    # fusermount3 looks once whether the mount is dead, and where the machine is busy the kernel may not have closed
    # the daemon's device by then.
    for _ in range(3):
        assert sdsfs("mount", "-o", "auto_unmount", SAMPLE, point).returncode == 0
        os.kill(daemon_of(point), signal.SIGKILL)
        if wait_until(lambda: not is_mounted(point), 5):
            break
    assert not is_mounted(point)
    assert sdsfs("mount", "-o", "auto_unmount", SAMPLE, point).returncode == 0
    assert sdsfs("umount", point).returncode == 0


@needs_root
@needs_fuse
def test_a_live_foreign_mount_is_left_alone(point):
    toy = Toy(point) if TOYFS else None
    if toy is None:
        pytest.skip("toyfs is not built")
    try:
        # What is ours by its type and alive is never replaced; nor is a dead one of others.
        done = sdsfs("mount", SAMPLE, point)
        assert done.returncode == 4 and "mounted there already" in error_line(done)
        assert (point / "hello.txt").read_text() == "hello, world\n"
    finally:
        assert toy.stop() == 0
    device = mount_device(point, "fuse.other")
    os.close(device)
    done = sdsfs("mount", SAMPLE, point)
    assert done.returncode == 4 and "a dead mount of type fuse.other is there" in error_line(done)
    detach(point)


@needs_root
@needs_fuse
def test_under_an_automount(point):
    """autofs asks whoever steps in to wait until somebody has mounted: that one is us."""
    ends = os.pipe()
    libc = ctypes.CDLL(None, use_errno=True)
    data = f"fd={ends[1]},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
    if libc.mount(b"systemd-1", bytes(point), b"autofs", 0, data.encode()) != 0:
        pytest.skip("no autofs here")
    try:
        done = sdsfs("mount", SAMPLE, point, timeout=20)
        assert done.returncode == 0, done.stderr
        assert (point / "root.json").exists()
        assert sdsfs("umount", point).returncode == 0
    finally:
        detach(point)
        for end in ends:
            os.close(end)


# --- mount(8), fstab, systemd ---------------------------------------------------------------------

FSTAB = (
    "_netdev,nofail,noauto,x-systemd.automount,x-systemd.idle-timeout=60,x-systemd.requires=network-online.target,"
    "x-systemd.mount-timeout=30,x-gvfs-hide,comment=captures,user,users,ro,nosuid,nodev,noexec,relatime,"
    "allow_other,uid=1000,log=error"
)


@needs_root
@needs_fuse
def test_a_line_of_fstab(point):
    """As mount(8) does it from fstab, in a mount namespace; nothing of the environment is there."""
    there = point.parent / "there"
    script = f"""
        set -e
        mkdir "{point}/sbin" "{there}" && cp -a /sbin/. "{point}/sbin" 2>/dev/null
        ln -sf "{SDSFS}" "{point}/sbin/mount.sdsfs" && mount --bind "{point}/sbin" /usr/sbin
        echo "{SAMPLE} {there} sdsfs {FSTAB} 0 0" >"{point}/fstab"
        mount -T "{point}/fstab" -v "{there}"
        cat "{there}/root.json"
        grep " {there} " /proc/mounts >&2
        umount "{there}"
    """
    done = run("env", "-i", "PATH=/usr/bin:/bin:/usr/sbin", "unshare", "-m", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert (SAMPLE / "root.json").read_bytes() in done.stdout
    options = done.stderr.decode().split(" fuse.sdsfs ")[1].split()[0].split(",")
    assert {"ro", "nosuid", "nodev", "noexec", "relatime", "allow_other"} <= set(options)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit(tmp_path):
    unit = tmp_path / "sdsfs@captures.service"
    unit.write_text(UNIT.read_text().replace("/usr/bin/sdsfs", SDSFS))
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert done.returncode == 0 and not done.stderr, done.stderr
    done = run("systemd-analyze", "security", "--offline=yes", "--threshold=45", unit)
    assert done.returncode == 0, done.stdout.decode()


def test_the_unit_has_no_mount_namespace():
    settings = {line.split("=")[0] for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#"}
    hides = {
        "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "PrivateMounts", "ProtectKernelTunables",
        "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectProc", "ProcSubset",
        "ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "TemporaryFileSystem", "BindPaths",
        "BindReadOnlyPaths", "RootDirectory", "RootImage", "MountFlags", "DynamicUser", "PrivateUsers", "NoExecPaths",
    }
    assert not settings & hides


