// SPDX-License-Identifier: Apache-2.0
//
// Directory streams. The descriptor lives as long as the handle, and what was read from it and not
// taken is kept: some file systems (tmpfs before Linux 6.6) count entries, so that going back to a
// position after some were removed, as `rm -r` does, would skip others.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "format/name.h"
#include "fs/drafts/drafts_internal.h"

enum { BUFFER_BYTES = 16 << 10 };

struct sds_draft_stream {
    int fd;
    bool top;
    uint64_t position; // of the entry at used
    size_t used, have;
    char bytes[BUFFER_BYTES] __attribute__((aligned(8)));
};

int sds_drafts_open_dir(struct sds_drafts *drafts, uint64_t dir, struct sds_draft_stream **out) {
    struct sds_visit visit;
    struct stat st;
    *out = NULL;
    int e = sds_drafts_getattr(drafts, dir, &st);
    if (e != 0) {
        return e == ENOENT && dir == SDS_DRAFTS_TOP ? 0 : e;
    }
    struct sds_draft_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) {
        return ENOMEM;
    }
    pthread_rwlock_rdlock(&drafts->moves);
    e = sds_visit_path(drafts, dir, sds_span(NULL, 0), &visit);
    if (e == 0) {
        *stream = (struct sds_draft_stream){
            .fd = sds_open_beneath(sds_backing_sets(drafts->backing), sds_visit_text(&visit),
                                   O_RDONLY | O_DIRECTORY, 0),
            .top = dir == SDS_DRAFTS_TOP};
        e = stream->fd >= 0 ? 0 : errno;
        sds_visit_leave(&visit);
    }
    pthread_rwlock_unlock(&drafts->moves);
    if (e != 0) {
        free(stream);
        return e;
    }
    *out = stream;
    return 0;
}

void sds_draft_stream_close(struct sds_draft_stream *stream) {
    if (stream != NULL) {
        close(stream->fd);
        free(stream);
    }
}

// Reads on. False at the end, or with an errno in *e.
static bool refill(struct sds_draft_stream *stream, int *e) {
    ssize_t n = getdents64(stream->fd, stream->bytes, sizeof stream->bytes);
    *e = n < 0 ? errno : 0;
    stream->used = 0;
    stream->have = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static int move_to(struct sds_draft_stream *stream, uint64_t position) {
    if (position == stream->position) {
        return 0;
    }
    stream->used = stream->have = 0;
    stream->position = position;
    return lseek(stream->fd, (off_t)position, SEEK_SET) >= 0 ? 0 : errno;
}

static bool type_of(const struct sds_draft_stream *stream, const struct dirent64 *entry,
                    enum sds_node_type *type) {
    unsigned char kind = entry->d_type;
    struct stat st;
    if (kind == DT_UNKNOWN && sds_draft_stat(stream->fd, entry->d_name, &st) == 0) {
        kind = S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
    }
    *type = kind == DT_DIR ? SDS_DIRECTORY : SDS_FILE;
    return kind == DT_DIR || kind == DT_REG;
}

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// Whether a look-up would find it, too.
static bool describe(const struct sds_draft_stream *stream, const struct dirent64 *entry,
                     struct sds_draft_entry *out) {
    *out = (struct sds_draft_entry){
        .name = sds_span_str(entry->d_name), .ino = entry->d_ino, .next = (uint64_t)entry->d_off};
    return type_of(stream, entry, &out->type) &&
           (!stream->top || is_dots(entry->d_name) || sds_is_portable(out->name));
}

int sds_draft_stream_list(struct sds_draft_stream *stream, uint64_t position,
                          bool (*emit)(void *ctx, const struct sds_draft_entry *), void *ctx) {
    int e = move_to(stream, position);
    while (e == 0 && (stream->used < stream->have || refill(stream, &e))) {
        const struct dirent64 *entry = (const void *)(stream->bytes + stream->used);
        struct sds_draft_entry described;
        if (describe(stream, entry, &described) && !emit(ctx, &described)) {
            break;
        }
        stream->used += entry->d_reclen;
        stream->position = (uint64_t)entry->d_off;
    }
    return e;
}
