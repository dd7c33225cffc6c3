// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/encode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/signal_dataset/encode_text.h"
#include "format/signal_dataset/record_internal.h"
#include "format/tensor/safetensors.h"

#define FEW_FIELDS 16     // are sorted on the stack
#define LENGTH_BYTES 8    // of the header's length, in front of it
#define HEADER_MULTIPLE 8 // so that the data after it is aligned

// The order of the data: element types as the safetensors library sorts them, the widest first; one
// type by name. The descriptor, a U8, has the first of those names.
static const enum sds_dtype data_order[SDS_DTYPES] = {
    SDS_U64, SDS_I64, SDS_F64, SDS_C64, SDS_F32, SDS_U32,  SDS_I32,
    SDS_F16, SDS_U16, SDS_I16, SDS_I8,  SDS_U8,  SDS_BOOL,
};

// The fields in the order of their names, which is that of the descriptor's keys and of the numbers
// in the names of their tensors.
struct order {
    struct sds_named few[FEW_FIELDS];
    struct sds_named *many; // owned, instead of few where those are not enough
    const struct sds_named *fields;
    size_t count;
};

static enum sds_kind order_fields(const struct sds_record_source *source, struct order *order,
                                  struct sds_err *err) {
    order->many = NULL;
    order->count = source->field_count;
    if (source->field_count > SDS_MAX_FIELDS) {
        return sds_fail(err, SDS_ERR_LIMIT, "field_count", "%zu fields, more than %d",
                        source->field_count, SDS_MAX_FIELDS);
    }
    struct sds_named *fields = order->few;
    if (order->count > FEW_FIELDS) {
        fields = order->many = malloc(order->count * sizeof *fields);
        if (fields == NULL) {
            return sds_record_no_memory(err);
        }
    }
    for (size_t i = 0; i < order->count; i++) {
        fields[i] = (struct sds_named){.name = source->fields[i].name, .at = (uint32_t)i};
    }
    sds_named_sort(fields, order->count);
    order->fields = fields;
    return SDS_OK;
}

static void order_fini(struct order *order) {
    free(order->many);
}

// What is in a record beside its fields, and about how much JSON frames them.
static size_t text_room(const struct sds_record_source *source) {
    size_t room = 512 + source->id.len + source->scene_id.len + source->metadata.len;
    for (size_t i = 0; i < source->field_count; i++) {
        const struct sds_field_source *field = &source->fields[i];
        room += 256 + field->name.len + field->axes.len + field->metadata.len;
    }
    return room;
}

static void add_tensor_name(struct text *text, size_t number) {
    char name[sizeof "\"tensor_18446744073709551615\""];
    int len = snprintf(name, sizeof name, "\"tensor_%06zu\"", number);
    text_add_span(text, sds_span(name, (size_t)len));
}

// What the descriptor and the entry of a record say alike of a field, up to its axes, and of the
// record: keys are sorted, so either goes on from there in its own way.
static void begin_field(struct text *text, size_t number, const struct sds_field_source *field) {
    text_add(text, number == 0 ? "" : ",");
    text_add_string(text, field->name);
    text_add(text, ":{\"axes\":");
    text_add_span(text, field->axes);
}

static void add_identity(struct text *text, const struct sds_record_source *source) {
    text_add(text, "\"id\":");
    text_add_span(text, source->id);
    text_add(text, ",\"metadata\":");
    text_add_span(text, source->metadata);
    text_add(text, ",\"scene_id\":");
    text_add_span(text, source->scene_id);
}

static void add_descriptor(struct text *text, const struct sds_record_source *source,
                           const struct order *order) {
    text_add(text, "{\"fields\":{");
    for (size_t i = 0; i < order->count; i++) {
        const struct sds_field_source *field = &source->fields[order->fields[i].at];
        begin_field(text, i, field);
        text_add(text, ",\"metadata\":");
        text_add_span(text, field->metadata);
        text_add(text, ",\"tensor\":");
        add_tensor_name(text, i);
        text_add(text, "}");
    }
    text_add(text, "},\"format\":\"" SDS_RECORD_FORMAT "\",");
    add_identity(text, source);
    text_add(text, ",\"version\":\"" SDS_RECORD_VERSION "\"}");
}

static void add_shape(struct text *text, const uint64_t *shape, uint32_t rank) {
    text_add(text, "[");
    for (uint32_t i = 0; i < rank; i++) {
        text_add(text, i == 0 ? "" : ",");
        text_add_number(text, shape[i]);
    }
    text_add(text, "]");
}

// A record being laid out: its descriptor, and the header that grows with the data.
struct layout {
    const struct sds_record_source *source;
    const struct order *order;
    struct sds_buf buf; // the descriptor, then the header
    struct text text;   // into buf
    size_t descriptor_len;
    uint64_t descriptor_off; // this and all others from the start of the data
    uint64_t *offsets;       // of the fields, in the source's order
    uint64_t data_len;
    const char *separator; // in front of the next tensor
};

// A tensor's entry in the header. Its data come behind what there is.
static uint64_t add_tensor(struct layout *layout, enum sds_dtype dtype, const uint64_t *shape,
                           uint32_t rank) {
    struct text *text = &layout->text;
    uint64_t bytes = sds_array_bytes(dtype, shape, rank);
    uint64_t off = layout->data_len;
    if (text->kind == SDS_OK && bytes > SDS_MAX_TENSOR_BYTES) {
        text->kind = sds_fail(text->err, SDS_ERR_LIMIT, "tensor_size", "%llu bytes of data",
                              (unsigned long long)bytes);
        return off;
    }
    layout->data_len += bytes; // of at most SDS_MAX_FIELDS + 1 tensors: far from 2^64
    text_add(text, ":{\"dtype\":\"");
    text_add(text, sds_dtype_safetensors(dtype));
    text_add(text, "\",\"shape\":");
    add_shape(text, shape, rank);
    text_add(text, ",\"data_offsets\":[");
    text_add_number(text, off);
    text_add(text, ",");
    text_add_number(text, layout->data_len);
    text_add(text, "]}");
    return off;
}

static void separate(struct layout *layout) {
    text_add(&layout->text, layout->separator);
    layout->separator = ",";
}

static void add_tensors_of(struct layout *layout, enum sds_dtype dtype) {
    if (dtype == SDS_U8) {
        const uint64_t shape[] = {layout->descriptor_len};
        separate(layout);
        text_add(&layout->text, "\"" SDS_DESCRIPTOR_TENSOR "\"");
        layout->descriptor_off = add_tensor(layout, dtype, shape, 1);
    }
    for (size_t i = 0; i < layout->order->count; i++) {
        uint32_t at = layout->order->fields[i].at;
        const struct sds_field_source *field = &layout->source->fields[at];
        if (field->dtype == dtype) {
            separate(layout);
            add_tensor_name(&layout->text, i);
            layout->offsets[at] = add_tensor(layout, dtype, field->shape, field->rank);
        }
    }
}

static void add_header(struct layout *layout) {
    layout->separator = "{";
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        add_tensors_of(layout, data_order[i]);
    }
    text_add(&layout->text, "}");
    while (layout->text.kind == SDS_OK &&
           (layout->buf.len - layout->descriptor_len) % HEADER_MULTIPLE != 0) {
        text_add(&layout->text, " ");
    }
}

// Puts the pieces together, and makes the offsets those in the payload.
static enum sds_kind assemble(struct layout *layout, uint64_t max_bytes, struct sds_blob **out,
                              struct sds_err *err) {
    struct sds_span descriptor = sds_span(layout->buf.at, layout->descriptor_len);
    struct sds_span header =
        sds_span(layout->buf.at + layout->descriptor_len, layout->buf.len - layout->descriptor_len);
    uint64_t data_off = LENGTH_BYTES + header.len;
    uint64_t size = data_off + layout->data_len;
    if (size > max_bytes) {
        return sds_fail(err, SDS_ERR_LIMIT, "record_size", "record of %llu bytes, more than %llu",
                        (unsigned long long)size, (unsigned long long)max_bytes);
    }
    struct sds_blob *payload = sds_blob_new((size_t)size);
    if (payload == NULL) {
        return sds_record_no_memory(err);
    }
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        payload->at[i] = (uint8_t)((uint64_t)header.len >> (8 * i));
    }
    memcpy(payload->at + LENGTH_BYTES, header.at, header.len);
    memset(payload->at + data_off, 0, (size_t)layout->data_len);
    memcpy(payload->at + data_off + layout->descriptor_off, descriptor.at, descriptor.len);
    for (size_t i = 0; i < layout->order->count; i++) {
        layout->offsets[i] += data_off;
    }
    *out = payload;
    return SDS_OK;
}

static enum sds_kind lay_out(struct layout *layout, uint64_t max_bytes, struct sds_blob **out,
                             struct sds_err *err) {
    enum sds_kind kind = sds_buf_reserve(&layout->buf, text_room(layout->source));
    if (kind != SDS_OK) {
        return sds_buf_failed(&layout->buf, kind, err);
    }
    add_descriptor(&layout->text, layout->source, layout->order);
    layout->descriptor_len = layout->buf.len;
    add_header(layout);
    return layout->text.kind == SDS_OK ? assemble(layout, max_bytes, out, err) : layout->text.kind;
}

// Section 6 has its one home in the decoder.
static enum sds_kind check_record(const struct sds_blob *payload, struct sds_err *err) {
    struct sds_record record;
    enum sds_kind kind = sds_record_decode(sds_span(payload->at, payload->len), &record, err);
    if (kind == SDS_OK) {
        sds_record_fini(&record);
    }
    return text_fail_as_invalid(kind, err);
}

enum sds_kind sds_record_encode(const struct sds_record_source *source, uint64_t max_bytes,
                                struct sds_blob **payload, uint64_t *data_offsets,
                                struct sds_err *err) {
    struct order order;
    enum sds_kind kind = order_fields(source, &order, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct layout layout = {
        .source = source,
        .order = &order,
        .buf = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES + SDS_MAX_HEADER_BYTES),
        .text = {.out = &layout.buf, .err = err},
        .offsets = data_offsets,
    };
    sds_autoblob struct sds_blob *blob = NULL;
    kind = lay_out(&layout, max_bytes, &blob, err);
    if (kind == SDS_OK) {
        kind = check_record(blob, err);
    }
    if (kind == SDS_OK) {
        *payload = SDS_STEAL(blob);
    }
    sds_buf_fini(&layout.buf);
    order_fini(&order);
    return kind;
}

static void add_entry(struct text *text, const struct sds_record_source *source,
                      const struct order *order) {
    text_add(text, "{\"fields\":{");
    for (size_t i = 0; i < order->count; i++) {
        const struct sds_field_source *field = &source->fields[order->fields[i].at];
        begin_field(text, i, field);
        text_add(text, ",\"dtype\":\"");
        text_add(text, sds_dtype_numpy(field->dtype));
        text_add(text, "\",\"metadata\":");
        text_add_span(text, field->metadata);
        text_add(text, ",\"shape\":");
        add_shape(text, field->shape, field->rank);
        text_add(text, "}");
    }
    text_add(text, "},");
    add_identity(text, source);
    text_add(text, "}");
}

static enum sds_kind check_entry(struct sds_span entry, struct sds_err *err) {
    struct sds_record record;
    enum sds_kind kind = sds_metadata_decode(entry, &record, err);
    if (kind == SDS_OK) {
        sds_record_fini(&record);
    }
    return text_fail_as_invalid(kind, err);
}

enum sds_kind sds_metadata_encode(const struct sds_record_source *source, struct sds_buf *out,
                                  struct sds_err *err) {
    struct order order;
    enum sds_kind kind = order_fields(source, &order, err);
    if (kind != SDS_OK) {
        return kind;
    }
    size_t before = out->len;
    struct text text = {.out = out, .err = err};
    add_entry(&text, source, &order);
    order_fini(&order);
    kind = text.kind;
    if (kind == SDS_OK) {
        kind = check_entry(sds_span(out->at + before, out->len - before), err);
    }
    if (kind != SDS_OK) {
        out->len = before;
    }
    return kind;
}
