// SPDX-License-Identifier: Apache-2.0
#include "fs/mounts.h"

#include "unit.h"

static void finds_what_is_mounted(void **state) {
    (void)state;
    struct sds_mount mount;
    struct sds_err err;
    assert_int_equal(sds_mount_find("/proc", &mount, &err), SDS_OK);
    assert_string_equal(mount.type, "proc");
}

static void tells_what_is_not(void **state) {
    (void)state;
    struct sds_mount mount;
    struct sds_err err;
    assert_int_equal(sds_mount_find("/proc/self", &mount, &err), SDS_ERR_NOT_FOUND);
    assert_string_equal(err.check, "mountinfo");
    assert_int_equal(sds_mount_find("/pro", &mount, &err), SDS_ERR_NOT_FOUND);
}

static void unmounting_nothing_fails(void **state) {
    (void)state;
    struct sds_err err;
    assert_int_not_equal(sds_unmount("/proc/self/nothing", false, &err), SDS_OK);
    assert_string_equal(err.check, "umount");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_mounted),
        cmocka_unit_test(tells_what_is_not),
        cmocka_unit_test(unmounting_nothing_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
