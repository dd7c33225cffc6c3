// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli/index.h"
#include "format/name.h"
#include "remote/root_shown.h"

enum form { ORDINALS, PATHS, LINES };

struct answer {
    enum form form;
    unsigned width; // digits of ordinals in paths
};

static bool print(void *ctx, uint64_t ordinal, struct sds_span line) {
    const struct answer *answer = ctx;
    switch (answer->form) {
    case ORDINALS:
        printf("%llu\n", (unsigned long long)ordinal);
        break;
    case PATHS:
        printf("records/%0*llu\n", (int)answer->width, (unsigned long long)ordinal);
        break;
    case LINES:
        fwrite(line.at, 1, line.len, stdout);
        break;
    }
    return !ferror(stdout);
}

// No condition on what they say can find these.
static void tell_bad(const struct sds_reader *reader, uint64_t bad) {
    if (bad > 0) {
        fflush(stdout);
        fprintf(stderr, "sdsfs: %s: %llu record%s could not be indexed (error IS NOT NULL)\n",
                SDS_ROOT_SHOWN(reader->root), (unsigned long long)bad, bad == 1 ? "" : "s");
    }
}

static enum sds_exit query(struct sds_reader *reader, enum form form) {
    struct sds_index *index = NULL;
    struct sds_err err;
    struct sds_totals totals;
    reader->opened.ds->ops->totals(reader->opened.ds, &totals);
    struct answer answer = {.form = form, .width = sds_number_width(totals.records)};
    enum sds_kind kind = sds_index_get(reader, &index, &err);
    if (kind == SDS_OK) {
        kind = sds_index_query(index, reader->rest[0], form == LINES, print, &answer, &err);
    }
    if (kind == SDS_OK) {
        tell_bad(reader, sds_index_facts(index)->bad);
    }
    if (kind == SDS_ERR_CORRUPT && index != NULL) {
        sds_index_discard(index);
        sds_err_hint(&err, "thrown away: the next query builds it again");
    }
    sds_index_close(index);
    if (kind != SDS_OK) {
        return sds_report(reader->root, &err);
    }
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    enum sds_exit code;
    bool paths = false, as_json = false;
    const struct sds_target targets[] = {{&paths, NULL}, {&as_json, NULL}};
    const struct sds_arguments arguments = {
        .command = &sds_cmd_query, .targets = targets, .at_least = 1, .at_most = 1};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    if (paths && as_json) {
        sds_reader_close(&reader);
        return sds_usage(&sds_cmd_query, "--paths and --json do not go together");
    }
    code = query(&reader, as_json ? LINES : paths ? PATHS : ORDINALS);
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"paths", NULL, "print paths below a mountpoint instead of ordinals"},
    {"json", NULL, "print the records' lines of index/records.jsonl instead"},
};

const struct sds_command sds_cmd_query = {
    .name = "query",
    .synopsis = "[--paths | --json] [-o OPTION,...] ROOT WHERE",
    .summary = "Find records by their metadata",
    .help =
        "WHERE is a condition of SQLite over the columns ordinal, id, scene_id, metadata, fields\n"
        "(both JSON), shard and error; for example \"metadata->>'$.rate_hz' > 1e6\". Texts stand "
        "in\n"
        "single quotes, \"scene_id = 'roof'\"; what stands in double quotes is a column's name. "
        "The\n"
        "index is built first if it is not there.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
