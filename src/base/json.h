// SPDX-License-Identifier: Apache-2.0
//
// The one reader of JSON that comes from outside: control documents, SafeTensors headers,
// descriptors, metadata entries. Strict as signal-dataset 0.1 section 2 describes Python's
// json.loads plus its own checks: encoding guess and transcoding to UTF-8, RFC 8259 grammar, no NaN
// or Infinity, no repeated key, integers of at most 4300 digits, depth and node limits.
//
// Parsing makes an immutable table of tokens over the (transcoded) text: 16 bytes a token, no copy
// of strings or numbers, so a document of n bytes never costs more than a small multiple of n.
// Tokens stand in document order; an object holds key, value, key, value... A document may be read
// from any thread.
#ifndef SDSFS_BASE_JSON_H
#define SDSFS_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"

enum sds_json_type {
    SDS_JSON_NULL,
    SDS_JSON_FALSE,
    SDS_JSON_TRUE,
    SDS_JSON_INTEGER, // a number without fraction and exponent, any size up to 4300 digits
    SDS_JSON_REAL,    // a number with fraction or exponent
    SDS_JSON_STRING,
    SDS_JSON_ARRAY,
    SDS_JSON_OBJECT,
};

struct sds_json_limits {
    size_t bytes;   // of the text as given; never more than 256 MiB
    unsigned depth; // of the parsed value, the top one has depth 1; never more than 1000
    unsigned nodes; // values, not keys, the top one included
};

struct sds_json; // a parsed document

// A value inside a document, small enough to pass around. doc is NULL for "not there".
struct sds_value {
    const struct sds_json *doc;
    uint32_t token;
};

// Parses text, which must stay alive and unchanged as long as the document when it is plain UTF-8
// (otherwise the document owns a transcoded copy). *out is the caller's, freed with sds_json_free.
// Fails with SDS_ERR_CORRUPT (check "json": what and at which byte), SDS_ERR_LIMIT (size; check
// "json_size"), SDS_ERR_NO_MEMORY. Depth and node excess are SDS_ERR_CORRUPT, checks "json_depth"
// and "json_nodes": a reader of the format calls such a document broken.
SDS_MUST_CHECK enum sds_kind sds_json_parse(struct sds_span text,
                                            const struct sds_json_limits *limits,
                                            struct sds_json **out, struct sds_err *err);
void sds_json_free(struct sds_json *doc);
size_t sds_json_memory(const struct sds_json *doc); // bytes held, for a cache's ledger

static inline void sds_cleanup_json(struct sds_json **doc) {
    sds_json_free(*doc);
}
#define sds_autojson __attribute__((cleanup(sds_cleanup_json)))

// True when the text given was used as it is: plain UTF-8 without a byte order mark. SafeTensors
// headers have to be that.
bool sds_json_is_plain_utf8(const struct sds_json *doc);

struct sds_value sds_json_top(const struct sds_json *doc);

static inline bool sds_value_there(struct sds_value v) {
    return v.doc != NULL;
}
enum sds_json_type sds_value_type(struct sds_value v); // SDS_JSON_NULL if absent
const char *sds_value_type_name(struct sds_value v); // "object", "string", ...; "nothing" if absent

// What is false in Python: an absent value, null, false, 0, 0.0, "", [], {}. The formats take any
// of them for an empty object.
bool sds_value_is_falsy(struct sds_value v);

// The member of an object, or an absent value. key is plain ASCII without escapes. Linear.
struct sds_value sds_value_get(struct sds_value object, const char *key);

uint64_t sds_value_count(struct sds_value container); // members or elements

// for (struct sds_iter it = sds_value_iter(v); sds_iter_next(&it);) ... it.key, it.value
struct sds_iter {
    const struct sds_json *doc;
    uint32_t next, end;
    bool object;
    struct sds_value key; // a string; absent in arrays
    struct sds_value value;
};
struct sds_iter sds_value_iter(struct sds_value container); // of another type: no elements
bool sds_iter_next(struct sds_iter *it);

// The token as written, in UTF-8: quotes and escapes of a string included, a container from bracket
// to bracket.
struct sds_span sds_value_text(struct sds_value v);

// A value as it was typed, for a message: like sds_quote, and in quotes only if it is a string, as
// "3" and 3 are not the same. "nothing" if absent.
char *sds_value_quote(char *buf, size_t size, struct sds_value v);
#define SDS_QUOTE_VALUE(v) sds_value_quote((char[160]){0}, 160, (v))

// A string's bytes after unescaping: UTF-8, except that lone surrogates come as three bytes
// (ED A0..BF xx). The span points into the document when the string has no escapes, else into
// scratch (appended there; so several strings may share one scratch buffer only if each is used
// before the next is taken, as it may move). A value of another type has no bytes. Kinds: LIMIT,
// NO_MEMORY of scratch.
SDS_MUST_CHECK enum sds_kind sds_value_string(struct sds_value string, struct sds_buf *scratch,
                                              struct sds_span *out);
// Appends the unescaped bytes to buf, always.
SDS_MUST_CHECK enum sds_kind sds_value_string_add(struct sds_value string, struct sds_buf *buf);
// The length of the unescaped bytes.
size_t sds_value_string_len(struct sds_value string);
// True when v is a string and its unescaped bytes equal text.
bool sds_value_is(struct sds_value v, const char *text);
// Equality of two strings after unescaping.
bool sds_string_eq(struct sds_value a, struct sds_value b);
// True when a string holds a lone surrogate (escaped, or as raw bytes), in itself (string) or
// anywhere inside, keys included (container).
bool sds_value_has_surrogate(struct sds_value v);

// An integer token >= 0 ("-0" counts as 0) that fits: true. False for any other value.
bool sds_value_u64(struct sds_value v, uint64_t *out);
// True when an INTEGER token is below zero ("-0" is not).
bool sds_value_is_negative(struct sds_value v);
// A REAL or INTEGER token as a double, by correct rounding; infinite when beyond range. NaN for any
// other value.
double sds_value_double(struct sds_value v);
// True when some REAL in the value (at any depth) is beyond the range of double.
bool sds_value_has_infinity(struct sds_value v);

// Equality as Python's == on the parsed values: 1 = 1.0 = true, 0 = -0.0, integers of any size
// against doubles exactly, objects whatever their key order. SDS_ERR_NO_MEMORY aside, it succeeds.
SDS_MUST_CHECK enum sds_kind sds_value_equal(struct sds_value a, struct sds_value b, bool *equal);

// Bytes of json.dumps(value, ensure_ascii=False) with ", " and ": ": exact.
uint64_t sds_value_dumped_len(struct sds_value v);
// A quick upper bound of the same, from the token lengths alone.
uint64_t sds_value_dumped_bound(struct sds_value v);

// Appends the value re-indented by two spaces a level: tokens as written, document order, ": "
// after keys, one member a line, "[]" and "{}" when empty; no final LF. indent is the level of the
// line the value stands on.
SDS_MUST_CHECK enum sds_kind sds_value_render(struct sds_value v, unsigned indent,
                                              struct sds_buf *buf);

// Appends the value on one line: tokens as written, document order, no white space between them.
SDS_MUST_CHECK enum sds_kind sds_value_compact(struct sds_value v, struct sds_buf *buf);

// The shortest decimal that reads back as value, as Python's repr writes it ("1e-05", "-0.0",
// "1e+16"); out has room for 32 bytes. Returns the length. value is finite.
size_t sds_double_text(double value, char out[32]);

#endif
