// SPDX-License-Identifier: Apache-2.0
//
// A store on a server of our own: what is asked for, how often, and what becomes of bad answers.
#include "unit.h"

#include "remote/remote_root.h"

// --- how much is asked

static void a_small_object_is_one_request(void **state) {
    (void)state;
    serve(&server, "root.json", 500, 1);
    open_store();
    struct sds_object *object = NULL;
    assert_int_equal(sds_store_object(store, "root.json", SDS_IMMUTABLE, NULL, &object, NULL),
                     SDS_OK);
    assert_int_equal(sds_object_info(object)->size, 500);
    assert_int_equal(sds_object_info(object)->mtime.tv_sec, 1606780800);
    read_good(object, 1, 0, 500);
    sds_object_close(object);
    expect_all("root.json", NULL, SDS_OK, "");
    assert_int_equal(scripted_count(server.server), 1);
    // One that is a little larger: its rest.
    serve(&server, "larger", 100 * KIB, 2);
    expect_all("larger", NULL, SDS_OK, "");
    assert_int_equal(scripted_count(server.server), 3);
    assert_int_equal(asked_bytes(&server, 1), 100 * KIB);
}

static void without_memory_to_keep_it_too(void **state) {
    (void)state;
    struct sds_cache *none = ledger;
    serve(&server, "root.json", 500, 1);
    ledger = NULL;
    open_store();
    ledger = none;
    expect_all("root.json", NULL, SDS_OK, "");
    assert_int_equal(scripted_count(server.server), 1);
}

static void an_expected_object_is_not_asked_for(void **state) {
    (void)state;
    serve(&server, "page", 700 * KIB, 3);
    open_store();
    struct sds_object *object = open_object("page", 700 * KIB, false);
    assert_int_equal(scripted_count(server.server), 0);
    sds_object_close(object);
    expect_all("page", &(struct sds_expected){.sized = true, .size = 700 * KIB}, SDS_OK, "");
    assert_int_equal(scripted_count(server.server), 1);
    assert_int_equal(asked_bytes(&server, 0), 700 * KIB);
}

static void an_empty_object(void **state) {
    (void)state;
    struct sds_expected empty = {.sized = true, .size = 0};
    serve(&server, "empty", 0, 1);
    open_store();
    expect_all("empty", NULL, SDS_OK, "");
    expect_all("empty", &empty, SDS_OK, "");
    expect_all("absent", &empty, SDS_ERR_NOT_FOUND, "absent");
    serve(&server, "full", 5, 1);
    expect_all("full", &empty, SDS_ERR_CORRUPT, "stored_bytes");
}

static void what_is_not_as_expected(void **state) {
    (void)state;
    struct sds_err err;
    struct sds_blob *blob = NULL;
    struct sds_expected expected = {.sized = true, .size = 1000};
    serve(&server, "shorter", 400, 1);
    serve(&server, "longer", 4000, 1);
    open_store();
    assert_int_equal(
        sds_store_read_all(store, "longer", &expected, MIB, SDS_IMMUTABLE, &blob, &err),
        SDS_ERR_CORRUPT);
    assert_string_equal(err.message, "it has 4000 bytes where its reference declares 1000");
    assert_string_equal(err.object, "longer");
    expect_all("shorter", &expected, SDS_ERR_CORRUPT, "stored_bytes");
    expect_all("longer", &expected, SDS_ERR_CORRUPT, "stored_bytes"); // and stays so
    struct sds_object *object = open_object("absent", 10, false);
    read_fails(object, SDS_ERR_NOT_FOUND, "absent");
    sds_object_close(object);
    // A range behind the end of what is there.
    serve(&server, "cut", 400, 1);
    object = open_object("cut", 200 * KIB, false);
    assert_int_equal(sds_object_read(object, 100 * KIB, buffer, 64 * KIB, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "stored_bytes");
    sds_object_close(object);
}

static void random_records_are_fetched_exactly(void **state) {
    (void)state;
    uint64_t record = 64 * KIB, count = 128;
    serve(&server, "shard", record * count, 4);
    open_store();
    struct sds_object *object = open_object("shard", record * count, false);
    for (uint64_t i = 0; i < 40; i++) {
        read_good(object, 4, i * 37 % count * record, record);
    }
    sds_object_close(object);
    assert_int_equal(scripted_count(server.server), 40);
    assert_int_equal(asked_bytes(&server, 0), 40 * record);
}

static void small_reads_come_in_blocks(void **state) {
    (void)state;
    serve(&server, "shard", 100 * KIB, 5);
    open_store();
    struct sds_object *object = open_object("shard", 100 * KIB, false);
    for (uint64_t off = 0; off < 64 * KIB; off += 4 * KIB) {
        read_good(object, 5, (off * 7) % (60 * KIB), 4 * KIB);
    }
    assert_int_equal(scripted_count(server.server), 1);
    read_good(object, 5, 99 * KIB, 1 * KIB); // the last block ends with the object
    assert_int_equal(scripted_count(server.server), 2);
    assert_int_equal(asked_bytes(&server, 0), 100 * KIB);
    sds_object_close(object);
}

static void a_sequential_pass_fetches_each_byte_once(void **state) {
    (void)state;
    uint64_t size = 24 * MIB + 12345, step = 128 * KIB;
    serve(&server, "shard", size, 6);
    open_store();
    struct sds_object *object = open_object("shard", size, false);
    for (uint64_t off = 0; off < size; off += step) {
        read_good(object, 6, off, size - off < step ? size - off : step);
    }
    sds_object_close(object);
    assert_int_equal(asked_bytes(&server, 0), size);
    assert_true(scripted_count(server.server) < 40);
}

// With little memory pieces get smaller; reading ahead does not stop.
static void a_sequential_pass_with_little_memory(void **state) {
    (void)state;
    uint64_t size = 8 * MIB, step = 128 * KIB;
    sds_cache_free(ledger);
    ledger = sds_cache_new(4 * MIB);
    serve(&server, "shard", size, 6);
    open_store();
    struct sds_object *object = open_object("shard", size, false);
    for (uint64_t off = 0; off < size; off += step) {
        read_good(object, 6, off, step);
    }
    sds_object_close(object);
    assert_int_equal(asked_bytes(&server, 0), size);
    assert_true(scripted_count(server.server) < 40);
}

static void a_strided_pass_is_exact(void **state) {
    (void)state;
    uint64_t record = 64 * KIB;
    serve(&server, "shard", 16 * MIB, 7);
    open_store();
    struct sds_object *object = open_object("shard", 16 * MIB, false);
    for (uint64_t off = 0; off < 16 * MIB; off += 4 * record) {
        read_good(object, 7, off, record);
    }
    sds_object_close(object);
    assert_int_equal(asked_bytes(&server, 0), 4 * MIB);
    assert_int_equal(scripted_count(server.server), 64);
}

static void whole_objects_come_in_large_pieces(void **state) {
    (void)state;
    serve(&server, "metadata", 6 * MIB, 8);
    serve(&server, "large", 10 * MIB, 9);
    open_store();
    struct sds_object *object = open_object("metadata", 6 * MIB, true);
    for (uint64_t i = 0; i < 100; i++) {
        read_good(object, 8, i * 7919 * 64 % (6 * MIB - KIB), KIB);
    }
    assert_int_equal(scripted_count(server.server), 1);
    sds_object_close(object);
    object = open_object("metadata", 6 * MIB, true); // kept when nobody has it open
    read_good(object, 8, 5 * MIB, KIB);
    assert_int_equal(scripted_count(server.server), 1);
    sds_object_close(object);
    object = open_object("large", 10 * MIB, true);
    for (uint64_t i = 0; i < 100; i++) {
        read_good(object, 9, i * 7919 * 100 % (10 * MIB - KIB), KIB);
    }
    assert_int_equal(scripted_count(server.server), 4);
    assert_int_equal(asked_bytes(&server, 1), 10 * MIB);
    sds_object_close(object);
}

static void announced_bytes_are_there(void **state) {
    (void)state;
    serve(&server, "shard", 4 * MIB, 11);
    open_store();
    struct sds_object *object = open_object("shard", 4 * MIB, false);
    sds_object_prefetch(object, MIB, 256 * KIB);
    sds_object_prefetch(object, 2 * MIB, 256 * KIB);
    sds_object_prefetch(object, MIB, 256 * KIB); // again
    read_good(object, 11, MIB, 256 * KIB);
    read_good(object, 11, 2 * MIB, 100 * KIB);
    assert_int_equal(scripted_count(server.server), 2);
    sds_object_close(object);
}

// --- versions

static void each_range_asks_for_the_version_that_was_seen(void **state) {
    (void)state;
    char match[64];
    serve(&server, "shard", MIB, 12);
    open_store();
    struct sds_object *object = open_object("shard", MIB, false);
    read_good(object, 12, 0, 64 * KIB);
    read_good(object, 12, 512 * KIB, 64 * KIB);
    assert_null(scripted_header(scripted_seen(server.server, 0), "If-Match", match, sizeof match));
    assert_non_null(
        scripted_header(scripted_seen(server.server, 1), "If-Match", match, sizeof match));
    serve(&server, "shard", MIB, 13); // replaced
    struct sds_err err;
    assert_int_equal(sds_object_read(object, 768 * KIB, buffer, 64 * KIB, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "changed");
    sds_object_close(object);
    sds_cache_clear(ledger); // nothing is left but the pin
    object = open_object("shard", MIB, false);
    read_fails(object, SDS_ERR_STORAGE, "changed");
    sds_object_close(object);
}

// --- faults

static void s503(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 503};
}
static void s503_after_1s(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 503, .headers = "Retry-After: 1\r\n"};
}
static void s403(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 403};
}
static void reset(struct scripted_answer *answer) {
    answer->fault = SCRIPTED_RESET;
    answer->in_body = true;
    answer->after = 1000;
}
static void closes(struct scripted_answer *answer) {
    answer->fault = SCRIPTED_CLOSE;
}
static void cut(struct scripted_answer *answer) {
    answer->fault = SCRIPTED_CLOSE;
    answer->in_body = true;
    answer->after = 1000;
}
static void stalls(struct scripted_answer *answer) {
    answer->fault = SCRIPTED_STALL;
    answer->in_body = true;
    answer->after = 1000;
}
static void wrong_range(struct scripted_answer *answer) {
    answer->headers = "ETag: \"v1-1048576\"\r\nContent-Range: bytes 5-65540/1048576\r\n";
}
static void drips(struct scripted_answer *answer) {
    answer->drip = 4096;
    answer->drip_ms = 5;
}

static void expect_heals(void (*fault)(struct scripted_answer *), unsigned times) {
    unsigned before = scripted_count(server.server);
    spoil(&server, (struct spoiler){.method = "GET", .times = times, .spoil = fault});
    struct sds_object *object = open_object("shard", MIB, false);
    read_good(object, 14, 0, 64 * KIB);
    sds_object_close(object);
    assert_int_equal(scripted_count(server.server), before + times + 1);
}

static void what_can_get_better_is_tried_again(void **state) {
    (void)state;
    serve(&server, "shard", MIB, 14);
    open_store();
    expect_heals(s503, 2);
    expect_heals(reset, 1);
    expect_heals(closes, 1);
    expect_heals(cut, 2);
    expect_heals(wrong_range, 1);
    expect_heals(drips, 0);
    uint64_t start = sds_clock_ms();
    expect_heals(s503_after_1s, 1);
    assert_true(sds_clock_ms() - start >= 1000);
    spoil(&server, (struct spoiler){.times = 1, .spoil = drips});
    struct sds_object *object = open_object("shard", MIB, false);
    read_good(object, 14, 0, 64 * KIB);
    sds_object_close(object);
}

static void a_stalled_connection_is_left(void **state) {
    (void)state;
    options.remote.timeout_ms = 3000;
    serve(&server, "shard", MIB, 14);
    open_store();
    expect_heals(stalls, 1);
}

static void what_cannot_is_told(void **state) {
    (void)state;
    struct sds_err err;
    options.remote.retries = 2;
    serve(&server, "shard", MIB, 14);
    open_store();
    struct sds_object *object = open_object("shard", MIB, false);
    spoil(&server, (struct spoiler){.times = 3, .spoil = s503});
    assert_int_equal(sds_object_read(object, 0, buffer, 64 * KIB, &err), SDS_ERR_STORAGE);
    assert_non_null(strstr(err.message, "after 3 tries"));
    assert_int_equal(scripted_count(server.server), 3);
    read_good(object, 14, 0, 64 * KIB); // the outage is over
    spoil(&server, (struct spoiler){.times = 1, .spoil = s403});
    assert_int_equal(sds_object_read(object, 256 * KIB, buffer, 64 * KIB, &err), SDS_ERR_DENIED);
    assert_int_equal(scripted_count(server.server), 5);
    sds_object_close(object);
}

static void a_dead_server_costs_the_deadline(void **state) {
    (void)state;
    struct sds_err err;
    options.remote.timeout_ms = 1000;
    serve(&server, "shard", MIB, 14);
    open_store();
    spoil(&server, (struct spoiler){.times = 100, .spoil = stalls});
    struct sds_object *object = open_object("shard", MIB, false);
    uint64_t start = sds_clock_ms();
    assert_int_equal(sds_object_read(object, 0, buffer, 64 * KIB, &err), SDS_ERR_TIMEOUT);
    assert_true(sds_clock_ms() - start < 4000);
    sds_object_close(object);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_small_object_is_one_request),
        TEST(without_memory_to_keep_it_too),
        TEST(an_expected_object_is_not_asked_for),
        TEST(an_empty_object),
        TEST(what_is_not_as_expected),
        TEST(random_records_are_fetched_exactly),
        TEST(small_reads_come_in_blocks),
        TEST(a_sequential_pass_fetches_each_byte_once),
        TEST(a_sequential_pass_with_little_memory),
        TEST(a_strided_pass_is_exact),
        TEST(whole_objects_come_in_large_pieces),
        TEST(announced_bytes_are_there),
        TEST(each_range_asks_for_the_version_that_was_seen),
        TEST(what_can_get_better_is_tried_again),
        TEST(a_stalled_connection_is_left),
        TEST(what_cannot_is_told),
        TEST(a_dead_server_costs_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
