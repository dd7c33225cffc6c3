// SPDX-License-Identifier: Apache-2.0
#include "fs/prefetch.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

enum { RECORDS = 1000 };

static int parse(const char *text, uint64_t **out, size_t *count) {
    return sds_prefetch_parse(sds_span(text, strlen(text)), RECORDS, out, count, NULL);
}

static void ordinals_and_ranges_keep_their_order(void **state) {
    (void)state;
    const uint64_t expected[] = {7, 3, 999, 12, 13, 14, 0, 7};
    uint64_t *ordinals;
    size_t count;
    assert_int_equal(parse(" 7\t000003\r\n999 12-14\n\n0-0 7\n", &ordinals, &count), 0);
    assert_int_equal(count, 8);
    assert_memory_equal(ordinals, expected, sizeof expected);
    free(ordinals);
    assert_int_equal(parse("", &ordinals, &count), 0);
    assert_null(ordinals);
    assert_int_equal(parse(" \n\n", &ordinals, &count), 0);
    assert_int_equal(count, 0);
}

static void anything_else_is_refused_as_a_whole(void **state) {
    (void)state;
    static const char *const bad[] = {"1",
                                      "1\n2",
                                      "1\nx\n",
                                      "1,2\n",
                                      "-1\n",
                                      "1-\n",
                                      "3-2\n",
                                      "1--2\n",
                                      "1-2-3\n",
                                      "1 - 2\n",
                                      "1000\n",
                                      "0-1000\n",
                                      "+1\n",
                                      "1.0\n",
                                      "0x1\n",
                                      "1\n\v\n",
                                      "18446744073709551617\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t *ordinals;
        size_t count;
        assert_int_equal(parse(bad[i], &ordinals, &count), EINVAL);
        assert_null(ordinals);
        assert_int_equal(count, 0);
    }
    uint64_t *ordinals;
    size_t count;
    assert_int_equal(sds_prefetch_parse(sds_span("1\0\n", 3), RECORDS, &ordinals, &count, NULL),
                     EINVAL);
    assert_int_equal(sds_prefetch_parse(sds_span("0\n", 2), 0, &ordinals, &count, NULL), EINVAL);
}

static void there_is_an_end_to_it(void **state) {
    (void)state;
    uint64_t *ordinals;
    size_t count;
    const char *all = "0-1048575\n", *more = "0-1048575 1\n", *huge = "0-1152921504606846974\n";
    assert_int_equal(sds_prefetch_parse(sds_span_str(all), UINT64_MAX, &ordinals, &count, NULL), 0);
    assert_int_equal(count, SDS_PREFETCH_MAX);
    assert_int_equal(ordinals[count - 1], SDS_PREFETCH_MAX - 1);
    free(ordinals);
    assert_int_equal(sds_prefetch_parse(sds_span_str(more), UINT64_MAX, &ordinals, &count, NULL),
                     E2BIG);
    assert_int_equal(sds_prefetch_parse(sds_span_str(huge), UINT64_MAX, &ordinals, &count, NULL),
                     E2BIG);
}

static void it_is_told_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"foo\n", "\"foo\" is neither an ordinal below 1000 nor a range of them, such as 20-39"},
        {"1\n 2 x\001y\t3\n", "\"x\\x01y\" is neither"},
        {"1 999 1000\n", "\"1000\" is neither an ordinal below 1000"},
        {"4 30-20 5\n", "\"30-20\" is neither"},
        {"1-\n", "\"1-\" is neither"},
        {"12,13\n", "\"12,13\" is neither"},
        {"1\n2", "there is no newline at the end"},
        {"0-999 0-999 ", "there is no newline at the end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t *ordinals;
        size_t count;
        struct sds_err err;
        struct sds_span text = sds_span_str(cases[i].text);
        assert_int_equal(sds_prefetch_parse(text, RECORDS, &ordinals, &count, &err), EINVAL);
        assert_string_equal(err.check, "prefetch");
        assert_memory_equal(err.message, cases[i].told, strlen(cases[i].told));
    }
    struct sds_prefetch prefetch;
    uint64_t *ordinals;
    size_t count;
    struct sds_err err;
    sds_prefetch_init(&prefetch);
    int e =
        sds_prefetch_write(&prefetch, 0, sds_span_str("1\n2"), RECORDS, &ordinals, &count, &err);
    assert_int_equal(e, EINVAL);
    assert_non_null(strstr(err.message, "no newline"));
    const char *more = "0-1048575 1\n";
    e = sds_prefetch_write(&prefetch, 0, sds_span_str(more), UINT64_MAX, &ordinals, &count, &err);
    assert_int_equal(e, E2BIG);
    assert_string_equal(err.message, "more than 1048576 records in one write");
    sds_prefetch_fini(&prefetch);
}

static int put(struct sds_prefetch *prefetch, uint64_t off, const char *text, uint64_t *sum) {
    uint64_t *ordinals;
    size_t count;
    int e = sds_prefetch_write(prefetch, off, sds_span_str(text), RECORDS, &ordinals, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        *sum = *sum * RECORDS + ordinals[i];
    }
    free(ordinals);
    return e;
}

static void a_line_that_the_kernel_cut_is_put_together(void **state) {
    (void)state;
    struct sds_prefetch prefetch;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), sum = 0;
    sds_prefetch_init(&prefetch);
    assert_int_equal(put(&prefetch, page - 4, "1\n12", &sum), 0);
    assert_int_equal(sum, 1);
    assert_int_equal(put(&prefetch, page, "3\n4\n", &sum), 0);
    assert_int_equal(sum, 1123004);
    // Another writer begins elsewhere, and what was cut is not his.
    sum = 0;
    assert_int_equal(put(&prefetch, page - 1, "9", &sum), 0);
    assert_int_equal(put(&prefetch, 0, "5\n", &sum), 0);
    assert_int_equal(put(&prefetch, page, "6\n", &sum), 0);
    assert_int_equal(sum, 5006);
    // The kernel cuts nowhere else, and a line is not as long as that.
    sum = 0;
    assert_int_equal(put(&prefetch, 0, "1\n2", &sum), EINVAL);
    assert_int_equal(put(&prefetch, 3, "3\n", &sum), 0);
    assert_int_equal(sum, 3);
    char zeros[80];
    memset(zeros, '0', sizeof zeros - 1);
    zeros[sizeof zeros - 1] = '\0';
    assert_int_equal(put(&prefetch, page - (sizeof zeros - 1), zeros, &sum), EINVAL);
    assert_int_equal(put(&prefetch, 0, "", &sum), 0);
    sds_prefetch_fini(&prefetch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinals_and_ranges_keep_their_order),
        cmocka_unit_test(anything_else_is_refused_as_a_whole),
        cmocka_unit_test(there_is_an_end_to_it),
        cmocka_unit_test(it_is_told_what_is_wrong),
        cmocka_unit_test(a_line_that_the_kernel_cut_is_put_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
