#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for metadata entries with the reference package: how many a condition holds for.

    reference_metadata.py ROOT CONDITION     an expression of Python over `entry`

Only the iteration is timed: starting Python and opening the dataset are not. With "False" nothing is asked of an
entry.
"""

from __future__ import annotations

import json
import sys
import time

import signal_dataset as sds


def main() -> None:
    root, text = sys.argv[1:]
    condition = compile(text, "condition", "eval")
    dataset = sds.open(root)
    found = records = 0
    start = time.perf_counter()
    if text == "False":
        for _ in dataset.iter_record_metadata():
            records += 1
    else:
        for entry in dataset.iter_record_metadata():
            records += 1
            found += bool(eval(condition, {"entry": entry}))
    print(json.dumps({"records": records, "found": found, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
