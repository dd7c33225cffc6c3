# SPDX-License-Identifier: Apache-2.0
"""A double of an S3 service, in memory and in threads of this process, for what the real one at hand does
not do: ignoring conditions, refusing them, living in another region, having another clock. It believes every
signature, but wants one."""

from __future__ import annotations

import hashlib
import http.server
import re
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from urllib.parse import unquote

from .web import serve

SKEW_ALLOWED = 900  # seconds, as S3 does


@dataclass
class Switches:
    conditions: str = "kept"  # "ignored", "refused" (501)
    region: str = ""  # signatures for another one are refused
    region_by: str = "redirect"  # 301 with x-amz-bucket-region; "malformed": 400 with <Region>
    ahead: float = 0.0  # seconds that its clock is ahead of ours
    anonymous: bool = False  # unsigned requests are served
    nothing: bool = False  # every read is answered with a bare 416
    lists: bool = True  # else an absent key is 403, as without the right to list
    tokens: set[str] = field(default_factory=set)  # session tokens that are expired


def error(code: str, more: str = "") -> bytes:
    return f'<?xml version="1.0"?>\n<Error><Code>{code}</Code><Message>told by the double</Message>{more}</Error>'.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_what: object) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate((timestamp or time.time()) + self.server.site.switches.ahead, usegmt=True)

    def do_HEAD(self) -> None:
        self.handle_one(b"")

    def do_GET(self) -> None:
        self.handle_one(b"")

    def do_PUT(self) -> None:
        self.handle_one(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def handle_one(self, body: bytes) -> None:
        double: S3Double = self.server.site
        with double.lock:
            double.requests.append((self.command, unquote(self.path), self.headers.get("Authorization") is not None))
            status, headers, answer = self.refusal() or self.serve_object(double, body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    def refusal(self) -> tuple[int, dict, bytes] | None:
        """Why who asks is not listened to."""
        switches = self.server.site.switches
        signature = self.headers.get("Authorization", "")
        scope = re.search(r"Credential=[^/]+/\d{8}/([^/]+)/s3/aws4_request", signature)
        if scope is None:
            return None if switches.anonymous else (403, {}, error("AccessDenied"))
        asked = datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        if abs(asked.timestamp() - time.time() - switches.ahead) > SKEW_ALLOWED:
            return 403, {}, error("RequestTimeTooSkewed")
        if self.headers.get("x-amz-security-token") in switches.tokens:
            return 400, {}, error("ExpiredToken")
        if switches.region and scope[1] != switches.region:
            here = {"x-amz-bucket-region": switches.region}
            if switches.region_by == "redirect":
                return 301, here, error("PermanentRedirect")
            return 400, {}, error("AuthorizationHeaderMalformed", f"<Region>{switches.region}</Region>")
        return None

    def serve_object(self, double: S3Double, body: bytes) -> tuple[int, dict, bytes]:
        key = unquote(self.path.partition("?")[0])
        data = double.objects.get(key)
        tag = None if data is None else f'"{hashlib.md5(data).hexdigest()}"'
        if self.command == "PUT":
            return self.put(double, key, tag, body)
        if data is None:
            return (404, {}, error("NoSuchKey")) if double.switches.lists else (403, {}, error("AccessDenied"))
        if self.headers.get("If-Match", tag).strip('"') != tag.strip('"'):
            return 412, {}, error("PreconditionFailed")
        headers = {"ETag": tag, "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT", "Accept-Ranges": "bytes"}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if double.switches.nothing:
            return 416, {}, error("InvalidRange")
        if wanted is None:
            return 200, headers, data
        first, last = int(wanted[1]), min(int(wanted[2] or len(data)), len(data) - 1)
        if first > last:
            return 416, {}, error("InvalidRange")
        return 206, headers | {"Content-Range": f"bytes {first}-{last}/{len(data)}"}, data[first : last + 1]

    def put(self, double: S3Double, key: str, tag: str | None, body: bytes) -> tuple[int, dict, bytes]:
        match, none_match = self.headers.get("If-Match"), self.headers.get("If-None-Match")
        conditional = match is not None or none_match is not None
        if conditional and double.switches.conditions == "refused":
            return 501, {}, error("NotImplemented")
        if conditional and double.switches.conditions == "kept":
            if none_match is not None and tag is not None:
                return 412, {}, error("PreconditionFailed")
            if match is not None and (tag is None or match.strip('"') != tag.strip('"')):
                return (404, {}, error("NoSuchKey")) if tag is None else (412, {}, error("PreconditionFailed"))
        double.objects[key] = body
        return 200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}, b""


class S3Double:
    """Objects by "/bucket/key" (path style); a context manager."""

    def __init__(self, **switches: object) -> None:
        self.switches = Switches(**switches)
        self.lock, self.objects, self.requests = threading.Lock(), {}, []
        self.server, self.url = serve(Handler)
        self.server.site = self

    def __enter__(self) -> S3Double:
        return self

    def __exit__(self, *_what: object) -> None:
        self.server.shutdown()
        self.server.server_close()
