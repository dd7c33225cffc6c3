// SPDX-License-Identifier: Apache-2.0
#include "index/set_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_write.h"
#include "format/name.h"
#include "index/seal.h"
#include "index/tidy.h"

#define MAX_ROW_BYTES ((size_t)256 << 20)
#define WRITE_BYTES ((size_t)1 << 20)

enum { MAX_PATH = 512 };

struct work {
    struct sds_dataset *ds;
    const char *set;
    const atomic_bool *stop;
    uint64_t records;
    uint64_t bad; // rows
    int fd;
    struct sds_buf text;  // of one row, as the dataset shows it
    struct sds_buf lines; // not written yet
    struct sds_digest *written;
};

// --- rows, by way of the tree: any layout that shows annotations there will do

// Walks along a path without links.
static enum sds_kind find(struct sds_dataset *ds, const char *path, struct sds_node *out,
                          struct sds_err *err) {
    struct sds_node node = SDS_NODE_ROOT;
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        enum sds_kind kind = ds->ops->lookup(ds, node, sds_span(path, len), &node, err);
        if (kind != SDS_OK) {
            return kind;
        }
        path += len + (path[len] == '/');
    }
    *out = node;
    return SDS_OK;
}

// The whole of a small file, in place of what buf had.
static enum sds_kind read_file(struct sds_dataset *ds, struct sds_node node, struct sds_buf *buf,
                               struct sds_err *err) {
    struct sds_attr attr;
    enum sds_kind kind = ds->ops->getattr(ds, node, &attr, err);
    buf->len = 0;
    while (kind == SDS_OK && buf->len < attr.size) {
        struct sds_pieces pieces;
        kind = ds->ops->read(ds, node, buf->len, (size_t)(attr.size - buf->len), &pieces, err);
        if (kind != SDS_OK) {
            break;
        }
        size_t before = buf->len;
        for (int i = 0; kind == SDS_OK && i < pieces.count; i++) {
            kind = sds_buf_add(buf, pieces.iov[i].iov_base, pieces.iov[i].iov_len);
        }
        if (pieces.release != NULL) {
            pieces.release(pieces.owner);
        }
        if (kind != SDS_OK) {
            (void)sds_buf_failed(buf, kind, err);
        } else if (buf->len == before) {
            kind = sds_fail(err, SDS_ERR_INTERNAL, "size", "a file ends before its size");
        }
    }
    return kind;
}

// A row that is named and is not there is as bad as one that is wrong.
static bool is_bad(enum sds_kind kind) {
    return sds_kind_is_verdict(kind) || kind == SDS_ERR_NOT_FOUND;
}

static enum sds_kind add_row(struct work *w, struct sds_err *err) {
    static const struct sds_json_limits limits = {
        .bytes = MAX_ROW_BYTES, .depth = 1000, .nodes = 4000000};
    sds_autojson struct sds_json *doc = NULL;
    enum sds_kind kind = sds_json_parse(sds_buf_span(&w->text), &limits, &doc, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (sds_value_compact(sds_json_top(doc), &w->lines) != SDS_OK ||
        sds_buf_add(&w->lines, "\n", 1) != SDS_OK) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a row");
    }
    return SDS_OK;
}

static enum sds_kind add_bad_row(struct work *w, uint64_t ordinal, const struct sds_err *why,
                                 struct sds_err *err) {
    char line[sizeof *why + 8];
    sds_err_line(why, line, sizeof line);
    w->bad++;
    if (sds_buf_printf(&w->lines, "{\"source_index\":%llu,\"error\":",
                       (unsigned long long)ordinal) != SDS_OK ||
        sds_json_write_string(sds_span_str(line), &w->lines) != SDS_OK ||
        sds_buf_add_str(&w->lines, "}\n") != SDS_OK) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a row");
    }
    return SDS_OK;
}

static enum sds_kind take_row(struct work *w, uint64_t ordinal, unsigned width,
                              struct sds_err *err) {
    char path[MAX_PATH];
    struct sds_node node;
    struct sds_err why;
    snprintf(path, sizeof path, "records/%0*llu/annotations/%s/annotation.json", (int)width,
             (unsigned long long)ordinal, w->set);
    enum sds_kind kind = find(w->ds, path, &node, &why);
    if (kind == SDS_OK) {
        kind = read_file(w->ds, node, &w->text, &why);
    }
    if (kind == SDS_OK) {
        kind = add_row(w, &why);
    }
    if (kind == SDS_OK) {
        return SDS_OK;
    }
    if (is_bad(kind)) {
        return add_bad_row(w, ordinal, &why, err);
    }
    if (err != NULL) {
        *err = why;
    }
    return kind;
}

// --- the file

static enum sds_kind flush(struct work *w, struct sds_err *err) {
    for (size_t done = 0; done < w->lines.len;) {
        ssize_t n = write(w->fd, w->lines.at + done, w->lines.len - done);
        if (n < 0 && errno != EINTR) {
            return sds_fail(err, SDS_ERR_STORAGE, "index", "cannot write it: %s", strerror(errno));
        }
        done += n > 0 ? (size_t)n : 0;
    }
    sds_digest_add(w->written, w->lines.at, w->lines.len);
    w->lines.len = 0;
    return SDS_OK;
}

static enum sds_kind write_rows(struct work *w, struct sds_err *err) {
    unsigned width = sds_number_width(w->records);
    for (uint64_t i = 0; i < w->records; i++) {
        if (w->stop != NULL && atomic_load(w->stop)) {
            return sds_fail(err, SDS_ERR_INVALID, "stopped", "told to stop");
        }
        enum sds_kind kind = take_row(w, i, width, err);
        if (kind == SDS_OK && w->lines.len >= WRITE_BYTES) {
            kind = flush(w, err);
        }
        if (kind != SDS_OK) {
            return kind;
        }
    }
    return flush(w, err);
}

static enum sds_kind make_file(struct work *w, const struct sds_index_place *place,
                               struct sds_err *err) {
    unlink(place->building); // whatever was left there
    sds_autofd int fd =
        open(place->building, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "index", "%s: %s",
                        SDS_QUOTE(place->building, strlen(place->building)), strerror(errno));
    }
    w->fd = fd;
    enum sds_kind kind = write_rows(w, err);
    if (kind == SDS_OK) {
        kind = sds_seal_write(fd, place->identity, w->written, err);
    }
    if (kind == SDS_OK && w->bad == 0 &&
        (fsync(fd) != 0 || rename(place->building, place->file) != 0)) {
        kind = sds_fail(err, SDS_ERR_STORAGE, "index", "cannot keep it: %s", strerror(errno));
    }
    return kind;
}

static bool open_file(const struct work *w, const struct sds_index_place *place, const char *path,
                      int *fd, uint64_t *size) {
    sds_autofd int file = sds_index_place_open(path);
    if (file < 0 || !sds_seal_holds(file, place->identity, w->stop, size)) {
        return false;
    }
    sds_index_note_use(file);
    *fd = file;
    file = -1;
    return true;
}

static enum sds_kind make_and_open(struct work *w, const struct sds_index_place *place, int *fd,
                                   uint64_t *size, struct sds_err *err) {
    sds_autofd int lock = -1;
    if (open_file(w, place, place->file, fd, size)) {
        return SDS_OK;
    }
    enum sds_kind kind = sds_index_place_lock(place, w->stop, &lock, err);
    if (kind != SDS_OK || open_file(w, place, place->file, fd, size)) {
        return kind;
    }
    kind = make_file(w, place, err);
    if (kind == SDS_OK &&
        !open_file(w, place, w->bad == 0 ? place->file : place->building, fd, size)) {
        kind = sds_fail(err, SDS_ERR_STORAGE, "index", "it was made, and is not there");
    }
    if (w->bad > 0) { // what is wrong may be put right: the next one looks again
        unlink(place->building);
    }
    return kind;
}

// What a set is: its directory, in which there is one, named by its publication.
static bool note_publication(void *ctx, struct sds_span name, struct sds_node node,
                             enum sds_node_type type, uint64_t next) {
    (void)node, (void)type, (void)next;
    char *out = ctx;
    snprintf(out, MAX_PATH, "%.*s", (int)name.len, (const char *)name.at);
    return false;
}

static enum sds_kind publication_of(struct sds_dataset *ds, const char *set, char out[MAX_PATH],
                                    struct sds_err *err) {
    char path[MAX_PATH];
    struct sds_node node;
    snprintf(path, sizeof path, "annotations/sets/%s", set);
    out[0] = '\0';
    enum sds_kind kind = find(ds, path, &node, err);
    return kind == SDS_OK ? ds->ops->list(ds, node, 0, note_publication, out, err) : kind;
}

enum sds_kind sds_index_set_lines(struct sds_dataset *ds, const char *cache_dir, const char *set,
                                  const atomic_bool *stop, int *fd, uint64_t *size,
                                  struct sds_err *err) {
    char publication[MAX_PATH];
    char part[2 * MAX_PATH];
    struct sds_totals totals;
    struct sds_index_place place;
    enum sds_kind kind = publication_of(ds, set, publication, err);
    if (kind != SDS_OK) {
        return kind;
    }
    snprintf(part, sizeof part, "%s\n%s", set, publication);
    kind = sds_index_place_of(ds, cache_dir, part, "jsonl", true, &place, err);
    if (kind != SDS_OK) {
        return kind;
    }
    ds->ops->totals(ds, &totals);
    struct work w = {.ds = ds,
                     .set = set,
                     .stop = stop,
                     .records = totals.records,
                     .text = SDS_BUF_INIT(MAX_ROW_BYTES),
                     .lines = SDS_BUF_INIT(WRITE_BYTES + 2 * MAX_ROW_BYTES),
                     .written = sds_digest_new()};
    kind = w.written != NULL ? make_and_open(&w, &place, fd, size, err)
                             : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a digest");
    sds_digest_free(w.written);
    sds_buf_fini(&w.text);
    sds_buf_fini(&w.lines);
    sds_index_place_fini(&place);
    return kind;
}
