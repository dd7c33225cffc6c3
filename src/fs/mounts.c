// SPDX-License-Identifier: Apache-2.0
#include "fs/mounts.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/complaint.h"

extern char **environ;

// Undoes the \ooo of the mount table in place.
static void unescape(char *text) {
    char *out = text;
    for (const char *in = text; *in != '\0';) {
        unsigned octal;
        if (in[0] == '\\' && sscanf(in + 1, "%3o", &octal) == 1) {
            *out++ = (char)octal;
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
}

// One line: "id parent major:minor root POINT options [tags...] - TYPE SOURCE super-options". Cuts
// line up; false when it has another form.
static bool parse_line(char *line, char **point, char **type, char **source) {
    char *rest = line;
    for (int field = 0; field < 4; field++) {
        if (strsep(&rest, " ") == NULL) {
            return false;
        }
    }
    *point = strsep(&rest, " ");
    char *tail = rest != NULL ? strstr(rest, " - ") : NULL;
    if (tail == NULL) {
        return false;
    }
    tail += strlen(" - ");
    *type = strsep(&tail, " ");
    *source = tail != NULL ? strsep(&tail, " \n") : NULL;
    if (*source == NULL) {
        return false;
    }
    unescape(*point);
    unescape(*source);
    return true;
}

enum sds_kind sds_mount_find(const char *path, struct sds_mount *out, struct sds_err *err) {
    FILE *table = fopen("/proc/self/mountinfo", "re");
    if (table == NULL) {
        return sds_fail(err, SDS_ERR_STORAGE, "mountinfo", "/proc/self/mountinfo: %s",
                        strerror(errno));
    }
    enum sds_kind kind = SDS_ERR_NOT_FOUND;
    char *line = NULL, *point, *type, *source;
    size_t cap = 0;
    while (getline(&line, &cap, table) > 0) {
        if (parse_line(line, &point, &type, &source) && strcmp(point, path) == 0) {
            snprintf(out->type, sizeof out->type, "%s", type);
            snprintf(out->source, sizeof out->source, "%s", source);
            kind = SDS_OK; // later lines lie on top
        }
    }
    free(line);
    fclose(table);
    return kind == SDS_OK ? kind : sds_fail(err, kind, "mountinfo", "nothing is mounted there");
}

// Runs fusermount3 from where packages put it, else from PATH. *status is as waitpid tells it.
static int run_fusermount(const char *path, bool lazy, int complaint, int *status) {
    const char *eager[] = {"fusermount3", "-u", "--", path, NULL};
    const char *detach[] = {"fusermount3", "-u", "-z", "--", path, NULL};
    char **argv = (char **)(uintptr_t)(lazy ? detach : eager); // posix_spawn changes none of them
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, complaint, STDERR_FILENO);
    pid_t pid;
    int e = posix_spawn(&pid, "/usr/bin/fusermount3", &actions, NULL, argv, environ);
    if (e == ENOENT) {
        e = posix_spawnp(&pid, "fusermount3", &actions, NULL, argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (e == 0) {
        while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
        }
    }
    return e;
}

static enum sds_kind busy(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_CONFLICT, "busy",
                    "in use: some process has a file or directory open");
}

static enum sds_kind unmount_as_user(const char *path, bool lazy, struct sds_err *err) {
    int complaint = sds_complaint_open();
    if (complaint < 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "umount", "%s", strerror(errno));
    }
    char said[512];
    int status = 0;
    int e = run_fusermount(path, lazy, complaint, &status);
    sds_complaint_take(complaint, said, sizeof said);
    if (e != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "umount", "cannot run fusermount3: %s", strerror(e));
    }
    if (status == 0) {
        return SDS_OK;
    }
    return strstr(said, strerror(EBUSY)) != NULL
               ? busy(err)
               : sds_fail(err, SDS_ERR_DENIED, "umount", "%s", said);
}

enum sds_kind sds_unmount(const char *path, bool lazy, struct sds_err *err) {
    if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) {
        return SDS_OK;
    }
    switch (errno) {
    case EPERM:
        return unmount_as_user(path, lazy, err);
    case EBUSY:
        return busy(err);
    default:
        return sds_fail(err, SDS_ERR_STORAGE, "umount", "%s", strerror(errno));
    }
}
