# SPDX-License-Identifier: Apache-2.0
"""Real object stores and web servers on loopback for the tests and benchmarks, a proxy that injects
faults in front of them, and doubles for what the real ones do not do. Python's standard library only.

rgw.py          Ceph's S3 gateway, from Debian's packages
gcs.py          fake-gcs-server, from a wheel
web.py          a static file server with switches
s3_double.py    an S3 service that misbehaves in ways the real one does not
faultproxy.py   the proxy; proxy.py starts it and talks to it
tls.py          a certificate authority, a server's and a client's certificate
session.py      the servers of one test session, shared by all that run at once
processes.py    child processes that never outlive whoever started them
"""
