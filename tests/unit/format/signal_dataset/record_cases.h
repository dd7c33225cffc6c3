// SPDX-License-Identifier: Apache-2.0
//
// The kept payloads of tests/data/records with the reference's verdicts, and payloads made of a
// descriptor written out in a test.
#ifndef SDSFS_TESTS_RECORD_CASES_H
#define SDSFS_TESTS_RECORD_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../payload.h"
#include "base/hash.h"
#include "format/signal_dataset/record.h"

struct record_case {
    char kind;        // 'r', 'm' or 'a'
    char verdict[16]; // "ok", "refused" or "unsupported"
    unsigned fields;
    char rendered[SDS_SHA256_HEX]; // of annotation.json, or "-"
    char written[SDS_SHA256_HEX];  // of what the reference encodes it to again, "refused" or "-"
    char label[200];
    struct sds_span payload; // of its own allocation
    FILE *expected;          // the lines of the fields come next
};

static inline void read_case(FILE *payloads, struct record_case *c) {
    uint8_t len[4];
    assert_int_equal(fread(len, 1, 4, payloads), 4);
    uint8_t *bytes = malloc(sds_le32(len) + 1);
    assert_non_null(bytes);
    // Put at the end of the allocation, where a sanitizer sees a read beyond it.
    assert_int_equal(fread(bytes + 1, 1, sds_le32(len), payloads), sds_le32(len));
    c->payload = sds_span(bytes + 1, sds_le32(len));
}

// Calls check for every kept case of one kind; it has to read the lines of the fields from
// c->expected unless it fails the test. Returns the number of cases.
static inline unsigned each_case(char kind, void (*check)(struct record_case *c)) {
    FILE *payloads = fopen(SDSFS_TEST_DATA "/records/payloads.bin", "rb");
    FILE *expected = fopen(SDSFS_TEST_DATA "/records/expected.txt", "r");
    assert_non_null(payloads);
    assert_non_null(expected);
    unsigned count = 0;
    struct record_case c = {.expected = expected};
    while (fscanf(expected, "%c %15s %u %64s %64s %199[^\n]\n", &c.kind, c.verdict, &c.fields,
                  c.rendered, c.written, c.label) == 6) {
        read_case(payloads, &c);
        if (c.kind == kind) {
            count++;
            check(&c);
        } else {
            for (unsigned i = 0; i < c.fields; i++) {
                assert_int_equal(fscanf(expected, "%*[^\n]\n"), 0);
            }
        }
        free((void *)(uintptr_t)(c.payload.at - 1));
    }
    assert_true(feof(expected));
    fclose(payloads);
    fclose(expected);
    return count;
}

static inline void check_verdict(const struct record_case *c, enum sds_kind kind,
                                 const struct sds_err *err) {
    const char *verdict = kind == SDS_OK ? "ok" : "refused";
    // Whether numpy knows a dtype beyond the thirteen is not ours to tell.
    bool agrees = kind == SDS_ERR_UNSUPPORTED ? strcmp(c->verdict, "ok") != 0
                                              : strcmp(c->verdict, verdict) == 0;
    if (!agrees) {
        fail_msg("%s: %s, expected %s (%s: %s)", c->label, sds_kind_name(kind), c->verdict,
                 kind == SDS_OK ? "" : err->check, kind == SDS_OK ? "" : err->message);
    }
    if (kind != SDS_OK) {
        assert_int_equal(err->kind, kind);
        assert_true(err->check[0] != '\0' && err->message[0] != '\0');
    }
}

// Reads the lines of the fields and compares.
static inline void check_fields(struct record_case *c, const struct sds_record *record) {
    if (record->field_count != c->fields) {
        fail_msg("%s: %u fields, expected %u", c->label, record->field_count, c->fields);
    }
    for (uint32_t i = 0; i < record->field_count; i++) {
        const struct sds_field *field = &record->fields[i];
        char name[2000], dtype[8], shape[3000], digest[SDS_SHA256_HEX];
        assert_int_equal(
            fscanf(c->expected, "%1999s %7s %2999s %64s\n", name, dtype, shape, digest), 4);
        char text[3000] = "-";
        assert_true(2 * field->name.len < sizeof text);
        if (field->name.len > 0) {
            sds_hex(field->name.at, field->name.len, text);
        }
        assert_string_equal(text, name);
        assert_int_equal(sds_record_find(record, field->name), i);
        assert_string_equal(sds_dtype_numpy(field->dtype), dtype);
        size_t len = (size_t)snprintf(text, sizeof text, "-");
        for (uint32_t k = 0; k < field->rank; k++) {
            len = (k == 0 ? 0 : len);
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%llu", k == 0 ? "" : "x",
                                    (unsigned long long)field->shape[k]);
        }
        assert_string_equal(text, shape);
        if (strcmp(digest, "-") != 0) {
            assert_true(field->off <= c->payload.len && field->len <= c->payload.len - field->off);
            sds_sha256_hex(sds_span(c->payload.at + field->off, (size_t)field->len), text);
            assert_string_equal(text, digest);
        }
    }
}

// A payload of one tensor "t" of U8, data_len bytes in the shape given as JSON, and the descriptor.
static inline struct sds_span record_of(const char *shape, size_t data_len,
                                        struct sds_span descriptor) {
    struct sds_buf header = SDS_BUF_INIT(1 << 20);
    struct sds_buf data = SDS_BUF_INIT(SIZE_MAX);
    assert_int_equal(
        sds_buf_printf(&header,
                       "{\"t\":{\"dtype\":\"U8\",\"shape\":%s,\"data_offsets\":[0,%zu]},"
                       "\"__sds_descriptor__\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                       "\"data_offsets\":[%zu,%zu]}}",
                       shape, data_len, descriptor.len, data_len, data_len + descriptor.len),
        SDS_OK);
    assert_int_equal(sds_buf_reserve(&data, data_len + descriptor.len + 1), SDS_OK);
    memset(data.at, 'x', data_len);
    data.len = data_len;
    assert_int_equal(sds_buf_add_span(&data, descriptor), SDS_OK);
    struct sds_span payload = payload_new(sds_buf_span(&header), sds_buf_span(&data));
    sds_buf_fini(&header);
    sds_buf_fini(&data);
    return payload;
}

#define DESCRIPTOR(fields, more)                                                                   \
    "{\"format\":\"signal-dataset.record\",\"version\":\"0.1\",\"id\":\"r\",\"fields\":{" fields   \
    "}" more "}"
#define FIELD(name, axes, more) "\"" name "\":{\"tensor\":\"t\",\"axes\":[" axes "]" more "}"
#define AXIS(name, length, more) "{\"name\":\"" name "\",\"length\":" length more "}"
// The field of a tensor of shape [1].
#define F1 FIELD("f", AXIS("a", "1", ""), "")

#endif
