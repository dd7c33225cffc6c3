# SPDX-License-Identifier: Apache-2.0
"""Mounts of datasets in real object stores and on a web server: the same tree, the same bytes and the same
errors as from a local directory; who may read, and what is refused with which words; how many requests and
bytes reading costs."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import SAMPLE, error_line, is_mounted, mount_lines, needs_fuse, needs_root, run, sdsfs, wait_until
from pages import DOCS, IN_A_BUCKET, check_console, environment
from remote import (
    COUNTED,
    NOT_IN_A_STORE,
    PER_SHARD,
    Client,
    GcsBucket,
    S3Bucket,
    bucket,
    counted,
    counted_root,
    faulty,
    files_of,
    gcs_bucket,
    metric,
    nowhere,
    payload_of,
    prefix,
    proxy,
    record_values,
    right,
    sample,
    services,
    shard_keys,
    write_counted,
    x_of,
)
from services.proxy import Proxy
from services.s3_double import S3Double
from services.web import Web
from test_fixtures import DATA, EXPECTED

__all__ = ["bucket", "counted", "counted_root", "faulty", "gcs_bucket", "nowhere", "prefix", "proxy", "sample", "services"]

pytestmark = needs_fuse
STORES = ("s3", "gcs", "http")


# --- the same as from a local directory ------------------------------------------------------------


@pytest.fixture(scope="session")
def roots(tmp_path_factory) -> Path:
    where = tmp_path_factory.mktemp("datasets")
    subprocess.run(["tar", "--zstd", "-xf", DATA / "data.tar.zst", "-C", where], check=True)
    return where


def filled(made, roots: Path):
    """The bucket of all datasets, which the next run of the tests finds as it was left."""
    done = "done-" + hashlib.sha256((DATA / "data.tar.zst").read_bytes()).hexdigest()
    try:
        made.get(done)
    except Exception:  # noqa: BLE001
        made.upload(roots, "all")
        made.put(done, b"yes")
    return made


@pytest.fixture(scope="session")
def stores(services, roots):
    """Each kind of store: what leads to a dataset there, and the client for it."""
    s3 = S3Bucket(services.s3, "all-datasets")
    try:
        services.gcs.make_bucket("all-datasets")
    except OSError:
        pass  # it is there already
    gcs = GcsBucket.__new__(GcsBucket)
    gcs.gcs, gcs.name, gcs.endpoint = services.gcs, "all-datasets", services.gcs.endpoint
    with Web(roots) as web:
        yield {"s3": filled(s3, roots), "gcs": filled(gcs, roots), "http": web}


def root_in(stores: dict, kind: str, name: str) -> str:
    return f"{stores['http'].url}/{name}" if kind == "http" else stores[kind].uri(f"all/{name}")


def client_of(stores: dict, kind: str, nowhere: dict):
    return Client([], nowhere) if kind == "http" else stores[kind].client(nowhere)


def look(path: str) -> tuple:
    """What a name in the tree is: its kind, size and content, or how it is refused."""
    try:
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            return ("link", os.readlink(path))
        if stat.S_ISDIR(st.st_mode):
            return ("directory", *(f"{key}={os.getxattr(path, key)!r}" for key in sorted(os.listxattr(path)) if key != "user.sds.error"))
        told: tuple = ("file", st.st_size, oct(st.st_mode))
    except OSError as error:
        return ("none", error.errno)
    try:
        with open(path, "rb") as file:
            return (*told, hashlib.sha256(file.read()).hexdigest())
    except OSError as error:
        return (*told, error.errno)


def tree_of(point: Path) -> dict[str, tuple]:
    """Everything in a mount, apart from control/ and index/, by path."""
    found = {}
    todo = [""]
    while todo:
        folder = todo.pop()
        try:
            names = sorted(os.listdir(point / folder))
        except OSError as error:
            found[folder + "/"] = ("refused", error.errno)
            continue
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if path in ("control", "index"):
                continue
            found[path] = look(f"{point}/{path}")
            if found[path][0] == "directory":
                todo.append(path)
    return found


def journal_of(point: Path) -> set[tuple[str, str]]:
    lines = [json.loads(line) for line in (point / "control/errors.jsonl").read_bytes().splitlines()]
    return {(line["path"], line["check"]) for line in lines}


@pytest.fixture(scope="session")
def local_trees():
    return {}


def local_tree(known: dict, name: str, root: Path, point: Path) -> tuple:
    if name not in known:
        assert sdsfs("mount", root, point).returncode == 0
        try:
            known[name] = (tree_of(point), journal_of(point))
        finally:
            assert sdsfs("umount", point).returncode == 0
    return known[name]


def has_pins(root: Path) -> bool:
    return any(b'"generation": 1' in path.read_bytes() for _, path in files_of(root) if path.suffix == ".json")


# A store that honours pins looks for the pinned object, where others refuse the pin as such. What has no
# answer of its own there is told as absent, and local directories know things that are no files.
SAID_DIFFERENTLY = {"bad_root_snapshot_generation", "bad_catalog_generation", "bad_revision_generation"}
MOUNTED = [n for n, want in EXPECTED.items() if want["mount"] == "ok" and not NOT_IN_A_STORE.search(n)]
REFUSED = [n for n, want in EXPECTED.items() if want["mount"] != "ok" and not NOT_IN_A_STORE.search(n)]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", MOUNTED)
def test_same_tree_and_same_errors(name, kind, stores, roots, local_trees, nowhere, point):
    tree, journal = local_tree(local_trees, name, roots / name, point)
    with client_of(stores, kind, nowhere).mounted(root_in(stores, kind, name), point):
        got = tree_of(point)
        assert {path: got.get(path) for path in tree} == tree
        assert got.keys() == tree.keys()
        if not (kind == "gcs" and has_pins(roots / name)):
            checks = {(path, check if check != "absent" else "open") for path, check in journal}
            assert {path for path, _ in journal_of(point)} == {path for path, _ in checks}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", REFUSED)
def test_same_refusal(name, kind, stores, roots, nowhere):
    local = sdsfs("ls", roots / name)
    assert local.returncode in (1, 3)
    uri = root_in(stores, kind, name)
    done = client_of(stores, kind, nowhere).run("ls", uri)
    text = error_line(done)
    assert done.returncode == local.returncode, text
    if name in SAID_DIFFERENTLY and kind == "gcs":
        return
    here, there = error_line(local).removeprefix(str(roots / name)), text
    # The same object and the same check; the sentence may name what only one of the stores has.
    assert there.split(": ")[1:3] == here.split(": ")[1:3], (text, here)


# --- as it is used ---------------------------------------------------------------------------------


def test_the_reference_opens_a_mount_of_a_bucket(sample, bucket, nowhere, point):
    sds = pytest.importorskip("signal_dataset")
    want = sds.open(str(SAMPLE))
    with bucket.client(nowhere).mounted(sample, point):
        got = sds.open(str(point))
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            assert sds.encode(ours) == sds.encode(theirs)
        assert list(got.annotations) == list(want.annotations)


def test_the_tutorial(sample, bucket, nowhere, point):
    """Its end, with the bucket of this test in the place of the page's."""
    page = (DOCS / "tutorial.md").read_text().split(IN_A_BUCKET)[1].replace("s3://datasets/captures.sds", sample)
    own = nowhere | bucket.variables | {"AWS_ENDPOINT_URL": bucket.endpoint}
    point.rename(point.parent / "captures")
    try:
        check_console(page, point.parent, **own)
    finally:
        left = is_mounted(point.parent / "captures")
        if left:
            sdsfs("umount", point.parent / "captures")
        (point.parent / "captures").rename(point)
    assert not left


def test_numpy_over_a_bucket(counted, bucket, nowhere, point):
    with bucket.client(nowhere).mounted(counted, point):
        values = np.load(x_of(point, 7))
        assert right(values.tobytes(), 7)
        mapped = np.load(x_of(point, 8), mmap_mode="r")
        assert right(mapped.tobytes(), 8)
        del mapped


def test_status_tells_the_root(sample, bucket, nowhere, point):
    with bucket.client(nowhere).mounted(sample, point):
        assert json.loads((point / "control/status.json").read_bytes())["root"] == sample
        line = next(m for m in mount_lines() if f" {point} " in m)
        assert line.split()[0] == sample


@needs_root
def test_an_ordinary_user_reads(counted, bucket, nowhere, point):
    for parent in [point, *point.parents]:
        if parent.stat().st_uid == os.getuid() and parent.parts[:2] == ("/", "tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    with bucket.client(nowhere, "allow_other").mounted(counted, point):
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = run(*drop, "cat", x_of(point, 3))
        assert done.returncode == 0 and right(done.stdout, 3), done.stderr


@pytest.mark.parametrize("kind", STORES)
def test_commands_without_a_mount(kind, stores, roots, nowhere, tmp_path):
    client, uri = client_of(stores, kind, nowhere), root_in(stores, kind, "basic")
    for argv in (["info", "--json"], ["verify", "--records"]):
        local, done = sdsfs(*argv, roots / "basic"), client.run(argv[0], *argv[1:], uri)
        assert done.returncode == local.returncode == 0, done.stderr
    assert client.run("ls", "-l", uri, "records/000003").stdout == sdsfs("ls", "-l", roots / "basic", "records/000003").stdout
    done = client.run("cp", "-r", uri, "records/000003", tmp_path / "copy")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy/metadata.json").read_bytes() == sdsfs("cat", roots / "basic", "records/000003/metadata.json").stdout


# --- S3: addresses, certificates, credentials ------------------------------------------------------


def test_virtual_host_style(sample, bucket, services, nowhere, point):
    """The bucket's name in front of the host's, which resolves for everything below localhost."""
    client = bucket.client(nowhere)
    client.options = [f"endpoint=http://{services.s3.host_suffix}"]
    with client.mounted(sample, point):
        assert (point / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()


def test_endpoint_from_the_environment(sample, bucket, nowhere, point):
    client = bucket.client(nowhere)
    client.options = ["path_style"]
    with client.but(AWS_ENDPOINT_URL="http://127.0.0.1:1", AWS_ENDPOINT_URL_S3=bucket.endpoint).mounted(sample, point):
        assert (point / "root.json").exists()


def test_credentials_of_a_profile(sample, bucket, nowhere, point, tmp_path):
    home = Path(nowhere["HOME"])
    (home / ".aws").mkdir()
    keys = f"aws_access_key_id = {bucket.s3.key_id}\naws_secret_access_key = {bucket.s3.secret}\n"
    (home / ".aws/credentials").write_text(f"[default]\naws_access_key_id = no\naws_secret_access_key = no\n[ours]\n{keys}")
    client = bucket.client(nowhere, "profile=ours").but(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    with client.mounted(sample, point):
        assert (point / "root.json").exists()


def test_tls_with_our_own_authority(sample, bucket, services, nowhere, point):
    client = bucket.client(nowhere).at(services.s3.tls_endpoint)
    refused = client.run("mount", sample, point)
    assert refused.returncode == 3 and "certificate" in error_line(refused).lower()
    assert not is_mounted(point)
    with client.but(f"ca_bundle={services.authority.ca}").mounted(sample, point):
        assert (point / "root.json").exists()


def test_client_certificate(sample, bucket, services, nowhere, point):
    authority = services.authority
    with Proxy(services.s3.endpoint, authority, clients=True) as door:
        client = bucket.client(nowhere, f"ca_bundle={authority.ca}").at(door.url)
        refused = client.but("timeout=5", "retries=1").run("mount", sample, point)
        assert refused.returncode == 3 and not is_mounted(point)
        ours = client.but(f"client_cert={authority.certificate('client')}", f"client_key={authority.key('client')}")
        with ours.mounted(sample, point):
            assert (point / "root.json").exists()


def test_anonymous_public_bucket(services, nowhere, point, prefix):
    public = S3Bucket(services.s3)
    uri = public.upload(SAMPLE, prefix, ACL="public-read")
    hidden = public.upload(SAMPLE, prefix + "-hidden")
    anonymous = public.client(nowhere, "no_sign_request").but(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    with anonymous.mounted(uri, point):
        assert (point / "root.json").read_bytes() == (SAMPLE / "root.json").read_bytes()
    done = anonymous.run("mount", hidden, point)
    assert done.returncode == 3 and "permission" in error_line(done)


@pytest.mark.parametrize("wrong", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_wrong_credentials(sample, bucket, nowhere, point, wrong):
    secret = "wr0ngwr0ngwr0ng"
    done = bucket.client(nowhere).but(**{wrong: secret}).run("mount", sample, point)
    text = error_line(done)
    assert done.returncode == 3 and "credentials" in text, text
    assert bucket.s3.secret not in text and (wrong == "AWS_ACCESS_KEY_ID" or secret not in text)


def test_no_credentials_at_all(sample, bucket, nowhere, point):
    client = bucket.client(nowhere).but(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    done = client.run("mount", sample, point)
    assert done.returncode == 3 and not is_mounted(point)
    assert "it was not signed; credentials: nothing was found" in error_line(done)


def test_nothing_there(bucket, nowhere, point, prefix):
    done = bucket.client(nowhere).run("mount", bucket.uri(prefix), point)
    assert done.returncode == 1 and "root.json" in error_line(done)  # as in a directory that has none
    done = bucket.client(nowhere).run("mount", f"s3://absent-{bucket.name}/x", point)
    assert done.returncode == 3 and f'bucket: there is no bucket "absent-{bucket.name}"' in error_line(done)
    done = bucket.client(nowhere, "timeout=5", "retries=1").at("http://127.0.0.1:1").run("mount", bucket.uri(prefix), point)
    assert done.returncode == 3 and not is_mounted(point)


def fill_double(double: S3Double, root: Path = SAMPLE) -> str:
    for name, path in files_of(root):
        double.objects[f"/pocket/d/{name}"] = path.read_bytes()
    return "s3://pocket/d"


def double_client(double: S3Double, nowhere: dict, *options: str):
    keys = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    return Client([f"endpoint={double.url}", "path_style", *options], nowhere | keys)


@pytest.mark.parametrize("region_by", ["redirect", "malformed"])
def test_a_bucket_in_another_region(nowhere, point, region_by):
    with S3Double(region="eu-central-9", region_by=region_by) as double:
        uri = fill_double(double)
        with double_client(double, nowhere).mounted(uri, point):
            assert len(os.listdir(point / "records")) > 0
            known = len(double.requests)
            payload_of(point, 0).read_bytes()
        # Learned once: later requests are signed for the right one at once.
        assert known <= 9 and len(double.requests) <= known + 6


@pytest.mark.parametrize("ahead", [3 * 3600, -3 * 3600])
def test_a_clock_that_is_wrong(nowhere, point, ahead):
    with S3Double(ahead=ahead) as double:
        uri = fill_double(double)
        with double_client(double, nowhere).mounted(uri, point):
            assert len(payload_of(point, 0).read_bytes()) > 0


def test_a_range_that_is_refused_is_no_empty_object(nowhere):
    with S3Double() as double:
        uri = fill_double(double)
        double.objects["/pocket/d/root.json"] = b""  # that is one, and the double says no more of it than Ceph
        done = double_client(double, nowhere, "retries=1").run("info", uri)
        assert done.returncode == 1 and "json: " in error_line(done)
    with S3Double(nothing=True) as double:
        done = double_client(double, nowhere, "retries=1").run("info", fill_double(double))
        assert done.returncode == 3 and "range: the server has nothing at the object's beginning" in error_line(done)


def test_no_right_to_list(nowhere, point, tmp_path):
    """An absent catalog is answered with 403 then; who knows that says so by an option."""
    bare = tmp_path / "bare"
    subprocess.run(["cp", "-r", SAMPLE, bare], check=True)
    subprocess.run(["rm", "-r", bare / "annotations"], check=True)
    with S3Double(lists=False) as double:
        uri = fill_double(double, bare)
        done = double_client(double, nowhere).run("mount", uri, point)
        assert done.returncode in (1, 3) and "tolerate=annotations" in error_line(done)
        with double_client(double, nowhere, "tolerate=annotations").mounted(uri, point):
            assert os.listdir(point / "annotations") == []


# --- the web ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "switches",
    [{}, {"etag": "weak"}, {"etag": "none"}, {"etag": "none", "modified": False}, {"conditions": False}, {"head": False}],
    ids=lambda s: "-".join(s) or "plain",
)
def test_web_servers_that_will_do(counted_root, nowhere, point, switches):
    with Web(counted_root, **switches) as web, Client([], nowhere).mounted(web.url, point):
        for i in (0, COUNTED - 1):
            assert right(x_of(point, i).read_bytes(), i)
        with pytest.raises(OSError) as caught:
            (point / "root.json").write_text("x")
        assert caught.value.errno in (errno.EROFS, errno.EACCES)


@pytest.mark.parametrize(
    ("switches", "why"),
    [({"ranges": False}, "range"), ({"encoding": "gzip"}, "encod")],
    ids=["no ranges", "encoded"],
)
def test_web_servers_that_will_not(counted_root, nowhere, point, switches, why):
    with Web(counted_root, **switches) as web:
        done = Client([], nowhere).run("mount", web.url, point)
        if done.returncode == 0:  # small documents are read whole; a shard is not
            try:
                with pytest.raises(OSError):
                    x_of(point, 0).read_bytes()
                assert why in (point / "control/errors.jsonl").read_text()
            finally:
                assert sdsfs("umount", point).returncode == 0
        else:
            assert done.returncode in (1, 3) and why in error_line(done)


def test_web_over_tls(counted_root, services, nowhere, point):
    with Web(counted_root, services.authority) as web:
        refused = Client([], nowhere).run("mount", web.url, point)
        assert refused.returncode == 3 and "certificate" in error_line(refused).lower()
        with Client([f"ca_bundle={services.authority.ca}"], nowhere).mounted(web.url, point):
            assert right(x_of(point, 5).read_bytes(), 5)


def test_addresses_that_hold_a_password(nowhere, point):
    done = Client([], nowhere).run("mount", "http://user:s3cr3t@127.0.0.1:1/x", point)
    assert done.returncode in (2, 3) and "s3cr3t" not in done.stderr.decode()


# --- pinned generations ----------------------------------------------------------------------------


@pytest.fixture
def pinned(gcs_bucket, counted_root, prefix):
    """A copy in the GCS bucket in which every reference pins the generation of what it names."""

    def document(path: str) -> dict:
        return json.loads((counted_root / path).read_bytes())

    def put(path: str, told: dict) -> dict:
        text = json.dumps(told).encode()
        return {"stored_bytes": len(text), "generation": gcs_bucket.put(f"{prefix}/{path}", text)}

    root = document("root.json")
    snapshot = document(root["snapshot"]["path"])
    for reference in snapshot["manifests"]:
        page = document(reference["object"]["path"])
        for shard in page["shards"]:
            for kind in ("data", "metadata"):
                path = shard[kind]["path"]
                shard[kind]["generation"] = gcs_bucket.put(f"{prefix}/{path}", (counted_root / path).read_bytes())
        reference["object"] |= put(reference["object"]["path"], page)
    root["snapshot"] |= put(root["snapshot"]["path"], snapshot)
    put("root.json", root)
    return gcs_bucket.uri(prefix)


def test_pins_are_honoured_and_never_ignored(pinned, gcs_bucket, counted_root, prefix, nowhere, point):
    client = gcs_bucket.client(nowhere)
    with client.mounted(pinned, point):
        for i in (0, PER_SHARD, COUNTED - 1):
            assert right(x_of(point, i).read_bytes(), i)
    first = shard_keys(counted_root)[0]
    gcs_bucket.put(f"{prefix}/{first}", (counted_root / first).read_bytes())  # same bytes, another generation
    with client.but(CACHE_DIRECTORY=nowhere["HOME"]).mounted(pinned, point):
        with pytest.raises(OSError) as caught:
            payload_of(point, 0).read_bytes()
        assert caught.value.errno == errno.EIO
        assert right(x_of(point, PER_SHARD).read_bytes(), PER_SHARD)
    snapshot = json.loads((counted_root / "root.json").read_bytes())["snapshot"]["path"]
    gcs_bucket.put(f"{prefix}/{snapshot}", b"{}")
    done = client.run("mount", pinned, point)
    assert done.returncode in (1, 3) and snapshot in error_line(done)


def test_pins_are_refused_by_stores_that_cannot_keep_them(pinned, gcs_bucket, bucket, prefix, nowhere, point, tmp_path):
    copy = gcs_bucket.download(prefix, tmp_path / "copy")
    uri = bucket.upload(copy, prefix)
    done = bucket.client(nowhere).run("mount", uri, point)
    assert done.returncode == 1 and "generation" in error_line(done)


# --- what reading costs ----------------------------------------------------------------------------


def read_all(point: Path, ordinals) -> int:
    total = 0
    for i in ordinals:
        data = x_of(point, i).read_bytes()
        assert right(data, i), i
        total += len(data)
    return total


def test_opening_costs_at_most_six_requests(counted, faulty, proxy, point):
    with faulty.mounted(counted, point):
        assert proxy.stats()["requests"] <= 6, proxy.log()


def test_asking_for_the_status_costs_the_first_records_entry_once(counted, faulty, proxy, point):
    """Whoever asks is not kept waiting, and what was fetched is not lost."""

    def fields():
        return json.loads((point / "control/status.json").read_bytes())["fields_of_first_record"]

    with faulty.mounted(counted, point):
        assert wait_until(lambda: fields() is not None)
        assert [field["name"] for field in fields()] == ["x"]
        paths = proxy.stats()["paths"]
        assert max(paths.values()) == 1 and not [path for path in paths if "/objects/data/" in path], paths
        proxy.reset()
        for _ in range(5):
            fields()
        assert proxy.stats()["requests"] == 0


def test_random_records_cost_one_request_and_their_bytes(counted, faulty, proxy, point):
    order = random.Random(4).sample([i for i in range(COUNTED) if i % PER_SHARD], 100)
    with faulty.mounted(counted, point):
        for first in range(0, COUNTED, PER_SHARD):
            read_all(point, [first])  # each shard's index
        proxy.reset()
        size = read_all(point, order)
        cost = proxy.stats()
        assert cost["requests"] <= 1.1 * len(order), proxy.log()
        assert cost["down"] <= 1.2 * size
        told = metric(point, "sdsfs_store_requests_total")
        proxy.reset()
        read_all(point, order)
        assert proxy.stats()["requests"] == 0
        assert metric(point, "sdsfs_store_requests_total") == told
    with faulty.mounted(counted, point):
        proxy.reset()
        read_all(point, order)
        log = [one for one in proxy.log() if "/objects/data/" in one["path"] and one["down"] > 0]
        assert log == [], "the disk cache outlives the mount"


def test_a_sequential_pass_fetches_each_byte_once(counted, counted_root, faulty, proxy, point):
    stored = sum((counted_root / path).stat().st_size for path in shard_keys(counted_root) + shard_keys(counted_root, "metadata"))
    with faulty.mounted(counted, point):
        read_all(point, range(COUNTED))
        cost = proxy.stats()
        assert cost["down"] <= 1.05 * stored + 16384
        assert cost["requests"] <= COUNTED / 2


def test_nothing_is_read_ahead_without_prefetch(counted, faulty, proxy, point):
    with faulty.but("prefetch=0").mounted(counted, point):
        read_all(point, [0])  # with the shards' indexes
        proxy.reset()
        read_all(point, range(1, PER_SHARD // 2))
        data = {path: count for path, count in proxy.stats()["paths"].items() if "/objects/data/" in path}
        assert sum(data.values()) == PER_SHARD // 2 - 1, data


def test_shards_as_files_are_fetched_once(counted, counted_root, faulty, proxy, point):
    paths = shard_keys(counted_root)
    with faulty.mounted(counted, point):
        proxy.reset()
        for path in paths:
            assert (point / path).read_bytes() == (counted_root / path).read_bytes()
        assert proxy.stats()["down"] <= 1.05 * sum((counted_root / path).stat().st_size for path in paths)


def test_listing_costs_the_metadata_and_nothing_more(counted, counted_root, faulty, proxy, point):
    metadata = sum((counted_root / path).stat().st_size for path in shard_keys(counted_root, "metadata"))
    with faulty.mounted(counted, point):
        proxy.reset()
        assert run("ls", "-lR", point / "records").returncode == 0
        once = proxy.stats()
        # Each shard's metadata, and the index of each data shard, which knows how long the records are.
        shards = len(shard_keys(counted_root))
        assert once["down"] <= 1.2 * metadata + shards * (320 << 10), proxy.log()
        assert once["requests"] <= 4 * shards, proxy.log()
        proxy.reset()
        assert run("find", point / "records", "-size", "+1k").returncode == 0
        assert run("df", point).returncode == 0
        assert run("ls", "-lR", point / "records").returncode == 0
        assert proxy.stats()["requests"] == 0


def test_many_readers_wait_together(counted, faulty, proxy, point):
    """Sixteen readers at 50 ms a request are not served one after the other."""
    order = random.Random(5).sample(range(COUNTED), 160)
    with faulty.mounted(counted, point):
        for first in range(0, COUNTED, PER_SHARD):
            read_all(point, [first])
        proxy.rules(latency_ms=50)
        with ThreadPoolExecutor(16) as pool:
            start = time.monotonic()
            assert all(pool.map(lambda i: right(x_of(point, i).read_bytes(), i), order))
            took = time.monotonic() - start
        assert took < len(order) * 0.05 / 3  # a third of what they would take in turn; bench/remote is strict
        proxy.rules()


HUGE_VALUES = 4 << 20  # 16 MiB a record


def test_a_large_record_comes_in_ranges_side_by_side(bucket, faulty, proxy, prefix, point, tmp_path):
    """All of them are asked for before the first is answered, so a record costs one round trip however large it is."""
    (tmp_path / "huge").mkdir()
    write_counted(tmp_path / "huge", 3, per_shard=3, values=HUGE_VALUES)
    root = bucket.upload(tmp_path / "huge", prefix)
    data = {"method": "GET", "contains": "/objects/data/"}
    with faulty.but("timeout=30", "retries=12").mounted(root, point), ThreadPoolExecutor(1) as reader:
        assert x_of(point, 2).read_bytes()[-HUGE_VALUES * 4 :] == record_values(2, HUGE_VALUES).tobytes()  # opens the shard
        assert wait_until(lambda: metric(point, "sdsfs_store_in_flight") == 0, 10)
        proxy.reset()
        proxy.rules(data | {"action": "hang", "seconds": 30}, latency_ms=50)
        read = reader.submit(x_of(point, 1).read_bytes)
        assert wait_until(lambda: proxy.stats()["held"] >= 4, 10)
        proxy.rules(latency_ms=50)
        proxy.release()
        assert read.result()[-HUGE_VALUES * 4 :] == record_values(1, HUGE_VALUES).tobytes()
        asked = {tuple(map(int, one["range"].removeprefix("bytes=").split("-"))) for one in proxy.log() if one["fired"] == "hang"}
        assert len(asked) >= 4 and max(last - first + 1 for first, last in asked) <= 4 << 20
        assert sum(one["down"] for one in proxy.log()) < 1.05 * HUGE_VALUES * 4 + (1 << 20)  # no byte came twice


def test_announced_records_are_fetched_ahead(counted, faulty, proxy, point):
    order = random.Random(6).sample(range(COUNTED), 24)
    with faulty.mounted(counted, point):
        with open(point / "control/prefetch", "w") as announce:
            announce.write("".join(f"{i}\n" for i in order))
        quiet = [-1]

        def settled() -> bool:
            before, quiet[0] = quiet[0], proxy.stats()["requests"]
            time.sleep(0.3)
            return before == quiet[0] and quiet[0] > 10

        assert wait_until(settled, 20)
        proxy.reset()
        read_all(point, order)
        assert [one for one in proxy.log() if "/objects/data/" in one["path"]] == []
