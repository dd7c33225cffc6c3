// SPDX-License-Identifier: Apache-2.0
// The encoders: what decodes and is encoded decodes to the same again, and that second form is the
// canonical one, which encodes to its own bytes. The first byte tells what the others are: 'p' a
// payload, 'd' a descriptor, which gets a header that fits around it, 'm' a metadata entry, 'j' any
// JSON.
#include <stdlib.h>

#include "../unit/format/signal_dataset/reencode.h"
#include "around_descriptor.h"
#include "base/json_write.h"
#include "format/signal_dataset/axis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

#define MOST_BYTES ((size_t)64 << 20) // of what comes out

// What can be read, but not written.
static void check_refusal(enum sds_kind kind, const struct sds_err *err) {
    static const char *const checks[] = {"surrogate", "infinite", "coordinate_values",
                                         "axis_length"};
    CHECK(err->kind == kind && err->message[0] != '\0');
    bool known = kind == SDS_ERR_LIMIT; // what is written may be larger than what was read
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        known = known || (kind == SDS_ERR_INVALID && strcmp(err->check, checks[i]) == 0);
    }
    CHECK(known);
}

static void check_equal(struct sds_value a, struct sds_value b) {
    bool equal = false;
    CHECK(sds_value_equal(a, b, &equal) == SDS_OK && equal);
}

// Null and absent are one.
static void check_optional(struct sds_value a, struct sds_value b) {
    if (sds_value_type(a) == SDS_JSON_NULL) {
        CHECK(sds_value_type(b) == SDS_JSON_NULL);
    } else {
        check_equal(a, b);
    }
}

static void check_metadata(struct sds_value a, struct sds_value b) {
    bool equal = false;
    CHECK(sds_metadata_equal(a, b, &equal) == SDS_OK && equal);
}

static void check_axis(struct sds_value first, struct sds_value second) {
    struct sds_axis a, b;
    CHECK(sds_axis_read(first, &a, NULL) == SDS_OK && sds_axis_read(second, &b, NULL) == SDS_OK);
    check_equal(a.name, b.name);
    check_equal(a.length, b.length);
    check_optional(a.role, b.role);
    check_optional(a.id, b.id);
    check_metadata(a.metadata, b.metadata);
    CHECK(a.has_coordinate == b.has_coordinate);
    if (a.has_coordinate) {
        bool equal = false;
        CHECK(sds_coordinate_equal(&a.coordinate, &b.coordinate, &equal) == SDS_OK && equal);
    }
}

static void check_field(const struct sds_field *a, const struct sds_field *b) {
    CHECK(a->dtype == b->dtype && a->rank == b->rank && a->len == b->len);
    CHECK(a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
    check_metadata(a->metadata, b->metadata);
    struct sds_iter left = sds_value_iter(a->axes), right = sds_value_iter(b->axes);
    while (sds_iter_next(&left)) {
        CHECK(sds_iter_next(&right));
        check_axis(left.value, right.value);
    }
}

// Two records, or two entries where there are no payloads.
static void check_same(const struct sds_record *a, struct sds_span a_payload,
                       const struct sds_record *b, struct sds_span b_payload) {
    check_equal(a->id, b->id);
    check_optional(a->scene_id, b->scene_id);
    check_metadata(a->metadata, b->metadata);
    CHECK(a->field_count == b->field_count);
    for (uint32_t i = 0; i < a->field_count; i++) {
        int32_t at = sds_record_find(b, a->fields[i].name);
        CHECK(at >= 0);
        const struct sds_field *x = &a->fields[i], *y = &b->fields[at];
        check_field(x, y);
        CHECK(a_payload.at == NULL || x->len == 0 ||
              memcmp(a_payload.at + x->off, b_payload.at + y->off, (size_t)x->len) == 0);
    }
}

static void check_payload(struct sds_span payload) {
    struct sds_record record, again;
    struct sds_err err = {0};
    if (sds_record_decode(payload, &record, NULL) != SDS_OK) {
        return;
    }
    struct sds_buf first = SDS_BUF_INIT(MOST_BYTES), second = SDS_BUF_INIT(MOST_BYTES);
    enum sds_kind kind = reencode_record(&record, payload, &first, &err);
    if (kind == SDS_OK) {
        struct sds_span written = sds_buf_span(&first);
        CHECK(sds_record_decode(written, &again, NULL) == SDS_OK);
        check_same(&record, payload, &again, written);
        CHECK(reencode_record(&again, written, &second, NULL) == SDS_OK);
        CHECK(sds_span_eq(written, sds_buf_span(&second)));
        sds_record_fini(&again);
    } else {
        check_refusal(kind, &err);
    }
    sds_buf_fini(&first);
    sds_buf_fini(&second);
    sds_record_fini(&record);
}

static void check_descriptor(struct sds_span descriptor) {
    struct sds_buf payload = SDS_BUF_INIT(SIZE_MAX);
    around_descriptor(descriptor, &payload);
    check_payload(sds_buf_span(&payload));
    sds_buf_fini(&payload);
}

static void check_entry(struct sds_span text) {
    const struct sds_span none = {0};
    struct sds_record entry, again;
    struct sds_err err = {0};
    if (sds_metadata_decode(text, &entry, NULL) != SDS_OK) {
        return;
    }
    struct sds_buf first = SDS_BUF_INIT(MOST_BYTES), second = SDS_BUF_INIT(MOST_BYTES);
    enum sds_kind kind = reencode_entry(&entry, &first, &err);
    if (kind == SDS_OK) {
        CHECK(sds_metadata_decode(sds_buf_span(&first), &again, NULL) == SDS_OK);
        check_same(&entry, none, &again, none);
        CHECK(reencode_entry(&again, &second, NULL) == SDS_OK);
        CHECK(sds_span_eq(sds_buf_span(&first), sds_buf_span(&second)));
        sds_record_fini(&again);
    } else {
        check_refusal(kind, &err);
    }
    sds_buf_fini(&first);
    sds_buf_fini(&second);
    sds_record_fini(&entry);
}

// Equality takes 1 for 1.0 and true: the number of values of each type has to be kept as well.
static void count_types(struct sds_value v, unsigned counts[SDS_JSON_OBJECT + 1]) {
    counts[sds_value_type(v)]++;
    for (struct sds_iter it = sds_value_iter(v); sds_iter_next(&it);) {
        count_types(it.value, counts);
    }
}

static void check_style(struct sds_value v, enum sds_json_style style) {
    static const struct sds_json_limits limits = {
        .bytes = MOST_BYTES, .depth = 128, .nodes = 1000000};
    struct sds_buf first = SDS_BUF_INIT(MOST_BYTES), second = SDS_BUF_INIT(MOST_BYTES);
    sds_autojson struct sds_json *doc = NULL;
    unsigned before[SDS_JSON_OBJECT + 1] = {0}, after[SDS_JSON_OBJECT + 1] = {0};
    CHECK(sds_json_write(v, style, &first, NULL) == SDS_OK);
    CHECK(sds_json_parse(sds_buf_span(&first), &limits, &doc, NULL) == SDS_OK);
    check_equal(v, sds_json_top(doc));
    count_types(v, before);
    count_types(sds_json_top(doc), after);
    CHECK(memcmp(before, after, sizeof before) == 0);
    CHECK(sds_json_write(sds_json_top(doc), style, &second, NULL) == SDS_OK);
    CHECK(sds_span_eq(sds_buf_span(&first), sds_buf_span(&second)));
    sds_buf_fini(&first);
    sds_buf_fini(&second);
}

// A string written from its bytes is the string written from the document.
static void check_string(struct sds_value string) {
    struct sds_buf raw = SDS_BUF_INIT(MOST_BYTES);
    struct sds_buf first = SDS_BUF_INIT(MOST_BYTES), second = SDS_BUF_INIT(MOST_BYTES);
    CHECK(sds_value_string_add(string, &raw) == SDS_OK);
    enum sds_kind kind = sds_json_write_string(sds_buf_span(&raw), &first);
    if (sds_value_has_surrogate(string)) {
        CHECK(kind == SDS_ERR_INVALID);
    } else {
        CHECK(kind == SDS_OK);
        CHECK(sds_json_write(string, SDS_JSON_COMPACT, &second, NULL) == SDS_OK);
        CHECK(sds_span_eq(sds_buf_span(&first), sds_buf_span(&second)));
    }
    sds_buf_fini(&raw);
    sds_buf_fini(&first);
    sds_buf_fini(&second);
}

// However a double was written in the document, there is one way to write it.
static void check_real(struct sds_value real) {
    char text[32];
    size_t len = sds_double_text(sds_value_double(real), text);
    struct sds_buf out = SDS_BUF_INIT(MOST_BYTES);
    CHECK(sds_json_write(real, SDS_JSON_COMPACT, &out, NULL) == SDS_OK);
    CHECK(sds_span_eq(sds_buf_span(&out), sds_span(text, len)));
    sds_buf_fini(&out);
}

static void check_json(struct sds_span text) {
    static const struct sds_json_limits limits = {.bytes = 1 << 20, .depth = 128, .nodes = 1000000};
    sds_autojson struct sds_json *doc = NULL;
    if (sds_json_parse(text, &limits, &doc, NULL) != SDS_OK) {
        return;
    }
    struct sds_value top = sds_json_top(doc);
    if (sds_value_type(top) == SDS_JSON_STRING) {
        check_string(top);
    }
    if (sds_value_has_surrogate(top) || sds_value_has_infinity(top)) {
        struct sds_buf out = SDS_BUF_INIT(MOST_BYTES);
        CHECK(sds_json_write(top, SDS_JSON_COMPACT, &out, NULL) == SDS_ERR_INVALID);
        CHECK(out.len == 0);
        return;
    }
    if (sds_value_type(top) == SDS_JSON_REAL) {
        check_real(top);
    }
    check_style(top, SDS_JSON_COMPACT);
    check_style(top, SDS_JSON_INDENTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    struct sds_span rest = sds_span(data + 1, size - 1);
    switch (data[0]) {
    case 'p':
        check_payload(rest);
        break;
    case 'd':
        check_descriptor(rest);
        break;
    case 'm':
        check_entry(rest);
        break;
    case 'j':
        check_json(rest);
        break;
    default:
        break;
    }
    return 0;
}
