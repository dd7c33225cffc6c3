// SPDX-License-Identifier: Apache-2.0
//
// Drafts over the toy dataset in a directory of their own.
#ifndef SDSFS_TESTS_DRAFT_FIXTURE_H
#define SDSFS_TESTS_DRAFT_FIXTURE_H

#include "fs/drafts/drafts.h"
#include "toy.h"

struct draft_fixture {
    char dir[40];
    struct toy *toy;
    struct sds_errors *errors;
    struct sds_drafts *drafts;
};

int draft_setup(void **state);
int draft_teardown(void **state);
struct sds_drafts *draft_mount(struct draft_fixture *fixture); // one more over the same directory

// Each asserts that it succeeds, and holds what it returns.
uint64_t draft_mkdir(struct sds_drafts *drafts, uint64_t dir, const char *name);
uint64_t draft_file(struct sds_drafts *drafts, uint64_t dir, const char *name, const char *text);
uint64_t draft_lookup(struct sds_drafts *drafts, uint64_t dir, const char *name);
void draft_read(struct sds_drafts *drafts, uint64_t dir, const char *name, char *out, size_t size);

// Return the errno.
int draft_lookup_error(struct sds_drafts *drafts, uint64_t dir, const char *name);
int draft_mkdir_error(struct sds_drafts *drafts, uint64_t dir, const char *name);
int draft_create_error(struct sds_drafts *drafts, uint64_t dir, const char *name);
int draft_write_error(struct sds_drafts *drafts, uint64_t id, const char *text);
int draft_rename(struct sds_drafts *drafts, uint64_t dir, const char *name, uint64_t new_dir,
                 const char *new_name);
int draft_unlink(struct sds_drafts *drafts, uint64_t dir, const char *name);
int draft_rmdir(struct sds_drafts *drafts, uint64_t dir, const char *name);

// A command to the draft whose directory is given, from start to end.
int draft_command(struct sds_drafts *drafts, uint64_t draft, const char *line);
// Only its start; *answer is -1 until the answer is there.
int draft_command_begin(struct sds_drafts *drafts, uint64_t draft, const char *line,
                        atomic_int *answer);
int draft_await(atomic_int *answer);

#endif
