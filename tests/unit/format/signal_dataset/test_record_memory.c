// SPDX-License-Identifier: Apache-2.0
// The decoders and encoders without memory: each allocation fails once. Linked with --wrap for the
// allocator.
#include "record_cases.h"
#include "reencode.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned allocations_left = UINT32_MAX; // until one fails
static bool failed;

static bool fails_now(void) {
    if (allocations_left == UINT32_MAX || allocations_left-- > 0) {
        return false;
    }
    failed = true;
    allocations_left = UINT32_MAX;
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails_now() ? NULL : __real_realloc(old, size);
}

static enum sds_kind decode_record(struct sds_span bytes, struct sds_err *err) {
    struct sds_record record;
    enum sds_kind kind = sds_record_decode(bytes, &record, err);
    if (kind == SDS_OK) {
        sds_record_fini(&record);
    }
    return kind;
}

static enum sds_kind decode_entry(struct sds_span bytes, struct sds_err *err) {
    struct sds_record entry;
    enum sds_kind kind = sds_metadata_decode(bytes, &entry, err);
    if (kind == SDS_OK) {
        sds_record_fini(&entry);
    }
    return kind;
}

static enum sds_kind decode_annotation(struct sds_span bytes, struct sds_err *err) {
    struct sds_annotation row;
    enum sds_kind kind = sds_annotation_decode(bytes, &row, err);
    if (kind == SDS_OK) {
        sds_annotation_fini(&row);
    }
    return kind;
}

// Decoded and encoded again.
static enum sds_kind encode_record(struct sds_span bytes, struct sds_err *err) {
    struct sds_record record;
    struct sds_buf written = SDS_BUF_INIT(1 << 20);
    enum sds_kind kind = sds_record_decode(bytes, &record, err);
    if (kind == SDS_OK) {
        kind = reencode_record(&record, bytes, &written, err);
        sds_record_fini(&record);
    }
    sds_buf_fini(&written);
    return kind;
}

static enum sds_kind encode_entry(struct sds_span bytes, struct sds_err *err) {
    struct sds_record entry;
    struct sds_buf written = SDS_BUF_INIT(1 << 20);
    enum sds_kind kind = sds_metadata_decode(bytes, &entry, err);
    if (kind == SDS_OK) {
        kind = reencode_entry(&entry, &written, err);
        sds_record_fini(&entry);
    }
    sds_buf_fini(&written);
    return kind;
}

// Lets the first, second, third... allocation fail until there is none left that could. Returns how
// many could. One whose failure can be lived with (a shrinking that was not to be) may go
// unnoticed.
static unsigned fail_each(enum sds_kind (*decode)(struct sds_span, struct sds_err *),
                          struct sds_span bytes) {
    for (unsigned n = 0;; n++) {
        struct sds_err err = {0};
        failed = false;
        allocations_left = n;
        enum sds_kind kind = decode(bytes, &err);
        allocations_left = UINT32_MAX;
        if (kind != SDS_OK) {
            assert_true(failed);
            assert_int_equal(kind, SDS_ERR_NO_MEMORY);
            assert_int_equal(err.kind, SDS_ERR_NO_MEMORY);
        }
        if (!failed) {
            return n;
        }
    }
}

// Everything that takes memory: escaped names, ids and references, values of each form, equal
// metadata.
static const char descriptor[] =
    "{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":\"r\",\"fields\":{"
    "\"\\u0066\":{\"tensor\":\"t\",\"axes\":["
    "{\"name\":\"\\u0061\",\"length\":2,\"id\":\"\\u0069\",\"coordinate\":{\"values\":\"a\\u0062\"}"
    "},"
    "{\"name\":\"b\",\"length\":2,\"id\":\"i\",\"coordinate\":{\"values\":[\"\\u0061\",\"b\"]}}]},"
    "\"g\":{\"tensor\":\"\\u0074\",\"axes\":["
    "{\"name\":\"a\",\"length\":2,\"id\":\"j\",\"coordinate\":{\"metadata\":{\"x\":1,\"y\":2}}},"
    "{\"name\":\"b\",\"length\":2,\"id\":\"j\",\"coordinate\":{\"metadata\":{\"y\":2,\"x\":1}}}]},"
    "\"h\":{\"tensor\":\"t\",\"axes\":["
    "{\"name\":\"a\",\"length\":2,\"coordinate\":{\"reference\":\"\\u006a\"}},"
    "{\"name\":\"b\",\"length\":2}]}},"
    "\"metadata\":{\"annotation\":"
    "{\"source_index\":1,\"status\":\"success\",\"empty_fields\":false}}}";

static void test_record(void **state) {
    (void)state;
    struct sds_span payload = record_of("[2,2]", 4, sds_span_str(descriptor));
    assert_true(fail_each(decode_record, payload) >= 12);
    assert_true(fail_each(decode_annotation, payload) >= 12);
    // Three texts, two for each field and the tables of them; source and result; decoding that.
    assert_true(fail_each(encode_record, payload) >= 12 + 14 + 12);
    payload_free(payload);
}

static void test_entry(void **state) {
    (void)state;
    static const char entry[] =
        "{\"id\":1,\"fields\":{\"\\u0066\":{\"dtype\":\"<f4\",\"shape\":[1],\"axes\":"
        "[{\"name\":\"a\",\"length\":1,\"coordinate\":{\"values\":\"\\u0061\"}}]}}}";
    assert_true(fail_each(decode_entry, sds_span_str(entry)) >= 6);
    assert_true(fail_each(encode_entry, sds_span_str(entry)) >= 6 + 8 + 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
