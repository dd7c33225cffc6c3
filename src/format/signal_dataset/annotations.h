// SPDX-License-Identifier: Apache-2.0
//
// Annotation sets: catalog, revision and set roots, verified when the dataset is opened, and rows,
// read on demand (docs/formats/signal-dataset.md, section "Annotations").
// The shard tables of set roots are not kept but cached, since there is no bound to how many sets a
// catalog may name.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_ANNOTATIONS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_ANNOTATIONS_H

#include "base/cache.h"
#include "format/signal_dataset/documents.h"
#include "format/signal_dataset/record.h"

struct signal_dataset;

#define CATALOG_PATH "annotations/catalog.json"
#define MAX_ANNOTATION_SETS 10000

struct annotation_set {
    char *name, *publication_id;
    struct sds_reference root; // of its root.json; the path is owned by the catalog's revision
    uint64_t hash;             // of name and publication id, never 0: who it is in nodes
    uint32_t slot; // hash, short enough to be packed into node keys; no other set has it
    uint64_t record_count;
    size_t shard_count;
};

struct annotation_catalog {
    struct sds_blob *pointer; // bytes of catalog.json, NULL when there is none
    struct sds_catalog_doc document;
    uint64_t revision_bytes;
    struct sds_revision_doc revision;
    struct annotation_set *sets; // document order
    size_t count;
};

// Fills ds->catalog. Fails when the catalog breaks a rule, unless the options tolerate it: then the
// catalog is empty and the problem was told through options.warn.
SDS_MUST_CHECK enum sds_kind annotations_open(struct signal_dataset *ds, struct sds_err *err);
void annotations_close(struct signal_dataset *ds);

const struct annotation_set *annotations_find(const struct signal_dataset *ds,
                                              struct sds_span name);
const struct annotation_set *annotations_by_slot(const struct signal_dataset *ds, uint32_t slot);
const struct annotation_set *annotations_by_hash(const struct signal_dataset *ds, uint64_t hash);

// A set's root document; valid until *ref is released.
SDS_MUST_CHECK enum sds_kind
annotation_set_doc(struct signal_dataset *ds, const struct annotation_set *set,
                   struct sds_cache_ref **ref, const struct sds_set_doc **out, struct sds_err *err);

// A sound row.
struct row {
    struct sds_blob *blob;
    struct sds_span bytes;
    struct sds_annotation annotation;
};
SDS_MUST_CHECK enum sds_kind annotation_row(struct signal_dataset *ds,
                                            const struct annotation_set *set, uint64_t ordinal,
                                            struct sds_cache_ref **ref, const struct row **out,
                                            struct sds_err *err);

#endif
