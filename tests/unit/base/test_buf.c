// SPDX-License-Identifier: Apache-2.0
#include "unit.h"

#include "base/buf.h"

static void grows_up_to_its_ceiling(void **state) {
    (void)state;
    struct sds_buf buf = SDS_BUF_INIT(100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(sds_buf_add(&buf, "x", 1), SDS_OK);
    }
    assert_int_equal(sds_buf_add(&buf, "x", 1), SDS_ERR_LIMIT);
    assert_int_equal(buf.len, 100);
    assert_true(buf.cap <= 100);
    assert_int_equal(sds_buf_add(&buf, "", 0), SDS_OK);
    sds_buf_fini(&buf);
    assert_int_equal(buf.max, 100);
}

static void formats(void **state) {
    (void)state;
    struct sds_buf buf = SDS_BUF_INIT(64);
    assert_int_equal(sds_buf_printf(&buf, "%d-%s", 7, "seven"), SDS_OK);
    assert_int_equal(sds_buf_add_str(&buf, "!"), SDS_OK);
    assert_true(sds_span_eq(sds_buf_span(&buf), sds_span_str("7-seven!")));
    assert_int_equal(sds_buf_printf(&buf, "%0100d", 1), SDS_ERR_LIMIT);
    assert_int_equal(buf.len, 8);
    sds_buf_fini(&buf);
}

static void writes_numbers(void **state) {
    (void)state;
    struct sds_buf buf = SDS_BUF_INIT(30);
    assert_int_equal(sds_buf_add_u64(&buf, 0), SDS_OK);
    assert_int_equal(sds_buf_add_u64(&buf, 10), SDS_OK);
    assert_int_equal(sds_buf_add_u64(&buf, UINT64_MAX), SDS_OK);
    assert_true(sds_span_eq(sds_buf_span(&buf), sds_span_str("01018446744073709551615")));
    assert_int_equal(sds_buf_add_u64(&buf, UINT64_MAX), SDS_ERR_LIMIT);
    assert_int_equal(buf.len, 23);
    sds_buf_fini(&buf);
}

static void says_why_it_failed(void **state) {
    (void)state;
    struct sds_buf buf = SDS_BUF_INIT(30);
    struct sds_err err;
    assert_int_equal(sds_buf_failed(&buf, SDS_ERR_LIMIT, &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "limit");
    assert_string_equal(err.message, "more than 30 bytes");
    assert_int_equal(sds_buf_failed(&buf, SDS_ERR_NO_MEMORY, &err), SDS_ERR_NO_MEMORY);
    assert_string_equal(err.check, "memory");
}

static void orders_spans(void **state) {
    (void)state;
    assert_true(sds_span_cmp(sds_span_str("ab"), sds_span_str("abc")) < 0);
    assert_true(sds_span_cmp(sds_span_str("b"), sds_span_str("abc")) > 0);
    assert_int_equal(sds_span_cmp(sds_span(NULL, 0), sds_span_str("")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_up_to_its_ceiling),
        cmocka_unit_test(formats),
        cmocka_unit_test(writes_numbers),
        cmocka_unit_test(says_why_it_failed),
        cmocka_unit_test(orders_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
