// SPDX-License-Identifier: Apache-2.0
//
// A finished index: what a dataset's records are called, what they are about, which scene they
// belong to. One SQLite file (docs/tree.md has its tables), opened for reading, shared by all who
// look. Safe from any thread.
#ifndef SDSFS_INDEX_INDEX_H
#define SDSFS_INDEX_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "format/driver.h"

struct sds_index;

// NOT_FOUND: it was not built yet, or what is there is no index of this dataset (build.h).
SDS_MUST_CHECK enum sds_kind sds_index_open(struct sds_dataset *ds, const char *cache_dir,
                                            struct sds_index **out, struct sds_err *err);
void sds_index_close(struct sds_index *index); // NULL is fine
// Removes the file, if it is still the one that was opened, so that it will be built again: after
// CORRUPT. The index stays open.
void sds_index_discard(const struct sds_index *index);

struct sds_index_facts {
    uint64_t records, bad; // bad: entries that failed a check
    uint64_t file_bytes;   // of the SQLite file
    uint64_t lines_bytes;  // of records.jsonl
};
const struct sds_index_facts *sds_index_facts(const struct sds_index *index);
// The file, to be read with pread; the index's own.
int sds_index_file(const struct sds_index *index);

// lines.c: bytes [off, off + len) of records.jsonl, fewer only at its end, appended to out.
SDS_MUST_CHECK enum sds_kind sds_index_lines(struct sds_index *index, uint64_t off, size_t len,
                                             struct sds_buf *out, struct sds_err *err);

// names.c: ids and scenes as directory entries (format/name.h; an id that repeats, or looks as if,
// has "@<ordinal>" behind it). width: digits of ordinals in names. NOT_FOUND where there is none.
SDS_MUST_CHECK enum sds_kind sds_index_find_id(struct sds_index *index, struct sds_span name,
                                               unsigned width, uint64_t *ordinal,
                                               struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_index_find_scene(struct sds_index *index, struct sds_span name,
                                                  uint64_t *scene, struct sds_err *err);
// Whether a record belongs to a scene.
SDS_MUST_CHECK enum sds_kind sds_index_in_scene(struct sds_index *index, uint64_t scene,
                                                uint64_t ordinal, bool *belongs,
                                                struct sds_err *err);
// The other way round: the entry of a record's id, of a scene, of a record's scene. Appended to
// out.
SDS_MUST_CHECK enum sds_kind sds_index_id_name(struct sds_index *index, uint64_t ordinal,
                                               unsigned width, struct sds_buf *out,
                                               struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_index_scene_name(struct sds_index *index, uint64_t scene,
                                                  struct sds_buf *out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_index_scene_of(struct sds_index *index, uint64_t ordinal,
                                                struct sds_buf *out, struct sds_err *err);
// Each from a position on, which is 0 for the first and then what the last entry gave as next.
// Return false to stop (the entry was not taken).
typedef bool (*sds_index_entry_fn)(void *ctx, struct sds_span name, uint64_t number, uint64_t next);
SDS_MUST_CHECK enum sds_kind sds_index_list_ids(struct sds_index *index, uint64_t position,
                                                unsigned width, sds_index_entry_fn emit, void *ctx,
                                                struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_index_list_scenes(struct sds_index *index, uint64_t position,
                                                   sds_index_entry_fn emit, void *ctx,
                                                   struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_index_list_scene(struct sds_index *index, uint64_t scene,
                                                  uint64_t position, unsigned width,
                                                  sds_index_entry_fn emit, void *ctx,
                                                  struct sds_err *err);

// query.c: the records that a condition of SQL holds for, in order; with_lines: each with its line
// of records.jsonl, LF included. The condition may use the columns of records and SQLite's
// functions, JSON's among them. INVALID, check "where", where it is none.
typedef bool (*sds_index_found_fn)(void *ctx, uint64_t ordinal, struct sds_span line);
SDS_MUST_CHECK enum sds_kind sds_index_query(struct sds_index *index, const char *where,
                                             bool with_lines, sds_index_found_fn emit, void *ctx,
                                             struct sds_err *err);

#endif
