// SPDX-License-Identifier: Apache-2.0
// A row of rows.jsonl, and its carrier: whatever passes the check is decoded again as an annotation
// that says what the row says. Tensors are not there, so rows that name one are only parsed.
#include <stdlib.h>

#include "format/signal_dataset/publish/carrier.h"
#include "format/signal_dataset/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool promise) {
    if (!promise) {
        abort();
    }
}

static void check_row(const struct input_row *row) {
    insist(row->has_ordinal || sds_value_type(row->source_record_id) == SDS_JSON_STRING);
    insist(sds_value_type(row->status) == SDS_JSON_STRING);
    insist(!sds_value_there(row->values) || sds_value_type(row->values) == SDS_JSON_OBJECT);
    insist(!sds_value_there(row->provenance) || sds_value_type(row->provenance) == SDS_JSON_OBJECT);
}

static void check_same(struct sds_value a, struct sds_value b) {
    bool equal = sds_value_count(a) == 0 && sds_value_count(b) == 0;
    insist(equal || (sds_value_equal(a, b, &equal) == SDS_OK && equal));
}

static void check_carrier(const struct sds_blob *payload, const struct input_row *row) {
    struct sds_annotation annotation;
    insist(sds_annotation_decode(sds_span(payload->at, payload->len), &annotation, NULL) == SDS_OK);
    insist(annotation.source_index == row->ordinal);
    insist(sds_string_eq(annotation.status, row->status));
    check_same(annotation.values, row->values);
    check_same(annotation.provenance, row->provenance);
    sds_annotation_fini(&annotation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input_row row;
    struct sds_err err;
    if (input_row_parse(sds_span(data, size), &row, &err) != SDS_OK) {
        insist(err.kind == SDS_ERR_INVALID);
        return 0;
    }
    check_row(&row);
    struct carrier_maker maker;
    struct tensor_directory nowhere = {.fd = -1, .confined = true};
    struct sds_span id = sds_span_str("\"id\"");
    struct sds_blob *payload = NULL;
    carrier_maker_init(&maker, nowhere, 1 << 20);
    enum sds_kind kind = carrier_check(&maker, &row, row.ordinal, id, &err);
    insist(kind == SDS_OK || kind == SDS_ERR_INVALID || sds_value_count(row.fields) > 0);
    if (kind == SDS_OK) {
        insist(carrier_make(&maker, &row, row.ordinal, id, &payload, &err) == SDS_OK);
        check_carrier(payload, &row);
        sds_blob_unref(payload);
    }
    carrier_maker_fini(&maker);
    input_row_fini(&row);
    return 0;
}
