#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names from data and the directory entries they get: the rule of docs/tree.md, stated a second time.

    generate.py > names.json
"""

import hashlib
import json
import re

MAX = 255


def encode(name: bytes, suffix: bytes) -> bytes:
    if not name:
        return b"%" + suffix
    text = name.decode("utf-8", "surrogatepass")
    escaped = [re.sub(r"[/%\x00-\x1f\x7f]", lambda m: f"%{ord(m[0]):02X}", c) for c in text]
    if escaped[0] == ".":
        escaped[0] = "%2E"
    whole = "".join(escaped).encode("utf-8", "surrogatepass")
    if len(whole) + len(suffix) <= MAX:
        return whole + suffix
    mark = b"~" + hashlib.sha256(name).hexdigest()[:16].encode()
    while len("".join(escaped).encode("utf-8", "surrogatepass")) > MAX - len(mark) - len(suffix):
        escaped.pop()
    return "".join(escaped).encode("utf-8", "surrogatepass") + mark + suffix


def names():
    yield from ["", "a", ".", "..", "...", ".a", "a.", "a.b", "/", "a/b", "%", "%2F", "100%", "~", "a~0123456789abcdef"]
    yield from [chr(c) for c in range(0x20)] + ["\x7f", "\x80", "a\0b", "a\nb", " ", "  ", "-", "*", "\\", ":"]
    yield from ["é", "日本語", "𝄞", "\ud800", "\udfff", "a\ud83d", "\udc80.\udcff", "e\u0301", "\u202e", "\ufeff"]
    for n in (233, 234, 235, 236, 237, 238, 239, 249, 250, 251, 252, 253, 254, 255, 256, 257, 300, 600):
        yield "a" * n
        yield "." + "a" * (n - 1)
        yield "a" * (n - 1) + "/"
    # Characters of two, three and four bytes, and escapes, at every place against both cuts.
    for character in ("é", "日", "𝄞", "\ud800", "/"):
        for lead in range(5):
            yield "x" * lead + character * 130
            yield "x" * (232 + lead) + character + "y" * 30
            yield "x" * (248 + lead) + character
    yield "/" * 85
    yield "/" * 84 + "aaa"
    yield "." + "/" * 84
    yield "." * 255
    yield "." * 253
    yield "a" * 238 + "~" + "0" * 16


def main() -> None:
    rows = []
    for name in dict.fromkeys(names()):
        for suffix in ("", ".npy", ".jsonl", "@000042"):
            raw = name.encode("utf-8", "surrogatepass")
            entry = encode(raw, suffix.encode()).decode("utf-8", "surrogatepass")
            rows.append([name, suffix, entry])
    print("[" + ",\n".join(json.dumps(row) for row in rows) + "]")


if __name__ == "__main__":
    main()
