// SPDX-License-Identifier: Apache-2.0
#include "fs/tree.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "fs/inode.h"
#include "toy.h"
#include "unit.h"

enum { MANY = 200, LIST_MAX = MANY + 10 };

struct fixture {
    struct toy *toy;
    struct sds_errors *errors;
    struct sds_requests requests;
    struct sds_tree *tree;
};

static int setup(void **state) {
    static struct fixture fixture;
    sds_log_setup(&(struct sds_log_options){.syslog = true});
    fixture = (struct fixture){.toy = toy_new(MANY), .errors = sds_errors_new()};
    fixture.tree = sds_tree_new(&fixture.toy->base, fixture.errors, &fixture.requests,
                                &(struct sds_tree_options){.uid = 12,
                                                           .gid = 34,
                                                           .umask = 0027,
                                                           .version = "1",
                                                           .root = "/toy",
                                                           .state_dir = "/proc/none/state"});
    *state = &fixture;
    return fixture.tree == NULL;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    sds_tree_free(fixture->tree);
    sds_errors_free(fixture->errors);
    assert_int_equal(fixture->toy->held_pieces, 0);
    toy_free(fixture->toy);
    return 0;
}

static struct sds_tree *tree_of(void **state) {
    return ((struct fixture *)*state)->tree;
}

static struct sds_entry lookup(struct sds_tree *tree, uint64_t dir, const char *name) {
    struct sds_entry entry;
    assert_int_equal(sds_tree_lookup(tree, dir, sds_span_str(name), &entry), 0);
    return entry;
}

static int lookup_error(struct sds_tree *tree, uint64_t dir, const char *name,
                        struct sds_entry *entry) {
    return sds_tree_lookup(tree, dir, sds_span_str(name), entry);
}

// --- names and attributes

static void attributes_of_each_type(void **state) {
    struct sds_tree *tree = tree_of(state);
    struct sds_entry file = lookup(tree, SDS_ROOT_INO, "big.bin");
    assert_int_equal(file.st.st_mode, S_IFREG | 0440);
    assert_int_equal(file.st.st_size, TOY_BIG_BYTES);
    assert_int_equal(file.st.st_blocks, (TOY_BIG_BYTES + 511) / 512);
    assert_int_equal(file.st.st_uid, 12);
    assert_int_equal(file.st.st_gid, 34);
    assert_int_equal(file.st.st_mtim.tv_sec, 1700000000);
    assert_int_equal(file.st.st_mtim.tv_nsec, 5);
    assert_int_equal(file.st.st_ino, file.ino);
    assert_true(file.lasting);
    assert_int_equal(lookup(tree, SDS_ROOT_INO, "dir").st.st_mode, S_IFDIR | 0550);
    struct sds_entry link = lookup(tree, SDS_ROOT_INO, "link");
    assert_int_equal(link.st.st_mode, S_IFLNK | 0777);
    assert_int_equal(link.st.st_size, strlen("dir/inner.txt"));
    struct sds_entry root;
    assert_int_equal(sds_tree_getattr(tree, SDS_ROOT_INO, &root), 0);
    assert_int_equal(root.ino, SDS_ROOT_INO);
    assert_int_equal(root.st.st_mode, S_IFDIR | 0550);
}

static void number_is_the_node(void **state) {
    struct sds_tree *tree = tree_of(state);
    struct sds_entry many = lookup(tree, SDS_ROOT_INO, "many");
    struct sds_entry one = lookup(tree, many.ino, "000007");
    assert_int_equal(sds_ino_key(one.ino), 7);
    struct sds_entry again;
    assert_int_equal(sds_tree_getattr(tree, one.ino, &again), 0);
    assert_int_equal(again.ino, one.ino);
    assert_int_equal(sds_tree_getattr(tree, 2, &again), ESTALE); // kind 0
    assert_int_equal(sds_tree_getattr(tree, sds_ino_pack(254, 0), &again), ESTALE);
}

static void missing_names(void **state) {
    struct sds_tree *tree = tree_of(state);
    struct sds_entry entry;
    assert_int_equal(lookup_error(tree, SDS_ROOT_INO, "nope", &entry), ENOENT);
    assert_int_equal(entry.ino, 0);
    assert_true(entry.lasting);
    struct sds_entry growing = lookup(tree, SDS_ROOT_INO, "growing");
    assert_int_equal(lookup_error(tree, growing.ino, "g0", &entry), ENOENT);
    assert_false(entry.lasting);
    struct sds_entry control = lookup(tree, SDS_ROOT_INO, "control");
    assert_int_equal(lookup_error(tree, control.ino, "nope", &entry), ENOENT);
    assert_false(entry.lasting);
    char name[300];
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    assert_int_equal(lookup_error(tree, SDS_ROOT_INO, name, &entry), ENAMETOOLONG);
    name[255] = '\0';
    assert_int_equal(lookup_error(tree, SDS_ROOT_INO, name, &entry), ENOENT);
    assert_int_equal(sds_errors_total(((struct fixture *)*state)->errors), 0);
}

static void names_that_grow(void **state) {
    struct fixture *fixture = *state;
    struct sds_entry growing = lookup(fixture->tree, SDS_ROOT_INO, "growing");
    fixture->toy->grown = 1;
    assert_true(lookup(fixture->tree, growing.ino, "g0").lasting);
}

// Only what cannot change and comes with its attributes at once is kept.
static void short_final_listings_are_kept(void **state) {
    struct sds_tree *tree = tree_of(state);
    static const struct {
        const char *name;
        bool keep;
    } dirs[] = {
        {".", true}, {"dir", true}, {"many", false}, {"growing", false}, {"control", false}};
    bool keep;
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        uint64_t ino = lookup(tree, SDS_ROOT_INO, dirs[i].name).ino;
        assert_int_equal(sds_tree_opendir(tree, ino, &keep), 0);
        assert_int_equal(keep, dirs[i].keep);
    }
    uint64_t file = lookup(tree, SDS_ROOT_INO, "empty").ino;
    assert_int_equal(sds_tree_opendir(tree, file, &keep), ENOTDIR);
}

// What NFS asks for handles that the kernel has forgotten.
static void dots_are_found(void **state) {
    struct sds_tree *tree = tree_of(state);
    uint64_t many = lookup(tree, SDS_ROOT_INO, "many").ino;
    uint64_t one = lookup(tree, many, "000007").ino;
    uint64_t control = lookup(tree, SDS_ROOT_INO, "control").ino;
    uint64_t status = lookup(tree, control, "status.json").ino;
    assert_int_equal(lookup(tree, one, ".").ino, one);
    assert_int_equal(lookup(tree, one, "..").ino, many);
    assert_int_equal(lookup(tree, many, "..").ino, SDS_ROOT_INO);
    assert_int_equal(lookup(tree, SDS_ROOT_INO, "..").ino, SDS_ROOT_INO);
    assert_int_equal(lookup(tree, control, "..").ino, SDS_ROOT_INO);
    assert_int_equal(lookup(tree, status, "..").ino, control);
}

// A number that nobody was given is believed only where the node is found.
static void made_up_numbers_are_stale(void **state) {
    struct sds_tree *tree = tree_of(state);
    uint64_t many = lookup(tree, SDS_ROOT_INO, "many").ino;
    uint64_t one = lookup(tree, many, "000007").ino;
    struct sds_entry entry;
    uint64_t beyond = sds_ino_pack(sds_ino_kind(one), MANY);
    assert_int_equal(lookup_error(tree, beyond, ".", &entry), ESTALE);
    assert_int_equal(lookup_error(tree, sds_ino_pack(199, 5), ".", &entry), ESTALE);
    assert_int_equal(lookup_error(tree, sds_ino_pack(SDS_KIND_WIDE, 5), ".", &entry), ESTALE);
    assert_int_equal(sds_errors_total(((struct fixture *)*state)->errors), 0);
}

static void wide_nodes_are_kept_while_held(void **state) {
    struct sds_tree *tree = tree_of(state);
    uint64_t dir = lookup(tree, SDS_ROOT_INO, "wide").ino;
    struct sds_entry entry = lookup(tree, dir, "w3");
    assert_int_equal(sds_ino_kind(entry.ino), 255);
    assert_int_equal(lookup(tree, dir, "w3").ino, entry.ino);
    struct sds_pieces pieces;
    assert_int_equal(sds_tree_read(tree, entry.ino, 0, 6, &pieces), 0);
    pieces.release(pieces.owner);
    assert_int_equal(lookup(tree, entry.ino, "..").ino, dir);
    sds_tree_forget(tree, entry.ino, 2);
    assert_int_equal(sds_tree_getattr(tree, entry.ino, &entry), ESTALE);
    assert_int_equal(lookup(tree, dir, "w3").ino, entry.ino); // the same after a forget
}

// --- failures

static void assert_error_xattr(struct sds_tree *tree, uint64_t ino, const char *expected) {
    struct sds_buf value = SDS_BUF_INIT(4096);
    assert_int_equal(sds_tree_getxattr(tree, ino, "user.sds.error", &value), 0);
    assert_int_equal(value.len, strlen(expected));
    assert_memory_equal(value.at, expected, value.len);
    sds_buf_fini(&value);
}

static void failures_are_noted(void **state) {
    struct fixture *fixture = *state;
    uint64_t dir = lookup(fixture->tree, SDS_ROOT_INO, "dir").ino;
    uint64_t bad = lookup(fixture->tree, dir, "bad.bin").ino;
    struct sds_pieces pieces;
    struct sds_entry entry;
    assert_int_equal(sds_tree_read(fixture->tree, bad, 0, 10, &pieces), EIO);
    assert_int_equal(lookup_error(fixture->tree, dir, "gone.bin", &entry), EIO);
    assert_int_equal(sds_errors_total(fixture->errors), 2);
    assert_error_xattr(fixture->tree, bad, "bad.bin: hash: the bytes are not what they should be");
    struct sds_buf journal = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_errors_render(fixture->errors, &journal), SDS_OK);
    assert_int_equal(sds_buf_add(&journal, "", 1), SDS_OK);
    assert_non_null(strstr((char *)journal.at,
                           "\"path\":\"dir/bad.bin\",\"object\":\"objects/bad\","
                           "\"check\":\"hash\""));
    assert_non_null(strstr((char *)journal.at, "\"path\":\"dir/gone.bin\""));
    sds_buf_fini(&journal);
}

static bool never(void *ctx, const struct sds_listed *listed) {
    (void)ctx, (void)listed;
    return false;
}

// Not being able to tell is never "not there", and is forgotten when it is over.
static void trouble_is_not_absence(void **state) {
    struct fixture *fixture = *state;
    struct sds_tree *tree = fixture->tree;
    uint64_t dir = lookup(tree, SDS_ROOT_INO, "dir").ino;
    uint64_t link = lookup(tree, SDS_ROOT_INO, "link").ino;
    uint64_t hello = lookup(tree, SDS_ROOT_INO, "hello.txt").ino;
    struct sds_buf buf = SDS_BUF_INIT(4096);
    struct sds_entry entry;
    struct sds_pieces pieces;
    bool keep;
    fixture->toy->down = true;
    assert_int_equal(lookup_error(tree, SDS_ROOT_INO, "nope", &entry), EIO);
    assert_int_equal(sds_tree_getattr(tree, hello, &entry), EIO);
    assert_int_equal(sds_tree_opendir(tree, dir, &keep), EIO);
    assert_int_equal(sds_tree_list(tree, dir, 2, never, NULL), EIO);
    assert_int_equal(sds_tree_read(tree, hello, 0, 1, &pieces), EIO);
    assert_int_equal(sds_tree_readlink(tree, link, &buf), EIO);
    assert_int_equal(sds_tree_getxattr(tree, dir, "user.sds.id", &buf), EIO);
    uint64_t noted = sds_errors_total(fixture->errors);
    assert_true(noted >= 7);
    fixture->toy->down = false;
    assert_int_equal(sds_tree_getattr(tree, hello, &entry), 0);
    assert_int_equal(sds_errors_total(fixture->errors), noted);
    sds_buf_fini(&buf);
}

// --- listings

struct listing {
    char names[LIST_MAX][32];
    uint64_t next[LIST_MAX];
    size_t count;
};

static bool collect(void *ctx, const struct sds_listed *listed) {
    struct listing *listing = ctx;
    assert_true(listing->count < LIST_MAX);
    snprintf(listing->names[listing->count], sizeof listing->names[0], "%.*s",
             (int)listed->name.len, (const char *)listed->name.at);
    listing->next[listing->count++] = listed->next;
    return true;
}

static struct listing list(struct sds_tree *tree, uint64_t dir, uint64_t from) {
    struct listing listing = {0};
    assert_int_equal(sds_tree_list(tree, dir, from, collect, &listing), 0);
    return listing;
}

// Every position continues where it should, whatever the size of the steps.
static void assert_listing_resumes(struct sds_tree *tree, uint64_t dir) {
    struct listing whole = list(tree, dir, 0);
    assert_true(whole.count > 2);
    assert_string_equal(whole.names[0], ".");
    assert_string_equal(whole.names[1], "..");
    for (size_t i = 0; i < whole.count; i++) {
        struct listing rest = list(tree, dir, whole.next[i]);
        assert_int_equal(rest.count, whole.count - i - 1);
        for (size_t k = 0; k < rest.count; k++) {
            assert_string_equal(rest.names[k], whole.names[i + 1 + k]);
        }
        if (i > 0) {
            assert_true(whole.next[i] > whole.next[i - 1]);
        }
    }
}

static void listings_resume_anywhere(void **state) {
    struct sds_tree *tree = tree_of(state);
    assert_listing_resumes(tree, SDS_ROOT_INO);
    assert_listing_resumes(tree, lookup(tree, SDS_ROOT_INO, "control").ino);
    assert_listing_resumes(tree, lookup(tree, SDS_ROOT_INO, "dir").ino);
    assert_listing_resumes(tree, lookup(tree, SDS_ROOT_INO, "many").ino);
    assert_listing_resumes(tree, lookup(tree, SDS_ROOT_INO, "wide").ino);
}

static void the_root_lists_control_once(void **state) {
    struct listing root = list(tree_of(state), SDS_ROOT_INO, 0);
    size_t control = 0;
    for (size_t i = 0; i < root.count; i++) {
        control += strcmp(root.names[i], "control") == 0;
    }
    assert_int_equal(control, 1);
    assert_int_equal(list(tree_of(state), SDS_ROOT_INO, root.next[root.count - 1]).count, 0);
}

struct comparison {
    struct sds_tree *tree;
    uint64_t dir;
    size_t compared;
};

static bool compare_entry(void *ctx, const struct sds_listed *listed) {
    struct comparison *comparison = ctx;
    if (listed->node.kind == 0) {
        return true; // "." and ".."
    }
    struct sds_entry listed_entry, entry;
    int listed_e = sds_tree_listed_entry(comparison->tree, listed, &listed_entry);
    int e = sds_tree_lookup(comparison->tree, comparison->dir, listed->name, &entry);
    assert_int_equal(e, listed_e);
    if (e == 0) {
        assert_int_equal(entry.ino, listed_entry.ino);
        assert_int_equal(entry.ino, listed->ino);
        assert_int_equal(entry.st.st_size, listed_entry.st.st_size);
        assert_int_equal(entry.st.st_mode, listed_entry.st.st_mode);
        sds_tree_forget(comparison->tree, entry.ino, 2);
    }
    comparison->compared++;
    return true;
}

static void listed_entries_are_what_lookup_says(void **state) {
    struct sds_tree *tree = tree_of(state);
    static const char *const dirs[] = {".", "control", "dir", "wide"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        struct comparison comparison = {.tree = tree,
                                        .dir = lookup(tree, SDS_ROOT_INO, dirs[i]).ino};
        assert_int_equal(sds_tree_list(tree, comparison.dir, 0, compare_entry, &comparison), 0);
        assert_true(comparison.compared >= 3);
    }
}

// --- content

static void assert_read(struct sds_tree *tree, uint64_t ino, uint64_t off, size_t len,
                        size_t expected) {
    struct sds_pieces pieces;
    assert_int_equal(sds_tree_read(tree, ino, off, len, &pieces), 0);
    size_t got = 0;
    for (int i = 0; i < pieces.count; i++) {
        const uint8_t *bytes = pieces.iov[i].iov_base;
        for (size_t k = 0; k < pieces.iov[i].iov_len; k++, got++) {
            assert_int_equal(bytes[k], toy_byte(off + got));
        }
    }
    pieces.release(pieces.owner);
    assert_int_equal(got, expected);
}

static void ranges_are_exact(void **state) {
    struct sds_tree *tree = tree_of(state);
    uint64_t big = lookup(tree, SDS_ROOT_INO, "big.bin").ino;
    assert_read(tree, big, 0, 100, 100);
    assert_read(tree, big, 4095, 70000, 70000);
    assert_read(tree, big, TOY_BIG_BYTES - 5, 100, 5);
    assert_read(tree, big, TOY_BIG_BYTES, 100, 0);
    assert_read(tree, big, UINT64_MAX - 1, 100, 0);
}

static void links_and_what_are_none(void **state) {
    struct sds_tree *tree = tree_of(state);
    struct sds_buf target = SDS_BUF_INIT(4095);
    assert_int_equal(sds_tree_readlink(tree, lookup(tree, SDS_ROOT_INO, "link").ino, &target), 0);
    assert_int_equal(target.len, strlen("dir/inner.txt"));
    uint64_t control = lookup(tree, SDS_ROOT_INO, "control").ino;
    assert_int_equal(sds_tree_readlink(tree, control, &target), EINVAL);
    struct sds_pieces pieces;
    assert_int_equal(sds_tree_read(tree, control, 0, 1, &pieces), EISDIR);
    sds_buf_fini(&target);
}

static void control_files_are_read_as_rendered(void **state) {
    struct sds_tree *tree = tree_of(state);
    uint64_t control = lookup(tree, SDS_ROOT_INO, "control").ino;
    struct sds_entry status = lookup(tree, control, "status.json");
    assert_false(status.lasting);
    struct sds_pieces pieces;
    assert_int_equal(sds_tree_read(tree, status.ino, 0, 1 << 20, &pieces), 0);
    assert_int_equal(pieces.iov[0].iov_len, status.st.st_size);
    pieces.release(pieces.owner);
    assert_int_equal(sds_tree_read(tree, status.ino, (uint64_t)status.st.st_size, 10, &pieces), 0);
    assert_int_equal(pieces.iov[0].iov_len, 0);
    pieces.release(pieces.owner);
}

// --- attributes beyond

static int getxattr_error(struct sds_tree *tree, uint64_t ino, const char *name) {
    struct sds_buf value = SDS_BUF_INIT(TOY_LARGE_XATTR);
    int e = sds_tree_getxattr(tree, ino, name, &value);
    sds_buf_fini(&value);
    return e;
}

static void xattrs_are_the_drivers(void **state) {
    struct sds_tree *tree = tree_of(state);
    uint64_t dir = lookup(tree, SDS_ROOT_INO, "dir").ino;
    struct sds_buf value = SDS_BUF_INIT(TOY_LARGE_XATTR);
    assert_int_equal(sds_tree_getxattr(tree, dir, "user.sds.large", &value), 0);
    assert_int_equal(value.len, TOY_LARGE_XATTR);
    sds_buf_fini(&value);
    assert_int_equal(sds_tree_getxattr(tree, dir, "user.sds.id", &value), 0);
    assert_memory_equal(value.at, "toy", 3);
    sds_buf_fini(&value);
    assert_int_equal(getxattr_error(tree, dir, "user.sds.none"), ENODATA);
    assert_int_equal(getxattr_error(tree, dir, "user.sds.error"), ENODATA);
    assert_int_equal(getxattr_error(tree, dir, "user.other"), ENODATA);
    assert_int_equal(getxattr_error(tree, dir, "system.posix_acl_access"), EOPNOTSUPP);
    uint64_t control = lookup(tree, SDS_ROOT_INO, "control").ino;
    assert_int_equal(getxattr_error(tree, control, "user.sds.id"), ENODATA);
}

static void xattr_names_end_in_the_error(void **state) {
    struct fixture *fixture = *state;
    uint64_t many = lookup(fixture->tree, SDS_ROOT_INO, "many").ino;
    uint64_t one = lookup(fixture->tree, many, "000001").ino;
    uint64_t dir = lookup(fixture->tree, SDS_ROOT_INO, "dir").ino;
    struct sds_buf names = SDS_BUF_INIT(4096);
    static const char plain[] = "user.sds.id\0user.sds.large";
    assert_int_equal(sds_tree_listxattr(fixture->tree, dir, &names), 0);
    assert_int_equal(names.len, sizeof plain);
    assert_memory_equal(names.at, plain, sizeof plain);
    sds_buf_fini(&names);
    fixture->toy->down = true; // what cannot be told is itself a failure of the place
    assert_int_equal(sds_tree_listxattr(fixture->tree, one, &names), 0);
    assert_int_equal(names.len, sizeof "user.sds.error");
    assert_memory_equal(names.at, "user.sds.error", names.len);
    sds_buf_fini(&names);
    assert_error_xattr(fixture->tree, one, "000001: down: the store is down");
}

static void statfs_tells_the_totals(void **state) {
    struct statvfs whole;
    sds_tree_statfs(tree_of(state), &whole);
    assert_true(whole.f_blocks * whole.f_frsize >= 1234567);
    assert_int_equal(whole.f_bavail, 0);
    assert_int_equal(whole.f_bfree, 0);
    assert_int_equal(whole.f_files, MANY);
    assert_int_equal(whole.f_namemax, 255);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(attributes_of_each_type),
        TEST(number_is_the_node),
        TEST(missing_names),
        TEST(names_that_grow),
        TEST(short_final_listings_are_kept),
        TEST(dots_are_found),
        TEST(made_up_numbers_are_stale),
        TEST(wide_nodes_are_kept_while_held),
        TEST(failures_are_noted),
        TEST(trouble_is_not_absence),
        TEST(listings_resume_anywhere),
        TEST(the_root_lists_control_once),
        TEST(listed_entries_are_what_lookup_says),
        TEST(ranges_are_exact),
        TEST(links_and_what_are_none),
        TEST(control_files_are_read_as_rendered),
        TEST(xattrs_are_the_drivers),
        TEST(xattr_names_end_in_the_error),
        TEST(statfs_tells_the_totals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
