// SPDX-License-Identifier: Apache-2.0
//
// The dataset's own files under their own paths, as far as the verified chain names them: never by
// listing a directory. Built once, when a raw path is first asked for, by walking all manifest
// pages and set roots: about 40 bytes for each file and directory, since names are not kept but cut
// from the path in the page that holds it. Not shown: paths that begin with a name of our own
// (records, shards, index, control), that no file system could hold (a component over 255 bytes,
// more than 256 components,
// "." alone), or that go through another file.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_RAW_TREE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_RAW_TREE_H

#include "format/driver.h"
#include "format/signal_dataset/documents.h"

struct signal_dataset;
struct raw_tree;

struct raw_tree *raw_tree_new(void);
void raw_tree_free(struct raw_tree *raw);

// What a raw file is.
enum raw_what {
    RAW_DIRECTORY,
    RAW_ROOT,
    RAW_SNAPSHOT,
    RAW_PAGE,
    RAW_DATA,
    RAW_METADATA,
    RAW_CATALOG,
    RAW_REVISION,
    RAW_SET,
    RAW_CARRIER,
};

// The key of the directory above all raw paths.
#define RAW_TOP 0

// NOT_FOUND: no such name, and every page that could tell was read.
SDS_MUST_CHECK enum sds_kind raw_lookup(struct signal_dataset *ds, uint64_t directory,
                                        struct sds_span name, struct sds_node *out,
                                        struct sds_err *err);
SDS_MUST_CHECK enum sds_kind raw_list(struct signal_dataset *ds, uint64_t directory,
                                      uint64_t cookie, sds_list_fn emit, void *ctx,
                                      struct sds_err *err);

// A raw file or directory by its key. reference.path is the whole path (of a directory: of some
// file below it); valid until *ref is released (*ref may be NULL).
struct raw_file {
    struct sds_cache_ref *ref;
    enum raw_what what;
    struct sds_reference reference;
    size_t page;     // of RAW_PAGE
    size_t path_len; // the part of the path that names this entry
};
SDS_MUST_CHECK enum sds_kind raw_get(struct signal_dataset *ds, uint64_t key, struct raw_file *out,
                                     struct sds_err *err);
void raw_file_fini(struct raw_file *file);

// The key of annotations/, which is shown even where there is no catalog (yet).
uint64_t raw_annotations_key(void);

// True when a relative path is shown in the raw tree.
bool raw_is_shown(const struct sds_reference *reference);

#endif
