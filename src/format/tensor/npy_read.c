// SPDX-License-Identifier: Apache-2.0
#include "format/tensor/npy_read.h"

#include <stdio.h>

#define MAGIC "\x93NUMPY"
#define VERSION_AT 6 // major, minor, and behind them the header's length
#define LENGTH_AT 8
#define MAX_TEXT (SDS_NPY_MAX_HEAD - SDS_NPY_PREFIX)

// Where the text of the header is in the file.
struct extent {
    size_t at, len;
    bool python2; // may have been written by Python 2, with an L behind integers
};

static enum sds_kind find_text(struct sds_span prefix, struct extent *out, struct sds_err *err) {
    if (prefix.len < LENGTH_AT || memcmp(prefix.at, MAGIC, VERSION_AT) != 0) {
        return sds_fail(err, SDS_ERR_INVALID, "npy_magic", "not a .npy file");
    }
    unsigned major = prefix.at[VERSION_AT], minor = prefix.at[VERSION_AT + 1];
    if (major < 1 || major > 3 || minor != 0) {
        return sds_fail(err, SDS_ERR_INVALID, "npy_version", ".npy version %u.%u", major, minor);
    }
    unsigned width = major == 1 ? 2 : 4; // of the length
    if (prefix.len < LENGTH_AT + width) {
        return sds_fail(err, SDS_ERR_INVALID, "npy_header", "the file ends in its header");
    }
    size_t len = 0;
    for (unsigned i = 0; i < width; i++) {
        len |= (size_t)prefix.at[LENGTH_AT + i] << (8 * i);
    }
    if (len > MAX_TEXT) {
        return sds_fail(err, SDS_ERR_INVALID, "npy_header", "header of %zu bytes, more than %d",
                        len, MAX_TEXT);
    }
    *out = (struct extent){.at = LENGTH_AT + width, .len = len, .python2 = major < 3};
    return SDS_OK;
}

enum sds_kind sds_npy_head_len(struct sds_span prefix, size_t *len, struct sds_err *err) {
    struct extent text;
    enum sds_kind kind = find_text(prefix, &text, err);
    if (kind == SDS_OK) {
        *len = text.at + text.len;
    }
    return kind;
}

// The text that is left, and what came out of it so far.
struct parser {
    struct sds_span left;
    bool python2;
    struct sds_npy *npy;
    bool fortran_order;
    struct sds_err *err;
};

static enum sds_kind not_header(const struct parser *parser, const char *expected) {
    struct sds_span left = parser->left;
    return sds_fail(parser->err, SDS_ERR_INVALID, "npy_header", "expected %s in the header: %s",
                    expected, SDS_QUOTE(left.at, left.len));
}

static void advance(struct parser *parser, size_t len) {
    parser->left = sds_span(parser->left.at + len, parser->left.len - len);
}

// The next byte that is not white space, 0 at the end.
static uint8_t peek(struct parser *parser) {
    while (parser->left.len > 0 && memchr(" \t\n", parser->left.at[0], 3) != NULL) {
        advance(parser, 1);
    }
    return parser->left.len > 0 ? parser->left.at[0] : 0;
}

static bool take(struct parser *parser, char c) {
    if (peek(parser) != (uint8_t)c) {
        return false;
    }
    advance(parser, 1);
    return true;
}

static bool take_word(struct parser *parser, const char *word) {
    size_t len = strlen(word);
    peek(parser);
    if (parser->left.len < len || memcmp(parser->left.at, word, len) != 0) {
        return false;
    }
    advance(parser, len);
    return true;
}

// A string in either kind of quotes, without escapes.
static bool take_string(struct parser *parser, struct sds_span *out) {
    uint8_t quote = peek(parser);
    if (quote != '\'' && quote != '"') {
        return false;
    }
    const uint8_t *text = parser->left.at + 1;
    const uint8_t *end = memchr(text, quote, parser->left.len - 1);
    if (end == NULL) {
        return false;
    }
    *out = sds_span(text, (size_t)(end - text));
    advance(parser, out->len + 2);
    return memchr(out->at, '\\', out->len) == NULL;
}

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

// A decimal integer of 64 bits, without leading zeros.
static bool take_number(struct parser *parser, uint64_t *out) {
    uint8_t first = peek(parser);
    uint64_t n = 0;
    size_t len = 0;
    for (; len < parser->left.len && is_digit(parser->left.at[len]); len++) {
        if (__builtin_mul_overflow(n, 10U, &n) ||
            __builtin_add_overflow(n, (uint64_t)(parser->left.at[len] - '0'), &n)) {
            return false;
        }
    }
    if (len == 0 || (first == '0' && len > 1)) {
        return false;
    }
    advance(parser, len);
    if (parser->python2 && parser->left.len > 0 && parser->left.at[0] == 'L') {
        advance(parser, 1);
    }
    *out = n;
    return true;
}

static enum sds_kind wrong_dtype(const struct parser *parser, struct sds_span descr) {
    char names[128] = "";
    size_t len = 0;
    for (unsigned i = 0; i < SDS_DTYPES && len < sizeof names; i++) {
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? " " : "",
                                sds_dtype_numpy((enum sds_dtype)i));
    }
    return sds_fail(parser->err, SDS_ERR_INVALID, "npy_dtype",
                    "dtype %s is none of those that records have: %s",
                    SDS_QUOTE(descr.at, descr.len), names);
}

// A byte order and a type: "<f4". The order of single bytes means nothing, and without one it is
// that of the machine, which numpy takes to be the one that reads.
static enum sds_kind read_dtype(struct parser *parser) {
    uint8_t open = peek(parser);
    struct sds_span descr;
    if (open == '[' || open == '(') {
        return sds_fail(parser->err, SDS_ERR_INVALID, "npy_dtype", "the dtype is structured");
    }
    if (!take_string(parser, &descr)) {
        return not_header(parser, "a dtype");
    }
    bool ordered = descr.len > 0 && memchr("<>=|", descr.at[0], 4) != NULL;
    struct sds_span name = sds_span(descr.at + ordered, descr.len - ordered);
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        enum sds_dtype dtype = (enum sds_dtype)i;
        if (!sds_span_eq(name, sds_span_str(sds_dtype_numpy(dtype) + 1))) {
            continue;
        }
        if (ordered && descr.at[0] == '>' && sds_dtype_bytes(dtype) > 1) {
            return sds_fail(parser->err, SDS_ERR_INVALID, "npy_byte_order",
                            "dtype %s is big-endian, records have %s",
                            SDS_QUOTE(descr.at, descr.len), sds_dtype_numpy(dtype));
        }
        parser->npy->dtype = dtype;
        return SDS_OK;
    }
    return wrong_dtype(parser, descr);
}

static enum sds_kind read_order(struct parser *parser) {
    parser->fortran_order = take_word(parser, "True");
    if (!parser->fortran_order && !take_word(parser, "False")) {
        return not_header(parser, "True or False");
    }
    return SDS_OK;
}

// A tuple: "()", "(3,)", "(3, 4)".
static enum sds_kind read_shape(struct parser *parser) {
    struct sds_npy *npy = parser->npy;
    if (!take(parser, '(')) {
        return not_header(parser, "a tuple");
    }
    bool comma = true; // in front of the next dimension
    for (npy->rank = 0; !take(parser, ')'); npy->rank++) {
        uint64_t dimension;
        if (!comma || !take_number(parser, &dimension)) {
            return not_header(parser, "a dimension");
        }
        if (npy->rank == SDS_MAX_RANK) {
            return sds_fail(parser->err, SDS_ERR_INVALID, "npy_shape", "more than %d dimensions",
                            SDS_MAX_RANK);
        }
        npy->shape[npy->rank] = dimension;
        comma = take(parser, ',');
    }
    if (npy->rank == 1 && !comma) {
        return not_header(parser, "a tuple, not an integer in parentheses, before this");
    }
    return SDS_OK;
}

// The members of the dictionary. Each is there, once.
static const struct {
    const char *key;
    enum sds_kind (*read)(struct parser *parser);
} members[] = {{"descr", read_dtype}, {"fortran_order", read_order}, {"shape", read_shape}};

#define MEMBERS (sizeof members / sizeof members[0])

static enum sds_kind read_member(struct parser *parser, unsigned *seen) {
    struct sds_span key;
    if (!take_string(parser, &key) || !take(parser, ':')) {
        return not_header(parser, "a key");
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (sds_span_eq(key, sds_span_str(members[i].key)) && (*seen & 1U << i) == 0) {
            *seen |= 1U << i;
            return members[i].read(parser);
        }
    }
    return sds_fail(parser->err, SDS_ERR_INVALID, "npy_header", "key %s is unknown or repeated",
                    SDS_QUOTE(key.at, key.len));
}

static enum sds_kind read_dictionary(struct parser *parser) {
    unsigned seen = 0;
    // Python takes line ends for white space inside brackets only.
    if (parser->left.len == 0 || parser->left.at[0] != '{') {
        return not_header(parser, "a dictionary");
    }
    advance(parser, 1);
    bool comma = true; // in front of the next member
    while (!take(parser, '}')) {
        if (!comma) {
            return not_header(parser, "a comma");
        }
        enum sds_kind kind = read_member(parser, &seen);
        if (kind != SDS_OK) {
            return kind;
        }
        comma = take(parser, ',');
    }
    if (peek(parser) != 0 || parser->left.len > 0) {
        return not_header(parser, "nothing more");
    }
    if (seen != (1U << MEMBERS) - 1) {
        return sds_fail(parser->err, SDS_ERR_INVALID, "npy_header",
                        "the header lacks descr, fortran_order or shape");
    }
    return SDS_OK;
}

// What numpy can read and records cannot hold.
static enum sds_kind check_array(const struct parser *parser) {
    const struct sds_npy *npy = parser->npy;
    if (npy->rank == 0) {
        return sds_fail(parser->err, SDS_ERR_INVALID, "npy_shape",
                        "the array has no dimension; one of shape (1,) holds a single value");
    }
    if (parser->fortran_order && npy->rank > 1) {
        return sds_fail(parser->err, SDS_ERR_INVALID, "npy_order",
                        "the array is in Fortran order; numpy.ascontiguousarray makes it C order");
    }
    if (!sds_array_possible(npy->dtype, npy->shape, npy->rank)) {
        return sds_fail(parser->err, SDS_ERR_INVALID, "npy_shape",
                        "%u dimensions make the array larger than memory can be", npy->rank);
    }
    return SDS_OK;
}

enum sds_kind sds_npy_read(struct sds_span head, uint64_t file_size, struct sds_npy *out,
                           struct sds_err *err) {
    struct extent text;
    enum sds_kind kind = find_text(head, &text, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (text.len > head.len - text.at) {
        return sds_fail(err, SDS_ERR_INVALID, "npy_header", "the file ends in its header");
    }
    struct sds_npy npy = {.data_off = text.at + text.len};
    struct parser parser = {
        .left = sds_span(head.at + text.at, text.len),
        .python2 = text.python2,
        .npy = &npy,
        .err = err,
    };
    kind = read_dictionary(&parser);
    if (kind == SDS_OK) {
        kind = check_array(&parser);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    npy.data_len = sds_array_bytes(npy.dtype, npy.shape, npy.rank);
    if (npy.data_len != file_size - npy.data_off) {
        return sds_fail(err, SDS_ERR_INVALID, "npy_size",
                        "%llu bytes behind the header, where the array has %llu",
                        (unsigned long long)(file_size - npy.data_off),
                        (unsigned long long)npy.data_len);
    }
    *out = npy;
    return SDS_OK;
}
