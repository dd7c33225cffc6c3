// SPDX-License-Identifier: Apache-2.0
//
// The options of -o and of configuration files: one table for parsing, for --help and for the
// nearest names (options_table.h). What the command line says wins over what a file says, and that
// over the defaults, in whatever order they are read.
#ifndef SDSFS_CLI_OPTIONS_H
#define SDSFS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/log.h"
#include "remote/store.h"

#define SDS_OPTIONS_MAX 64       // in the table
#define SDS_OPTIONS_FLAGS_MAX 32 // generic mount flags

// What was said of an option; source NULL: nothing.
struct sds_said {
    const char *value;
    const char *source; // "command line", or "FILE:LINE"
};

struct sds_options {
    // The store and the dataset; every command that takes a ROOT reads them.
    struct sds_external_policy external;
    struct sds_remote_options remote;
    uint64_t mem_cache;
    uint64_t max_record;
    uint64_t prefetch;  // bytes ahead of one reader
    int64_t refresh_ms; // -1: the default of the kind of root
    bool tolerate_annotations;
    const char *views;     // as typed; NULL: the default
    const char *state_dir; // as typed; NULL: the default (base/program_dir.h)
    enum sds_log_level log_level;
    bool log_json;
    // The mount.
    bool allow_other;
    bool auto_unmount;
    uid_t uid;
    gid_t gid;
    mode_t umask;
    unsigned threads;
    char flags[256]; // generic mount flags, comma-separated
    bool read_only;  // what they say
    // Of a configuration file.
    const char *config;            // the file that was asked for, as typed; NULL: the default
    const char *root, *mountpoint; // what it says of them; NULL: nothing
    struct sds_said root_said, mountpoint_said;
    char *config_path;    // the file that was read, or looked for; absolute; NULL: none
    bool config_optional; // it need not be there
    // What was said, for whoever asks, and to be read again.
    struct sds_said said[SDS_OPTIONS_MAX]; // by their place in the table
    struct {
        const char *name, *source;
    } flags_said[SDS_OPTIONS_FLAGS_MAX];
    size_t flag_count;
    struct sds_given {
        char *text;
        bool sloppy;
    } * given; // values of -o
    size_t given_count;
    char **texts; // backing store of values that are kept as text
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

// The same for an option by its name, with a value of any characters.
bool sds_options_give(struct sds_options *options, const char *name, const char *value, char *why,
                      size_t size);

// After all of the command line: reads the configuration file, if there is one, and lets the
// command line win. A false return explains itself in why, with the file and the line.
bool sds_options_complete(struct sds_options *options, char *why, size_t size);
// Reads the file once more: *out, which the caller finishes, is what the options were if they were
// read now. On a false return there is nothing to finish.
bool sds_options_again(const struct sds_options *options, struct sds_options *out, char *why,
                       size_t size);
// Takes over those of the newer options that can be changed while a dataset is open. Tells of each
// that is another one: changed, or only to be had by mounting again.
void sds_options_adopt(struct sds_options *options, const struct sds_options *newer,
                       void (*tell)(void *ctx, const char *name, const char *value, bool changed),
                       void *ctx);

// Every option with its value and where that comes from, as a configuration file (control/config).
// remote: the root is on a server. What could be a secret is "***". Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_options_show(const struct sds_options *options, bool remote,
                                              struct sds_buf *out);

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
