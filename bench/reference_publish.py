#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Publishes rows with the reference package, and prints what bench/reader prints.

    reference_publish.py ROOT SET ROWS

Only the publication is timed: starting Python, opening the dataset, reading the rows and making objects of
them is not.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import signal_dataset as sds


def field(folder: Path, value: dict) -> sds.Field:
    array = np.load(folder / value["npy"])
    axes = tuple(sds.Axis(axis["name"], length) for axis, length in zip(value["axes"], array.shape, strict=True))
    return sds.Field(array, axes)


def record(folder: Path, ids: list[str], row: dict) -> sds.AnnotationRecord:
    return sds.AnnotationRecord(
        ids[row["ordinal"]],
        row["ordinal"],
        sds.AnnotationStatus(row["status"]),
        row["values"],
        {name: field(folder, value) for name, value in row.get("fields", {}).items()},
        provenance=row["provenance"],
    )


def main() -> None:
    root, name, rows_file = sys.argv[1:]
    dataset = sds.open(root)
    ids = [metadata.id for metadata in dataset.record_metadata]
    rows = [json.loads(line) for line in Path(rows_file).read_text().splitlines()]
    rows.sort(key=lambda row: row["ordinal"])
    records = [record(Path(rows_file).parent, ids, row) for row in rows]
    start = time.perf_counter()
    sds.publish_annotations(dataset, name, records)
    seconds = time.perf_counter() - start
    print(json.dumps({"records": len(records), "bytes": 0, "seconds": seconds}))


if __name__ == "__main__":
    main()
