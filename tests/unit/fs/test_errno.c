// SPDX-License-Identifier: Apache-2.0
#include "fs/errno.h"

#include <errno.h>

#include "unit.h"

static void each_kind_has_its_errno(void **state) {
    (void)state;
    static const struct {
        enum sds_kind kind;
        int error;
    } table[] = {
        {SDS_OK, 0},
        {SDS_ERR_CORRUPT, EIO},
        {SDS_ERR_NOT_FOUND, ENOENT},
        {SDS_ERR_STORAGE, EIO},
        {SDS_ERR_TIMEOUT, ETIMEDOUT},
        {SDS_ERR_DENIED, EACCES},
        {SDS_ERR_CONFLICT, EEXIST},
        {SDS_ERR_INVALID, EINVAL},
        {SDS_ERR_LIMIT, EIO},
        {SDS_ERR_UNSUPPORTED, EIO},
        {SDS_ERR_NO_MEMORY, ENOMEM},
        {SDS_ERR_INTERNAL, EIO},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(sds_errno(table[i].kind), table[i].error);
        int inside = table[i].kind == SDS_ERR_NOT_FOUND ? EIO : table[i].error;
        assert_int_equal(sds_errno_inside(table[i].kind), inside);
        int publish = table[i].kind == SDS_ERR_UNSUPPORTED ? EPERM : inside;
        assert_int_equal(sds_errno_publish(table[i].kind), publish);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_has_its_errno)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
