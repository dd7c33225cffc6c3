#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Python's ways to the records, and prints what bench/reader prints.

    reference.py index ROOT FIELD [--seed S]              dataset[i][FIELD] of the reference package
    reference.py iterate ROOT FIELD                       for record in dataset: record[FIELD]
    reference.py load DIR FIELD --count N [--seed S]        numpy.load of DIR/records/<ordinal>/FIELD.npy
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator

MASK = (1 << 64) - 1


def random_words(state: int) -> Iterator[int]:
    """SplitMix64, as in order.c."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        x = state
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        yield x ^ x >> 31


def order(count: int, seed: int) -> list[int]:
    """The order that bench_order() gives for the same seed."""
    result = list(range(count))
    if seed == 0:
        return result
    words = random_words(seed)
    for i in range(count, 1, -1):
        j = next(words) % i
        result[i - 1], result[j] = result[j], result[i - 1]
    return result


def arrays_by_index(args: argparse.Namespace) -> Iterator:
    import signal_dataset as sds

    dataset = sds.open(args.source)
    return (dataset[i][args.field].data for i in order(len(dataset), args.seed))


def arrays_by_iteration(args: argparse.Namespace) -> Iterator:
    import signal_dataset as sds

    return (record[args.field].data for record in sds.open(args.source))


def arrays_by_load(args: argparse.Namespace) -> Iterator:
    import numpy as np

    width = max(6, len(str(args.count - 1)))
    name = f"{args.field}.npy"
    return (
        np.load(f"{args.source}/records/{i:0{width}d}/{name}") for i in order(args.count, args.seed)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Times reading records from Python.")
    ways = {"index": arrays_by_index, "iterate": arrays_by_iteration, "load": arrays_by_load}
    parser.add_argument("way", choices=ways)
    parser.add_argument("source")
    parser.add_argument("field")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int)
    args = parser.parse_args()

    arrays = ways[args.way](args)
    records = size = 0
    start = time.perf_counter()
    for array in arrays:
        records += 1
        size += array.nbytes
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "records": records,
                "bytes": size,
                "seconds": seconds,
                "records_per_s": records / seconds,
                "mb_per_s": size / seconds / 1e6,
            }
        )
    )


if __name__ == "__main__":
    main()
