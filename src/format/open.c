// SPDX-License-Identifier: Apache-2.0
#include "format/driver.h"

#include "format/drivers.h"

// Tells what was looked for.
static enum sds_kind no_layout(struct sds_err *err) {
    enum sds_kind kind =
        sds_fail(err, SDS_ERR_CORRUPT, "layout", "no layout that this program reads");
    for (size_t i = 0; sds_drivers[i] != NULL; i++) {
        sds_err_hint(err, "%s has a %s", sds_drivers[i]->name, sds_drivers[i]->document);
    }
    return kind;
}

// The one driver that claims the root. Every driver is asked: a root that two of them claim would
// otherwise change its meaning with the order of a table.
static enum sds_kind choose_driver(struct sds_store *store, const struct sds_driver_ops **out,
                                   struct sds_err *err) {
    const struct sds_driver_ops *chosen = NULL;
    for (size_t i = 0; sds_drivers[i] != NULL; i++) {
        bool mine = false;
        enum sds_kind kind = sds_drivers[i]->probe(store, &mine, err);
        if (kind != SDS_OK) {
            return kind;
        }
        if (mine && chosen != NULL) {
            return sds_fail(err, SDS_ERR_CORRUPT, "layout", "both %s and %s claim this root",
                            chosen->name, sds_drivers[i]->name);
        }
        chosen = mine ? sds_drivers[i] : chosen;
    }
    if (chosen == NULL) {
        return no_layout(err);
    }
    *out = chosen;
    return SDS_OK;
}

enum sds_kind sds_dataset_open(struct sds_store *store, const struct sds_open_options *options,
                               struct sds_dataset **out, struct sds_err *err) {
    const struct sds_driver_ops *driver = NULL;
    enum sds_kind kind = choose_driver(store, &driver, err);
    return kind != SDS_OK ? kind : driver->open(store, options, out, err);
}

bool sds_view_is_known(struct sds_span word) {
    for (size_t i = 0; sds_drivers[i] != NULL; i++) {
        if (sds_drivers[i]->knows_view != NULL && sds_drivers[i]->knows_view(word)) {
            return true;
        }
    }
    return false;
}

void sds_dataset_close(struct sds_dataset *ds) {
    if (ds != NULL) {
        ds->ops->close(ds);
    }
}
