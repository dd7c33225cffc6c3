// SPDX-License-Identifier: Apache-2.0
//
// The options of -o: one table for parsing, for --help and for the nearest names.
#ifndef SDSFS_CLI_OPTIONS_H
#define SDSFS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/log.h"
#include "remote/store.h"

struct sds_options {
    // The store and the dataset; every command that takes a ROOT reads them.
    struct sds_external_policy external;
    struct sds_remote_options remote;
    uint64_t mem_cache;
    uint64_t max_record;
    int64_t refresh_ms; // -1: the default of the kind of root
    bool tolerate_annotations;
    const char *views;     // as typed; NULL: the default
    const char *state_dir; // as typed; NULL: the default (base/program_dir.h)
    enum sds_log_level log_level;
    bool log_json;
    // The mount.
    bool allow_other;
    uid_t uid;
    gid_t gid;
    mode_t umask;
    unsigned threads;
    char flags[256]; // generic mount flags, comma-separated
    bool read_only;  // what they say
    char *texts[32]; // backing store of values that are kept as text
    size_t text_count;
};

void sds_options_init(struct sds_options *options);
void sds_options_fini(struct sds_options *options);

// Takes the value of one -o: options separated by commas ("\," is a comma inside a value). A false
// return explains itself in why, e.g. "thread: unknown option (did you mean threads?)".
bool sds_options_parse(struct sds_options *options, const char *text, char *why, size_t size);
// The same, with options that are not known left out (mount -s).
bool sds_options_parse_sloppy(struct sds_options *options, const char *text, char *why,
                              size_t size);

// How old what is known of other publishers may be, in milliseconds.
uint32_t sds_options_refresh_ms(const struct sds_options *options, bool remote);

void sds_options_help(FILE *out);

// What --help, the man page and completion tell of an option.
struct sds_option_text {
    const char *name;
    const char *values; // what may stand after "="; NULL: a flag
    const char *help;   // short: no full stop, no capital
    const char *more;   // what the man page adds, in mdoc; NULL: nothing
};
// Option i; false when there is none.
bool sds_option_text(size_t i, struct sds_option_text *out);

#endif
