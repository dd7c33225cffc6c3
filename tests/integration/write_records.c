// SPDX-License-Identifier: Apache-2.0
//
// Writes an ArrayRecord file to standard output from the records on standard input, each of them
// behind its size in eight bytes, little-endian. For test_writer.py, which holds the file against
// the reference's.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/array_record/write.h"

static _Noreturn void die(const char *what) {
    fprintf(stderr, "write_records: %s\n", what);
    exit(1);
}

static void must(enum sds_kind kind, const struct sds_err *err) {
    if (kind != SDS_OK) {
        die(err->message);
    }
}

static enum sds_kind put(void *ctx, const void *bytes, size_t len, struct sds_err *err) {
    return fwrite(bytes, 1, len, ctx) == len
               ? SDS_OK
               : sds_fail(err, SDS_ERR_STORAGE, "io", "cannot write to standard output");
}

int main(void) {
    struct sds_ar_sink sink = {.write = put, .ctx = stdout};
    struct sds_ar_writer *writer;
    struct sds_err err;
    must(sds_ar_writer_open(&sink, &writer, &err), &err);
    uint8_t *record = NULL, size[8];
    while (fread(size, 1, sizeof size, stdin) == sizeof size) {
        size_t len = sds_le64(size);
        record = realloc(record, len + 1);
        if (record == NULL || fread(record, 1, len, stdin) != len) {
            die("a record is cut short");
        }
        must(sds_ar_writer_add(writer, sds_span(record, len), &err), &err);
    }
    uint64_t written;
    must(sds_ar_writer_finish(writer, &written, &err), &err);
    sds_ar_writer_close(writer);
    free(record);
    if (fflush(stdout) != 0) {
        die("cannot write to standard output");
    }
    return 0;
}
