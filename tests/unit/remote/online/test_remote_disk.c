// SPDX-License-Identifier: Apache-2.0
//
// A second pass with the disk cache: by the same store, by another one, and when it breaks.
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "remote/remote_root.h"

static char dir[64];

static int begin_disk(void **state) {
    begin(state);
    strcpy(dir, "/tmp/sdsfs-remote-disk-XXXXXX");
    options.remote.cache_size = 256 * MIB;
    options.remote.cache_dir = dir;
    return mkdtemp(dir) == NULL;
}

static int remove_it(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)st, (void)type, (void)walk;
    return remove(path);
}

static int end_disk(void **state) {
    int failed = end(state);
    nftw(dir, remove_it, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}

// As a remount: nothing is left in memory, all is written.
static void reopen(void) {
    sds_store_close(store);
    open_store();
}

static void read_pass(void) {
    struct sds_object *object = NULL;
    assert_int_equal(sds_store_object(store, "root.json", SDS_IMMUTABLE, NULL, &object, NULL),
                     SDS_OK);
    assert_int_equal(sds_object_info(object)->size, 700);
    read_good(object, 1, 0, 700);
    sds_object_close(object);
    object = open_object("metadata", 3 * MIB, true);
    read_good(object, 2, MIB, KIB);
    read_good(object, 2, 2 * MIB, KIB);
    sds_object_close(object);
    object = open_object("shard", 8 * MIB, false);
    for (uint64_t i = 0; i < 32; i++) {
        read_good(object, 3, i * 37 % 128 * 64 * KIB, 64 * KIB);
    }
    sds_object_close(object);
    object = open_object("series", 4 * MIB, false);
    for (uint64_t off = 0; off < 4 * MIB; off += 128 * KIB) {
        read_good(object, 4, off, 128 * KIB);
    }
    sds_object_close(object);
}

static void serve_all(void) {
    serve(&server, "root.json", 700, 1);
    serve(&server, "metadata", 3 * MIB, 2);
    serve(&server, "shard", 8 * MIB, 3);
    serve(&server, "series", 4 * MIB, 4);
}

static void a_second_pass_asks_for_versions_only(void **state) {
    (void)state;
    serve_all();
    open_store();
    read_pass();
    assert_int_equal(asked(&server, 0, "HEAD"), 0);
    reopen(); // which has all of it written, since it is less than the queue holds
    unsigned before = scripted_count(server.server);
    read_pass();
    assert_int_equal(asked(&server, before, "HEAD"), 4);
    assert_int_equal(asked(&server, before, "GET"), 0);
    before = scripted_count(server.server);
    read_pass();
    assert_int_equal(asked(&server, before, NULL), 0);
}

// From the reload on: of an object that was open and read before, too.
static void one_that_begins_with_a_reload(void **state) {
    (void)state;
    serve_all();
    options.remote.cache_size = 0;
    open_store();
    struct sds_object *object = open_object("shard", 8 * MIB, false);
    read_good(object, 3, 0, 64 * KIB);
    sds_store_reload(store, 0);
    read_good(object, 3, 1 * MIB, 64 * KIB);
    sds_store_reload(store, 256 * MIB);
    read_good(object, 3, 2 * MIB, 64 * KIB);
    sds_store_reload(store, 128 * MIB); // is another size of the same
    read_good(object, 3, 4 * MIB, 64 * KIB);
    sds_object_close(object);
    options.remote.cache_size = 128 * MIB;
    reopen();
    unsigned before = scripted_count(server.server);
    object = open_object("shard", 8 * MIB, false);
    read_good(object, 3, 2 * MIB, 64 * KIB);
    read_good(object, 3, 4 * MIB, 64 * KIB);
    assert_int_equal(asked(&server, before, "GET"), 0);
    read_good(object, 3, 1 * MIB, 64 * KIB);
    assert_int_equal(asked(&server, before, "GET"), 1);
    sds_object_close(object);
}

// More objects than the store keeps at hand: their versions are remembered all the same.
static void many_objects(void **state) {
    (void)state;
    char path[32];
    serve(&server, "many", 20 * KIB, 6);
    open_store();
    for (unsigned pass = 0; pass < 3; pass++) {
        unsigned before = scripted_count(server.server);
        for (unsigned i = 0; i < 100; i++) {
            snprintf(path, sizeof path, "many?%u", i);
            struct sds_object *object = open_object(path, 20 * KIB, false);
            read_good(object, 6, 0, 20 * KIB);
            sds_object_close(object);
        }
        assert_int_equal(asked(&server, before, "GET"), pass == 0 ? 100 : 0);
        assert_int_equal(asked(&server, before, "HEAD"), pass == 1 ? 100 : 0);
        if (pass == 0) {
            reopen();
        }
    }
}

static void another_version_is_fetched(void **state) {
    (void)state;
    serve_all();
    open_store();
    read_pass();
    reopen();
    serve(&server, "shard", 8 * MIB, 5);
    struct sds_object *object = open_object("shard", 8 * MIB, false);
    read_good(object, 5, 0, 64 * KIB);
    read_good(object, 5, 64 * KIB, 64 * KIB);
    sds_object_close(object);
}

static void what_is_missing_there_is_fetched(void **state) {
    (void)state;
    serve_all();
    open_store();
    struct sds_object *object = open_object("shard", 8 * MIB, false);
    read_good(object, 3, MIB, 256 * KIB);
    sds_object_close(object);
    reopen();
    unsigned before = scripted_count(server.server);
    object = open_object("shard", 8 * MIB, false);
    read_good(object, 3, 900 * KIB, MIB);
    sds_object_close(object);
    assert_int_equal(asked_bytes(&server, before), MIB - 256 * KIB);
}

static void replaceable_objects_are_never_cached(void **state) {
    (void)state;
    struct sds_blob *blob = NULL;
    for (uint64_t seed = 1; seed < 4; seed++) {
        serve(&server, "catalog.json", 500, seed);
        open_store();
        assert_int_equal(
            sds_store_read_all(store, "catalog.json", NULL, MIB, SDS_REPLACEABLE, &blob, NULL),
            SDS_OK);
        expect_bytes(blob->at, seed, 0, 500);
        sds_blob_unref(blob);
        sds_store_close(store);
        store = NULL;
    }
    assert_int_equal(asked(&server, 0, "GET"), 3);
    assert_int_equal(scripted_count(server.server), 3);
}

static void without_version(struct scripted_answer *answer) {
    answer->headers = strstr(answer->headers, "Accept-Ranges");
}

static void what_has_no_version_is_not_kept(void **state) {
    (void)state;
    spoil(&server, (struct spoiler){.times = 1000, .spoil = without_version});
    serve_all();
    open_store();
    read_pass();
    reopen();
    serve(&server, "shard", 8 * MIB, 5); // of the same size
    struct sds_object *object = open_object("shard", 8 * MIB, false);
    read_good(object, 5, 0, 64 * KIB);
    sds_object_close(object);
}

static void refuse_it(struct scripted_answer *answer) {
    answer->status = 405;
}

static void a_second_pass_where_head_is_refused(void **state) {
    (void)state;
    spoil(&server,
          (struct spoiler){.method = "HEAD", .times = 1000, .spoil = refuse_it, .instead = true});
    serve_all();
    open_store();
    read_pass();
    reopen();
    unsigned before = scripted_count(server.server);
    read_pass();
    assert_int_equal(asked(&server, before, "HEAD"), 1);
    assert_int_equal(asked(&server, before, "GET"), 4);
    assert_int_equal(asked_bytes(&server, before), 4);
}

static void flip(const char *path) {
    int fd = open(path, O_RDWR);
    char byte;
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        for (off_t off = 0; off < st.st_size; off += 1009) {
            if (pread(fd, &byte, 1, off) == 1) {
                byte ^= 0x55;
                assert_int_equal(pwrite(fd, &byte, 1, off), 1);
            }
        }
    }
    close(fd);
}

static int flip_it(const char *path, const struct stat *st, int type, struct FTW *walk) {
    (void)st, (void)walk;
    if (type == FTW_F) {
        flip(path);
    }
    return 0;
}

static void a_broken_cache_is_no_error(void **state) {
    (void)state;
    serve_all();
    open_store();
    read_pass();
    sds_store_close(store);
    nftw(dir, flip_it, 16, FTW_PHYS);
    open_store();
    read_pass();
    sds_store_close(store);
    nftw(dir, remove_it, 16, FTW_DEPTH | FTW_PHYS);
    int file = open(dir, O_WRONLY | O_CREAT | O_EXCL, 0600); // in the directory's place
    close(file);
    open_store();
    read_pass();
    unlink(dir);
}

// The first byte of an answer, and nothing else.
static void flip_first(struct scripted_answer *answer) {
    uint8_t *copy = served_keep(&server, malloc(answer->body_len + 1));
    memcpy(copy, answer->body, answer->body_len);
    copy[0] ^= 1;
    answer->body = copy;
}

static bool is_flipped(struct sds_object *object, uint64_t seed, uint64_t off, uint64_t len) {
    assert_int_equal(sds_object_read(object, off, buffer, (size_t)len, NULL), SDS_OK);
    buffer[0] ^= 1;
    bool flipped = buffer[0] == served_byte(seed, off);
    buffer[0] ^= !flipped;
    expect_bytes(buffer + 1, seed, off + 1, len - 1);
    return flipped;
}

static void what_is_doubted_is_asked_for_again(void **state) {
    (void)state;
    serve_all();
    open_store();
    spoil(&server, (struct spoiler){.target = "shard", .times = 1, .spoil = flip_first});
    struct sds_object *object = open_object("shard", 8 * MIB, false);
    uint64_t since = sds_store_doubts(store);
    assert_true(is_flipped(object, 3, MIB, 64 * KIB));
    assert_true(sds_object_doubt(object, MIB, 64 * KIB, since));
    uint64_t later = sds_store_doubts(store);
    assert_true(later > since);
    read_good(object, 3, MIB, 64 * KIB);
    // Who began before that is to read again, too; who did after it has the object's own bytes.
    assert_true(sds_object_doubt(object, MIB, 64 * KIB, since));
    assert_false(sds_object_doubt(object, MIB, 64 * KIB, later));
    assert_true(sds_object_doubt(object, 2 * MIB, 64 * KIB, later));
    assert_false(sds_object_doubt(object, 0, 0, 0));
    read_good(object, 3, MIB, 64 * KIB);
    sds_object_close(object);
    assert_int_equal(asked(&server, 0, "GET"), 3); // not from the disk: it was believed
}

// Those that come with the first look, and stay in memory; the path says enough.
static void a_document_that_is_doubted(void **state) {
    (void)state;
    struct sds_blob *blob = NULL;
    serve_all();
    open_store();
    spoil(&server, (struct spoiler){.target = "root.json", .times = 1, .spoil = flip_first});
    for (int i = 0; i < 4; i++) {
        assert_int_equal(
            sds_store_read_all(store, "root.json", NULL, KIB, SDS_IMMUTABLE, &blob, NULL), SDS_OK);
        assert_int_equal(blob->at[0] == served_byte(1, 0), i > 1);
        sds_blob_unref(blob);
        if (i == 1) {
            assert_int_equal(asked(&server, 0, NULL), 1);
            assert_true(sds_store_doubt(store, "root.json", NULL, 0));
        }
    }
    assert_in_range(asked(&server, 0, NULL), 2, 3); // it may be on its way to the disk yet
    reopen();                                       // and what is kept for others is right
    unsigned before = scripted_count(server.server);
    struct sds_object *object = NULL;
    assert_int_equal(sds_store_object(store, "root.json", SDS_IMMUTABLE, NULL, &object, NULL),
                     SDS_OK);
    read_good(object, 1, 0, 700);
    sds_object_close(object);
    assert_int_equal(asked(&server, before, "GET"), 0);
}

// What comes the same again is believed, and asked for by the next store.
static void what_is_believed_is_not_kept_for_others(void **state) {
    (void)state;
    serve_all();
    open_store();
    spoil(&server, (struct spoiler){.target = "shard", .times = 2, .spoil = flip_first});
    struct sds_object *object = open_object("shard", 8 * MIB, false);
    for (int i = 0; i < 2; i++) {
        uint64_t since = sds_store_doubts(store);
        assert_true(is_flipped(object, 3, 0, 64 * KIB));
        assert_int_equal(sds_object_doubt(object, 0, 64 * KIB, since), i == 0);
    }
    sds_object_close(object);
    reopen();
    object = open_object("shard", 8 * MIB, false);
    read_good(object, 3, 0, 64 * KIB);
    sds_object_close(object);
}

// By a store that has never seen a byte of it but what is on the disk.
static void what_another_store_left_is_doubted(void **state) {
    (void)state;
    serve_all();
    open_store();
    spoil(&server, (struct spoiler){.target = "series", .times = 1, .spoil = flip_first});
    struct sds_object *object = open_object("series", 4 * MIB, false);
    assert_true(is_flipped(object, 4, 0, 64 * KIB));
    sds_object_close(object);
    reopen();
    unsigned before = scripted_count(server.server);
    object = open_object("series", 4 * MIB, false);
    assert_true(is_flipped(object, 4, 0, 64 * KIB));
    assert_int_equal(asked(&server, before, "GET"), 0);
    assert_true(sds_object_doubt(object, 0, 64 * KIB, sds_store_doubts(store)));
    read_good(object, 4, 0, 64 * KIB);
    sds_object_close(object);
    reopen();
    object = open_object("series", 4 * MIB, false);
    read_good(object, 4, 0, 64 * KIB);
    sds_object_close(object);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_disk, end_disk)
    const struct CMUnitTest tests[] = {
        TEST(a_second_pass_asks_for_versions_only),
        TEST(another_version_is_fetched),
        TEST(what_is_missing_there_is_fetched),
        TEST(replaceable_objects_are_never_cached),
        TEST(a_broken_cache_is_no_error),
        TEST(one_that_begins_with_a_reload),
        TEST(many_objects),
        TEST(what_is_doubted_is_asked_for_again),
        TEST(a_document_that_is_doubted),
        TEST(what_another_store_left_is_doubted),
        TEST(what_is_believed_is_not_kept_for_others),
        TEST(what_has_no_version_is_not_kept),
        TEST(a_second_pass_where_head_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
