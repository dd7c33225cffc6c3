#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the rows that bench/publish publishes.

    generate_rows.py DATA NAME --count N [--mask BYTES] [--shuffled]

makes DATA/NAME/, unless it is there:
    rows.jsonl  a row for each of N records, as a detector would leave them
    masks/      with --mask: a .npy file of BYTES for each row

Needs numpy.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from pathlib import Path

import numpy as np

LABELS = ("beacon", "chirp", "two-tone burst", "nothing but noise")


def row(ordinal: int, rng: random.Random) -> dict:
    return {
        "ordinal": ordinal,
        "status": "success",
        "values": {
            "label": rng.choice(LABELS),
            "score": round(rng.random(), 6),
            "box": [round(rng.uniform(0, 1e6), 1) for _ in range(4)],
            "reviewed": ordinal % 10 == 0,
        },
        "provenance": {"model": "detector-7", "run": ordinal // 1000},
    }


def add_mask(folder: Path, value: dict, size: int, rng: random.Random) -> None:
    mask = np.zeros(size, np.uint8)
    start = rng.randrange(size)
    mask[start : start + rng.randrange(1, size)] = 1
    name = f"masks/{value['ordinal']:07d}.npy"
    np.save(folder / name, mask)
    value["fields"] = {"mask": {"npy": name, "axes": [{"name": "time"}]}}


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes rows for a benchmark.")
    parser.add_argument("data", type=Path)
    parser.add_argument("name")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--mask", type=int, default=0, help="bytes of a mask for each row")
    parser.add_argument("--shuffled", action="store_true")
    args = parser.parse_args()

    folder = args.data.absolute() / args.name
    if folder.exists():
        return
    partial = folder.with_name(folder.name + ".partial")
    if partial.exists():
        shutil.rmtree(partial)
    (partial / "masks").mkdir(parents=True)
    rng = random.Random(args.count)
    ordinals = list(range(args.count))
    if args.shuffled:
        rng.shuffle(ordinals)
    with (partial / "rows.jsonl").open("w") as out:
        for ordinal in ordinals:
            value = row(ordinal, rng)
            if args.mask > 0:
                add_mask(partial, value, args.mask, rng)
            out.write(json.dumps(value) + "\n")
    partial.rename(folder)


if __name__ == "__main__":
    main()
