// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

enum sds_kind sds_secret_init(struct sds_buf *buf, size_t max, struct sds_err *err) {
    *buf = SDS_BUF_INIT(max);
    if (sds_buf_reserve(buf, max) != SDS_OK) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "credentials", "no memory for %zu bytes", max);
    }
    return SDS_OK;
}

static enum sds_kind failed(const char *path, int error, struct sds_err *err) {
    enum sds_kind kind = error == ENOENT || error == ENOTDIR ? SDS_ERR_NOT_FOUND
                         : error == EACCES || error == EPERM ? SDS_ERR_DENIED
                                                             : SDS_ERR_STORAGE;
    return sds_fail(err, kind, "credentials", "%s: %s", SDS_QUOTE(path, strlen(path)),
                    strerror(error));
}

// A pipe has nothing to give yet, or hangs, and neither is a file without credentials, which would
// be one to go on unsigned with. /dev/null is how it is said that there are none.
static enum sds_kind check_file(int fd, const char *path, struct sds_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return failed(path, errno, err);
    }
    bool null = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
    return S_ISREG(st.st_mode) || null
               ? SDS_OK
               : sds_fail(err, SDS_ERR_STORAGE, "credentials", "%s is %s, not a file",
                          SDS_QUOTE(path, strlen(path)),
                          S_ISDIR(st.st_mode)    ? "a directory"
                          : S_ISFIFO(st.st_mode) ? "a pipe"
                                                 : "a device or a socket");
}

enum sds_kind sds_secret_read(const char *path, size_t max, struct sds_buf *buf,
                              struct sds_err *err) {
    // Not blocking: what stands there may be a pipe that nobody writes to.
    sds_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return failed(path, errno, err);
    }
    enum sds_kind kind = check_file(fd, path, err);
    if (kind == SDS_OK) {
        kind = sds_secret_init(buf, max + 1, err);
    }
    while (kind == SDS_OK) {
        ssize_t n = read(fd, buf->at + buf->len, buf->max - buf->len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return failed(path, errno, err);
        }
        if (n == 0) {
            break;
        }
        buf->len += (size_t)n;
        if (buf->len > max) {
            return sds_fail(err, SDS_ERR_LIMIT, "credentials", "%s has more than %zu bytes",
                            SDS_QUOTE(path, strlen(path)), max);
        }
    }
    if (kind == SDS_OK) {
        buf->at[buf->len] = '\0';
    }
    return kind;
}

const char *sds_env(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool copy(char *buf, size_t size, const char *text) {
    int n = snprintf(buf, size, "%s", text);
    return n >= 0 && (size_t)n < size;
}

bool sds_home(char *buf, size_t size) {
    const char *home = sds_env("HOME");
    if (home != NULL) {
        return copy(buf, size, home);
    }
    char room[4096];
    struct passwd entry, *found = NULL;
    return getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found != NULL &&
           copy(buf, size, found->pw_dir);
}

bool sds_home_path(const char *path, char *buf, size_t size) {
    if (strncmp(path, "~/", 2) != 0) {
        return copy(buf, size, path);
    }
    if (!sds_home(buf, size)) {
        return false;
    }
    size_t len = strlen(buf);
    return copy(buf + len, size - len, path + 1);
}
