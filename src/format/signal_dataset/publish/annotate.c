// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/annotate.h"

#include "base/cleanup.h"
#include "format/signal_dataset/follow.h"
#include "format/signal_dataset/publish/publication.h"

static enum sds_kind publish(struct publication *pub, struct sds_err *err) {
    switch (pub->request->what) {
    case SDS_ANNOTATE_SET:
        return publish_set(pub, err);
    case SDS_ANNOTATE_SHARD:
        return publish_shard(pub, err);
    case SDS_ANNOTATE_COORDINATE:
        return publish_coordinate(pub, err);
    }
    return sds_fail(err, SDS_ERR_INTERNAL, "request", "no such way to publish");
}

// What was published is there, whatever keeps this dataset from seeing it: that is only told.
static void show(struct signal_dataset *ds) {
    struct sds_err why;
    if (annotations_reload(ds, &why) != SDS_OK && ds->options.warn != NULL) {
        ds->options.warn(ds->options.ctx, &why);
    }
}

enum sds_kind annotate(struct signal_dataset *ds, const struct sds_annotate_request *request,
                       struct json_object **receipt, struct sds_err *err) {
    struct publication pub;
    *receipt = NULL;
    // A store that cannot publish safely is told before any work is done.
    enum sds_kind kind = sds_store_can_publish(ds->store, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = publication_open(ds, request, &pub, err);
    if (kind == SDS_OK) {
        kind = publish(&pub, err);
    }
    if (kind == SDS_OK && !request->check_only) {
        show(ds);
        *receipt = SDS_STEAL(pub.receipt);
    }
    publication_close(&pub);
    return kind;
}
