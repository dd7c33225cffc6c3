// SPDX-License-Identifier: Apache-2.0
//
// The messages of footer and postscript (docs/formats/array-record.md, section 9). Each parser is
// false for bytes that are no protobuf message or lack a field that has to be there. Each maker
// appends the message as the reference writes it; kinds: LIMIT, NO_MEMORY.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_FOOTER_H
#define SDSFS_FORMAT_ARRAY_RECORD_FOOTER_H

#include "base/buf.h"

#define SDS_AR_VERSION 1
#define SDS_AR_MAGIC 0x71930e704fdae05eULL

struct sds_ar_metadata {
    uint32_t version;
    uint64_t num_chunks;
    uint64_t num_records;
};
bool sds_ar_metadata_parse(struct sds_span record, struct sds_ar_metadata *out);
// options: what the writer says about itself, a few words.
SDS_MUST_CHECK enum sds_kind sds_ar_metadata_make(const struct sds_ar_metadata *metadata,
                                                  const char *options, struct sds_buf *out);

struct sds_ar_entry {
    uint64_t begin;
    uint64_t decoded_size;
    uint64_t num_records;
};
bool sds_ar_entry_parse(struct sds_span record, struct sds_ar_entry *out);
SDS_MUST_CHECK enum sds_kind sds_ar_entry_make(const struct sds_ar_entry *entry,
                                               struct sds_buf *out);

struct sds_ar_postscript {
    uint64_t footer_offset;
    uint64_t magic;
};
bool sds_ar_postscript_parse(struct sds_span record, struct sds_ar_postscript *out);
SDS_MUST_CHECK enum sds_kind sds_ar_postscript_make(const struct sds_ar_postscript *postscript,
                                                    struct sds_buf *out);

#endif
