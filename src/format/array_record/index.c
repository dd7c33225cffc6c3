// SPDX-License-Identifier: Apache-2.0
#include "format/array_record/index.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/array_record/block.h"
#include "format/array_record/footer.h"

#define SIGNATURE_SIZE 64
#define SMALLEST_FILE (2 * SDS_AR_BLOCK)

// The postscript chunk is three messages of some fifteen bytes; its block could hold no more than
// this.
#define POSTSCRIPT_EXPECTED 512
static const struct sds_ar_caps postscript_caps = {.decoded_size = SDS_AR_BLOCK,
                                                   .num_records = SDS_AR_BLOCK};

// Footer: an entry takes at most 33 bytes today, the metadata hold a line of text. A first read of
// FOOTER_EXPECTED suffices for some ten thousand chunks.
#define FOOTER_EXPECTED (256ULL << 10)
#define FOOTER_MAX_RECORDS ((1U << 27) + 1)
#define FOOTER_MAX_BYTES (1ULL << 30)
#define FOOTER_METADATA_BYTES (1ULL << 20)
#define FOOTER_ENTRY_BYTES 64

static const uint8_t signature[SIGNATURE_SIZE] = {
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x91, 0xba,
    0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, 0x73};

static enum sds_kind check_signature(const struct sds_ar_source *source, struct sds_err *err) {
    if (source->size < SMALLEST_FILE || source->size % SDS_AR_BLOCK != 0 ||
        source->size > INT64_MAX) {
        return sds_fail(err, SDS_ERR_CORRUPT, "size",
                        "%" PRIu64 " bytes; an ArrayRecord file has a multiple of 65536, at least"
                        " 131072",
                        source->size);
    }
    uint8_t head[SIGNATURE_SIZE];
    enum sds_kind kind = source->read_at(source->ctx, 0, head, sizeof head, err);
    if (kind == SDS_OK && memcmp(head, signature, sizeof head) != 0) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "signature",
                        "the first 64 bytes are not those of an ArrayRecord file");
    }
    return kind;
}

static enum sds_kind parse_postscript(const struct sds_ar_chunk *copies, uint64_t limit,
                                      uint64_t *footer_offset, struct sds_err *err) {
    for (uint32_t i = 0; i < copies->count; i++) {
        struct sds_ar_postscript copy;
        if (!sds_ar_postscript_parse(sds_ar_chunk_record(copies, i), &copy) ||
            copy.magic != SDS_AR_MAGIC) {
            return sds_fail(err, SDS_ERR_CORRUPT, "postscript",
                            "copy %" PRIu32 " is no ArrayRecord postscript", i);
        }
        if (i > 0 && copy.footer_offset != *footer_offset) {
            return sds_fail(err, SDS_ERR_CORRUPT, "postscript", "its copies differ");
        }
        *footer_offset = copy.footer_offset;
    }
    if (*footer_offset < SIGNATURE_SIZE || *footer_offset >= limit ||
        !sds_ar_is_boundary(*footer_offset)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "postscript", "no footer can be at byte %" PRIu64,
                        *footer_offset);
    }
    return SDS_OK;
}

static enum sds_kind read_postscript(const struct sds_ar_source *source, uint64_t *footer_offset,
                                     struct sds_err *err) {
    struct sds_ar_load load = {
        .source = source, .begin = source->size - SDS_AR_BLOCK, .limit = source->size};
    struct sds_ar_chunk copies = {0};
    enum sds_kind kind = sds_ar_load_header(&load, POSTSCRIPT_EXPECTED, err);
    if (kind == SDS_OK && (load.header.type != SDS_AR_SIMPLE || load.header.num_records == 0)) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "postscript",
                        "the last block holds no postscript; was the file closed?");
    }
    if (kind == SDS_OK) {
        kind = sds_ar_load_records(&load, &postscript_caps, &copies, err);
    }
    if (kind == SDS_OK) {
        kind = parse_postscript(&copies, load.begin, footer_offset, err);
    }
    sds_ar_chunk_fini(&copies);
    sds_ar_load_fini(&load);
    if (kind != SDS_OK) {
        sds_err_context(err, "postscript at byte %" PRIu64, source->size - SDS_AR_BLOCK);
    }
    return kind;
}

static enum sds_kind read_footer(const struct sds_ar_source *source, uint64_t footer_offset,
                                 struct sds_ar_chunk *out, struct sds_err *err) {
    struct sds_ar_load load = {
        .source = source, .begin = footer_offset, .limit = source->size - SDS_AR_BLOCK};
    enum sds_kind kind = sds_ar_load_header(&load, FOOTER_EXPECTED, err);
    if (kind == SDS_OK &&
        ((load.header.type != SDS_AR_SIMPLE && load.header.type != SDS_AR_TRANSPOSED) ||
         load.header.num_records == 0)) {
        kind = sds_fail(err, SDS_ERR_CORRUPT, "footer", "there is no chunk with records");
    }
    if (kind == SDS_OK) {
        // num_records is below the size of the file, so this cannot overflow.
        uint64_t bytes = FOOTER_METADATA_BYTES + FOOTER_ENTRY_BYTES * load.header.num_records;
        struct sds_ar_caps caps = {
            .decoded_size = bytes < FOOTER_MAX_BYTES ? bytes : FOOTER_MAX_BYTES,
            .num_records = FOOTER_MAX_RECORDS,
        };
        kind = sds_ar_load_records(&load, &caps, out, err);
    }
    sds_ar_load_fini(&load);
    return kind;
}

static enum sds_kind parse_metadata(const struct sds_ar_chunk *footer, struct sds_ar_metadata *out,
                                    struct sds_err *err) {
    if (!sds_ar_metadata_parse(sds_ar_chunk_record(footer, 0), out)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "footer", "its first record is no metadata");
    }
    if (out->version != SDS_AR_VERSION) {
        return sds_fail(err, SDS_ERR_CORRUPT, "footer", "version %" PRIu32 ", not 1", out->version);
    }
    if (out->num_chunks != footer->count - 1) {
        return sds_fail(err, SDS_ERR_CORRUPT, "footer",
                        "num_chunks is %" PRIu64 ", and there are %" PRIu32 " entries",
                        out->num_chunks, footer->count - 1);
    }
    return SDS_OK;
}

// Where the entry before ends at the earliest.
static uint64_t earliest(const struct sds_ar_index *index, uint64_t chunk) {
    return chunk > 0 ? index->chunks[chunk - 1].begin + SDS_AR_CHUNK_HEADER : SIGNATURE_SIZE;
}

// Checks entry number chunk and takes it over; those before it are there already.
static enum sds_kind add_entry(struct sds_ar_index *index, uint64_t chunk,
                               const struct sds_ar_entry *entry, struct sds_err *err) {
    if (entry->begin < earliest(index, chunk) || entry->begin >= index->footer_offset ||
        !sds_ar_is_boundary(entry->begin)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "entry %" PRIu64 ": no chunk can begin at byte %" PRIu64, chunk,
                        entry->begin);
    }
    if (entry->num_records > SDS_AR_MAX_CHUNK_RECORDS) {
        return sds_fail(err, SDS_ERR_LIMIT, "limit",
                        "entry %" PRIu64 ": %" PRIu64 " records in one chunk, the limit is %u",
                        chunk, entry->num_records, SDS_AR_MAX_CHUNK_RECORDS);
    }
    if (chunk == 0) {
        index->group_size = entry->num_records;
    }
    bool last = chunk + 1 == index->num_chunks;
    if (entry->num_records == 0 || entry->num_records > index->group_size ||
        (!last && entry->num_records != index->group_size)) {
        return sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "entry %" PRIu64 ": %" PRIu64 " records in groups of %" PRIu64, chunk,
                        entry->num_records, index->group_size);
    }
    index->chunks[chunk] =
        (struct sds_ar_place){.begin = entry->begin, .decoded_size = entry->decoded_size};
    index->num_records += entry->num_records;
    return SDS_OK;
}

// A chunk takes at least a byte of file for each record, so that counts which pass here are bounded
// by the size of the file.
static enum sds_kind check_room(const struct sds_ar_index *index, struct sds_err *err) {
    for (uint64_t i = 0; i < index->num_chunks; i++) {
        uint64_t room = sds_ar_chunk_limit(index, i) - index->chunks[i].begin;
        if (sds_ar_chunk_records(index, i) > room) {
            return sds_fail(err, SDS_ERR_CORRUPT, "index",
                            "entry %" PRIu64 ": %" PRIu64 " records in a place of %" PRIu64
                            " bytes",
                            i, sds_ar_chunk_records(index, i), room);
        }
    }
    return SDS_OK;
}

static enum sds_kind fill_index(struct sds_ar_index *index, const struct sds_ar_chunk *footer,
                                uint64_t num_records, struct sds_err *err) {
    for (uint64_t i = 0; i < index->num_chunks; i++) {
        struct sds_ar_entry entry;
        if (!sds_ar_entry_parse(sds_ar_chunk_record(footer, (uint32_t)i + 1), &entry)) {
            return sds_fail(err, SDS_ERR_CORRUPT, "footer", "entry %" PRIu64 " is no chunk entry",
                            i);
        }
        enum sds_kind kind = add_entry(index, i, &entry, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    if (index->num_records != num_records) {
        return sds_fail(err, SDS_ERR_CORRUPT, "index",
                        "num_records is %" PRIu64 ", the entries sum to %" PRIu64, num_records,
                        index->num_records);
    }
    return check_room(index, err);
}

static size_t index_bytes(uint64_t num_chunks) {
    return sizeof(struct sds_ar_index) + (size_t)num_chunks * sizeof(struct sds_ar_place);
}

static enum sds_kind make_index(const struct sds_ar_source *source, uint64_t footer_offset,
                                const struct sds_ar_limits *limits,
                                const struct sds_ar_chunk *footer, struct sds_ar_index **out,
                                struct sds_err *err) {
    struct sds_ar_metadata metadata;
    enum sds_kind kind = parse_metadata(footer, &metadata, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sds_autofree struct sds_ar_index *index = malloc(index_bytes(metadata.num_chunks));
    if (index == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory",
                        "no memory for the index of %" PRIu64 " chunks", metadata.num_chunks);
    }
    *index = (struct sds_ar_index){.file_size = source->size,
                                   .footer_offset = footer_offset,
                                   .chunk_bytes = limits->chunk_bytes,
                                   .num_chunks = metadata.num_chunks};
    kind = fill_index(index, footer, metadata.num_records, err);
    if (kind == SDS_OK) {
        *out = SDS_STEAL(index);
    }
    return kind;
}

enum sds_kind sds_ar_open(const struct sds_ar_source *source, const struct sds_ar_limits *limits,
                          struct sds_ar_index **out, struct sds_err *err) {
    enum sds_kind kind = check_signature(source, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint64_t footer_offset = 0;
    kind = read_postscript(source, &footer_offset, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_ar_chunk footer = {0};
    kind = read_footer(source, footer_offset, &footer, err);
    if (kind == SDS_OK) {
        kind = make_index(source, footer_offset, limits, &footer, out, err);
    }
    sds_ar_chunk_fini(&footer);
    if (kind != SDS_OK) {
        sds_err_context(err, "footer at byte %" PRIu64, footer_offset);
    }
    return kind;
}

void sds_ar_close(struct sds_ar_index *index) {
    free(index);
}

uint64_t sds_ar_record_count(const struct sds_ar_index *index) {
    return index->num_records;
}

uint64_t sds_ar_chunk_count(const struct sds_ar_index *index) {
    return index->num_chunks;
}

uint64_t sds_ar_group_size(const struct sds_ar_index *index) {
    return index->group_size;
}

size_t sds_ar_memory(const struct sds_ar_index *index) {
    return index_bytes(index->num_chunks);
}

void sds_ar_locate(const struct sds_ar_index *index, uint64_t record, uint64_t *chunk,
                   uint32_t *place) {
    *chunk = record / index->group_size;
    *place = (uint32_t)(record % index->group_size);
}

uint64_t sds_ar_chunk_stored_size(const struct sds_ar_index *index, uint64_t chunk) {
    return sds_ar_chunk_limit(index, chunk) - index->chunks[chunk].begin;
}

uint64_t sds_ar_chunk_decoded_size(const struct sds_ar_index *index, uint64_t chunk) {
    return index->chunks[chunk].decoded_size;
}
