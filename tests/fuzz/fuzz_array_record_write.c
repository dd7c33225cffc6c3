// SPDX-License-Identifier: Apache-2.0
// The ArrayRecord writer: whatever records go in, the reader finds them again, and the walk finds
// nothing wrong with the file.
//
// The input is read record by record: two bytes with a length, one that says how often that much is
// taken (1 to 64 times) and, in its top bits, what the bytes are (noise, or the next byte of the
// input over and over, or the input itself as far as it reaches).
#include <stdlib.h>
#include <string.h>

#include "format/array_record/write.h"

#include "format/array_record/array_record.h"
#include "format/array_record/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition) ((condition) ? (void)0 : abort())

#define MAX_RECORDS 512
#define MAX_BYTES (2 << 20) // of all records

static const struct sds_ar_limits limits = {.chunk_bytes = MAX_BYTES};

enum { NOISE, RUN, INPUT };

struct records {
    uint8_t *bytes;
    size_t ends[MAX_RECORDS];
    size_t count;
};

static struct sds_span record(const struct records *records, size_t i) {
    size_t start = i > 0 ? records->ends[i - 1] : 0;
    return sds_span(records->bytes + start, records->ends[i] - start);
}

static void make_bytes(uint8_t *to, size_t len, unsigned what, struct sds_cursor *in) {
    uint64_t state = len;
    uint8_t byte = 0;
    if (what == RUN) {
        (void)sds_cursor_u8(in, &byte);
    }
    for (size_t i = 0; i < len; i++) {
        if (what == NOISE) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            byte = (uint8_t)(state >> 56);
        } else if (what != RUN && !sds_cursor_u8(in, &byte)) {
            byte = 0;
        }
        to[i] = byte;
    }
}

static void make_records(struct records *out, const uint8_t *data, size_t size) {
    struct sds_cursor in = sds_cursor(sds_span(data, size));
    struct sds_span head;
    size_t used = 0;
    while (out->count < MAX_RECORDS && sds_cursor_take(&in, 3, &head)) {
        size_t len = ((size_t)head.at[0] | (size_t)head.at[1] << 8) * (1U + (head.at[2] & 63));
        len = len < MAX_BYTES - used ? len : MAX_BYTES - used;
        make_bytes(out->bytes + used, len, head.at[2] >> 6, &in);
        used += len;
        out->ends[out->count++] = used;
    }
}

struct file {
    uint8_t *at;
    size_t len;
};

static enum sds_kind append(void *ctx, const void *bytes, size_t len, struct sds_err *err) {
    (void)err;
    struct file *file = ctx;
    file->at = realloc(file->at, file->len + len);
    CHECK(file->at != NULL);
    memcpy(file->at + file->len, bytes, len);
    file->len += len;
    return SDS_OK;
}

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    (void)err;
    const struct file *file = ctx;
    CHECK(off <= file->len && len <= file->len - off);
    memcpy(buf, file->at + off, len);
    return SDS_OK;
}

static void write_file(const struct records *records, struct file *file) {
    struct sds_ar_sink sink = {.write = append, .ctx = file};
    struct sds_ar_writer *writer;
    CHECK(sds_ar_writer_open(&sink, &writer, NULL) == SDS_OK);
    for (size_t i = 0; i < records->count; i++) {
        CHECK(sds_ar_writer_add(writer, record(records, i), NULL) == SDS_OK);
    }
    uint64_t size;
    CHECK(sds_ar_writer_finish(writer, &size, NULL) == SDS_OK);
    CHECK(size == file->len);
    sds_ar_writer_close(writer);
}

static void check_file(const struct records *records, struct file *file) {
    struct sds_ar_source source = {.read_at = read_at, .ctx = file, .size = file->len};
    struct sds_ar_index *index;
    CHECK(sds_ar_open(&source, &limits, &index, NULL) == SDS_OK);
    CHECK(sds_ar_record_count(index) == records->count);
    CHECK(sds_ar_chunk_count(index) == records->count);
    for (size_t i = 0; i < records->count; i++) {
        struct sds_ar_chunk chunk;
        CHECK(sds_ar_read_chunk(index, &source, i, &chunk, NULL) == SDS_OK);
        CHECK(sds_span_eq(sds_ar_chunk_record(&chunk, 0), record(records, i)));
        sds_ar_chunk_fini(&chunk);
    }
    CHECK(sds_ar_walk(index, &source, NULL) == SDS_OK);
    sds_ar_close(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct records records = {.bytes = malloc(MAX_BYTES)};
    CHECK(records.bytes != NULL);
    make_records(&records, data, size);
    struct file file = {.at = NULL};
    write_file(&records, &file);
    check_file(&records, &file);
    free(file.at);
    free(records.bytes);
    return 0;
}
