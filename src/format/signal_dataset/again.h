// SPDX-License-Identifier: Apache-2.0
//
// Bytes from a server that fail a check are read once more before that is a verdict, since any one
// answer may be wrong (remote/store.h, doubts). A load is written as a loop that ends after its
// first turn, unless what it read was asked for again. For whoever runs again as a task
// (base/wait.h) that is the same: nobody has to know what was doubted before. On a local store
// there never is a second turn.
//
// What is hashed is doubted only where the hash is compared: what decodes badly behind a good hash
// is what was written.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_AGAIN_H
#define SDSFS_FORMAT_SIGNAL_DATASET_AGAIN_H

#include "format/array_record/array_record.h"
#include "format/signal_dataset/documents.h"
#include "remote/store.h"

// Ranges of an object that are checked together.
#define ATTEMPT_RANGES 8
struct attempt {
    struct sds_object *object;
    uint64_t since;
    bool failed; // a read did, so there was nothing to check
    size_t count;
    struct {
        uint64_t off, len;
    } ranges[ATTEMPT_RANGES];
};
void attempt_begin(struct attempt *attempt, struct sds_object *object);
// What reads the object and notes what it read. The attempt has to be there as long.
struct sds_ar_source attempt_source(struct attempt *attempt);
void attempt_note(struct attempt *attempt, uint64_t off, uint64_t len, enum sds_kind kind);
// Whether to try again, given what came of it.
bool attempt_again(const struct attempt *attempt, enum sds_kind kind);

// The same of a whole document: since is what sds_store_doubts gave before it was read.
bool document_again(struct sds_store *store, const char *path,
                    const struct sds_reference *reference, uint64_t since, enum sds_kind kind);

#endif
