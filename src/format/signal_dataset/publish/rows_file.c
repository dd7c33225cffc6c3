// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/rows_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/driver.h"

#define STEP_BYTES ((size_t)1 << 20)

enum sds_kind rows_file_open(int fd, struct rows_file *out, struct sds_err *err) {
    struct file_state state = {0};
    enum sds_kind kind = file_state_take(fd, &state, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (!S_ISREG(state.mode)) {
        return sds_fail(err, SDS_ERR_INVALID, "rows", "the rows are not in a regular file");
    }
    *out = (struct rows_file){
        .fd = fd, .window = SDS_BUF_INIT(SDS_ANNOTATE_MAX_ROW + STEP_BYTES), .state = state};
    return SDS_OK;
}

void rows_file_fini(struct rows_file *file) {
    sds_buf_fini(&file->window);
}

// Appends up to len bytes of the file to the window; fewer only at the end of the file.
static enum sds_kind extend(struct rows_file *file, size_t len, struct sds_err *err) {
    struct sds_buf *window = &file->window;
    if (sds_buf_reserve(window, len) != SDS_OK) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a row");
    }
    while (len > 0) {
        ssize_t n =
            pread(file->fd, window->at + window->len, len, (off_t)(file->start + window->len));
        if (n < 0 && errno != EINTR) {
            return sds_fail(err, SDS_ERR_STORAGE, "rows", "%s", strerror(errno));
        }
        if (n == 0) {
            break;
        }
        window->len += n > 0 ? (size_t)n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return SDS_OK;
}

// Forgets what lies before a place in the window, or at its end.
static void forget_before(struct rows_file *file, uint64_t off) {
    struct sds_buf *window = &file->window;
    size_t gone = (size_t)(off - file->start);
    if (gone > 0) {
        memmove(window->at, window->at + gone, window->len - gone);
        window->len -= gone;
        file->start = off;
    }
}

// Goes on from a place: what lies before it is forgotten, and what lies elsewhere, too.
static void go_to(struct rows_file *file, uint64_t off) {
    if (off >= file->start && off <= file->start + file->window.len) {
        forget_before(file, off);
    } else {
        file->window.len = 0;
        file->start = off;
    }
}

// The line that begins at file->next. At the end of the file it is empty and *found is false.
static enum sds_kind take_line(struct rows_file *file, bool *found, struct sds_span *line,
                               struct sds_err *err) {
    struct sds_buf *window = &file->window;
    size_t seen = 0; // bytes of the line that hold no LF
    *line = sds_span(NULL, 0);
    if (file->next < file->start || file->next > file->start + window->len) {
        go_to(file, file->next);
    }
    for (;;) {
        size_t from = (size_t)(file->next - file->start);
        const uint8_t *start = window->len > from ? window->at + from : NULL;
        const uint8_t *lf = window->len - from > seen
                                ? memchr(start + seen, '\n', window->len - from - seen)
                                : NULL;
        seen = lf != NULL ? (size_t)(lf - start) : window->len - from;
        if (seen > SDS_ANNOTATE_MAX_ROW) {
            return sds_fail(err, SDS_ERR_INVALID, "row_size", "the line has more than %llu bytes",
                            (unsigned long long)SDS_ANNOTATE_MAX_ROW);
        }
        bool ended = lf == NULL && file->next + seen >= file->state.size;
        if (lf != NULL || ended) {
            *found = lf != NULL || seen > 0;
            *line = sds_span(start, seen);
            file->next += seen + (lf != NULL);
            return SDS_OK;
        }
        forget_before(file, file->next);
        size_t before = window->len;
        enum sds_kind kind = extend(file, STEP_BYTES, err);
        if (kind == SDS_OK && window->len == before) {
            kind = sds_fail(err, SDS_ERR_INVALID, "changed", "the rows became shorter");
        }
        if (kind != SDS_OK) {
            return kind;
        }
    }
}

static bool is_blank(struct sds_span line) {
    for (size_t i = 0; i < line.len; i++) {
        if (line.at[i] != ' ' && line.at[i] != '\t' && line.at[i] != '\r') {
            return false;
        }
    }
    return true;
}

enum sds_kind rows_file_next(struct rows_file *file, bool *found, struct sds_span *line,
                             uint64_t *off, uint64_t *skipped, struct sds_err *err) {
    *skipped = 0;
    for (;; *skipped += 1) {
        *off = file->next;
        enum sds_kind kind = take_line(file, found, line, err);
        if (kind != SDS_OK || !*found || !is_blank(*line)) {
            return kind;
        }
    }
}

enum sds_kind rows_file_line(struct rows_file *file, uint64_t off, size_t len,
                             struct sds_span *line, struct sds_err *err) {
    struct sds_buf *window = &file->window;
    uint64_t end = file->start + window->len;
    if (off < file->start || off + len > end) {
        // What goes on from the window is read on in large steps; a jump takes the line alone.
        bool goes_on = off >= file->start && off <= end;
        go_to(file, off);
        size_t missing = len - window->len;
        size_t step = goes_on && missing < STEP_BYTES ? STEP_BYTES : missing;
        enum sds_kind kind = extend(file, step, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    if (off + len > file->start + window->len) {
        return sds_fail(err, SDS_ERR_INVALID, "changed", "the rows became shorter");
    }
    *line = sds_span(window->at + (off - file->start), len);
    return SDS_OK;
}

enum sds_kind rows_file_unchanged(const struct rows_file *file, struct sds_err *err) {
    return file_state_unchanged(file->fd, &file->state, err);
}
