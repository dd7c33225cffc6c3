// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli/dataset.h"
#include "cli/index.h"
#include "cli/progress.h"
#include "index/index.h"

static enum sds_exit tell(const struct sds_index *index, bool as_json) {
    const struct sds_index_facts *facts = sds_index_facts(index);
    double each = facts->records > 0 ? (double)facts->file_bytes / (double)facts->records : 0;
    printf(as_json ? "{\"records\": %llu, \"bad\": %llu, \"bytes\": %llu, "
                     "\"bytes_per_record\": %.1f}\n"
                   : "%llu records, %llu of them bad, in %llu bytes (%.1f a record)\n",
           (unsigned long long)facts->records, (unsigned long long)facts->bad,
           (unsigned long long)facts->file_bytes, each);
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
