# SPDX-License-Identifier: Apache-2.0
"""The same as an ordinary user: through fusermount3. Root runs these as nobody, in a mount namespace
of its own where nobody may open /dev/fuse."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import SAMPLE, SDSFS, can_mount, run

pytestmark = [
    pytest.mark.skipif(not can_mount(), reason="nobody can mount here"),
    pytest.mark.skipif(shutil.which("fusermount3") is None, reason="fusermount3 is not installed"),
    pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed"),
]


class User:
    """Runs scripts as an ordinary user with the program, the dataset and a mountpoint at hand."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.point = home / "mnt"
        self.point.mkdir()
        self.program = home / "sdsfs"
        shutil.copy(SDSFS, self.program)
        shutil.copytree(SAMPLE, home / "sample.sds")
        self.prepare = ""

    def run(self, script: str, as_root: str = "") -> subprocess.CompletedProcess:
        names = {"HOME": "", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}
        env = {**names, "SDSFS": str(self.program), "ROOT": str(self.home / "sample.sds"), "MNT": str(self.point)}
        if os.geteuid() != 0:
            if as_root:
                pytest.skip("needs root to prepare")
            return run("bash", "-c", script, env=env)
        node = self.home / "fuse"
        setup = f'mknod "{node}" c 10 229 && chmod 666 "{node}" && mount --bind "{node}" /dev/fuse && rm "{node}"'
        drop = "exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c"
        return run("unshare", "-m", "bash", "-c", f'{setup} && {as_root or "true"} && {drop} "$0"', script, env=env)


@pytest.fixture
def user(tmp_path):
    for parent in [tmp_path, *tmp_path.parents]:
        if parent.name.startswith("pytest-") or parent == tmp_path:
            parent.chmod(0o755)  # so that nobody finds the way
    home = tmp_path / "home"
    home.mkdir()
    made = User(home)
    if os.geteuid() == 0:
        for where, dirs, names in os.walk(home):
            for name in ["", *dirs, *names]:
                os.chown(os.path.join(where, name), 65534, 65534)
    return made


def test_mount_read_unmount(user):
    done = user.run(
        '"$SDSFS" mount "$ROOT" "$MNT" && stat -c %u "$MNT/root.json" && id -u && cat "$MNT/root.json" &&'
        ' pid=$(sed -n \'s/.*"pid": \\([0-9]*\\),/\\1/p\' "$MNT/control/status.json") && test -n "$pid" &&'
        ' "$SDSFS" umount "$MNT" && ! grep -qvs "^$pid (sdsfs) Z" "/proc/$pid/stat" && ! grep -q "$MNT" /proc/mounts'
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    owner, me, content = done.stdout.split(b"\n", 2)
    assert owner == me and content == (SAMPLE / "root.json").read_bytes()


def test_writing_is_forbidden_by_the_modes(user):
    done = user.run(
        '"$SDSFS" mount "$ROOT" "$MNT" || exit 9; for what in "echo x > $MNT/root.json" "mkdir $MNT/records/x"'
        ' "rm -f $MNT/root.json" "echo x > $MNT/control/metrics"; do bash -c "$what" && echo "$what"; done;'
        ' "$SDSFS" umount "$MNT"'
    )
    assert done.returncode == 0 and done.stdout == b""
    assert done.stderr.count(b"Permission denied") + done.stderr.count(b"Read-only file system") == 4


def test_a_killed_daemon_is_replaced(user):
    done = user.run(
        '"$SDSFS" mount "$ROOT" "$MNT" && '
        'kill -9 $(sed -n \'s/.*"pid": \\([0-9]*\\),/\\1/p\' "$MNT/control/status.json"); '
        'for i in 1 2 3 4 5 6 7 8 9 10; do stat "$MNT" >/dev/null 2>&1 || break; sleep 0.1; done; '
        '"$SDSFS" mount "$ROOT" "$MNT" && test -e "$MNT/root.json" && "$SDSFS" umount "$MNT" && '
        '! grep -q "$MNT" /proc/mounts'
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr


def test_busy(user):
    done = user.run(
        '"$SDSFS" mount "$ROOT" "$MNT" && exec 3< "$MNT/root.json" && "$SDSFS" umount "$MNT"; '
        'code=$?; exec 3<&-; "$SDSFS" umount "$MNT" && exit $code'
    )
    assert done.returncode == 4
    assert done.stderr.decode() == f"sdsfs: {user.point}: in use: some process has a file or directory open\n"


def test_allow_other_needs_the_administrator(user):
    conf = Path("/etc/fuse.conf")
    if conf.exists() and "\nuser_allow_other" in conf.read_text():
        pytest.skip("allowed here")
    done = user.run('"$SDSFS" mount -o allow_other "$ROOT" "$MNT"')
    assert done.returncode == 4
    assert done.stderr.decode().startswith(f"sdsfs: {user.point}: option allow_other only allowed if")
    assert done.stderr.count(b"\n") == 1


def test_a_mountpoint_of_somebody_else(user):
    done = user.run('"$SDSFS" mount "$ROOT" /usr')
    assert done.returncode == 4
    assert done.stderr.decode() == "sdsfs: /usr: user has no write access to mountpoint /usr\n"


def test_without_fusermount3(user):
    program = os.path.realpath(shutil.which("fusermount3"))
    done = user.run('"$SDSFS" mount "$ROOT" "$MNT"', as_root=f'mount --bind /dev/null "{program}"')
    assert done.returncode == 4
    assert done.stderr.decode().startswith(f"sdsfs: {user.point}: fusermount3 was not found")


def test_without_the_device(user):
    done = user.run('"$SDSFS" mount "$ROOT" "$MNT"', as_root="chmod 600 /dev/fuse")
    assert done.returncode == 4
    assert done.stderr.decode() == f"sdsfs: {user.point}: /dev/fuse: Permission denied (this user may not use it)\n"


def test_others_are_kept_out_and_let_in(user):
    if os.geteuid() != 0:
        pytest.skip("needs a second user")
    for option, code in (("", 1), ("-o allow_other", 0)):
        point = user.point
        assert run(SDSFS, "mount", *option.split(), SAMPLE, point).returncode == 0
        seen = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", point / "root.json")
        assert run(SDSFS, "umount", point).returncode == 0
        assert seen.returncode == code


def test_auto_unmount_takes_allow_other(user):
    done = user.run('"$SDSFS" mount -o auto_unmount "$ROOT" "$MNT"')
    assert done.returncode == 4
    assert b"auto_unmount works for users other than root only with allow_other" in done.stderr
    allow = 'echo user_allow_other >"$MNT/../fuse.conf" && mount --bind "$MNT/../fuse.conf" /etc/fuse.conf'
    script = (
        '"$SDSFS" mount -o auto_unmount,allow_other,ro "$ROOT" "$MNT" || exit 9\n'
        'kill -9 "$(sed -n \'s/.*"pid": \\([0-9]*\\),/\\1/p\' "$MNT/control/status.json")"\n'
        'for i in $(seq 100); do grep -q "$MNT" /proc/mounts || exit 0; sleep 0.1; done; exit 8'
    )
    done = user.run(script, as_root=allow)
    assert done.returncode == 0, (done.returncode, done.stderr)
