#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes files.txt: heads of .npy files and what numpy.load makes of them. Every run gives the same file.

One file a line: "VERDICT DTYPE SHAPE OFFSET SIZE HEX". OFFSET is that of the data, SIZE that of the file, HEX its
header. VERDICT is

ok       numpy reads an array that records can have, and the file is written as programs write them
odd      the same, from a header that only numpy's use of Python's parser makes good: a reader may refuse it
refused  numpy refuses the file, or reads an array that records cannot have
"""

import io
import random
import struct
import warnings
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

DTYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8", "<c8"}


def saved(array: np.ndarray, version=None) -> bytes:
    out = io.BytesIO()
    npy.write_array(out, array, version)
    return out.getvalue()


def framed(header: str, data: bytes, version: int = 1) -> bytes:
    text = header.encode("utf-8" if version == 3 else "latin1")
    return npy.magic(version, 0) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


def header(descr: str = "'<f4'", order: str = "False", shape: str = "(2,)") -> str:
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)


def by_numpy():
    for version in ((1, 0), (2, 0), (3, 0)):
        for name in sorted(DTYPES):
            for shape in ((2,), (0,), (2, 3), (1, 0, 4)):
                yield saved(np.zeros(shape, name), version)
        yield saved(np.zeros((1,) * 64, "<f4"), version)
        yield saved(np.zeros((12345,), "|u1"), version)
        yield saved(np.zeros((3, 2), "<f8").T, version)  # in Fortran order
        yield saved(np.zeros((1, 3), "<f8").T, version)  # C and Fortran order at once
        yield saved(np.zeros((6,), "<f8")[::2], version)
    for name in (">f4", ">u2", ">c8", "<c16", "S3", "<U2", "<M8[ns]", "V4", "f4,i4", "(2,)f4"):
        yield saved(np.zeros((2, 2), name))
    yield saved(np.zeros((), "<f4"))
    yield saved(np.array([None]))
    yield saved(np.zeros(2, [("é", "<f4")]))


def by_others():
    """As other programs write headers: their own spaces, quotes, padding, order of keys, ways to write a dtype."""
    data = bytes(8)
    for descr in ("'f4'", "'=f4'", '"<f4"'):
        yield framed(header(descr), data)
    for descr in ("'<u1'", "'=i1'", "'>b1'", "'|u1'", "'i1'"):
        yield framed(header(descr), bytes(2))
    for version in (1, 2, 3):
        yield framed(header(), data, version)
        yield framed(header() + " " * 60 + "\n", data, version)
        yield framed(header().replace(" ", ""), data, version)
        yield framed(header().replace(", }", "}"), data, version)
        yield framed(header().replace(" ", "\n"), data, version)
        yield framed(header().replace("'", '"'), data, version)
        yield framed("{'shape': (2,), 'fortran_order': False, 'descr': '<f4'}", data, version)
    for version in (1, 2):
        yield framed(header(shape="(2L,)"), data, version)
        yield framed(header(shape="(1L, 2L)"), data, version)
    for shape in ("(1,2)", "(1, 2, )", "( 2 , )", "(2,1,1)"):
        yield framed(header(shape=shape), data)
    yield framed(header(order="True"), data)
    yield framed(header() + " " * (10000 - len(header())), data)


def by_nobody():
    data = bytes(8)
    yield b""
    yield from (saved(np.zeros(2, "<f4"))[:n] for n in (1, 5, 6, 7, 8, 9, 10, 11, 12, 60, 127, 128, 135))
    yield saved(np.zeros(2, "<f4")) + b"\0"
    for version in (0, 4, 255):
        yield b"\x93NUMPY" + bytes([version, 0]) + saved(np.zeros(2, "<f4"))[8:]
    yield b"\x93NUMPY\x01\x01" + saved(np.zeros(2, "<f4"))[8:]
    yield b"\x94NUMPY" + saved(np.zeros(2, "<f4"))[6:]
    yield framed(header() + " " * (10001 - len(header())), data)
    for shape in (
        "()", "2", "(2)", "[2]", "(2", "2,)", "(,)", "(2,,)", "(2 1)", "(-2,)", "(-1,)", "(2.0,)", "(True,)", "('2',)", "(02,)", "(00,)",
        "(0x2,)", "(+2,)", "(2_0,)", "(None,)", "((2),)", "((2,),)", "(1,2", "(1, 2]", "(2L,)", "(2l,)", "(2 L,)", "(2LL,)", "(L,)", "(2,)*1",
        "(0,4611686018427387904,8)", "(0,2305843009213693951)", "(0,2305843009213693952)", "(0,18446744073709551616)", "(18446744073709551618,)",
        "(4294967296,4294967296)", "(4611686018427387904,4)", "(%s)" % ("1," * 65), "(3,)", "(1,)", "(0,)",
    ):  # fmt: skip
        for version in (1, 3):
            yield framed(header(shape=shape), data, version)
    for order in ("true", "FALSE", "0", "1", "None", "'False'", "Falsee", "False or True", "not True", ""):
        yield framed(header(order=order), data)
    for shape in ("(2, 1)", "(1, 2)", "(0, 3)"):
        yield framed(header(order="True", shape=shape), data)
    for descr in (
        "'|f4'", "'?'", "'|?'", "'f'", "'<f'", "'float32'", "'single'", "'<f4,'", "'<f4 '", "' <f4'", "'<<f4'", "'<'", "''", "'f'", "'<F4'",
        "'>f4'", "'!f4'", "'@f4'", "'<f04'", "'<f3'", "'<b4'", "'<u4'", "'|O'", "'O8'", "'<V4'", "b'<f4'", "u'<f4'", "r'<f4'", "'<f' '4'",
        "'<f\\x34'", "'''<f4'''", "'<f\n4'", "'<f4", "<f4", "4", "None", "('<f4')", "('<f4', (1,))", "[('', '<f4')]", "[('a', '<f4')]",
        "{'a': 1}", "'<f4\0'", "'<f4\u00e9'", "\"<f4'",
    ):  # fmt: skip
        for version in (1, 3):
            yield framed(header(descr), data, version)
    for text in (
        "", " ", "{}", "[]", "()", "1", "{", "}", "{'descr': '<f4'}", header() + "x", header() + "}", header() + ",", header() + "\0", header() + "#",
        header() + "\n#\n", header() + "\\", header() + "\x1a", header() + "\u00a0", "\n" + header(), " " + header(), " \n " + header(),
        "x" + header(), "dict(descr='<f4', fortran_order=False, shape=(2,))", header().replace(", }", ",, }"), header().replace("{", "{,"),
        header().replace("{", "{'descr': '<f4', "), header().replace("{", "{'x': 1, "), header().replace("descr", "Descr"), header().replace(":", "="),
        header().replace("'", ""), header().replace(", ", " "), header().replace("'descr'", "'de' 'scr'"), header().replace("shape", "shap\\x65"),
        header().replace(" ", "\t"), header().replace(" ", "\r"), header().replace(" ", "\f"), header().replace(" ", "\v"), header().replace(" ", "\\\n"),
        "{**" + header() + "}", "(" + header() + ")", header() + "\r\n", header() + "\n \n",
    ):  # fmt: skip
        yield framed(text, data)


def mutated(count: int):
    """A byte or two changed, left out or put in, where it is likely to matter."""
    source = random.Random(7)
    plain = [framed(header(shape=shape), bytes(8)) for shape in ("(2,)", "(1, 2)")]
    bytes_in = b" ,(){}[]'\":<>=|+-.0123456789LTFe\\\n\t\0\xff"
    for _ in range(count):
        file = bytearray(source.choice(plain))
        for _ in range(source.choice((1, 1, 2))):
            at = source.randrange(10, len(file) - 8)
            action = source.randrange(3)
            if action == 0:
                file[at] = source.choice(bytes_in)
            elif action == 1:
                del file[at]
            else:
                file.insert(at, source.choice(bytes_in))
        file[8:10] = struct.pack("<H", len(file) - 18)
        yield bytes(file)


def judge(file: bytes):
    """DTYPE, SHAPE and OFFSET, or None where numpy refuses the file or the array is none of a record."""
    stream = io.BytesIO(file)
    try:
        array = np.load(stream)
        stream.seek(0)
        version = npy.read_magic(stream)
        _, fortran_order, _ = npy._read_array_header(stream, version)
    except Exception:  # whatever it raises, it refuses
        return None
    bad = array.dtype.str not in DTYPES or array.ndim == 0 or (fortran_order and array.ndim > 1)
    if bad or stream.tell() + array.nbytes != len(file):
        return None
    return f"{array.dtype.str} {'x'.join(map(str, array.shape))} {stream.tell()}"


def main() -> None:
    warnings.simplefilter("ignore")
    npy._read_array_header = np.lib._format_impl._read_array_header
    lines = {}
    for verdict, files in (("ok", by_numpy()), ("ok", by_others()), ("odd", by_nobody()), ("odd", mutated(600))):
        for file in files:
            array = judge(file)
            start = 10 if file[6:7] == b"\1" else 12
            length = int.from_bytes(file[8:start], "little")
            line = f"{verdict if array else 'refused'} {array or '- - 0'} {len(file)} {file[:start + length].hex() or '-'}"
            lines.setdefault(file, line)
    Path(__file__).with_name("files.txt").write_text("\n".join(lines.values()) + "\n")


if __name__ == "__main__":
    main()
