// SPDX-License-Identifier: Apache-2.0
#include "index/overlay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/name.h"
#include "index/parts.h"

// The last of the kinds that a driver may use; those inside keep to the first.
enum index_kind {
    SET_LINES = 189,  // index/annotations/<set>.jsonl; key: a hash of the name
    INDEX,            // index/
    RECORDS_LINES,    // index/records.jsonl
    RECORDS_DATABASE, // index/records.sqlite
    IDS,              // index/by-id/
    ID,               // index/by-id/<id>; key: ordinal
    SCENES,           // index/by-scene/
    SCENE,            // index/by-scene/<scene>/; key: number
    SCENE_RECORD,     // index/by-scene/<scene>/<ordinal>; key: ordinal
    SETS,             // index/annotations/
};

static const struct {
    const char *name;
    enum index_kind kind;
    enum sds_node_type type;
} fixed[] = {
    {"annotations", SETS, SDS_DIRECTORY},
    {"by-id", IDS, SDS_DIRECTORY},
    {"by-scene", SCENES, SDS_DIRECTORY},
    {"records.jsonl", RECORDS_LINES, SDS_FILE},
    {"records.sqlite", RECORDS_DATABASE, SDS_FILE},
};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

static const char lines_suffix[] = ".jsonl";

struct overlay {
    struct sds_dataset base;
    struct sds_driver_ops ops; // what is inside has fewer or more
    struct sds_dataset *inner;
    struct sds_index_parts *parts;
    unsigned width; // digits of ordinals
};

static struct overlay *of(struct sds_dataset *ds) {
    return (struct overlay *)ds;
}

static bool is_ours(struct sds_node node) {
    return node.kind >= SET_LINES && node.kind <= SETS;
}

static struct sds_node node_of(enum index_kind kind, uint64_t key) {
    return (struct sds_node){.kind = (uint8_t)kind, .key = key};
}

static enum sds_kind not_there(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the index has no such node");
}

// Passes on what the index said. A damaged one is built again.
static enum sds_kind answered(struct overlay *o, struct sds_index *index, enum sds_kind kind) {
    if (kind == SDS_ERR_CORRUPT) {
        sds_index_parts_damaged(o->parts, index);
    }
    return kind;
}

// --- annotation sets: their names are those of the dataset's own directory

static enum sds_kind sets_directory(struct overlay *o, struct sds_node *out, struct sds_err *err) {
    struct sds_dataset *ds = o->inner;
    enum sds_kind kind = ds->ops->lookup(ds, SDS_NODE_ROOT, sds_span_str("annotations"), out, err);
    return kind == SDS_OK ? ds->ops->lookup(ds, *out, sds_span_str("sets"), out, err) : kind;
}

static uint64_t set_key(struct sds_span name) {
    return sds_hash_stable(name) & ((UINT64_C(1) << SDS_NODE_KEY_BITS) - 1);
}

struct set_search {
    uint64_t key;
    char name[256]; // "" until it is found
};

static bool match_set(void *ctx, struct sds_span name, struct sds_node node,
                      enum sds_node_type type, uint64_t next) {
    struct set_search *search = ctx;
    (void)node, (void)type, (void)next;
    if (set_key(name) != search->key) {
        return true;
    }
    snprintf(search->name, sizeof search->name, "%.*s", (int)name.len, (const char *)name.at);
    return false;
}

// The name of a set that was looked up earlier, by this mount or, for who has an old handle, by one
// before.
static enum sds_kind set_name(struct overlay *o, uint64_t key, const char **out,
                              struct sds_err *err) {
    struct sds_node sets;
    struct set_search search = {.key = key};
    *out = sds_index_parts_set_name(o->parts, key);
    if (*out != NULL) {
        return SDS_OK;
    }
    enum sds_kind kind = sets_directory(o, &sets, err);
    if (kind == SDS_OK) {
        kind = o->inner->ops->list(o->inner, sets, 0, match_set, &search, err);
    }
    if (kind != SDS_OK || search.name[0] == '\0') {
        return kind != SDS_OK ? kind : not_there(err);
    }
    sds_index_parts_note_set(o->parts, key, search.name);
    *out = sds_index_parts_set_name(o->parts, key);
    return *out != NULL ? SDS_OK : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory");
}

static enum sds_kind set_file(struct overlay *o, uint64_t key, struct sds_index_lines_file *out,
                              struct sds_err *err) {
    const char *name;
    enum sds_kind kind = set_name(o, key, &name, err);
    return kind == SDS_OK ? sds_index_parts_set(o->parts, key, name, out, err) : kind;
}

static enum sds_kind find_set(struct overlay *o, struct sds_span file, struct sds_node *out,
                              struct sds_err *err) {
    size_t suffix = sizeof lines_suffix - 1;
    if (file.len <= suffix || memcmp(file.at + file.len - suffix, lines_suffix, suffix) != 0) {
        return not_there(err);
    }
    struct sds_span name = sds_span(file.at, file.len - suffix);
    struct sds_node sets, set;
    enum sds_kind kind = sets_directory(o, &sets, err);
    if (kind == SDS_OK) {
        kind = o->inner->ops->lookup(o->inner, sets, name, &set, err);
    }
    if (kind == SDS_OK) {
        char text[SDS_NAME_MAX + 1];
        snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.at);
        *out = node_of(SET_LINES, set_key(name));
        sds_index_parts_note_set(o->parts, out->key, text);
    }
    return kind;
}

// Passes the names of sets on as those of their files.
struct set_listing {
    sds_list_fn emit;
    void *ctx;
};

static bool emit_set(void *ctx, struct sds_span name, struct sds_node node, enum sds_node_type type,
                     uint64_t next) {
    const struct set_listing *listing = ctx;
    (void)node, (void)type;
    char file[256 + sizeof lines_suffix];
    int len =
        snprintf(file, sizeof file, "%.*s%s", (int)name.len, (const char *)name.at, lines_suffix);
    return listing->emit(listing->ctx, sds_span(file, (size_t)len),
                         node_of(SET_LINES, set_key(name)), SDS_FILE, next);
}

static enum sds_kind list_sets(struct overlay *o, uint64_t cookie, sds_list_fn emit, void *ctx,
                               struct sds_err *err) {
    struct set_listing listing = {emit, ctx};
    struct sds_node sets;
    enum sds_kind kind = sets_directory(o, &sets, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        return SDS_OK; // nothing is annotated
    }
    return kind == SDS_OK ? o->inner->ops->list(o->inner, sets, cookie, emit_set, &listing, err)
                          : kind;
}

// --- names

// An ordinal as the tree writes it, or UINT64_MAX.
static uint64_t parse_ordinal(const struct overlay *o, struct sds_span name) {
    uint64_t value = 0;
    if (name.len != o->width) {
        return UINT64_MAX;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < '0' || name.at[i] > '9') {
            return UINT64_MAX;
        }
        value = value * 10 + (name.at[i] - '0');
    }
    return value;
}

static enum sds_kind find_in_scene(struct overlay *o, struct sds_index *index, uint64_t scene,
                                   struct sds_span name, struct sds_node *out,
                                   struct sds_err *err) {
    uint64_t ordinal = parse_ordinal(o, name);
    bool belongs = false;
    enum sds_kind kind =
        ordinal != UINT64_MAX ? sds_index_in_scene(index, scene, ordinal, &belongs, err) : SDS_OK;
    if (kind == SDS_OK && !belongs) {
        return not_there(err);
    }
    *out = node_of(SCENE_RECORD, ordinal);
    return kind;
}

static enum sds_kind find_in_index(struct overlay *o, struct sds_node dir, struct sds_span name,
                                   struct sds_node *out, struct sds_err *err) {
    struct sds_index *index;
    uint64_t number = 0;
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (dir.kind) {
    case IDS:
        kind = sds_index_find_id(index, name, o->width, &number, err);
        *out = node_of(ID, number);
        return answered(o, index, kind);
    case SCENES:
        kind = sds_index_find_scene(index, name, &number, err);
        *out = node_of(SCENE, number);
        return answered(o, index, kind);
    case SCENE:
        return answered(o, index, find_in_scene(o, index, dir.key, name, out, err));
    default:
        return not_there(err);
    }
}

static enum sds_kind lookup(struct sds_dataset *ds, struct sds_node dir, struct sds_span name,
                            struct sds_node *out, struct sds_err *err) {
    struct overlay *o = of(ds);
    if (dir.kind == SDS_NODE_ROOT.kind && sds_span_eq(name, sds_span_str("index"))) {
        *out = node_of(INDEX, 0);
        return SDS_OK;
    }
    if (!is_ours(dir)) {
        return o->inner->ops->lookup(o->inner, dir, name, out, err);
    }
    if (dir.kind == SETS) {
        return find_set(o, name, out, err);
    }
    if (dir.kind != INDEX) {
        return find_in_index(o, dir, name, out, err);
    }
    for (size_t i = 0; i < FIXED; i++) {
        if (sds_span_eq(name, sds_span_str(fixed[i].name))) {
            *out = node_of(fixed[i].kind, 0);
            return SDS_OK;
        }
    }
    return not_there(err);
}

// --- attributes

static const char *link_prefix(struct sds_node node) {
    return node.kind == ID ? "../../records/" : "../../../records/";
}

// Files have their size only once they are built, so whoever asks for it waits.
static enum sds_kind file_size(struct overlay *o, struct sds_node node, uint64_t *size,
                               struct sds_err *err) {
    struct sds_index *index;
    struct sds_index_lines_file file;
    if (node.kind == SET_LINES) {
        enum sds_kind kind = set_file(o, node.key, &file, err);
        *size = kind == SDS_OK ? file.size : 0;
        return kind;
    }
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind == SDS_OK) {
        const struct sds_index_facts *facts = sds_index_facts(index);
        *size = node.kind == RECORDS_LINES ? facts->lines_bytes : facts->file_bytes;
    }
    return kind;
}

static enum sds_kind own_attr(struct overlay *o, struct sds_node node, struct sds_attr *out,
                              struct sds_err *err) {
    struct sds_totals totals;
    *out = (struct sds_attr){.type = SDS_DIRECTORY};
    switch (node.kind) {
    case SET_LINES:
    case RECORDS_LINES:
    case RECORDS_DATABASE:
        out->type = SDS_FILE;
        return file_size(o, node, &out->size, err);
    case ID:
    case SCENE_RECORD:
        o->inner->ops->totals(o->inner, &totals);
        out->type = SDS_LINK;
        out->size = strlen(link_prefix(node)) + o->width;
        return node.key < totals.records ? SDS_OK : not_there(err);
    case SETS:
        out->growing = true;
        return SDS_OK;
    default:
        return SDS_OK;
    }
}

static enum sds_kind getattr(struct sds_dataset *ds, struct sds_node node, struct sds_attr *out,
                             struct sds_err *err) {
    struct overlay *o = of(ds);
    return is_ours(node) ? own_attr(o, node, out, err)
                         : o->inner->ops->getattr(o->inner, node, out, err);
}

// --- listings

struct listing {
    sds_list_fn emit;
    void *ctx;
    enum index_kind kind;
    enum sds_node_type type;
};

static bool emit_entry(void *ctx, struct sds_span name, uint64_t number, uint64_t next) {
    const struct listing *listing = ctx;
    return listing->emit(listing->ctx, name, node_of(listing->kind, number), listing->type, next);
}

static enum sds_kind list_index(struct overlay *o, struct sds_node dir, uint64_t cookie,
                                sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct sds_index *index;
    struct listing listing = {.emit = emit, .ctx = ctx, .kind = ID, .type = SDS_LINK};
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (dir.kind) {
    case IDS:
        kind = sds_index_list_ids(index, cookie, o->width, emit_entry, &listing, err);
        break;
    case SCENES:
        listing.kind = SCENE;
        listing.type = SDS_DIRECTORY;
        kind = sds_index_list_scenes(index, cookie, emit_entry, &listing, err);
        break;
    case SCENE:
        listing.kind = SCENE_RECORD;
        kind = sds_index_list_scene(index, dir.key, cookie, o->width, emit_entry, &listing, err);
        break;
    default:
        return not_there(err);
    }
    return answered(o, index, kind);
}

static enum sds_kind list_fixed(uint64_t cookie, sds_list_fn emit, void *ctx) {
    for (; cookie < FIXED; cookie++) {
        if (!emit(ctx, sds_span_str(fixed[cookie].name), node_of(fixed[cookie].kind, 0),
                  fixed[cookie].type, cookie + 1)) {
            break;
        }
    }
    return SDS_OK;
}

// The root's entries with "index" in front of them, one place further each.
struct shifted {
    sds_list_fn emit;
    void *ctx;
};

static bool emit_shifted(void *ctx, struct sds_span name, struct sds_node node,
                         enum sds_node_type type, uint64_t next) {
    const struct shifted *shifted = ctx;
    return shifted->emit(shifted->ctx, name, node, type, next + 1);
}

static enum sds_kind list_root(struct overlay *o, uint64_t cookie, sds_list_fn emit, void *ctx,
                               struct sds_err *err) {
    struct shifted shifted = {emit, ctx};
    if (cookie == 0 && !emit(ctx, sds_span_str("index"), node_of(INDEX, 0), SDS_DIRECTORY, 1)) {
        return SDS_OK;
    }
    return o->inner->ops->list(o->inner, SDS_NODE_ROOT, cookie > 0 ? cookie - 1 : 0, emit_shifted,
                               &shifted, err);
}

static enum sds_kind list(struct sds_dataset *ds, struct sds_node dir, uint64_t cookie,
                          sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct overlay *o = of(ds);
    if (dir.kind == SDS_NODE_ROOT.kind) {
        return list_root(o, cookie, emit, ctx, err);
    }
    if (!is_ours(dir)) {
        return o->inner->ops->list(o->inner, dir, cookie, emit, ctx, err);
    }
    switch (dir.kind) {
    case INDEX:
        return list_fixed(cookie, emit, ctx);
    case SETS:
        return list_sets(o, cookie, emit, ctx, err);
    default:
        return list_index(o, dir, cookie, emit, ctx, err);
    }
}

// --- content

static void release_blob(void *owner) {
    sds_blob_unref(owner);
}

static void release_buf(void *owner) {
    struct sds_buf *buf = owner;
    sds_buf_fini(buf);
    free(buf);
}

static enum sds_kind read_lines(struct sds_index *index, uint64_t off, size_t len,
                                struct sds_pieces *out, struct sds_err *err) {
    struct sds_buf *buf = calloc(1, sizeof *buf);
    if (buf == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read");
    }
    *buf = SDS_BUF_INIT(len);
    enum sds_kind kind = sds_index_lines(index, off, len, buf, err);
    if (kind != SDS_OK) {
        release_buf(buf);
        return kind;
    }
    *out = (struct sds_pieces){.count = 1, .release = release_buf, .owner = buf};
    out->iov[0].iov_base = buf->at;
    out->iov[0].iov_len = buf->len;
    return SDS_OK;
}

static enum sds_kind read_fd(int fd, uint64_t size, uint64_t off, size_t len,
                             struct sds_pieces *out, struct sds_err *err) {
    uint64_t left = off < size ? size - off : 0;
    size_t want = left < len ? (size_t)left : len, done = 0;
    struct sds_blob *blob = sds_blob_new(want);
    if (blob == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a read");
    }
    while (done < want) {
        ssize_t n = pread(fd, blob->at + done, want - done, (off_t)(off + done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            sds_blob_unref(blob);
            return sds_fail(err, SDS_ERR_STORAGE, "index", "cannot read it: %s",
                            n == 0 ? "it has become shorter" : strerror(errno));
        }
        done += n > 0 ? (size_t)n : 0;
    }
    *out = (struct sds_pieces){.count = 1, .release = release_blob, .owner = blob};
    out->iov[0].iov_base = blob->at;
    out->iov[0].iov_len = want;
    return SDS_OK;
}

static enum sds_kind read_own(struct overlay *o, struct sds_node node, uint64_t off, size_t len,
                              struct sds_pieces *out, struct sds_err *err) {
    struct sds_index *index;
    struct sds_index_lines_file file;
    if (node.kind == SET_LINES) {
        enum sds_kind kind = set_file(o, node.key, &file, err);
        return kind == SDS_OK ? read_fd(file.fd, file.size, off, len, out, err) : kind;
    }
    if (node.kind != RECORDS_LINES && node.kind != RECORDS_DATABASE) {
        return not_there(err);
    }
    enum sds_kind kind = sds_index_parts_index(o->parts, &index, err);
    if (kind != SDS_OK) {
        return kind;
    }
    return node.kind == RECORDS_LINES
               ? answered(o, index, read_lines(index, off, len, out, err))
               : read_fd(sds_index_file(index), sds_index_facts(index)->file_bytes, off, len, out,
                         err);
}

static enum sds_kind read_(struct sds_dataset *ds, struct sds_node file, uint64_t off, size_t len,
                           struct sds_pieces *out, struct sds_err *err) {
    struct overlay *o = of(ds);
    return is_ours(file) ? read_own(o, file, off, len, out, err)
                         : o->inner->ops->read(o->inner, file, off, len, out, err);
}

static enum sds_kind readlink_(struct sds_dataset *ds, struct sds_node link, struct sds_buf *out,
                               struct sds_err *err) {
    struct overlay *o = of(ds);
    if (!is_ours(link)) {
        return o->inner->ops->readlink(o->inner, link, out, err);
    }
    if (link.kind != ID && link.kind != SCENE_RECORD) {
        return sds_fail(err, SDS_ERR_INVALID, "link", "it is no link");
    }
    enum sds_kind kind = sds_buf_printf(out, "%s%0*llu", link_prefix(link), (int)o->width,
                                        (unsigned long long)link.key);
    return kind == SDS_OK ? kind : sds_buf_failed(out, kind, err);
}

static enum sds_kind xattrs(struct sds_dataset *ds, struct sds_node node, sds_xattr_fn emit,
                            void *ctx, struct sds_err *err) {
    struct overlay *o = of(ds);
    return is_ours(node) ? SDS_OK : o->inner->ops->xattrs(o->inner, node, emit, ctx, err);
}

// Appends the name behind its directory, which alone has to do where the index is not there yet.
static enum sds_kind add_name(struct overlay *o, struct sds_node node, struct sds_buf *out) {
    struct sds_index *index = sds_index_parts_built(o->parts);
    const char *set = sds_index_parts_set_name(o->parts, node.key);
    size_t before = out->len;
    enum sds_kind kind = sds_buf_add_str(out, "/");
    if (kind == SDS_OK && node.kind == SET_LINES) {
        kind = set != NULL ? sds_buf_printf(out, "%s%s", set, lines_suffix) : SDS_ERR_NOT_FOUND;
    } else if (kind == SDS_OK && index == NULL) {
        kind = SDS_ERR_NOT_FOUND;
    } else if (kind == SDS_OK && node.kind == ID) {
        kind = sds_index_id_name(index, node.key, o->width, out, NULL);
    } else if (kind == SDS_OK && node.kind == SCENE) {
        kind = sds_index_scene_name(index, node.key, out, NULL);
    } else if (kind == SDS_OK) {
        kind = sds_index_scene_of(index, node.key, out, NULL);
        kind = kind == SDS_OK
                   ? sds_buf_printf(out, "/%0*llu", (int)o->width, (unsigned long long)node.key)
                   : kind;
    }
    out->len = kind == SDS_OK ? out->len : before;
    return kind;
}

// Messages and file handles ask for it: it never waits, and what it cannot tell it leaves out.
static void path(struct sds_dataset *ds, struct sds_node node, struct sds_buf *out) {
    struct overlay *o = of(ds);
    static const struct {
        const char *path;
        bool directory; // of the node
    } paths[] = {
        [SET_LINES - SET_LINES] = {"index/annotations", true},
        [INDEX - SET_LINES] = {"index", false},
        [RECORDS_LINES - SET_LINES] = {"index/records.jsonl", false},
        [RECORDS_DATABASE - SET_LINES] = {"index/records.sqlite", false},
        [IDS - SET_LINES] = {"index/by-id", false},
        [ID - SET_LINES] = {"index/by-id", true},
        [SCENES - SET_LINES] = {"index/by-scene", false},
        [SCENE - SET_LINES] = {"index/by-scene", true},
        [SCENE_RECORD - SET_LINES] = {"index/by-scene", true},
        [SETS - SET_LINES] = {"index/annotations", false},
    };
    if (!is_ours(node)) {
        o->inner->ops->path(o->inner, node, out);
        return;
    }
    if (sds_buf_add_str(out, paths[node.kind - SET_LINES].path) != SDS_OK) {
        out->len = 0; // no memory: told without its place
    } else if (paths[node.kind - SET_LINES].directory) {
        (void)!add_name(o, node, out);
    }
}

// --- the dataset as a whole

static void totals(struct sds_dataset *ds, struct sds_totals *out) {
    of(ds)->inner->ops->totals(of(ds)->inner, out);
}

static struct json_object *describe_index(struct overlay *o) {
    static const char *const states[] = {[SDS_INDEX_IDLE] = "not built",
                                         [SDS_INDEX_RUNNING] = "building",
                                         [SDS_INDEX_DONE] = "built",
                                         [SDS_INDEX_FAILED] = "failed"};
    struct sds_index_state state;
    sds_index_parts_state(o->parts, &state);
    struct json_object *object = json_object_new_object();
    if (object == NULL) {
        return NULL;
    }
    json_object_object_add(object, "state", json_object_new_string(states[state.state]));
    if (state.facts != NULL) {
        json_object_object_add(object, "records", json_object_new_uint64(state.facts->records));
        json_object_object_add(object, "bad", json_object_new_uint64(state.facts->bad));
        json_object_object_add(object, "bytes", json_object_new_uint64(state.facts->file_bytes));
    } else if (state.state == SDS_INDEX_RUNNING) {
        json_object_object_add(object, "done", json_object_new_uint64(state.done));
        json_object_object_add(object, "total", json_object_new_uint64(state.total));
    }
    return object;
}

static enum sds_kind describe(struct sds_dataset *ds, struct json_object **out,
                              struct sds_err *err) {
    struct overlay *o = of(ds);
    enum sds_kind kind = o->inner->ops->describe(o->inner, out, err);
    if (kind == SDS_OK) {
        json_object_object_add(*out, "index", describe_index(o));
    }
    return kind;
}

static enum sds_kind verify(struct sds_dataset *ds, const struct sds_verify_options *options,
                            struct sds_err *err) {
    return of(ds)->inner->ops->verify(of(ds)->inner, options, err);
}

static enum sds_kind scan(struct sds_dataset *ds, uint64_t first, uint64_t end, sds_scan_fn emit,
                          void *ctx, struct sds_err *err) {
    return of(ds)->inner->ops->scan(of(ds)->inner, first, end, emit, ctx, err);
}

static uint64_t scan_end(struct sds_dataset *ds, uint64_t first) {
    return of(ds)->inner->ops->scan_end(of(ds)->inner, first);
}

static void identity(struct sds_dataset *ds, char out[SDS_SHA256_HEX]) {
    of(ds)->inner->ops->identity(of(ds)->inner, out);
}

static void metrics(struct sds_dataset *ds,
                    void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                    void *ctx) {
    struct overlay *o = of(ds);
    struct sds_index_state state;
    sds_index_parts_state(o->parts, &state);
    o->inner->ops->metrics(o->inner, emit, ctx);
    emit(ctx, "sdsfs_index_built", "1 when the index can be used.", state.facts != NULL);
    bool building = state.facts == NULL && state.state == SDS_INDEX_RUNNING;
    emit(ctx, "sdsfs_index_building", "1 while the index is being built.", building);
    emit(ctx, "sdsfs_index_scanned_records", "Records that the build has been through.",
         building ? state.done : 0);
    emit(ctx, "sdsfs_index_bytes", "Bytes of the index.",
         state.facts != NULL ? state.facts->file_bytes : 0);
}

static void announce(struct sds_dataset *ds, const uint64_t *ordinals, size_t count) {
    of(ds)->inner->ops->announce(of(ds)->inner, ordinals, count);
}

static void sweep(struct sds_dataset *ds) {
    of(ds)->inner->ops->sweep(of(ds)->inner);
}

static enum sds_kind annotate(struct sds_dataset *ds, const struct sds_annotate_request *request,
                              struct json_object **receipt, struct sds_err *err) {
    return of(ds)->inner->ops->annotate(of(ds)->inner, request, receipt, err);
}

static void close_overlay(struct sds_dataset *ds) {
    sds_index_parts_free(of(ds)->parts);
    free(of(ds));
}

static struct sds_driver_ops ops_over(const struct sds_driver_ops *inner) {
    return (struct sds_driver_ops){
        .name = inner->name,
        .close = close_overlay,
        .totals = totals,
        .describe = describe,
        .verify = verify,
        .scan = scan,
        .scan_end = scan_end,
        .identity = identity,
        .metrics = metrics,
        .announce = inner->announce != NULL ? announce : NULL,
        .sweep = inner->sweep != NULL ? sweep : NULL,
        .lookup = lookup,
        .getattr = getattr,
        .list = list,
        .read = read_,
        .readlink = readlink_,
        .xattrs = xattrs,
        .path = path,
        .annotate = inner->annotate != NULL ? annotate : NULL,
    };
}

enum sds_kind sds_index_overlay(struct sds_dataset *inner, const char *cache_dir,
                                struct sds_dataset **out, struct sds_err *err) {
    struct overlay *o = calloc(1, sizeof *o);
    struct sds_totals totals;
    char last[32];
    if (o == NULL || (o->parts = sds_index_parts_new(inner, cache_dir)) == NULL) {
        free(o);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for index/");
    }
    inner->ops->totals(inner, &totals);
    o->inner = inner;
    o->ops = ops_over(inner->ops);
    o->base.ops = &o->ops;
    o->width =
        (unsigned)snprintf(last, sizeof last, "%06llu",
                           (unsigned long long)(totals.records > 0 ? totals.records - 1 : 0));
    *out = &o->base;
    return SDS_OK;
}
