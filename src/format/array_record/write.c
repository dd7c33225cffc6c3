// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/write.h"

#include <stdlib.h>

#include "format/array_record/compress.h"
#include "format/array_record/emit.h"
#include "format/array_record/footer.h"
#include "format/array_record/highway_hash.h"
#include "format/array_record/pack.h"
#include "format/array_record/varint.h"

// What the reference notes about itself under these options.
#define OPTIONS                                                                                    \
    "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,"               \
    "max_parallelism:1"

// The reference hands zstd its input through a buffer, and lets go of a frame's size when the
// buffer overflows: a lone record does that when it is as large as the buffer, footer entries when
// they exceed it, varints when there may be no room for the longest of them.
#define WHOLE_RECORD (SDS_AR_PACK_BUFFER - 1)
#define WHOLE_ENTRIES SDS_AR_PACK_BUFFER
#define WHOLE_SIZES (SDS_AR_PACK_BUFFER - SDS_VARINT_MAX + 1) // all of one byte

#define COPIES 3 // of the postscript

struct sds_ar_writer {
    ZSTD_CCtx *packer;
    uint64_t num_records;
    struct sds_buf data;        // of the chunk being made
    struct sds_buf sizes_block; // of that chunk
    // The index, as it will stand in the footer: an entry for each record, and their sizes.
    struct sds_buf entries, entry_sizes;
    struct sds_ar_emitter out;
};

static enum sds_kind no_room(enum sds_kind kind, struct sds_err *err) {
    return kind == SDS_OK ? SDS_OK
                          : sds_fail(err, kind, kind == SDS_ERR_LIMIT ? "limit" : "memory",
                                     "no room for a chunk, or for the index of the records so far");
}

static enum sds_kind put_records(struct sds_ar_writer *w, uint64_t num_records,
                                 uint64_t decoded_size, struct sds_err *err) {
    struct sds_ar_header header = {
        .type = SDS_AR_SIMPLE,
        .data_size = w->data.len,
        .data_hash = sds_highway_hash(w->data.at, w->data.len),
        .num_records = num_records,
        .decoded_size = decoded_size,
    };
    return sds_ar_emit(&w->out, &header, sds_buf_span(&w->data), err);
}

// Makes the data of a compressed chunk from its sizes and its values, and writes it.
static enum sds_kind put_packed(struct sds_ar_writer *w, const struct sds_ar_pieces *sizes,
                                const struct sds_ar_pieces *values, size_t whole_values,
                                uint64_t num_records, struct sds_err *err) {
    w->sizes_block.len = 0;
    enum sds_kind kind = sds_ar_pack(w->packer, sizes, WHOLE_SIZES, &w->sizes_block, err);
    if (kind != SDS_OK) {
        return kind;
    }
    w->data.len = 0;
    kind = sds_buf_add(&w->data, &(uint8_t){SDS_AR_ZSTD}, 1);
    if (kind == SDS_OK) {
        kind = sds_varint_add(&w->data, w->sizes_block.len);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_add_span(&w->data, sds_buf_span(&w->sizes_block));
    }
    if (kind != SDS_OK) {
        return no_room(kind, err);
    }
    kind = sds_ar_pack(w->packer, values, whole_values, &w->data, err);
    return kind == SDS_OK ? put_records(w, num_records, sds_ar_pieces_len(values), err) : kind;
}

// ---- the file

enum sds_kind sds_ar_writer_open(const struct sds_ar_sink *sink, struct sds_ar_writer **out,
                                 struct sds_err *err) {
    struct sds_ar_writer *w = malloc(sizeof *w);
    ZSTD_CCtx *packer = sds_ar_packer_new();
    if (w == NULL || packer == NULL) {
        free(w);
        ZSTD_freeCCtx(packer);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory to write an ArrayRecord file");
    }
    w->packer = packer;
    w->out.sink = *sink;
    w->out.pos = 0;
    w->num_records = 0;
    w->data = w->sizes_block = w->entries = w->entry_sizes = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = sds_ar_emit_signature(&w->out, err);
    if (kind != SDS_OK) {
        sds_ar_writer_close(w);
        return kind;
    }
    *out = w;
    return SDS_OK;
}

static enum sds_kind add_entry(struct sds_ar_writer *w, uint64_t begin, uint64_t size) {
    struct sds_ar_entry entry = {.begin = begin, .decoded_size = size, .num_records = 1};
    size_t before = w->entries.len;
    enum sds_kind kind = sds_ar_entry_make(&entry, &w->entries);
    return kind == SDS_OK ? sds_varint_add(&w->entry_sizes, w->entries.len - before) : kind;
}

enum sds_kind sds_ar_writer_add(struct sds_ar_writer *w, struct sds_span record,
                                struct sds_err *err) {
    uint64_t begin = w->out.pos;
    uint8_t size[SDS_VARINT_MAX];
    struct sds_ar_pieces sizes = {.head = sds_span(size, sds_varint_put(size, record.len))};
    struct sds_ar_pieces values = {.head = record};
    enum sds_kind kind = put_packed(w, &sizes, &values, WHOLE_RECORD, 1, err);
    if (kind != SDS_OK) {
        return kind;
    }
    w->num_records++;
    return no_room(add_entry(w, begin, record.len), err);
}

static enum sds_kind put_footer(struct sds_ar_writer *w, struct sds_err *err) {
    struct sds_ar_metadata about = {
        .version = SDS_AR_VERSION, .num_chunks = w->num_records, .num_records = w->num_records};
    struct sds_buf metadata = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = no_room(sds_ar_metadata_make(&about, OPTIONS, &metadata), err);
    if (kind == SDS_OK) {
        uint8_t size[SDS_VARINT_MAX];
        struct sds_ar_pieces sizes = {.head = sds_span(size, sds_varint_put(size, metadata.len)),
                                      .tail = sds_buf_span(&w->entry_sizes)};
        struct sds_ar_pieces values = {.head = sds_buf_span(&metadata),
                                       .tail = sds_buf_span(&w->entries)};
        kind = put_packed(w, &sizes, &values, WHOLE_ENTRIES, w->num_records + 1, err);
    }
    sds_buf_fini(&metadata);
    return kind;
}

// Three copies, of which a reader needs one; never compressed.
static enum sds_kind make_postscript(struct sds_buf *data, uint64_t footer_offset, size_t *size) {
    struct sds_ar_postscript message = {.footer_offset = footer_offset, .magic = SDS_AR_MAGIC};
    struct sds_buf copy = SDS_BUF_INIT(SIZE_MAX);
    enum sds_kind kind = sds_ar_postscript_make(&message, &copy);
    *size = copy.len;
    data->len = 0;
    if (kind == SDS_OK) {
        uint8_t len = (uint8_t)copy.len;
        kind = sds_buf_add(data, (const uint8_t[]){SDS_AR_PLAIN, COPIES, len, len, len}, 5);
    }
    for (int i = 0; i < COPIES && kind == SDS_OK; i++) {
        kind = sds_buf_add_span(data, sds_buf_span(&copy));
    }
    sds_buf_fini(&copy);
    return kind;
}

enum sds_kind sds_ar_writer_finish(struct sds_ar_writer *w, uint64_t *size, struct sds_err *err) {
    uint64_t footer = w->out.pos;
    enum sds_kind kind = put_footer(w, err);
    if (kind == SDS_OK) {
        kind = sds_ar_emit_padding(&w->out, err);
    }
    size_t copy = 0;
    if (kind == SDS_OK) {
        kind = no_room(make_postscript(&w->data, footer, &copy), err);
    }
    if (kind == SDS_OK) {
        kind = put_records(w, COPIES, COPIES * copy, err);
    }
    if (kind == SDS_OK) {
        kind = sds_ar_emit_padding(&w->out, err);
    }
    *size = w->out.pos;
    return kind;
}

void sds_ar_writer_close(struct sds_ar_writer *w) {
    if (w == NULL) {
        return;
    }
    sds_buf_fini(&w->entry_sizes);
    sds_buf_fini(&w->entries);
    sds_buf_fini(&w->sizes_block);
    sds_buf_fini(&w->data);
    ZSTD_freeCCtx(w->packer);
    free(w);
}
