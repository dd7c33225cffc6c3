// SPDX-License-Identifier: Apache-2.0
#include "index/tidy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { DAY_S = 24 * 60 * 60, KEPT_S = 30 * DAY_S, KEY_DIGITS = 32 };

static bool is_older(int dir, const char *name, time_t age) {
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_mtime < time(NULL) - age;
}

// "<key>.<suffix>" of what is or was to be an index. The lock itself stays, since somebody may
// just be opening it.
static bool is_ours(const char *name) {
    return strspn(name, "0123456789abcdef") == KEY_DIGITS && name[KEY_DIGITS] == '.' &&
           strcmp(name + KEY_DIGITS, ".lock") != 0;
}

static void remove_unless_locked(int dir, const char *name) {
    char lock_name[KEY_DIGITS + sizeof ".lock"];
    snprintf(lock_name, sizeof lock_name, "%.*s.lock", KEY_DIGITS, name);
    sds_autofd int lock = openat(dir, lock_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool held = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0;
    if (!held && is_older(dir, name, KEPT_S)) {
        unlinkat(dir, name, 0);
    }
}

void sds_index_tidy(const struct sds_index_place *place) {
    DIR *stream = opendir(place->directory);
    if (stream == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (is_ours(entry->d_name) && is_older(dirfd(stream), entry->d_name, KEPT_S)) {
            remove_unless_locked(dirfd(stream), entry->d_name);
        }
    }
    closedir(stream);
}

void sds_index_note_use(int fd) {
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_mtime < time(NULL) - DAY_S) {
        (void)futimens(fd, (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
    }
}
