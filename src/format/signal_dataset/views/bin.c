// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/views/bin.h"

// Nobody reads an empty file, so nobody would hear that the record is bad; and there is no file of
// more bytes than a size can tell.
static struct view_parts parts(const struct sds_field *field) {
    return (struct view_parts){.count = field->len > 0 && field->len <= INT64_MAX};
}

static void slice(const struct sds_field *field, uint32_t part, uint64_t *off, uint64_t *len) {
    (void)part;
    *off = 0;
    *len = field->len;
}

const struct view view_bin = {
    .option = "bin",
    .suffix = ".bin",
    .in_rows = true,
    .parts = parts,
    .slice = slice,
};
