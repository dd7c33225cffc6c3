// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/drafts.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/drafts/drafts_internal.h"

static void init_moves(pthread_rwlock_t *moves) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    // A rename gets its turn also while many write.
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(moves, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

struct sds_drafts *sds_drafts_new(struct sds_dataset *ds, struct sds_errors *errors,
                                  const char *state_dir, const char *root) {
    struct sds_drafts *drafts = calloc(1, sizeof *drafts);
    if (drafts == NULL) {
        return NULL;
    }
    *drafts = (struct sds_drafts){.ds = ds,
                                  .errors = errors,
                                  .backing = sds_backing_new(state_dir, root),
                                  .ids = sds_ids_new(),
                                  .jobs = sds_jobs_new()};
    init_moves(&drafts->moves);
    if (drafts->backing == NULL || drafts->ids == NULL || drafts->jobs == NULL) {
        sds_drafts_free(drafts);
        return NULL;
    }
    return drafts;
}

void sds_drafts_free(struct sds_drafts *drafts) {
    if (drafts == NULL) {
        return;
    }
    sds_jobs_free(drafts->jobs); // the others are in use until then
    sds_ids_free(drafts->ids);
    sds_backing_free(drafts->backing);
    pthread_rwlock_destroy(&drafts->moves);
    free(drafts);
}

void sds_drafts_abandon(struct sds_drafts *drafts) {
    sds_jobs_abandon(drafts->jobs);
}

static int refuse(struct sds_drafts *drafts, const struct sds_err *why) {
    sds_errors_add(drafts->errors, sds_span_str(SDS_DRAFTS_PATH), why);
    return EPERM;
}

int sds_drafts_ready(struct sds_drafts *drafts, bool make) {
    struct sds_err err;
    if (make && drafts->ds->ops->annotate == NULL) {
        sds_fail(&err, SDS_ERR_UNSUPPORTED, "annotate", "a dataset of this layout has none");
        return refuse(drafts, &err);
    }
    bool first;
    int e = sds_backing_open(drafts->backing, make, &first, &err);
    if (e == EPERM) {
        return refuse(drafts, &err);
    }
    if (first) {
        sds_drafts_recover(drafts);
    }
    return e;
}
