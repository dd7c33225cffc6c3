// SPDX-License-Identifier: Apache-2.0
//
// The parser: from text to a table of tokens, in one pass without recursion. A container that is
// still open keeps its parent's token in `next`, so the table itself is the stack.
#include "base/json.h"

#include <assert.h>
#include <stdlib.h>

#include "base/json_internal.h"

#define NO_TOKEN UINT32_MAX
#define MAX_INTEGER_DIGITS 4300 // Python's default, the sign not counted

struct parser {
    struct sds_json *doc;
    const uint8_t *at, *end;
    uint32_t open;  // innermost container that is still open, or NO_TOKEN
    unsigned depth; // open containers
    unsigned nodes;
    unsigned max_depth, max_nodes;
    uint32_t max_tokens;
    struct sds_json_keys keys;
    struct sds_err *err;
};

// The message of each refusal: what is wrong, where, and what stands there.
static enum sds_kind refuse_at(const struct parser *p, const char *check, const char *what,
                               const uint8_t *at) {
    const size_t shown = 24;
    size_t rest = (size_t)(p->end - at);
    return sds_fail(p->err, SDS_ERR_CORRUPT, check, "%s at byte %zu%s: %s", what,
                    (size_t)(at - p->doc->text.at),
                    p->doc->transcoded != NULL ? " (counted in plain UTF-8)" : "",
                    rest == 0 ? "the end" : SDS_QUOTE(at, rest < shown ? rest : shown));
}

static enum sds_kind refuse(const struct parser *p, const char *what) {
    return refuse_at(p, "json", what, p->at);
}

// Tokens

static enum sds_kind grow(struct parser *p) {
    struct sds_json *doc = p->doc;
    assert(doc->count < p->max_tokens); // see token_ceiling
    uint32_t more = doc->capacity < p->max_tokens / 2 ? 2 * doc->capacity : p->max_tokens;
    struct sds_token *tokens = realloc(doc->tokens, more * sizeof tokens[0]);
    if (tokens == NULL) {
        return sds_fail(p->err, SDS_ERR_NO_MEMORY, "json", "no memory for %u tokens", more);
    }
    doc->tokens = tokens;
    doc->capacity = more;
    return SDS_OK;
}

// Appends the token that begins where the parser stands and is len bytes long.
static enum sds_kind push(struct parser *p, enum sds_json_type type, size_t len, uint32_t flags) {
    struct sds_json *doc = p->doc;
    if (doc->count == doc->capacity) {
        enum sds_kind kind = grow(p);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    if (p->open != NO_TOKEN) {
        doc->tokens[p->open].info |= flags & SDS_TOKEN_SURROGATE;
    }
    doc->tokens[doc->count] = (struct sds_token){
        .at = (uint32_t)(p->at - doc->text.at),
        .len = (uint32_t)len,
        .next = doc->count + 1,
        .info = (uint32_t)type | flags,
    };
    doc->count++;
    p->at += len;
    return SDS_OK;
}

// Appends a value, which is one node and stands one level below the containers that are open.
static enum sds_kind push_value(struct parser *p, enum sds_json_type type, size_t len,
                                uint32_t flags) {
    if (p->nodes == p->max_nodes) {
        return refuse_at(p, "json_nodes", "more values than allowed", p->at);
    }
    if (p->depth >= p->max_depth) {
        return refuse_at(p, "json_depth", "nested deeper than allowed", p->at);
    }
    p->nodes++;
    if (p->open != NO_TOKEN) {
        p->doc->tokens[p->open].info += SDS_TOKEN_ONE;
    }
    return push(p, type, len, flags);
}

// Scalars

// Repeats a byte over a word.
#define EACH(byte) ((byte)*0x0101010101010101ULL)

// Eight bytes of text, the first one lowest: the high bit of each byte that ends a plain run (a
// quote, a backslash, a control character, anything beyond ASCII). Bits above the lowest one set
// may be false.
static uint64_t run_ends(uint64_t word) {
    uint64_t quote = word ^ EACH('"');
    uint64_t backslash = word ^ EACH('\\');
    return ((word - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1)) | word) & EACH(0x80);
}

static const uint8_t *skip_plain_run(const uint8_t *at, const uint8_t *end) {
    while (end - at >= 8) {
        uint64_t ends = run_ends(sds_le64(at));
        if (ends != 0) {
            return at + __builtin_ctzll(ends) / 8;
        }
        at += 8;
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

// Length of the escape or UTF-8 sequence at the front of text, which stands inside a string; 0 with
// *what when it is not allowed there.
static size_t special_step(struct sds_span text, uint32_t *flags, const char **what) {
    bool surrogate;
    size_t step;
    if (text.at[0] == '\\') {
        uint32_t code = 0;
        step = sds_escape_step(text, &code);
        *what = "unknown escape";
        *flags |= SDS_TOKEN_ESCAPED;
        surrogate = sds_is_surrogate(code);
    } else if (text.at[0] < 0x20) {
        *what = "control character inside a string";
        return 0;
    } else {
        step = sds_utf8_step(text, &surrogate);
        *what = "not valid UTF-8";
    }
    *flags |= surrogate ? SDS_TOKEN_SURROGATE : 0;
    return step;
}

// Measures the string that begins where the parser stands, and adds to its flags.
static enum sds_kind scan_string(struct parser *p, size_t *len, uint32_t *flags) {
    const uint8_t *at = p->at + 1;
    for (;;) {
        at = skip_plain_run(at, p->end);
        if (at == p->end) {
            return refuse(p, "string without a closing quote");
        }
        if (*at == '"') {
            *len = (size_t)(at + 1 - p->at);
            return SDS_OK;
        }
        const char *what;
        size_t step = special_step(sds_span(at, (size_t)(p->end - at)), flags, &what);
        if (step == 0) {
            return refuse_at(p, "json", what, at);
        }
        at += step;
    }
}

static enum sds_kind take_string(struct parser *p) {
    size_t len = 0;
    uint32_t flags = 0;
    enum sds_kind kind = scan_string(p, &len, &flags);
    return kind == SDS_OK ? push_value(p, SDS_JSON_STRING, len, flags) : kind;
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end) {
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

// Python and its kin write numbers that JSON lacks.
static enum sds_kind refuse_value(const struct parser *p, const char *what) {
    static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i]);
        if ((size_t)(p->end - p->at) >= len && memcmp(p->at, names[i], len) == 0) {
            return refuse(p, "JSON has no NaN and no Infinity, found one");
        }
    }
    return refuse(p, what);
}

// RFC 8259, section 6. After a leading zero the number ends; what follows is found wrong later.
static enum sds_kind take_number(struct parser *p) {
    const uint8_t *end = p->end;
    const uint8_t *digits = p->at + (*p->at == '-');
    const uint8_t *at = digits < end && *digits == '0' ? digits + 1 : skip_digits(digits, end);
    if (at == digits) {
        return refuse_value(p, "minus sign without a number");
    }
    if (at - digits > MAX_INTEGER_DIGITS && (at == end || (*at != '.' && (*at | 0x20) != 'e'))) {
        return refuse(p, "integer of more than 4300 digits");
    }
    enum sds_json_type type = SDS_JSON_INTEGER;
    if (at < end && *at == '.') {
        type = SDS_JSON_REAL;
        const uint8_t *fraction = at + 1;
        at = skip_digits(fraction, end);
        if (at == fraction) {
            return refuse(p, "number with nothing behind its point");
        }
    }
    if (at < end && (*at | 0x20) == 'e') {
        type = SDS_JSON_REAL;
        at++;
        const uint8_t *exponent = at + (at < end && (*at == '+' || *at == '-'));
        at = skip_digits(exponent, end);
        if (at == exponent) {
            return refuse(p, "number with nothing in its exponent");
        }
    }
    return push_value(p, type, (size_t)(at - p->at), 0);
}

static enum sds_kind take_word(struct parser *p, const char *word, enum sds_json_type type) {
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0) {
        return refuse(p, "expected a value");
    }
    return push_value(p, type, len, 0);
}

// Structure

// Documents written for people are mostly indentation.
static void skip_space(struct parser *p) {
    const uint8_t *at = p->at;
    if (at == p->end || *at > ' ') {
        return;
    }
    while (at < p->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
        while (p->end - at >= 8 && sds_le64(at) == EACH(' ')) {
            at += 8;
        }
    }
    p->doc->spaced |= at != p->at;
    p->at = at;
}

static uint8_t closing_bracket(const struct parser *p) {
    return sds_token_type(&p->doc->tokens[p->open]) == SDS_JSON_OBJECT ? '}' : ']';
}

static enum sds_kind check_keys(struct parser *p, uint32_t object) {
    struct sds_value v = {.doc = p->doc, .token = object};
    uint32_t repeated;
    if (sds_json_keys_check(&p->keys, v, &repeated) != SDS_OK) {
        return sds_fail(p->err, SDS_ERR_NO_MEMORY, "json", "no memory to compare %u keys",
                        sds_token_count(sds_token_of(v)));
    }
    if (repeated != 0) {
        const uint8_t *key = p->doc->text.at + p->doc->tokens[repeated].at;
        return refuse_at(p, "json", "repeated key", key);
    }
    return SDS_OK;
}

// The parser stands at the closing bracket of the innermost open container.
static enum sds_kind close_container(struct parser *p) {
    uint32_t self = p->open;
    struct sds_token *token = &p->doc->tokens[self];
    p->at++;
    p->open = token->next;
    p->depth--;
    token->len = (uint32_t)(p->at - p->doc->text.at) - token->at;
    token->next = p->doc->count;
    if (p->open != NO_TOKEN) {
        p->doc->tokens[p->open].info |= token->info & SDS_TOKEN_SURROGATE;
    }
    return sds_token_type(token) == SDS_JSON_OBJECT ? check_keys(p, self) : SDS_OK;
}

// Goes into the container that begins here, and out of it again when it is empty.
static enum sds_kind open_container(struct parser *p, enum sds_json_type type, bool *inside) {
    uint32_t self = p->doc->count;
    enum sds_kind kind = push_value(p, type, 1, 0);
    if (kind != SDS_OK) {
        return kind;
    }
    p->doc->tokens[self].next = p->open;
    p->open = self;
    p->depth++;
    skip_space(p);
    *inside = p->at == p->end || *p->at != closing_bracket(p);
    return *inside ? SDS_OK : close_container(p);
}

static enum sds_kind take_key(struct parser *p) {
    skip_space(p);
    if (p->at == p->end || *p->at != '"') {
        return refuse(p, "expected a key in quotes");
    }
    size_t len = 0;
    uint32_t flags = 0;
    enum sds_kind kind = scan_string(p, &len, &flags);
    if (kind == SDS_OK) {
        kind = push(p, SDS_JSON_STRING, len, flags);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    skip_space(p);
    if (p->at == p->end || *p->at != ':') {
        return refuse(p, "expected a colon after the key");
    }
    p->at++;
    return SDS_OK;
}

// Takes a scalar, an empty container, or (then *inside) the opening bracket of another one.
static enum sds_kind take_value(struct parser *p, bool *inside) {
    *inside = false;
    skip_space(p);
    if (p->at == p->end) {
        return refuse(p, "expected a value");
    }
    switch (*p->at) {
    case '{':
        return open_container(p, SDS_JSON_OBJECT, inside);
    case '[':
        return open_container(p, SDS_JSON_ARRAY, inside);
    case '"':
        return take_string(p);
    case 'n':
        return take_word(p, "null", SDS_JSON_NULL);
    case 'f':
        return take_word(p, "false", SDS_JSON_FALSE);
    case 't':
        return take_word(p, "true", SDS_JSON_TRUE);
    case '-':
    case '0' ... '9':
        return take_number(p);
    default:
        return refuse_value(p, "expected a value");
    }
}

// After a complete value: closes each container that ends here, up to a comma or the end of all.
static enum sds_kind take_separators(struct parser *p) {
    while (p->open != NO_TOKEN) {
        skip_space(p);
        if (p->at < p->end && *p->at == ',') {
            p->at++;
            return SDS_OK;
        }
        if (p->at == p->end || *p->at != closing_bracket(p)) {
            return refuse(p, closing_bracket(p) == '}' ? "expected a comma or a closing brace"
                                                       : "expected a comma or a closing bracket");
        }
        enum sds_kind kind = close_container(p);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return SDS_OK;
}

static enum sds_kind take_document(struct parser *p) {
    enum sds_kind kind;
    do {
        bool in_object = p->open != NO_TOKEN && closing_bracket(p) == '}';
        bool inside = false;
        kind = in_object ? take_key(p) : SDS_OK;
        if (kind == SDS_OK) {
            kind = take_value(p, &inside);
        }
        if (kind == SDS_OK && !inside) {
            kind = take_separators(p);
        }
    } while (kind == SDS_OK && p->open != NO_TOKEN);
    if (kind != SDS_OK) {
        return kind;
    }
    skip_space(p);
    return p->at == p->end ? SDS_OK : refuse(p, "expected nothing more");
}

// Documents

// Each token has a byte of the text to itself, and each key but the last one pushed a value behind
// it that was counted as a node.
static uint32_t token_ceiling(const struct parser *p) {
    uint64_t by_nodes = 2 * (uint64_t)p->max_nodes;
    size_t by_text = p->doc->text.len;
    return (uint32_t)(by_nodes < by_text ? by_nodes : by_text) + 1;
}

static enum sds_kind parse_text(struct sds_json *doc, const struct sds_json_limits *limits,
                                struct sds_err *err) {
    struct parser p = {
        .doc = doc,
        .at = doc->text.at,
        .end = doc->text.at + doc->text.len,
        .open = NO_TOKEN,
        .max_depth = limits->depth < SDS_JSON_MAX_DEPTH ? limits->depth : SDS_JSON_MAX_DEPTH,
        .max_nodes = limits->nodes,
        .err = err,
    };
    p.max_tokens = token_ceiling(&p);
    size_t likely = doc->text.len / 8 + 16; // grows where a document is denser
    doc->capacity = likely < p.max_tokens ? (uint32_t)likely : p.max_tokens;
    doc->tokens = malloc(doc->capacity * sizeof doc->tokens[0]);
    if (doc->tokens == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "json", "no memory for %u tokens", doc->capacity);
    }
    enum sds_kind kind = take_document(&p);
    sds_json_keys_fini(&p.keys);
    return kind;
}

static void give_back_spare(struct sds_json *doc) {
    if (doc->capacity - doc->count < 64) {
        return;
    }
    struct sds_token *tokens = realloc(doc->tokens, doc->count * sizeof tokens[0]);
    if (tokens != NULL) {
        doc->tokens = tokens;
        doc->capacity = doc->count;
    }
}

enum sds_kind sds_json_parse(struct sds_span text, const struct sds_json_limits *limits,
                             struct sds_json **out, struct sds_err *err) {
    size_t max = limits->bytes < SDS_JSON_MAX_TEXT ? limits->bytes : SDS_JSON_MAX_TEXT;
    if (text.len > max) {
        return sds_fail(err, SDS_ERR_LIMIT, "json_size", "a document of %zu bytes, allowed are %zu",
                        text.len, max);
    }
    sds_autojson struct sds_json *doc = calloc(1, sizeof *doc);
    if (doc == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "json", "no memory for a document");
    }
    enum sds_kind kind = sds_json_text_open(text, doc, err);
    if (kind == SDS_OK) {
        kind = parse_text(doc, limits, err);
    }
    if (kind == SDS_OK) {
        give_back_spare(doc);
        *out = doc;
        doc = NULL;
    }
    return kind;
}

void sds_json_free(struct sds_json *doc) {
    if (doc != NULL) {
        free(doc->tokens);
        free(doc->transcoded);
        free(doc);
    }
}

size_t sds_json_memory(const struct sds_json *doc) {
    size_t text = doc->transcoded != NULL ? doc->text.len : 0;
    return sizeof *doc + doc->capacity * sizeof doc->tokens[0] + text;
}
