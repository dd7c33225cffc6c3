// SPDX-License-Identifier: Apache-2.0
//
// What one wrong answer about an object leaves behind: for whoever reads nothing, since a second
// question is asked before it is believed; and where two answers agree, nothing but the error that
// they are worth, for as long as the server says so. A version that the very first answer told
// wrongly is told from an object that was replaced after that by the bytes that came with it.
#include "unit.h"

#include "remote/online/witness.h"
#include "remote/remote_root.h"

#define SIZE MIB
#define SEED 21

// Of whatever range was asked for: what the server would have said, with another size. The text
// has to live until it was said.
static void other_total(struct scripted_answer *answer) {
    char *text = served_keep(&server, malloc(512)), *total;
    snprintf(text, 512, "%s", answer->headers);
    total = strstr(text, "/1048576");
    if (total != NULL) {
        memcpy(total, "/2048576", 8);
    }
    answer->headers = text;
}
static void part_as_whole(struct scripted_answer *answer) {
    answer->status = 200;
    answer->headers = "ETag: \"v1-1048576\"\r\n";
}
static void other_etag(struct scripted_answer *answer) {
    if (answer->headers != NULL) { // else there is none
        char *text = served_keep(&server, malloc(512));
        snprintf(text, 512, "%s", answer->headers);
        memcpy(strstr(text, "v1-"), "v0-", 3);
        answer->headers = text;
    }
}
static void encoded(struct scripted_answer *answer) {
    char *text = served_keep(&server, malloc(512));
    snprintf(text, 512, "%sContent-Encoding: gzip\r\n", answer->headers);
    answer->headers = text;
}
static void s404(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 404};
}
static void no_bucket(struct scripted_answer *answer) {
    static const char body[] = "<Error><Code>NoSuchBucket</Code></Error>";
    *answer = (struct scripted_answer){.status = 404, .body = body, .body_len = sizeof body - 1};
}
static void s412(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 412};
}
static void s416(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 416};
}
static void s416_of_five(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 416, .headers = "Content-Range: bytes */5\r\n"};
}
static void s503(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 503};
}

static const struct fault {
    const char *name;
    void (*spoil)(struct scripted_answer *answer);
    bool at_start;      // it would be believed of the first range of all
    bool of_head;       // a HEAD can be answered like that, too
    char only;          // where its root begins with this; 0: everywhere
    enum sds_kind kind; // when it is said again and again
    const char *check;
} faults[] = {
    {"another size", other_total, true, false, 0, SDS_ERR_STORAGE, "answer"},
    {"a part as the whole", part_as_whole, true, false, 'h', SDS_ERR_UNSUPPORTED, "ranges"},
    {"a part as the whole", part_as_whole, true, false, 's', SDS_ERR_STORAGE, "range"},
    {"another version", other_etag, false, true, 0, SDS_ERR_STORAGE, "changed"},
    {"encoded", encoded, true, true, 0, SDS_ERR_UNSUPPORTED, "encoding"},
    {"absent", s404, true, true, 0, SDS_ERR_NOT_FOUND, "absent"},
    {"no bucket", no_bucket, true, true, 's', SDS_ERR_STORAGE, "bucket"},
    {"a condition that does not hold", s412, true, true, 0, SDS_ERR_STORAGE, "changed"},
    {"no such range", s416, false, false, 0, SDS_ERR_STORAGE, "answer"},
    {"no such range of a small object", s416_of_five, false, false, 0, SDS_ERR_STORAGE, "answer"},
};
#define FAULTS (sizeof faults / sizeof faults[0])

static const char *const roots[] = {root, "s3://b"};

static bool is_for(const struct fault *fault, const char *which) {
    return fault->only == 0 || fault->only == which[0];
}

static void open_new(const char *which) {
    sds_store_close(store);
    sds_cache_clear(ledger);
    open_root(which);
}

static void spoil_get(const struct fault *fault, unsigned times) {
    spoil(&server, (struct spoiler){.method = "GET", .times = times, .spoil = fault->spoil});
}

// Only one answer, the first that is told of the object or a later one.
static void one_wrong_answer(const char *which, const struct fault *fault, bool first) {
    print_message("%s: %s%s\n", which, fault->name, first ? ", first" : "");
    open_new(which);
    struct sds_object *object = open_object("shard", SIZE, false);
    if (!first) {
        read_good(object, SEED, 0, 64 * KIB);
    }
    unsigned before = scripted_count(server.server);
    uint64_t off = first ? 0 : 512 * KIB;
    spoil_get(fault, 1);
    read_good(object, SEED, off, 64 * KIB);
    // The wrong answer, at most one question to settle it, and the good one.
    assert_in_range(scripted_count(server.server) - before, 2, 3);
    read_good(object, SEED, 768 * KIB, 64 * KIB);
    sds_object_close(object);
    object = open_object("shard", SIZE, false);
    read_good(object, SEED, 900 * KIB, 64 * KIB);
    sds_object_close(object);
}

static void one_wrong_answer_is_overruled(void **state) {
    (void)state;
    serve(&server, "shard", SIZE, SEED);
    for (size_t i = 0; i < 2 * FAULTS; i++) {
        const struct fault *fault = &faults[i / 2];
        if (is_for(fault, roots[i % 2])) {
            one_wrong_answer(roots[i % 2], fault, false);
        }
        if (is_for(fault, roots[i % 2]) && fault->at_start) {
            one_wrong_answer(roots[i % 2], fault, true);
        }
    }
}

// A server that says it again and again, but of ranges only where a HEAD cannot say the same: then
// its answers contradict each other for as long as there are tries, and no verdict is made of it.
static void as_long_as(const char *which, const struct fault *fault) {
    struct sds_err err = {.check = ""};
    print_message("%s: %s, for a while\n", which, fault->name);
    open_new(which);
    struct sds_object *object = open_object("shard", SIZE, false);
    read_good(object, SEED, 0, 64 * KIB);
    spoil(&server, (struct spoiler){.method = fault->of_head ? NULL : "GET",
                                    .times = 1000,
                                    .spoil = fault->spoil});
    assert_int_equal(sds_object_read(object, 512 * KIB, buffer, 64 * KIB, &err), fault->kind);
    assert_string_equal(err.check, fault->check);
    server.spoilers[0].times = 0;
    read_good(object, SEED, 512 * KIB, 64 * KIB);
    sds_object_close(object);
}

static void nothing_is_left_of_what_was_said_again_and_again(void **state) {
    (void)state;
    options.remote.retries = 1;
    serve(&server, "shard", SIZE, SEED);
    for (size_t i = 0; i < 2 * FAULTS; i++) {
        if (is_for(&faults[i / 2], roots[i % 2])) {
            as_long_as(roots[i % 2], &faults[i / 2]);
        }
    }
}

// The head says the same, so that it is a verdict; and still no more than that.
static void a_size_that_two_answers_tell(void **state) {
    (void)state;
    struct sds_err err;
    serve(&server, "shard", 2 * MIB, SEED);
    open_store();
    for (int i = 0; i < 2; i++) {
        struct sds_object *object = open_object("shard", SIZE, false);
        unsigned before = scripted_count(server.server);
        assert_int_equal(sds_object_read(object, 0, buffer, 64 * KIB, &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "stored_bytes");
        assert_string_equal(err.message,
                            "it has 2097152 bytes where its reference declares 1048576");
        assert_int_equal(asked(&server, before, "GET"), 1);
        assert_int_equal(asked(&server, before, "HEAD"), 1);
        sds_object_close(object);
    }
    // Nothing of it was taken in, the version included: what is there now is what is read.
    serve(&server, "shard", SIZE, SEED);
    struct sds_object *object = open_object("shard", SIZE, false);
    read_good(object, SEED, 512 * KIB, 64 * KIB);
    sds_object_close(object);
    // Another reference to the same object has the right to its own opinion.
    object = open_object("shard", 77, false);
    read_fails(object, SDS_ERR_CORRUPT, "stored_bytes");
    sds_object_close(object);
    object = open_object("shard", SIZE, false);
    read_good(object, SEED, 0, 64 * KIB);
    sds_object_close(object);
}

static void the_second_question_fails_for_a_while(void **state) {
    (void)state;
    serve(&server, "shard", SIZE, SEED);
    open_store();
    struct sds_object *object = open_object("shard", SIZE, false);
    spoil(&server, (struct spoiler){.method = "GET", .times = 1, .spoil = s404});
    spoil(&server, (struct spoiler){.method = "HEAD", .times = 2, .spoil = s503});
    read_good(object, SEED, 0, 64 * KIB);
    assert_int_equal(asked(&server, 0, "HEAD"), 3);
    assert_int_equal(asked(&server, 0, "GET"), 2);
    sds_object_close(object);
}

static void of_what_nobody_promised_the_first_answer_counts(void **state) {
    (void)state;
    open_store();
    expect_all("nothing", NULL, SDS_ERR_NOT_FOUND, "absent");
    assert_int_equal(scripted_count(server.server), 1);
}

// Without a reference the first answer is all that is known of the size, until two others agree.
static void a_size_that_no_reference_declares(void **state) {
    (void)state;
    struct sds_err err;
    struct sds_object *object = NULL;
    serve(&server, "shard", SIZE, SEED);
    open_store();
    spoil(&server, (struct spoiler){.method = "GET", .times = 1, .spoil = other_total});
    assert_int_equal(sds_store_object(store, "shard", SDS_IMMUTABLE, NULL, &object, NULL), SDS_OK);
    assert_int_equal(sds_object_info(object)->size, 2048576);
    assert_int_equal(sds_object_read(object, 512 * KIB, buffer, 64 * KIB, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "changed");
    sds_object_close(object);
    expect_all("shard", NULL, SDS_OK, "");
}

// The version that only the first answer told is another one when more is asked for: as long as all
// that anybody has is the same in what is there now, that is the version that was seen.
static void a_first_entity_tag_is_overruled(const char *which) {
    open_new(which);
    struct sds_object *object = open_object("shard", SIZE, false);
    spoil(&server, (struct spoiler){.method = "GET", .times = 1, .spoil = other_etag});
    read_good(object, SEED, 0, 64 * KIB);
    unsigned before = scripted_count(server.server);
    read_good(object, SEED, 512 * KIB, 64 * KIB);
    // Refused, also as a HEAD; what came first; and under the version that was told with that.
    assert_int_equal(scripted_count(server.server) - before, 4);
    assert_int_equal(asked_bytes(&server, before), 3 * 64 * KIB);
    before = scripted_count(server.server);
    read_good(object, SEED, 768 * KIB, 64 * KIB);
    assert_int_equal(scripted_count(server.server) - before, 1);
    sds_object_close(object);
}

static void the_first_entity_tag(void **state) {
    (void)state;
    serve(&server, "shard", SIZE, SEED);
    a_first_entity_tag_is_overruled(root);
    a_first_entity_tag_is_overruled("s3://b");
}

static void expect_changed(struct sds_object *object) {
    struct sds_err err;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sds_object_read(object, 512 * KIB, buffer, 64 * KIB, &err),
                         SDS_ERR_STORAGE);
        assert_string_equal(err.check, "changed");
    }
    sds_object_close(object);
}

// Where it cannot be told from an object that was replaced it stays the one that was seen.
static void a_replaced_object_is_none_of_that(void **state) {
    (void)state;
    serve(&server, "shard", SIZE, SEED);
    open_store();
    struct sds_object *object = open_object("shard", SIZE, false);
    read_good(object, SEED, 0, 64 * KIB);
    serve(&server, "shard", SIZE, SEED + 1);
    expect_changed(object);
    // Two answers have told the version: even where what was read is the same in another one.
    open_new(root);
    object = open_object("shard", SIZE, false);
    read_good(object, SEED + 1, 0, 64 * KIB);
    read_good(object, SEED + 1, 64 * KIB, 64 * KIB);
    serve(&server, "shard", SIZE, SEED + 1);
    expect_changed(object);
    // The same bytes at the beginning, but another size.
    open_new(root);
    object = NULL;
    assert_int_equal(sds_store_object(store, "shard", SDS_IMMUTABLE, NULL, &object, NULL), SDS_OK);
    serve(&server, "shard", 2 * SIZE, SEED + 1);
    expect_changed(object);
    // More than is asked for again only to compare it.
    open_new(root);
    object = open_object("shard", 2 * SIZE, false);
    read_good(object, SEED + 1, 0, 1536 * KIB);
    serve(&server, "shard", 2 * SIZE, SEED + 1);
    struct sds_err err;
    assert_int_equal(sds_object_read(object, 1536 * KIB, buffer, 64 * KIB, &err), SDS_ERR_STORAGE);
    assert_string_equal(err.check, "changed");
    sds_object_close(object);
}

// --- heads, without a server

static struct sds_verdict done(uint64_t size, const char *tag) {
    struct sds_verdict out = {.what = SDS_DONE, .told = {.size_known = true, .size = size}};
    snprintf(out.told.tag.etag, sizeof out.told.tag.etag, "%s", tag);
    return out;
}

static void a_head_is_settled_by_a_byte(void **state) {
    (void)state;
    struct sds_operation what = {
        .action = SDS_HEAD, .bucket = "b", .key = "k", .promised = true, .sized = true, .size = 9};
    for (int agreed = 0; agreed < 2; agreed++) {
        struct sds_witness witness = {.asking = false};
        struct sds_err err = {.kind = SDS_OK};
        assert_int_equal(sds_witness_question(&witness, &what).action, SDS_HEAD);
        struct sds_verdict verdict = done(5, "t");
        assert_true(sds_witness_hear(&witness, &what, &verdict, &err));
        struct sds_operation second = sds_witness_question(&witness, &what);
        assert_int_equal(second.action, SDS_GET);
        assert_int_equal(second.len, 1);
        verdict = done(agreed ? 5 : 9, "t");
        assert_false(sds_witness_hear(&witness, &what, &verdict, &err));
        assert_int_equal(verdict.what, agreed ? SDS_DONE : SDS_AGAIN);
        assert_int_equal(verdict.told.size, agreed ? 5 : 0);
        assert_int_equal(sds_witness_question(&witness, &what).action, SDS_HEAD);
    }
}

static void a_generation_is_settled_too(void **state) {
    (void)state;
    struct sds_operation what = {.action = SDS_GET,
                                 .bucket = "b",
                                 .key = "k",
                                 .len = 10,
                                 .promised = true,
                                 .pinned = true,
                                 .generation = 7};
    struct sds_witness witness = {.asking = false};
    struct sds_err err = {.kind = SDS_OK};
    struct sds_verdict verdict = done(5, "7");
    assert_false(sds_witness_hear(&witness, &what, &verdict, &err));
    verdict = done(5, "8");
    assert_true(sds_witness_hear(&witness, &what, &verdict, &err));
    verdict = done(5, "7");
    assert_false(sds_witness_hear(&witness, &what, &verdict, &err));
    assert_int_equal(verdict.what, SDS_AGAIN);
    assert_int_equal(err.kind, SDS_ERR_STORAGE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(one_wrong_answer_is_overruled),
        TEST(nothing_is_left_of_what_was_said_again_and_again),
        TEST(a_size_that_two_answers_tell),
        TEST(the_second_question_fails_for_a_while),
        TEST(of_what_nobody_promised_the_first_answer_counts),
        TEST(a_size_that_no_reference_declares),
        TEST(the_first_entity_tag),
        TEST(a_replaced_object_is_none_of_that),
        cmocka_unit_test(a_head_is_settled_by_a_byte),
        cmocka_unit_test(a_generation_is_settled_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
