// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the JSON reader share: the token table, one step through an escape or a UTF-8
// sequence, and numbers as exact text. Private to base/json*.c.
#ifndef SDSFS_BASE_JSON_INTERNAL_H
#define SDSFS_BASE_JSON_INTERNAL_H

#include "base/json.h"

// Offsets into the text are 32 bits and the members of a container, at least two bytes each, are
// counted in 27: hence this ceiling, whatever the caller allows. It is well above the
// largest document of any format (a SafeTensors header), even once UTF-16 has become UTF-8.
#define SDS_JSON_MAX_TEXT (256UL << 20)

// Python's own parser stops at about a thousand levels. Here the ceiling bounds the recursion of
// whatever walks a parsed document.
#define SDS_JSON_MAX_DEPTH 1000

// A value or a key, from its first byte to its last, brackets and quotes included.
struct sds_token {
    uint32_t at;   // offset in the text
    uint32_t len;  // bytes of text
    uint32_t next; // the token after everything inside this one
    uint32_t info; // type, flags, and the number of members or elements from SDS_TOKEN_ONE up
};

#define SDS_TOKEN_TYPE 7U       // enum sds_json_type
#define SDS_TOKEN_ESCAPED 8U    // a string with a backslash in it
#define SDS_TOKEN_SURROGATE 16U // a lone surrogate in it, at any depth
#define SDS_TOKEN_ONE 32U       // one member or element

struct sds_json {
    struct sds_span text; // UTF-8, with lone surrogates as three bytes each
    uint8_t *transcoded;  // owns the text, unless it is the caller's
    struct sds_token *tokens;
    uint32_t count;
    uint32_t capacity;
    bool spaced; // there is white space between tokens
};

static inline const struct sds_token *sds_token_of(struct sds_value v) {
    return &v.doc->tokens[v.token];
}

static inline enum sds_json_type sds_token_type(const struct sds_token *token) {
    return (enum sds_json_type)(token->info & SDS_TOKEN_TYPE);
}

static inline uint32_t sds_token_count(const struct sds_token *token) {
    return token->info / SDS_TOKEN_ONE;
}

static inline struct sds_span sds_token_text(const struct sds_json *doc,
                                             const struct sds_token *token) {
    return sds_span(doc->text.at + token->at, token->len);
}

static inline bool sds_is_escaped(struct sds_value string) {
    return (sds_token_of(string)->info & SDS_TOKEN_ESCAPED) != 0;
}

// What stands between the quotes of a string. A value of another type has nothing there.
static inline struct sds_span sds_string_body(struct sds_value v) {
    if (v.doc == NULL || sds_token_type(sds_token_of(v)) != SDS_JSON_STRING) {
        return sds_span(NULL, 0);
    }
    const struct sds_token *token = sds_token_of(v);
    return sds_span(v.doc->text.at + token->at + 1, token->len - 2);
}

// json_text.c

// Sets doc->text, and doc->transcoded where the text given is not plain UTF-8. That UTF-8 is valid
// is left to the parser, which looks at each byte anyway.
SDS_MUST_CHECK enum sds_kind sds_json_text_open(struct sds_span given, struct sds_json *doc,
                                                struct sds_err *err);

// Length of the UTF-8 sequence at the start of text (not empty), 0 when it is not valid. Encoded
// surrogates are valid here and reported.
size_t sds_utf8_step(struct sds_span text, bool *surrogate);

// Writes a code point (of at most 0x10FFFF, surrogates included) as UTF-8. Returns the length.
size_t sds_utf8_put(uint32_t code, uint8_t out[4]);

static inline bool sds_is_surrogate(uint32_t code) {
    return code >= 0xD800 && code <= 0xDFFF;
}

static inline bool sds_is_high_surrogate(uint32_t unit) {
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static inline bool sds_is_low_surrogate(uint32_t unit) {
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

static inline uint32_t sds_join_surrogates(uint32_t high, uint32_t low) {
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

// json_string.c

// Length of the escape at the start of text (a backslash), 0 when it is not valid. Two escapes that
// make a surrogate pair are one step and one code point.
size_t sds_escape_step(struct sds_span text, uint32_t *code);

#define SDS_DUMPED_CODE 6

// Writes what json.dumps(..., ensure_ascii=False) does for a code point inside a string. Returns
// the length. What may stand in a document without an escape stays as it is.
size_t sds_dump_code(uint32_t code, uint8_t out[SDS_DUMPED_CODE]);

// A run of plain bytes, and the escape behind it.
struct sds_string_part {
    struct sds_span plain;
    bool escaped;  // false: the string ends without one
    uint32_t code; // of the escape
};

// Cuts the next part off the front of a string's body. false at its end.
bool sds_string_next_part(struct sds_span *body, struct sds_string_part *out);

// Walks the unescaped bytes of a string, one at a time and without memory.
struct sds_unescaped {
    struct sds_span left; // of the body
    uint8_t held[4];      // the bytes of the escape just passed
    size_t held_len, held_pos;
};

static inline struct sds_unescaped sds_unescape(struct sds_value string) {
    return (struct sds_unescaped){.left = sds_string_body(string)};
}

int sds_unescaped_escape(struct sds_unescaped *u); // the slow part of the next function

// The next byte, -1 at the end.
static inline int sds_unescaped_next(struct sds_unescaped *u) {
    if (u->held_pos < u->held_len) {
        return u->held[u->held_pos++];
    }
    if (u->left.len == 0) {
        return -1;
    }
    if (*u->left.at == '\\') {
        return sds_unescaped_escape(u);
    }
    u->left.len--;
    return *u->left.at++;
}

// Bytewise order of two strings after unescaping.
int sds_string_cmp(struct sds_value a, struct sds_value b);

// json_keys.c

// Finds repeated keys, whatever the keys: see there.
struct sds_json_keys {
    uint32_t *slots;
    size_t capacity;
    uint64_t point; // secret, 0 until drawn
};

// Sets *repeated to the first key of a complete object that an earlier key equals, to 0 (never a
// key) when there is none. Kinds: NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_json_keys_check(struct sds_json_keys *keys,
                                                 struct sds_value object, uint32_t *repeated);
void sds_json_keys_fini(struct sds_json_keys *keys);

// Writes the key tokens of the members that are left, in the order of the unescaped keys. The value
// of a member is the token behind its key.
void sds_json_sort_keys(struct sds_iter members, uint32_t *keys);

// json_number.c

static inline bool sds_is_number(enum sds_json_type type) {
    return type >= SDS_JSON_FALSE && type <= SDS_JSON_REAL;
}

// Equality of two numbers, booleans counting as 0 and 1: exact, also between integers and doubles.
bool sds_number_equal(struct sds_value a, struct sds_value b);

#define SDS_DUMPED_DOUBLE 32

// What json.dumps writes for a number, "Infinity" included: in the document, in room, or static.
struct sds_span sds_number_dump(struct sds_value number, char room[SDS_DUMPED_DOUBLE]);

#endif
