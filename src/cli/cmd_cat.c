// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/content.h"
#include "cli/dataset.h"
#include "fs/walk.h"

static enum sds_kind cat(struct sds_dataset *ds, const char *path, struct sds_err *err) {
    struct sds_place place;
    enum sds_kind kind = sds_walk(ds, sds_span_str(path), true, &place, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (place.attr.type != SDS_FILE) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "path", "it is a directory");
    }
    return sds_write_content(ds, place.node, place.attr.size, STDOUT_FILENO, err);
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    enum sds_exit code;
    const struct sds_arguments arguments = {
        .command = &sds_cmd_cat, .at_least = 1, .at_most = INT_MAX};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    enum sds_exit first = SDS_EXIT_DONE;
    for (int i = 0; i < reader.rest_count; i++) {
        struct sds_err err;
        if (cat(reader.opened.ds, reader.rest[i], &err) != SDS_OK) {
            code = sds_report(reader.rest[i], &err);
            first = first != SDS_EXIT_DONE ? first : code;
        }
    }
    sds_reader_close(&reader);
    return first;
}

const struct sds_command sds_cmd_cat = {
    .name = "cat",
    .synopsis = "[-o OPTION,...] ROOT PATH...",
    .summary = "Write files of a dataset to standard output",
    .help =
        "PATH is what the file would be called below a mountpoint. Links inside the dataset are\n"
        "followed. Goes on with the next file after an error.\n",
    .takes_options = 1,
    .run = run,
};
