// SPDX-License-Identifier: Apache-2.0
// Record payloads, annotation rows and metadata entries: any bytes are a record or a refusal, and a
// record's fields lie inside its payload. The first byte tells what the others are: 'p' a payload,
// 'm' a metadata entry, 'd' a descriptor, which gets a header that fits around it.
#include <stdlib.h>

#include "around_descriptor.h"
#include "format/signal_dataset/record.h"
#include "format/tensor/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

static void check_refusal(enum sds_kind kind, const struct sds_err *err) {
    CHECK(kind == SDS_ERR_CORRUPT || kind == SDS_ERR_LIMIT || kind == SDS_ERR_UNSUPPORTED);
    CHECK(err->kind == kind && err->check[0] != '\0' && err->message[0] != '\0');
}

static void check_header(const struct sds_field *field) {
    struct sds_buf header = SDS_BUF_INIT(1 << 20);
    CHECK(sds_npy_header(field->dtype, field->shape, field->rank, &header) == SDS_OK);
    CHECK(header.len == sds_npy_header_len(field->dtype, field->shape, field->rank));
    CHECK(header.len % 64 == 0 && header.at[header.len - 1] == '\n');
    sds_buf_fini(&header);
}

static void check_record(const struct sds_record *record, struct sds_span payload) {
    CHECK(sds_record_memory(record) > 0);
    for (uint32_t i = 0; i < record->field_count; i++) {
        const struct sds_field *field = &record->fields[i];
        uint64_t bytes = sds_dtype_bytes(field->dtype);
        for (uint32_t k = 0; k < field->rank; k++) {
            bytes *= field->shape[k];
        }
        CHECK(bytes == field->len && field->rank > 0 && field->name.len > 0);
        CHECK(field->off <= payload.len && field->len <= payload.len - field->off);
        CHECK(sds_value_count(field->axes) == field->rank);
        CHECK(sds_record_find(record, field->name) == (int32_t)i);
        check_header(field);
    }
}

static void check_annotation(struct sds_span payload, bool record_is_good) {
    struct sds_annotation row;
    struct sds_err err;
    enum sds_kind kind = sds_annotation_decode(payload, &row, &err);
    if (kind != SDS_OK) {
        check_refusal(kind, &err);
        return;
    }
    CHECK(record_is_good);
    struct sds_buf text = SDS_BUF_INIT(1 << 28);
    const struct sds_json_limits limits = {.bytes = 1 << 28, .depth = 128, .nodes = 1000000};
    struct sds_json *doc = NULL;
    CHECK(sds_annotation_render(&row, &text) == SDS_OK);
    CHECK(sds_json_parse(sds_buf_span(&text), &limits, &doc, NULL) == SDS_OK);
    CHECK(sds_value_count(sds_json_top(doc)) == 6);
    CHECK(sds_string_eq(sds_value_get(sds_json_top(doc), "source_record_id"), row.carrier.id));
    sds_json_free(doc);
    sds_buf_fini(&text);
    sds_annotation_fini(&row);
}

static void check_payload(struct sds_span payload) {
    struct sds_record record;
    struct sds_err err;
    enum sds_kind kind = sds_record_decode(payload, &record, &err);
    if (kind == SDS_OK) {
        check_record(&record, payload);
        sds_record_fini(&record);
    } else {
        check_refusal(kind, &err);
    }
    check_annotation(payload, kind == SDS_OK);
}

static void check_entry(struct sds_span text) {
    struct sds_record entry;
    struct sds_err err;
    enum sds_kind kind = sds_metadata_decode(text, &entry, &err);
    if (kind != SDS_OK) {
        check_refusal(kind, &err);
        return;
    }
    for (uint32_t i = 0; i < entry.field_count; i++) {
        CHECK(sds_record_find(&entry, entry.fields[i].name) == (int32_t)i);
        check_header(&entry.fields[i]);
    }
    sds_record_fini(&entry);
}

static void check_descriptor(struct sds_span descriptor) {
    struct sds_buf payload = SDS_BUF_INIT(SIZE_MAX);
    around_descriptor(descriptor, &payload);
    check_payload(sds_buf_span(&payload));
    sds_buf_fini(&payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    struct sds_span rest = sds_span(data + 1, size - 1);
    switch (data[0]) {
    case 'p':
        check_payload(rest);
        break;
    case 'm':
        check_entry(rest);
        break;
    case 'd':
        check_descriptor(rest);
        break;
    default:
        break;
    }
    return 0;
}
