// SPDX-License-Identifier: Apache-2.0
//
// What a draft asks for: its files as a request to the driver.
#ifndef SDSFS_FS_DRAFTS_INPUTS_H
#define SDSFS_FS_DRAFTS_INPUTS_H

#include "base/buf.h"
#include "format/name.h"
#include "fs/drafts/drafts_internal.h"

struct sds_inputs {
    struct sds_annotate_request request; // points into what follows
    char set[SDS_NAME_MAX + 1];
    char shard_id[SDS_NAME_MAX + 1];
    struct sds_buf publication_id;
    struct sds_buf metadata;
    struct sds_buf id_lines; // the file logical-shards, its lines cut into strings
    const char **ids;
};

// Reads options.json, metadata.json and logical-shards of the draft at a path, and opens
// rows.jsonl. INVALID with the file as object: not what it has to be, or missing; STORAGE,
// NO_MEMORY. To be freed in any case.
SDS_MUST_CHECK enum sds_kind sds_inputs_read(const struct sds_claim *claim, const char *draft,
                                             struct sds_inputs *out, struct sds_err *err);
void sds_inputs_free(struct sds_inputs *inputs);

#endif
