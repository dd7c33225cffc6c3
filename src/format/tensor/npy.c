// SPDX-License-Identifier: Apache-2.0
#include "format/tensor/npy.h"

#include <stdbool.h>

#define ALIGNMENT 64
// numpy leaves room for the first dimension to grow to this many digits in place (numpy.lib.format,
// GROWTH_AXIS_MAX_DIGITS).
#define GROWTH_DIGITS 21
#define MAGIC "\x93NUMPY"
#define DESCR "{'descr': '"
#define ORDER_AND_SHAPE "', 'fortran_order': False, 'shape': ("
#define END "), }"

struct layout {
    bool wide;  // version 2.0: the length has 4 bytes, not 2
    size_t pad; // spaces between the dictionary and the final line feed
    size_t total;
};

static size_t digits(uint64_t n) {
    size_t count = 1;
    for (; n >= 10; n /= 10) {
        count++;
    }
    return count;
}

static size_t prefix_len(const struct layout *layout) {
    return strlen(MAGIC) + 2 + (layout->wide ? 4 : 2); // magic, version, length
}

static struct layout lay_out(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank) {
    size_t dict =
        strlen(DESCR) + strlen(sds_dtype_numpy(dtype)) + strlen(ORDER_AND_SHAPE) + strlen(END);
    for (uint32_t i = 0; i < rank; i++) {
        dict += digits(shape[i]) + strlen(", ");
    }
    if (rank > 0) { // "(3,)", "(3, 4)"
        dict -= rank == 1 ? strlen(" ") : strlen(", ");
    }
    size_t grow = rank > 0 ? GROWTH_DIGITS - digits(shape[0]) : 0;
    struct layout layout = {0};
    size_t text = dict + grow + strlen("\n");
    size_t prefix = prefix_len(&layout);
    // numpy always adds at least one space, a whole line of them where nothing is missing.
    size_t pad = ALIGNMENT - (prefix + text) % ALIGNMENT;
    if (text + pad > UINT16_MAX) {
        layout.wide = true;
        prefix = prefix_len(&layout);
        pad = ALIGNMENT - (prefix + text) % ALIGNMENT;
    }
    layout.pad = grow + pad;
    layout.total = prefix + text + pad;
    return layout;
}

size_t sds_npy_header_len(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank) {
    return lay_out(dtype, shape, rank).total;
}

static char *put(char *at, const char *text) {
    size_t len = strlen(text);
    memcpy(at, text, len);
    return at + len;
}

static char *put_number(char *at, uint64_t n) {
    size_t len = digits(n);
    for (size_t i = len; i > 0; i--, n /= 10) {
        at[i - 1] = (char)('0' + n % 10);
    }
    return at + len;
}

static char *put_prefix(char *at, const struct layout *layout) {
    size_t width = layout->wide ? 4 : 2;
    at = put(at, MAGIC);
    *at++ = layout->wide ? 2 : 1;
    *at++ = 0;
    size_t len = layout->total - prefix_len(layout);
    for (size_t i = 0; i < width; i++, len >>= 8) {
        *at++ = (char)(len & 0xFF);
    }
    return at;
}

enum sds_kind sds_npy_header(enum sds_dtype dtype, const uint64_t *shape, uint32_t rank,
                             struct sds_buf *out) {
    struct layout layout = lay_out(dtype, shape, rank);
    enum sds_kind kind = sds_buf_reserve(out, layout.total);
    if (kind != SDS_OK) {
        return kind;
    }
    char *at = put_prefix((char *)out->at + out->len, &layout);
    at = put(put(put(at, DESCR), sds_dtype_numpy(dtype)), ORDER_AND_SHAPE);
    for (uint32_t i = 0; i < rank; i++) {
        at = put_number(i > 0 ? put(at, ", ") : at, shape[i]);
    }
    at = put(rank == 1 ? put(at, ",") : at, END);
    memset(at, ' ', layout.pad);
    at[layout.pad] = '\n';
    out->len += layout.total;
    return SDS_OK;
}
