// SPDX-License-Identifier: Apache-2.0
#include "cli/index.h"

#include "cli/progress.h"
#include "index/build.h"

static void progress(void *ctx, uint64_t done, uint64_t total) {
    sds_progress_update(ctx, done, total, "records");
}

static enum sds_kind build(struct sds_reader *reader, struct sds_err *err) {
    struct sds_progress bar;
    sds_progress_init(&bar);
    struct sds_index_work work = {
        .ds = reader->opened.ds,
        .cache_dir = reader->options.remote.cache_dir,
        .progress = progress,
        .ctx = &bar,
    };
    enum sds_kind kind = sds_index_build(&work, err);
    sds_progress_clear(&bar);
    return kind;
}

enum sds_kind sds_index_get(struct sds_reader *reader, struct sds_index **out,
                            struct sds_err *err) {
    struct sds_dataset *ds = reader->opened.ds;
    const char *cache_dir = reader->options.remote.cache_dir;
    if (ds->ops->scan == NULL) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "index", "%s has no metadata to search",
                        ds->ops->name);
    }
    if (sds_index_open(ds, cache_dir, out, NULL) == SDS_OK) {
        if (sds_index_facts(*out)->bad == 0) {
            return SDS_OK;
        }
        sds_index_close(*out); // building it looks whether it still is as bad
        *out = NULL;
    }
    enum sds_kind kind = build(reader, err);
    return kind == SDS_OK ? sds_index_open(ds, cache_dir, out, err) : kind;
}
