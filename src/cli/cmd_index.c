// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>

#include "cli/dataset.h"
#include "cli/index.h"
#include "cli/shown.h"
#include "index/index.h"

static void print_json(const struct sds_index_facts *facts) {
    double each = facts->records > 0 ? (double)facts->file_bytes / (double)facts->records : 0;
    printf("{\"records\": %" PRIu64 ", \"bad\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"bytes_per_record\": %.1f}\n",
           facts->records, facts->bad, facts->file_bytes, each);
}

static void print_line(const struct sds_index_facts *facts) {
    char size[SDS_SHOWN_MAX], each[SDS_SHOWN_MAX];
    printf("indexed %" PRIu64 " record%s, %" PRIu64 " of them bad, in %s", facts->records,
           facts->records == 1 ? "" : "s", facts->bad, sds_bytes_shown(facts->file_bytes, size));
    if (facts->records > 0) {
        printf(" (%s for each)", sds_bytes_shown(facts->file_bytes / facts->records, each));
    }
    printf("\n");
}

static enum sds_exit tell(const struct sds_index *index, bool as_json) {
    const struct sds_index_facts *facts = sds_index_facts(index);
    if (as_json) {
        print_json(facts);
    } else {
        print_line(facts);
    }
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    struct sds_index *index = NULL;
    enum sds_exit code;
    bool as_json = false;
    const struct sds_target targets[] = {{&as_json, NULL}};
    const struct sds_arguments arguments = {
        .command = &sds_cmd_index, .targets = targets, .at_least = 0, .at_most = 0};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    struct sds_err err;
    if (sds_index_get(&reader, &index, &err) != SDS_OK) {
        code = sds_report(reader.root, &err);
    } else {
        code = tell(index, as_json);
    }
    sds_index_close(index);
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"json", NULL, "tell of it as a JSON object"},
};

const struct sds_command sds_cmd_index = {
    .name = "index",
    .synopsis = "[--json] [-o OPTION,...] ROOT",
    .summary = "Build the index of all metadata",
    .help =
        "It is kept in the cache directory and used by all mounts of the dataset; built only if\n"
        "it is not there. A build that was interrupted goes on where it was.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
