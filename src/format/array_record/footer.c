// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/footer.h"

#include "format/array_record/cursor.h"
#include "format/array_record/varint.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
    uint32_t number;
    uint32_t wire;
    uint64_t value;        // of a varint
    struct sds_span bytes; // of everything else
};

// Groups are refused: none of the messages has one, and no writer has left any behind.
static bool next_field(struct sds_cursor *in, struct field *out) {
    uint32_t tag;
    if (!sds_cursor_varint32(in, &tag) || tag >> 3 == 0) {
        return false;
    }
    *out = (struct field){.number = tag >> 3, .wire = tag & 7};
    uint32_t len;
    switch (out->wire) {
    case WIRE_VARINT:
        return sds_cursor_varint64(in, &out->value);
    case WIRE_FIXED64:
        return sds_cursor_take(in, 8, &out->bytes);
    case WIRE_BYTES:
        return sds_cursor_varint32(in, &len) && sds_cursor_take(in, len, &out->bytes);
    case WIRE_FIXED32:
        return sds_cursor_take(in, 4, &out->bytes);
    default:
        return false;
    }
}

#define FIELDS 3

// All of our messages are varints under numbers from 1 on. Of several occurrences the last counts,
// and what we do not know is skipped.
struct varints {
    uint64_t value[FIELDS];
    bool seen[FIELDS];
};

static bool parse_varints(struct sds_span message, struct varints *out) {
    struct sds_cursor in = sds_cursor(message);
    struct field field;
    while (sds_cursor_left(&in) > 0) {
        if (!next_field(&in, &field)) {
            return false;
        }
        if (field.number <= FIELDS && field.wire == WIRE_VARINT) {
            out->value[field.number - 1] = field.value;
            out->seen[field.number - 1] = true;
        }
    }
    return true;
}

bool sds_ar_metadata_parse(struct sds_span record, struct sds_ar_metadata *out) {
    struct sds_cursor in = sds_cursor(record);
    struct varints inner = {.seen = {false}};
    bool present = false;
    struct field field;
    while (sds_cursor_left(&in) > 0) {
        if (!next_field(&in, &field)) {
            return false;
        }
        // Several occurrences of a message count as one, run together.
        if (field.number == 1 && field.wire == WIRE_BYTES) {
            present = true;
            if (!parse_varints(field.bytes, &inner)) {
                return false;
            }
        }
    }
    *out = (struct sds_ar_metadata){.version = (uint32_t)inner.value[0],
                                    .num_chunks = inner.value[1],
                                    .num_records = inner.value[2]};
    return present;
}

bool sds_ar_entry_parse(struct sds_span record, struct sds_ar_entry *out) {
    struct varints v = {.seen = {false}};
    if (!parse_varints(record, &v)) {
        return false;
    }
    *out = (struct sds_ar_entry){
        .begin = v.value[0], .decoded_size = v.value[1], .num_records = v.value[2]};
    return v.seen[0] && v.seen[1] && v.seen[2];
}

bool sds_ar_postscript_parse(struct sds_span record, struct sds_ar_postscript *out) {
    struct varints v = {.seen = {false}};
    if (!parse_varints(record, &v)) {
        return false;
    }
    *out = (struct sds_ar_postscript){.footer_offset = v.value[0], .magic = v.value[1]};
    return v.seen[0] && v.seen[1];
}

// ---- making

// All varints of a message, from number 1 on, zeros too.
static enum sds_kind add_varints(const uint64_t *values, unsigned count, struct sds_buf *out) {
    uint8_t bytes[FIELDS * (1 + SDS_VARINT_MAX)];
    size_t len = 0;
    for (unsigned i = 0; i < count; i++) {
        bytes[len++] = (uint8_t)((i + 1) << 3 | WIRE_VARINT);
        len += sds_varint_put(bytes + len, values[i]);
    }
    return sds_buf_add(out, bytes, len);
}

static enum sds_kind add_bytes(unsigned number, struct sds_span bytes, struct sds_buf *out) {
    enum sds_kind kind = sds_varint_add(out, number << 3 | WIRE_BYTES);
    if (kind == SDS_OK) {
        kind = sds_varint_add(out, bytes.len);
    }
    return kind == SDS_OK ? sds_buf_add_span(out, bytes) : kind;
}

enum sds_kind sds_ar_metadata_make(const struct sds_ar_metadata *metadata, const char *options,
                                   struct sds_buf *out) {
    const uint64_t values[] = {metadata->version, metadata->num_chunks, metadata->num_records};
    struct sds_buf inner = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = add_varints(values, 3, &inner);
    if (kind == SDS_OK) {
        kind = add_bytes(4, sds_span_str(options), &inner);
    }
    if (kind == SDS_OK) {
        kind = add_bytes(1, sds_buf_span(&inner), out);
    }
    sds_buf_fini(&inner);
    return kind;
}

enum sds_kind sds_ar_entry_make(const struct sds_ar_entry *entry, struct sds_buf *out) {
    const uint64_t values[] = {entry->begin, entry->decoded_size, entry->num_records};
    return add_varints(values, 3, out);
}

enum sds_kind sds_ar_postscript_make(const struct sds_ar_postscript *postscript,
                                     struct sds_buf *out) {
    const uint64_t values[] = {postscript->footer_offset, postscript->magic};
    return add_varints(values, 2, out);
}
