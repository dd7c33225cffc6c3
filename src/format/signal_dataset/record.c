// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/record.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/signal_dataset/record_internal.h"
#include "format/tensor/safetensors.h"

enum sds_kind sds_record_no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a record's descriptor");
}

void sds_field_context(const struct sds_field *field, struct sds_err *err) {
    sds_err_context(err, "field %s", SDS_QUOTE(field->name.at, field->name.len));
}

enum sds_kind sds_record_make_fields(struct sds_record *record, struct sds_value fields,
                                     struct sds_err *err) {
    if (sds_value_type(fields) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "fields", "fields are %s, not an object",
                        sds_value_type_name(fields));
    }
    uint64_t count = sds_value_count(fields);
    if (count > SDS_MAX_FIELDS) {
        return sds_fail(err, SDS_ERR_LIMIT, "field_count", "%llu fields, more than %d",
                        (unsigned long long)count, SDS_MAX_FIELDS);
    }
    record->fields = calloc(count + 1, sizeof *record->fields);
    record->by_name = calloc(count + 1, sizeof *record->by_name);
    record->names = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES);
    if (record->fields == NULL || record->by_name == NULL ||
        sds_named_reserve(fields, &record->names) != SDS_OK) {
        return sds_record_no_memory(err);
    }
    for (struct sds_iter it = sds_value_iter(fields); sds_iter_next(&it);) {
        uint32_t at = record->field_count++;
        struct sds_field *field = &record->fields[at];
        if (sds_value_string(it.key, &record->names, &field->name) != SDS_OK) {
            return sds_record_no_memory(err);
        }
        record->by_name[at] = (struct sds_named){.name = field->name, .at = at};
    }
    sds_named_sort(record->by_name, record->field_count);
    return SDS_OK;
}

// Finds the descriptor among the tensors and parses it.
static enum sds_kind read_descriptor(struct sds_span payload, const struct sds_tensors *tensors,
                                     struct sds_record *record, struct sds_err *err) {
    const struct sds_tensor *tensor =
        sds_tensors_find(tensors, sds_span_str(SDS_DESCRIPTOR_TENSOR));
    if (tensor == NULL) {
        return sds_fail(err, SDS_ERR_CORRUPT, "descriptor", "no tensor " SDS_DESCRIPTOR_TENSOR);
    }
    if (tensor->len > SDS_MAX_DESCRIPTOR_BYTES) {
        return sds_fail(err, SDS_ERR_LIMIT, "descriptor_size", "descriptor of %llu bytes",
                        (unsigned long long)tensor->len);
    }
    if (tensor->dtype != SDS_U8 || tensor->rank != 1) {
        return sds_fail(err, SDS_ERR_CORRUPT, "descriptor",
                        "descriptor is %s of rank %u, not U8 of rank 1",
                        sds_dtype_safetensors(tensor->dtype), tensor->rank);
    }
    const struct sds_json_limits limits = {
        .bytes = SDS_MAX_DESCRIPTOR_BYTES, .depth = SDS_JSON_DEPTH, .nodes = SDS_JSON_NODES};
    struct sds_span text = sds_span(payload.at + tensor->off, (size_t)tensor->len);
    enum sds_kind kind = sds_json_parse(text, &limits, &record->doc, err);
    if (kind != SDS_OK) {
        sds_err_context(err, "descriptor");
        return kind;
    }
    struct sds_value top = sds_json_top(record->doc);
    if (sds_value_type(top) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "descriptor", "descriptor is %s, not an object",
                        sds_value_type_name(top));
    }
    if (!sds_value_is(sds_value_get(top, "format"), SDS_RECORD_FORMAT) ||
        !sds_value_is(sds_value_get(top, "version"), SDS_RECORD_VERSION)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "format",
                        "descriptor is not \"" SDS_RECORD_FORMAT "\" version \"" SDS_RECORD_VERSION
                        "\"");
    }
    record->id = sds_value_get(top, "id");
    record->scene_id = sds_value_get(top, "scene_id");
    record->metadata = sds_value_get(top, "metadata");
    return sds_record_make_fields(record, sds_value_get(top, "fields"), err);
}

// What binding fields to tensors needs beside the two tables.
struct binding {
    const struct sds_tensors *tensors;
    bool *used;             // for each tensor
    struct sds_buf scratch; // for a tensor's name
    struct sds_err *err;
};

static enum sds_kind find_tensor(struct binding *binding, struct sds_value name,
                                 const struct sds_tensor **out) {
    if (sds_value_type(name) != SDS_JSON_STRING) {
        return sds_fail(binding->err, SDS_ERR_CORRUPT, "tensor", "tensor is %s, not a name",
                        sds_value_type_name(name));
    }
    struct sds_span text;
    binding->scratch.len = 0;
    if (sds_value_string(name, &binding->scratch, &text) != SDS_OK) {
        return sds_record_no_memory(binding->err);
    }
    const struct sds_tensor *tensor = sds_tensors_find(binding->tensors, text);
    if (tensor == NULL || sds_span_eq(text, sds_span_str(SDS_DESCRIPTOR_TENSOR))) {
        return sds_fail(binding->err, SDS_ERR_CORRUPT, "tensor", "there is no tensor %s for data",
                        SDS_QUOTE(text.at, text.len));
    }
    binding->used[tensor - binding->tensors->items] = true;
    *out = tensor;
    return SDS_OK;
}

static enum sds_kind bind_field(struct binding *binding, struct sds_value spec,
                                struct sds_field *field) {
    static const uint64_t one[] = {1};
    if (sds_value_type(spec) != SDS_JSON_OBJECT) {
        return sds_fail(binding->err, SDS_ERR_CORRUPT, "fields", "is %s, not an object",
                        sds_value_type_name(spec));
    }
    const struct sds_tensor *tensor = NULL;
    enum sds_kind kind = find_tensor(binding, sds_value_get(spec, "tensor"), &tensor);
    if (kind != SDS_OK) {
        return kind;
    }
    field->dtype = tensor->dtype;
    // A tensor of rank 0 is read as one element (section 6).
    field->rank = tensor->rank == 0 ? 1 : tensor->rank;
    field->shape = tensor->rank == 0 ? one : tensor->shape;
    field->off = tensor->off;
    field->len = tensor->len;
    field->axes = sds_value_get(spec, "axes");
    field->metadata = sds_value_get(spec, "metadata");
    return SDS_OK;
}

// Every tensor but the descriptor has to be some field's data.
static enum sds_kind check_used(const struct binding *binding) {
    for (size_t i = 0; i < binding->tensors->count; i++) {
        struct sds_span name = binding->tensors->items[i].name;
        if (!binding->used[i] && !sds_span_eq(name, sds_span_str(SDS_DESCRIPTOR_TENSOR))) {
            return sds_fail(binding->err, SDS_ERR_CORRUPT, "unused_tensor",
                            "no field names tensor %s", SDS_QUOTE(name.at, name.len));
        }
    }
    return SDS_OK;
}

static enum sds_kind bind_fields(struct sds_record *record, const struct sds_tensors *tensors,
                                 struct sds_err *err) {
    struct binding binding = {
        .tensors = tensors,
        .used = calloc(tensors->count, sizeof *binding.used), // there is at least the descriptor
        .scratch = SDS_BUF_INIT(SDS_MAX_DESCRIPTOR_BYTES),
        .err = err,
    };
    enum sds_kind kind = binding.used == NULL ? sds_record_no_memory(err) : SDS_OK;
    struct sds_value fields = sds_value_get(sds_json_top(record->doc), "fields");
    struct sds_field *field = record->fields;
    for (struct sds_iter it = sds_value_iter(fields); kind == SDS_OK && sds_iter_next(&it);) {
        kind = bind_field(&binding, it.value, field);
        if (kind != SDS_OK) {
            sds_field_context(field, err);
        }
        field++;
    }
    if (kind == SDS_OK) {
        kind = check_used(&binding);
    }
    free(binding.used);
    sds_buf_fini(&binding.scratch);
    return kind;
}

enum sds_kind sds_record_decode(struct sds_span payload, struct sds_record *out,
                                struct sds_err *err) {
    if (payload.len > SDS_MAX_RECORD_BYTES) {
        return sds_fail(err, SDS_ERR_LIMIT, "record_size", "record of %zu bytes", payload.len);
    }
    struct sds_tensors tensors;
    enum sds_kind kind = sds_safetensors_parse(payload, SDS_MAX_FIELDS + 1, &tensors, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_record record = {0};
    kind = read_descriptor(payload, &tensors, &record, err);
    if (kind == SDS_OK) {
        kind = bind_fields(&record, &tensors, err);
    }
    if (kind == SDS_OK) {
        kind = sds_record_validate(&record, err);
    }
    if (kind == SDS_OK) {
        record.shapes = SDS_STEAL(tensors.shapes);
        record.shape_count = tensors.shape_count;
        *out = record;
    } else {
        sds_record_fini(&record);
    }
    sds_tensors_fini(&tensors);
    return kind;
}

void sds_record_fini(struct sds_record *record) {
    sds_json_free(record->doc);
    free(record->fields);
    free(record->by_name);
    free(record->shapes);
    sds_buf_fini(&record->names);
    *record = (struct sds_record){0};
}

size_t sds_record_memory(const struct sds_record *record) {
    return sds_json_memory(record->doc) + record->names.cap +
           record->field_count * (sizeof *record->fields + sizeof *record->by_name) +
           record->shape_count * sizeof *record->shapes;
}

int32_t sds_record_find(const struct sds_record *record, struct sds_span name) {
    const struct sds_named *found = sds_named_find(record->by_name, record->field_count, name);
    return found == NULL ? -1 : (int32_t)found->at;
}
