// SPDX-License-Identifier: Apache-2.0
//
// The dataset's own files under their own paths, as far as the verified chain names them: never by
// listing a directory. The table of what root, snapshot and pages name is built once, when a raw
// path is first asked for, by walking all manifest pages; the one of what the annotation catalog
// names comes with each version of the catalog and only grows: a revision that was replaced stays
// to be seen, since somebody may have read its name just before. A path that both name is the
// chain's.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_RAW_TREE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_RAW_TREE_H

#include "format/driver.h"
#include "format/signal_dataset/raw_paths.h"

struct signal_dataset;
struct annotation_catalog;
struct raw_tree;

struct raw_tree *raw_tree_new(void);
void raw_tree_free(struct raw_tree *raw);

// NOT_FOUND: no such name, and every page that could tell was read.
SDS_MUST_CHECK enum sds_kind raw_lookup(struct signal_dataset *ds, uint64_t directory,
                                        struct sds_span name, struct sds_node *out,
                                        struct sds_err *err);
// Cookies are positions; names that appear meanwhile come last.
SDS_MUST_CHECK enum sds_kind raw_list(struct signal_dataset *ds, uint64_t directory,
                                      uint64_t cookie, sds_list_fn emit, void *ctx,
                                      struct sds_err *err);
// OK when there is such a directory.
SDS_MUST_CHECK enum sds_kind raw_directory(struct signal_dataset *ds, uint64_t key,
                                           struct sds_err *err);
// Whether publishing annotations may add names to a directory: annotations/ and those below it.
SDS_MUST_CHECK enum sds_kind raw_grows(struct signal_dataset *ds, uint64_t directory, bool *out,
                                       struct sds_err *err);

// A raw file or directory by its key. reference.path is the whole path (of a directory: of some
// file below it). All of it is valid until raw_file_fini.
struct raw_file {
    struct sds_cache_ref *ref;          // may be NULL
    struct annotation_catalog *catalog; // the version in which the file was found
    enum raw_what what;
    struct sds_reference reference;
    size_t page;     // of RAW_PAGE
    size_t path_len; // the part of the path that names this entry
};
SDS_MUST_CHECK enum sds_kind raw_get(struct signal_dataset *ds, uint64_t key, struct raw_file *out,
                                     struct sds_err *err);
// Whether raw_get needs nothing from the store, as far as can be told.
bool raw_at_hand(struct signal_dataset *ds, uint64_t key);
void raw_file_fini(struct raw_file *file);

// The keys of annotations/, which is shown even where there is no catalog (yet), and of the catalog
// in it.
uint64_t raw_annotations_key(void);
uint64_t raw_catalog_key(void);

#endif
