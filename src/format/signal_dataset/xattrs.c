// SPDX-License-Identifier: Apache-2.0
//
// Extended attributes of records and fields (docs/tree.md).
#include <stdio.h>

#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/records.h"
#include "format/signal_dataset/tree.h"

#define XATTR_MAX ((size_t)64 << 10) // the kernel's ceiling; longer values are left out

struct emitter {
    sds_xattr_fn emit;
    void *ctx;
    bool more;
};

static void emit(struct emitter *e, const char *name, struct sds_span value) {
    if (e->more && value.len <= XATTR_MAX) {
        e->more = e->emit(e->ctx, name, value);
    }
}

static void emit_string(struct emitter *e, const char *name, struct sds_value value) {
    if (!sds_value_there(value) || sds_value_type(value) != SDS_JSON_STRING) {
        return;
    }
    struct sds_buf scratch = SDS_BUF_INIT(XATTR_MAX);
    struct sds_span bytes;
    if (sds_value_string(value, &scratch, &bytes) == SDS_OK) {
        emit(e, name, bytes);
    }
    sds_buf_fini(&scratch);
}

static void emit_number(struct emitter *e, const char *name, unsigned width, uint64_t value) {
    char text[32];
    int n = snprintf(text, sizeof text, "%0*llu", (int)width, (unsigned long long)value);
    emit(e, name, sds_span(text, (size_t)n));
}

static void emit_shape(struct emitter *e, const struct sds_field *field) {
    struct sds_buf text = SDS_BUF_INIT(XATTR_MAX);
    enum sds_kind kind = sds_buf_add_str(&text, "[");
    for (uint32_t i = 0; kind == SDS_OK && i < field->rank; i++) {
        kind =
            sds_buf_printf(&text, "%s%llu", i > 0 ? "," : "", (unsigned long long)field->shape[i]);
    }
    if (kind == SDS_OK && sds_buf_add_str(&text, "]") == SDS_OK) {
        emit(e, "shape", sds_buf_span(&text));
    }
    sds_buf_fini(&text);
}

static void emit_field(struct emitter *e, const struct sds_field *field) {
    emit(e, "dtype", sds_span_str(sds_dtype_numpy(field->dtype)));
    emit_shape(e, field);
    if (sds_value_there(field->axes)) {
        emit(e, "axes", sds_value_text(field->axes));
    }
}

static enum sds_kind emit_record(struct signal_dataset *ds, struct sds_node n, struct emitter *e,
                                 struct sds_err *err) {
    uint32_t number = 0;
    uint64_t ordinal = node_ordinal(ds, n, &number);
    struct record_fields fields;
    struct location at;
    enum sds_kind kind = record_fields(ds, ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = chain_locate(ds, ordinal, &at, err);
    if (kind == SDS_OK) {
        emit_string(e, "id", fields.record->id);
        emit_string(e, "scene_id", fields.record->scene_id);
        emit_number(e, "ordinal", 1, ordinal);
        emit_number(e, "shard", ds->shard_width, at.shard_index);
        if (node_is_field(n) && number < fields.record->field_count) {
            emit_field(e, &fields.record->fields[number]);
        }
        location_fini(&at);
    }
    record_fields_fini(&fields);
    return kind;
}

enum sds_kind tree_xattrs(struct signal_dataset *ds, struct sds_node n, sds_xattr_fn take,
                          void *ctx, struct sds_err *err) {
    struct emitter e = {.emit = take, .ctx = ctx, .more = true};
    if (node_is_field(n)) {
        return emit_record(ds, n, &e, err);
    }
    switch (n.kind) {
    case NODE_RECORD:
    case NODE_PAYLOAD:
    case NODE_ENTRY:
        return emit_record(ds, n, &e, err);
    default:
        return SDS_OK;
    }
}
