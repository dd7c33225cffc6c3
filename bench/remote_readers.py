#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/remote runs in Python against a bucket, or a mount of one, and prints what bench/reader prints.

    remote_readers.py upload FOLDER BUCKET              a folder's files as objects (key: the path below it)
    remote_readers.py open ROOT                         the reference opens a dataset
    remote_readers.py index ROOT FIELD                  dataset[i][FIELD], shuffled by --seed, the first --limit
    remote_readers.py iterate ROOT FIELD                for record in dataset
    remote_readers.py ranges BUCKET FOLDER              one ranged GET a record, of the bytes that hold it

Before the clock starts the records of --first are read, and each URL of --before is posted to. With --open-shards the
reference keeps so many staged shards. The S3 endpoint and the keys are those of the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reference import order


def s3_client(connections: int = 10):
    import boto3
    from botocore.config import Config

    config = Config(max_pool_connections=connections, s3={"addressing_style": "path"})
    return boto3.client("s3", config=config)


def upload(args: argparse.Namespace) -> None:
    client, top = s3_client(), Path(args.source)
    client.create_bucket(Bucket=args.what)
    files = [path for path in top.rglob("*") if path.is_file()]

    def put(path: Path) -> None:
        client.put_object(Bucket=args.what, Key=str(path.relative_to(top.parent)), Body=path.read_bytes())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, files))


def opened(args: argparse.Namespace):
    import signal_dataset as sds

    options = sds.StorageOptions(max_open_shards=args.open_shards) if args.open_shards else sds.StorageOptions()
    return sds.open(args.source, options=options)


def by_index(args: argparse.Namespace) -> tuple[Callable[[int], int], list[int]]:
    dataset = opened(args)

    def read(i: int) -> int:
        return dataset[i][args.what].data.nbytes

    return read, order(len(dataset), args.seed)


def ranges_of(root: Path) -> list[tuple[str, int, int]]:
    """Of each record its shard and the part of it that is its own: what is in a shard, shared out evenly, which
    for records of one size in uncompressed shards is as many bytes as any reader has to fetch."""

    def load(path: str) -> dict:
        return json.loads((root / path).read_bytes())

    found = []
    snapshot = load(load("root.json")["snapshot"]["path"])
    for page in (load(page["object"]["path"]) for page in snapshot["manifests"]):
        for shard in page["shards"]:
            path, count = shard["data"]["path"], shard["record_count"]
            size = os.path.getsize(root / path)
            found += [(path, size * i // count, size * (i + 1) // count) for i in range(count)]
    return found


def by_range(args: argparse.Namespace) -> tuple[Callable[[int], int], list[int]]:
    client, root = s3_client(args.threads), Path(args.what)
    parts = ranges_of(root)

    def read(i: int) -> int:
        path, start, end = parts[i]
        wanted = {"Bucket": args.source, "Key": f"{root.name}/{path}", "Range": f"bytes={start}-{end - 1}"}
        return len(client.get_object(**wanted)["Body"].read())

    return read, order(len(parts), args.seed)


def sizes_in_turn(args: argparse.Namespace, read: Callable[[int], int], ordinals: list[int]) -> Iterator[int]:
    if args.threads == 1:
        yield from map(read, ordinals)
        return
    with ThreadPoolExecutor(args.threads) as pool:
        yield from pool.map(read, ordinals)


def start_clock(args: argparse.Namespace) -> float:
    for url in args.before:
        request = urllib.request.Request(url, data=b"", method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()
    return time.perf_counter()


def timed(args: argparse.Namespace) -> None:
    if args.way == "iterate":
        dataset = opened(args)
        start = start_clock(args)
        sizes: Iterator[int] = (record[args.what].data.nbytes for record in dataset)
    elif args.way == "open":
        start = start_clock(args)
        sizes = iter([len(opened(args))])
    else:
        read, ordinals = (by_range if args.way == "ranges" else by_index)(args)
        for i in map(int, filter(None, args.first.split(","))):
            read(i)
        start = start_clock(args)
        sizes = sizes_in_turn(args, read, ordinals[: args.limit])
    records = size = 0
    for one in sizes:
        records += 1
        size += one
    seconds = time.perf_counter() - start
    rate = {"records_per_s": records / seconds, "mb_per_s": size / seconds / 1e6}
    print(json.dumps({"records": records, "bytes": size, "seconds": seconds} | rate))


def main() -> None:
    parser = argparse.ArgumentParser(description="Reads records from a bucket, in Python.")
    parser.add_argument("way", choices=["upload", "open", "index", "iterate", "ranges"])
    parser.add_argument("source")
    parser.add_argument("what", nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--first", default="")
    parser.add_argument("--before", action="append", default=[])
    parser.add_argument("--open-shards", type=int)
    args = parser.parse_args()
    upload(args) if args.way == "upload" else timed(args)


if __name__ == "__main__":
    main()
