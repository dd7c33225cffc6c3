// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/machine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/array_record/compress.h"

#define MAX_PARTS (1U << 20) // buckets, buffers, states: each

// A header with all the parts there may be, each varint as long as it can get.
#define MAX_HEADER_BYTES ((10ULL + 10 + 5 + 5 + 1 + 5) * MAX_PARTS + 4 * 5)

// Tags below 8 belong to no field and mean something else.
enum { TAG_NOTHING, TAG_RAW_RECORD, TAG_SUBMESSAGE_START, TAG_MESSAGE_START, FIRST_FIELD_TAG = 8 };

// Wire types, in the low three bits of a tag. SUBMESSAGE_END is Riegeli's own: the end of what is
// put as BYTES.
enum { VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32, SUBMESSAGE_END };

// Subtypes of varint fields: so many bytes of the buffer, or the value itself.
#define SUBTYPE_INLINE 10
#define SUBTYPE_MAX (SUBTYPE_INLINE + 127)

static enum sds_kind invalid(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_CORRUPT, "transposed", "%s", what);
}

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a transposed chunk");
}

// What parsing needs besides the machine.
struct parser {
    struct sds_ar_machine *machine;
    enum sds_ar_compression compression;
    uint64_t num_records, decoded_size;
    struct sds_cursor data;   // behind what is parsed: buckets, then transitions
    struct sds_cursor header; // plain
    uint32_t num_buckets;
    struct sds_ar_packed *buckets;
};

// A count of things that take at least bytes_each bytes of the header.
static enum sds_kind parse_count(struct parser *p, const char *what, size_t bytes_each,
                                 uint32_t *out, struct sds_err *err) {
    if (!sds_cursor_varint32(&p->header, out)) {
        return invalid(err, "a count is no varint");
    }
    if (*out > sds_cursor_left(&p->header) / bytes_each) {
        return sds_fail(err, SDS_ERR_CORRUPT, "transposed",
                        "%" PRIu32 " %s are more than the header can hold", *out, what);
    }
    if (*out > MAX_PARTS) {
        return sds_fail(err, SDS_ERR_LIMIT, "limit", "%" PRIu32 " %s in one chunk, the limit is %u",
                        *out, what, MAX_PARTS);
    }
    return SDS_OK;
}

// Opens all buckets and tells their plain size. Buffers hold nothing but what the records are made
// of, and a length for each raw record.
static enum sds_kind open_buckets(struct parser *p, uint64_t *plain_size, struct sds_err *err) {
    uint64_t cap = p->decoded_size + 10 * p->num_records;
    *plain_size = 0;
    for (uint32_t i = 0; i < p->num_buckets; i++) {
        uint64_t stored;
        struct sds_span block;
        if (!sds_cursor_varint64(&p->header, &stored)) {
            return invalid(err, "the size of a bucket is no varint");
        }
        if (!sds_cursor_take(&p->data, stored, &block)) {
            return invalid(err, "a bucket is larger than the chunk");
        }
        enum sds_kind kind = sds_ar_packed_open(p->compression, block, cap - *plain_size, "bucket",
                                                &p->buckets[i], err);
        if (kind != SDS_OK) {
            return kind;
        }
        *plain_size += p->buckets[i].plain_size;
    }
    return SDS_OK;
}

// Brings all buckets together in one run of bytes. Uncompressed, they are one already.
static enum sds_kind join_buckets(struct parser *p, struct sds_span *out, struct sds_err *err) {
    *out = sds_span(p->data.at, 0);
    if (p->num_buckets == 0) {
        return SDS_OK;
    }
    uint64_t plain_size;
    enum sds_kind kind = open_buckets(p, &plain_size, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (p->compression == SDS_AR_PLAIN) {
        *out = sds_span(p->buckets[0].stream.at, plain_size);
        return SDS_OK;
    }
    uint8_t *bytes = p->machine->bucket_bytes = malloc(plain_size > 0 ? plain_size : 1);
    if (bytes == NULL) {
        return no_memory(err);
    }
    *out = sds_span(bytes, plain_size);
    for (uint32_t i = 0; i < p->num_buckets && kind == SDS_OK; i++) {
        kind = sds_ar_unpack(&p->buckets[i], bytes, err);
        bytes += p->buckets[i].plain_size;
    }
    return kind;
}

// Cuts the joined buckets into buffers. A buffer lies in one bucket, and the last one ends the last
// bucket.
static enum sds_kind cut_buffers(struct parser *p, struct sds_span joined, struct sds_err *err) {
    struct sds_ar_machine *machine = p->machine;
    const uint8_t *at = joined.at;
    uint32_t bucket = 0;
    uint64_t left = p->num_buckets > 0 ? p->buckets[0].plain_size : 0; // of the bucket
    for (uint32_t i = 0; i < machine->num_buffers; i++) {
        uint64_t size;
        if (!sds_cursor_varint64(&p->header, &size)) {
            return invalid(err, "the size of a buffer is no varint");
        }
        if (size > left) {
            return invalid(err, "a buffer crosses the end of its bucket");
        }
        machine->buffers[i] = sds_cursor(sds_span(at, size));
        at += size;
        left -= size;
        while (left == 0 && bucket + 1 < p->num_buckets) {
            left = p->buckets[++bucket].plain_size;
        }
    }
    if (left > 0 || bucket + 1 < p->num_buckets) {
        return invalid(err, "the buckets hold more than the buffers");
    }
    return SDS_OK;
}

static enum sds_kind parse_buffers(struct parser *p, struct sds_err *err) {
    struct sds_ar_machine *machine = p->machine;
    enum sds_kind kind = parse_count(p, "buckets", 1, &p->num_buckets, err);
    if (kind == SDS_OK) {
        kind = parse_count(p, "buffers", 1, &machine->num_buffers, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    if (p->num_buckets == 0 && machine->num_buffers > 0) {
        return invalid(err, "there are buffers and no bucket");
    }
    sds_autofree struct sds_ar_packed *buckets = calloc(p->num_buckets + 1, sizeof *buckets);
    p->buckets = buckets;
    machine->buffers = calloc(machine->num_buffers + 1, sizeof *machine->buffers);
    if (buckets == NULL || machine->buffers == NULL) {
        return no_memory(err);
    }
    struct sds_span joined;
    kind = join_buckets(p, &joined, err);
    return kind == SDS_OK ? cut_buffers(p, joined, err) : kind;
}

static void put_tag(struct sds_ar_state *state, uint32_t tag) {
    for (; tag > 0x7f; tag >>= 7) {
        state->put[state->put_len++] = (uint8_t)(tag | 0x80);
    }
    state->put[state->put_len++] = (uint8_t)tag;
}

static bool has_subtype(uint32_t tag) {
    return tag >= FIRST_FIELD_TAG && (tag & 7) == VARINT;
}

// A varint field: its subtype says where the value is.
static bool set_subtype(struct sds_ar_state *state, uint8_t subtype) {
    if (subtype < SUBTYPE_INLINE) {
        state->action = SDS_AR_VARINT;
        state->take = subtype + 1;
        return true;
    }
    state->action = SDS_AR_PUT;
    state->put[state->put_len++] = subtype - SUBTYPE_INLINE;
    return subtype <= SUBTYPE_MAX;
}

// What a state with this tag does. The tag of the end of a submessage is put with the wire type of
// bytes.
static bool set_action(struct sds_ar_state *state, uint32_t tag, struct sds_cursor *subtypes) {
    static const uint8_t fixed_actions[] = {
        [TAG_NOTHING] = SDS_AR_NOTHING,
        [TAG_RAW_RECORD] = SDS_AR_RAW_RECORD,
        [TAG_SUBMESSAGE_START] = SDS_AR_SUBMESSAGE_START,
        [TAG_MESSAGE_START] = SDS_AR_MESSAGE_START,
    };
    if (tag <= TAG_MESSAGE_START) {
        state->action = fixed_actions[tag];
        return true;
    }
    if (tag < FIRST_FIELD_TAG) {
        return false;
    }
    uint32_t wire = tag & 7;
    put_tag(state, wire == SUBMESSAGE_END ? tag - SUBMESSAGE_END + BYTES : tag);
    uint8_t subtype;
    switch (wire) {
    case VARINT:
        return sds_cursor_u8(subtypes, &subtype) && set_subtype(state, subtype);
    case FIXED32:
    case FIXED64:
        state->action = SDS_AR_FIXED;
        state->take = wire == FIXED32 ? 4 : 8;
        return true;
    case BYTES:
        state->action = SDS_AR_STRING;
        return true;
    case SUBMESSAGE_END:
        state->action = SDS_AR_SUBMESSAGE_END;
        return true;
    case GROUP_START:
    case GROUP_END:
        state->action = SDS_AR_PUT;
        return true;
    default:
        return false;
    }
}

static bool reads_buffer(const struct sds_ar_state *state) {
    return state->action == SDS_AR_RAW_RECORD || state->action == SDS_AR_VARINT ||
           state->action == SDS_AR_FIXED || state->action == SDS_AR_STRING;
}

static enum sds_kind parse_next(struct parser *p, struct sds_ar_state *state, struct sds_err *err) {
    uint32_t num_states = p->machine->num_states;
    if (!sds_cursor_varint32(&p->header, &state->next)) {
        return invalid(err, "the next of a state is no varint");
    }
    state->implicit = state->next >= num_states;
    if (state->implicit) {
        state->next -= num_states;
    }
    return state->next < num_states ? SDS_OK : invalid(err, "the next of a state is no state");
}

// The tables of the header stand one behind the other: tags, nexts, subtypes, buffer indices.
static enum sds_kind parse_state_tables(struct parser *p, struct sds_err *err) {
    struct sds_ar_machine *machine = p->machine;
    struct sds_cursor tags = p->header;
    size_t num_subtypes = 0;
    for (uint32_t i = 0; i < machine->num_states; i++) {
        uint32_t tag;
        if (!sds_cursor_varint32(&p->header, &tag)) {
            return invalid(err, "the tag of a state is no varint");
        }
        num_subtypes += has_subtype(tag);
    }
    for (uint32_t i = 0; i < machine->num_states; i++) {
        enum sds_kind kind = parse_next(p, &machine->states[i], err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    struct sds_span subtype_bytes;
    if (!sds_cursor_take(&p->header, num_subtypes, &subtype_bytes)) {
        return invalid(err, "the subtypes are cut short");
    }
    struct sds_cursor subtypes = sds_cursor(subtype_bytes);
    for (uint32_t i = 0; i < machine->num_states; i++) {
        struct sds_ar_state *state = &machine->states[i];
        uint32_t tag;
        if (!sds_cursor_varint32(&tags, &tag) || !set_action(state, tag, &subtypes)) {
            return invalid(err, "the tag or the subtype of a state is invalid");
        }
        if (!reads_buffer(state)) {
            continue;
        }
        if (!sds_cursor_varint32(&p->header, &state->buffer) ||
            state->buffer >= machine->num_buffers) {
            return invalid(err, "the buffer of a state is no buffer");
        }
    }
    return SDS_OK;
}

// Follows implicit states from each state on, every state once: mark is the start of the walk that
// passed it. A walk that meets its own mark would never end.
static enum sds_kind refuse_implicit_cycles(const struct sds_ar_machine *machine,
                                            struct sds_err *err) {
    const struct sds_ar_state *states = machine->states;
    sds_autofree uint32_t *mark = calloc(machine->num_states, sizeof *mark);
    if (mark == NULL) {
        return no_memory(err);
    }
    for (uint32_t start = 0; start < machine->num_states; start++) {
        uint32_t i = start;
        for (; states[i].implicit && mark[i] == 0; i = states[i].next) {
            mark[i] = start + 1;
        }
        if (states[i].implicit && mark[i] == start + 1) {
            return invalid(err, "a cycle of states needs no transition");
        }
    }
    return SDS_OK;
}

static enum sds_kind parse_states(struct parser *p, struct sds_err *err) {
    struct sds_ar_machine *machine = p->machine;
    enum sds_kind kind = parse_count(p, "states", 2, &machine->num_states, err);
    if (kind != SDS_OK) {
        return kind;
    }
    machine->states = calloc(machine->num_states + 1, sizeof *machine->states);
    if (machine->states == NULL) {
        return no_memory(err);
    }
    kind = parse_state_tables(p, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (!sds_cursor_varint32(&p->header, &machine->first) ||
        machine->first >= machine->num_states) {
        return invalid(err, "the first state is no state");
    }
    if (sds_cursor_left(&p->header) > 0) {
        return invalid(err, "bytes follow the header");
    }
    return refuse_implicit_cycles(machine, err);
}

// Finds and unpacks the header block in front of p->data.
static enum sds_kind open_header(struct parser *p, uint8_t **owned, struct sds_err *err) {
    uint8_t byte;
    if (!sds_cursor_u8(&p->data, &byte)) {
        return invalid(err, "the chunk has no compression type");
    }
    enum sds_kind kind = sds_ar_compression_check(byte, &p->compression, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint64_t len;
    struct sds_span block, plain;
    if (!sds_cursor_varint64(&p->data, &len) || !sds_cursor_take(&p->data, len, &block)) {
        return invalid(err, "the header is larger than the chunk");
    }
    struct sds_ar_packed packed;
    kind = sds_ar_packed_open(p->compression, block, MAX_HEADER_BYTES, "transposed header", &packed,
                              err);
    if (kind == SDS_OK) {
        kind = sds_ar_unpack_view(&packed, owned, &plain, err);
    }
    if (kind == SDS_OK) {
        p->header = sds_cursor(plain);
    }
    return kind;
}

// The transitions are the rest of the data. No encoder needs more than a few bytes of them for each
// byte that comes out.
static enum sds_kind open_transitions(struct parser *p, struct sds_err *err) {
    struct sds_span block = sds_span(p->data.at, sds_cursor_left(&p->data));
    uint64_t cap = 8 * (p->decoded_size + 2 * p->num_records) + 64;
    struct sds_ar_packed packed;
    enum sds_kind kind =
        sds_ar_packed_open(p->compression, block, cap, "transitions", &packed, err);
    return kind == SDS_OK ? sds_ar_unpack_view(&packed, &p->machine->transition_bytes,
                                               &p->machine->transitions, err)
                          : kind;
}

enum sds_kind sds_ar_machine_open(struct sds_span data, uint64_t num_records, uint64_t decoded_size,
                                  struct sds_ar_machine *out, struct sds_err *err) {
    *out = (struct sds_ar_machine){0};
    struct parser p = {.machine = out,
                       .num_records = num_records,
                       .decoded_size = decoded_size,
                       .data = sds_cursor(data)};
    sds_autofree uint8_t *header_bytes = NULL;
    enum sds_kind kind = open_header(&p, &header_bytes, err);
    if (kind == SDS_OK) {
        kind = parse_buffers(&p, err);
    }
    if (kind == SDS_OK) {
        kind = parse_states(&p, err);
    }
    if (kind == SDS_OK) {
        kind = open_transitions(&p, err);
    }
    if (kind != SDS_OK) {
        sds_ar_machine_fini(out);
    }
    return kind;
}

void sds_ar_machine_fini(struct sds_ar_machine *machine) {
    free(machine->states);
    free(machine->buffers);
    free(machine->bucket_bytes);
    free(machine->transition_bytes);
    *machine = (struct sds_ar_machine){0};
}
