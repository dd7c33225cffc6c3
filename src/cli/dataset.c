// SPDX-License-Identifier: Apache-2.0
#include "cli/dataset.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SWITCHES = 4, LONG_SWITCH = 256 };

static enum sds_exit store_exit_code(enum sds_kind kind) {
    bool mistyped = kind == SDS_ERR_INVALID || kind == SDS_ERR_UNSUPPORTED;
    return mistyped ? SDS_EXIT_USAGE : SDS_EXIT_STORAGE;
}

enum sds_kind sds_open_root(const char *root, const struct sds_options *options,
                            unsigned decode_threads,
                            void (*warn)(void *ctx, const struct sds_err *problem), void *ctx,
                            struct sds_opened *out, enum sds_exit *code, struct sds_err *err) {
    *out = (struct sds_opened){0};
    enum sds_kind kind = sds_store_open(root, &options->external, &out->store, err);
    if (kind != SDS_OK) {
        *code = store_exit_code(kind);
        return kind;
    }
    struct sds_open_options how = {
        .mem_cache = (size_t)options->mem_cache,
        .max_record = options->max_record,
        .tolerate_annotations = options->tolerate_annotations,
        .decode_threads = decode_threads,
        .warn = warn,
        .ctx = ctx,
    };
    kind = sds_dataset_open(out->store, &how, &out->ds, err);
    if (kind != SDS_OK) {
        *code = sds_exit_code(kind);
        sds_close_root(out);
    }
    return kind;
}

void sds_close_root(struct sds_opened *opened) {
    sds_dataset_close(opened->ds);
    sds_store_close(opened->store);
    *opened = (struct sds_opened){0};
}

void sds_report_root(const char *root, const struct sds_err *err) {
    bool named = strcmp(err->object, root) == 0;
    sds_report(named ? NULL : root, err);
}

static void warn_on_stderr(void *ctx, const struct sds_err *problem) {
    const struct sds_reader *reader = ctx;
    char line[sizeof *problem + 8];
    sds_log(SDS_LOG_WARNING, "%s: warning: %s", reader->root,
            sds_err_line(problem, line, sizeof line));
}

// getopt's tables for a command's switches; long ones come as LONG_SWITCH + index.
struct getopt_tables {
    char letters[MAX_SWITCHES + 8];
    struct option names[MAX_SWITCHES + 2];
};

static void fill_tables(struct getopt_tables *tables, const struct sds_switch *switches,
                        size_t count) {
    *tables = (struct getopt_tables){.letters = ":ho:"};
    size_t names = 0;
    tables->names[names++] = (struct option){"help", no_argument, NULL, 'h'};
    for (size_t i = 0; i < count; i++) {
        if (switches[i].name[1] == '\0') {
            strcat(tables->letters, switches[i].name);
        } else {
            tables->names[names++] =
                (struct option){switches[i].name, no_argument, NULL, LONG_SWITCH + (int)i};
        }
    }
}

static bool take_switch(const struct sds_switch *switches, size_t count, int result) {
    for (size_t i = 0; i < count; i++) {
        if (result == LONG_SWITCH + (int)i ||
            (switches[i].name[1] == '\0' && switches[i].name[0] == result)) {
            *switches[i].given = true;
            return true;
        }
    }
    return false;
}

static bool parse_arguments(const struct sds_command *command, int argc, char **argv,
                            const struct sds_switch *switches, size_t count,
                            struct sds_options *options, enum sds_exit *code) {
    struct getopt_tables tables;
    fill_tables(&tables, switches, count);
    char why[256];
    int result;
    while ((result = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (result == 'h') {
            *code = sds_help(command);
            return false;
        }
        if (result == 'o') {
            if (!sds_options_parse(options, optarg, why, sizeof why)) {
                *code = sds_usage(command, "-o %s", why);
                return false;
            }
        } else if (!take_switch(switches, count, result)) {
            *code = sds_bad_option(command, result, argv);
            return false;
        }
    }
    return true;
}

bool sds_reader_open(const struct sds_command *command, int argc, char **argv,
                     const struct sds_switch *switches, size_t switch_count, int at_least,
                     int at_most, struct sds_reader *out, enum sds_exit *code) {
    *out = (struct sds_reader){0};
    sds_options_init(&out->options);
    if (!parse_arguments(command, argc, argv, switches, switch_count, &out->options, code)) {
        sds_options_fini(&out->options);
        return false;
    }
    int count = argc - optind;
    if (count < 1 + at_least || count > 1 + at_most) {
        *code = sds_usage(command, "%s",
                          count < 1 + at_least ? "an argument is missing" : "too many arguments");
        sds_options_fini(&out->options);
        return false;
    }
    out->root = argv[optind];
    out->rest = argv + optind + 1;
    out->rest_count = count - 1;
    sds_log_setup(
        &(struct sds_log_options){.level = out->options.log_level, .json = out->options.log_json});
    struct sds_err err;
    if (sds_open_root(out->root, &out->options, 0, warn_on_stderr, out, &out->opened, code, &err) !=
        SDS_OK) {
        sds_report_root(out->root, &err);
        sds_options_fini(&out->options);
        return false;
    }
    return true;
}

void sds_reader_close(struct sds_reader *reader) {
    sds_close_root(&reader->opened);
    sds_options_fini(&reader->options);
}
