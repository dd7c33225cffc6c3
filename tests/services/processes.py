# SPDX-License-Identifier: Apache-2.0
"""Child processes that do not outlive whoever started them, even when that one is killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class ServiceError(Exception):
    """A server that could not be started; the text says what is missing or where it failed."""


def _die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    """A server process. Ended by stop(), or by the kernel when the thread that started it ends."""

    def __init__(self, argv: list[object], log: Path, **more: object) -> None:
        self.name, self.log = Path(str(argv[0])).name, log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [str(a) for a in argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=_die_with_parent,
                **more,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def alive(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-800:]

    def stop(self, seconds: float = 5) -> None:
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


def need(programs: dict[str, str]) -> None:
    """Each of the programs (name: where it comes from), or an error that says what to install."""
    missing = [f"{program} ({origin})" for program, origin in programs.items() if shutil.which(program) is None]
    if missing:
        raise ServiceError("missing: " + ", ".join(missing))


def run(argv: list[object], what: str, seconds: float = 60) -> bytes:
    try:
        done = subprocess.run([str(a) for a in argv], capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ServiceError(f"{what}: no answer after {seconds:g} s") from None
    if done.returncode != 0:
        raise ServiceError(f"{what}: exit {done.returncode}: {done.stderr.decode(errors='replace')[-800:]}")
    return done.stdout


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def http(url: str, method: str = "GET", body: bytes | None = None, headers: dict | None = None) -> bytes:
    """A request to one of our own servers, whatever proxy the environment names."""
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    with _direct.open(request, timeout=60) as answer:
        return answer.read()


def _wait(child: Child, seconds: float, what: str, ready: Callable[[], object]) -> None:
    """Until `ready` raises no OSError; whatever it raises else goes on."""
    end = time.monotonic() + seconds
    while True:
        try:
            ready()
            return
        except OSError:
            pass
        if not child.alive():
            raise ServiceError(f"{child.name} ended: {child.last_words()}")
        if time.monotonic() > end:
            raise ServiceError(f"{child.name} does not {what} after {seconds:g} s: {child.last_words()}")
        time.sleep(0.05)


def wait_for_http(url: str, child: Child, seconds: float) -> None:
    """Until a server answers, whatever it says."""

    def ask() -> None:
        with contextlib.suppress(urllib.error.HTTPError):
            http(url)

    _wait(child, seconds, "answer", ask)


def wait_until_open(port: int, child: Child, seconds: float) -> None:
    """Until somebody listens, for servers that a request of ours would not understand."""
    _wait(child, seconds, "listen", lambda: socket.create_connection(("127.0.0.1", port), 1).close())


def fresh_folder(where: Path) -> Path:
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True, mode=0o700)
    return where


def clean_environment() -> dict[str, str]:
    """The environment without what would lead a client elsewhere than to our servers."""
    words = ("AWS_", "GOOGLE_", "STORAGE_EMULATOR", "SSL_CERT", "CURL_CA", "REQUESTS_CA", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(words)}
