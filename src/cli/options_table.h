// SPDX-License-Identifier: Apache-2.0
//
// The table of options: how each is parsed, what holds without it, what is told of it. Pure.
#ifndef SDSFS_CLI_OPTIONS_TABLE_H
#define SDSFS_CLI_OPTIONS_TABLE_H

#include "cli/options.h"

#define SDS_OPTION_MAX_THREADS 256
#define SDS_OPTION_VIEWS_BETWEEN ",:" // between the words of views=

struct sds_option_spec {
    const char *name;
    const char *values; // what may stand after "="; NULL for a flag
    // Takes a value, which lives as long as the options; a flag's is "yes" or "no".
    bool (*take)(struct sds_options *options, char *value);
    // What holds where nothing was said: a text, or a function that writes it ("": nothing).
    const char *fallback;
    void (*tell)(const struct sds_options *options, bool remote, char *out, size_t size);
    const char *environment; // variables that stand in for it, the first one that is set
    bool reloads;            // SIGHUP changes it
    const char *help;
    const char *more; // what the man page adds, in mdoc
};

extern const struct sds_option_spec sds_option_table[];
extern const size_t sds_option_count;

#endif
