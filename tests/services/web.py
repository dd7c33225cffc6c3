# SPDX-License-Identifier: Apache-2.0
"""A static file server in threads of this process, as plain as they come, with switches for what servers
in the wild do."""

from __future__ import annotations

import hashlib
import http.server
import re
import ssl
import threading
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote

from .tls import Authority


@dataclass
class Switches:
    ranges: bool = True  # else a range is answered with 200 and everything
    etag: str = "strong"  # "weak", "none"
    modified: bool = True  # Last-Modified is sent
    conditions: bool = True  # If-Match and If-Unmodified-Since are looked at
    length: bool = True  # else bodies are chunked, without Content-Length
    encoding: str = ""  # what Content-Encoding claims
    head: bool = True  # else 405
    moved_to: str = ""  # every request is redirected there


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16  # head and body leave together

    def log_message(self, *_what: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, with_body: bool) -> None:
        site: Web = self.server.site
        with site.lock:
            site.requests.append((self.command, self.path, self.headers.get("Range")))
        switches = site.switches
        if switches.moved_to:
            return self.send(302, {"Location": switches.moved_to + self.path}, b"", with_body)
        if self.command == "HEAD" and not switches.head:
            return self.send(405, {}, b"", with_body)
        path = site.file(self.path)
        if path is None:
            return self.send(404, {"Content-Type": "text/plain"}, b"no such file\n", with_body)
        data, headers = path.read_bytes(), {}
        tag, stamp = f'"{hashlib.sha256(data).hexdigest()[:20]}"', int(path.stat().st_mtime)
        if switches.etag != "none":
            headers["ETag"] = ("W/" if switches.etag == "weak" else "") + tag
        if switches.modified:
            headers["Last-Modified"] = formatdate(stamp, usegmt=True)
        if switches.encoding:
            headers["Content-Encoding"] = switches.encoding
        headers["Accept-Ranges"] = "bytes" if switches.ranges else "none"
        if switches.conditions and self.has_changed(tag if switches.etag == "strong" else "", stamp):
            return self.send(412, headers, b"", with_body)
        if switches.ranges and (wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))):
            return self.send_part(wanted, data, headers, with_body)
        return self.send(200, headers, data, with_body)

    def has_changed(self, tag: str, stamp: int) -> bool:
        match, since = self.headers.get("If-Match"), self.headers.get("If-Unmodified-Since")
        if match is not None:
            return match != "*" and tag not in [one.strip() for one in match.split(",")]
        return since is not None and stamp > parsedate_to_datetime(since).timestamp()

    def send_part(self, wanted: re.Match, data: bytes, headers: dict, with_body: bool) -> None:
        first = int(wanted[1])
        last = min(int(wanted[2] or len(data)), len(data) - 1)
        if first > last:
            return self.send(416, headers | {"Content-Range": f"bytes */{len(data)}"}, b"", with_body)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self.send(206, headers, data[first : last + 1], with_body)

    def send(self, status: int, headers: dict, body: bytes, with_body: bool) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        framed = self.server.site.switches.length
        self.send_header(*(("Content-Length", str(len(body))) if framed else ("Transfer-Encoding", "chunked")))
        self.end_headers()
        if with_body and framed:
            self.wfile.write(body)
        elif with_body:
            self.wfile.write((b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_what: object) -> None:
        """Clients may go whenever they like."""


def serve(handler: type, authority: Authority | None = None) -> tuple[Server, str]:
    """A running server on loopback and its URL."""
    server = Server(("127.0.0.1", 0), handler)
    if authority is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.certificate("server"), authority.key("server"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    url = f"https://localhost:{server.server_port}" if authority else f"http://127.0.0.1:{server.server_port}"
    return server, url


class Web:
    """Serves the files below `root`; a context manager."""

    def __init__(self, root: Path, authority: Authority | None = None, **switches: object) -> None:
        self.root, self.switches = root.resolve(), Switches(**switches)
        self.lock, self.requests = threading.Lock(), []
        self.server, self.url = serve(Handler, authority)
        self.server.site = self

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_what: object) -> None:
        self.close()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def file(self, target: str) -> Path | None:
        path = (self.root / unquote(target.partition("?")[0]).lstrip("/")).resolve()
        return path if path.is_file() and path.is_relative_to(self.root) else None
