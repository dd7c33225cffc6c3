// SPDX-License-Identifier: Apache-2.0
#include "cli/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/ask.h"
#include "fs/mounts.h"

enum { MAX_STACKED = 16 };                     // dead mounts over each other
enum { HOLD_TRIES = 200, HOLD_PAUSE_MS = 10 }; // mounting takes a moment

enum sds_kind sds_mountpoint_resolve(const char *typed, char **out, struct sds_err *err) {
    char *path = realpath(typed, NULL);
    if (path == NULL) {
        enum sds_kind kind = errno == ENOENT ? SDS_ERR_NOT_FOUND : SDS_ERR_STORAGE;
        return sds_fail(err, kind, "mountpoint", "%s",
                        errno == ENOENT ? "the mountpoint does not exist" : strerror(errno));
    }
    *out = path;
    return SDS_OK;
}

// Whether a daemon behind path is there and answers. stat would not tell: the kernel remembers the
// attributes. Only what may have a daemon is asked: an automount would be set off, and waits for
// us.
static enum sds_answer ask_daemon(const char *path) {
    struct sds_mount mount;
    struct sds_err err;
    enum sds_kind kind = sds_mount_find(path, &mount, &err);
    if (kind == SDS_ERR_NOT_FOUND || (kind == SDS_OK && strncmp(mount.type, "fuse", 4) != 0)) {
        return SDS_ANSWER_GIVEN;
    }
    return sds_ask_alive(path, SDS_ASK_MS);
}

static enum sds_kind check_mounted(const char *path, bool dead, struct sds_err *err) {
    struct sds_mount mount;
    enum sds_kind kind = sds_mount_find(path, &mount, err);
    if (kind == SDS_ERR_NOT_FOUND || (kind != SDS_OK && !dead)) {
        return SDS_OK; // without /proc there is no telling, and nothing that speaks against it
    }
    bool ours = kind == SDS_OK && strcmp(mount.type, SDS_MOUNT_TYPE) == 0;
    if (ours && !dead) {
        return sds_fail(err, SDS_ERR_CONFLICT, "mountpoint", "%s is mounted there already",
                        mount.source);
    }
    if (kind == SDS_OK && dead && !ours) {
        return sds_fail(err, SDS_ERR_CONFLICT, "mountpoint",
                        "a dead mount of type %s is there; unmount it first", mount.type);
    }
    return kind;
}

enum sds_kind sds_mountpoint_check(const char *path, struct sds_err *err) {
    struct stat st;
    enum sds_answer answer = ask_daemon(path);
    if (answer == SDS_ANSWER_LATE || answer == SDS_ANSWER_STUCK) {
        return sds_fail(err, SDS_ERR_CONFLICT, "mountpoint",
                        "a mount is there already, and its daemon does not answer");
    }
    bool dead = answer == SDS_ANSWER_DEAD;
    if (!dead && stat(path, &st) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "mountpoint", "%s", strerror(errno));
    }
    if (!dead && !S_ISDIR(st.st_mode)) {
        return sds_fail(err, SDS_ERR_CONFLICT, "mountpoint", "it is not a directory");
    }
    return check_mounted(path, dead, err);
}

enum sds_kind sds_mountpoint_clear(const char *path, struct sds_err *err) {
    for (int i = 0; i < MAX_STACKED && ask_daemon(path) == SDS_ANSWER_DEAD; i++) {
        enum sds_kind kind = check_mounted(path, true, err);
        if (kind == SDS_OK) {
            kind = sds_unmount(path, true, err);
        }
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return SDS_OK;
}

int sds_mountpoint_hold(const char *path) {
    // The directory above: what is mounted at path may be dead, hang, or be set off by a look.
    sds_autofree char *above = strdup(path);
    char *slash = above != NULL ? strrchr(above, '/') : NULL;
    if (slash == NULL) {
        return -1;
    }
    slash[slash == above] = '\0';
    int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < HOLD_TRIES && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = HOLD_PAUSE_MS * 1000000L}, NULL);
    }
    return fd;
}
