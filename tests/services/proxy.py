# SPDX-License-Identifier: Apache-2.0
"""Starts the fault-injecting proxy and talks to it; what rules there are stands in faultproxy.py."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from .processes import Child, ServiceError, http
from .tls import Authority

PROGRAM = Path(__file__).with_name("faultproxy.py")


class Proxy:
    """A proxy in front of `upstream`; TLS towards the client with an authority, and only for clients with
    a certificate of that authority when `clients` is set."""

    def __init__(self, upstream: str, authority: Authority | None = None, clients: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sdsfs-proxy-")
        top = Path(self._folder.name)
        ready, argv = top / "ready", [sys.executable, PROGRAM, "--upstream", upstream, "--ready", top / "ready"]
        if authority is not None:
            argv += ["--cert", authority.certificate("server"), "--key", authority.key("server")]
            argv += ["--client-ca", authority.ca] if clients else []
        self._child = Child(argv, top / "out")
        end = time.monotonic() + 20
        while not ready.exists():
            if not self._child.alive() or time.monotonic() > end:
                raise ServiceError(f"the proxy did not start: {self._child.last_words()}")
            time.sleep(0.02)
        where = json.loads(ready.read_bytes())
        self.url, self._control = where["listen"], where["control"]

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_what: object) -> None:
        self.close()

    def close(self) -> None:
        self._child.stop(1)
        self._folder.cleanup()

    def rules(self, *rules: dict, latency_ms: float = 0, seed: int = 1) -> None:
        """These and no others from now on; none: everything passes."""
        self._post("/rules", {"rules": rules, "latency_ms": latency_ms, "seed": seed})

    def control(self, path: str) -> str:
        """The URL of one of its commands."""
        return self._control + path

    def reset(self) -> None:
        self._post("/reset", {})

    def release(self) -> None:
        """Requests that are held now end now."""
        self._post("/release", {})

    def stats(self) -> dict:
        return json.loads(http(self._control + "/stats"))

    def log(self) -> list[dict]:
        return json.loads(http(self._control + "/log"))

    def _post(self, path: str, what: dict) -> None:
        http(self._control + path, "POST", json.dumps(what).encode())
