# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of our own, made by openssl: a server's certificate for localhost, its
subdomains and 127.0.0.1, and a client's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .processes import need, run


@dataclass(frozen=True)
class Authority:
    where: Path

    @property
    def ca(self) -> Path:
        return self.where / "ca.pem"

    def certificate(self, name: str) -> Path:
        return self.where / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.where / f"{name}.key"


def _sign(where: Path, name: str, subject: str, extensions: str) -> None:
    key, request, extra = (where / f"{name}{end}" for end in (".key", ".csr", ".ext"))
    run(["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key, "-out", request], "openssl req")
    extra.write_text(extensions)
    ca = ["-CA", where / "ca.pem", "-CAkey", where / "ca.key", "-CAcreateserial"]
    run(
        ["openssl", "x509", "-req", "-in", request, *ca, "-days", "7", "-extfile", extra, "-out", where / f"{name}.pem"],
        "openssl x509",
    )


def make_authority(where: Path) -> Authority:
    need({"openssl": "package openssl"})
    where.mkdir(parents=True, exist_ok=True)
    extensions = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "7", "-subj", "/CN=sdsfs test authority"]
    run([*make, *extensions, "-keyout", where / "ca.key", "-out", where / "ca.pem"], "openssl req -x509")
    names = "subjectAltName=DNS:localhost,DNS:*.localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"
    _sign(where, "server", "/CN=localhost", names)
    _sign(where, "client", "/CN=sdsfs test client", "basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n")
    return Authority(where)
