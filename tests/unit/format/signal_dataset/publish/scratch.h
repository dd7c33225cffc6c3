// SPDX-License-Identifier: Apache-2.0
//
// A temporary directory with files in it, .npy files among them.
#ifndef SDSFS_TESTS_SCRATCH_H
#define SDSFS_TESTS_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "format/tensor/npy.h"

struct scratch {
    char path[64];
    int fd;
};

static inline void scratch_make(struct scratch *scratch) {
    strcpy(scratch->path, "/tmp/sdsfs-scratch-XXXXXX");
    assert_non_null(mkdtemp(scratch->path));
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(scratch->fd >= 0);
}

static inline int scratch_unlink(const char *path, const struct stat *st, int type,
                                 struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void scratch_remove(struct scratch *scratch) {
    close(scratch->fd);
    assert_int_equal(nftw(scratch->path, scratch_unlink, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline int scratch_open(struct scratch *scratch, const char *name) {
    int fd = openat(scratch->fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static inline void scratch_write(struct scratch *scratch, const char *name, struct sds_span bytes) {
    int fd = scratch_open(scratch, name);
    assert_int_equal(write(fd, bytes.at, bytes.len), bytes.len);
    close(fd);
}

// An .npy file with these data.
static inline void scratch_npy(struct scratch *scratch, const char *name, enum sds_dtype dtype,
                               const uint64_t *shape, uint32_t rank, struct sds_span data) {
    struct sds_buf file = SDS_BUF_INIT(SIZE_MAX);
    assert_int_equal(sds_npy_header(dtype, shape, rank, &file), SDS_OK);
    assert_int_equal(sds_buf_add_span(&file, data), SDS_OK);
    scratch_write(scratch, name, sds_buf_span(&file));
    sds_buf_fini(&file);
}

#endif
