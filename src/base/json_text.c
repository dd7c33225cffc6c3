// SPDX-License-Identifier: Apache-2.0
//
// From the bytes of a document to UTF-8, as json.loads decodes bytes: a guess at the encoding
// (docs/formats/signal-dataset.md, section 2), then decoding that lets lone surrogates through.
#include <stdlib.h>

#include "base/json_internal.h"

struct encoding {
    const char *name;
    unsigned width; // bytes of a unit
    bool big_endian;
    size_t mark; // bytes of the byte order mark in front
};

static bool begins_with(struct sds_span text, const void *mark, size_t len) {
    return text.len >= len && memcmp(text.at, mark, len) == 0;
}

// The mark of UTF-32, little-endian, begins with the one of UTF-16 and so has to come first.
static bool find_mark(struct sds_span text, struct encoding *out) {
    static const struct {
        const char *mark;
        struct encoding encoding;
    } marks[] = {
        {"\x00\x00\xFE\xFF", {"UTF-32", 4, true, 4}}, {"\xFF\xFE\x00\x00", {"UTF-32", 4, false, 4}},
        {"\xFE\xFF", {"UTF-16", 2, true, 2}},         {"\xFF\xFE", {"UTF-16", 2, false, 2}},
        {"\xEF\xBB\xBF", {"UTF-8", 1, false, 3}},
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (begins_with(text, marks[i].mark, marks[i].encoding.mark)) {
            *out = marks[i].encoding;
            return true;
        }
    }
    return false;
}

// Without a mark: JSON begins with an ASCII character, so where its zero bytes lie tells the rest.
static struct encoding guess(struct sds_span text) {
    static const struct encoding utf8 = {"UTF-8", 1, false, 0};
    static const struct encoding utf16be = {"UTF-16", 2, true, 0};
    static const struct encoding utf16le = {"UTF-16", 2, false, 0};
    static const struct encoding utf32be = {"UTF-32", 4, true, 0};
    static const struct encoding utf32le = {"UTF-32", 4, false, 0};
    const uint8_t *b = text.at;
    if (text.len == 2 && b[0] == 0) {
        return utf16be;
    }
    if (text.len == 2 && b[1] == 0) {
        return utf16le;
    }
    if (text.len >= 4 && b[0] == 0) {
        return b[1] != 0 ? utf16be : utf32be;
    }
    if (text.len >= 4 && b[1] == 0) {
        return b[2] != 0 || b[3] != 0 ? utf16le : utf32le;
    }
    return utf8;
}

static uint32_t load_unit(const uint8_t *at, const struct encoding *e) {
    uint32_t unit = 0;
    for (unsigned i = 0; i < e->width; i++) {
        unit = unit << 8 | at[e->big_endian ? i : e->width - 1 - i];
    }
    return unit;
}

// Length of the code point at the start of text (UTF-16 or UTF-32), 0 when there is none.
static size_t wide_step(struct sds_span text, const struct encoding *e, uint32_t *code) {
    if (text.len < e->width) {
        return 0;
    }
    *code = load_unit(text.at, e);
    if (e->width == 4) {
        return *code <= 0x10FFFF ? 4 : 0;
    }
    if (!sds_is_high_surrogate(*code) || text.len < 4) {
        return 2;
    }
    uint32_t low = load_unit(text.at + 2, e);
    if (!sds_is_low_surrogate(low)) {
        return 2;
    }
    *code = sds_join_surrogates(*code, low);
    return 4;
}

// Length of text (UTF-16 or UTF-32) in UTF-8. false with *bad at the first byte that is wrong.
static bool measure(struct sds_span text, const struct encoding *e, size_t *len, size_t *bad) {
    const uint8_t *start = text.at;
    *len = 0;
    while (text.len > 0) {
        uint32_t code = 0;
        size_t step = wide_step(text, e, &code);
        if (step == 0) {
            *bad = (size_t)(text.at - start);
            return false;
        }
        uint8_t utf8[4];
        *len += sds_utf8_put(code, utf8);
        text = sds_span(text.at + step, text.len - step);
    }
    return true;
}

static void transcode(struct sds_span text, const struct encoding *e, uint8_t *out) {
    while (text.len > 0) {
        uint32_t code = 0;
        size_t step = wide_step(text, e, &code);
        uint8_t utf8[4];
        size_t n = sds_utf8_put(code, utf8);
        memcpy(out, utf8, n);
        out += n;
        text = sds_span(text.at + step, text.len - step);
    }
}

enum sds_kind sds_json_text_open(struct sds_span given, struct sds_json *doc, struct sds_err *err) {
    struct encoding e;
    if (!find_mark(given, &e)) {
        e = guess(given);
    }
    if (e.width == 1 && e.mark == 0) {
        doc->text = given.len > 0 ? given : sds_span_str("");
        return SDS_OK;
    }
    struct sds_span text = sds_span(given.at + e.mark, given.len - e.mark);
    size_t len = text.len;
    size_t bad;
    if (e.width > 1 && !measure(text, &e, &len, &bad)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "json", "not valid %s at byte %zu: %s", e.name,
                        e.mark + bad,
                        SDS_QUOTE(text.at + bad, text.len - bad < 4 ? text.len - bad : 4));
    }
    if (len > SDS_JSON_MAX_TEXT) {
        return sds_fail(err, SDS_ERR_LIMIT, "json_size", "%zu bytes as UTF-8, allowed are %lu", len,
                        SDS_JSON_MAX_TEXT);
    }
    doc->transcoded = malloc(len + 1); // never of 0 bytes, which may be NULL
    if (doc->transcoded == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "json", "no memory for %zu bytes of text", len);
    }
    if (e.width > 1) {
        transcode(text, &e, doc->transcoded);
    } else {
        memcpy(doc->transcoded, text.at, len);
    }
    doc->text = sds_span(doc->transcoded, len);
    return SDS_OK;
}

static bool is_continuation(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

// The smallest second byte that is not overlong depends on the lead, as does the largest one within
// U+10FFFF.
size_t sds_utf8_step(struct sds_span text, bool *surrogate) {
    const uint8_t *p = text.at;
    uint8_t lead = p[0];
    *surrogate = false;
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4 || text.len < 2 || !is_continuation(p[1])) {
        return 0;
    }
    if (lead < 0xE0) {
        return 2;
    }
    if (text.len < 3 || !is_continuation(p[2])) {
        return 0;
    }
    if (lead < 0xF0) {
        *surrogate = lead == 0xED && p[1] >= 0xA0;
        return lead == 0xE0 && p[1] < 0xA0 ? 0 : 3;
    }
    if (text.len < 4 || !is_continuation(p[3])) {
        return 0;
    }
    return (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F) ? 0 : 4;
}

size_t sds_utf8_put(uint32_t code, uint8_t out[4]) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (uint8_t)(0xF00U >> len | code); // as many leading ones as bytes
    return len;
}
