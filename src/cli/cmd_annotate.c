// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/annotate_input.h"
#include "cli/dataset.h"
#include "cli/progress.h"
#include "remote/root_shown.h"

// What was typed besides ROOT and SET.
struct line {
    const char *rows, *metadata, *publication_id, *records_per_shard, *shard, *coordinate;
    bool check, as_json;
};

struct report {
    struct sds_progress progress;
    const char *rows; // what problems are in
    unsigned problems;
    char note[512]; // what is told instead of the usual; "" for nothing
};

// ---- what was typed

static bool parse_count(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *out > 0;
}

// What does not go together; NULL when all does.
static const char *contradiction(const struct line *line) {
    if ((line->rows != NULL) == (line->coordinate != NULL)) {
        return "one of --rows and --coordinate is needed";
    }
    if ((line->shard != NULL || line->coordinate != NULL) && line->publication_id == NULL) {
        return "--shard and --coordinate need --publication-id";
    }
    if (line->shard != NULL && line->coordinate != NULL) {
        return "--shard is for workers, --coordinate for the one who gathers what they wrote";
    }
    if (line->shard != NULL && line->metadata != NULL) {
        return "--metadata belongs to the set, not to a worker's shard";
    }
    if (line->rows == NULL || line->shard != NULL) {
        return line->records_per_shard != NULL ? "--records-per-shard is for whole sets" : NULL;
    }
    return NULL;
}

static bool take_request(const struct line *line, struct sds_annotate_request *request,
                         enum sds_exit *code) {
    const char *why = contradiction(line);
    if (why != NULL) {
        *code = sds_usage(&sds_cmd_annotate, "%s", why);
        return false;
    }
    if (line->records_per_shard != NULL &&
        !parse_count(line->records_per_shard, &request->records_per_shard)) {
        *code = sds_usage(&sds_cmd_annotate, "--records-per-shard %s: not a positive number",
                          line->records_per_shard);
        return false;
    }
    request->what = line->coordinate != NULL ? SDS_ANNOTATE_COORDINATE
                    : line->shard != NULL    ? SDS_ANNOTATE_SHARD
                                             : SDS_ANNOTATE_SET;
    request->publication_id = line->publication_id;
    request->shard_id = line->shard;
    request->check_only = line->check;
    return true;
}

// Opens and reads what the arguments name. *what is the one that failed.
static enum sds_kind open_input(const struct line *line, const char *state_dir,
                                struct sds_annotate_input *input, const char **what,
                                struct sds_err *err) {
    bool piped = false;
    enum sds_kind kind = SDS_OK;
    if (line->metadata != NULL) {
        *what = line->metadata;
        kind = sds_annotate_metadata(input, line->metadata, err);
    }
    if (kind == SDS_OK && line->coordinate != NULL) {
        *what = line->coordinate;
        return sds_annotate_ids(input, line->coordinate, err);
    }
    if (kind == SDS_OK) {
        *what = line->rows;
        kind = sds_annotate_rows(input, line->rows, &piped, err);
    }
    if (kind == SDS_OK && (piped || !line->check)) {
        *what = NULL;
        kind = sds_annotate_spool(input, state_dir, err);
    }
    if (kind == SDS_OK && piped) {
        *what = line->rows;
        kind = sds_annotate_copy_rows(input, err);
    }
    return kind;
}

// ---- what is told

static void tell_problem(void *ctx, uint64_t line, const struct sds_err *what) {
    struct report *report = ctx;
    char place[600];
    report->problems++;
    sds_progress_clear(&report->progress);
    if (line > 0) {
        snprintf(place, sizeof place, "%s: line %llu", report->rows, (unsigned long long)line);
    } else {
        snprintf(place, sizeof place, "%s", report->rows);
    }
    sds_report(place, what);
}

static void tell_progress(void *ctx, const char *stage, uint64_t done, uint64_t total) {
    struct report *report = ctx;
    sds_progress_update(&report->progress, done, total, stage);
}

static void take_note(void *ctx, const char *text, bool warning) {
    struct report *report = ctx;
    snprintf(report->note, sizeof report->note, "%s", text);
    if (warning) {
        sds_progress_clear(&report->progress);
        fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(report->rows), text);
    }
}

static void tell_success(const struct line *line, const struct report *report, const char *set,
                         struct json_object *receipt) {
    if (line->as_json && receipt != NULL) {
        puts(json_object_to_json_string_ext(receipt, JSON_C_TO_STRING_PRETTY |
                                                         JSON_C_TO_STRING_SPACED |
                                                         JSON_C_TO_STRING_NOSLASHESCAPE));
    } else if (line->check) {
        printf("checked %s: %s\n", set,
               report->note[0] != '\0' ? report->note : "nothing is wrong");
    } else if (report->note[0] != '\0') {
        puts(report->note);
    } else if (line->shard != NULL) {
        printf("wrote shard %s of %s\n", line->shard, set);
    } else {
        const char *id = json_object_get_string(json_object_object_get(receipt, "publication_id"));
        printf("published %s as publication %s\n", set, id);
    }
}

// What is wrong with the metadata is said of their file.
static enum sds_exit tell_failure(const char *root, const struct line *line,
                                  const struct report *report, struct sds_err *err) {
    if (report->problems > 0) { // each has been told
        return SDS_EXIT_UNSOUND;
    }
    if (line->metadata != NULL && strcmp(err->object, SDS_ANNOTATE_METADATA) == 0) {
        err->object[0] = '\0';
        return sds_report(line->metadata, err);
    }
    return sds_report(root, err);
}

// ---- the command

static enum sds_exit annotate(struct sds_reader *reader, const struct line *line,
                              struct sds_annotate_request *request) {
    const char *rows = line->rows != NULL ? line->rows : line->coordinate;
    struct report report = {.rows = strcmp(rows, "-") == 0 ? "standard input" : rows};
    struct sds_dataset *ds = reader->opened.ds;
    struct json_object *receipt = NULL;
    struct sds_err err;
    if (ds->ops->annotate == NULL) {
        sds_fail(&err, SDS_ERR_UNSUPPORTED, "layout", "its layout has no annotations");
        return sds_report(reader->root, &err);
    }
    sds_progress_init(&report.progress);
    request->problem = tell_problem;
    request->progress = tell_progress;
    request->note = take_note;
    request->ctx = &report;
    enum sds_kind kind = ds->ops->annotate(ds, request, &receipt, &err);
    sds_progress_clear(&report.progress);
    enum sds_exit code = SDS_EXIT_DONE;
    if (kind != SDS_OK) {
        code = tell_failure(reader->root, line, &report, &err);
    } else {
        tell_success(line, &report, request->set, receipt);
        code = sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
    }
    json_object_put(receipt);
    return code;
}

static enum sds_exit run_parsed(struct sds_reader *reader, const struct line *line) {
    struct sds_annotate_request request = {.set = reader->rest[0]};
    struct sds_annotate_input input;
    struct sds_err err;
    const char *what = NULL;
    enum sds_exit code;
    if (!take_request(line, &request, &code)) {
        return code;
    }
    sds_annotate_input_init(&input);
    if (open_input(line, reader->options.state_dir, &input, &what, &err) != SDS_OK) {
        code = sds_report(what, &err);
    } else if (sds_reader_begin(reader, &code)) {
        request.rows = input.rows;
        request.directory = input.directory;
        request.spool = input.spool;
        request.metadata = sds_buf_span(&input.metadata);
        request.shard_ids = input.ids;
        request.shard_id_count = input.id_count;
        code = annotate(reader, line, &request);
    }
    sds_annotate_input_fini(&input);
    return code;
}

static enum sds_exit run(int argc, char **argv) {
    struct line line = {0};
    struct sds_reader reader;
    enum sds_exit code;
    const struct sds_target targets[] = {
        {NULL, &line.rows},           {NULL, &line.metadata},
        {NULL, &line.publication_id}, {NULL, &line.records_per_shard},
        {NULL, &line.shard},          {NULL, &line.coordinate},
        {&line.check, NULL},          {&line.as_json, NULL},
    };
    const struct sds_arguments arguments = {
        .command = &sds_cmd_annotate, .targets = targets, .at_least = 1, .at_most = 1};
    if (!sds_reader_parse(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    code = run_parsed(&reader, &line);
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"rows", "FILE",
     "the rows, one a line; - is standard input (kept in the state directory meanwhile)"},
    {"metadata", "FILE", "the set's metadata, a JSON object"},
    {"publication-id", "ID", "instead of one made from snapshot and set"},
    {"records-per-shard", "N", "rows in one object (default 10000)"},
    {"shard", "ID", "one worker's rows, as logical shard ID of the set"},
    {"coordinate", "FILE", "make the set of workers' shards, whose ids are in FILE, one a line"},
    {"check", NULL, "only check"},
    {"json", NULL, "print the receipt"},
};

const struct sds_command sds_cmd_annotate = {
    .name = "annotate",
    .synopsis = "ROOT SET --rows FILE [--shard ID] [...], or ROOT SET --coordinate FILE [...]",
    .summary = "Publish annotations",
    .help =
        "Publishes rows (a JSON object a line, one for every record) as annotation set SET. All "
        "of\n"
        "them are checked before anything is written; the same command repeated finishes what was\n"
        "cut short, or changes nothing.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
