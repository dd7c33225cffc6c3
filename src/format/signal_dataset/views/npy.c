// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/views/npy.h"

#include "format/tensor/npy.h"

static enum sds_kind head(const struct view_subject *subject, struct sds_buf *out) {
    const struct sds_field *field = subject->field;
    return sds_npy_header(field->dtype, field->shape, field->rank, out);
}

static uint64_t head_len(const struct sds_field *field) {
    return sds_npy_header_len(field->dtype, field->shape, field->rank);
}

static void slice(const struct sds_field *field, uint32_t part, uint64_t *off, uint64_t *len) {
    (void)part;
    *off = 0;
    *len = field->len;
}

const struct view view_npy = {
    .option = "npy",
    .suffix = ".npy",
    .in_rows = true,
    .head = head,
    .head_len = head_len,
    .slice = slice,
};
