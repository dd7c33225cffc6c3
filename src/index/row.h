// SPDX-License-Identifier: Apache-2.0
//
// A record as the index has it, and its line in records.jsonl. Both are made from the same texts,
// so the line can be written again from what is stored.
#ifndef SDSFS_INDEX_ROW_H
#define SDSFS_INDEX_ROW_H

#include "base/buf.h"
#include "format/driver.h"

// Texts point into whatever the row was made from.
struct sds_index_row {
    uint64_t ordinal, shard;
    bool has_id, has_scene;      // as strings: only those can be looked for
    struct sds_span id;          // unescaped bytes
    struct sds_span scene_id;    //
    struct sds_span id_token;    // JSON, where that is not what we would write for id; else empty
    struct sds_span scene_token; //
    struct sds_span metadata;    // JSON on one line; "{}" where there is none
    struct sds_span fields;      //
    struct sds_span error;       // of a bad entry, "name: check: message"; else empty
    uint64_t line_len;           // of its line, when it was made from an entry
};

// The most bytes that the texts of an entry's row take.
size_t sds_index_row_room(const struct sds_scanned *entry);
// Appends the texts of an entry to a buffer that has room for them, so that it does not move, and
// makes the row of them. Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_index_row_make(const struct sds_scanned *entry,
                                                struct sds_buf *texts, struct sds_index_row *out);

// Appends {"ordinal":…,"id":…,"scene_id":…,"metadata":…,"fields":…} and a LF. A bad entry has null
// for all but the ordinal, and "error".
SDS_MUST_CHECK enum sds_kind sds_index_row_line(const struct sds_index_row *row,
                                                struct sds_buf *out);

#endif
