// SPDX-License-Identifier: Apache-2.0
//
// A command publishes what a reader of the draft sees. What a program has put into a shared mapping
// of a file is seen from that moment on, but lies in the kernel's pages alone until they are
// written back: so they are, before the draft is claimed.
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "fs/drafts/drafts_internal.h"

enum { MAX_NUMBERS_BYTES = 1 << 30 };

// Not in a draft that is being worked on (a worker's, in that of a set): the bytes would be
// refused, and lost.
static bool takes_writes(struct sds_drafts *drafts, uint64_t id) {
    struct sds_buf path = SDS_BUF_INIT(SDS_DRAFT_PATH_MAX);
    bool takes = sds_ids_path(drafts->ids, id, &path) == 0 && sds_buf_add(&path, "", 1) == SDS_OK &&
                 !sds_jobs_at_work(drafts->jobs, (const char *)path.at);
    sds_buf_fini(&path);
    return takes;
}

static int write_back_below(struct sds_drafts *drafts, const char *path) {
    struct sds_buf numbers = SDS_BUF_INIT(MAX_NUMBERS_BYTES);
    int e = sds_ids_below(drafts->ids, path, &numbers);
    for (size_t at = 0; e == 0 && at < numbers.len; at += sizeof(uint64_t)) {
        uint64_t id;
        memcpy(&id, numbers.at + at, sizeof id);
        if (takes_writes(drafts, id)) {
            e = drafts->write_back.file(drafts->write_back.ctx, id);
        }
    }
    sds_buf_fini(&numbers);
    return e;
}

int sds_drafts_write_back(struct sds_drafts *drafts, const char *draft) {
    if (drafts->write_back.file == NULL) {
        return 0;
    }
    int e = write_back_below(drafts, draft);
    struct sds_place place = sds_place_of(draft);
    if (e == 0 && place.role == SDS_ROLE_SHARD) {
        sds_autofree char *options = NULL; // of the set: a worker's draft may have none of its own
        e = asprintf(&options, "%.*s/" SDS_DRAFT_OPTIONS, (int)place.set_len, draft) < 0
                ? ENOMEM
                : write_back_below(drafts, options);
    }
    return e;
}
