// SPDX-License-Identifier: Apache-2.0
#include "format/tensor/safetensors.h"

#include <stdlib.h>

#include "base/ckd.h"
#include "format/tensor/serde.h"

#define LENGTH_BYTES 8 // of the header's length, in front of it
#define METADATA "__metadata__"
#define JSON_DEPTH 128 // section 3, as for descriptors
#define JSON_NODES 1000000

// Where the pieces of the payload being parsed are, and how much of the backing stores is used.
struct parser {
    struct sds_tensors *tensors;
    uint64_t data_off; // of the data after the header
    uint64_t data_len;
    uint64_t *next_shape;
    struct sds_err *err;
};

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a SafeTensors header");
}

static enum sds_kind read_header(struct parser *parser, struct sds_span payload) {
    struct sds_err *err = parser->err;
    if (payload.len < LENGTH_BYTES) {
        return sds_fail(err, SDS_ERR_CORRUPT, "header_size", "payload of %zu bytes has no header",
                        payload.len);
    }
    uint64_t len = sds_le64(payload.at);
    if (len > payload.len - LENGTH_BYTES) {
        return sds_fail(err, SDS_ERR_CORRUPT, "header_size",
                        "header of %llu bytes in a payload of %zu", (unsigned long long)len,
                        payload.len);
    }
    if (len > SDS_MAX_HEADER_BYTES) {
        return sds_fail(err, SDS_ERR_LIMIT, "header_size", "header of %llu bytes, more than %d",
                        (unsigned long long)len, SDS_MAX_HEADER_BYTES);
    }
    parser->data_off = LENGTH_BYTES + len;
    parser->data_len = payload.len - parser->data_off;
    const struct sds_json_limits limits = {
        .bytes = SDS_MAX_HEADER_BYTES, .depth = JSON_DEPTH, .nodes = JSON_NODES};
    struct sds_json **header = &parser->tensors->header;
    enum sds_kind kind =
        sds_json_parse(sds_span(payload.at + LENGTH_BYTES, (size_t)len), &limits, header, err);
    if (kind == SDS_OK) {
        kind = sds_serde_check(*header, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "SafeTensors header");
        return kind;
    }
    struct sds_value top = sds_json_top(*header);
    if (sds_value_type(top) != SDS_JSON_OBJECT) {
        return sds_fail(err, SDS_ERR_CORRUPT, "header", "SafeTensors header is %s, not an object",
                        sds_value_type_name(top));
    }
    return SDS_OK;
}

// "__metadata__": null or an object of strings.
static enum sds_kind check_metadata(struct sds_value metadata, struct sds_err *err) {
    if (sds_value_type(metadata) == SDS_JSON_NULL) {
        return SDS_OK;
    }
    bool good = sds_value_type(metadata) == SDS_JSON_OBJECT;
    for (struct sds_iter it = sds_value_iter(metadata); good && sds_iter_next(&it);) {
        good = sds_value_type(it.value) == SDS_JSON_STRING;
    }
    return good ? SDS_OK
                : sds_fail(err, SDS_ERR_CORRUPT, "header",
                           METADATA " is not an object that holds only strings");
}

// Counts the tensors and their dimensions, and makes the table.
static enum sds_kind make_table(struct parser *parser, struct sds_value top, size_t max_tensors) {
    uint64_t count = 0, dimensions = 0;
    for (struct sds_iter it = sds_value_iter(top); sds_iter_next(&it);) {
        if (sds_value_is(it.key, METADATA)) {
            continue;
        }
        if (sds_value_type(it.value) != SDS_JSON_OBJECT) {
            return sds_fail(parser->err, SDS_ERR_CORRUPT, "tensor",
                            "tensor %s is %s, not an object", SDS_QUOTE_VALUE(it.key),
                            sds_value_type_name(it.value));
        }
        count++;
        struct sds_value shape = sds_value_get(it.value, "shape");
        dimensions += sds_value_count(shape);
    }
    if (count > max_tensors) {
        return sds_fail(parser->err, SDS_ERR_LIMIT, "tensor_count", "%llu tensors, more than %zu",
                        (unsigned long long)count, max_tensors);
    }
    struct sds_tensors *tensors = parser->tensors;
    tensors->items = calloc(count + 1, sizeof *tensors->items);
    tensors->shapes = calloc(dimensions + 1, sizeof *tensors->shapes);
    tensors->by_name = calloc(count + 1, sizeof *tensors->by_name);
    tensors->names = SDS_BUF_INIT(SDS_MAX_HEADER_BYTES);
    tensors->shape_count = dimensions;
    parser->next_shape = tensors->shapes;
    if (tensors->items == NULL || tensors->shapes == NULL || tensors->by_name == NULL ||
        sds_named_reserve(top, &tensors->names) != SDS_OK) {
        return no_memory(parser->err);
    }
    return SDS_OK;
}

// The range, as the preflight and then serde check it.
static enum sds_kind read_range(const struct parser *parser, struct sds_value spec,
                                struct sds_tensor *tensor) {
    struct sds_value offsets = sds_value_get(spec, "data_offsets");
    uint64_t range[2] = {0, 0};
    unsigned numbers = 0;
    if (sds_value_type(offsets) == SDS_JSON_ARRAY && sds_value_count(offsets) == 2) {
        for (struct sds_iter it = sds_value_iter(offsets); sds_iter_next(&it);) {
            numbers += sds_serde_usize(it.value, &range[numbers]) ? 1 : 0;
        }
    }
    if (numbers != 2) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "data_offsets",
                        "data_offsets are not two integers of 64 bits");
    }
    if (range[1] < range[0] || range[1] > parser->data_len) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "data_offsets",
                        "data_offsets %llu to %llu in %llu bytes of data",
                        (unsigned long long)range[0], (unsigned long long)range[1],
                        (unsigned long long)parser->data_len);
    }
    tensor->off = parser->data_off + range[0];
    tensor->len = range[1] - range[0];
    return SDS_OK;
}

// The element type: a name, or, since it is an enum to serde, {"name": null}.
static enum sds_kind read_dtype(const struct parser *parser, struct sds_value spec,
                                struct sds_tensor *tensor) {
    struct sds_value dtype = sds_value_get(spec, "dtype");
    if (sds_value_type(dtype) == SDS_JSON_OBJECT && sds_value_count(dtype) == 1) {
        struct sds_iter it = sds_value_iter(dtype);
        if (sds_iter_next(&it) && sds_value_type(it.value) == SDS_JSON_NULL) {
            dtype = it.key;
        }
    }
    if (sds_value_type(dtype) != SDS_JSON_STRING) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "dtype", "dtype is %s, not a name",
                        sds_value_type_name(dtype));
    }
    for (unsigned i = 0; i < SDS_DTYPES; i++) {
        if (sds_value_is(dtype, sds_dtype_safetensors((enum sds_dtype)i))) {
            tensor->dtype = (enum sds_dtype)i;
            return SDS_OK;
        }
    }
    return sds_fail(parser->err, SDS_ERR_CORRUPT, "dtype", "dtype %s is not one that records have",
                    SDS_QUOTE_VALUE(dtype));
}

static enum sds_kind read_shape(struct parser *parser, struct sds_value spec,
                                struct sds_tensor *tensor) {
    struct sds_value shape = sds_value_get(spec, "shape");
    if (sds_value_type(shape) != SDS_JSON_ARRAY) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "shape", "shape is %s, not an array",
                        sds_value_type_name(shape));
    }
    uint64_t rank = sds_value_count(shape);
    if (rank > SDS_MAX_RANK) {
        return sds_fail(parser->err, SDS_ERR_LIMIT, "shape", "rank %llu, more than %d",
                        (unsigned long long)rank, SDS_MAX_RANK);
    }
    tensor->rank = (uint32_t)rank;
    tensor->shape = parser->next_shape;
    for (struct sds_iter it = sds_value_iter(shape); sds_iter_next(&it);) {
        if (!sds_serde_usize(it.value, parser->next_shape++)) {
            return sds_fail(parser->err, SDS_ERR_CORRUPT, "shape",
                            "dimension %s is not an integer of 64 bits", SDS_QUOTE_VALUE(it.value));
        }
    }
    return SDS_OK;
}

// The shape has to fit the range. Two products matter: safetensors multiplies the dimensions in
// order and refuses an overflow even where a zero follows; numpy has its own idea of what is
// possible.
static enum sds_kind check_shape(const struct parser *parser, const struct sds_tensor *tensor) {
    uint64_t product = 1, bytes;
    bool overflow = false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        overflow = sds_ckd_mul(&product, product, tensor->shape[i]) || overflow;
    }
    if (overflow || !sds_array_possible(tensor->dtype, tensor->shape, tensor->rank)) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "shape",
                        "%u dimensions make the tensor larger than memory can be", tensor->rank);
    }
    if (sds_ckd_mul(&bytes, product, sds_dtype_bytes(tensor->dtype)) || bytes != tensor->len) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "shape",
                        "%llu elements of %s in a range of %llu bytes", (unsigned long long)product,
                        sds_dtype_safetensors(tensor->dtype), (unsigned long long)tensor->len);
    }
    return SDS_OK;
}

static enum sds_kind read_tensor(struct parser *parser, struct sds_value key, struct sds_value spec,
                                 struct sds_tensor *tensor) {
    if (sds_value_string(key, &parser->tensors->names, &tensor->name) != SDS_OK) {
        return no_memory(parser->err);
    }
    enum sds_kind kind = read_range(parser, spec, tensor);
    if (kind == SDS_OK) {
        kind = read_dtype(parser, spec, tensor);
    }
    if (kind == SDS_OK) {
        kind = read_shape(parser, spec, tensor);
    }
    if (kind == SDS_OK) {
        kind = check_shape(parser, tensor);
    }
    if (kind != SDS_OK) {
        sds_err_context(parser->err, "tensor %s", SDS_QUOTE(tensor->name.at, tensor->name.len));
    }
    return kind;
}

static enum sds_kind read_tensors(struct parser *parser, struct sds_value top) {
    struct sds_tensors *tensors = parser->tensors;
    enum sds_kind kind = SDS_OK;
    for (struct sds_iter it = sds_value_iter(top); kind == SDS_OK && sds_iter_next(&it);) {
        if (sds_value_is(it.key, METADATA)) {
            kind = check_metadata(it.value, parser->err);
            continue;
        }
        struct sds_tensor *tensor = &tensors->items[tensors->count];
        kind = read_tensor(parser, it.key, it.value, tensor);
        tensors->by_name[tensors->count] =
            (struct sds_named){.name = tensor->name, .at = (uint32_t)tensors->count};
        tensors->count++;
    }
    return kind;
}

static int by_range(const void *left, const void *right) {
    const struct sds_tensor *a = *(const struct sds_tensor *const *)left;
    const struct sds_tensor *b = *(const struct sds_tensor *const *)right;
    if (a->off != b->off) {
        return a->off < b->off ? -1 : 1;
    }
    return (a->len > b->len) - (a->len < b->len);
}

// The ranges cover the data without hole or overlap, in whatever order the header names them.
static enum sds_kind check_cover(const struct parser *parser) {
    const struct sds_tensors *tensors = parser->tensors;
    const struct sds_tensor **order = calloc(tensors->count + 1, sizeof(*order));
    if (order == NULL) {
        return no_memory(parser->err);
    }
    for (size_t i = 0; i < tensors->count; i++) {
        order[i] = &tensors->items[i];
    }
    qsort(order, tensors->count, sizeof *order, by_range);
    uint64_t off = parser->data_off;
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < tensors->count; i++) {
        if (order[i]->off != off) {
            kind =
                sds_fail(parser->err, SDS_ERR_CORRUPT, "data_offsets",
                         "tensor %s begins at byte %llu of the data, the one before ends at %llu",
                         SDS_QUOTE(order[i]->name.at, order[i]->name.len),
                         (unsigned long long)(order[i]->off - parser->data_off),
                         (unsigned long long)(off - parser->data_off));
        }
        off = order[i]->off + order[i]->len;
    }
    free(order);
    if (kind == SDS_OK && off != parser->data_off + parser->data_len) {
        return sds_fail(parser->err, SDS_ERR_CORRUPT, "data_offsets",
                        "tensors end at byte %llu of %llu bytes of data",
                        (unsigned long long)(off - parser->data_off),
                        (unsigned long long)parser->data_len);
    }
    return kind;
}

enum sds_kind sds_safetensors_parse(struct sds_span payload, size_t max_tensors,
                                    struct sds_tensors *out, struct sds_err *err) {
    struct sds_tensors tensors = {0};
    struct parser parser = {.tensors = &tensors, .err = err};
    enum sds_kind kind = read_header(&parser, payload);
    if (kind == SDS_OK) {
        kind = make_table(&parser, sds_json_top(tensors.header), max_tensors);
    }
    if (kind == SDS_OK) {
        kind = read_tensors(&parser, sds_json_top(tensors.header));
    }
    if (kind == SDS_OK) {
        kind = check_cover(&parser);
    }
    if (kind != SDS_OK) {
        sds_tensors_fini(&tensors);
        return kind;
    }
    sds_named_sort(tensors.by_name, tensors.count);
    *out = tensors;
    return SDS_OK;
}

void sds_tensors_fini(struct sds_tensors *tensors) {
    sds_json_free(tensors->header);
    free(tensors->items);
    free(tensors->shapes);
    free(tensors->by_name);
    sds_buf_fini(&tensors->names);
    *tensors = (struct sds_tensors){0};
}

const struct sds_tensor *sds_tensors_find(const struct sds_tensors *tensors, struct sds_span name) {
    const struct sds_named *found = sds_named_find(tensors->by_name, tensors->count, name);
    return found == NULL ? NULL : &tensors->items[found->at];
}
