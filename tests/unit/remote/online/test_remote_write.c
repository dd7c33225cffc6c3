// SPDX-License-Identifier: Apache-2.0
//
// Creating and swapping objects on a server as S3 is one, answers that get lost included.
#include "unit.h"

#include <unistd.h>

#include "remote/remote_root.h"

static void open_s3(void) {
    open_root("s3://b");
}

static void expect_object(const char *key, const char *text) {
    pthread_mutex_lock(&server.lock);
    const struct served_object *object = served_find(&server, key);
    assert_non_null(object);
    assert_int_equal(object->len, strlen(text));
    assert_memory_equal(object->bytes, text, object->len);
    pthread_mutex_unlock(&server.lock);
}

static enum sds_kind create(const char *path, const char *text, struct sds_err *err) {
    struct sds_span span = sds_span_str(text);
    struct sds_content content = sds_content_of(&span);
    return sds_store_create(store, path, &content, err);
}

static enum sds_kind swap(const char *text, const struct sds_version *seen, struct sds_err *err) {
    return sds_store_swap(store, "catalog.json", sds_span_str(text), seen, err);
}

static struct sds_version version(void) {
    struct sds_version v;
    assert_int_equal(sds_store_version(store, "catalog.json", &v, NULL), SDS_OK);
    return v;
}

static void loses_the_answer(struct scripted_answer *answer) {
    answer->fault = SCRIPTED_RESET;
}
static void s500(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 500};
}
static void s409(struct scripted_answer *answer) {
    static const char body[] = "<Error><Code>ConditionalRequestConflict</Code></Error>";
    *answer = (struct scripted_answer){.status = 409, .body = body, .body_len = sizeof body - 1};
}
static void s200(struct scripted_answer *answer) {
    *answer = (struct scripted_answer){.status = 200, .headers = "ETag: \"other\"\r\n"};
}
static void s501(struct scripted_answer *answer) {
    static const char body[] = "<Error><Code>NotImplemented</Code></Error>";
    *answer = (struct scripted_answer){.status = 501, .body = body, .body_len = sizeof body - 1};
}

static void creates_where_there_is_nothing(void **state) {
    (void)state;
    struct sds_err err;
    open_s3();
    assert_int_equal(sds_store_can_publish(store, NULL), SDS_OK);
    assert_int_equal(create("objects/a", "first", NULL), SDS_OK);
    expect_object("objects/a", "first");
    // Once a store, whether conditions are honoured: the same name again, and a version it never
    // had.
    assert_int_equal(asked(&server, 0, "PUT"), 3);
    assert_int_equal(create("objects/b", "second", NULL), SDS_OK);
    assert_int_equal(asked(&server, 0, "PUT"), 4);
    assert_int_equal(create("objects/a", "other", &err), SDS_ERR_CONFLICT);
    assert_string_equal(err.check, "exists");
    assert_string_equal(err.object, "objects/a");
    expect_object("objects/a", "first");
    // What we created is what we read: somebody else's in its place is told.
    serve_bytes(&server, "objects/b", "SECOND", 6);
    struct sds_blob *blob = NULL;
    assert_int_equal(sds_store_read_all(store, "objects/b", NULL, MIB, SDS_IMMUTABLE, &blob, &err),
                     SDS_ERR_STORAGE);
    assert_string_equal(err.check, "changed");
}

static void a_server_that_ignores_conditions_is_told(void **state) {
    (void)state;
    struct sds_err err;
    struct sds_version none = {.there = false};
    server.ignores_conditions = true;
    open_s3();
    assert_int_equal(create("objects/a", "first", &err), SDS_ERR_UNSUPPORTED);
    assert_string_equal(err.check, "conditional_writes");
    expect_object("objects/a", "first"); // still what it was
    assert_int_equal(sds_store_can_publish(store, NULL), SDS_ERR_UNSUPPORTED);
    unsigned before = scripted_count(server.server);
    assert_int_equal(swap("catalog", &none, &err), SDS_ERR_UNSUPPORTED);
    assert_int_equal(create("objects/b", "x", &err), SDS_ERR_UNSUPPORTED);
    assert_int_equal(scripted_count(server.server), before);
}

// An answer that a condition was ignored may be wrong, and would forbid publishing for good.
static void one_answer_is_no_server_without_conditions(void **state) {
    (void)state;
    open_s3();
    spoil(&server,
          (struct spoiler){.method = "PUT", .skip = 1, .times = 1, .spoil = s200, .instead = true});
    assert_int_equal(create("objects/a", "first", NULL), SDS_OK);
    assert_int_equal(asked(&server, 0, "PUT"), 4);
    assert_int_equal(sds_store_can_publish(store, NULL), SDS_OK);
}

static void a_server_without_conditions_is_told(void **state) {
    (void)state;
    struct sds_err err;
    open_s3();
    spoil(&server, (struct spoiler){.method = "PUT", .times = 1, .spoil = s501, .instead = true});
    assert_int_equal(create("objects/a", "first", &err), SDS_ERR_UNSUPPORTED);
    assert_string_equal(err.check, "conditional_writes");
}

static void swaps_the_version_that_was_seen(void **state) {
    (void)state;
    struct sds_err err;
    struct sds_version none = {.there = false}, seen;
    struct sds_blob *blob = NULL;
    open_s3();
    assert_false(version().there);
    assert_int_equal(sds_store_read_version(store, "catalog.json", MIB, &blob, &seen, &err),
                     SDS_ERR_NOT_FOUND);
    assert_int_equal(swap("one", &none, NULL), SDS_OK);
    assert_int_equal(swap("two", &none, &err), SDS_ERR_CONFLICT);
    assert_string_equal(err.check, "changed");
    assert_int_equal(sds_store_read_version(store, "catalog.json", MIB, &blob, &seen, NULL),
                     SDS_OK);
    assert_int_equal(blob->len, 3);
    sds_blob_unref(blob);
    struct sds_version now = version();
    assert_true(sds_version_eq(&seen, &now));
    assert_int_equal(swap("two!", &seen, NULL), SDS_OK);
    expect_object("catalog.json", "two!");
    assert_int_equal(swap("three", &seen, &err), SDS_ERR_CONFLICT);
    assert_string_equal(err.check, "changed");
    expect_object("catalog.json", "two!");
    now = version();
    assert_false(sds_version_eq(&seen, &now));
    assert_int_equal(sds_store_read_version(store, "catalog.json", 3, &blob, &seen, &err),
                     SDS_ERR_LIMIT);
    assert_string_equal(err.check, "size");
}

static void a_lost_answer_to_a_swap_is_looked_into(void **state) {
    (void)state;
    struct sds_err err;
    struct sds_version seen;
    open_s3();
    serve_bytes(&server, "catalog.json", "one", 3);
    seen = version();
    spoil(&server, (struct spoiler){.method = "PUT", .times = 1, .spoil = loses_the_answer});
    assert_int_equal(swap("two", &seen, &err), SDS_OK); // done, answer lost; then 412
    expect_object("catalog.json", "two");
    // A server that says 500 to the loser of a race: somebody else's bytes stand there.
    serve_bytes(&server, "catalog.json", "theirs", 6);
    spoil(&server, (struct spoiler){.method = "PUT", .times = 1, .spoil = s500, .instead = true});
    assert_int_equal(swap("ours", &seen, &err), SDS_ERR_CONFLICT);
    expect_object("catalog.json", "theirs");
    // And one that stays away after it was done.
    seen = version();
    options.remote.retries = 1;
    sds_store_close(store);
    open_s3();
    spoil(&server, (struct spoiler){.method = "PUT", .times = 2, .spoil = loses_the_answer});
    assert_int_equal(swap("last", &seen, &err), SDS_OK);
    expect_object("catalog.json", "last");
}

static void a_lost_answer_to_a_create_is_a_conflict(void **state) {
    (void)state;
    struct sds_err err;
    open_s3();
    spoil(&server, (struct spoiler){.method = "PUT", .times = 1, .spoil = loses_the_answer});
    assert_int_equal(create("objects/a", "first", &err),
                     SDS_ERR_CONFLICT); // whoever publishes compares
    expect_object("objects/a", "first");
}

static void conflicting_requests_are_repeated(void **state) {
    (void)state;
    open_s3();
    spoil(&server, (struct spoiler){.method = "PUT", .times = 2, .spoil = s409, .instead = true});
    assert_int_equal(create("objects/a", "first", NULL), SDS_OK);
    expect_object("objects/a", "first");
    assert_int_equal(asked(&server, 0, "PUT"), 5);
}

static void the_web_is_read_only(void **state) {
    (void)state;
    struct sds_err err;
    open_store();
    assert_int_equal(sds_store_can_publish(store, &err), SDS_ERR_UNSUPPORTED);
    assert_string_equal(err.check, "conditional_writes");
    assert_int_equal(create("objects/a", "first", &err), SDS_ERR_UNSUPPORTED);
    assert_int_equal(scripted_count(server.server), 0);
}

// --- who pays

static unsigned paid_for(const char *method, const char *name, const char *value) {
    char told[64];
    unsigned count = 0;
    for (unsigned i = 0; i < scripted_count(server.server); i++) {
        const struct scripted_request *request = scripted_seen(server.server, i);
        if (strcmp(request->method, method) == 0) {
            assert_non_null(scripted_header(request, name, told, sizeof told));
            assert_string_equal(told, value);
            count++;
        }
    }
    return count;
}

// Requests of every kind: there are no others, since nothing is ever listed.
static void every_request_says_who_pays(void **state) {
    (void)state;
    struct sds_version none = {.there = false}, seen;
    options.remote.requester_pays = true;
    serve(&server, "shard", MIB, 1);
    open_s3();
    struct sds_object *object = open_object("shard", MIB, false);
    spoil(&server, (struct spoiler){.method = "GET", .times = 1, .spoil = s500, .instead = true});
    read_good(object, 1, 0, 64 * KIB);
    read_good(object, 1, 512 * KIB, 64 * KIB);
    sds_object_close(object);
    assert_int_equal(create("objects/a", "first", NULL), SDS_OK);
    assert_int_equal(swap("one", &none, NULL), SDS_OK);
    seen = version();
    assert_int_equal(swap("two", &seen, NULL), SDS_OK);
    unsigned gets = paid_for("GET", "x-amz-request-payer", "requester");
    unsigned heads = paid_for("HEAD", "x-amz-request-payer", "requester");
    unsigned puts = paid_for("PUT", "x-amz-request-payer", "requester");
    assert_int_equal(gets, 3);
    assert_int_equal(heads, 1);
    assert_int_equal(puts, 5); // with two that try conditions
    assert_int_equal(gets + heads + puts, scripted_count(server.server));
}

// --- who we are, and when

static char credentials_file[64];

static void write_credentials(const char *key) {
    FILE *f = fopen(credentials_file, "we");
    assert_non_null(f);
    fprintf(f, "[default]\naws_access_key_id = %s\naws_secret_access_key = secret\n", key);
    fclose(f);
}

static void expired(struct scripted_answer *answer) {
    static const char body[] = "<Error><Code>ExpiredToken</Code></Error>";
    *answer = (struct scripted_answer){.status = 403, .body = body, .body_len = sizeof body - 1};
    write_credentials("NEWKEY");
}

static void early(struct scripted_answer *answer) {
    static const char body[] = "<Error><Code>RequestTimeTooSkewed</Code></Error>";
    *answer = (struct scripted_answer){.status = 403,
                                       .headers = "Date: Tue, 01 Dec 2037 00:00:00 GMT\r\n",
                                       .body = body,
                                       .body_len = sizeof body - 1};
}

static void other_region(struct scripted_answer *answer) {
    *answer =
        (struct scripted_answer){.status = 301, .headers = "x-amz-bucket-region: eu-north-1\r\n"};
}

static int begin_signed(void **state) {
    begin(state);
    strcpy(credentials_file, "/tmp/sdsfs-credentials-XXXXXX");
    close(mkstemp(credentials_file));
    write_credentials("OLDKEY");
    options.remote.no_sign_request = false;
    setenv("AWS_SHARED_CREDENTIALS_FILE", credentials_file, 1);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unsetenv("AWS_PROFILE");
    unsetenv("AWS_REGION");
    unsetenv("AWS_DEFAULT_REGION");
    return 0;
}

static int end_signed(void **state) {
    unlink(credentials_file);
    return end(state);
}

static bool authorized_by(unsigned i, const char *what) {
    char value[1024];
    return scripted_header(scripted_seen(server.server, i), "Authorization", value, sizeof value) !=
               NULL &&
           strstr(value, what) != NULL;
}

static void read_shard(enum sds_kind kind) {
    struct sds_object *object = open_object("shard", MIB, false);
    struct sds_err err;
    assert_int_equal(sds_object_read(object, 0, buffer, 64 * KIB, &err), kind);
    sds_object_close(object);
}

static void expired_credentials_are_renewed_once(void **state) {
    (void)state;
    serve(&server, "shard", MIB, 1);
    open_s3();
    spoil(&server, (struct spoiler){.times = 1, .spoil = expired});
    read_shard(SDS_OK);
    assert_int_equal(scripted_count(server.server), 2);
    assert_true(authorized_by(0, "Credential=OLDKEY/"));
    assert_true(authorized_by(1, "Credential=NEWKEY/"));
    spoil(&server, (struct spoiler){.times = 5, .spoil = expired});
    read_shard(SDS_ERR_STORAGE); // the same again: that is who we are
    assert_true(scripted_count(server.server) <= 4);
}

static void bad_argument(struct scripted_answer *answer) {
    static const char body[] = "<Error><Code>InvalidArgument</Code></Error>";
    *answer = (struct scripted_answer){.status = 400, .body = body, .body_len = sizeof body - 1};
}

// As Ceph does with a token that it cannot read: nothing of what was wrong.
static void a_refused_session_token_is_hinted_at(void **state) {
    (void)state;
    char token[64];
    struct sds_err err;
    serve(&server, "shard", MIB, 1);
    for (int with = 0; with < 2; with++) {
        open_s3();
        struct sds_object *object = open_object("shard", MIB, false);
        spoil(&server, (struct spoiler){.times = 1, .spoil = bad_argument});
        assert_int_equal(sds_object_read(object, 0, buffer, 10, &err), SDS_ERR_STORAGE);
        assert_int_equal(strstr(err.message, "a session token was sent") != NULL, with);
        assert_null(strstr(err.message, "t0ken"));
        sds_object_close(object);
        const struct scripted_request *last =
            scripted_seen(server.server, scripted_count(server.server) - 1);
        assert_int_equal(scripted_header(last, "x-amz-security-token", token, sizeof token) != NULL,
                         with);
        sds_store_close(store);
        store = NULL;
        FILE *f = fopen(credentials_file, "ae");
        assert_non_null(f);
        fprintf(f, "aws_session_token = t0ken\n");
        fclose(f);
    }
}

static void a_clock_that_is_wrong_is_put_right(void **state) {
    (void)state;
    serve(&server, "shard", MIB, 1);
    open_s3();
    spoil(&server, (struct spoiler){.times = 1, .spoil = early});
    read_shard(SDS_OK);
    assert_int_equal(scripted_count(server.server), 2);
    assert_true(authorized_by(1, "/20371201/") || authorized_by(1, "/20371130/"));
}

static void the_region_is_learned(void **state) {
    (void)state;
    serve(&server, "shard", MIB, 1);
    open_s3();
    spoil(&server, (struct spoiler){.times = 1, .spoil = other_region});
    read_shard(SDS_OK);
    assert_true(authorized_by(1, "/eu-north-1/s3/"));
    spoil(&server, (struct spoiler){.times = 50, .spoil = other_region});
    read_shard(SDS_ERR_STORAGE); // for ever is no answer
    assert_true(scripted_count(server.server) < 12);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define SIGNED(name) cmocka_unit_test_setup_teardown(name, begin_signed, end_signed)
    const struct CMUnitTest tests[] = {
        TEST(creates_where_there_is_nothing),
        TEST(a_server_that_ignores_conditions_is_told),
        TEST(one_answer_is_no_server_without_conditions),
        TEST(a_server_without_conditions_is_told),
        TEST(swaps_the_version_that_was_seen),
        TEST(a_lost_answer_to_a_swap_is_looked_into),
        TEST(a_lost_answer_to_a_create_is_a_conflict),
        TEST(conflicting_requests_are_repeated),
        TEST(the_web_is_read_only),
        TEST(every_request_says_who_pays),
        SIGNED(expired_credentials_are_renewed_once),
        SIGNED(a_refused_session_token_is_hinted_at),
        SIGNED(a_clock_that_is_wrong_is_put_right),
        SIGNED(the_region_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
