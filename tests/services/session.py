# SPDX-License-Identifier: Apache-2.0
"""The servers of a test session. Whoever needs them takes part (`Session`); the first one starts a keeper
in the background that owns the servers, and all who come later find them. The keeper ends them when nobody
has taken part for a while, and they end with it, whatever ends it.

    python -m services.session DIR      the keeper
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .gcs import Gcs, GcsServer
from .processes import ServiceError, fresh_folder
from .rgw import S3, Rgw
from .tls import Authority, make_authority

LINGER = 45  # seconds without anybody; a test run has gaps
START = 180


def default_folder() -> Path:
    """One for each checkout and user."""
    mark = hashlib.sha256(str(Path(__file__).resolve()).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"sdsfs-services-{os.getuid()}-{mark}"


def lock(path: Path, how: int) -> int | None:
    """A descriptor that holds the lock; None when LOCK_NB is in the way of waiting."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, how)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def own_folder(where: Path) -> None:
    where.mkdir(mode=0o700, exist_ok=True)
    if where.is_symlink() or where.stat().st_uid != os.getuid():
        raise ServiceError(f"{where} belongs to somebody else")


class Session:
    """Taking part: the servers are there until close(), or the end of this process."""

    def __init__(self, where: Path | None = None) -> None:
        top = where or default_folder()
        own_folder(top)
        self._part = lock(top / "users", fcntl.LOCK_SH)  # before looking, so that the keeper stays
        starting = lock(top / "starting", fcntl.LOCK_EX)
        try:
            if not self._is_kept(top):
                self._start_keeper(top)
            told = json.loads((top / "ready.json").read_bytes())
        except BaseException:
            self.close()
            raise
        finally:
            os.close(starting)
        self.authority = Authority(top / "tls")
        self.s3, self.gcs = S3(**told["s3"]), Gcs(**told["gcs"])

    @staticmethod
    def _is_kept(top: Path) -> bool:
        """Whether a keeper is at work; one whose starter was killed is waited for."""
        end = time.monotonic() + START
        while (held := lock(top / "keeper", fcntl.LOCK_EX | fcntl.LOCK_NB)) is None:
            if (top / "ready.json").exists():
                return True
            if time.monotonic() > end:
                raise ServiceError(f"the keeper of {top} does not get ready")
            time.sleep(0.05)
        os.close(held)
        return False

    @staticmethod
    def _start_keeper(top: Path) -> None:
        ready, log = top / "ready.json", top / "keeper.out"
        ready.unlink(missing_ok=True)
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
        with open(log, "wb") as out:
            argv = [sys.executable, "-m", "services.session", str(top)]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
            keeper = subprocess.Popen(argv, start_new_session=True, env=environment, **quiet)
        end = time.monotonic() + START
        while not ready.exists():
            if keeper.poll() is not None or time.monotonic() > end:
                raise ServiceError(log.read_text(errors="replace").strip()[-1500:] or "the servers did not start")
            time.sleep(0.05)

    def close(self) -> None:
        if self._part is not None:
            os.close(self._part)
            self._part = None


def nobody_for(seconds: float, users: Path) -> int:
    """Waits until nobody takes part for so long; holds newcomers up from then on."""
    since = time.monotonic()
    while True:
        held = lock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if held is None:
            since = time.monotonic()
        elif time.monotonic() - since >= seconds:
            return held
        else:
            os.close(held)
        time.sleep(0.5)


def keep(top: Path) -> None:
    kept = lock(top / "keeper", fcntl.LOCK_EX | fcntl.LOCK_NB)
    if kept is None:
        raise ServiceError(f"{top} has a keeper already")
    servers: list = []
    try:
        authority = make_authority(fresh_folder(top / "tls"))
        servers.append(GcsServer(top / "gcs", authority))
        servers.append(Rgw(top / "rgw", authority))
        told = {"gcs": servers[0].where.as_dict(), "s3": servers[1].where.as_dict(), "pid": os.getpid()}
        (top / "ready.new").write_text(json.dumps(told))
        (top / "ready.new").rename(top / "ready.json")
        nobody_for(LINGER, top / "users")
    finally:
        (top / "ready.json").unlink(missing_ok=True)
        for server in servers:
            server.stop()


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        keep(Path(sys.argv[1]))
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
