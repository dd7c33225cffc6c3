// SPDX-License-Identifier: Apache-2.0
#include "fs/walk.h"

#include "toy.h"
#include "unit.h"

static int setup(void **state) {
    *state = toy_new(100);
    return 0;
}

static int teardown(void **state) {
    toy_free(*state);
    return 0;
}

static struct sds_place walk(struct toy *toy, const char *path, bool follow) {
    struct sds_place place;
    struct sds_err err;
    assert_int_equal(sds_walk(&toy->base, sds_span_str(path), follow, &place, &err), SDS_OK);
    return place;
}

static void refuses(struct toy *toy, const char *path, enum sds_kind kind, const char *words) {
    struct sds_place place;
    struct sds_err err;
    assert_int_equal(sds_walk(&toy->base, sds_span_str(path), true, &place, &err), kind);
    assert_non_null(strstr(err.message, words));
}

static void finds_places(void **state) {
    static const char *const roots[] = {"", "/", ".", "dir/..", "many/000001/../.."};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        assert_int_equal(walk(*state, roots[i], true).node.kind, SDS_NODE_ROOT.kind);
    }
    static const char *const inner[] = {"dir/inner.txt", "/dir//inner.txt", "./dir/./inner.txt",
                                        "dir/../dir/inner.txt", "many/../link"};
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        assert_int_equal(walk(*state, inner[i], true).attr.size, 6);
    }
    assert_int_equal(walk(*state, "many/000099/value", true).node.key, 99);
    assert_int_equal(walk(*state, "wide/w5", true).node.wide, 6);
}

static void follows_links_as_asked(void **state) {
    assert_int_equal(walk(*state, "link", true).attr.type, SDS_FILE);
    assert_int_equal(walk(*state, "link", false).attr.type, SDS_LINK);
    assert_int_equal(walk(*state, "link/", false).attr.type, SDS_FILE);
    refuses(*state, "loop", SDS_ERR_LIMIT, "links");
    refuses(*state, "out", SDS_ERR_NOT_FOUND, "above the root");
}

static void refuses_what_is_not_there(void **state) {
    refuses(*state, "nope", SDS_ERR_NOT_FOUND, "no such file");
    refuses(*state, "many/100", SDS_ERR_NOT_FOUND, "\"100\": no such file");
    refuses(*state, "hello.txt/x", SDS_ERR_NOT_FOUND, "not in a directory");
    refuses(*state, "..", SDS_ERR_NOT_FOUND, "above the root");
    refuses(*state, "dir/gone.bin", SDS_ERR_CORRUPT, "known to be bad");
    static char deep[200000];
    for (size_t i = 0; i + 3 < sizeof deep; i += 3) {
        memcpy(deep + i, "../", 4);
    }
    refuses(*state, deep, SDS_ERR_LIMIT, "too long");
}

static void storage_trouble_is_told(void **state) {
    struct toy *toy = *state;
    toy->down = true;
    refuses(toy, "hello.txt", SDS_ERR_STORAGE, "down");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_places, setup, teardown),
        cmocka_unit_test_setup_teardown(follows_links_as_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_is_not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(storage_trouble_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
