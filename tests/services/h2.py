# SPDX-License-Identifier: Apache-2.0
"""nghttpx in front of one server: TLS with HTTP/2 towards clients that want it. From the Debian package
nghttp2-proxy."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .processes import Child, ServiceError, free_ports, need, wait_until_open
from .tls import Authority


@dataclass(frozen=True)
class Seen:
    """A request as nghttpx saw it."""

    protocol: str  # h2 or http/1.1, by ALPN
    connection: str  # the client's port
    method: str
    status: int


class Http2:
    """Passes requests on to `upstream` (http://host:port), Host included; a context manager."""

    def __init__(self, upstream: str, authority: Authority, protocols: str = "h2,http/1.1") -> None:
        need({"nghttpx": "package nghttp2-proxy"})
        self._folder = tempfile.TemporaryDirectory(prefix="sdsfs-h2-")
        top, to, (port,) = Path(self._folder.name), urlsplit(upstream), free_ports(1)
        self._log = top / "access"
        argv = ["nghttpx", "--conf=/dev/null", "--workers=1", "--no-ocsp", "--log-level=ERROR", f"--npn-list={protocols}"]
        argv += [f"--frontend=127.0.0.1,{port}", f"--backend={to.hostname},{to.port}", f"--accesslog-file={self._log}"]
        argv += ["--accesslog-format=$alpn $remote_port $method $status", authority.key("server"), authority.certificate("server")]
        self._child = Child(argv, top / "out")
        try:
            wait_until_open(port, self._child, 20)
        except ServiceError:
            self.close()
            raise
        self.url = f"https://localhost:{port}"

    def __enter__(self) -> Http2:
        return self

    def __exit__(self, *_what: object) -> None:
        self.close()

    def close(self) -> None:
        self._child.stop(1)
        self._folder.cleanup()

    def seen(self) -> list[Seen]:
        lines = self._log.read_text().splitlines()
        return [Seen(protocol, port, method, int(status)) for protocol, port, method, status in map(str.split, lines)]
