// SPDX-License-Identifier: Apache-2.0
//
// A command of the program, and what commands share in talking to the user: one line on stderr for
// each failure, "sdsfs: <what>: <why>", and an exit code that tells its class.
#ifndef SDSFS_CLI_COMMAND_H
#define SDSFS_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum sds_exit {
    SDS_EXIT_DONE = 0,
    SDS_EXIT_UNSOUND = 1, // the dataset is refused or unsound
    SDS_EXIT_USAGE = 2,
    SDS_EXIT_STORAGE = 3, // could not look: storage or network
    SDS_EXIT_MOUNT = 4,
};

// A switch: parsed, told by --help, in the man page and completed by shells from this one place.
struct sds_switch {
    const char *name;  // "json" (long) or "l" (short)
    const char *value; // what a long one takes ("FILE"); NULL: nothing
    const char *help;  // no full stop, no capital
};

struct sds_command {
    const char *name;
    const char *synopsis;              // after the name
    const char *summary;               // one line
    const char *help;                  // sentences that --help adds; may be ""
    const struct sds_switch *switches; // besides -o and --help; NULL: none
    size_t switch_count;
    int takes_options; // -o, whose table the --help of mount prints
    // argv[0] is the command's name. Returns an exit code.
    enum sds_exit (*run)(int argc, char **argv);
};

// All of them, in the order of --help; NULL at the end.
extern const struct sds_command *const sds_commands[];
extern const struct sds_command sds_cmd_mount, sds_cmd_umount, sds_cmd_info, sds_cmd_verify,
    sds_cmd_ls, sds_cmd_cat, sds_cmd_cp, sds_cmd_shard, sds_cmd_annotate, sds_cmd_index,
    sds_cmd_query, sds_cmd_status;

// What mount(8) runs: ROOT MOUNTPOINT and its own flags.
enum sds_exit sds_mount_helper(int argc, char **argv);

// Prints a command's usage on stdout.
enum sds_exit sds_help(const struct sds_command *command);
// A usage error: "sdsfs: <command>: <why> (see sdsfs <command> --help)".
enum sds_exit sds_usage(const struct sds_command *command, const char *fmt, ...) SDS_PRINTF(2, 3);
// What getopt_long returned for an option that is not there or lacks its argument.
enum sds_exit sds_bad_option(const struct sds_command *command, int result, char *const argv[]);
// Whether there are as many arguments as there have to be; if not, *code is that of the usage error
// that names the one that is missing (as the synopsis calls it) or one too many.
bool sds_check_arguments(const struct sds_command *command, int count, char *const arguments[],
                         int at_least, int at_most, enum sds_exit *code);

// Prints "sdsfs: <what>: <object: check: message>" and returns the exit code of the kind. what may
// be NULL.
enum sds_exit sds_report(const char *what, const struct sds_err *err);
enum sds_exit sds_exit_code(enum sds_kind kind);

// True, with a message, when something written to stdout was lost.
int sds_stdout_failed(void);

#endif
