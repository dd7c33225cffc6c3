// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/mountpoint.h"
#include "fs/mounts.h"
#include "remote/root_shown.h"

// A busy machine takes its time: who was not asked for long enough could not be waited for.
enum { ASK_TIMEOUT_MS = 10000, END_TIMEOUT_MS = 30000, MAX_STATUS = 8 << 20 };

// --- the daemon behind a mount

// The process id that a mount tells about itself, 0 when it does not answer.
static int ask_pid(const char *mountpoint, enum sds_answer *answer) {
    struct sds_buf text = SDS_BUF_INIT(MAX_STATUS);
    struct json_object *status = NULL, *pid = NULL;
    *answer = sds_ask_mount(mountpoint, "control/status.json", ASK_TIMEOUT_MS, &text);
    if (*answer == SDS_ANSWER_GIVEN && sds_buf_add(&text, "", 1) == SDS_OK) {
        status = json_tokener_parse((const char *)text.at);
    }
    int result = json_object_object_get_ex(status, "pid", &pid) ? json_object_get_int(pid) : 0;
    json_object_put(status);
    sds_buf_fini(&text);
    return result;
}

// Whether a process is one of ours: behind a mount made in another pid namespace the number means
// somebody else here.
static bool is_sdsfs(int pid) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *comm = fopen(path, "re");
    if (comm != NULL) {
        if (fgets(name, sizeof name, comm) == NULL) {
            name[0] = '\0';
        }
        fclose(comm);
    }
    return strcmp(name, "sdsfs\n") == 0 || strcmp(name, "mount.sdsfs\n") == 0;
}

// A descriptor that tells when the daemon ends, -1 if there is nothing to wait for.
static int watch_daemon(const char *mountpoint, enum sds_answer *answer) {
    int pid = ask_pid(mountpoint, answer);
    return pid > 0 && is_sdsfs(pid) ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

// Waits for it. True also where there is nothing to wait for.
static bool has_ended(int daemon) {
    struct pollfd end = {.fd = daemon, .events = POLLIN};
    return daemon < 0 || poll(&end, 1, END_TIMEOUT_MS) != 0;
}

// --- the command

static enum sds_exit failed(const char *mountpoint, const char *why) {
    fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(mountpoint), why);
    return SDS_EXIT_MOUNT;
}

static enum sds_kind check_ours(const char *path, struct sds_err *err) {
    struct sds_mount mount;
    enum sds_kind kind = sds_mount_find(path, &mount, err);
    if (kind == SDS_OK && strcmp(mount.type, SDS_MOUNT_TYPE) != 0) {
        return sds_fail(err, SDS_ERR_CONFLICT, "mountpoint", "mounted, but not by sdsfs (type %s)",
                        mount.type);
    }
    return kind;
}

static enum sds_exit umount(const char *mountpoint) {
    struct sds_err err;
    sds_autofree char *path = NULL;
    enum sds_kind kind = sds_mountpoint_resolve(mountpoint, &path, &err);
    if (kind == SDS_OK) {
        kind = check_ours(path, &err);
    }
    if (kind != SDS_OK) {
        return failed(mountpoint, err.message);
    }
    enum sds_answer answer;
    sds_autofd int daemon = watch_daemon(path, &answer);
    // Somebody hangs in it, with a file of the mount open.
    bool stuck = answer == SDS_ANSWER_STUCK;
    if (sds_unmount(path, stuck, &err) != SDS_OK) {
        return failed(mountpoint, err.message);
    }
    const char *note = stuck                       ? "detached; its daemon does not answer"
                       : answer == SDS_ANSWER_LATE ? "unmounted; its daemon does not answer"
                       : has_ended(daemon)         ? NULL
                                           : "unmounted here, but its daemon is still running";
    if (note != NULL) {
        fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(mountpoint), note);
    }
    return SDS_EXIT_DONE;
}

static enum sds_exit run(int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'}, {0}};
    int result;
    while ((result = getopt_long(argc, argv, ":h", names, NULL)) != -1) {
        if (result != 'h') {
            return sds_bad_option(&sds_cmd_umount, result, argv);
        }
        return sds_help(&sds_cmd_umount);
    }
    enum sds_exit code;
    if (!sds_check_arguments(&sds_cmd_umount, argc - optind, argv + optind, 1, 1, &code)) {
        return code;
    }
    return umount(argv[optind]);
}

const struct sds_command sds_cmd_umount = {
    .name = "umount",
    .synopsis = "MOUNTPOINT",
    .summary = "Unmount, and wait until the daemon has ended",
    .help = "",
    .takes_options = 0,
    .run = run,
};
