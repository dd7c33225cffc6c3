// SPDX-License-Identifier: Apache-2.0
// Views of the fields of a metadata entry, which is any bytes: each file is found under its name,
// holds bytes of the field and no others, and a text is JSON that SigMF takes.
#include <stdlib.h>

#include "format/signal_dataset/views/views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// assert() of a release build checks nothing.
#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { MOST_FILES = 2000 };

// A name that imitates the cut form of a long one is found as the imitation.
static void check_name(const struct sds_record *record, const struct view_file *file) {
    char name[SDS_NAME_MAX + 1];
    struct view_file found;
    size_t len = view_file_name(record, file, name);
    CHECK(len > 0 && len <= SDS_NAME_MAX && memchr(name, '/', len) == NULL && name[0] != '.');
    CHECK(view_name_is_possible(UINT32_MAX, sds_span(name, len)));
    CHECK(view_file_find(record, UINT32_MAX, sds_span(name, len), &found));
    CHECK(found.view == file->view && view_file_is_shown(record, UINT32_MAX, &found));
    CHECK((found.field == file->field && found.part == file->part) ||
          memchr(name, '~', len) != NULL);
}

static void check_number(struct sds_value object, const char *key, double least, double most) {
    struct sds_value v = sds_value_get(object, key);
    double number = sds_value_double(v);
    CHECK(!sds_value_there(v) || (number >= least && number <= most));
}

static void check_marks(struct sds_value list, uint64_t samples) {
    double before = 0;
    for (struct sds_iter it = sds_value_iter(list); sds_iter_next(&it);) {
        uint64_t start, count = 0;
        struct sds_value told = sds_value_get(it.value, "core:sample_count");
        CHECK(sds_value_u64(sds_value_get(it.value, "core:sample_start"), &start));
        CHECK(!sds_value_there(told) || sds_value_u64(told, &count));
        CHECK(start < samples && count <= samples - start && (double)start >= before);
        check_number(it.value, "core:freq_lower_edge", -1e12, 1e12);
        check_number(it.value, "core:freq_upper_edge", -1e12, 1e12);
        before = (double)start;
    }
}

static void check_text(const struct view *view, const struct view_subject *subject) {
    struct sds_buf text = SDS_BUF_INIT(1 << 26);
    const struct sds_json_limits limits = {.bytes = 1 << 26, .depth = 256, .nodes = 4000000};
    struct sds_json *doc = NULL;
    CHECK(view->head(subject, &text) == SDS_OK);
    CHECK(sds_json_parse(sds_buf_span(&text), &limits, &doc, NULL) == SDS_OK);
    CHECK(sds_json_is_plain_utf8(doc));
    struct sds_value top = sds_json_top(doc), global = sds_value_get(top, "global");
    CHECK(sds_value_count(top) == 3 && !sds_value_has_surrogate(top));
    CHECK(!sds_value_has_infinity(top));
    CHECK(sds_value_count(sds_value_get(top, "captures")) == 1);
    check_number(global, "core:sample_rate", 1e-320, 1e12);
    check_marks(sds_value_get(top, "annotations"), subject->field->len);
    sds_json_free(doc);
    sds_buf_fini(&text);
}

static void check_file(const struct sds_record *record, const struct view_file *file) {
    const struct view *view = views[file->view];
    struct view_subject subject = {
        .record = record, .field = &record->fields[file->field], .part = file->part};
    check_name(record, file);
    if (view_is_text(view)) {
        check_text(view, &subject);
        return;
    }
    uint64_t off, len;
    view->slice(subject.field, file->part, &off, &len);
    CHECK(off <= subject.field->len && len <= subject.field->len - off);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sds_record record;
    int left = MOST_FILES;
    if (sds_metadata_decode(sds_span(data, size), &record, NULL) != SDS_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < record.field_count; i++) {
        for (uint32_t v = 0; v < view_count; v++) {
            uint32_t count = view_parts(views[v], &record.fields[i]).count;
            CHECK(count <= VIEW_MAX_PARTS);
            for (uint32_t part = 0; part < count && left-- > 0; part++) {
                struct view_file file = {.field = i, .view = v, .part = part};
                if (view_file_is_shown(&record, UINT32_MAX, &file)) {
                    check_file(&record, &file);
                }
            }
        }
    }
    sds_record_fini(&record);
    return 0;
}
