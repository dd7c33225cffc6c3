// SPDX-License-Identifier: Apache-2.0
//
// The open dataset, and what the parts of the driver offer each other:
//   chain.c        root, snapshot and manifest pages, verified hop by hop
//   shard.c        shard objects with their indexes, chunks
//   records.c      payloads and metadata entries, decoded; fields of a record
//   catalog.c      which annotation sets there are; follow.c as of now
//   annotations.c  set roots and rows
//   raw_tree.c     the dataset's own files, as far as the chain names them; raw_paths.c their paths
//   ahead.c        records fetched and decoded before they are asked for: streams.c finds readers
//                  that go in an order, announced.c has what somebody said he would read
//   reading.c      large values stay while they are read; gate.c memory for large work
//   admission.c    how many readers of large records of a server are served at a time
//   tree.c         all of it as nodes; files.c the contents, texts.c those that are made
//   views/         the files that a field is shown as (views/views.h)
//   verify.c, describe.c
//   publish/       annotations written (publish/publication.h)
// Everything is immutable after open except the cache, the raw tree (built once, on first use), the
// current catalog and the reader streams of ahead.c; each of those has its own lock.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_DATASET_H
#define SDSFS_FORMAT_SIGNAL_DATASET_DATASET_H

#include "base/cache.h"
#include "format/driver.h"
#include "format/signal_dataset/admission.h"
#include "format/signal_dataset/chain.h"
#include "format/signal_dataset/follow.h"
#include "format/signal_dataset/gate.h"
#include "format/signal_dataset/reading.h"
#include "format/signal_dataset/views/views.h"

struct raw_tree;
struct ahead;

struct signal_dataset {
    struct sds_dataset base;
    struct sds_store *store; // borrowed
    struct sds_open_options options;
    struct sds_cache *cache;
    size_t descriptor_cost; // what an open file costs in the cache besides its memory
    struct gate gate;
    struct admission admission;
    struct reading reading;
    struct chain chain;
    struct follow follow; // the annotation catalog
    struct raw_tree *raw;
    struct ahead *ahead; // NULL when reading ahead is off
    uint64_t uses_seen;  // of the cache, at the last sweep; touched by the sweeping thread alone
    _Atomic(char *) first_fields; // what describe says of them; NULL: nobody has seen them yet
    unsigned ordinal_width, shard_width;       // digits of names
    view_set views;                            // that are shown
    _Atomic uint64_t decode_ns, decoded_bytes; // so far
};

// What the cache holds, as the low byte of sds_cache_key.kind_and_owner.
enum cached_kind {
    CACHED_PAGE = 1,
    CACHED_OBJECT,
    CACHED_SHARD,
    CACHED_CHUNK,
    CACHED_SIZES,
    CACHED_PAYLOAD,
    CACHED_ENTRY,
    CACHED_SET,
    CACHED_ROW,
    CACHED_TEXT,
};

static inline struct sds_cache_key cached_key(enum cached_kind kind, uint64_t owner, uint64_t id) {
    return (struct sds_cache_key){.kind_and_owner = owner << 8 | kind, .id = id};
}

// Inside a verified chain an object that is not there is as bad as one that is wrong.
enum sds_kind in_chain(enum sds_kind kind, struct sds_err *err);

#endif
