// SPDX-License-Identifier: Apache-2.0
#include "base/program_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

// Where one lies when no option names it.
struct place {
    const char *what;    // it is, for messages
    const char *option;  // that would; the check of errors
    const char *systemd; // an environment variable: paths, the first one counts
    const char *root;    // of the superuser
    const char *xdg;     // an environment variable
    const char *home;    // below $HOME, without that
};

static const struct place places[] = {
    [SDS_STATE_DIR] = {"state", "state_dir", "STATE_DIRECTORY", "/var/lib/sdsfs", "XDG_STATE_HOME",
                       ".local/state"},
    [SDS_CACHE_DIR] = {"cache", "cache_dir", "CACHE_DIRECTORY", "/var/cache/sdsfs",
                       "XDG_CACHE_HOME", ".cache"},
};

static enum sds_kind no_memory(const struct place *place, struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, place->option, "no memory");
}

// A directory that the environment names, if it is absolute; the rest is to be ignored (XDG).
static const char *absolute_from_environment(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] == '/' ? value : NULL;
}

static enum sds_kind absolute(const struct place *place, const char *path, char **out,
                              struct sds_err *err) {
    sds_autofree char *here = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (path[0] != '/' && here == NULL) {
        return sds_fail(err, SDS_ERR_STORAGE, place->option, "current directory: %s",
                        strerror(errno));
    }
    const char *gap = here != NULL ? "/" : "";
    int len = asprintf(out, "%s%s%s", here != NULL ? here : "", gap, path);
    return len >= 0 ? SDS_OK : no_memory(place, err);
}

enum sds_kind sds_program_dir_path(enum sds_program_dir which, const char *option, char **out,
                                   struct sds_err *err) {
    const struct place *place = &places[which];
    if (option != NULL) {
        return absolute(place, option, out, err);
    }
    const char *systemd = absolute_from_environment(place->systemd);
    const char *xdg = absolute_from_environment(place->xdg);
    const char *home = absolute_from_environment("HOME");
    int len;
    if (systemd != NULL) {
        len = asprintf(out, "%.*s", (int)strcspn(systemd, ":"), systemd);
    } else if (geteuid() == 0) {
        len = asprintf(out, "%s", place->root);
    } else if (xdg != NULL) {
        len = asprintf(out, "%s/sdsfs", xdg);
    } else if (home != NULL) {
        len = asprintf(out, "%s/%s/sdsfs", home, place->home);
    } else {
        return sds_fail(err, SDS_ERR_NOT_FOUND, place->option,
                        "no %s directory: neither %s= nor HOME is set", place->what, place->option);
    }
    return len >= 0 ? SDS_OK : no_memory(place, err);
}

static enum sds_kind failed(const struct place *place, const char *path, const char *what,
                            struct sds_err *err) {
    int e = errno;
    enum sds_kind kind = e == ENOENT                 ? SDS_ERR_NOT_FOUND
                         : e == EACCES || e == EPERM ? SDS_ERR_DENIED
                                                     : SDS_ERR_STORAGE;
    return sds_fail(err, kind, place->option, "%s: %s: %s", SDS_QUOTE(path, strlen(path)), what,
                    strerror(e));
}

// Makes a directory and those above it, as far as they are missing.
static enum sds_kind make_all(const struct place *place, const char *path, struct sds_err *err) {
    sds_autofree char *copy = strdup(path);
    if (copy == NULL) {
        return no_memory(place, err);
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
            return failed(place, copy, "cannot be made", err);
        }
        copy[i] = saved;
    }
    return SDS_OK;
}

// Whoever else could write there could make us publish, or overwrite, something else.
static enum sds_kind check_private(const struct place *place, int fd, const char *path,
                                   struct sds_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return failed(place, path, "stat", err);
    }
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return sds_fail(err, SDS_ERR_DENIED, place->option,
                        "%s: it has to belong to this user, and nobody else may write there",
                        SDS_QUOTE(path, strlen(path)));
    }
    return SDS_OK;
}

enum sds_kind sds_program_dir_open(enum sds_program_dir which, const char *path, bool make, int *fd,
                                   struct sds_err *err) {
    const struct place *place = &places[which];
    if (make) {
        enum sds_kind kind = make_all(place, path, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0) {
        return failed(place, path, "open", err);
    }
    enum sds_kind kind = check_private(place, opened, path, err);
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

enum sds_kind sds_program_dir_check(enum sds_program_dir which, const char *path,
                                    struct sds_err *err) {
    const struct place *place = &places[which];
    sds_autofree char *existing = strdup(path);
    if (existing == NULL) {
        return no_memory(place, err);
    }
    cut_to_existing(existing);
    sds_autofd int fd = -1;
    if (strcmp(existing, path) == 0 &&
        sds_program_dir_open(which, path, false, &fd, err) != SDS_OK) {
        return err->kind;
    }
    if (faccessat(AT_FDCWD, existing, W_OK | X_OK, AT_EACCESS) != 0) {
        return failed(place, existing, "cannot be written to", err);
    }
    return SDS_OK;
}
