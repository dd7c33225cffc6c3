// SPDX-License-Identifier: Apache-2.0
#include "toy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Kinds of nodes; the key of a FIXED node is its place in the table below.
enum { ROOT = 1, FIXED, MANY_DIR, MANY_VALUE, WIDE_FILE, GROWN_FILE };
enum {
    HELLO,
    EMPTY,
    BIG,
    LINK,
    LOOP,
    OUT,
    DIR_,
    MANY,
    WIDE,
    GROWING,
    INNER,
    BAD,
    GONE,
    FIXED_COUNT
};
enum { TOP_COUNT = INNER };

static const char hello[] = "hello, world\n";
static const char inner[] = "inner\n";

static const struct {
    const char *name;
    enum sds_node_type type;
    const char *text; // content or target
    uint64_t size;
} fixed[FIXED_COUNT] = {
    [HELLO] = {"hello.txt", SDS_FILE, hello, sizeof hello - 1},
    [EMPTY] = {"empty", SDS_FILE, "", 0},
    [BIG] = {"big.bin", SDS_FILE, NULL, TOY_BIG_BYTES},
    [LINK] = {"link", SDS_LINK, "dir/inner.txt", 13},
    [LOOP] = {"loop", SDS_LINK, "loop", 4},
    [OUT] = {"out", SDS_LINK, "../outside", 10},
    [DIR_] = {"dir", SDS_DIRECTORY, NULL, 0},
    [MANY] = {"many", SDS_DIRECTORY, NULL, 0},
    [WIDE] = {"wide", SDS_DIRECTORY, NULL, 0},
    [GROWING] = {"growing", SDS_DIRECTORY, NULL, 0},
    [INNER] = {"inner.txt", SDS_FILE, inner, sizeof inner - 1},
    [BAD] = {"bad.bin", SDS_FILE, NULL, 4096},
    [GONE] = {"gone.bin", SDS_FILE, NULL, 1},
};

uint8_t toy_byte(uint64_t off) {
    return (uint8_t)(off * 31 + (off >> 8));
}

static struct toy *toy_of(struct sds_dataset *ds) {
    return (struct toy *)(void *)ds;
}

static struct sds_node fixed_node(uint64_t which) {
    return (struct sds_node){.kind = FIXED, .key = which};
}

static bool is_fixed(struct sds_node node, uint64_t which) {
    return node.kind == FIXED && node.key == which;
}

// --- the store

void toy_stall(struct toy *toy, enum toy_stall stall) {
    pthread_mutex_lock(&toy->lock);
    struct sds_event *old = toy->flow;
    toy->flow = stall != TOY_FLOWS ? sds_event_new() : NULL;
    toy->stall = stall;
    pthread_mutex_unlock(&toy->lock);
    if (old != NULL) {
        sds_event_fire(old);
        sds_event_unref(old);
    }
}

void toy_abandon(struct toy *toy) {
    toy->closed = true;
    toy_stall(toy, TOY_FLOWS);
}

// Waits if such calls are stalled.
static enum sds_kind flow(struct toy *toy, enum toy_stall what, struct sds_err *err) {
    while (toy->stuck) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    pthread_mutex_lock(&toy->lock);
    bool stalled = toy->stall == what || toy->stall == TOY_STALL_ALL;
    struct sds_event *event = stalled ? sds_event_ref(toy->flow) : NULL;
    pthread_mutex_unlock(&toy->lock);
    enum sds_kind kind = SDS_OK;
    if (event != NULL) {
        toy->asked++;
        kind = sds_event_wait(event, err);
        sds_event_unref(event);
    }
    if (kind == SDS_OK && toy->closed) {
        return sds_fail(err, SDS_ERR_STORAGE, "closed", "the store has been closed");
    }
    return kind;
}

static enum sds_kind check_up(struct sds_dataset *ds, struct sds_err *err) {
    if (toy_of(ds)->down) {
        return sds_fail(err, SDS_ERR_STORAGE, "down", "the store is down");
    }
    return flow(toy_of(ds), TOY_STALL_ALL, err);
}

// --- directories

// The entry at a position of a directory; false at the end. Positions are consecutive from 0.
static bool entry_at(struct toy *toy, struct sds_node dir, uint64_t at, char name[32],
                     struct sds_node *node, enum sds_node_type *type) {
    *type = SDS_FILE;
    if (dir.kind == MANY_DIR) {
        snprintf(name, 32, "value");
        *node = (struct sds_node){.kind = MANY_VALUE, .key = dir.key};
        return at == 0;
    }
    if (dir.kind == ROOT || is_fixed(dir, DIR_)) {
        uint64_t which = dir.kind == ROOT ? at : INNER + at;
        uint64_t end = dir.kind == ROOT ? TOP_COUNT : FIXED_COUNT;
        if (which >= end) {
            return false;
        }
        snprintf(name, 32, "%s", fixed[which].name);
        *node = fixed_node(which);
        *type = fixed[which].type;
        return true;
    }
    if (is_fixed(dir, MANY)) {
        snprintf(name, 32, "%06" PRIu64, at);
        *node = (struct sds_node){.kind = MANY_DIR, .key = at};
        *type = SDS_DIRECTORY;
        return at < toy->many;
    }
    if (is_fixed(dir, WIDE)) {
        snprintf(name, 32, "w%" PRIu64, at);
        *node = (struct sds_node){.kind = WIDE_FILE, .key = 7, .wide = at + 1};
        return at < TOY_WIDE;
    }
    snprintf(name, 32, "g%" PRIu64, at);
    *node = (struct sds_node){.kind = GROWN_FILE, .key = at};
    return is_fixed(dir, GROWING) && at < toy->grown;
}

static enum sds_kind list(struct sds_dataset *ds, struct sds_node dir, uint64_t cookie,
                          sds_list_fn emit, void *ctx, struct sds_err *err) {
    char name[32];
    struct sds_node node;
    enum sds_node_type type;
    enum sds_kind kind = flow(toy_of(ds), TOY_STALL_ALL, err);
    if (kind != SDS_OK) {
        return kind;
    }
    for (uint64_t at = cookie; entry_at(toy_of(ds), dir, at, name, &node, &type); at++) {
        if (is_fixed(dir, MANY) && at >= 20 &&
            (kind = flow(toy_of(ds), TOY_STALL_LISTS, err)) != SDS_OK) {
            return kind;
        }
        if (!emit(ctx, sds_span_str(name), node, type, at + 1)) {
            break;
        }
    }
    return check_up(ds, err);
}

// The position that a name would have, by the number in it; a guess that lookup checks.
static uint64_t guess_position(struct sds_node dir, struct sds_span name) {
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)name.len, (const char *)name.at);
    if (is_fixed(dir, MANY)) {
        return strtoull(text, NULL, 10);
    }
    return is_fixed(dir, WIDE) || is_fixed(dir, GROWING) ? strtoull(text + 1, NULL, 10) : 0;
}

static enum sds_kind lookup(struct sds_dataset *ds, struct sds_node dir, struct sds_span name,
                            struct sds_node *out, struct sds_err *err) {
    char entry[32];
    enum sds_node_type type;
    if (check_up(ds, err) != SDS_OK) {
        return err->kind;
    }
    bool scan = dir.kind == ROOT || is_fixed(dir, DIR_);
    for (uint64_t at = guess_position(dir, name); entry_at(toy_of(ds), dir, at, entry, out, &type);
         at++) {
        if (sds_span_eq(name, sds_span_str(entry))) {
            return is_fixed(*out, GONE)
                       ? sds_fail(err, SDS_ERR_CORRUPT, "size", "the file is known to be bad")
                       : SDS_OK;
        }
        if (!scan) {
            break;
        }
    }
    return sds_fail(err, SDS_ERR_NOT_FOUND, "name", "no such name");
}

// --- nodes

static enum sds_kind getattr(struct sds_dataset *ds, struct sds_node node, struct sds_attr *out,
                             struct sds_err *err) {
    if (node.kind == ROOT && !toy_of(ds)->down) {
        *out = (struct sds_attr){.type = SDS_DIRECTORY}; // the store is not asked
        return SDS_OK;
    }
    if (check_up(ds, err) != SDS_OK) {
        return err->kind;
    }
    if (node.kind == MANY_DIR && node.key >= 3) {
        enum sds_kind kind = flow(toy_of(ds), TOY_STALL_ATTRS, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    *out = (struct sds_attr){.type = SDS_FILE, .size = 6};
    if (node.kind == MANY_DIR) {
        *out = (struct sds_attr){.type = SDS_DIRECTORY};
    } else if (node.kind == FIXED) {
        *out = (struct sds_attr){.type = fixed[node.key].type,
                                 .size = fixed[node.key].size,
                                 .growing = node.key == GROWING};
    }
    return is_fixed(node, GONE)
               ? sds_fail(err, SDS_ERR_CORRUPT, "size", "the file is known to be bad")
               : SDS_OK;
}

struct loan {
    struct toy *toy;
    char text[32];
};

static void release(void *owner) {
    struct loan *loan = owner;
    loan->toy->held_pieces--;
    free(loan);
}

// Three pieces, so that replies are seen to be put together.
static void lend(struct loan *loan, const uint8_t *bytes, size_t len, struct sds_pieces *out) {
    *out = (struct sds_pieces){.count = 3, .release = release, .owner = loan};
    size_t cuts[] = {0, len / 3, len / 2, len};
    for (int i = 0; i < out->count; i++) {
        out->iov[i].iov_base = (void *)(uintptr_t)(bytes + cuts[i]);
        out->iov[i].iov_len = cuts[i + 1] - cuts[i];
    }
    loan->toy->held_pieces++;
}

static enum sds_kind read_(struct sds_dataset *ds, struct sds_node file, uint64_t off, size_t len,
                           struct sds_pieces *out, struct sds_err *err) {
    struct toy *toy = toy_of(ds);
    struct sds_attr attr;
    if (getattr(ds, file, &attr, err) != SDS_OK) {
        return err->kind;
    }
    if (file.kind == MANY_VALUE || is_fixed(file, BIG)) {
        enum sds_kind kind = flow(toy, TOY_STALL_READS, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    if (is_fixed(file, BAD)) {
        sds_fail(err, SDS_ERR_CORRUPT, "hash", "the bytes are not what they should be");
        sds_err_object(err, "objects/bad");
        return err->kind;
    }
    struct loan *loan = malloc(sizeof *loan);
    *loan = (struct loan){.toy = toy};
    snprintf(loan->text, sizeof loan->text, "%06" PRIu64, file.wide != 0 ? file.wide : file.key);
    const void *content = loan->text;
    if (file.kind == FIXED) {
        content = file.key == BIG ? (const void *)toy->big : fixed[file.key].text;
    }
    uint64_t at = off < attr.size ? off : attr.size;
    uint64_t rest = attr.size - at;
    lend(loan, (const uint8_t *)content + at, len < rest ? len : (size_t)rest, out);
    return SDS_OK;
}

static enum sds_kind readlink_(struct sds_dataset *ds, struct sds_node link, struct sds_buf *out,
                               struct sds_err *err) {
    if (check_up(ds, err) != SDS_OK) {
        return err->kind;
    }
    if (link.kind != FIXED || fixed[link.key].type != SDS_LINK) {
        return sds_fail(err, SDS_ERR_INVALID, "link", "not a link");
    }
    enum sds_kind kind = sds_buf_add_str(out, fixed[link.key].text);
    return kind == SDS_OK ? kind : sds_fail(err, kind, "memory", "no room for the target");
}

static enum sds_kind xattrs(struct sds_dataset *ds, struct sds_node node, sds_xattr_fn emit,
                            void *ctx, struct sds_err *err) {
    if (check_up(ds, err) != SDS_OK) {
        return err->kind;
    }
    if (is_fixed(node, DIR_) && emit(ctx, "id", sds_span_str("toy"))) {
        emit(ctx, "large", sds_span(toy_of(ds)->large_xattr, TOY_LARGE_XATTR));
    }
    return SDS_OK;
}

static void path(struct sds_dataset *ds, struct sds_node node, struct sds_buf *out) {
    (void)ds;
    enum sds_kind kind = SDS_OK;
    if (node.kind == FIXED) {
        kind = sds_buf_printf(out, "%s%s", node.key >= INNER ? "dir/" : "", fixed[node.key].name);
    } else if (node.kind == MANY_DIR || node.kind == MANY_VALUE) {
        kind = sds_buf_printf(out, "many/%06" PRIu64 "%s", node.key,
                              node.kind == MANY_VALUE ? "/value" : "");
    } else if (node.kind == WIDE_FILE) {
        kind = sds_buf_printf(out, "wide/w%" PRIu64, node.wide - 1);
    } else if (node.kind == GROWN_FILE) {
        kind = sds_buf_printf(out, "growing/g%" PRIu64, node.key);
    }
    if (kind != SDS_OK) {
        out->len = 0;
    }
}

// --- publishing

static void wait_for_go(struct toy *toy, const struct sds_annotate_request *request) {
    for (uint64_t step = 0; !toy->go && step < 6000; step++) {
        request->progress(request->ctx, "waiting", step, 6000);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static enum sds_kind refuse_rows(const struct sds_annotate_request *request, const char *word,
                                 struct sds_err *err) {
    static const struct {
        const char *word;
        enum sds_kind kind;
    } failures[] = {{"invalid", SDS_ERR_INVALID},         {"conflict", SDS_ERR_CONFLICT},
                    {"unsupported", SDS_ERR_UNSUPPORTED}, {"timeout", SDS_ERR_TIMEOUT},
                    {"denied", SDS_ERR_DENIED},           {"storage", SDS_ERR_STORAGE},
                    {"corrupt", SDS_ERR_CORRUPT},         {"absent", SDS_ERR_NOT_FOUND}};
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        if (strcmp(word, failures[i].word) == 0) {
            sds_fail(err, failures[i].kind, word, "the rows say so");
            request->problem(request->ctx, 3, err);
            return err->kind;
        }
    }
    return SDS_OK;
}

static void add_text(struct json_object *object, const char *key, const char *text) {
    json_object_object_add(object, key, text != NULL ? json_object_new_string(text) : NULL);
}

static struct json_object *receipt_of(const struct sds_annotate_request *request) {
    static const char *const whats[] = {"set", "shard", "coordinate"};
    struct json_object *receipt = json_object_new_object();
    add_text(receipt, "set", request->set);
    add_text(receipt, "publication_id", request->publication_id);
    add_text(receipt, "what", whats[request->what]);
    json_object_object_add(receipt, "records_per_shard",
                           json_object_new_uint64(request->records_per_shard));
    json_object_object_add(
        receipt, "metadata",
        json_object_new_string_len((const char *)request->metadata.at, (int)request->metadata.len));
    struct json_object *ids = json_object_new_array();
    for (size_t i = 0; i < request->shard_id_count; i++) {
        json_object_array_add(ids, json_object_new_string(request->shard_ids[i]));
    }
    json_object_object_add(receipt, "shard_ids", ids);
    if (request->what == SDS_ANNOTATE_SHARD) {
        struct json_object *pointer = json_object_new_object();
        add_text(pointer, "logical_shard_id", request->shard_id);
        json_object_object_add(receipt, "pointer", pointer);
    }
    return receipt;
}

static enum sds_kind annotate(struct sds_dataset *ds, const struct sds_annotate_request *request,
                              struct json_object **receipt, struct sds_err *err) {
    struct toy *toy = toy_of(ds);
    char word[16] = "";
    ssize_t n = request->rows >= 0 ? pread(request->rows, word, sizeof word - 1, 0) : 0;
    word[n > 0 ? n : 0] = '\0';
    word[strcspn(word, "\n")] = '\0';
    toy->publishing++;
    if (strcmp(word, "wait") == 0) {
        wait_for_go(toy, request);
    }
    enum sds_kind kind = strcmp(word, "stall") == 0 ? flow(toy, TOY_STALL_ALL, err) : SDS_OK;
    kind = kind == SDS_OK ? refuse_rows(request, word, err) : kind;
    if (kind == SDS_OK && !request->check_only) {
        *receipt = receipt_of(request);
    }
    toy->publishing--;
    toy->published++;
    return kind;
}

// --- the whole

static void totals(struct sds_dataset *ds, struct sds_totals *out) {
    *out = (struct sds_totals){.bytes = 1234567,
                               .records = toy_of(ds)->many,
                               .mtime = {.tv_sec = 1700000000, .tv_nsec = 5}};
}

static enum sds_kind describe(struct sds_dataset *ds, struct json_object **out,
                              struct sds_err *err) {
    if (toy_of(ds)->down) {
        return sds_fail(err, SDS_ERR_STORAGE, "down", "the store is down");
    }
    *out = json_object_new_object();
    json_object_object_add(*out, "driver", json_object_new_string("toy"));
    json_object_object_add(*out, "dataset_id", json_object_new_string("a/b \"c\""));
    return SDS_OK;
}

static void metrics(struct sds_dataset *ds,
                    void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                    void *ctx) {
    emit(ctx, "sdsfs_toy_total", "Toys.", toy_of(ds)->many);
    emit(ctx, "sdsfs_toy_asked_total", "Calls that waited.", toy_of(ds)->asked);
    emit(ctx, "sdsfs_toy_announced_total", "Ordinals announced.", toy_of(ds)->announced);
    emit(ctx, "sdsfs_toy_order", "Their order.", toy_of(ds)->order);
    emit(ctx, "sdsfs_toy_held", "Pieces held.", toy_of(ds)->held_pieces);
}

uint64_t toy_order(uint64_t order, uint64_t ordinal) {
    return order * 31 + ordinal + 1;
}

static void announce(struct sds_dataset *ds, const uint64_t *ordinals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        toy_of(ds)->order = toy_order(toy_of(ds)->order, ordinals[i]);
    }
    toy_of(ds)->announced += (unsigned)count;
}

static void close_(struct sds_dataset *ds) {
    toy_free(toy_of(ds));
}

static const struct sds_driver_ops ops = {
    .name = "toy",
    .close = close_,
    .totals = totals,
    .describe = describe,
    .metrics = metrics,
    .announce = announce,
    .lookup = lookup,
    .getattr = getattr,
    .list = list,
    .read = read_,
    .readlink = readlink_,
    .xattrs = xattrs,
    .path = path,
    .annotate = annotate,
};

struct toy *toy_new(uint64_t many) {
    struct toy *toy = calloc(1, sizeof *toy);
    toy->base.ops = &ops;
    toy->many = many;
    pthread_mutex_init(&toy->lock, NULL);
    toy->big = malloc(TOY_BIG_BYTES);
    for (uint64_t i = 0; i < TOY_BIG_BYTES; i++) {
        toy->big[i] = toy_byte(i);
    }
    toy->large_xattr = malloc(TOY_LARGE_XATTR);
    memset(toy->large_xattr, 'x', TOY_LARGE_XATTR);
    return toy;
}

void toy_free(struct toy *toy) {
    toy_stall(toy, TOY_FLOWS);
    pthread_mutex_destroy(&toy->lock);
    free(toy->big);
    free(toy->large_xattr);
    free(toy);
}
