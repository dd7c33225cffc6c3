# SPDX-License-Identifier: Apache-2.0
"""Ceph's S3 gateway (radosgw) over one monitor and one OSD, all on loopback: a real service that checks
signatures, keeps its conditions under races, and gives out session tokens (STS) at the same endpoint, to
whom a policy allows it. From the Debian packages ceph-mon, ceph-osd, ceph-common
and radosgw."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from . import tls
from .processes import Child, free_ports, fresh_folder, need, run, wait_for_http

PROGRAMS = {
    "ceph-mon": "package ceph-mon",
    "ceph-osd": "package ceph-osd",
    "radosgw": "package radosgw",
    "radosgw-admin": "package radosgw",
    "ceph": "package ceph-common",
    "monmaptool": "package ceph-common",
}
KEY_ID = "SDSFSTESTKEY00000001"
SECRET = "sdsfs/test+secret/0123456789abcdefghijkl"
OTHER_KEY_ID = "SDSFSTESTKEY00000002"
REGION = "us-east-1"

# One copy of everything, few placement groups, and a monitor that agrees with itself quickly.
CONFIG = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{mon2},v1:127.0.0.1:{mon1}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
keyring = {top}/keyring
run dir = {top}
admin socket =
pid file =
log file = {top}/$name.log
log to stderr = false
err to stderr = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
paxos propose interval = 0.02
paxos min wait = 0.01
[mon]
mon data = {top}/mon
mon initial members = a
mon data avail warn = 1
mon data avail crit = 1
[osd]
osd data = {top}/osd
osd objectstore = {store}
memstore device bytes = 17179869184
bluestore block size = 34359738368
bluestore block create = true
osd memory target = 939524096
[client.rgw]
rgw data = {top}
rgw frontends = beast tcp_nodelay=1 endpoint=127.0.0.1:{http} ssl_endpoint=127.0.0.1:{https} ssl_certificate={chain} ssl_private_key={key}
rgw dns name = localhost
rgw thread pool size = 64
rgw run sync thread = false
rgw enable quota threads = false
rgw enable lc threads = false
rgw s3 auth use sts = true
rgw sts key = sdsfs-sts-key-16
rgw s3 auth order = local, sts
"""


@dataclass(frozen=True)
class S3:
    """Where it is, and who may use it."""

    endpoint: str  # path style; http
    tls_endpoint: str  # path style; https, signed by the session's authority
    host_suffix: str  # http://<bucket>.<host_suffix>/ is the virtual-host style
    key_id: str = KEY_ID
    secret: str = SECRET
    region: str = REGION

    def as_dict(self) -> dict:
        return asdict(self)


class Rgw:
    """Started when constructed; everything it keeps is below `top` and gone after stop()."""

    def __init__(self, top: Path, authority: tls.Authority, store: str = "memstore") -> None:
        need(PROGRAMS)
        self.top, self.children = fresh_folder(top), []
        self.config = top / "ceph.conf"
        mon2, mon1, http, https = free_ports(4)
        self.fsid = str(uuid.uuid4())
        places = {"mon2": mon2, "mon1": mon1, "http": http, "https": https, "fsid": self.fsid, "top": top, "store": store}
        chain = {"chain": authority.certificate("server"), "key": authority.key("server")}
        self.config.write_text(CONFIG.format(**places, **chain))
        self.where = S3(f"http://127.0.0.1:{http}", f"https://localhost:{https}", f"localhost:{http}")
        try:
            self._start_storage(f"[v2:127.0.0.1:{mon2},v1:127.0.0.1:{mon1}]")
            self._start_gateway()
        except BaseException:
            self.stop()
            raise

    def _ceph(self, *argv: object, seconds: float = 60) -> None:
        run([argv[0], "-c", self.config, *argv[1:]], str(argv[0]), seconds)

    def _launch(self, program: str, *argv: object) -> Child:
        child = Child([program, "-c", self.config, "-f", *argv], self.top / f"{program}.out")
        self.children.append(child)
        return child

    def _start_storage(self, address: str) -> None:
        ring, monmap = self.top / "keyring", self.top / "monmap"
        whole = ["--cap", "mon", "allow *"]
        for name, caps in {
            "mon.": whole,
            "client.admin": [*whole, "--cap", "osd", "allow *"],
            "osd.0": ["--cap", "mon", "allow profile osd", "--cap", "osd", "allow *"],
            "client.rgw": [*whole, "--cap", "osd", "allow *"],
        }.items():
            create = [] if ring.exists() else ["--create-keyring"]
            run(["ceph-authtool", ring, *create, "--gen-key", "-n", name, *caps], "ceph-authtool")
        run(["monmaptool", "--create", "--fsid", self.fsid, "--addv", "a", address, monmap], "monmaptool")
        (self.top / "mon").mkdir()
        (self.top / "osd").mkdir()
        self._ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", ring)
        self._launch("ceph-mon", "-i", "a")
        osd = str(uuid.uuid4())
        self._ceph("ceph", "osd", "new", osd, "0")
        self._ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self._launch("ceph-osd", "-i", "0")

    def _start_gateway(self) -> None:
        gateway = self._launch("radosgw", "-n", "client.rgw")
        wait_for_http(self.where.endpoint, gateway, 90)
        user = ["radosgw-admin", "user", "create", "--uid=test", "--display-name=test"]
        self._ceph(*user, f"--access-key={KEY_ID}", f"--secret-key={SECRET}", "--caps=user-policy=*")

    def stop(self) -> None:
        for child in reversed(self.children):
            child.stop(1)
        fresh_folder(self.top).rmdir()
