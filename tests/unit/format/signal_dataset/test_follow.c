// SPDX-License-Identifier: Apache-2.0
//
// The open dataset follows its annotation catalog: what others publish appears where it should and
// nowhere else, and what is broken changes nothing.
#include "publish_by_hand.h"

#include <fcntl.h>
#include <time.h>

#include "format/signal_dataset/dataset.h"

#define ROW "records/000003/annotations/"

struct fixture {
    struct temp_root root;
    char *sets; // what the revision names
    unsigned warnings;
    struct sds_err last;
};

static void note_warning(void *ctx, const struct sds_err *problem) {
    struct fixture *f = ctx;
    f->warnings++;
    f->last = *problem;
}

static void open_how(struct fixture *f, uint32_t refresh_ms, bool tolerate) {
    f->root.mem_cache = 1 << 20;
    struct sds_open_options options = {.max_record = 1 << 30,
                                       .tolerate_annotations = tolerate,
                                       .refresh_ms = refresh_ms,
                                       .warn = note_warning,
                                       .ctx = f};
    temp_root_open_how(&f->root, &options);
}

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    temp_root_make(&f->root);
    temp_root_copy(&f->root, PUBLISH_SAMPLE);
    f->sets = strdup(PUBLISH_SAMPLE_SET);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    temp_root_remove(&f->root);
    free(f->sets);
    free(f);
    return 0;
}

static enum sds_kind find(struct fixture *f, const char *path) {
    struct sds_node node;
    return temp_root_find(&f->root, path, &node);
}

static struct sds_attr attr_of(struct fixture *f, const char *path) {
    struct sds_node node;
    struct sds_attr attr;
    assert_int_equal(temp_root_find(&f->root, path, &node), SDS_OK);
    assert_int_equal(f->root.ds->ops->getattr(f->root.ds, node, &attr, NULL), SDS_OK);
    return attr;
}

// The first bytes of a node's content as a string.
static void read_node(struct fixture *f, struct sds_node node, char text[256]) {
    struct sds_pieces pieces;
    assert_int_equal(f->root.ds->ops->read(f->root.ds, node, 0, 255, &pieces, NULL), SDS_OK);
    size_t len = 0;
    for (int i = 0; i < pieces.count; i++) {
        memcpy(text + len, pieces.iov[i].iov_base, pieces.iov[i].iov_len);
        len += pieces.iov[i].iov_len;
    }
    text[len] = '\0';
    pieces.release(pieces.owner);
}

static void read_path(struct fixture *f, const char *path, char text[256]) {
    struct sds_node node;
    assert_int_equal(temp_root_find(&f->root, path, &node), SDS_OK);
    read_node(f, node, text);
}

struct names {
    char text[4096];
    unsigned count, stop_after;
    uint64_t next;
};

static bool collect(void *ctx, struct sds_span name, struct sds_node child, enum sds_node_type type,
                    uint64_t next) {
    struct names *names = ctx;
    (void)child, (void)type;
    if (names->count == names->stop_after) {
        return false;
    }
    strcat(names->text, "/");
    strncat(names->text, (const char *)name.at, name.len);
    names->count++;
    names->next = next;
    return true;
}

static void list_on(struct fixture *f, const char *path, struct names *names, unsigned more) {
    struct sds_node dir;
    names->stop_after = more < UINT32_MAX ? names->count + more : more;
    assert_int_equal(temp_root_find(&f->root, path, &dir), SDS_OK);
    assert_int_equal(f->root.ds->ops->list(f->root.ds, dir, names->next, collect, names, NULL),
                     SDS_OK);
}

static bool lists(struct fixture *f, const char *path, const char *name) {
    struct names names = {0};
    list_on(f, path, &names, UINT32_MAX);
    strcat(names.text, "/");
    return strstr(names.text, name) != NULL;
}

static void a_new_set_is_everywhere(void **state) {
    struct fixture *f = *state;
    char text[256], revision[256];
    open_how(f, 0, false);
    read_path(f, "annotations/catalog.json", text);
    sscanf(text, "{\"revision\":{\"generation\":null,\"path\":\"%[^\"]\"}}", revision);
    assert_int_equal(find(f, ROW "other"), SDS_ERR_NOT_FOUND);
    assert_int_equal(find(f, "annotations/sets/other"), SDS_ERR_NOT_FOUND);
    struct timespec before = attr_of(f, "annotations/catalog.json").mtime;

    publish_set(&f->root, &f->sets, "other");
    assert_int_equal(find(f, ROW "other"), SDS_OK);
    assert_true(lists(f, "records/000047/annotations", "/other/"));
    assert_true(lists(f, "annotations/sets", "/other/"));
    assert_true(lists(f, "annotations/sets/other", "/p/"));
    read_path(f, ROW "other/annotation.json", text);
    assert_non_null(strstr(text, "\"source_index\": 3"));
    read_path(f, "annotations/sets/other/p/root.json", text);
    assert_non_null(strstr(text, "\"name\":\"other\""));
    // The catalog is the new one, and the revision that somebody read of before is still there.
    read_path(f, "annotations/catalog.json", text);
    assert_null(strstr(text, revision));
    assert_int_equal(find(f, revision), SDS_OK);
    struct sds_attr attr = attr_of(f, "annotations/catalog.json");
    assert_true(attr.changing);
    assert_int_equal(attr.size, strlen(text));
    assert_true(attr.mtime.tv_sec != before.tv_sec || attr.mtime.tv_nsec != before.tv_nsec);
    // What is final says so.
    assert_true(attr_of(f, "annotations").growing);
    assert_true(attr_of(f, "annotations/sets/other/p").growing);
    assert_true(attr_of(f, "records/000003/annotations").growing);
    assert_false(attr_of(f, "objects/data").growing);
    assert_false(attr_of(f, ROW "other").growing);
    assert_false(attr_of(f, revision).changing);
    assert_int_equal(f->warnings, 0);
}

static void the_facts_follow(void **state) {
    struct fixture *f = *state;
    open_how(f, 0, false);
    publish_set(&f->root, &f->sets, "a");
    struct json_object *facts;
    assert_int_equal(f->root.ds->ops->describe(f->root.ds, &facts, NULL), SDS_OK);
    const char *text = json_object_to_json_string_ext(
        json_object_object_get(facts, "annotation_sets"), JSON_C_TO_STRING_PLAIN);
    assert_non_null(strstr(text, "[{\"name\":\"a\",\"publication_id\":\"p\",\"record_count\":48"));
    json_object_put(facts);
}

static void the_first_catalog_of_all(void **state) {
    struct fixture *f = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/annotations/catalog.json", f->root.path);
    assert_int_equal(unlink(path), 0);
    open_how(f, 0, false);
    assert_false(lists(f, "annotations", "/catalog.json/"));
    assert_int_equal(find(f, "annotations/catalog.json"), SDS_ERR_NOT_FOUND);
    publish_set(&f->root, &f->sets, "other");
    assert_true(lists(f, "annotations", "/catalog.json/"));
    assert_true(lists(f, "records/000000/annotations", "/other/"));
}

static void a_look_is_as_old_as_the_option_says(void **state) {
    struct fixture *f = *state;
    struct signal_dataset *ds;
    open_how(f, 3600000, false);
    ds = (struct signal_dataset *)f->root.ds;
    publish_set(&f->root, &f->sets, "other");
    assert_int_equal(find(f, ROW "other"), SDS_ERR_NOT_FOUND);
    // Who published knows better.
    assert_int_equal(annotations_reload(ds, NULL), SDS_OK);
    assert_int_equal(find(f, ROW "other"), SDS_OK);
}

static void a_set_appears_in_time(void **state) {
    struct fixture *f = *state;
    open_how(f, 50, false);
    publish_set(&f->root, &f->sets, "other");
    struct timespec pause = {.tv_nsec = 60 * 1000000};
    nanosleep(&pause, NULL);
    assert_int_equal(find(f, ROW "other"), SDS_OK);
}

static enum sds_kind reload(struct fixture *f, struct sds_err *err) {
    return annotations_reload((struct signal_dataset *)f->root.ds, err);
}

static void expect_refused(struct fixture *f, const char *check, const char *object) {
    struct sds_err err;
    assert_int_equal(reload(f, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, check);
    assert_non_null(strstr(err.object, object));
    assert_int_equal(find(f, ROW "review-v1"), SDS_OK);
    assert_true(lists(f, "records/000003/annotations", "/review-v1/"));
    char text[256];
    read_path(f, "annotations/catalog.json", text);
    assert_non_null(strstr(text, "8ab27d293030dc07b22b77c6747bb5b96a30d1e2ef5f3b2eeb74825b0bc9"));
}

static void a_broken_catalog_changes_nothing(void **state) {
    struct fixture *f = *state;
    open_how(f, 0, false);
    publish_replace(&f->root, "annotations/catalog.json", "{");
    expect_refused(f, "json", "annotations/catalog.json");
    publish_replace(&f->root, "annotations/catalog.json",
                    "{\"revision\":{\"path\":\"annotations/catalogs/"
                    "0000000000000000000000000000000000000000000000000000000000000000.json\"}}");
    expect_refused(f, "absent", "annotations/catalogs/0000");
    publish_catalog(&f->root, PUBLISH_SAMPLE_SET ",\"x\":{\"path\":\"annotations/sets/x/p/"
                                                 "root.json\",\"stored_bytes\":1}");
    expect_refused(f, "absent", "annotations/sets/x/p/root.json");
    // A set that is known, under a reference that is wrong.
    publish_catalog(&f->root, "\"review-v1\":{\"path\":\"annotations/sets/review-v1/"
                              "0f334badc0032b1b9c337d48120ca7ea/root.json\",\"stored_bytes\":417}");
    expect_refused(f, "stored_bytes", "annotations/sets/review-v1/");
    publish_catalog(&f->root, "\"review-v1\":{\"path\":\"annotations/sets/review-v1/"
                              "0f334badc0032b1b9c337d48120ca7ea/root.json\",\"generation\":7,"
                              "\"stored_bytes\":416}");
    expect_refused(f, "generation", "annotations/sets/review-v1/");
    char path[128];
    snprintf(path, sizeof path, "%s/annotations/catalog.json", f->root.path);
    assert_int_equal(unlink(path), 0);
    expect_refused(f, "absent", "annotations/catalog.json");
    // And it goes on from there.
    publish_set(&f->root, &f->sets, "other");
    assert_int_equal(reload(f, NULL), SDS_OK);
    assert_int_equal(find(f, ROW "other"), SDS_OK);
}

static void a_problem_is_told_once(void **state) {
    struct fixture *f = *state;
    open_how(f, 0, false);
    struct signal_dataset *ds = (struct signal_dataset *)f->root.ds;
    publish_replace(&f->root, "annotations/catalog.json", "{");
    for (int i = 0; i < 3; i++) {
        ds->follow.next_ms = 0; // the pause after a failure
        assert_int_equal(find(f, ROW "review-v1"), SDS_OK);
    }
    assert_int_equal(f->warnings, 1);
    assert_string_equal(f->last.object, "annotations/catalog.json");
    ds->follow.next_ms = 0;
    publish_set(&f->root, &f->sets, "other");
    assert_int_equal(find(f, ROW "other"), SDS_OK);
    publish_replace(&f->root, "annotations/catalog.json", "{");
    assert_int_equal(find(f, ROW "other"), SDS_OK);
    assert_int_equal(f->warnings, 2);
}

static void tolerated_annotations_come_when_they_are_sound(void **state) {
    struct fixture *f = *state;
    publish_replace(&f->root, "annotations/catalog.json", "{");
    open_how(f, 0, true);
    assert_int_equal(f->warnings, 1);
    assert_int_equal(find(f, ROW "review-v1"), SDS_ERR_NOT_FOUND);
    assert_int_equal(f->warnings, 1);
    publish_set(&f->root, &f->sets, "other");
    assert_int_equal(reload(f, NULL), SDS_OK);
    assert_int_equal(find(f, ROW "review-v1"), SDS_OK);
    assert_true(lists(f, "annotations/sets", "/other/"));
}

static void a_known_set_stays_who_it_is(void **state) {
    struct fixture *f = *state;
    struct sds_node row, again, root;
    char text[256];
    open_how(f, 0, false);
    publish_set(&f->root, &f->sets, "other");
    assert_int_equal(temp_root_find(&f->root, ROW "other/annotation.json", &row), SDS_OK);
    assert_int_equal(temp_root_find(&f->root, "annotations/sets/other/p/root.json", &root), SDS_OK);
    publish_catalog(&f->root, PUBLISH_SAMPLE_SET); // somebody takes it away
    assert_int_equal(find(f, ROW "other"), SDS_ERR_NOT_FOUND);
    assert_false(lists(f, "records/000003/annotations", "/other/"));
    read_node(f, row, text); // who holds it may read on
    read_node(f, root, text);
    publish_catalog(&f->root, f->sets);
    assert_int_equal(temp_root_find(&f->root, ROW "other/annotation.json", &again), SDS_OK);
    assert_int_equal(again.key, row.key);
    assert_int_equal(again.wide, row.wide);
}

// Sets appear between any two pieces of a listing: each name comes at most once, and those that
// were there at the beginning all come.
static void a_listing_survives_growth(void **state) {
    static const char *const directories[] = {"records/000003/annotations", "annotations/sets",
                                              "annotations/catalogs"};
    struct fixture *f = *state;
    char name[32];
    open_how(f, 0, false);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "m%d", i);
        publish_set(&f->root, &f->sets, name);
    }
    for (size_t d = 0; d < sizeof directories / sizeof directories[0]; d++) {
        struct names before = {0}, pieces = {0};
        list_on(f, directories[d], &before, UINT32_MAX);
        for (int i = 0; pieces.count == pieces.stop_after; i++) {
            list_on(f, directories[d], &pieces, 2);
            snprintf(name, sizeof name, "%c%zu-%d", 'a' + i % 26, d, i);
            if (i < 9) {
                publish_set(&f->root, &f->sets, name);
            }
        }
        char *rest = before.text, *one;
        while ((one = strsep(&rest, "/")) != NULL) {
            char *first = one[0] != '\0' ? strstr(pieces.text, one) : one;
            assert_non_null(first);
        }
        for (rest = pieces.text; (one = strsep(&rest, "/")) != NULL && rest != NULL;) {
            assert_true(one[0] == '\0' || strstr(rest, one) == NULL);
        }
    }
}

// A clock that stands still between two publications: the content is another one, so the time is.
static void the_time_moves_with_the_content(void **state) {
    struct fixture *f = *state;
    char path[128], name[16];
    struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 999999999},
                                {.tv_sec = 1000, .tv_nsec = 999999999}};
    int64_t last = 0;
    open_how(f, 0, false);
    snprintf(path, sizeof path, "%s/annotations/catalog.json", f->root.path);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "s%d", i);
        publish_set(&f->root, &f->sets, name);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        struct timespec now = attr_of(f, "annotations/catalog.json").mtime;
        int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        assert_true(now.tv_nsec < 1000000000);
        assert_true(ns > last);
        last = ns;
    }
}

// The chain may name files below annotations/ itself: they come first, and what is published joins
// them in the same directories.
static void the_chain_may_lie_among_the_annotations(void **state) {
    (void)state;
    struct fixture f = {.sets = strdup("")};
    struct sds_node node;
    temp_root_make(&f.root);
    temp_root_documents(&f.root, TEMP_ROOT_PAGE,
                        "{\"first_ordinal\":0,\"record_count\":0,"
                        "\"data\":{\"path\":\"annotations/d\",\"stored_bytes\":3},"
                        "\"metadata\":{\"path\":\"annotations/sets/m\",\"stored_bytes\":4}}",
                        0, 1, 7);
    open_how(&f, 0, false);
    assert_true(lists(&f, "annotations", "/d/sets/"));
    assert_true(attr_of(&f, "annotations/sets").growing);
    assert_false(attr_of(&f, "annotations/d").growing);
    assert_int_equal(temp_root_find(&f.root, "annotations/sets", &node), SDS_OK);
    size_t bytes = temp_root_write(
        &f.root, "annotations/sets/x/p/root.json",
        "{\"metadata\":{},\"name\":\"x\",\"publication_id\":\"p\",\"record_count\":0,"
        "\"shards\":[],\"source_snapshot_id\":\"s\"}");
    char *member = temp_root_format(
        "\"x\":{\"path\":\"annotations/sets/x/p/root.json\",\"stored_bytes\":%zu}", bytes);
    publish_catalog(&f.root, member);
    free(member);
    assert_true(lists(&f, "annotations", "/d/sets/catalog.json/catalogs/"));
    assert_true(lists(&f, "annotations/sets", "/m/x/"));
    assert_int_equal(attr_of(&f, "annotations/sets/m").size, 4);
    assert_int_equal(attr_of(&f, "annotations/sets/x/p/root.json").size, bytes);
    struct names pieces = {0};
    do {
        list_on(&f, "annotations", &pieces, 1);
    } while (pieces.count == pieces.stop_after);
    assert_string_equal(pieces.text, "/d/sets/catalog.json/catalogs");
    temp_root_remove(&f.root);
    free(f.sets);
}

int main(void) {
#define FOLLOW_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FOLLOW_TEST(a_new_set_is_everywhere),
        FOLLOW_TEST(the_facts_follow),
        FOLLOW_TEST(the_first_catalog_of_all),
        FOLLOW_TEST(a_look_is_as_old_as_the_option_says),
        FOLLOW_TEST(a_set_appears_in_time),
        FOLLOW_TEST(a_broken_catalog_changes_nothing),
        FOLLOW_TEST(a_problem_is_told_once),
        FOLLOW_TEST(tolerated_annotations_come_when_they_are_sound),
        FOLLOW_TEST(a_known_set_stays_who_it_is),
        FOLLOW_TEST(a_listing_survives_growth),
        FOLLOW_TEST(the_time_moves_with_the_content),
        cmocka_unit_test(the_chain_may_lie_among_the_annotations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
