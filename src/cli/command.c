// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/nearest.h"
#include "cli/options.h"
#include "remote/root_shown.h"

enum { MAX_SWITCHES = 8, MAX_SWITCH_NAME = 32 };

enum sds_exit sds_exit_code(enum sds_kind kind) {
    switch (kind) {
    case SDS_OK:
        return SDS_EXIT_DONE;
    case SDS_ERR_CORRUPT:
    case SDS_ERR_NOT_FOUND:
    case SDS_ERR_CONFLICT:
    case SDS_ERR_LIMIT:
    case SDS_ERR_UNSUPPORTED:
        return SDS_EXIT_UNSOUND;
    case SDS_ERR_INVALID:
        return SDS_EXIT_USAGE;
    case SDS_ERR_STORAGE:
    case SDS_ERR_TIMEOUT:
    case SDS_ERR_DENIED:
    case SDS_ERR_NO_MEMORY:
    case SDS_ERR_INTERNAL:
    case SDS_ERR_WAITING:
        break;
    }
    return SDS_EXIT_STORAGE;
}

enum sds_exit sds_report(const char *what, const struct sds_err *err) {
    char line[sizeof *err + 8];
    fprintf(stderr, "sdsfs: %s%s%s\n", what != NULL ? SDS_ROOT_SHOWN(what) : "",
            what != NULL ? ": " : "", sds_err_line(err, line, sizeof line));
    return sds_exit_code(err->kind);
}

static void print_switches(const struct sds_command *command) {
    if (command->switch_count > 0) {
        printf("\n");
    }
    for (size_t i = 0; i < command->switch_count; i++) {
        const struct sds_switch *s = &command->switches[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s", s->name[1] == '\0' ? "-" : "--", s->name,
                 s->value != NULL ? " " : "", s->value != NULL ? s->value : "");
        printf("  %-22s %s\n", left, s->help);
    }
}

enum sds_exit sds_help(const struct sds_command *command) {
    printf("Usage: sdsfs %s %s\n\n%s.\n", command->name, command->synopsis, command->summary);
    if (command->help[0] != '\0') {
        printf("\n%s", command->help);
    }
    print_switches(command);
    if (command->takes_options && command == &sds_cmd_mount) {
        sds_options_help(stdout);
    } else if (command->takes_options) {
        printf("\nOptions (-o): those of mount, which sdsfs mount --help lists.\n");
    }
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
}

enum sds_exit sds_usage(const struct sds_command *command, const char *fmt, ...) {
    char why[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    for (char *p = why; *p != '\0'; p++) { // whatever was typed, it is one line
        *p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
    }
    fprintf(stderr, "sdsfs: %s: %s (see sdsfs %s --help)\n", command->name, why, command->name);
    return SDS_EXIT_USAGE;
}

// The long switch that was probably meant by "--what" or "--what=value", for a message.
static void nearest_switch(const struct sds_command *command, const char *typed, char *out,
                           size_t size) {
    char names[MAX_SWITCHES][MAX_SWITCH_NAME], name[MAX_SWITCH_NAME];
    const char *known[MAX_SWITCHES];
    size_t count = 0;
    for (size_t i = 0; i < command->switch_count && count < MAX_SWITCHES; i++) {
        if (command->switches[i].name[1] != '\0') {
            snprintf(names[count], sizeof names[count], "--%s", command->switches[i].name);
            known[count] = names[count];
            count++;
        }
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(typed, "="), typed);
    sds_nearest(name, known, count, out, size);
}

enum sds_exit sds_bad_option(const struct sds_command *command, int result, char *const argv[]) {
    const char *typed = argv[optind - 1];
    if (result == ':') {
        return sds_usage(command, "%s needs an argument", SDS_ROOT_SHOWN(typed));
    }
    if (optopt != 0 && strncmp(typed, "--", 2) != 0) {
        return sds_usage(command, "-%c: unknown option", optopt);
    }
    char nearest[MAX_SWITCHES * MAX_SWITCH_NAME];
    nearest_switch(command, typed, nearest, sizeof nearest);
    return sds_usage(command, "%s: unknown option%s", SDS_ROOT_SHOWN(typed), nearest);
}

// The name of an argument in a synopsis, where those that have to be there stand in capitals and
// outside of brackets.
static void argument_name(const char *synopsis, int index, char *out, size_t size) {
    int depth = 0;
    for (const char *p = synopsis; *p != '\0'; p++) {
        size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        depth += (*p == '[') - (*p == ']');
        if (len == 0) {
            continue;
        }
        if (depth == 0 && index-- == 0) {
            snprintf(out, size, "%.*s", (int)len, p);
            return;
        }
        p += len - 1;
    }
    snprintf(out, size, "an argument");
}

bool sds_check_arguments(const struct sds_command *command, int count, char *const arguments[],
                         int at_least, int at_most, enum sds_exit *code) {
    if (count < at_least) {
        char name[32];
        argument_name(command->synopsis, count, name, sizeof name);
        *code = sds_usage(command, "%s is missing", name);
    } else if (count > at_most) {
        *code = sds_usage(command, "too many arguments: %s", SDS_ROOT_SHOWN(arguments[at_most]));
    }
    return count >= at_least && count <= at_most;
}

int sds_stdout_failed(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return 0;
    }
    fprintf(stderr, "sdsfs: stdout: %s\n", strerror(errno));
    return 1;
}
