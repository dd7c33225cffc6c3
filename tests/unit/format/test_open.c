// SPDX-License-Identifier: Apache-2.0
// Which driver opens a root. The table of drivers is this test's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "format/drivers.h"

static struct {
    bool red_claims, blue_claims;
    bool blue_cannot_look;
    const struct sds_driver_ops *opened;
    unsigned closed;
} fake;

static enum sds_kind probe_red(struct sds_store *store, bool *mine, struct sds_err *err) {
    (void)store, (void)err;
    *mine = fake.red_claims;
    return SDS_OK;
}

static enum sds_kind probe_blue(struct sds_store *store, bool *mine, struct sds_err *err) {
    (void)store;
    if (fake.blue_cannot_look) {
        return sds_fail(err, SDS_ERR_TIMEOUT, "read", "no answer");
    }
    *mine = fake.blue_claims;
    return SDS_OK;
}

static enum sds_kind open_red(struct sds_store *store, const struct sds_open_options *options,
                              struct sds_dataset **out, struct sds_err *err);
static enum sds_kind open_blue(struct sds_store *store, const struct sds_open_options *options,
                               struct sds_dataset **out, struct sds_err *err);

static void close_fake(struct sds_dataset *ds) {
    (void)ds;
    fake.closed++;
}

static const struct sds_driver_ops red = {
    .name = "red", .probe = probe_red, .open = open_red, .close = close_fake};
static const struct sds_driver_ops blue = {
    .name = "blue", .probe = probe_blue, .open = open_blue, .close = close_fake};
static struct sds_dataset red_dataset = {.ops = &red};

const struct sds_driver_ops *const sds_drivers[] = {&red, &blue, NULL};

static enum sds_kind open_red(struct sds_store *store, const struct sds_open_options *options,
                              struct sds_dataset **out, struct sds_err *err) {
    (void)store, (void)options, (void)err;
    fake.opened = &red;
    *out = &red_dataset;
    return SDS_OK;
}

static enum sds_kind open_blue(struct sds_store *store, const struct sds_open_options *options,
                               struct sds_dataset **out, struct sds_err *err) {
    (void)store, (void)options, (void)out;
    fake.opened = &blue;
    return sds_fail(err, SDS_ERR_CORRUPT, "format", "not blue enough");
}

static int reset(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    return 0;
}

static const struct sds_open_options options = {0};

static void the_driver_that_claims_a_root_opens_it(void **state) {
    (void)state;
    fake.red_claims = true;
    struct sds_dataset *ds = NULL;
    assert_int_equal(sds_dataset_open(NULL, &options, &ds, NULL), SDS_OK);
    assert_ptr_equal(ds, &red_dataset);
    sds_dataset_close(ds);
    assert_int_equal(fake.closed, 1);
    sds_dataset_close(NULL);
    assert_int_equal(fake.closed, 1);
}

static void its_refusal_is_the_answer(void **state) {
    (void)state;
    fake.blue_claims = true;
    struct sds_dataset *ds = NULL;
    struct sds_err err = {0};
    assert_int_equal(sds_dataset_open(NULL, &options, &ds, &err), SDS_ERR_CORRUPT);
    assert_ptr_equal(fake.opened, &blue);
    assert_string_equal(err.check, "format");
    assert_null(ds);
}

static void a_root_that_nobody_claims_is_refused(void **state) {
    (void)state;
    struct sds_dataset *ds = NULL;
    struct sds_err err = {0};
    assert_int_equal(sds_dataset_open(NULL, &options, &ds, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "layout");
    assert_null(fake.opened);
}

static void a_root_that_two_claim_is_refused(void **state) {
    (void)state;
    fake.red_claims = fake.blue_claims = true;
    struct sds_dataset *ds = NULL;
    struct sds_err err = {0};
    assert_int_equal(sds_dataset_open(NULL, &options, &ds, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.check, "layout");
    assert_string_equal(err.message, "both red and blue claim this root");
    assert_null(fake.opened);
}

static void a_store_that_cannot_be_asked_decides_nothing(void **state) {
    (void)state;
    fake.red_claims = true;
    fake.blue_cannot_look = true;
    struct sds_dataset *ds = NULL;
    struct sds_err err = {0};
    assert_int_equal(sds_dataset_open(NULL, &options, &ds, &err), SDS_ERR_TIMEOUT);
    assert_string_equal(err.check, "read");
    assert_null(fake.opened);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_driver_that_claims_a_root_opens_it, reset),
        cmocka_unit_test_setup(its_refusal_is_the_answer, reset),
        cmocka_unit_test_setup(a_root_that_nobody_claims_is_refused, reset),
        cmocka_unit_test_setup(a_root_that_two_claim_is_refused, reset),
        cmocka_unit_test_setup(a_store_that_cannot_be_asked_decides_nothing, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
