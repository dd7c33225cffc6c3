// SPDX-License-Identifier: Apache-2.0
//
// The driver over a store that makes one wait and can fail: everything is the same as on a disk, an
// outage is told as one and is over when it is over.
#include "slow_store.h"
#include "temp_root.h"

#include "base/clock.h"
#include "format/signal_dataset/dataset.h"

#define SAMPLE SDSFS_TEST_DATA "/sample.sds"
#define MAX_NODES 2048

struct mounted {
    struct sds_cache *cache;
    struct sds_store *store;
    struct slow_store *slow; // NULL: the plain store
    struct sds_dataset *ds;
    bool as_tasks;
    unsigned runs; // of tasks, beyond the first of each
};

// ---- calls, as tasks or not

enum what { LOOKUP, GETATTR, LIST, READ, LINK, XATTRS };

struct call {
    enum what what;
    struct sds_node node;
    struct sds_span name; // LOOKUP
    // Answers.
    struct sds_node found;
    struct sds_attr attr;
    struct sds_buf text;
    struct sds_node *children; // LIST: room for MAX_NODES
    size_t child_count;
    struct sds_err err;
};

static bool take_entry(void *ctx, struct sds_span name, struct sds_node node,
                       enum sds_node_type type, uint64_t next) {
    struct call *call = ctx;
    assert_int_equal(sds_buf_printf(&call->text, "%.*s %d %d %llx %llu\n", (int)name.len,
                                    (const char *)name.at, type, node.kind,
                                    (unsigned long long)node.key, (unsigned long long)next),
                     SDS_OK);
    if (call->children != NULL) {
        assert_true(call->child_count < MAX_NODES);
        call->children[call->child_count++] = node;
    }
    return true;
}

static bool take_xattr(void *ctx, const char *name, struct sds_span value) {
    struct call *call = ctx;
    assert_int_equal(
        sds_buf_printf(&call->text, "%s=%.*s\n", name, (int)value.len, (const char *)value.at),
        SDS_OK);
    return true;
}

static enum sds_kind read_all(struct sds_dataset *ds, struct call *call) {
    for (uint64_t off = 0;;) {
        struct sds_pieces pieces;
        enum sds_kind kind = ds->ops->read(ds, call->node, off, 64 << 10, &pieces, &call->err);
        if (kind != SDS_OK) {
            return kind;
        }
        uint64_t got = 0;
        for (int i = 0; i < pieces.count; i++) {
            got += pieces.iov[i].iov_len;
            assert_int_equal(
                sds_buf_add(&call->text, pieces.iov[i].iov_base, pieces.iov[i].iov_len), SDS_OK);
        }
        pieces.release(pieces.owner);
        if (got == 0) {
            return SDS_OK;
        }
        off += got;
    }
}

static enum sds_kind make(struct sds_dataset *ds, struct call *call) {
    call->text.len = 0;
    call->child_count = 0;
    switch (call->what) {
    case LOOKUP:
        return ds->ops->lookup(ds, call->node, call->name, &call->found, &call->err);
    case GETATTR:
        return ds->ops->getattr(ds, call->node, &call->attr, &call->err);
    case LIST:
        return ds->ops->list(ds, call->node, 0, take_entry, call, &call->err);
    case READ:
        return read_all(ds, call);
    case LINK:
        return ds->ops->readlink(ds, call->node, &call->text, &call->err);
    case XATTRS:
        return ds->ops->xattrs(ds, call->node, take_xattr, call, &call->err);
    }
    return SDS_ERR_INTERNAL;
}

static void never(struct sds_task *task) {
    (void)task;
    fail_msg("nothing was parked");
}

static enum sds_kind run_call(struct mounted *m, struct call *call) {
    if (!m->as_tasks) {
        return make(m->ds, call);
    }
    struct sds_task task;
    sds_task_init(&task, never);
    enum sds_kind kind;
    for (unsigned runs = 0;; runs++) {
        assert_true(runs < 100); // it gets further each time
        sds_task_enter(&task);
        kind = make(m->ds, call);
        sds_task_leave();
        if (kind != SDS_ERR_WAITING) {
            break;
        }
        m->runs++;
        slow_release(m->slow);
        assert_false(sds_task_park(&task)); // what it waited for has happened
    }
    sds_task_fini(&task);
    return kind;
}

// ---- datasets

static void mount_at(struct mounted *m, const char *directory, bool slow, size_t mem_cache) {
    *m = (struct mounted){.cache = sds_cache_new(mem_cache)};
    if (slow) {
        m->slow = slow_store_new(directory);
        m->store = &m->slow->base;
    } else {
        struct sds_store_options how = {.cache = m->cache};
        assert_int_equal(sds_store_open(directory, &how, &m->store, NULL), SDS_OK);
    }
    m->as_tasks = slow;
}

static void mount_how(struct mounted *m, bool slow, size_t mem_cache) {
    mount_at(m, SAMPLE, slow, mem_cache);
}

static enum sds_kind open_how(struct mounted *m, struct sds_open_options options,
                              struct sds_err *err) {
    options.cache = m->cache;
    options.max_record = 1 << 30;
    return sds_dataset_open(m->store, &options, &m->ds, err);
}

static void open_slow(struct mounted *m, size_t mem_cache) {
    mount_how(m, true, mem_cache);
    assert_int_equal(open_how(m, (struct sds_open_options){.refresh_ms = 3600000}, NULL), SDS_OK);
}

static void close_all(struct mounted *m) {
    sds_dataset_close(m->ds);
    sds_store_close(m->store);
    sds_cache_free(m->cache);
}

// ---- the whole tree as text

static void describe_call(struct call *call, enum sds_kind kind, struct sds_buf *out) {
    assert_int_equal(sds_buf_printf(out, "%d %d %llx: %d", call->what, call->node.kind,
                                    (unsigned long long)call->node.key, kind),
                     SDS_OK);
    if (kind == SDS_OK && call->what == GETATTR) {
        assert_int_equal(sds_buf_printf(out, " %d %llu %d %d %lld.%ld", call->attr.type,
                                        (unsigned long long)call->attr.size, call->attr.growing,
                                        call->attr.changing, (long long)call->attr.mtime.tv_sec,
                                        call->attr.mtime.tv_nsec),
                         SDS_OK);
    } else if (kind == SDS_OK && call->what == LOOKUP) {
        assert_int_equal(
            sds_buf_printf(out, " %d %llx", call->found.kind, (unsigned long long)call->found.key),
            SDS_OK);
    } else if (kind == SDS_OK) {
        assert_int_equal(sds_buf_add_span(out, sds_buf_span(&call->text)), SDS_OK);
    }
    assert_int_equal(sds_buf_add(out, "\n", 1), SDS_OK);
}

// Every n-th record; the rest of the tree whole.
struct walk {
    struct mounted *m;
    struct sds_buf *out;
    unsigned depth;
};

static void call_and_tell(struct walk *walk, struct call *call) {
    describe_call(call, run_call(walk->m, call), walk->out);
}

static void walk_node(struct walk *walk, struct sds_node node) {
    static const enum what of_file[] = {READ, XATTRS}, of_link[] = {LINK, XATTRS};
    struct call call = {.what = GETATTR, .node = node, .text = SDS_BUF_INIT(64 << 20)};
    call_and_tell(walk, &call);
    const enum what *rest = call.attr.type == SDS_LINK ? of_link : of_file;
    for (int i = 0; call.attr.type != SDS_DIRECTORY && i < 2; i++) {
        call.what = rest[i];
        call_and_tell(walk, &call);
    }
    if (call.attr.type == SDS_DIRECTORY) {
        call.what = XATTRS;
        call_and_tell(walk, &call);
        call.what = LIST;
        call.children = malloc(MAX_NODES * sizeof *call.children);
        call_and_tell(walk, &call);
        struct sds_buf names = SDS_BUF_INIT(64 << 20);
        assert_int_equal(sds_buf_add_span(&names, sds_buf_span(&call.text)), SDS_OK);
        char *line = (char *)names.at;
        assert_true(walk->depth < 16);
        walk->depth++;
        for (size_t i = 0; i < call.child_count; i++) {
            struct call lookup = {.what = LOOKUP, .node = node};
            lookup.name = sds_span(line, strcspn(line, " "));
            line = strchr(line, '\n') + 1;
            call_and_tell(walk, &lookup);
            if (node.kind != 2 || i % 12 == 0) { // records/
                walk_node(walk, call.children[i]);
            }
        }
        walk->depth--;
        sds_buf_fini(&names);
        free(call.children);
    }
    sds_buf_fini(&call.text);
}

static struct sds_buf whole_tree(struct mounted *m) {
    struct sds_buf out = SDS_BUF_INIT(256 << 20);
    struct walk walk = {.m = m, .out = &out};
    walk_node(&walk, SDS_NODE_ROOT);
    assert_int_equal(sds_buf_add(&out, "", 1), SDS_OK);
    return out;
}

static struct sds_buf plain_tree(void) {
    struct mounted m;
    mount_how(&m, false, 16 << 20);
    assert_int_equal(open_how(&m, (struct sds_open_options){.refresh_ms = 3600000}, NULL), SDS_OK);
    struct sds_buf out = whole_tree(&m);
    close_all(&m);
    return out;
}

static void expect_same(struct sds_buf *a, struct sds_buf *b) {
    assert_true(a->len > 100000);
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->at, b->at, a->len);
}

static void everything_is_the_same(void **state) {
    (void)state;
    // With memory, and with so little that whatever is not held is gone by the next run.
    static const size_t caches[] = {16 << 20, 64 << 10, 1};
    struct sds_buf plain = plain_tree();
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++) {
        for (int way = 0; way < 4; way++) {
            struct mounted m;
            open_slow(&m, caches[i]);
            m.as_tasks = way % 2 == 0;
            m.slow->no_prefetch = way / 2;
            struct sds_buf slow = whole_tree(&m);
            expect_same(&plain, &slow);
            assert_true(!m.as_tasks || m.runs > (m.slow->no_prefetch ? 20u : 5u));
            sds_buf_fini(&slow);
            close_all(&m);
        }
    }
    sds_buf_fini(&plain);
}

// ---- requests

static struct sds_node find(struct mounted *m, const char *path) {
    struct call call = {.what = LOOKUP, .node = SDS_NODE_ROOT};
    for (const char *p = path; *p != '\0';) {
        call.name = sds_span(p, strcspn(p, "/"));
        assert_int_equal(run_call(m, &call), SDS_OK);
        call.node = call.found;
        p += call.name.len + (p[call.name.len] == '/');
    }
    return call.node;
}

static void read_node(struct mounted *m, struct sds_node node) {
    struct call call = {.what = READ, .node = node, .text = SDS_BUF_INIT(1 << 20)};
    assert_int_equal(run_call(m, &call), SDS_OK);
    assert_true(call.text.len > 0);
    sds_buf_fini(&call.text);
}

static void opening_takes_five_requests(void **state) {
    (void)state;
    struct mounted m;
    open_slow(&m, 16 << 20);
    assert_int_equal(m.slow->sent, 5); // root, snapshot, catalog, revision, one set
    close_all(&m);
}

static void a_record_takes_one_request(void **state) {
    (void)state;
    struct mounted m;
    open_slow(&m, 16 << 20);
    read_node(&m, find(&m, "records/000003/record.safetensors")); // the index
    unsigned before = m.slow->sent, data = m.slow->sent_data;
    read_node(&m, find(&m, "records/000011/record.safetensors"));
    assert_true(m.slow->sent_data - data <= 1);
    assert_int_equal(m.slow->sent - before, m.slow->sent_data - data);
    before = m.slow->sent;
    read_node(&m, find(&m, "records/000011/record.safetensors"));
    assert_int_equal(m.slow->sent, before);
    close_all(&m);
}

// The same store was looked at first: by who asked whose root it is.
static void a_look_at_the_catalog_takes_one_request(void **state) {
    (void)state;
    struct mounted m;
    open_slow(&m, 16 << 20);
    struct signal_dataset *ds = (struct signal_dataset *)m.ds;
    struct sds_node dir = find(&m, "records/000003/annotations");
    struct call call = {.what = LIST, .node = dir, .text = SDS_BUF_INIT(1 << 20)};
    unsigned before = m.slow->sent;
    ds->follow.next_ms = 0;
    assert_int_equal(run_call(&m, &call), SDS_OK);
    assert_int_equal(m.slow->sent, before + 1);
    assert_int_equal(run_call(&m, &call), SDS_OK);
    assert_int_equal(m.slow->sent, before + 1);
    sds_buf_fini(&call.text);
    close_all(&m);
}

// ---- outages

static const enum sds_kind outages[] = {SDS_ERR_STORAGE, SDS_ERR_TIMEOUT, SDS_ERR_DENIED};

struct told {
    unsigned count;
    enum sds_kind kind;
};

static void note_problem(void *ctx, const struct sds_err *problem) {
    struct told *told = ctx;
    told->count++;
    told->kind = problem->kind;
}

static void the_catalog_outlives_an_outage(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct mounted m;
        struct told told = {0};
        mount_how(&m, true, 16 << 20);
        struct sds_open_options how = {.refresh_ms = 30000, .warn = note_problem, .ctx = &told};
        assert_int_equal(open_how(&m, how, NULL), SDS_OK);
        struct signal_dataset *ds = (struct signal_dataset *)m.ds;
        struct call call = {.what = LIST,
                            .node = find(&m, "records/000003/annotations"),
                            .text = SDS_BUF_INIT(1 << 20)};
        m.slow->outage = outages[i];
        for (int again = 0; again < 2; again++) {
            ds->follow.next_ms = 0;
            assert_int_equal(run_call(&m, &call), SDS_OK);
            assert_int_equal(strncmp((char *)call.text.at, "review-v1 ", 10), 0);
        }
        assert_int_equal(told.count, 1);
        assert_int_equal(told.kind, outages[i]);
        int64_t soon = ds->follow.next_ms - (int64_t)sds_clock_ms();
        assert_true(outages[i] == SDS_ERR_DENIED ? soon > 20000 : soon > 0 && soon <= 1000);
        m.slow->outage = SDS_OK;
        ds->follow.next_ms = 0;
        assert_int_equal(run_call(&m, &call), SDS_OK);
        assert_int_equal(ds->follow.told.kind, SDS_OK);
        sds_buf_fini(&call.text);
        close_all(&m);
    }
}

// ---- objects that show only when they are read what they are

#define DATA_SHARDS "objects/data/5a/*.arrayrecord objects/data/dc/*.arrayrecord"
#define METADATA_SHARDS "objects/metadata/5a/*.arrayrecord objects/metadata/dc/*.arrayrecord"

static void in_directory(const struct temp_root *root, const char *command) {
    char *line = temp_root_format("cd '%s' && %s", root->path, command);
    assert_int_equal(system(line), 0);
    free(line);
}

static void expect_bad(struct mounted *m, enum what what, const char *path, const char *check) {
    struct call call = {.what = what, .node = find(m, path), .text = SDS_BUF_INIT(1 << 20)};
    assert_int_equal(run_call(m, &call), SDS_ERR_CORRUPT);
    assert_string_equal(call.err.check, check);
    sds_buf_fini(&call.text);
}

static void what_is_named_and_not_there_is_bad(void **state) {
    (void)state;
    static const struct {
        const char *command, *check;
    } cases[] = {
        {"rm " DATA_SHARDS " " METADATA_SHARDS, "absent"},
        {"for f in " DATA_SHARDS " " METADATA_SHARDS "; do truncate -s 131000 $f; done",
         "stored_bytes"},
    };
    for (int i = 0; i < 4; i++) {
        struct temp_root root = {0};
        struct mounted m;
        temp_root_make(&root);
        temp_root_copy(&root, SAMPLE);
        in_directory(&root, cases[i / 2].command);
        mount_at(&m, root.path, true, 16 << 20);
        m.as_tasks = i % 2;
        assert_int_equal(open_how(&m, (struct sds_open_options){.refresh_ms = 3600000}, NULL),
                         SDS_OK);
        const char *check = cases[i / 2].check;
        expect_bad(&m, READ, "records/000003/record.safetensors", check);
        expect_bad(&m, GETATTR, "records/000003/record.safetensors", check);
        expect_bad(&m, READ, "records/000003/metadata.json", check);
        expect_bad(&m, XATTRS, "records/000003", check);
        struct call call = {.what = LIST, .node = find(&m, "objects/data/5a")};
        call.text = SDS_BUF_INIT(1 << 20);
        call.children = malloc(MAX_NODES * sizeof *call.children);
        assert_int_equal(run_call(&m, &call), SDS_OK);
        assert_int_equal(call.child_count, 1);
        call.what = READ;
        call.node = call.children[0];
        assert_int_equal(run_call(&m, &call), SDS_ERR_CORRUPT);
        assert_string_equal(call.err.check, check);
        free(call.children);
        sds_buf_fini(&call.text);
        close_all(&m);
        in_directory(&root, "rm -r ./*");
        assert_int_equal(rmdir(root.path), 0);
    }
}

// ---- tasks that meet

struct parked_task {
    struct sds_task task; // first: resumed gets its address
    struct call call;
    bool resumed;
};

static void resumed(struct sds_task *task) {
    ((struct parked_task *)task)->resumed = true;
}

static enum sds_kind run_once(struct mounted *m, struct parked_task *parked) {
    parked->resumed = false;
    sds_task_enter(&parked->task);
    enum sds_kind kind = make(m->ds, &parked->call);
    sds_task_leave();
    return kind;
}

static void begin_task(struct parked_task *parked, struct sds_node node) {
    *parked =
        (struct parked_task){.call = {.what = LIST, .node = node, .text = SDS_BUF_INIT(1 << 20)}};
    sds_task_init(&parked->task, resumed);
}

static void end_task(struct parked_task *parked) {
    sds_task_fini(&parked->task);
    sds_buf_fini(&parked->call.text);
}

static void one_task_looks_and_others_wait(void **state) {
    (void)state;
    // The one that looks ends as it should, or is killed while it waits.
    for (int killed = 0; killed < 2; killed++) {
        struct mounted m;
        struct parked_task first, second;
        open_slow(&m, 16 << 20);
        struct signal_dataset *ds = (struct signal_dataset *)m.ds;
        struct sds_node dir = find(&m, "records/000003/annotations");
        begin_task(&first, dir);
        begin_task(&second, dir);
        unsigned before = m.slow->sent;
        ds->follow.next_ms = 0;
        assert_int_equal(run_once(&m, &first), SDS_ERR_WAITING);
        assert_true(sds_task_park(&first.task));
        assert_int_equal(run_once(&m, &second), SDS_ERR_WAITING);
        assert_true(sds_task_park(&second.task));
        assert_int_equal(m.slow->sent, before + 1);
        if (killed) {
            assert_true(sds_task_unpark(&first.task));
            end_task(&first);
            assert_true(second.resumed);
            assert_int_equal(run_once(&m, &second), SDS_ERR_WAITING); // looks itself
            slow_release(m.slow);
            assert_false(sds_task_park(&second.task));
        } else {
            slow_release(m.slow);
            assert_true(first.resumed);
            assert_false(second.resumed);
            assert_int_equal(run_once(&m, &first), SDS_OK);
            assert_true(second.resumed);
        }
        assert_int_equal(run_once(&m, &second), SDS_OK);
        assert_int_equal(m.slow->sent, before + (killed ? 2 : 1));
        assert_true(second.call.text.len > 0);
        if (!killed) {
            end_task(&first);
        }
        end_task(&second);
        close_all(&m);
    }
}

static void a_task_looks_once_however_often_it_runs(void **state) {
    (void)state;
    struct mounted m;
    mount_how(&m, true, 16 << 20);
    m.slow->no_prefetch = true;
    assert_int_equal(open_how(&m, (struct sds_open_options){.refresh_ms = 0}, NULL), SDS_OK);
    // Knows its parents only by the raw tree, so it waits for a page besides.
    struct call call = {.what = LIST, .node = SDS_NODE_ROOT, .text = SDS_BUF_INIT(1 << 20)};
    call.children = malloc(MAX_NODES * sizeof *call.children);
    assert_int_equal(run_call(&m, &call), SDS_OK);
    struct sds_node sets = find(&m, "annotations/sets");
    unsigned before = m.slow->sent;
    call.node = sets;
    assert_int_equal(run_call(&m, &call), SDS_OK);
    assert_int_equal(m.slow->sent, before + 1);
    free(call.children);
    sds_buf_fini(&call.text);
    close_all(&m);
}

static void a_catalog_that_is_refused(void **state) {
    (void)state;
    // The third request is the catalog's.
    struct told told = {0};
    struct sds_err err;
    struct mounted m;
    mount_how(&m, true, 16 << 20);
    m.slow->fail_at = 3;
    m.slow->fault = SDS_ERR_DENIED;
    struct sds_open_options how = {.warn = note_problem, .ctx = &told, .refresh_ms = 30000};
    assert_int_equal(open_how(&m, how, &err), SDS_ERR_DENIED);
    assert_string_equal(err.object, "annotations/catalog.json");
    assert_non_null(strstr(err.message, "tolerate=annotations"));
    close_all(&m);

    mount_how(&m, true, 16 << 20);
    m.slow->fail_at = 3;
    m.slow->fault = SDS_ERR_DENIED;
    how.tolerate_annotations = true;
    assert_int_equal(open_how(&m, how, &err), SDS_OK);
    assert_int_equal(told.count, 1);
    struct call call = {.what = LIST,
                        .node = find(&m, "records/000003/annotations"),
                        .text = SDS_BUF_INIT(1 << 20)};
    assert_int_equal(run_call(&m, &call), SDS_OK);
    assert_int_equal(call.text.len, 0);
    sds_buf_fini(&call.text);
    close_all(&m);
}

// Some of everything, as calls by path.
static const char *const paths[] = {"",
                                    "records/000003",
                                    "records/000003/samples.npy",
                                    "records/000003/samples.1.sigmf-meta",
                                    "records/000003/samples.0.sigmf-data",
                                    "records/000003/metadata.json",
                                    "records/000003/record.safetensors",
                                    "records/000047/annotations/review-v1",
                                    "records/000047/annotations/review-v1/annotation.json",
                                    "shards/000001/shard.json",
                                    "shards/000001/records",
                                    "shards/000001/records/000030",
                                    "shards/000000/data.arrayrecord",
                                    "root.json",
                                    "annotations/catalog.json",
                                    "annotations/sets/review-v1",
                                    "manifests/f6/v1-00000000.json",
                                    "objects/data"};
#define PATHS (sizeof paths / sizeof paths[0])

static bool is_fault(enum sds_kind kind, enum sds_kind fault, const struct sds_err *err) {
    return kind == fault && strcmp(err->check, "slow") == 0;
}

// Walks to a path and does what there is to do there; the answers as text. fault: what may be told
// instead, and then counted.
static struct sds_buf answers_at(struct mounted *m, const char *path, enum sds_kind fault,
                                 unsigned *faults) {
    struct sds_buf out = SDS_BUF_INIT(64 << 20);
    struct call call = {.what = LOOKUP, .node = SDS_NODE_ROOT, .text = SDS_BUF_INIT(64 << 20)};
    static const enum what at_end[] = {GETATTR, LIST, READ, LINK, XATTRS};
    enum sds_kind kind = SDS_OK;
    for (const char *p = path; kind == SDS_OK && *p != '\0';) {
        call.name = sds_span(p, strcspn(p, "/"));
        kind = run_call(m, &call);
        call.node = call.found;
        p += call.name.len + (p[call.name.len] == '/');
    }
    for (size_t i = 0; kind == SDS_OK && i < 5; i++) {
        call.what = at_end[i];
        enum sds_node_type type = call.attr.type;
        if (i == 0 || i == 4 || (i == 1 && type == SDS_DIRECTORY) || (i == 2 && type == SDS_FILE) ||
            (i == 3 && type == SDS_LINK)) {
            kind = run_call(m, &call);
            describe_call(&call, kind, &out);
        }
    }
    if (kind != SDS_OK) {
        assert_true(is_fault(kind, fault, &call.err));
        *faults += 1;
        out.len = 0;
    }
    sds_buf_fini(&call.text);
    return out;
}

static void expect_right(struct mounted *m, const struct sds_buf *right, enum sds_kind fault,
                         unsigned *faults) {
    for (size_t i = 0; i < PATHS; i++) {
        unsigned before = *faults;
        struct sds_buf got = answers_at(m, paths[i], fault, faults);
        if (*faults == before) {
            assert_int_equal(got.len, right[i].len);
            assert_memory_equal(got.at, right[i].at, got.len);
        }
        sds_buf_fini(&got);
    }
}

static void right_answers(struct sds_buf right[PATHS]) {
    struct mounted m;
    unsigned none = 0;
    mount_how(&m, false, 16 << 20);
    assert_int_equal(open_how(&m, (struct sds_open_options){.refresh_ms = 3600000}, NULL), SDS_OK);
    for (size_t i = 0; i < PATHS; i++) {
        right[i] = answers_at(&m, paths[i], SDS_OK, &none);
    }
    assert_int_equal(none, 0);
    close_all(&m);
}

// Each request fails once, in tasks and out of them.
static void one_fault_anywhere(void **state) {
    (void)state;
    struct sds_buf right[PATHS];
    right_answers(right);
    for (int way = 0; way < 12; way++) {
        enum sds_kind fault = outages[way / 4];
        for (unsigned n = 1;; n++) {
            struct mounted m;
            struct sds_err err;
            unsigned faults = 0, none = 0;
            mount_how(&m, true, 16 << 20);
            m.as_tasks = way % 2 == 0;
            m.slow->fail_at = n;
            m.slow->fault = fault;
            m.slow->no_prefetch = way / 2 % 2;
            struct sds_open_options how = {.refresh_ms = 3600000};
            enum sds_kind kind = open_how(&m, how, &err);
            if (kind != SDS_OK) {
                assert_true(is_fault(kind, fault, &err));
                faults++;
                assert_int_equal(open_how(&m, how, &err), SDS_OK);
            }
            expect_right(&m, right, fault, &faults);
            bool hit = m.slow->answered >= n;
            assert_true(hit || n > (m.slow->no_prefetch ? 20u : 10u));
            m.slow->fail_at = 0;
            expect_right(&m, right, SDS_OK, &none); // it is over
            assert_int_equal(none, 0);
            close_all(&m);
            if (!hit) {
                break;
            }
        }
    }
    for (size_t i = 0; i < PATHS; i++) {
        sds_buf_fini(&right[i]);
    }
}

static void an_outage_is_never_absence(void **state) {
    (void)state;
    struct sds_buf right[PATHS];
    right_answers(right);
    for (int way = 0; way < 6; way++) {
        // From the start, and after having seen it all with a cache that holds little of it.
        for (int seen = 0; seen < 2; seen++) {
            struct mounted m;
            unsigned faults = 0, none = 0;
            open_slow(&m, seen ? 256 << 10 : 16 << 20);
            m.as_tasks = way % 2 == 0;
            if (seen) {
                expect_right(&m, right, SDS_OK, &none);
            }
            m.slow->outage = outages[way / 2];
            expect_right(&m, right, outages[way / 2], &faults);
            assert_true(seen || faults > PATHS / 2);
            m.slow->outage = SDS_OK;
            expect_right(&m, right, SDS_OK, &none);
            assert_int_equal(none, 0);
            close_all(&m);
        }
    }
    for (size_t i = 0; i < PATHS; i++) {
        sds_buf_fini(&right[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_the_same),
        cmocka_unit_test(opening_takes_five_requests),
        cmocka_unit_test(a_record_takes_one_request),
        cmocka_unit_test(a_look_at_the_catalog_takes_one_request),
        cmocka_unit_test(the_catalog_outlives_an_outage),
        cmocka_unit_test(a_catalog_that_is_refused),
        cmocka_unit_test(what_is_named_and_not_there_is_bad),
        cmocka_unit_test(one_task_looks_and_others_wait),
        cmocka_unit_test(a_task_looks_once_however_often_it_runs),
        cmocka_unit_test(one_fault_anywhere),
        cmocka_unit_test(an_outage_is_never_absence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
