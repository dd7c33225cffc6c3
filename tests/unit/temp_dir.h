// SPDX-License-Identifier: Apache-2.0
//
// A directory of its own for each test of a group, as cmocka's *state, that goes away with all
// that is in it.
#ifndef SDSFS_TEMP_DIR_H
#define SDSFS_TEMP_DIR_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct temp_dir {
    char path[32];
    int fd;
};

static int temp_dir_make(void **state) {
    static struct temp_dir dir;
    snprintf(dir.path, sizeof dir.path, "/tmp/sdsfs-unit-XXXXXX");
    if (mkdtemp(dir.path) == NULL) {
        return -1;
    }
    dir.fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &dir;
    return dir.fd < 0;
}

static int temp_dir_remove(void **state) {
    const struct temp_dir *dir = *state;
    char command[64];
    close(dir->fd);
    snprintf(command, sizeof command, "rm -rf %s", dir->path);
    return system(command);
}

#define TEST_IN_TEMP_DIR(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

#endif
