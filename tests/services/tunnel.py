# SPDX-License-Identifier: Apache-2.0
"""A forward proxy in threads of this process that knows CONNECT and nothing else, as companies have one
between their machines and the rest of the world."""

from __future__ import annotations

import base64
import contextlib
import selectors
import socket
import socketserver
import threading

PIECE = 1 << 16


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        tunnel: Tunnel = self.server.tunnel
        method, target, _ = self.rfile.readline().decode("latin-1").split(" ", 2)
        headers = {}
        while line := self.rfile.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        with tunnel.lock:
            tunnel.asked.append((method, target))
        if method != "CONNECT":
            return self.say("405 Method Not Allowed")
        if tunnel.wanted and headers.get("proxy-authorization") != tunnel.wanted:
            return self.say("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="tunnel"')
        host, _, port = target.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 10) as far:
            self.say("200 Connection established")
            self.pump(far)

    def say(self, status: str, *headers: str) -> None:
        length = [] if status.startswith("200") else ["Content-Length: 0"]
        self.wfile.write("\r\n".join([f"HTTP/1.1 {status}", *headers, *length, "", ""]).encode())

    def pump(self, far: socket.socket) -> None:
        """Both ways, until one side is done."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.connection, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, self.connection)
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(PIECE)
                    if not data:
                        return
                    key.data.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_what: object) -> None:
        """Clients may go whenever they like."""


class Tunnel:
    """Tells in `asked` what it was asked for; wants the user and the password where they are given."""

    def __init__(self, user: str = "", password: str = "") -> None:
        self.lock, self.asked = threading.Lock(), []
        self.wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode() if user else ""
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.tunnel = self
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self) -> Tunnel:
        return self

    def __exit__(self, *_what: object) -> None:
        self._server.shutdown()
        self._server.server_close()
