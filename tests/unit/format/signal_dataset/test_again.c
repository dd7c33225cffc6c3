// SPDX-License-Identifier: Apache-2.0
//
// The driver over a server one of whose answers is wrong in a byte: nobody notices. When all are
// wrong that is told, it costs one more request, and the next to open the dataset asks afresh.
#include "unit.h"

#include <ftw.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/driver.h"
#include "remote/remote_root.h"

static char dir[64];
static struct sds_dataset *ds;

// ---- the sample on a server

static int serve_file(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)walk;
    if (type == FTW_F) {
        FILE *file = fopen(path, "r");
        uint8_t *bytes = malloc((size_t)st->st_size);
        assert_non_null(file);
        assert_int_equal(fread(bytes, 1, (size_t)st->st_size, file), st->st_size);
        fclose(file);
        serve_bytes(&server, path + strlen(SAMPLE) + 1, bytes, (size_t)st->st_size);
        free(bytes);
    }
    return 0;
}

static int begin_sample(void **state) {
    begin(state);
    strcpy(dir, "/tmp/sdsfs-again-XXXXXX");
    options.remote.cache_size = 256 * MIB;
    options.remote.cache_dir = dir;
    ds = NULL;
    return mkdtemp(dir) == NULL || nftw(SAMPLE, serve_file, 16, FTW_PHYS) != 0;
}

static int remove_it(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)st, (void)type, (void)walk;
    return remove(path);
}

static void close_all(void) {
    sds_dataset_close(ds);
    ds = NULL;
    sds_store_close(store);
    store = NULL;
}

static int end_sample(void **state) {
    close_all();
    int failed = end(state);
    nftw(dir, remove_it, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}

// ---- reading it

static sem_t resumed;

static void resume(struct sds_task *task) {
    (void)task;
    sem_post(&resumed);
}

static bool count_entry(void *ctx, const struct sds_scanned *entry) {
    *(unsigned *)ctx += entry->problem == NULL;
    return true;
}

static enum sds_kind read_file(const char *path, struct sds_err *err) {
    struct sds_node node = SDS_NODE_ROOT;
    for (const char *p = path; *p != '\0';) {
        struct sds_span name = sds_span(p, strcspn(p, "/"));
        enum sds_kind kind = ds->ops->lookup(ds, node, name, &node, err);
        if (kind != SDS_OK) {
            return kind;
        }
        p += name.len + (p[name.len] == '/');
    }
    struct sds_pieces pieces;
    enum sds_kind kind = ds->ops->read(ds, node, 0, 1 << 20, &pieces, err);
    if (kind == SDS_OK) {
        pieces.release(pieces.owner);
    }
    return kind;
}

static enum sds_kind once(const char *path, struct sds_err *err) {
    unsigned good = 0;
    if (path != NULL) {
        return read_file(path, err);
    }
    enum sds_kind kind = ds->ops->scan(ds, 0, 48, count_entry, &good, err);
    return kind == SDS_OK && good < 48 ? SDS_ERR_CORRUPT : kind;
}

static enum sds_kind run(const char *path, bool as_task, struct sds_err *err) {
    if (!as_task) {
        return once(path, err);
    }
    struct sds_task task;
    enum sds_kind kind = SDS_ERR_WAITING;
    sds_task_init(&task, resume);
    for (unsigned runs = 0; kind == SDS_ERR_WAITING; runs++) {
        assert_true(runs < 200);
        sds_task_enter(&task);
        kind = once(path, err);
        sds_task_leave();
        if (kind == SDS_ERR_WAITING && sds_task_park(&task)) {
            sem_wait(&resumed);
        }
    }
    sds_task_fini(&task);
    return kind;
}

static enum sds_kind open_sample(struct sds_err *err) {
    open_store();
    struct sds_open_options how = {.cache = ledger, .max_record = 1 << 30, .refresh_ms = 3600000};
    return sds_dataset_open(store, &how, &ds, err);
}

static const char *const files[] = {"records/000000/record.safetensors",
                                    "records/000000/metadata.json",
                                    "records/000000/annotations/review-v1/annotation.json", NULL};

// The first failure of opening it and of all that is read.
static enum sds_kind use(bool as_task, struct sds_err *err) {
    enum sds_kind kind = open_sample(err);
    for (size_t i = 0; kind == SDS_OK && i < sizeof files / sizeof files[0]; i++) {
        kind = run(files[i], as_task, err);
    }
    return kind;
}

// ---- wrong answers

static size_t flip_at;

static void flip(struct scripted_answer *answer) {
    if (flip_at < answer->body_len) {
        uint8_t *copy = served_keep(&server, malloc(answer->body_len));
        memcpy(copy, answer->body, answer->body_len);
        copy[flip_at] ^= 1;
        answer->body = copy;
    }
}

static unsigned gets_of(unsigned from, const char *target) {
    unsigned count = 0, all = scripted_count(server.server);
    for (unsigned i = from; i < all; i++) {
        const struct scripted_request *one = scripted_seen(server.server, i);
        count += strcmp(one->method, "GET") == 0 && strstr(one->target, target) != NULL;
    }
    return count;
}

static const struct wrong {
    const char *target;
    size_t at;    // in the body of an answer
    bool changes; // the object may: it is looked at again anyway
} wrong[] = {
    {"/root.json", 0, false},           {"/root.json", 1, false},
    {"/snapshot.json", 0, false},       {"/manifests/", 0, false},
    {"/catalog.json", 0, true},         {"/catalogs/", 70, false},
    {"/review-v1/0f", 0, false},        {"/objects/data/", 5, false},
    {"/objects/data/", 200, false},     {"/objects/metadata/", 5, false},
    {"/objects/metadata/", 200, false}, {"d7d8dba841", 5, false},
    {"d7d8dba841", 200, false},
};
#define WRONG (sizeof wrong / sizeof wrong[0])

static void expect_ok(enum sds_kind kind, const struct wrong *one, const struct sds_err *err) {
    if (kind != SDS_OK) {
        fail_msg("%s at %zu: %s %s %s", one->target, one->at, err->object, err->check,
                 err->message);
    }
}

// `after` of the answers pass.
static void one_wrong_answer(bool as_task, bool disk, unsigned after) {
    for (size_t i = 0; i < WRONG; i++) {
        struct sds_err err = {.check = ""};
        flip_at = wrong[i].at;
        options.remote.cache_size = disk ? 256 * MIB : 0;
        spoil(&server, (struct spoiler){.method = "GET",
                                        .target = wrong[i].target,
                                        .skip = after,
                                        .times = 1,
                                        .spoil = flip});
        expect_ok(use(as_task, &err), &wrong[i], &err);
        close_all();
        // What was forgotten on the disk comes back with the second mount, and is sound.
        unsigned from = scripted_count(server.server);
        for (int more = 0; more < 2; more++) {
            from = scripted_count(server.server);
            expect_ok(use(as_task, &err), &wrong[i], &err);
            close_all();
        }
        unsigned gets = gets_of(from, wrong[i].target);
        if (disk && after == 0 && !wrong[i].changes && gets > 0) {
            fail_msg("%s at %zu: %u requests", wrong[i].target, wrong[i].at, gets);
        }
        nftw(dir, remove_it, 16, FTW_DEPTH | FTW_PHYS);
        assert_int_equal(mkdir(dir, 0700), 0);
        memset(server.spoilers, 0, sizeof server.spoilers);
    }
}

static void one_wrong_answer_is_no_verdict(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        one_wrong_answer(way % 2, way / 2, 0);
    }
}

static void nor_is_a_later_one(void **state) {
    (void)state;
    one_wrong_answer(true, true, 1);
}

static void what_lasts_is_told(void **state) {
    (void)state;
    for (size_t i = 0; i < WRONG; i++) {
        for (int as_task = 0; as_task < 2; as_task++) {
            struct sds_err err = {.check = ""};
            flip_at = wrong[i].at;
            spoil(&server,
                  (struct spoiler){
                      .method = "GET", .target = wrong[i].target, .times = 1000000, .spoil = flip});
            unsigned from = scripted_count(server.server);
            assert_int_not_equal(use(as_task, &err), SDS_OK);
            if (gets_of(from, wrong[i].target) > 5) {
                fail_msg("%s at %zu: %u requests", wrong[i].target, wrong[i].at,
                         gets_of(from, wrong[i].target));
            }
            close_all();
            memset(server.spoilers, 0, sizeof server.spoilers);
            // Nothing of it is left on the disk.
            expect_ok(use(as_task, &err), &wrong[i], &err);
            close_all();
            nftw(dir, remove_it, 16, FTW_DEPTH | FTW_PHYS);
            assert_int_equal(mkdir(dir, 0700), 0);
        }
    }
}

// A bad entry costs one more request once, however often it is looked at.
static void looking_again_asks_no_more(void **state) {
    (void)state;
    struct sds_err err = {.check = ""};
    flip_at = 200;
    expect_ok(open_sample(&err), &wrong[0], &err);
    spoil(&server,
          (struct spoiler){
              .method = "GET", .target = "/objects/metadata/", .times = 1000000, .spoil = flip});
    unsigned from = scripted_count(server.server), first = 0;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(run(files[1], i % 2, &err), SDS_ERR_CORRUPT);
        first = i == 0 ? gets_of(from, "/objects/metadata/") : first;
    }
    assert_true(gets_of(from, "/objects/metadata/") <= first + 20);
    unsigned doubts = (unsigned)sds_store_doubts(store);
    assert_in_range(doubts, 1, 3);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_sample, end_sample)
    const struct CMUnitTest tests[] = {
        TEST(one_wrong_answer_is_no_verdict),
        TEST(nor_is_a_later_one),
        TEST(what_lasts_is_told),
        TEST(looking_again_asks_no_more),
    };
    sem_init(&resumed, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
