// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "format/name.h"
#include "format/signal_dataset/ahead.h"
#include "format/signal_dataset/describe.h"
#include "format/signal_dataset/driver.h"
#include "format/signal_dataset/files.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/publish/annotate.h"
#include "format/signal_dataset/raw_tree.h"
#include "format/signal_dataset/scan.h"
#include "format/signal_dataset/tree.h"
#include "format/signal_dataset/verify.h"

static struct signal_dataset *of(struct sds_dataset *base) {
    return (struct signal_dataset *)base;
}

// A root.json makes a root ours; what is in it is for open to judge. So does the root document of
// the prototype of this layout, which open refuses in words of its own.
static enum sds_kind probe(struct sds_store *store, bool *mine, struct sds_err *err) {
    static const char *const documents[] = {"root.json", "sds.json"};
    *mine = false;
    for (size_t i = 0; !*mine && i < sizeof documents / sizeof documents[0]; i++) {
        struct sds_object *object = NULL;
        enum sds_kind kind =
            sds_store_object(store, documents[i], SDS_IMMUTABLE, NULL, &object, err);
        sds_object_close(object);
        if (kind != SDS_OK && kind != SDS_ERR_NOT_FOUND && kind != SDS_ERR_CORRUPT) {
            return kind;
        }
        *mine = kind != SDS_ERR_NOT_FOUND;
    }
    return SDS_OK;
}

static void close_dataset(struct sds_dataset *base) {
    struct signal_dataset *ds = of(base);
    ahead_stop(ds->ahead);
    admission_stop(&ds->admission);
    reading_fini(&ds->reading);
    admission_fini(&ds->admission);
    sds_cache_clear(ds->cache); // values refer to the dataset and its objects
    raw_tree_free(ds->raw);
    gate_fini(&ds->gate);
    annotations_close(ds);
    chain_close(ds);
    free(atomic_load(&ds->first_fields));
    free(ds);
}

// The budget of the cache also bounds how many files stay open: at 128 KiB apiece, or so that all
// of it buys half of the descriptors that the process may have.
static size_t descriptor_cost(size_t budget) {
    const size_t least = (size_t)128 << 10;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return least;
    }
    size_t half = limit.rlim_cur > 2 ? (size_t)limit.rlim_cur / 2 : 1;
    return budget / half > least ? budget / half : least;
}

static void relieve(void *ctx) {
    reading_sweep(ctx);
}

static enum sds_kind open_dataset(struct sds_store *store, const struct sds_open_options *options,
                                  struct sds_dataset **out, struct sds_err *err) {
    struct signal_dataset *ds = calloc(1, sizeof *ds);
    if (ds == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a dataset");
    }
    ds->base.ops = &sds_signal_dataset_driver;
    ds->store = store;
    ds->options = *options;
    ds->views = views_parse(options->views);
    ds->options.views = NULL; // the caller's
    ds->cache = options->cache;
    size_t budget = sds_cache_budget(ds->cache);
    ds->raw = raw_tree_new();
    ds->descriptor_cost = descriptor_cost(budget);
    gate_init(&ds->gate);
    admission_init(&ds->admission, ds->cache, relieve, &ds->reading);
    reading_init(&ds->reading, budget / 8, &ds->admission);
    enum sds_kind kind = SDS_OK;
    if (ds->raw == NULL) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a dataset");
    }
    if (kind == SDS_OK) {
        kind = chain_open(ds, err);
    }
    if (kind == SDS_OK) {
        kind = annotations_open(ds, err);
    }
    if (kind == SDS_OK) {
        kind =
            ahead_start(ds, options->read_ahead > 0 ? options->decode_threads : 0, &ds->ahead, err);
    }
    if (kind != SDS_OK) {
        close_dataset(&ds->base);
        return kind;
    }
    ds->ordinal_width = sds_number_width(ds->chain.snapshot.record_count);
    ds->shard_width = sds_number_width(ds->chain.snapshot.shard_count);
    *out = &ds->base;
    return SDS_OK;
}

static void totals(struct sds_dataset *base, struct sds_totals *out) {
    const struct chain *chain = &of(base)->chain;
    *out = (struct sds_totals){.bytes = chain->snapshot.stored_bytes,
                               .records = chain->snapshot.record_count,
                               .mtime = chain->root_mtime};
}

static void metrics(struct sds_dataset *base,
                    void (*emit)(void *ctx, const char *name, const char *help, uint64_t value),
                    void *ctx) {
    struct sds_cache_stats stats;
    sds_cache_stats(of(base)->cache, &stats);
    emit(ctx, "sdsfs_cache_hits_total", "Look-ups that found their value in memory.", stats.hits);
    emit(ctx, "sdsfs_cache_misses_total", "Look-ups that had to read and decode.", stats.misses);
    emit(ctx, "sdsfs_cache_evictions_total", "Values dropped to stay in the budget.",
         stats.evicted);
    emit(ctx, "sdsfs_decode_seconds_total",
         "Time spent decompressing and checking chunks (with reading them, on a local disk) and "
         "records.",
         of(base)->decode_ns);
    emit(ctx, "sdsfs_decoded_bytes_total", "Bytes that chunks became.", of(base)->decoded_bytes);
    emit(ctx, "sdsfs_cache_bytes", "Bytes of cached values.", stats.bytes);
    emit(ctx, "sdsfs_cache_budget_bytes", "Option mem_cache.", stats.budget);
}

// A mount that nobody uses gives its memory back, half of it at a time: what is wanted again soon
// has a chance to be there still.
static void shrink_when_idle(struct signal_dataset *ds) {
    struct sds_cache_stats stats;
    sds_cache_stats(ds->cache, &stats);
    uint64_t uses = stats.hits + stats.misses;
    if (uses == ds->uses_seen) {
        size_t keep = stats.bytes / 2 < stats.budget ? stats.bytes / 2 : stats.budget;
        sds_cache_make_room(ds->cache, stats.budget - keep);
    }
    ds->uses_seen = uses;
}

static void sweep(struct sds_dataset *base) {
    reading_sweep(&of(base)->reading);
    ahead_sweep(of(base)->ahead);
    shrink_when_idle(of(base));
}

static void announce(struct sds_dataset *base, const uint64_t *ordinals, size_t count) {
    ahead_announce(of(base)->ahead, ordinals, count);
}

static enum sds_kind describe_op(struct sds_dataset *base, struct json_object **out,
                                 struct sds_err *err) {
    return describe(of(base), out, err);
}

static enum sds_kind scan_op(struct sds_dataset *base, uint64_t first, uint64_t end,
                             sds_scan_fn emit, void *ctx, struct sds_err *err) {
    return scan(of(base), first, end, emit, ctx, err);
}

static uint64_t scan_end_op(struct sds_dataset *base, uint64_t first) {
    return scan_end(of(base), first);
}

// The documents at the top name the pages by id and size only, so where they lie counts, too, and
// when: who makes a dataset again under its old name may get the same documents over other records.
static void identity(struct sds_dataset *base, char out[SDS_SHA256_HEX]) {
    const struct signal_dataset *ds = of(base);
    const struct chain *chain = &ds->chain;
    char of_place[SDS_SHA256_HEX], text[256];
    sds_sha256_hex(sds_span_str(sds_store_root(ds->store)), of_place);
    int len = snprintf(text, sizeof text, "%s\n%s\n%s\n%lld.%09ld", chain->root_hash,
                       chain->snapshot_hash, of_place, (long long)chain->root_mtime.tv_sec,
                       chain->root_mtime.tv_nsec);
    sds_sha256_hex(sds_span(text, (size_t)len), out);
}

static enum sds_kind verify_op(struct sds_dataset *base, const struct sds_verify_options *options,
                               struct sds_err *err) {
    return verify(of(base), options, err);
}

// The operations on nodes: what they are given may come from anywhere.
static enum sds_kind not_ours(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "the dataset has no such node");
}

static enum sds_kind lookup_op(struct sds_dataset *base, struct sds_node dir, struct sds_span name,
                               struct sds_node *out, struct sds_err *err) {
    struct signal_dataset *ds = of(base);
    return node_is_ours(ds, dir) ? tree_lookup(ds, dir, name, out, err) : not_ours(err);
}

static enum sds_kind getattr_op(struct sds_dataset *base, struct sds_node node,
                                struct sds_attr *out, struct sds_err *err) {
    struct signal_dataset *ds = of(base);
    return node_is_ours(ds, node) ? tree_getattr(ds, node, out, err) : not_ours(err);
}

static enum sds_kind list_op(struct sds_dataset *base, struct sds_node dir, uint64_t cookie,
                             sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct signal_dataset *ds = of(base);
    return node_is_ours(ds, dir) ? tree_list(ds, dir, cookie, emit, ctx, err) : not_ours(err);
}

static enum sds_kind read_op(struct sds_dataset *base, struct sds_node file, uint64_t off,
                             size_t len, struct sds_pieces *out, struct sds_err *err) {
    struct signal_dataset *ds = of(base);
    return node_is_ours(ds, file) ? file_read(ds, file, off, len, out, err) : not_ours(err);
}

static enum sds_kind readlink_op(struct sds_dataset *base, struct sds_node link,
                                 struct sds_buf *out, struct sds_err *err) {
    struct signal_dataset *ds = of(base);
    return node_is_ours(ds, link) ? file_link(ds, link, out, err) : not_ours(err);
}

static enum sds_kind xattrs_op(struct sds_dataset *base, struct sds_node node, sds_xattr_fn emit,
                               void *ctx, struct sds_err *err) {
    struct signal_dataset *ds = of(base);
    return node_is_ours(ds, node) ? tree_xattrs(ds, node, emit, ctx, err) : not_ours(err);
}

static void path_op(struct sds_dataset *base, struct sds_node node, struct sds_buf *out) {
    struct signal_dataset *ds = of(base);
    if (node_is_ours(ds, node)) {
        tree_path(ds, node, out);
    }
}

static enum sds_kind annotate_op(struct sds_dataset *base,
                                 const struct sds_annotate_request *request,
                                 struct json_object **receipt, struct sds_err *err) {
    return annotate(of(base), request, receipt, err);
}

const struct sds_driver_ops sds_signal_dataset_driver = {
    .name = "signal-dataset",
    .document = "root.json",
    .knows_view = views_know,
    .probe = probe,
    .open = open_dataset,
    .close = close_dataset,
    .totals = totals,
    .describe = describe_op,
    .verify = verify_op,
    .scan = scan_op,
    .scan_end = scan_end_op,
    .identity = identity,
    .metrics = metrics,
    .announce = announce,
    .sweep = sweep,
    .lookup = lookup_op,
    .getattr = getattr_op,
    .list = list_op,
    .read = read_op,
    .readlink = readlink_op,
    .xattrs = xattrs_op,
    .path = path_op,
    .annotate = annotate_op,
};
