// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/xml.h"

#include <stdint.h>

struct scan {
    const char *at, *end;
};

static bool begins(const struct scan *scan, const char *text) {
    size_t len = strlen(text);
    return (size_t)(scan->end - scan->at) >= len && memcmp(scan->at, text, len) == 0;
}

// Moves behind the next occurrence of text; false when there is none.
static bool skip_past(struct scan *scan, const char *text) {
    size_t left = (size_t)(scan->end - scan->at);
    const char *found = left == 0 ? NULL : memmem(scan->at, left, text, strlen(text));
    if (found == NULL) {
        return false;
    }
    scan->at = found + strlen(text);
    return true;
}

struct tag {
    struct sds_span name;
    enum { OPENS, CLOSES, EMPTY } what;
};

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Behind the tag's end, past attributes, in whose quotes a ">" may stand.
static bool skip_attributes(struct scan *scan) {
    char quote = '\0';
    for (; scan->at < scan->end; scan->at++) {
        char c = *scan->at;
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>') {
            scan->at++;
            return true;
        }
    }
    return false;
}

// At "<" of a tag: reads it, and stands behind it.
static bool read_tag(struct scan *scan, struct tag *out) {
    scan->at++;
    bool closes = begins(scan, "/");
    scan->at += closes;
    const char *name = scan->at;
    while (scan->at < scan->end && !is_space(*scan->at) && *scan->at != '>' && *scan->at != '/') {
        scan->at++;
    }
    out->name = sds_span(name, (size_t)(scan->at - name));
    if (!skip_attributes(scan)) {
        return false;
    }
    out->what = closes ? CLOSES : scan->at[-2] == '/' ? EMPTY : OPENS;
    return out->name.len > 0;
}

// Moves to the next tag and reads it, past text and comments.
static bool next_tag(struct scan *scan, struct tag *out) {
    for (;;) {
        const char *less =
            scan->at == scan->end ? NULL : memchr(scan->at, '<', (size_t)(scan->end - scan->at));
        if (less == NULL) {
            return false;
        }
        scan->at = less;
        if (begins(scan, "<!--")) {
            scan->at += 4;
            if (!skip_past(scan, "-->")) {
                return false;
            }
        } else if (begins(scan, "<?")) {
            if (!skip_past(scan, "?>")) {
                return false;
            }
        } else {
            return !begins(scan, "<!") && read_tag(scan, out);
        }
    }
}

// --- text

static uint32_t digit_of(uint8_t c, bool hex) {
    if (c >= '0' && c <= '9') {
        return c - (uint32_t)'0';
    }
    c |= 32;
    return hex && c >= 'a' && c <= 'f' ? c - (uint32_t)'a' + 10 : UINT32_MAX;
}

// The character of a numeric reference, "#x41" or "#65"; 0 for anything else.
static uint32_t numeric(struct sds_span name) {
    bool hex = name.len > 1 && name.at[1] == 'x';
    uint32_t value = 0;
    for (size_t i = hex ? 2 : 1; i < name.len; i++) {
        uint32_t digit = digit_of(name.at[i], hex);
        if (digit == UINT32_MAX || value > 0x10ffff) {
            return 0;
        }
        value = value * (hex ? 16 : 10) + digit;
    }
    bool surrogate = value >= 0xd800 && value < 0xe000;
    return value > 0x10ffff || surrogate ? 0 : value;
}

static uint32_t entity(struct sds_span name) {
    static const struct {
        const char *name;
        char stands_for;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    if (name.len > 1 && name.at[0] == '#') {
        return numeric(name);
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (sds_span_eq(name, sds_span_str(known[i].name))) {
            return (uint8_t)known[i].stands_for;
        }
    }
    return 0;
}

static size_t put_utf8(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, c >>= 6) {
        out[i] = (char)(0x80 | (c & 0x3f));
    }
    out[0] = (char)(lead[len] | c);
    return len;
}

// One character of text, a reference resolved; 0 for what is no text.
static size_t next_char(struct scan *scan, char out[4]) {
    if (*scan->at != '&') {
        out[0] = *scan->at++;
        return out[0] != '\0';
    }
    size_t left = (size_t)(scan->end - scan->at);
    const char *end = memchr(scan->at, ';', left < 12 ? left : 12);
    uint32_t c = end == NULL ? 0 : entity(sds_span(scan->at + 1, (size_t)(end - scan->at - 1)));
    scan->at = end == NULL ? scan->at : end + 1;
    return c == 0 ? 0 : put_utf8(c, out);
}

// The text up to the end tag of its element; false when it is not text alone, or does not fit.
static bool read_text(struct scan *scan, struct sds_span name, char *out, size_t size) {
    size_t len = 0;
    while (scan->at < scan->end && *scan->at != '<') {
        char bytes[4];
        size_t count = next_char(scan, bytes);
        if (count == 0 || count >= size - len) {
            return false;
        }
        memcpy(out + len, bytes, count);
        len += count;
    }
    struct tag tag;
    bool ends = begins(scan, "</") && read_tag(scan, &tag) && sds_span_eq(tag.name, name);
    out[ends ? len : 0] = '\0';
    return ends;
}

bool sds_xml_child(struct sds_span document, const char *top, const char *name, char *out,
                   size_t size) {
    struct scan scan = {.at = (const char *)document.at, .end = (const char *)document.at};
    if (document.len > 0) {
        scan.end += document.len;
    }
    out[0] = '\0';
    struct tag tag;
    if (!next_tag(&scan, &tag) || tag.what != OPENS || !sds_span_eq(tag.name, sds_span_str(top))) {
        return false;
    }
    for (size_t depth = 1; depth > 0 && next_tag(&scan, &tag);) {
        bool child = depth == 1 && tag.what == OPENS;
        if (child && sds_span_eq(tag.name, sds_span_str(name))) {
            bool found = read_text(&scan, tag.name, out, size);
            if (!found) {
                out[0] = '\0';
            }
            return found;
        }
        depth += tag.what == OPENS;
        depth -= tag.what == CLOSES;
    }
    return false;
}
