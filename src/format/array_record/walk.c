// SPDX-License-Identifier: Apache-2.0
//
// The whole file from the first byte to the last. Chunks with records have to be exactly those of
// the index, then footer and postscript; of every chunk the hashes are checked, and of what lies
// between the data of one and the begin of the next the block headers, and that it is zero.
#include <inttypes.h>

#include "format/array_record/block.h"
#include "format/array_record/highway_hash.h"
#include "format/array_record/index.h"

// Padding is read in windows of whole blocks, however much there is of it.
#define WINDOW (4 * SDS_AR_BLOCK)

static enum sds_kind wrong(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_CORRUPT, "walk", "%s", what);
}

static bool is_zero(struct sds_span bytes) {
    return bytes.len == 0 ||
           (bytes.at[0] == 0 && memcmp(bytes.at, bytes.at + 1, bytes.len - 1) == 0);
}

// What is checked of a chunk without keeping it.
struct scan {
    const struct sds_ar_load *load;
    uint64_t pos;         // of the file
    uint64_t data_left;   // payload that is data and to be hashed; what follows is padding
    bool data_is_padding; // the data have to be zero too
    struct sds_highway hash;
};

static enum sds_kind scan_piece(struct scan *scan, struct sds_span piece, struct sds_err *err) {
    if (scan->data_left > 0) {
        sds_highway_update(&scan->hash, piece.at, piece.len);
        scan->data_left -= piece.len;
        if (!scan->data_is_padding) {
            return SDS_OK;
        }
    }
    return is_zero(piece) ? SDS_OK : wrong(err, "padding that is not zero");
}

// Goes over the file bytes from scan->pos on, which begin a block or end with it.
static enum sds_kind scan_window(struct scan *scan, struct sds_span window, struct sds_err *err) {
    const struct sds_ar_load *load = scan->load;
    while (window.len > 0) {
        size_t n;
        enum sds_kind kind;
        if (scan->pos % SDS_AR_BLOCK == 0) {
            n = SDS_AR_BLOCK_HEADER;
            kind = sds_ar_block_check_end(window.at, scan->pos, load->begin, load->end, err);
        } else {
            n = SDS_AR_BLOCK - scan->pos % SDS_AR_BLOCK;
            n = n < window.len ? n : window.len;
            n = scan->data_left > 0 && scan->data_left < n ? (size_t)scan->data_left : n;
            kind = scan_piece(scan, sds_span(window.at, n), err);
        }
        if (kind != SDS_OK) {
            return kind;
        }
        scan->pos += n;
        window = sds_span(window.at + n, window.len - n);
    }
    return SDS_OK;
}

static enum sds_kind scan_to_end(struct scan *scan, struct sds_err *err) {
    const struct sds_ar_load *load = scan->load;
    const struct sds_ar_source *source = load->source;
    if (scan->pos == load->end) {
        return SDS_OK;
    }
    sds_autoblob struct sds_blob *window = sds_blob_new(WINDOW);
    if (window == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory to read padding");
    }
    while (scan->pos < load->end) {
        uint64_t end = scan->pos - scan->pos % WINDOW + WINDOW;
        size_t len = (size_t)((end < load->end ? end : load->end) - scan->pos);
        enum sds_kind kind = source->read_at(source->ctx, scan->pos, window->at, len, err);
        if (kind == SDS_OK) {
            kind = scan_window(scan, sds_span(window->at, len), err);
        }
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return SDS_OK;
}

// The padding behind the data of a chunk that was read already.
static enum sds_kind scan_padding(const struct sds_ar_load *load, struct sds_err *err) {
    struct scan scan = {.load = load, .pos = load->payload_end};
    return scan_to_end(&scan, err);
}

// Data and padding of a chunk of which only the header was read.
static enum sds_kind scan_chunk(const struct sds_ar_load *load, struct sds_err *err) {
    struct scan scan = {.load = load,
                        .pos = load->data_begin,
                        .data_left = load->header.data_size,
                        .data_is_padding = load->header.type == SDS_AR_PADDING};
    sds_highway_init(&scan.hash);
    enum sds_kind kind = scan_to_end(&scan, err);
    if (kind == SDS_OK && sds_highway_final(&scan.hash) != load->header.data_hash) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "chunk_hash",
                        "%" PRIu64 " bytes of chunk data do not match their hash",
                        load->header.data_size);
    }
    return kind;
}

// The data of a metadata chunk are those of a transposed chunk with one record.
static enum sds_kind walk_metadata(const struct sds_ar_index *index, struct sds_ar_load *load,
                                   struct sds_err *err) {
    const struct sds_ar_caps caps = sds_ar_chunk_caps(index);
    load->header.type = SDS_AR_TRANSPOSED;
    load->header.num_records = 1;
    struct sds_ar_chunk metadata;
    enum sds_kind kind = sds_ar_load_records(load, &caps, &metadata, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sds_ar_chunk_fini(&metadata);
    return scan_padding(load, err);
}

static enum sds_kind walk_without_records(const struct sds_ar_index *index,
                                          struct sds_ar_load *load, struct sds_err *err) {
    const struct sds_ar_header *header = &load->header;
    if (header->type == SDS_AR_METADATA) {
        return walk_metadata(index, load, err);
    }
    if ((header->type == SDS_AR_SIGNATURE || header->type == SDS_AR_PADDING) &&
        header->decoded_size > 0) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_type",
                        "a chunk of type 0x%02x cannot have records", header->type);
    }
    if (header->type == SDS_AR_SIGNATURE && header->data_size > 0) {
        return sds_fail(err, SDS_ERR_CORRUPT, "chunk_type", "a signature with data");
    }
    return scan_chunk(load, err);
}

// A walk: where it is, and which chunk with records comes next. Those of the index are numbered
// from 0, then come the footer and the postscript.
struct walk {
    const struct sds_ar_index *index;
    const struct sds_ar_source *source;
    uint64_t pos;
    uint64_t next;
};

static uint64_t next_begin(const struct walk *walk) {
    const struct sds_ar_index *index = walk->index;
    if (walk->next < index->num_chunks) {
        return index->chunks[walk->next].begin;
    }
    return walk->next == index->num_chunks ? index->footer_offset : sds_ar_postscript_offset(index);
}

static enum sds_kind walk_indexed(struct walk *walk, struct sds_ar_load *load,
                                  struct sds_err *err) {
    const struct sds_ar_caps caps = sds_ar_chunk_caps(walk->index);
    struct sds_ar_chunk chunk;
    enum sds_kind kind = sds_ar_load_chunk(walk->index, walk->source, walk->next, load, err);
    if (kind == SDS_OK) {
        kind = sds_ar_load_records(load, &caps, &chunk, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    sds_ar_chunk_fini(&chunk);
    walk->next++;
    return scan_padding(load, err);
}

// Footer and postscript were decoded when the file was opened: here their bytes are looked at.
static enum sds_kind walk_other(struct walk *walk, struct sds_ar_load *load, struct sds_err *err) {
    *load = (struct sds_ar_load){
        .source = walk->source, .begin = walk->pos, .limit = walk->index->file_size};
    enum sds_kind kind = sds_ar_load_header(load, 0, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (load->header.num_records == 0) {
        return walk_without_records(walk->index, load, err);
    }
    if (walk->next < walk->index->num_chunks || walk->next > walk->index->num_chunks + 1 ||
        walk->pos != next_begin(walk)) {
        return wrong(err, "a chunk with records that the index does not name");
    }
    walk->next++;
    return scan_chunk(load, err);
}

static enum sds_kind walk_chunk(struct walk *walk, struct sds_err *err) {
    struct sds_ar_load load;
    bool indexed = walk->next < walk->index->num_chunks && walk->pos == next_begin(walk);
    enum sds_kind kind = indexed ? walk_indexed(walk, &load, err) : walk_other(walk, &load, err);
    uint64_t end = load.end;
    sds_ar_load_fini(&load);
    if (kind != SDS_OK) {
        sds_err_context(err, "chunk at byte %" PRIu64, walk->pos);
        return kind;
    }
    walk->pos = end;
    return SDS_OK;
}

enum sds_kind sds_ar_walk(const struct sds_ar_index *index, const struct sds_ar_source *source,
                          struct sds_err *err) {
    // It cannot end without having met all of the index: the postscript begins where the block
    // header says that a chunk does, and is only taken behind everything else.
    struct walk walk = {.index = index, .source = source};
    while (walk.pos < index->file_size) {
        enum sds_kind kind = walk_chunk(&walk, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return SDS_OK;
}
