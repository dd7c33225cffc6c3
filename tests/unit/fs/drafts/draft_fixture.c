// SPDX-License-Identifier: Apache-2.0
#include "draft_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "unit.h"

int draft_setup(void **state) {
    static struct draft_fixture fixture;
    sds_log_setup(&(struct sds_log_options){.syslog = true});
    fixture = (struct draft_fixture){
        .dir = "/tmp/drafts-XXXXXX", .toy = toy_new(1), .errors = sds_errors_new()};
    if (mkdtemp(fixture.dir) == NULL) {
        return -1;
    }
    fixture.drafts = draft_mount(&fixture);
    *state = &fixture;
    return fixture.drafts == NULL;
}

int draft_teardown(void **state) {
    struct draft_fixture *fixture = *state;
    char command[64];
    sds_drafts_free(fixture->drafts);
    sds_errors_free(fixture->errors);
    toy_free(fixture->toy);
    snprintf(command, sizeof command, "rm -rf %s", fixture->dir);
    return system(command);
}

struct sds_drafts *draft_mount(struct draft_fixture *fixture) {
    return sds_drafts_new(&fixture->toy->base, fixture->errors, fixture->dir, "toy:");
}

uint64_t draft_mkdir(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    struct sds_found found;
    assert_int_equal(sds_drafts_mkdir(drafts, dir, sds_span_str(name), &found), 0);
    assert_true(S_ISDIR(found.st.st_mode));
    return found.id;
}

uint64_t draft_file(struct sds_drafts *drafts, uint64_t dir, const char *name, const char *text) {
    struct sds_found found;
    assert_int_equal(sds_drafts_create(drafts, dir, sds_span_str(name), false, &found), 0);
    assert_true(S_ISREG(found.st.st_mode));
    assert_int_equal(sds_drafts_truncate(drafts, found.id, 0), 0);
    assert_int_equal(draft_write_error(drafts, found.id, text), 0);
    return found.id;
}

uint64_t draft_lookup(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    struct sds_found found;
    assert_int_equal(sds_drafts_lookup(drafts, dir, sds_span_str(name), &found), 0);
    return found.id;
}

void draft_read(struct sds_drafts *drafts, uint64_t dir, const char *name, char *out, size_t size) {
    struct sds_blob *blob;
    uint64_t id = draft_lookup(drafts, dir, name);
    assert_int_equal(sds_drafts_read(drafts, id, 0, size - 1, &blob), 0);
    memcpy(out, blob->at, blob->len);
    out[blob->len] = '\0';
    sds_blob_unref(blob);
    sds_drafts_forget(drafts, id, 1);
}

int draft_lookup_error(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    struct sds_found found;
    return sds_drafts_lookup(drafts, dir, sds_span_str(name), &found);
}

int draft_mkdir_error(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    struct sds_found found;
    return sds_drafts_mkdir(drafts, dir, sds_span_str(name), &found);
}

int draft_create_error(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    struct sds_found found;
    return sds_drafts_create(drafts, dir, sds_span_str(name), false, &found);
}

int draft_write_error(struct sds_drafts *drafts, uint64_t id, const char *text) {
    size_t written = 0;
    int e = sds_drafts_write(drafts, id, 0, sds_span_str(text), &written);
    assert_int_equal(written, e == 0 ? strlen(text) : 0);
    return e;
}

int draft_rename(struct sds_drafts *drafts, uint64_t dir, const char *name, uint64_t new_dir,
                 const char *new_name) {
    return sds_drafts_rename(drafts, dir, sds_span_str(name), new_dir, sds_span_str(new_name), 0);
}

int draft_unlink(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    return sds_drafts_remove(drafts, dir, sds_span_str(name), false);
}

int draft_rmdir(struct sds_drafts *drafts, uint64_t dir, const char *name) {
    return sds_drafts_remove(drafts, dir, sds_span_str(name), true);
}

static void take_answer(void *ctx, int e) {
    atomic_int *answer = ctx;
    *answer = e;
}

int draft_command_begin(struct sds_drafts *drafts, uint64_t draft, const char *line,
                        atomic_int *answer) {
    *answer = -1;
    uint64_t commit = draft_lookup(drafts, draft, "commit");
    assert_true(sds_drafts_is_commit(drafts, commit));
    int e = sds_drafts_command(drafts, commit, sds_span_str(line),
                               &(struct sds_waiter){.done = take_answer, .ctx = answer});
    sds_drafts_forget(drafts, commit, 1);
    return e;
}

int draft_await(atomic_int *answer) {
    for (int i = 0; *answer == -1 && i < 10000; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return *answer;
}

int draft_command(struct sds_drafts *drafts, uint64_t draft, const char *line) {
    atomic_int answer;
    int e = draft_command_begin(drafts, draft, line, &answer);
    return e != 0 ? e : draft_await(&answer);
}
