#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes headers.txt: what numpy.save puts in front of the data of an array.

One header a line: "DTYPE SHAPE HEX", the shape as "3x4", "-" for rank 0; or "DTYPE RANK*SIZE SHA256" for
headers too long to print, of as many dimensions of one size. Ranks that no array can have come from
numpy's writer of headers itself.
"""

import hashlib
import io
from pathlib import Path

import numpy as np
from numpy.lib._format_impl import _write_array_header

DTYPES = ("?", "i1", "u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8", "<c8")
SIZES = (0, 1, 2, 3, 9, 10, 99, 100, 12345, 2**31, 10**12, 2**40, 2**63 - 1, 2**64 - 1)


def saved(dtype: np.dtype, shape: tuple) -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(shape, dtype))
    return out.getvalue()[: len(out.getvalue()) - dtype.itemsize * int(np.prod(shape))]


def header(dtype: np.dtype, shape: tuple) -> bytes:
    out = io.BytesIO()
    _write_array_header(out, {"descr": dtype.str, "fortran_order": False, "shape": shape})
    return out.getvalue()


def main() -> None:
    lines = []
    for name in DTYPES:
        dtype = np.dtype(name)
        for shape in ((), (0,), (3,), (3, 4), (1, 2, 3), (1000, 0)):
            assert saved(dtype, shape) == header(dtype, shape)
            lines.append(f"{dtype.str} {'x'.join(map(str, shape)) or '-'} {header(dtype, shape).hex()}")
    dtype = np.dtype("<f4")
    for rank in range(1, 65):
        shape = tuple((7 * rank + i) % 3 + 1 if rank < 12 else 1 for i in range(rank))
        assert saved(dtype, shape) == header(dtype, shape)
        lines.append(f"{dtype.str} {'x'.join(map(str, shape))} {header(dtype, shape).hex()}")
    for first in SIZES:
        for shape in ((first,), (first, 5), (5, first)):
            lines.append(f"{dtype.str} {'x'.join(map(str, shape))} {header(dtype, shape).hex()}")
    for rank in (64, 128, 3000, 21790, *range(21800, 21830), 40000):
        digest = hashlib.sha256(header(dtype, (1,) * rank)).hexdigest()
        lines.append(f"{dtype.str} {rank}*1 {digest}")
    Path(__file__).with_name("headers.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
