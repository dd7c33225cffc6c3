// SPDX-License-Identifier: Apache-2.0
//
// What index/ shows, each part built when it is first asked for: the index itself, and the lines of
// each annotation set. Safe from any thread; waits as base/wait.h has it.
#ifndef SDSFS_INDEX_PARTS_H
#define SDSFS_INDEX_PARTS_H

#include "index/index.h"
#include "index/job.h"

struct sds_index_parts;

// Both outlive it. NULL: no memory.
struct sds_index_parts *sds_index_parts_new(struct sds_dataset *ds, const char *cache_dir);
void sds_index_parts_free(struct sds_index_parts *parts); // gives up what is being built

// The index; it lives as long as the parts.
SDS_MUST_CHECK enum sds_kind sds_index_parts_index(struct sds_index_parts *parts,
                                                   struct sds_index **out, struct sds_err *err);
// The same without waiting: NULL where it is not there yet.
struct sds_index *sds_index_parts_built(struct sds_index_parts *parts);
// The index said CORRUPT: it is thrown away, and built again when it is asked for next.
void sds_index_parts_damaged(struct sds_index_parts *parts, struct sds_index *index);
// The lines of a set as an open file, which is the caller's to close.
struct sds_index_lines_file {
    int fd;
    uint64_t size;
};
SDS_MUST_CHECK enum sds_kind sds_index_parts_set(struct sds_index_parts *parts, uint64_t key,
                                                 const char *set, struct sds_index_lines_file *out,
                                                 struct sds_err *err);
// Their size alone, which takes no descriptor.
SDS_MUST_CHECK enum sds_kind sds_index_parts_set_size(struct sds_index_parts *parts, uint64_t key,
                                                      const char *set, uint64_t *size,
                                                      struct sds_err *err);
// Sets that somebody looked for, by a number of the caller's; the name lives as long as the parts.
// NULL: none was noted.
void sds_index_parts_note_set(struct sds_index_parts *parts, uint64_t key, const char *set);
const char *sds_index_parts_set_name(struct sds_index_parts *parts, uint64_t key);

// How the building of the index is getting on; records are done of total.
struct sds_index_state {
    enum sds_index_job_state state;
    uint64_t done, total;
    const struct sds_index_facts *facts; // once it is done, else NULL
};
void sds_index_parts_state(struct sds_index_parts *parts, struct sds_index_state *out);

#endif
