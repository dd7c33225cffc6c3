// SPDX-License-Identifier: Apache-2.0
#include "cli/dataset.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "remote/root_shown.h"

enum { MAX_SWITCHES = 8, LONG_SWITCH = 256, MAX_FILES = 65536 };

// What copies or verifies a dataset on a server would otherwise wait for each record.
enum { READING_THREADS = 2 };

static enum sds_exit store_exit_code(enum sds_kind kind) {
    bool mistyped = kind == SDS_ERR_INVALID || kind == SDS_ERR_UNSUPPORTED;
    return mistyped ? SDS_EXIT_USAGE : SDS_EXIT_STORAGE;
}

// "s3:/bucket" is a path like any other, but was mostly meant to be something else. So was the
// document for the directory that it is in.
static void hint_at_root(const char *root, struct sds_err *err) {
    static const char document[] = "/root.json";
    size_t len = strlen(root), behind = sizeof document - 1;
    if (len > behind && strcmp(root + len - behind, document) == 0) {
        sds_err_hint(err, "the root is the directory above root.json");
    }
    static const char *const places[] = {"s3://BUCKET", "gs://BUCKET", "http://HOST",
                                         "https://HOST"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        size_t scheme = strcspn(places[i], ":") + 1;
        if (strncmp(root, places[i], scheme) == 0 && strncmp(root + scheme, "//", 2) != 0) {
            sds_err_hint(err, "a path; write %s for what is on a server", places[i]);
        }
    }
}

// Every shard that is being read holds a descriptor.
static void raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MAX_FILES) {
        limit.rlim_cur = limit.rlim_max < MAX_FILES ? limit.rlim_max : MAX_FILES;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum sds_kind open_store(const struct sds_opening *opening, struct sds_opened *out,
                                struct sds_err *err) {
    const struct sds_options *options = opening->options;
    out->cache = sds_cache_new((size_t)options->mem_cache);
    if (out->cache == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a cache");
    }
    struct sds_store_options how = {
        .external = options->external, .remote = options->remote, .cache = out->cache};
    how.remote.read_ahead = options->prefetch;
    return sds_store_open(opening->root, &how, &out->store, err);
}

static enum sds_kind open_dataset(const struct sds_opening *opening, struct sds_opened *out,
                                  struct sds_err *err) {
    const struct sds_options *options = opening->options;
    bool remote = sds_store_is_remote(out->store);
    struct sds_open_options how = {
        .cache = out->cache,
        .max_record = options->max_record,
        .tolerate_annotations = options->tolerate_annotations,
        .views = options->views,
        .decode_threads =
            remote && opening->decode_threads == 0 ? READING_THREADS : opening->decode_threads,
        .read_ahead = options->prefetch,
        .refresh_ms = sds_options_refresh_ms(options, remote),
        .warn = opening->warn,
        .ctx = opening->ctx,
    };
    return sds_dataset_open(out->store, &how, &out->ds, err);
}

enum sds_kind sds_open_root(const struct sds_opening *opening, struct sds_opened *out,
                            enum sds_exit *code, struct sds_err *err) {
    *out = (struct sds_opened){0};
    raise_file_limit();
    enum sds_kind kind = open_store(opening, out, err);
    if (kind != SDS_OK) {
        *code = store_exit_code(kind);
    } else {
        kind = open_dataset(opening, out, err);
        *code = sds_exit_code(kind);
    }
    if (kind != SDS_OK) {
        hint_at_root(opening->root, err);
        sds_close_root(out);
    }
    return kind;
}

void sds_close_root(struct sds_opened *opened) {
    sds_dataset_close(opened->ds);
    sds_store_close(opened->store);
    sds_cache_free(opened->cache);
    *opened = (struct sds_opened){0};
}

void sds_report_root(const char *root, const struct sds_err *err) {
    bool named = strcmp(err->object, SDS_ROOT_SHOWN(root)) == 0;
    sds_report(named ? NULL : root, err);
}

static void warn_on_stderr(void *ctx, const struct sds_err *problem) {
    const struct sds_reader *reader = ctx;
    char line[sizeof *problem + 8];
    sds_log(SDS_LOG_WARNING, "%s: warning: %s", SDS_ROOT_SHOWN(reader->root),
            sds_err_line(problem, line, sizeof line));
}

// getopt's tables for a command's switches; long ones come as LONG_SWITCH + index.
struct getopt_tables {
    char letters[MAX_SWITCHES + 8];
    struct option names[MAX_SWITCHES + 2];
};

static void fill_tables(struct getopt_tables *tables, const struct sds_command *command) {
    *tables = (struct getopt_tables){.letters = ":ho:"};
    size_t names = 0;
    tables->names[names++] = (struct option){"help", no_argument, NULL, 'h'};
    for (size_t i = 0; i < command->switch_count; i++) {
        const struct sds_switch *s = &command->switches[i];
        if (s->name[1] == '\0') {
            strcat(tables->letters, s->name);
        } else {
            int argument = s->value != NULL ? required_argument : no_argument;
            tables->names[names++] = (struct option){s->name, argument, NULL, LONG_SWITCH + (int)i};
        }
    }
}

static bool take_switch(const struct sds_arguments *arguments, int result) {
    const struct sds_command *command = arguments->command;
    for (size_t i = 0; i < command->switch_count; i++) {
        const char *name = command->switches[i].name;
        if (result == LONG_SWITCH + (int)i || (name[1] == '\0' && name[0] == result)) {
            if (command->switches[i].value != NULL) {
                *arguments->targets[i].value = optarg;
            } else {
                *arguments->targets[i].given = true;
            }
            return true;
        }
    }
    return false;
}

static bool parse_arguments(const struct sds_arguments *arguments, int argc, char **argv,
                            struct sds_reader *reader, enum sds_exit *code) {
    const struct sds_command *command = arguments->command;
    struct getopt_tables tables;
    fill_tables(&tables, command);
    char why[256];
    int result;
    while ((result = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (result == 'h') {
            *code = sds_help(command);
            return false;
        }
        if (result == 'o') {
            if (!sds_options_parse(&reader->options, optarg, why, sizeof why)) {
                *code = sds_usage(command, "-o %s", why);
                return false;
            }
        } else if (!take_switch(arguments, result)) {
            *code = sds_bad_option(command, result, argv);
            return false;
        }
    }
    if (!sds_options_complete(&reader->options, why, sizeof why)) {
        *code = sds_usage(command, "%s", why);
        return false;
    }
    int at_most = arguments->at_most < INT_MAX ? arguments->at_most + 1 : INT_MAX; // with ROOT
    if (!sds_check_arguments(command, argc - optind, argv + optind, arguments->at_least + 1,
                             at_most, code)) {
        return false;
    }
    reader->root = argv[optind];
    reader->rest = argv + optind + 1;
    reader->rest_count = argc - optind - 1;
    return true;
}

bool sds_reader_begin(struct sds_reader *reader, enum sds_exit *code) {
    sds_log_setup(&(struct sds_log_options){.level = reader->options.log_level,
                                            .json = reader->options.log_json,
                                            .hold = reader->options.log_level != SDS_LOG_DEBUG});
    struct sds_opening opening = {
        .root = reader->root, .options = &reader->options, .warn = warn_on_stderr, .ctx = reader};
    struct sds_err err;
    if (sds_open_root(&opening, &reader->opened, code, &err) == SDS_OK) {
        return true;
    }
    sds_report_root(reader->root, &err);
    return false;
}

bool sds_reader_parse(const struct sds_arguments *arguments, int argc, char **argv,
                      struct sds_reader *out, enum sds_exit *code) {
    *out = (struct sds_reader){0};
    sds_options_init(&out->options);
    if (parse_arguments(arguments, argc, argv, out, code)) {
        return true;
    }
    sds_options_fini(&out->options);
    return false;
}

bool sds_reader_open(const struct sds_arguments *arguments, int argc, char **argv,
                     struct sds_reader *out, enum sds_exit *code) {
    if (!sds_reader_parse(arguments, argc, argv, out, code)) {
        return false;
    }
    if (sds_reader_begin(out, code)) {
        return true;
    }
    sds_reader_close(out);
    return false;
}

void sds_reader_close(struct sds_reader *reader) {
    sds_close_root(&reader->opened);
    sds_options_fini(&reader->options);
}
