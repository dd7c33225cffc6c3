// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/tables.h"
#include "remote/root_shown.h"

const struct sds_command *const sds_commands[] = {
    &sds_cmd_mount, &sds_cmd_umount, &sds_cmd_info,  &sds_cmd_verify,   &sds_cmd_ls,
    &sds_cmd_cat,   &sds_cmd_cp,     &sds_cmd_shard, &sds_cmd_annotate, &sds_cmd_index,
    &sds_cmd_query, &sds_cmd_status, NULL,
};
enum { COMMANDS = sizeof sds_commands / sizeof sds_commands[0] - 1 };

// Descriptors 0 to 2 have to be something before anything else is opened, or a dataset's file would
// take their place. One that was closed fails as it would have: what is told must not get lost
// unnoticed.
static void open_standard_descriptors(void) {
    int fd;
    do {
        fd = open("/dev/null", O_PATH);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

static enum sds_exit help(void) {
    printf("Usage: sdsfs COMMAND [ARGUMENT...]\n\n"
           "Scientific datasets as files.\n\nCommands:\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-8s %s\n", sds_commands[i]->name, sds_commands[i]->summary);
    }
    printf(
        "\nA dataset's ROOT is the directory with its root.json, s3://BUCKET/PREFIX, "
        "gs://BUCKET/PREFIX,\nhttp://HOST/PREFIX or https://HOST/PREFIX.\n"
        "sdsfs COMMAND --help tells more. sdsfs --version tells the version.\n"
        "Exit codes: 0 done, 1 the dataset is refused or unsound, 2 usage, 3 storage or network, "
        "4 mount failed.\n");
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
}

static enum sds_exit version(void) {
    printf("sdsfs %s\n", SDSFS_VERSION);
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
}

static enum sds_exit unknown_command(const char *typed) {
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++) {
        names[i] = sds_commands[i]->name;
    }
    char nearest[80];
    sds_nearest(typed, names, COMMANDS, nearest, sizeof nearest);
    fprintf(stderr, "sdsfs: %s: unknown command%s (see sdsfs --help)\n", SDS_ROOT_SHOWN(typed),
            nearest);
    return SDS_EXIT_USAGE;
}

static bool is_one_of(const char *text, const char *a, const char *b) {
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

int main(int argc, char **argv) {
    open_standard_descriptors();
    sds_heap_setup();
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    if (argc > 0 && strcmp(slash != NULL ? slash + 1 : argv[0], "mount.sdsfs") == 0) {
        return sds_mount_helper(argc, argv);
    }
    if (argc < 2) {
        fprintf(stderr, "sdsfs: usage: a command is missing (see sdsfs --help)\n");
        return SDS_EXIT_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h")) {
        return help();
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        return version();
    }
    if (argc == 3 && strcmp(argv[1], "--tables") == 0) {
        return sds_tables(argv[2]);
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], sds_commands[i]->name) == 0) {
            return sds_commands[i]->run(argc - 1, argv + 1);
        }
    }
    return unknown_command(argv[1]);
}
