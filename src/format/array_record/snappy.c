// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/snappy.h"

#include "format/array_record/cursor.h"

struct output {
    uint8_t *begin, *at, *end;
};

static size_t room(const struct output *out) {
    return (size_t)(out->end - out->at);
}

// A little-endian integer of width bytes, at most four.
static bool take_integer(struct sds_cursor *in, unsigned width, uint32_t *value) {
    struct sds_span bytes;
    if (!sds_cursor_take(in, width, &bytes)) {
        return false;
    }
    *value = 0;
    for (unsigned i = 0; i < width; i++) {
        *value |= (uint32_t)bytes.at[i] << (8 * i);
    }
    return true;
}

static const char *put_literal(struct sds_cursor *in, uint8_t tag, struct output *out) {
    uint32_t length = tag >> 2;
    if (length >= 60 && !take_integer(in, length - 59, &length)) {
        return "a literal's length is cut short";
    }
    struct sds_span bytes;
    uint64_t count = (uint64_t)length + 1;
    if (count > room(out)) {
        return "a literal passes the declared size";
    }
    if (!sds_cursor_take(in, count, &bytes)) {
        return "a literal is cut short";
    }
    memcpy(out->at, bytes.at, bytes.len);
    out->at += bytes.len;
    return NULL;
}

// Repeats what is out already. Where the copy reaches into itself, each turn doubles what there is
// to copy from.
static void repeat(struct output *out, size_t offset, size_t length) {
    while (length > 0) {
        size_t n = length < offset ? length : offset;
        memcpy(out->at, out->at - offset, n);
        out->at += n;
        offset += n;
        length -= n;
    }
}

static const char *put_copy(struct sds_cursor *in, uint8_t tag, struct output *out) {
    static const unsigned widths[4] = {0, 1, 2, 4};
    unsigned form = tag & 3;
    uint32_t offset;
    if (!take_integer(in, widths[form], &offset)) {
        return "a copy is cut short";
    }
    size_t length = (size_t)(tag >> 2) + 1;
    if (form == 1) {
        length = 4 + (tag >> 2 & 7);
        offset |= (uint32_t)(tag >> 5) << 8;
    }
    if (offset == 0 || offset > (size_t)(out->at - out->begin)) {
        return "a copy reaches before the first byte";
    }
    if (length > room(out)) {
        return "a copy passes the declared size";
    }
    repeat(out, offset, length);
    return NULL;
}

const char *sds_snappy_decode(struct sds_span stream, uint8_t *bytes, size_t len) {
    struct sds_cursor in = sds_cursor(stream);
    struct output out = {.begin = bytes, .at = bytes, .end = bytes + len};
    uint32_t declared;
    if (!sds_cursor_varint32(&in, &declared)) {
        return "the length is no varint";
    }
    if (declared != len) {
        return "the length differs from the declared size";
    }
    uint8_t tag;
    while (sds_cursor_u8(&in, &tag)) {
        const char *wrong = (tag & 3) == 0 ? put_literal(&in, tag, &out) : put_copy(&in, tag, &out);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return out.at == out.end ? NULL : "the stream ends before the declared size";
}
