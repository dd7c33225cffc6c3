// SPDX-License-Identifier: Apache-2.0
//
// What every command that takes a ROOT begins with: its -o options, its store, its dataset.
#ifndef SDSFS_CLI_DATASET_H
#define SDSFS_CLI_DATASET_H

#include "cli/command.h"
#include "cli/options.h"
#include "format/driver.h"

struct sds_opened {
    struct sds_cache *cache; // the ledger of all memory
    struct sds_store *store;
    struct sds_dataset *ds;
};

// What is to be opened, and how.
struct sds_opening {
    const char *root; // as typed
    const struct sds_options *options;
    unsigned decode_threads; // 0: nothing is decoded ahead of a disk
    // Told of what was tolerated.
    void (*warn)(void *ctx, const struct sds_err *problem);
    void *ctx;
};

// Opens and verifies a root. Sets *code on failure: a root that is not there is not an unsound one.
SDS_MUST_CHECK enum sds_kind sds_open_root(const struct sds_opening *opening,
                                           struct sds_opened *out, enum sds_exit *code,
                                           struct sds_err *err);
void sds_close_root(struct sds_opened *opened);
// Prints why a root was refused: "sdsfs: ROOT: object: check: message".
void sds_report_root(const char *root, const struct sds_err *err);

// The arguments of a command that reads a dataset without a kernel.
struct sds_reader {
    struct sds_options options;
    struct sds_opened opened;
    const char *root; // as typed
    char **rest;      // arguments after ROOT
    int rest_count;
};

// Where to note a switch: that it was given, or, when it takes a value, which.
struct sds_target {
    bool *given;
    const char **value;
};

struct sds_arguments {
    const struct sds_command *command;
    const struct sds_target *targets; // of its switches, in their order
    int at_least, at_most;            // arguments after ROOT
};

// Parses the arguments. Returns false with the exit code when the command ends here. The reader is
// to be closed only after a true return.
bool sds_reader_parse(const struct sds_arguments *arguments, int argc, char **argv,
                      struct sds_reader *out, enum sds_exit *code);
// Opens the dataset of parsed arguments; warnings go to stderr. A reader that cannot be opened is
// still to be closed.
bool sds_reader_begin(struct sds_reader *reader, enum sds_exit *code);
// Both; nothing is to be closed after a false return.
bool sds_reader_open(const struct sds_arguments *arguments, int argc, char **argv,
                     struct sds_reader *out, enum sds_exit *code);
void sds_reader_close(struct sds_reader *reader);

#endif
