// SPDX-License-Identifier: Apache-2.0
#include "fs/prefetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_space(uint8_t c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

struct reader {
    struct sds_span rest;
    uint64_t records;
};

static bool peek(const struct reader *reader, uint8_t *c) {
    if (reader->rest.len == 0) {
        return false;
    }
    *c = reader->rest.at[0];
    return true;
}

static void skip(struct reader *reader) {
    reader->rest = sds_span(reader->rest.at + 1, reader->rest.len - 1);
}

// Digits, of a number below records.
static bool read_ordinal(struct reader *reader, uint64_t *out) {
    uint64_t value = 0;
    bool any = false;
    for (uint8_t c; peek(reader, &c) && c >= '0' && c <= '9'; skip(reader)) {
        any = true;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value)) {
            return false;
        }
    }
    *out = value;
    return any && value < reader->records;
}

// The next ordinal or range: 1, 0 at the end of the text, -1 when there is something else.
static int read_range(struct reader *reader, uint64_t *first, uint64_t *last) {
    uint8_t c = 0;
    while (peek(reader, &c) && is_space(c)) {
        skip(reader);
    }
    if (!peek(reader, &c)) {
        return 0;
    }
    if (!read_ordinal(reader, first)) {
        return -1;
    }
    *last = *first;
    if (peek(reader, &c) && c == '-') {
        skip(reader);
        if (!read_ordinal(reader, last) || *last < *first) {
            return -1;
        }
    }
    return peek(reader, &c) && is_space(c) ? 1 : -1; // there is a newline at the end
}

static int no_memory(struct sds_err *err) {
    sds_fail(err, SDS_ERR_NO_MEMORY, "prefetch", "no memory for what is announced");
    return ENOMEM;
}

static int no_newline(struct sds_err *err) {
    sds_fail(err, SDS_ERR_INVALID, "prefetch",
             "there is no newline at the end, so the last number may have been cut off");
    return EINVAL;
}

// The word in which reading ended is neither an ordinal nor a range.
static int bad_word(struct sds_span text, struct sds_span rest, uint64_t records,
                    struct sds_err *err) {
    const uint8_t *begin = rest.at, *end = rest.at + rest.len, *stop = begin;
    while (begin > text.at && !is_space(begin[-1])) {
        begin--;
    }
    while (stop < end && !is_space(*stop)) {
        stop++;
    }
    sds_fail(err, SDS_ERR_INVALID, "prefetch",
             "%s is neither an ordinal below %" PRIu64 " nor a range of them, such as 20-39",
             SDS_QUOTE(begin, (size_t)(stop - begin)), records);
    return EINVAL;
}

static int count_ordinals(struct reader reader, size_t *count, struct sds_err *err) {
    struct sds_span text = reader.rest;
    uint64_t first, last;
    int got;
    for (*count = 0; (got = read_range(&reader, &first, &last)) > 0;) {
        if (last - first >= SDS_PREFETCH_MAX - *count) {
            sds_fail(err, SDS_ERR_LIMIT, "prefetch", "more than %u records in one write",
                     SDS_PREFETCH_MAX);
            return E2BIG;
        }
        *count += (size_t)(last - first + 1);
    }
    return got < 0 ? bad_word(text, reader.rest, reader.records, err) : 0;
}

int sds_prefetch_parse(struct sds_span text, uint64_t records, uint64_t **out, size_t *count,
                       struct sds_err *err) {
    struct reader reader = {.rest = text, .records = records};
    *out = NULL;
    *count = 0;
    if (text.len > 0 && text.at[text.len - 1] != '\n') {
        return no_newline(err);
    }
    size_t total;
    int e = count_ordinals(reader, &total, err);
    if (e != 0 || total == 0) {
        return e;
    }
    uint64_t *ordinals = malloc(total * sizeof *ordinals);
    if (ordinals == NULL) {
        return no_memory(err);
    }
    uint64_t first, last;
    for (size_t at = 0; read_range(&reader, &first, &last) > 0;) {
        for (uint64_t ordinal = first; ordinal <= last; ordinal++) {
            ordinals[at++] = ordinal;
        }
    }
    *out = ordinals;
    *count = total;
    return 0;
}

// --- pieces

void sds_prefetch_init(struct sds_prefetch *prefetch) {
    *prefetch = (struct sds_prefetch){0};
    pthread_mutex_init(&prefetch->lock, NULL);
}

void sds_prefetch_fini(struct sds_prefetch *prefetch) {
    pthread_mutex_destroy(&prefetch->lock);
}

static size_t whole_lines(struct sds_span text) {
    size_t len = text.len;
    while (len > 0 && text.at[len - 1] != '\n') {
        len--;
    }
    return len;
}

// Keeps what is behind the last line, if the kernel can have cut it off: EINVAL.
static int keep_cut(struct sds_prefetch *prefetch, uint64_t end, struct sds_span rest,
                    struct sds_err *err) {
    if (rest.len > 0 &&
        (end % (uint64_t)sysconf(_SC_PAGESIZE) != 0 || rest.len > sizeof prefetch->cut)) {
        return no_newline(err);
    }
    if (rest.len > 0) {
        memcpy(prefetch->cut, rest.at, rest.len);
    }
    prefetch->len = rest.len;
    prefetch->end = end;
    return 0;
}

static int take_piece(struct sds_prefetch *prefetch, uint64_t end, struct sds_span text,
                      uint64_t records, uint64_t **out, size_t *count, struct sds_err *err) {
    size_t len = whole_lines(text);
    prefetch->len = 0;
    int e = sds_prefetch_parse(sds_span(text.at, len), records, out, count, err);
    if (e == 0) {
        e = keep_cut(prefetch, end, sds_span(text.at + len, text.len - len), err);
    }
    if (e != 0) {
        free(*out);
        *out = NULL;
        *count = 0;
    }
    return e;
}

int sds_prefetch_write(struct sds_prefetch *prefetch, uint64_t off, struct sds_span piece,
                       uint64_t records, uint64_t **out, size_t *count, struct sds_err *err) {
    *out = NULL;
    *count = 0;
    if (piece.len == 0) {
        return 0;
    }
    uint64_t end = off + piece.len; // only compared
    uint8_t *joined = NULL;
    int e = 0;
    pthread_mutex_lock(&prefetch->lock);
    if (prefetch->len > 0 && prefetch->end == off) {
        size_t len = prefetch->len;
        joined = malloc(len + piece.len);
        if (joined != NULL) {
            memcpy(joined, prefetch->cut, len);
            memcpy(joined + len, piece.at, piece.len);
        }
        piece = sds_span(joined, len + piece.len);
        e = joined != NULL ? 0 : no_memory(err);
    }
    if (e == 0) {
        e = take_piece(prefetch, end, piece, records, out, count, err);
    }
    pthread_mutex_unlock(&prefetch->lock);
    free(joined);
    return e;
}
