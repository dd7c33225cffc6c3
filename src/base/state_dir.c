// SPDX-License-Identifier: Apache-2.0
#include "base/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "state_dir", "no memory");
}

// A directory that the environment names, if it is absolute; the rest is to be ignored (XDG).
static const char *absolute_from_environment(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] == '/' ? value : NULL;
}

static enum sds_kind absolute(const char *path, char **out, struct sds_err *err) {
    sds_autofree char *here = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (path[0] != '/' && here == NULL) {
        return sds_fail(err, SDS_ERR_STORAGE, "state_dir", "current directory: %s",
                        strerror(errno));
    }
    const char *gap = here != NULL ? "/" : "";
    return asprintf(out, "%s%s%s", here != NULL ? here : "", gap, path) >= 0 ? SDS_OK
                                                                             : no_memory(err);
}

enum sds_kind sds_state_dir_path(const char *option, char **out, struct sds_err *err) {
    if (option != NULL) {
        return absolute(option, out, err);
    }
    const char *systemd = absolute_from_environment("STATE_DIRECTORY");
    const char *xdg = absolute_from_environment("XDG_STATE_HOME");
    const char *home = absolute_from_environment("HOME");
    int len;
    if (systemd != NULL) {
        len = asprintf(out, "%.*s", (int)strcspn(systemd, ":"), systemd);
    } else if (geteuid() == 0) {
        len = asprintf(out, "/var/lib/sdsfs");
    } else if (xdg != NULL) {
        len = asprintf(out, "%s/sdsfs", xdg);
    } else if (home != NULL) {
        len = asprintf(out, "%s/.local/state/sdsfs", home);
    } else {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "state_dir",
                        "no state directory: neither state_dir= nor HOME is set");
    }
    return len >= 0 ? SDS_OK : no_memory(err);
}

static enum sds_kind failed(const char *path, const char *what, struct sds_err *err) {
    int e = errno;
    enum sds_kind kind = e == ENOENT                 ? SDS_ERR_NOT_FOUND
                         : e == EACCES || e == EPERM ? SDS_ERR_DENIED
                                                     : SDS_ERR_STORAGE;
    return sds_fail(err, kind, "state_dir", "%s: %s: %s", SDS_QUOTE(path, strlen(path)), what,
                    strerror(e));
}

// Makes a directory and those above it, as far as they are missing.
static enum sds_kind make_all(const char *path, struct sds_err *err) {
    sds_autofree char *copy = strdup(path);
    if (copy == NULL) {
        return no_memory(err);
    }
    size_t len = strlen(copy);
    for (size_t i = 1; i <= len; i++) {
        if (copy[i] != '/' && copy[i] != '\0') {
            continue;
        }
        char saved = copy[i];
        copy[i] = '\0';
        // A directory that is there may also answer EROFS or EACCES.
        int made = mkdir(copy, 0700), e = errno;
        if (made != 0 && access(copy, F_OK) != 0) {
            errno = e;
            return failed(copy, "cannot be made", err);
        }
        copy[i] = saved;
    }
    return SDS_OK;
}

// Whoever else could write there could make us publish, or overwrite, something else.
static enum sds_kind check_private(int fd, const char *path, struct sds_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return failed(path, "stat", err);
    }
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return sds_fail(err, SDS_ERR_DENIED, "state_dir",
                        "%s: it has to belong to this user, and nobody else may write there",
                        SDS_QUOTE(path, strlen(path)));
    }
    return SDS_OK;
}

enum sds_kind sds_state_dir_open(const char *path, bool make, int *fd, struct sds_err *err) {
    if (make) {
        enum sds_kind kind = make_all(path, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0) {
        return failed(path, "open", err);
    }
    enum sds_kind kind = check_private(opened, path, err);
    if (kind != SDS_OK) {
        close(opened);
        return kind;
    }
    *fd = opened;
    return SDS_OK;
}

// Cuts a path down to what is there already.
static void cut_to_existing(char *path) {
    char *slash;
    while (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT &&
           (slash = strrchr(path, '/')) != NULL && slash > path) {
        *slash = '\0';
    }
}

enum sds_kind sds_state_dir_check(const char *path, struct sds_err *err) {
    sds_autofree char *existing = strdup(path);
    if (existing == NULL) {
        return no_memory(err);
    }
    cut_to_existing(existing);
    sds_autofd int fd = -1;
    if (strcmp(existing, path) == 0 && sds_state_dir_open(path, false, &fd, err) != SDS_OK) {
        return err->kind;
    }
    if (faccessat(AT_FDCWD, existing, W_OK | X_OK, AT_EACCESS) != 0) {
        return failed(existing, "cannot be written to", err);
    }
    return SDS_OK;
}
