#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes payloads.bin and expected.txt: record payloads, metadata entries and annotation carriers with
the verdict of the reference (signal_dataset with its safetensors and numpy).

    make_records.py FIXTURES EXPECTED

FIXTURES is a folder of unpacked signal-dataset roots, EXPECTED the JSON file that says what each holds
(only its labels are read); every distinct payload of the sets named below is taken from there. The rest
are small cases written out here, one idea each.

payloads.bin  for each case the length (u32, little-endian), then the bytes
expected.txt  for each case a line "KIND VERDICT FIELDS RENDERED WRITTEN LABEL", then a line
              "NAME DTYPE SHAPE SHA256" for each field. KIND is r, m or a; VERDICT is ok, refused or
              unsupported (accepted by the reference, with an element type beyond the thirteen); NAME is
              hex; SHAPE is "3x4" or "-"; SHA256 is of the data, "-" in metadata entries; RENDERED is
              the SHA-256 of annotation.json as json.dumps writes it with an indent of two, or "-";
              WRITTEN that of what the reference encodes the decoded record or entry to, "refused" when it
              cannot, or "-".
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

from array_record.python.array_record_module import ArrayRecordReader
from signal_dataset._internal.json import thaw_json
from signal_dataset.annotation.codec import SafeTensorsAnnotationCodec
from signal_dataset.record.codec import decode_record, encode_record
from signal_dataset.record.metadata import RecordMetadataCodec

HERE = Path(__file__).resolve().parent
RECORD_SETS = ("basic", "dtypes", "names", "coordinates", "rich_metadata", "unknown_keys", "bad_records", "odd_payloads")
ENTRY_SETS = ("basic", "dtypes", "names", "coordinates", "rich_metadata", "unknown_keys", "bad_metadata")
CARRIER_SETS = ("annotated", "bad_carriers")
DTYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8", "<c8"}
DESCRIPTOR = "__sds_descriptor__"


def extract(fixtures: Path, datasets: dict):
    for kind, sets, pattern in (
        ("r", RECORD_SETS, "objects/data/*/*.arrayrecord"),
        ("m", ENTRY_SETS, "objects/metadata/*/*.arrayrecord"),
        ("a", CARRIER_SETS, "annotations/sets/*/*/objects/*/*.arrayrecord"),
    ):
        for name in sets:
            labels = datasets[name].get("labels", [])
            count = 0
            for path in sorted((fixtures / name).glob(pattern)):
                reader = ArrayRecordReader(str(path))
                for payload in reader.read_all() if reader.num_records() else []:
                    yield kind, f"{name} {count} {labels[count] if count < len(labels) else ''}".rstrip(), payload
                    count += 1


def safetensors(header: str, data: bytes) -> bytes:
    text = header.encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype='"U8"', shape="[1]", offsets="[0,1]", more=""):
    return '{"dtype":%s,"shape":%s,"data_offsets":%s%s}' % (dtype, shape, offsets, more)


def record(descriptor: str, t: str = tensor(), data: bytes = b"x", extra: str = "") -> bytes:
    """A payload of one data tensor, "t", and the descriptor behind it."""
    text = descriptor.encode("utf-8", "surrogatepass")
    end = len(data) + len(text)
    header = '{"t":%s,"%s":%s%s}' % (t, DESCRIPTOR, tensor('"U8"', f"[{len(text)}]", f"[{len(data)},{end}]"), extra)
    return safetensors(header, data + text)


def descriptor(fields: str, more: str = "") -> str:
    return '{"format":"signal-dataset.record","version":"0.1","id":"r","fields":{%s}%s}' % (fields, more)


def field(axes: str = '{"name":"a","length":1}', name: str = "f", more: str = "") -> str:
    return '"%s":{"tensor":"t","axes":[%s]%s}' % (name, axes, more)


def axis(length=1, name="a", more="") -> str:
    return '{"name":"%s","length":%s%s}' % (name, length, more)


def one(t: str, data: bytes = b"x", axes: str | None = None, extra: str = "") -> bytes:
    return record(descriptor(field() if axes is None else field(axes)), t, data, extra)


def headers():
    """What the safetensors library and numpy add to the preflight."""
    yield "dtype as a map", one(tensor('{"U8":null}'))
    yield "dtype as a map to an object", one(tensor('{"U8":{}}'))
    yield "dtype as a map of two", one(tensor('{"U8":null,"I8":null}'))
    yield "dtype as an array", one(tensor('["U8"]'))
    yield "dtype escaped", one(tensor('"\\u00558"'))
    yield "offset -0", one(tensor(offsets="[-0,1]"))
    yield "shape is an object", one(tensor(shape="{}"))
    yield "shape is empty text", one(tensor(shape='""'))
    for depth in (125, 126):
        yield f"{depth} arrays in a tensor entry", one(tensor(more=',"x":' + "[" * depth + "]" * depth))
    for number in (
        "1.7976931348623157e308", "1.7976931348623158e308", "17976931348623157e292", "179769313486231570000e288",
        "1" + "0" * 308, "1" + "0" * 309, "9" * 309, "0e999", "1e-99999999999", "1e99999999999", "0e99999999999",
        "0.00001e313", "1" + "0" * 30 + "e278", "1" + "0" * 30 + "e279", "0." + "0" * 400 + "1e709",
        "0." + "0" * 400 + "1e710", "-1e309", "18446744073709551616.3e289", "1844674407370955161.63e290", "-0", "-0.0",
    ):  # fmt: skip
        label = number if len(number) < 40 else f"{number[:20]}..{number[-6:]} of {len(number)} bytes"
        yield f"number {label} in a tensor entry", one(tensor(more=',"x":' + number))
    for shape in (
        "0,4611686018427387904", "0,4611686018427387904,2", "4611686018427387904,2,0", "0,9223372036854775807",
        "0,9223372036854775808", "0,3037000500,3037000500", "4611686018427387904,4,0",
    ):  # fmt: skip
        axes = ",".join(axis(n, f"a{i}") for i, n in enumerate(shape.split(",")))
        yield f"shape [{shape}] of U8", one(tensor(shape=f"[{shape}]", offsets="[0,0]"), b"", axes)
    for extent in (2305843009213693951, 2305843009213693952):
        t = tensor('"F32"', f"[0,{extent}]", "[0,0]")
        yield f"shape [0,{extent}] of F32", one(t, b"", axis(0) + "," + axis(extent, "b"))
    for rank in (64, 65):
        axes = ",".join(axis(1, f"a{i}") for i in range(rank))
        yield f"rank {rank}", one(tensor(shape=json.dumps([1] * rank)), axes=axes)
    for text in ("null", "{}", '{"a":"b"}', '{"a":null}', "[]", '"s"'):
        yield f"__metadata__ {text}", one(tensor(), extra=f',"__metadata__":{text}')
    yield "escaped tensor name", record(descriptor('"f":{"tensor":"\\u0074","axes":[%s]}' % axis()))
    yield "lone surrogate in a tensor entry", one(tensor(more=',"x":"\\ud800"'))
    yield "surrogate pair in a tensor entry", one(tensor(more=',"x":"\\ud83d\\ude00"'))
    yield "empty tensor before another", record(
        descriptor('"f":{"tensor":"t","axes":[%s]},"g":{"tensor":"u","axes":[%s]}' % (axis(), axis(0))),
        extra=',"u":' + tensor(shape="[0]", offsets="[0,0]"),
    )
    yield "empty tensor in the middle of another", record(
        descriptor('"f":{"tensor":"t","axes":[%s]},"g":{"tensor":"u","axes":[%s]}' % (axis(2), axis(0))),
        tensor(shape="[2]", offsets="[0,2]"), b"xy", ',"u":' + tensor(shape="[0]", offsets="[1,1]"),
    )  # fmt: skip


def shared(first: str, second: str, length: int = 2) -> bytes:
    """Two axes with one id and the coordinates given; null leaves the coordinate out."""
    axes = [axis(length, name, ',"id":"i"' + ("" if c == "null" else f',"coordinate":{c}')) for name, c in (("a", first), ("b", second))]
    t = tensor(shape=f"[{length},{length}]", offsets=f"[0,{length * length}]")
    return record(descriptor(field(",".join(axes))), t, b"x" * (length * length))


def coordinates():
    values = ('["a","b"]', '"ab"', '{"a":1,"b":2}', '{"b":1,"a":2}', '["ab",""]', '["a",1]', '["b","a"]', '["\\u0061","b"]', '"a\\u0062"')
    for i, a in enumerate(values):
        for b in values[i:]:
            yield f"shared values {a} and {b}", shared(f'{{"values":{a}}}', f'{{"values":{b}}}')
    for a, b in (
        ('{"values":[1,0]}', '{"values":[true,false]}'),
        ('{"values":[1,[2]]}', '{"values":[1.0,[2.0]]}'),
        ('{"values":[9007199254740993,0]}', '{"values":[9007199254740992.0,-0.0]}'),
        ('{"values":[9007199254740992,0]}', '{"values":[9007199254740992.0,-0.0]}'),
        ('{"values":[{"a":1,"b":[]},0]}', '{"values":[{"b":[],"a":1},0]}'),
        ('{"values":["\\u0000","b"]}', '{"values":"\\u0000b"}'),
        ('{"values":["\\ud83d\\ude00","b"]}', '{"values":"\\ud83d\\ude00b"}'),
        ('{"start":0,"step":1}', '{"start":-0.0,"step":1e0}'),
        ('{"start":0,"step":1}', '{"start":0,"step":2}'),
        ('{"start":0,"step":1}', '{"start":1,"step":1}'),
        ('{"values":[1,2]}', '{}'),
        ('{"start":0,"step":1}', '{}'),
        ('{"start":100000000000000000000,"step":1}', '{"start":1e20,"step":1}'),
        ('{"unit":"s"}', '{"unit":"\\u0073"}'),
        ('{"unit":"s"}', '{"unit":null}'),
        ('{"unit":null,"x":1}', '{"x":2}'),
        ('{"metadata":{}}', '{"metadata":0}'),
        ('{"metadata":null}', '{}'),
        ('{"metadata":{"a":1,"b":2}}', '{"metadata":{"b":2.0,"a":true}}'),
        ('{"metadata":{"a":1}}', '{"metadata":{}}'),
        ('{"reference":"f"}', '{"reference":"i"}'),
        ('{"reference":"f"}', '{"reference":"\\u0066"}'),
        ("{}", "null"),
        ("null", "null"),
    ):  # fmt: skip
        yield f"shared {a} and {b}", shared(a, b)
    for c in (
        '{"values":{"a":1e999}}', '{"values":{"a":"\\ud800"}}', '{"values":{"\\ud800":1}}', '{"values":"\\ud800"}', '{"values":[1e999]}',
        '{"values":"\\ud83d\\ude00"}', '{"values":"\\u0000"}', '{"values":"é"}', '{"values":""}', '{"values":[]}', '{"values":false}',
        '{"start":1e999,"step":1}', '{"start":null,"step":1}', '{"start":null,"step":null}', '{"unit":"\\ud800"}', '{"reference":"\\ud800"}',
        '{"reference":null,"values":[1]}', '{"metadata":{"a":"\\ud800"}}', '{"metadata":{"a":1e999}}', '{"x":1e999}', '{"metadata":-0.0}',
        '{"metadata":1e-400}', '{"metadata":"0"}', '{"metadata":true}',
    ):  # fmt: skip
        yield f"coordinate {c}", record(descriptor(field(axis(1, more=f',"coordinate":{c}'))))


def descriptors():
    yield "axes are empty text", record(descriptor('"f":{"tensor":"t","axes":""}'), tensor(shape="[]"))
    yield "axis name escaped twice over", record(
        descriptor(field(axis(1, "a") + "," + axis(1, "\\u0061"))), tensor(shape="[1,1]"))  # fmt: skip
    yield "field name escaped", record(descriptor(field(name="\\u0066\\n")))
    yield "field name a lone surrogate", record(descriptor(field(name="\\ud800")))
    yield "axis length -0", record(descriptor(field(axis("-0"))), tensor(shape="[0]", offsets="[0,0]"), b"")
    yield "axis length 1e0", record(descriptor(field(axis("1e0"))))
    yield "axis id a lone surrogate", record(descriptor(field(axis(more=',"id":"\\ud800"'))))
    yield "axis role a lone surrogate", record(descriptor(field(axis(more=',"role":"\\ud800"'))))
    yield "axis metadata a lone surrogate", record(descriptor(field(axis(more=',"metadata":{"a":"\\udfff"}'))))
    yield "field metadata a lone surrogate as key", record(descriptor(field(more=',"metadata":{"\\udfff":0}')))
    yield "reference to an axis name", record(descriptor(field(axis(more=',"coordinate":{"reference":"a"}'))))
    yield "reference to an id declared later", record(
        descriptor(field(axis(more=',"coordinate":{"reference":"late"}')) + "," + field(axis(more=',"id":"late"'), "g")))  # fmt: skip
    yield "metadata 0e5", record(descriptor(field(), ',"metadata":0e5'))
    yield "infinity in an unknown key", record(descriptor(field(), ',"x":1e999'))


def entries():
    def entry(fields: str, more: str = '"id":"r",') -> bytes:
        return ("{%s" % more + '"fields":{%s}}' % fields).encode("utf-8", "surrogatepass")

    def member(shape: str, axes: str, dtype: str = '"<f4"', more: str = "") -> str:
        return '"f":{"dtype":%s,"shape":%s,"axes":%s%s}' % (dtype, shape, axes, more)

    for empty in ('""', "{}", "[]"):
        yield f"shape and axes {empty}", entry(member(empty, empty))
    yield 'shape "a"', entry(member('"a"', "[" + axis() + "]"))
    yield 'shape {"a":1}', entry(member('{"a":1}', "[" + axis() + "]"))
    yield 'axes "a"', entry(member("[1]", '"a"'))
    for length in ("1", "1.0", "true", "1e0", '"1"', "[1]", "2", "null", "-1"):
        yield f"axis length {length}", entry(member("[1]", "[" + axis(length) + "]"))
    for size in ("-0", "18446744073709551615", "18446744073709551616", "1" + "0" * 40, "1e0", "-1"):
        yield f"shape [{size}]", entry(member(f"[{size}]", "[" + axis(size) + "]"))
    yield "shape product beyond 64 bits", entry(member("[4294967296,4294967296,2]", "[%s,%s,%s]" % (axis(4294967296), axis(4294967296), axis(2))))
    yield "rank 65", entry(member(json.dumps([1] * 65), "[" + ",".join([axis()] * 65) + "]"))
    yield "129 axes", entry(member(json.dumps([1] * 129), "[" + ",".join([axis()] * 129) + "]"))
    yield "infinity in coordinate start", entry(member("[1]", "[" + axis(more=',"coordinate":{"start":1e999}') + "]"))
    yield "infinity in coordinate values", entry(member("[1]", "[" + axis(more=',"coordinate":{"values":[1e999]}') + "]"))
    yield "infinity below a key of coordinate values", entry(member("[1]", "[" + axis(more=',"coordinate":{"values":{"a":1e999}}') + "]"))
    yield "lone surrogate in metadata", entry(member("[]", "[]", more=',"metadata":{"a":"\\ud800"}'))
    yield "lone surrogate as field name", entry(member("[]", "[]").replace('"f"', '"\\ud800"', 1))
    yield "empty field name", entry(member("[]", "[]").replace('"f"', '""', 1))
    yield "dtype escaped", entry(member("[]", "[]", '"\\u003cf4"'))
    yield "dtype f4", entry(member("[]", "[]", '"f4"'))
    yield "id an infinity", entry("", '"id":1e999,')
    yield "same axis names", entry(member("[1,1]", "[%s,%s]" % (axis(), axis())))


def carriers():
    def carrier(annotation: str, fields: str = field()) -> bytes:
        return record(descriptor(fields, ',"metadata":{"annotation":{%s}}' % annotation))

    good = '"source_index":%s,"status":"success","empty_fields":false%s'
    yield "source_index -0", carrier(good % ("-0", ""))
    yield "source_index 2^64 - 1", carrier(good % (2**64 - 1, ""))
    yield "values nested", carrier(good % (0, ',"values":{"b":[],"a":{"c":[1,2.5,null,true]}},"provenance":{}'))
    yield "infinity in values", carrier(good % (0, ',"values":{"a":1e999}'))
    yield "keys escaped", carrier('"source_inde\\u0078":7,"status":"fa\\u0069led","empty_fields":true,"detail_status":"a\\nb"')


def cases(fixtures: Path, datasets: dict):
    yield from extract(fixtures, datasets)
    for kind, makers in (("r", (headers, coordinates, descriptors)), ("m", (entries,)), ("a", (carriers,))):
        for make in makers:
            for label, payload in make():
                yield kind, f"{make.__name__}: {label}", payload


def describe(fields, entry: bool):
    for name, f in fields.items():
        dtype, shape = (f.dtype, f.shape) if entry else (f.data.dtype.str, f.data.shape)
        # A dimension beyond 64 bits stands as the largest of 64 bits.
        text = "x".join(str(min(n, 2**64 - 1)) for n in shape) or "-"
        digest = "-" if entry else hashlib.sha256(f.data.tobytes()).hexdigest()
        yield f"{name.encode('utf-8', 'surrogatepass').hex() or '-'} {dtype} {text} {digest}"


def rendered(row) -> str:
    document = {
        "source_record_id": row.source_record_id,
        "source_index": row.source_index,
        "status": row.status.value,
        "values": thaw_json(row.values),
        "provenance": thaw_json(row.provenance),
        "detail_status": row.detail_status,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def written(kind: str, payload: bytes) -> str:
    """For payloads that decode."""
    try:
        if kind == "m":
            codec = RecordMetadataCodec()
            return hashlib.sha256(codec.encode(codec.decode(payload))).hexdigest()
        return hashlib.sha256(encode_record(decode_record(payload))).hexdigest()
    except Exception:
        return "refused"


def judge(kind: str, payload: bytes):
    """Verdict, fields and rendered document of the reference."""
    try:
        if kind == "r":
            return "ok", list(describe(decode_record(payload).fields, False)), "-"
        if kind == "a":
            row = SafeTensorsAnnotationCodec().decode(payload)
            return "ok", list(describe(row.fields, False)), rendered(row)
        entry = RecordMetadataCodec().decode(payload)
        if not all(isinstance(f.dtype, str) and f.dtype in DTYPES for f in entry.fields.values()):
            return "unsupported", [], "-"
        return "ok", list(describe(entry.fields, True)), "-"
    except Exception:  # whatever it raises, it refuses
        return "refused", [], "-"


def main() -> None:
    datasets = json.loads(Path(sys.argv[2]).read_text())["datasets"]
    seen = set()
    with open(HERE / "payloads.bin", "wb") as payloads, open(HERE / "expected.txt", "w", encoding="ascii") as expected:
        for kind, label, payload in cases(Path(sys.argv[1]), datasets):
            if (kind, payload) in seen:
                continue
            seen.add((kind, payload))
            verdict, fields, document = judge(kind, payload)
            payloads.write(struct.pack("<I", len(payload)) + payload)
            label = label.encode("ascii", "backslashreplace").decode()
            again = written(kind, payload) if verdict == "ok" else "-"
            expected.write("\n".join([f"{kind} {verdict} {len(fields)} {document} {again} {label}", *fields]) + "\n")


if __name__ == "__main__":
    main()
