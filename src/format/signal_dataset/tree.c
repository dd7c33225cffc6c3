// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/tree.h"

#include "format/signal_dataset/annotations.h"
#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/files.h"
#include "format/signal_dataset/nodes.h"
#include "format/signal_dataset/raw_tree.h"
#include "format/signal_dataset/records.h"

#define ANNOTATIONS "annotations"

// A directory with names that are always there. Their nodes carry the directory's own key.
struct fixed_name {
    const char *name;
    enum node_kind kind;
    enum sds_node_type type; // of shard files: what they mostly are
};

static const struct fixed_name in_root[] = {
    {"records", NODE_RECORDS, SDS_DIRECTORY},
    {"shards", NODE_SHARDS, SDS_DIRECTORY},
};
static const struct fixed_name in_record[] = {
    {"record.safetensors", NODE_PAYLOAD, SDS_FILE},
    {"metadata.json", NODE_ENTRY, SDS_FILE},
    {ANNOTATIONS, NODE_RECORD_ANNOTATIONS, SDS_DIRECTORY},
};
static const struct fixed_name in_shard[] = {
    {"shard.json", NODE_SHARD_TEXT, SDS_FILE},
    {"data.arrayrecord", NODE_SHARD_DATA, SDS_LINK},
    {"metadata.arrayrecord", NODE_SHARD_METADATA, SDS_LINK},
    {"records", NODE_SHARD_RECORDS, SDS_DIRECTORY},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static enum sds_kind absent(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "absent", "there is no such name");
}

static bool find_fixed(const struct fixed_name *names, size_t count, struct sds_span name,
                       uint64_t key, struct sds_node *out) {
    for (size_t i = 0; i < count; i++) {
        if (sds_span_eq(name, sds_span_str(names[i].name))) {
            *out = node(names[i].kind, key);
            return true;
        }
    }
    return false;
}

// A decimal name of exactly width digits, below limit.
static bool parse_number(struct sds_span name, unsigned width, uint64_t limit, uint64_t *out) {
    uint64_t value = 0;
    if (name.len != width) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < '0' || name.at[i] > '9') {
            return false;
        }
        value = value * 10 + (name.at[i] - '0'); // at most 13 digits
    }
    *out = value;
    return value < limit;
}

static struct sds_node annotations_node(void) {
    return node(NODE_RAW_DIRECTORY, raw_annotations_key());
}

// Whether the answer depends on what others publish: below annotations/ and in the annotations/ of
// records. Everywhere else the tree is final.
static enum sds_kind grows(struct signal_dataset *ds, struct sds_node n, bool *out,
                           struct sds_err *err) {
    *out = n.kind == NODE_RECORD_ANNOTATIONS;
    return n.kind == NODE_RAW_DIRECTORY ? raw_grows(ds, n.key, out, err) : SDS_OK;
}

static bool changes(struct sds_node n) {
    return n.kind == NODE_RAW_FILE && n.key == raw_catalog_key();
}

// Sees to it that a node is answered for with fresh knowledge. An outage of the store does not fail
// it.
static enum sds_kind follow(struct signal_dataset *ds, struct sds_node n, bool *growing,
                            struct sds_err *err) {
    enum sds_kind kind = grows(ds, n, growing, err);
    return kind == SDS_OK && (*growing || changes(n)) ? annotations_follow(ds, err) : kind;
}

// ---- lookup

static enum sds_kind lookup_in_root(struct signal_dataset *ds, struct sds_span name,
                                    struct sds_node *out, struct sds_err *err) {
    if (find_fixed(in_root, COUNT(in_root), name, 0, out)) {
        return SDS_OK;
    }
    if (sds_span_eq(name, sds_span_str(ANNOTATIONS))) {
        *out = annotations_node();
        return SDS_OK;
    }
    return raw_lookup(ds, RAW_TOP, name, out, err);
}

static enum sds_kind lookup_in_record(struct signal_dataset *ds, uint64_t ordinal,
                                      struct sds_span name, struct sds_node *out,
                                      struct sds_err *err) {
    if (find_fixed(in_record, COUNT(in_record), name, ordinal, out)) {
        return SDS_OK;
    }
    if (!view_name_is_possible(ds->views, name)) {
        return absent(err); // not worth reading the record
    }
    struct record_fields fields;
    struct view_file file;
    enum sds_kind kind = record_fields(ds, ordinal, &fields, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool found = view_file_find(fields.record, ds->views, name, &file);
    record_fields_fini(&fields);
    if (!found) {
        return absent(err);
    }
    *out = field_node(ds, ordinal, &file);
    return SDS_OK;
}

static enum sds_kind lookup_in_row(struct signal_dataset *ds, struct sds_node dir,
                                   struct sds_span name, struct sds_node *out,
                                   struct sds_err *err) {
    uint32_t field;
    uint64_t ordinal = node_ordinal(ds, dir, &field);
    const struct annotation_set *set = node_set(ds, dir);
    if (sds_span_eq(name, sds_span_str("annotation.json"))) {
        *out = row_node(ds, NODE_ROW_TEXT, set, ordinal, 0);
        return SDS_OK;
    }
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    enum sds_kind kind = annotation_row(ds, set, ordinal, &ref, &row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct view_file file;
    bool found = view_file_find(&row->annotation.carrier, views_of_rows(ds->views), name, &file);
    sds_cache_release(ref);
    if (!found) {
        return absent(err);
    }
    *out = row_field_node(ds, set, ordinal, &file);
    return SDS_OK;
}

static enum sds_kind lookup_in_shard_records(struct signal_dataset *ds, uint64_t shard,
                                             struct sds_span name, struct sds_node *out,
                                             struct sds_err *err) {
    struct location at;
    uint64_t ordinal;
    if (!parse_number(name, ds->ordinal_width, ds->chain.snapshot.record_count, &ordinal)) {
        return absent(err);
    }
    enum sds_kind kind = chain_shard(ds, shard, &at, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool here = ordinal >= at.shard->first_ordinal &&
                ordinal - at.shard->first_ordinal < at.shard->record_count;
    location_fini(&at);
    *out = node(NODE_SHARD_RECORD, ordinal);
    return here ? SDS_OK : absent(err);
}

enum sds_kind tree_lookup(struct signal_dataset *ds, struct sds_node dir, struct sds_span name,
                          struct sds_node *out, struct sds_err *err) {
    const struct annotation_set *set;
    uint64_t number;
    bool growing;
    enum sds_kind kind = follow(ds, dir, &growing, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (dir.kind) {
    case NODE_ROOT:
        return lookup_in_root(ds, name, out, err);
    case NODE_RECORDS:
        if (!parse_number(name, ds->ordinal_width, ds->chain.snapshot.record_count, &number)) {
            return absent(err);
        }
        *out = node(NODE_RECORD, number);
        return SDS_OK;
    case NODE_RECORD:
        return lookup_in_record(ds, dir.key, name, out, err);
    case NODE_RECORD_ANNOTATIONS:
        set = annotations_find(ds, name);
        if (set == NULL) {
            return absent(err);
        }
        *out = row_node(ds, NODE_ROW, set, dir.key, 0);
        return SDS_OK;
    case NODE_ROW:
        return lookup_in_row(ds, dir, name, out, err);
    case NODE_SHARDS:
        if (!parse_number(name, ds->shard_width, ds->chain.snapshot.shard_count, &number)) {
            return absent(err);
        }
        *out = node(NODE_SHARD, number);
        return SDS_OK;
    case NODE_SHARD:
        return find_fixed(in_shard, COUNT(in_shard), name, dir.key, out) ? SDS_OK : absent(err);
    case NODE_SHARD_RECORDS:
        return lookup_in_shard_records(ds, dir.key, name, out, err);
    case NODE_RAW_DIRECTORY:
        return raw_lookup(ds, dir.key, name, out, err);
    default:
        return sds_fail(err, SDS_ERR_INTERNAL, "node", "kind %u is no directory", dir.kind);
    }
}

// ---- attributes

enum sds_kind tree_getattr(struct signal_dataset *ds, struct sds_node n, struct sds_attr *out,
                           struct sds_err *err) {
    *out = (struct sds_attr){.type = SDS_DIRECTORY};
    enum sds_kind kind = follow(ds, n, &out->growing, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (n.kind) {
    case NODE_ROOT:
    case NODE_RECORDS:
    case NODE_RECORD:
    case NODE_RECORD_ANNOTATIONS:
    case NODE_ROW:
    case NODE_SHARDS:
    case NODE_SHARD:
    case NODE_SHARD_RECORDS:
        return SDS_OK;
    case NODE_RAW_DIRECTORY:
        return raw_directory(ds, n.key, err);
    default:
        return file_attr(ds, n, out, err);
    }
}

// ---- listing. A cookie is the position of an entry in its directory.

struct listing {
    struct signal_dataset *ds;
    uint64_t cookie;
    sds_list_fn emit;
    void *ctx;
};

// Emits fixed names from the cookie on; false when the receiver is full.
static bool list_fixed(struct listing *l, const struct fixed_name *names, size_t count,
                       uint64_t key) {
    for (; l->cookie < count; l->cookie++) {
        const struct fixed_name *f = &names[l->cookie];
        if (!l->emit(l->ctx, sds_span_str(f->name), node(f->kind, key), f->type, l->cookie + 1)) {
            return false;
        }
    }
    return true;
}

static void list_numbers(struct listing *l, enum node_kind kind, enum sds_node_type type,
                         unsigned width, uint64_t first, uint64_t count) {
    for (; l->cookie < count; l->cookie++) {
        char name[32];
        uint64_t number = first + l->cookie;
        for (unsigned i = width; i-- > 0; number /= 10) {
            name[i] = (char)('0' + number % 10);
        }
        if (!l->emit(l->ctx, sds_span(name, width), node(kind, first + l->cookie), type,
                     l->cookie + 1)) {
            return;
        }
    }
}

// The raw names of the top follow records, shards and annotations; the last is listed already.
struct raw_top {
    struct listing *listing;
    uint64_t before;
};

static bool emit_raw_top(void *ctx, struct sds_span name, struct sds_node child,
                         enum sds_node_type type, uint64_t next) {
    const struct raw_top *top = ctx;
    return child.key == raw_annotations_key() ||
           top->listing->emit(top->listing->ctx, name, child, type, next + top->before);
}

static enum sds_kind list_root(struct listing *l, struct sds_err *err) {
    if (!list_fixed(l, in_root, COUNT(in_root), 0)) {
        return SDS_OK;
    }
    if (l->cookie == COUNT(in_root)) {
        l->cookie++;
        if (!l->emit(l->ctx, sds_span_str(ANNOTATIONS), annotations_node(), SDS_DIRECTORY,
                     l->cookie)) {
            return SDS_OK;
        }
    }
    struct raw_top top = {.listing = l, .before = COUNT(in_root) + 1};
    return raw_list(l->ds, RAW_TOP, l->cookie - top.before, emit_raw_top, &top, err);
}

// Where the files of fields stand: the field, then the view, then the part, each with its bits, so
// that a position means the same whatever views are shown.
#define FIELD_STEP (1ULL << (VIEW_PART_BITS + 5))
_Static_assert(VIEWS_MAX <= 1 << 5, "a view fits its bits");

struct field_listing {
    struct listing *l;
    const struct sds_record *record;
    view_set shown;
    uint64_t before; // entries that stand in front
    struct sds_node dir;
    struct sds_node (*node_of)(const struct listing *l, struct sds_node dir,
                               const struct view_file *file);
};

// Emits the files of one view of one field from the cookie on; false when the receiver is full.
static bool list_view(const struct field_listing *f, struct view_file file) {
    uint64_t first = f->before + file.field * FIELD_STEP + ((uint64_t)file.view << VIEW_PART_BITS);
    uint32_t count = view_parts(views[file.view], &f->record->fields[file.field]).count;
    for (; file.part < count; file.part++) {
        char name[SDS_NAME_MAX + 1];
        if (!view_file_is_shown(f->record, f->shown, &file)) {
            continue;
        }
        size_t len = view_file_name(f->record, &file, name);
        if (!f->l->emit(f->l->ctx, sds_span(name, len), f->node_of(f->l, f->dir, &file), SDS_FILE,
                        first + file.part + 1)) {
            return false;
        }
    }
    return true;
}

static void list_fields(const struct field_listing *f) {
    uint64_t at = f->l->cookie - f->before;
    while (at / FIELD_STEP < f->record->field_count) {
        struct view_file file = {.field = (uint32_t)(at / FIELD_STEP),
                                 .view = (uint32_t)(at % FIELD_STEP >> VIEW_PART_BITS),
                                 .part = (uint32_t)at % VIEW_MAX_PARTS};
        if (file.view >= view_count) {
            at = (file.field + 1) * FIELD_STEP;
            continue;
        }
        if ((f->shown >> file.view & 1) != 0 && !list_view(f, file)) {
            return;
        }
        at = ((at >> VIEW_PART_BITS) + 1) << VIEW_PART_BITS;
    }
}

static struct sds_node record_file(const struct listing *l, struct sds_node dir,
                                   const struct view_file *file) {
    return field_node(l->ds, dir.key, file);
}

static struct sds_node row_file(const struct listing *l, struct sds_node dir,
                                const struct view_file *file) {
    uint32_t none;
    return row_field_node(l->ds, node_set(l->ds, dir), node_ordinal(l->ds, dir, &none), file);
}

// A record without a readable entry and payload still shows its fixed names, each of which says
// what is wrong; but what could not be read now may have fields, so then the listing fails.
static enum sds_kind list_record(struct listing *l, struct sds_node dir, struct sds_err *err) {
    struct record_fields fields;
    enum sds_kind kind = record_fields(l->ds, dir.key, &fields, err);
    if (kind == SDS_ERR_WAITING) {
        return kind;
    }
    bool more = list_fixed(l, in_record, COUNT(in_record), dir.key);
    if (kind == SDS_OK) {
        if (more) {
            list_fields(&(struct field_listing){.l = l,
                                                .record = fields.record,
                                                .shown = l->ds->views,
                                                .before = COUNT(in_record),
                                                .dir = dir,
                                                .node_of = record_file});
        }
        record_fields_fini(&fields);
    }
    return !more || sds_kind_is_verdict(kind) ? SDS_OK : kind;
}

// In the order of slots, so that a cookie means the same when sets were published meanwhile.
static void list_sets(struct listing *l, uint64_t ordinal) {
    struct annotation_catalog *catalog = annotations_hold(l->ds);
    const struct annotation_set *set;
    while (l->cookie <= UINT32_MAX &&
           (set = catalog_from_slot(catalog, (uint32_t)l->cookie)) != NULL &&
           l->emit(l->ctx, sds_span_str(set->name), row_node(l->ds, NODE_ROW, set, ordinal, 0),
                   SDS_DIRECTORY, (uint64_t)set->slot + 1)) {
        l->cookie = (uint64_t)set->slot + 1;
    }
    catalog_unref(catalog);
}

static enum sds_kind list_row(struct listing *l, struct sds_node dir, struct sds_err *err) {
    uint32_t field;
    uint64_t ordinal = node_ordinal(l->ds, dir, &field);
    const struct annotation_set *set = node_set(l->ds, dir);
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    enum sds_kind kind = annotation_row(l->ds, set, ordinal, &ref, &row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    bool more = true;
    if (l->cookie == 0) {
        more = l->emit(l->ctx, sds_span_str("annotation.json"),
                       row_node(l->ds, NODE_ROW_TEXT, set, ordinal, 0), SDS_FILE, 1);
        l->cookie = 1;
    }
    if (more) {
        list_fields(&(struct field_listing){.l = l,
                                            .record = &row->annotation.carrier,
                                            .shown = views_of_rows(l->ds->views),
                                            .before = 1,
                                            .dir = dir,
                                            .node_of = row_file});
    }
    sds_cache_release(ref);
    return SDS_OK;
}

static enum sds_kind list_shard_records(struct listing *l, uint64_t shard, struct sds_err *err) {
    struct location at;
    enum sds_kind kind = chain_shard(l->ds, shard, &at, err);
    if (kind == SDS_OK) {
        list_numbers(l, NODE_SHARD_RECORD, SDS_LINK, l->ds->ordinal_width, at.shard->first_ordinal,
                     at.shard->record_count);
        location_fini(&at);
    }
    return kind;
}

enum sds_kind tree_list(struct signal_dataset *ds, struct sds_node dir, uint64_t cookie,
                        sds_list_fn emit, void *ctx, struct sds_err *err) {
    struct listing l = {.ds = ds, .cookie = cookie, .emit = emit, .ctx = ctx};
    const struct sds_snapshot_doc *snapshot = &ds->chain.snapshot;
    bool growing;
    enum sds_kind kind = follow(ds, dir, &growing, err);
    if (kind != SDS_OK) {
        return kind;
    }
    switch (dir.kind) {
    case NODE_ROOT:
        return list_root(&l, err);
    case NODE_RECORDS:
        list_numbers(&l, NODE_RECORD, SDS_DIRECTORY, ds->ordinal_width, 0, snapshot->record_count);
        return SDS_OK;
    case NODE_RECORD:
        return list_record(&l, dir, err);
    case NODE_RECORD_ANNOTATIONS:
        list_sets(&l, dir.key);
        return SDS_OK;
    case NODE_ROW:
        return list_row(&l, dir, err);
    case NODE_SHARDS:
        list_numbers(&l, NODE_SHARD, SDS_DIRECTORY, ds->shard_width, 0, snapshot->shard_count);
        return SDS_OK;
    case NODE_SHARD:
        list_fixed(&l, in_shard, COUNT(in_shard), dir.key);
        return SDS_OK;
    case NODE_SHARD_RECORDS:
        return list_shard_records(&l, dir.key, err);
    case NODE_RAW_DIRECTORY:
        return raw_list(ds, dir.key, cookie, emit, ctx, err);
    default:
        return sds_fail(err, SDS_ERR_INTERNAL, "node", "kind %u is no directory", dir.kind);
    }
}

// ---- paths, for messages; on a server told from what is at hand, since what is wrong may be that

static void name_field(const struct sds_record *record, const struct view_file *file,
                       char name[SDS_NAME_MAX + 1]) {
    if (file->field < record->field_count) {
        view_file_name(record, file, name);
    }
}

static void add_field_name(struct signal_dataset *ds, struct sds_node n, uint64_t ordinal,
                           struct sds_buf *out) {
    struct view_file file = node_file(ds, n);
    char name[SDS_NAME_MAX + 1];
    sds_name_encode(sds_span_str("?"), views[file.view]->suffix, name);
    bool remote = sds_store_is_remote(ds->store);
    struct record_fields fields;
    struct sds_cache_ref *ref = NULL;
    const struct row *row = NULL;
    if (node_is_field(n)) {
        if (remote ? record_fields_at_hand(ds, ordinal, &fields)
                   : record_fields(ds, ordinal, &fields, NULL) == SDS_OK) {
            name_field(fields.record, &file, name);
            record_fields_fini(&fields);
        }
    } else if (remote ? annotation_row_at_hand(ds, node_set(ds, n), ordinal, &ref, &row)
                      : annotation_row(ds, node_set(ds, n), ordinal, &ref, &row, NULL) == SDS_OK) {
        name_field(&row->annotation.carrier, &file, name);
        sds_cache_release(ref);
    }
    (void)!sds_buf_printf(out, "/%s", name);
}

static void add_record_path(struct signal_dataset *ds, struct sds_node n, struct sds_buf *out) {
    static const char *const tails[] = {
        [NODE_RECORD] = "",
        [NODE_PAYLOAD] = "/record.safetensors",
        [NODE_ENTRY] = "/metadata.json",
        [NODE_RECORD_ANNOTATIONS] = "/" ANNOTATIONS,
        [NODE_ROW] = "",
        [NODE_ROW_TEXT] = "/annotation.json",
    };
    uint32_t field = 0;
    uint64_t ordinal = node_ordinal(ds, n, &field);
    (void)!sds_buf_printf(out, "records/%0*llu", (int)ds->ordinal_width,
                          (unsigned long long)ordinal);
    if (n.kind == NODE_ROW || n.kind == NODE_ROW_TEXT || node_is_row_field(n)) {
        (void)!sds_buf_printf(out, "/" ANNOTATIONS "/%s", node_set(ds, n)->name);
    }
    if (node_is_field(n) || node_is_row_field(n)) {
        add_field_name(ds, n, ordinal, out);
    } else {
        (void)!sds_buf_add_str(out, tails[n.kind]);
    }
}

static void add_shard_path(struct signal_dataset *ds, struct sds_node n, struct sds_buf *out) {
    static const char *const tails[] = {
        [NODE_SHARD - NODE_SHARD] = "",
        [NODE_SHARD_TEXT - NODE_SHARD] = "/shard.json",
        [NODE_SHARD_DATA - NODE_SHARD] = "/data.arrayrecord",
        [NODE_SHARD_METADATA - NODE_SHARD] = "/metadata.arrayrecord",
        [NODE_SHARD_RECORDS - NODE_SHARD] = "/records",
    };
    (void)!sds_buf_printf(out, "shards/%0*llu%s", (int)ds->shard_width, (unsigned long long)n.key,
                          tails[n.kind - NODE_SHARD]);
}

static void add_raw_path(struct signal_dataset *ds, struct sds_node n, struct sds_buf *out) {
    struct raw_file file;
    if (n.key == raw_annotations_key()) {
        (void)!sds_buf_add_str(out, ANNOTATIONS);
    } else if ((!sds_store_is_remote(ds->store) || raw_at_hand(ds, n.key)) &&
               raw_get(ds, n.key, &file, NULL) == SDS_OK) {
        (void)!sds_buf_add(out, file.reference.path, file.path_len);
        raw_file_fini(&file);
    }
}

void tree_path(struct signal_dataset *ds, struct sds_node n, struct sds_buf *out) {
    if ((n.kind >= NODE_RECORD && n.kind <= NODE_ROW_TEXT) || node_is_field(n) ||
        node_is_row_field(n)) {
        add_record_path(ds, n, out);
    } else if (n.kind >= NODE_SHARD && n.kind <= NODE_SHARD_RECORDS) {
        add_shard_path(ds, n, out);
    } else if (n.kind == NODE_RAW_DIRECTORY || n.kind == NODE_RAW_FILE) {
        add_raw_path(ds, n, out);
    } else if (n.kind == NODE_SHARD_RECORD) {
        (void)!sds_buf_printf(out, "shards/*/records/%0*llu", (int)ds->ordinal_width,
                              (unsigned long long)n.key);
    } else if (n.kind != NODE_ROOT) {
        (void)!sds_buf_add_str(out, n.kind == NODE_RECORDS ? "records" : "shards");
    }
}
