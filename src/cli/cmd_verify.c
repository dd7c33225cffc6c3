// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>

#include "cli/dataset.h"
#include "cli/progress.h"

struct report {
    struct sds_progress progress;
    bool as_json;
    uint64_t problems, warnings;
};

static void add_text(struct json_object *object, const char *key, const char *text) {
    json_object_object_add(object, key, json_object_new_string(text));
}

static void print_json(struct json_object *object) {
    puts(json_object_to_json_string_ext(object,
                                        JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(object);
}

static void found(void *ctx, enum sds_severity severity, const char *path,
                  const struct sds_err *what) {
    struct report *report = ctx;
    const char *name = severity == SDS_PROBLEM ? "problem" : "warning";
    *(severity == SDS_PROBLEM ? &report->problems : &report->warnings) += 1;
    sds_progress_clear(&report->progress);
    if (report->as_json) {
        struct json_object *finding = json_object_new_object();
        add_text(finding, "severity", name);
        add_text(finding, "path", path);
        add_text(finding, "object", what->object);
        add_text(finding, "check", what->check);
        add_text(finding, "message", what->message);
        print_json(finding);
    } else {
        char line[sizeof *what + 8];
        printf("%s: %s%s%s\n", name, path, path[0] != '\0' ? ": " : "",
               sds_err_line(what, line, sizeof line));
    }
}

static void show_progress(void *ctx, uint64_t done, uint64_t total, const char *unit) {
    struct report *report = ctx;
    sds_progress_update(&report->progress, done, total, unit);
}

static void print_summary(const struct report *report, bool sound) {
    if (report->as_json) {
        struct json_object *summary = json_object_new_object();
        json_object_object_add(summary, "sound", json_object_new_boolean(sound));
        json_object_object_add(summary, "problems", json_object_new_uint64(report->problems));
        json_object_object_add(summary, "warnings", json_object_new_uint64(report->warnings));
        print_json(summary);
    } else {
        printf("%s: %" PRIu64 " problem%s, %" PRIu64 " warning%s\n", sound ? "sound" : "unsound",
               report->problems, report->problems == 1 ? "" : "s", report->warnings,
               report->warnings == 1 ? "" : "s");
    }
}

static enum sds_exit verify(struct sds_reader *reader, struct report *report, bool records,
                            bool strict) {
    struct sds_dataset *ds = reader->opened.ds;
    struct sds_verify_options options = {
        .records = records, .found = found, .progress = show_progress, .ctx = report};
    struct sds_err err;
    enum sds_kind kind = ds->ops->verify(ds, &options, &err);
    sds_progress_clear(&report->progress);
    if (kind != SDS_OK) {
        sds_report(reader->root, &err);
        return SDS_EXIT_STORAGE; // whatever it was: could not look
    }
    bool sound = report->problems == 0 && (!strict || report->warnings == 0);
    print_summary(report, sound);
    return sound ? SDS_EXIT_DONE : SDS_EXIT_UNSOUND;
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    struct report report = {0};
    enum sds_exit code;
    bool records = false, strict = false;
    const struct sds_target targets[] = {
        {&records, NULL}, {&strict, NULL}, {&report.as_json, NULL}};
    const struct sds_arguments arguments = {
        .command = &sds_cmd_verify, .targets = targets, .at_least = 0, .at_most = 0};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    sds_progress_init(&report.progress);
    code = verify(&reader, &report, records, strict);
    if (sds_stdout_failed()) {
        code = SDS_EXIT_STORAGE;
    }
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"records", NULL, "decode every record too"},
    {"strict", NULL, "warnings are problems"},
    {"json", NULL, "a JSON object a line, the last one a summary"},
};

const struct sds_command sds_cmd_verify = {
    .name = "verify",
    .synopsis = "[--records] [--strict] [--json] [-o OPTION,...] ROOT",
    .summary = "Check a dataset from its root down",
    .help = "Walks the whole reference chain and prints each finding on a line.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
