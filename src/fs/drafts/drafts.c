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

void sds_drafts_set_write_back(struct sds_drafts *drafts, const struct sds_write_back *write_back) {
    drafts->write_back = *write_back;
}

enum sds_kind sds_drafts_check(struct sds_drafts *drafts, struct sds_err *err) {
    return drafts->ds->ops->annotate != NULL ? sds_backing_check(drafts->backing, err) : SDS_OK;
}

void sds_drafts_note(struct sds_drafts *drafts, const char *path, const struct sds_err *what) {
    struct sds_buf whole = SDS_BUF_INIT(SDS_DRAFT_PATH_MAX);
    if (sds_buf_printf(&whole, "%s%s%s", SDS_DRAFTS_PATH, path[0] != '\0' ? "/" : "", path) !=
        SDS_OK) {
        whole.len = 0;
    }
    sds_errors_add(drafts->errors, sds_buf_span(&whole), what);
    sds_buf_fini(&whole);
}

int sds_drafts_ready(struct sds_drafts *drafts, bool make) {
    struct sds_err err;
    if (make && drafts->ds->ops->annotate == NULL) {
        sds_fail(&err, SDS_ERR_UNSUPPORTED, "annotate", "a dataset of this layout has none");
        sds_drafts_note(drafts, "", &err);
        return EPERM;
    }
    bool first;
    int e = sds_backing_open(drafts->backing, make, &first, &err);
    if (make && e != 0 && e != ENOENT) {
        sds_drafts_note(drafts, "", &err);
    }
    if (first) {
        sds_drafts_recover(drafts);
    }
    return e;
}
