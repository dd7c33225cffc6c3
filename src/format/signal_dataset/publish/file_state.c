// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/file_state.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define STEP_NS 20000000 // more than a step of any kernel's clock
enum { PATIENCE = 10 };  // steps

static enum sds_kind look(int fd, struct file_state *out, struct sds_err *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "file", "%s", strerror(errno));
    }
    *out = (struct file_state){.dev = st.st_dev,
                               .ino = st.st_ino,
                               .mode = st.st_mode,
                               .size = (uint64_t)st.st_size,
                               .mtime = st.st_mtim};
    return SDS_OK;
}

// A time that has not come yet is that of another machine's clock, and tells nothing.
static bool was_just_written(const struct file_state *state) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t seconds = (int64_t)now.tv_sec - state->mtime.tv_sec;
    if (!S_ISREG(state->mode) || seconds < 0 || seconds > 1) {
        return false;
    }
    int64_t ns = seconds * 1000000000 + now.tv_nsec - state->mtime.tv_nsec;
    return ns >= 0 && ns < STEP_NS;
}

enum sds_kind file_state_take(int fd, struct file_state *out, struct sds_err *err) {
    for (unsigned i = 0; i < PATIENCE; i++) {
        enum sds_kind kind = look(fd, out, err);
        if (kind != SDS_OK || !was_just_written(out)) {
            return kind;
        }
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
    return sds_fail(err, SDS_ERR_INVALID, "changed", "the file is being written to");
}

enum sds_kind file_state_unchanged(int fd, const struct file_state *then, struct sds_err *err) {
    struct file_state now = {0};
    enum sds_kind kind = look(fd, &now, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool same = now.dev == then->dev && now.ino == then->ino && now.size == then->size &&
                now.mtime.tv_sec == then->mtime.tv_sec && now.mtime.tv_nsec == then->mtime.tv_nsec;
    return same ? SDS_OK
                : sds_fail(err, SDS_ERR_INVALID, "changed", "the file was changed meanwhile");
}
