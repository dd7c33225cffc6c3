#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the reference answers to JSON documents: writes the tables beside this file.

Needs signal_dataset 0.4.0. Every run gives the same tables.

documents.txt   document in hex; length of json.dumps(value, ensure_ascii=False) in bytes; json.dumps(value).
                The last two are "refused" when strict_json_loads refuses the document.
written.txt     document in hex; what compact_json_bytes and document_json_bytes write of it, in hex. Both are
                "refused" when the former refuses the value.
equal.txt       two documents; 1 when their values compare equal.
reals.txt       a JSON number; the double it reads as, in hex.
float_text.txt  a double in hex; its repr.
"""
import json
import math
import pathlib
import random
import struct

from signal_dataset._internal.json import compact_json_bytes, document_json_bytes, strict_json_loads

HERE = pathlib.Path(__file__).parent



def encodings(text):
    """Each encoding, without a mark and with one."""
    for codec, mark in [
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ]:
        yield text.encode(codec)
        yield mark + text.encode(codec)


ENCODINGS = [
    *encodings('{"a":1}'),
    *encodings('{"a": [1, "\u00e9\U0001f600"], "\\ud800": null}'),
    # Zero bytes that belong to the second character.
    '"\u0100"'.encode("utf-16-le"),
    '"\u0100"'.encode("utf-16-be"),
    # A second mark, a mark alone, a mark of another encoding.
    b"\xef\xbb\xbf\xef\xbb\xbf{}",
    b"\xff\xfe\xff\xfe{\0}\0",
    b"\xfe\xff\xfe\xff\0{\0}",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xff\xfe\0\0",
    b"\0\0\xfe\xff",
    b"\xef\xbb",
    b"\xfe\xff{}",
    # Short documents, where the guess has little to go by.
    b"",
    b"\0",
    b"1",
    b"1\0",
    b"\x001",
    b"\0\0",
    b"12",
    b"123",
    b"1\x002",
    b"\x0012",
    b"1\0\0\0",
    b"\0\0\x001",
    b"1\x002\0",
    b"\x001\x002",
    b"1\0\0\x002",
    # Units cut off, code points out of range, surrogates alone, in order and out of order.
    b"\xff\xfe[\0]",
    b"\xfe\xff\0[\0]\0",
    b"\xff\xfe\0\0[\0\0\0]\0\0",
    b'\xff\xfe\0\0"\0\0\0\xff\xff\x10\0"\0\0\0',
    b'\xff\xfe\0\0"\0\0\0\0\0\x11\0"\0\0\0',
    b'\xff\xfe\0\0"\0\0\0\0\xd8\0\0"\0\0\0',
    b'\xff\xfe"\0\0\xd8"\0',
    b'\xff\xfe"\0\0\xdc"\0',
    b'\xff\xfe"\0\0\xd8\0\xdc"\0',
    b'\xff\xfe"\0\0\xdc\0\xd8"\0',
    b'\xff\xfe"\0\0\xd8\0\xd8\0\xdc"\0',
    b'\xfe\xff\0"\xdb\xff\xdf\xff\0"',
    b'\xff\xfe"\0"\0\0\xd8',
    b'\xff\xfe"\0\0\xd8\x00',
]

UTF8 = [b'"' + body + b'"' for body in [
    b"\xff", b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2\x80", b"\xdf\xbf", b"\xc2", b"\xc2A", b"\xdf\xc0",
    b"\xe0\x9f\xbf", b"\xe0\xa0\x80", b"\xe2\x80\xa8", b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbb\xbf",
    b"\xef\xbf\xbf", b"\xe1", b"\xe1\x80", b"\xe1\x80A", b"\xe1A\x80", b"\xe1\xc0\x80",
    b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80", b"\xed\xa0", b"\xed\xa0A",
    b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80",
    b"\xf1\x80\x80", b"\xf1\x80\x80A", b"\xf1\x80A\x80", b"\xf1A\x80\x80", b"\xf8\x88\x80\x80\x80",
    b"abcdefg\xc3\xa9", b"abcdefgh\xc3\xa9ijklmnop", b"abcdefghijklm\xf0\x9f\x98\x80",
]] + [b"\xc2\xa0{}", b"\xe2\x80\xa8{}", b"{}\xe2\x80\xa8", b"[\xc3\xa9]", b"{\xc3\xa9:1}"]

STRINGS = [b'"' + body + b'"' for body in [
    b"", b"a", b"\\\"", b"\\\\", b"\\/", b"\\b\\f\\n\\r\\t", b"\\u0000", b"\\u00e9", b"\\u00E9", b"\\u00e", b"\\u",
    b"\\u+123", b"\\u 123", b"\\u12g4", b"\\U0041", b"\\x41", b"\\a", b"\\'", b"\\0", b"\\", b"\\\\\\", b"\x00", b"\x01", b"\t",
    b"\n", b"\x1f", b"\x7f", b"/", b"'", b"\\u0022\\u005c\\u002f", b"\\u001f\\u007f\\u0080\\u07ff\\u0800\\uffff",
    b"\\ud83d\\ude00", b"\\uD83D\\uDE00", b"\\udbff\\udfff", b"\\ud800", b"\\udfff", b"\\ude00\\ud83d", b"\\ud83d\\ud83d\\ude00",
    b"\\ud83dx\\ude00", b"\\ud83d\\n\\ude00", b"\\ud83d\\u00e9", b"\\ud83d\\u", b"\\ud83d\\ude0", b"\\ud83d\xed\xb8\x80",
    b"\xed\xa0\xbd\\ude00", b"1234567\\n", b"12345678\\n9", b"12345\x1f78", b"1234567890123456\x01",
    b"abcdefg\x7f", b"a\\u0061a\\u0061a",
]] + [b'"', b'"a', b'"a\\', b'"a\\u00', b'"\\ud800', b'"\\ud83d\\ude00', b"'a'", b"a", b'"a"b"', b'"a""b"', b'""']
STRINGS += [json.dumps(text, ensure_ascii=False).encode() for text in [
    "\"\\/\b\f\n\r\t", "".join(map(chr, range(32))), "\x7f\x80\u2028\ufeff\uffff\U0010ffff", "\u00e9e\u0301",
]]

NUMBERS = [
    b"0", b"-0", b"0.0", b"-0.0", b"1", b"-1", b"10", b"01", b"-01", b"00", b"-00", b"0x10", b"1_0", b"+1", b"-", b"--1", b"- 1",
    b".5", b"-.5", b"1.", b"-1.", b"1.e5", b"1e", b"1E+", b"1e-", b"1.5e", b"1.5e+", b"1e5", b"1E+5", b"1e-5", b"1e05", b"1e1.5",
    b"1.5", b"1.50", b"0.1", b"0e0", b"-0e5", b"0E-999999999999999999999999", b"1e0000000000000000000000007",
    b"1e999", b"-1e999", b"1e-999", b"1e99999999999999999999999", b"1e-99999999999999999999999", b"[1e999,-1e999]", b"1.0.0",
    b"1" + b"0" * 400, b"1" + b"0" * 400 + b".0", b"0." + b"0" * 400 + b"1e401", b"1" + b"0" * 400 + b"e-400",
    b"18446744073709551615", b"18446744073709551616", b"-9223372036854775808", b"9" * 4300, b"9" * 4301, b"-" + b"9" * 4300,
    b"-" + b"9" * 4301, b"9" * 4301 + b".5", b"9" * 4301 + b"e-4300", b"[" + b"9" * 4301 + b"]", b"9" * 4300 + b"x",
    b"NaN", b"Infinity", b"-Infinity", b"-NaN", b"nan", b"inf", b"[NaN]", b'{"a":Infinity}', b"1e16", b"1e15", b"123456789012345678.0",
]

GRAMMAR = [
    b"true", b"false", b"null", b"True", b"tru", b"truex", b"nul", b"nulll", b"fals", b"true false", b"undefined",
    b" ", b"\t\r\n ", b"{} \t\r\n", b" \n[ \r1\t, 2 ] ", b"{} x", b"{}\0", b"\x0c{}", b"\x0b1", b"[\x0c]", b"// c\n1", b"/**/1", b"1 #",
    b"[]", b"{}", b"[ ]", b"{ }", b"[[]]", b"[{}]", b'{"a" : [ ] }', b'{"a":{}}', b"[1,]", b"[,1]", b"[,]", b"[1,,2]", b"[1 2]", b"[1", b"[1,",
    b"[", b"{", b"]", b"}", b"[}", b"{]", b"[1}", b'{"a":1]', b"[]]", b"{}}", b"[1]2", b"1,2", b",", b":", b"[1:2]",
    b'{"a":1,}', b"{,}", b'{,"a":1}', b"{a:1}", b"{1:1}", b"{null:1}", b'{"a"}', b'{"a":}', b'{"a",1}', b'{"a" 1}', b'{"a"::1}', b'{"a":1 "b":2}',
    b'{"a":1;"b":2}', b'{"a":1,,"b":2}', b'{"a', b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b'{"a":1,"b"', b'["\xff"]', b'{"\xff":1}',
]

KEYS = [
    b'{"a":1,"b":2}', b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"x":{"a":1,"a":1}}', b'[{"a":1},{"a":1}]', b'{"a":{"a":1}}',
    b'{"":1,"":2}', b'{"":1," ":2}', b'{"a":1,"A":2}', b'{"\\ud800":1,"\xed\xa0\x80":2}', b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":2}',
    b'{"\xed\xa0\xbd\xed\xb8\x80":1,"\xf0\x9f\x98\x80":2}', b'{"\\/":1,"/":2}', b'{"\\u0000":1,"":2}', b'{"\xc3\xa9":1,"e\xcc\x81":2}',
]


def numbered(count, *more):
    members = [b'"key%d":%d' % (i, i) for i in range(count)]
    return b"{" + b",".join([*members, *more]) + b"}"


# Around the size where an implementation may change its way of finding repeated keys.
KEYS += [numbered(n) for n in (15, 16, 17, 40, 100)]
KEYS += [numbered(n, b'"key0":1') for n in (15, 16, 17, 40, 100)]
KEYS += [numbered(n, b'"\\u006bey%d":1' % (n - 1)) for n in (15, 16, 17, 40, 100)]
KEYS += [numbered(20, b'"key":0', b'"key\\u0000":0', b'"key\\u0000\\u0000":0', b'"\\u0000key":0', b'"":0', b'"\\u0000":0')]

NESTING = [
    b"[" * 128 + b"]" * 128, b"[" * 129 + b"]" * 129, b"[" * 127 + b"1" + b"]" * 127, b"[" * 128 + b"1" + b"]" * 128,
    b'{"a":' * 127 + b"{" + b"}" * 128, b'{"a":' * 128 + b"{" + b"}" * 129, b"[" * 3000 + b"]" * 3000, b"[" * 3000, b'{"a":' * 500,
    b"[" + b"[" * 127 + b"]" * 127 + b",1," + b"[" * 127 + b"]" * 127 + b"]",
]

# Keys in and out of order, by code point and not by UTF-16 unit; numbers and strings in other forms than they are written.
WRITTEN = [text.encode() for text in [
    '{"b":1,"a":2}', '{"b":{"d":[],"c":{}},"a":[{"z":1,"y":[2,{"x":3,"w":4}]}]}', '{"ab":1,"a":2,"":3,"b":4,"B":5,"_":6,"~":7}',
    '{"\uffff":1,"\U0001f600":2,"\ud7ff":3,"\ue000":4}', '{"\\ud83d\\ude00":1,"\uffff":2,"\\u00e9":3,"e":4,"\\u0000":5,"\\n":6,"!":7}',
    '{"a\\u0000":1,"a":2,"a!":3}', '{"\\u0062":1,"a":2}', '[0,-0,-0.0,0.0,1e0,1E5,1e-5,0.00001,0.0001,123456789012345680.0,1e15,1e16,1.5e300,-2.50]',
    '[0.1,0.30000000000000004,5e-324,1.7976931348623157e308,2.2250738585072014e-308,9007199254740993.0,1e22,1e23,0.1000000000000000055511]',
    '[18446744073709551616,-18446744073709551616,123456789012345678901234567890]', '["\\u001f\\u007f\\u0080\\u2028\\/\\"\\\\\\b\\f\\n\\r\\t\\u0008\\u0022"]',
    '{"a":"\\ud800"}', '{"\\udfff":1}', '[[["\\ud83d"]]]', '[1e999]', '{"a":[-1e400]}', '[ 1 , [ ] , { } , [ [ ] ] , { "a" : { } } ]',
    "{" + ",".join('"%d":%d' % (i * 7919 % 1000, i) for i in range(33)) + "}", "{" + ",".join('"k%d":[%d]' % (i * 7919 % 1000, i) for i in range(100)) + "}",
]]

EQUAL = [
    ("1", "1.0"), ("1", "true"), ("1.0", "true"), ("0", "false"), ("-0.0", "false"), ("0", "-0"), ("-0", "-0.0"), ("0", "0.0"), ("1", "2"),
    ("2", "true"), ("1.5", "1"), ("1e0", "1"), ("10e-1", "1.0"), ("-1", "1"), ("-1", "-1.0"), ("-1", "true"), ("true", "false"),
    ("9007199254740993", "9007199254740992.0"), ("9007199254740992", "9007199254740992.0"), ("9007199254740993", "9007199254740993.0"),
    ("9007199254740993", "9007199254740993"), ("18446744073709551616", "18446744073709551616.0"), ("10000000000000000000000", "1e22"),
    ("100000000000000000000000", "1e23"), ("99999999999999991611392", "1e23"), ("-99999999999999991611392", "-1e23"),
    (str(int(1.7976931348623157e308)), "1.7976931348623157e308"), (str(2**1024), "1e999"), ("1e999", "1e9999"), ("1e999", "-1e999"),
    ("9" * 4300, "9" * 4300), ("9" * 4300, "9" * 4299 + "8"), ("0.1", "0.10000000000000001"), ("0.1", "0.1000000000000001"), ("1e-999", "0"),
    ("null", "null"), ("null", "false"), ("null", "0"), ("null", '""'), ("null", "{}"), ("null", "[]"), ('"1"', "1"), ('""', '""'), ('""', "false"),
    ('"a"', '"\\u0061"'), ('"a"', '"b"'), ('"a"', '"ab"'), ('"\\n"', '"\\u000a"'), ('"\\ud83d\\ude00"', '"\U0001f600"'), ('"\\ud83d"', '"\\ude00"'),
    ("[]", "[]"), ("[]", "{}"), ("[]", "[0]"), ("[1,2]", "[1.0,2.0]"), ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("[[1],[]]", "[[true],[]]"), ("[[1],[]]", "[[],[1]]"),
    ("{}", "{}"), ('{"a":1}', '{"a":1.0}'), ('{"a":1}', '{"b":1}'), ('{"a":1}', '{"a":2}'), ('{"a":1}', '{"a":1,"b":2}'), ('{"a":null}', "{}"),
    ('{"a":1,"b":2}', '{"b":2,"a":1}'), ('{"a":1,"b":2}', '{"b":1,"a":2}'), ('{"a":1,"b":2,"c":3}', '{"a":1,"c":3,"b":2}'),
    ('{"a":1,"b":2,"c":3}', '{"a":1,"c":3,"d":2}'), ('{"\\u0062":1,"a":2}', '{"a":2,"b":1}'), ('{"x":{"a":1,"b":[1,{"c":2,"d":3}]}}', '{"x":{"b":[true,{"d":3,"c":2.0}],"a":1}}'),
    ('{"x":{"a":1,"b":[1,{"c":2,"d":3}]}}', '{"x":{"b":[true,{"d":3,"c":2.5}],"a":1}}'),
]


def midpoint(bits):
    """The decimal half-way between a double and the next one, exactly: digits and exponent."""
    exponent, mantissa = bits >> 52, bits & (1 << 52) - 1
    odd = 2 * (mantissa | (1 << 52 if exponent else 0)) + 1
    power = max(exponent, 1) - 1076
    return (str(odd << power), 0) if power >= 0 else (str(odd * 5**-power), power)


def reals():
    yield from [
        "0.0", "-0.0", "0e0", "1.0", "-1.5", "0.1", "0.3", "1e22", "1e23", "123456789012345678.0", "9007199254740993.0",
        "9007199254740992.99999999999999999", "9007199254740993.00000000000000001", "1e308", "1.7976931348623157e308",
        "1.7976931348623158e308", "1.7976931348623159e308", "-1.7976931348623159e308", "1e309", "1e999999999999999999999",
        "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308", "1e-400",
        "0." + "0" * 500 + "25e501", "25" + "0" * 500 + ".0e-501", "0." + "0" * 2000 + "1", "1" + "0" * 2000 + "e-2000", "0." + "3" * 2000,
        "1." + "0" * 1500 + "1", "1." + "0" * 1500,
    ]
    source = random.Random(1)
    chosen = [0, 1, 2, (1 << 52) - 2, (1 << 52) - 1, 1 << 52, (2 << 52) - 2, (2 << 52) - 1, 2 << 52, 1023 << 52, (1075 << 52) + 1, (2046 << 52) + (1 << 52) - 2]
    for bits in chosen + [source.randrange(2046 << 52) for _ in range(8)]:
        digits, exponent = midpoint(bits)
        yield f"{digits}e{exponent}"
        yield f"{digits[0]}.{digits[1:]}0e{exponent + len(digits) - 1}"
        yield f"{digits}0001e{exponent - 4}"
        yield f"{int(digits) - 1}9999e{exponent - 4}"
    for _ in range(100):
        value = struct.unpack("<d", struct.pack("<Q", source.randrange(2046 << 52)))[0]
        yield repr(value) if "." in repr(value) or "e" in repr(value) else repr(value) + ".0"


def parse(data):
    return strict_json_loads(data, max_depth=128, max_nodes=1_000_000)


def bits_of(value):
    return struct.pack(">d", value).hex()


def write(name, rows):
    (HERE / name).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="ascii")


def document_row(data):
    try:
        value = parse(data)
    except ValueError:
        return data.hex(), "refused", "refused"
    dumped = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return data.hex(), str(len(dumped)), json.dumps(value)


def written_row(data):
    try:
        return data.hex(), compact_json_bytes(parse(data)).hex(), document_json_bytes(parse(data)).hex()
    except ValueError:
        return data.hex(), "refused", "refused"


def equal_row(pair):
    a, b = (parse(text.encode()) for text in pair)
    assert not any(isinstance(v, float) and math.isnan(v) for v in (a, b))
    ascii_pair = [text.encode().hex() for text in pair]
    return *ascii_pair, str(int(a == b))


def main():
    documents = [*ENCODINGS, *UTF8, *STRINGS, *NUMBERS, *GRAMMAR, *KEYS, *NESTING]
    write("documents.txt", map(document_row, documents))
    short = [data for data in documents if len(data) < 200 and document_row(data)[1] != "refused"]
    write("written.txt", map(written_row, [*WRITTEN, *short]))
    write("equal.txt", map(equal_row, EQUAL))
    write("reals.txt", ((text, bits_of(parse(text.encode()))) for text in reals()))
    doubles = [line.split("\t")[0] for line in (HERE / "float_text.txt").read_text().splitlines()]
    write("float_text.txt", ((bits, repr(struct.unpack(">d", bytes.fromhex(bits))[0])) for bits in doubles))


if __name__ == "__main__":
    main()
