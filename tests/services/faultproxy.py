# SPDX-License-Identifier: Apache-2.0
"""An HTTP/1.1 proxy in front of one server that delays, counts and spoils what passes. One process of
its own; proxy.py starts it and talks to it.

    faultproxy.py --upstream URL --ready FILE [--cert PEM --key PEM [--client-ca PEM]]

Requests are passed on byte for byte, Host included, so a signature made for the proxy's address stays
valid. FILE tells where it listens: {"listen": URL, "control": URL}. The control port speaks JSON:

    GET  /stats    {"requests", "down", "up", "connections", "held", "methods": {...}, "statuses": {...},
                   "paths": {"GET /bucket/key": n}, "fired": {action: n}}; down and up are bytes of bodies
    GET  /log      the latest requests: {"method", "path", "range", "status", "down", "up", "fired", "ms", "conditional"}
    POST /rules    {"rules": [...], "latency_ms": n, "seed": n}: replaces all of them
    POST /reset    counters and log begin anew
    POST /release  requests that are held now (hang, stall) end now

A rule says which requests it is for: `method`, `prefix` and `contains` (of the path, decoded), `conditional`
(carries If-Match or If-None-Match or ifGenerationMatch), `ranged`, `after` (how many of them pass first), `times` (how many
it is for in all) and `rate` (a share of them, by a seeded generator). The first that fires is the only one. Its `action`:

    delay     `ms` more before the server is asked
    error     `status` with an S3 error document of `code`, and `retry_after`, `headers`, `body` where given; the server is not asked
    close     no answer, the connection is closed
    hang      no answer for `seconds`, then closed
    lose      the server does what was asked, and the client sees a reset
    reset     `bytes` of the body (default: half), then a reset
    truncate  `bytes` of the body, then closed in spite of Content-Length
    shorten   `bytes` of the body, and Content-Length agrees with that
    stall     `bytes` of the body, then nothing for `seconds`
    drip      the body `bytes` at a time, `ms` between
    range     Content-Range moved by `shift`, or with another `total`
    whole     a 206 is passed as 200 without Content-Range
    flip      one bit of the body at `offset`
    header    header `name` replaced by `value`, or left out when there is none
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import os
import random
import re
import socket
import ssl
import struct
import time
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

PIECE = 256 << 10
LIMIT = 1 << 20  # of a head, and what a reader buffers
LOGGED = 50_000
FOREVER = 1 << 60


class Cut(Exception):
    """The connection ends here, on purpose; with a reset or in an ordinary way."""

    def __init__(self, reset: bool = False) -> None:
        self.reset = reset


@dataclass
class Head:
    first: str
    headers: list[tuple[str, str]]

    @classmethod
    def parse(cls, raw: bytes) -> Head:
        first, *lines = raw[:-4].decode("latin-1").split("\r\n")
        return cls(first, [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)])

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def put(self, name: str, value: str | None) -> None:
        self.headers = [(k, v) for k, v in self.headers if k.lower() != name.lower()]
        if value is not None:
            self.headers.append((name, value))

    def raw(self) -> bytes:
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    @property
    def chunked(self) -> bool:
        return "chunked" in (self.get("transfer-encoding") or "").lower()


@dataclass
class Rule:
    action: str
    method: str | None = None
    prefix: str = ""
    contains: str = ""
    conditional: bool = False
    ranged: bool = False
    after: int = 0
    times: int = FOREVER
    rate: float = 1.0
    more: dict = field(default_factory=dict)
    seen: int = 0
    fired: int = 0

    @classmethod
    def parse(cls, told: dict) -> Rule:
        own = {k: told[k] for k in told if k in cls.__dataclass_fields__ and k not in ("more", "seen", "fired")}
        if own["action"] not in ACTIONS:
            raise ValueError(f"no such action: {own['action']}")
        return cls(**own, more={k: v for k, v in told.items() if k not in own})

    def fires(self, request: Request, dice: random.Random) -> bool:
        if self.method not in (None, request.method) or not request.path.startswith(self.prefix):
            return False
        if self.contains not in request.path or (self.conditional and not request.conditional):
            return False
        if self.ranged and request.range is None:
            return False
        self.seen += 1
        if self.seen <= self.after or self.fired >= self.times or dice.random() >= self.rate:
            return False
        self.fired += 1
        return True


ACTIONS = {"delay", "error", "close", "hang", "lose", "reset", "truncate", "shorten"}
ACTIONS |= {"stall", "drip", "range", "whole", "flip", "header"}


class Request:
    def __init__(self, head: Head) -> None:
        self.head = head
        self.method, self.target, _ = head.first.split(" ", 2)
        self.path = unquote(self.target.partition("?")[0])
        self.range = head.get("range")
        self.conditional = "ifGenerationMatch" in self.target or any(head.get(n) for n in ("if-match", "if-none-match"))
        self.start = time.monotonic()
        self.status = self.down = self.up = 0
        self.fired: str | None = None

    def told(self) -> dict:
        ms = round((time.monotonic() - self.start) * 1000, 1)
        names = ("method", "path", "range", "status", "down", "up", "fired", "conditional")
        return {name: getattr(self, name) for name in names} | {"ms": ms}


class Counters:
    def __init__(self) -> None:
        self.requests = self.down = self.up = self.connections = 0
        self.methods, self.statuses, self.paths, self.fired = (collections.Counter() for _ in range(4))
        self.log: collections.deque[dict] = collections.deque(maxlen=LOGGED)

    def add(self, request: Request) -> None:
        self.requests += 1
        self.down += request.down
        self.up += request.up
        self.methods[request.method] += 1
        self.statuses[request.status] += 1
        self.paths[f"{request.method} {request.path}"] += 1
        if request.fired:
            self.fired[request.fired] += 1
        self.log.append(request.told())

    def told(self) -> dict:
        return {name: value for name, value in vars(self).items() if name != "log"}


async def relay(head: Head, reader: asyncio.StreamReader, sink, bodyless: bool = False) -> None:
    """A body from reader to sink(bytes, how many of them are content)."""
    if bodyless:
        return
    if head.chunked:
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.partition(b";")[0], 16)
            await sink(line, 0)
            await relay_exactly(size, reader, sink)
            end = await reader.readuntil(b"\r\n")
            await sink(end, 0)
            if size == 0:  # trailers end with an empty line
                while end != b"\r\n":
                    end = await reader.readuntil(b"\r\n")
                    await sink(end, 0)
                return
    await relay_exactly(int(head.get("content-length") or 0), reader, sink)


async def relay_exactly(left: int, reader: asyncio.StreamReader, sink) -> None:
    while left > 0:
        data = await reader.read(min(left, PIECE))
        if not data:
            raise Cut
        left -= len(data)
        await sink(data, len(data))


async def discard(_data: bytes, _count: int) -> None:
    pass


class Proxy:
    def __init__(self, upstream: str) -> None:
        url = urlsplit(upstream)
        self.host, self.port, self.secure = url.hostname, url.port, url.scheme == "https"
        self.latency = 0.0
        self.rules: list[Rule] = []
        self.dice = random.Random(1)
        self.counters = Counters()
        self.held = 0
        self.released = asyncio.Event()

    # --- connections ---

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = None
        if self.secure:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return await asyncio.open_connection(self.host, self.port, ssl=context, limit=LIMIT)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counters.connections += 1
        connection = Connection(self, reader, writer)
        try:
            while await connection.one():
                pass
        except Cut as cut:
            if cut.reset:
                hard_close(writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            connection.close()

    async def hold(self, seconds: float) -> None:
        self.held += 1
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.released.wait(), seconds)
        finally:
            self.held -= 1

    def choose(self, request: Request) -> Rule | None:
        return next((rule for rule in self.rules if rule.fires(request, self.dice)), None)

    # --- control ---

    def set_rules(self, told: dict) -> None:
        self.rules = [Rule.parse(rule) for rule in told.get("rules", [])]
        self.latency = told.get("latency_ms", 0) / 1000
        self.dice = random.Random(told.get("seed", 1))

    def command(self, method: str, path: str, body: bytes) -> object:
        if (method, path) == ("GET", "/stats"):
            return self.counters.told() | {"held": self.held}
        if (method, path) == ("GET", "/log"):
            return list(self.counters.log)
        if (method, path) == ("POST", "/rules"):
            self.set_rules(json.loads(body))
        elif (method, path) == ("POST", "/reset"):
            self.counters = Counters()
        elif (method, path) == ("POST", "/release"):
            self.released.set()
            self.released = asyncio.Event()
        else:
            raise ValueError(f"no such command: {method} {path}")
        return {}

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = Head.parse(await reader.readuntil(b"\r\n\r\n"))
            method, path, _ = head.first.split(" ", 2)
            body = await reader.readexactly(int(head.get("content-length") or 0))
            try:
                status, answer = 200, self.command(method, path, body)
            except (ValueError, TypeError, KeyError) as error:
                status, answer = 400, {"error": str(error)}
            text = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (status, len(text)) + text)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def hard_close(writer: asyncio.StreamWriter) -> None:
    """The other end sees a reset."""
    raw = writer.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Connection:
    """A client's connection, and the one to the server that answers it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.server: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def close(self) -> None:
        self.close_server()
        with contextlib.suppress(Exception):
            self.writer.close()

    def close_server(self) -> None:
        if self.server is not None:
            self.server[1].close()
            self.server = None

    async def one(self) -> bool:
        """One request; whether another may follow."""
        try:
            request = Request(Head.parse(await self.reader.readuntil(b"\r\n\r\n")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        counters = self.proxy.counters
        rule = self.proxy.choose(request)
        request.fired = rule.action if rule else None
        try:
            return await self.answer(request, rule)
        finally:
            counters.add(request)

    async def answer(self, request: Request, rule: Rule | None) -> bool:
        action, more = (rule.action, rule.more) if rule else (None, {})
        wait = self.proxy.latency + (more.get("ms", 1000) / 1000 if action == "delay" else 0)
        if wait:
            await asyncio.sleep(wait)
        if action == "close":
            return False
        if action == "hang":
            await self.proxy.hold(more.get("seconds", 60))
            return False
        if (request.head.get("expect") or "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if action == "error":
            await relay(request.head, self.reader, discard)
            return await self.refuse(request, more)
        answer = await self.ask(request)
        request.status = int(answer.first.split(" ", 2)[1])
        bodyless = request.method == "HEAD" or request.status in (204, 304)
        if action == "lose":
            await relay(answer, self.server[0], discard, bodyless)
            raise Cut(reset=True)
        spoil = action if 200 <= request.status < 300 else None
        sink = Spoiler(self, request, spoil, more).prepare(answer, bodyless)
        self.writer.write(sink.head)
        await relay(sink.framing, self.server[0], sink.take, bodyless)
        await self.writer.drain()
        await sink.finish()
        unframed = not bodyless and not answer.chunked and answer.get("content-length") is None
        last = any((head.get("connection") or "").lower() == "close" for head in (request.head, answer))
        return not (unframed or last)

    async def refuse(self, request: Request, more: dict) -> bool:
        request.status = more.get("status", 503)
        code = more.get("code", "SlowDown" if request.status == 503 else "InternalError")
        text = f'<?xml version="1.0"?>\n<Error><Code>{code}</Code><Message>made up by the proxy</Message></Error>'
        body = more.get("body", text).encode()
        head = Head(f"HTTP/1.1 {request.status} Refused", [("Content-Type", "application/xml")])
        if "retry_after" in more:
            head.put("Retry-After", str(more["retry_after"]))
        for name, value in more.get("headers", {}).items():
            head.put(name, value)
        head.put("Content-Length", str(len(body)))
        self.writer.write(head.raw() + (b"" if request.method == "HEAD" else body))
        await self.writer.drain()
        request.down += 0 if request.method == "HEAD" else len(body)
        return True

    async def ask(self, request: Request) -> Head:
        """Passes the request on; the head of its answer."""
        if self.server is None or self.server[0].at_eof():
            self.close_server()
            self.server = await self.proxy.dial()
        reader, writer = self.server
        writer.write(request.head.raw())

        async def up(data: bytes, count: int) -> None:
            request.up += count
            writer.write(data)
            await writer.drain()

        await relay(request.head, self.reader, up)
        while True:
            answer = Head.parse(await reader.readuntil(b"\r\n\r\n"))
            if not answer.first.split(" ", 2)[1].startswith("1"):
                return answer


class Spoiler:
    """What becomes of an answer on its way to the client."""

    def __init__(self, connection: Connection, request: Request, action: str | None, more: dict) -> None:
        self.connection, self.request, self.action, self.more = connection, request, action, more
        self.writer = connection.writer
        self.stop_at = FOREVER
        self.head, self.framing = b"", Head("", [])

    def prepare(self, answer: Head, bodyless: bool) -> Spoiler:
        self.framing = Head(answer.first, list(answer.headers))
        length = int(answer.get("content-length") or 0)
        if self.action in ("reset", "truncate", "shorten", "stall") and not bodyless and not answer.chunked:
            self.stop_at = min(self.more.get("bytes", length // 2), length)
        if self.action == "shorten":
            answer.put("Content-Length", str(min(self.stop_at, length)))
        elif self.action == "range" and (old := re.match(r"bytes (\d+)-(\d+)/(.*)", answer.get("content-range") or "")):
            shift = self.more.get("shift", 0 if "total" in self.more else 1)
            moved = f"bytes {int(old[1]) + shift}-{int(old[2]) + shift}/{self.more.get('total', old[3])}"
            answer.put("Content-Range", moved)
        elif self.action == "whole" and self.request.status == 206:
            answer.put("Content-Range", None)
            answer.first = "HTTP/1.1 200 OK"
        elif self.action == "header":
            answer.put(self.more["name"], self.more.get("value"))
        self.head = answer.raw()
        return self

    async def take(self, data: bytes, count: int) -> None:
        if count and self.stop_at != FOREVER:
            data = data[: max(0, self.stop_at - self.request.down)]
            count = len(data)
        if count and self.action == "flip":
            at = self.more.get("offset", 0) - self.request.down
            if 0 <= at < count:
                data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        if count and self.action == "drip":
            await self.drip(data)
            return
        self.request.down += count
        self.writer.write(data)
        await self.writer.drain()
        if self.request.down >= self.stop_at and self.action != "shorten":
            await self.end()

    async def drip(self, data: bytes) -> None:
        step = self.more.get("bytes", 1)
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            self.request.down += len(piece)
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(self.more.get("ms", 100) / 1000)

    async def end(self) -> None:
        if self.action == "stall":
            await self.connection.proxy.hold(self.more.get("seconds", 60))
        elif self.action == "reset":
            await asyncio.sleep(0.01)  # so that what was written is not thrown away with it
        raise Cut(reset=self.action == "reset")

    async def finish(self) -> None:
        """For bodies so short that nothing was left to cut."""
        if self.action in ("reset", "truncate", "stall") and self.stop_at != FOREVER:
            await self.end()


def server_context(args: argparse.Namespace) -> ssl.SSLContext | None:
    if not args.cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(args.cert, args.key)
    if args.client_ca:
        context.load_verify_locations(args.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--ready", required=True)
    for name in ("--cert", "--key", "--client-ca"):
        parser.add_argument(name)
    args = parser.parse_args()
    proxy, context = Proxy(args.upstream), server_context(args)
    data = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=LIMIT, ssl=context, backlog=1024)
    control = await asyncio.start_server(proxy.control, "127.0.0.1", 0)
    ports = [server.sockets[0].getsockname()[1] for server in (data, control)]
    listen = f"https://localhost:{ports[0]}" if context else f"http://127.0.0.1:{ports[0]}"
    with open(args.ready + ".new", "w") as ready:
        json.dump({"listen": listen, "control": f"http://127.0.0.1:{ports[1]}"}, ready)
    os.replace(args.ready + ".new", args.ready)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
