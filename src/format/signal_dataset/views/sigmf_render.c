// SPDX-License-Identifier: Apache-2.0
//
// The text of a .sigmf-meta file. What comes from the dataset is taken over as written where it can
// be: a value with a lone surrogate, which no reader of UTF-8 takes, or with an infinite number, or
// of more than MAX_VALUE bytes (MAX_REMARK in an annotation), is left out.
#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "format/signal_dataset/views/sigmf_marks.h"

#define SIGMF_VERSION "1.2.0"
#define MAX_VALUE ((size_t)64 << 10)
#define MAX_REMARK ((size_t)4 << 10)

// Writes members of one object, a line each. After a failure nothing more is written.
struct writer {
    struct sds_buf *out;
    const char *indent;
    bool more; // a member was written
    enum sds_kind kind;
};

static void put(struct writer *w, const char *text) {
    w->kind = w->kind == SDS_OK ? sds_buf_add_str(w->out, text) : w->kind;
}

static void put_string(struct writer *w, struct sds_span text) {
    w->kind = w->kind == SDS_OK ? sds_json_write_string(text, w->out) : w->kind;
}

static void key(struct writer *w, const char *name) {
    put(w, w->more ? "," : "");
    put(w, w->indent);
    put_string(w, sds_span_str(name));
    put(w, ": ");
    w->more = true;
}

static void add_text(struct writer *w, const char *name, const char *text) {
    key(w, name);
    put_string(w, sds_span_str(text));
}

static void add_u64(struct writer *w, const char *name, uint64_t value) {
    key(w, name);
    w->kind = w->kind == SDS_OK ? sds_buf_add_u64(w->out, value) : w->kind;
}

// Finite ones only. Whole numbers without ".0".
static void add_double(struct writer *w, const char *name, double value) {
    char text[32];
    key(w, name);
    if (value == nearbyint(value) && fabs(value) < 0x1p53) {
        w->kind = w->kind == SDS_OK ? sds_buf_printf(w->out, "%.0f", value) : w->kind;
    } else {
        sds_double_text(value, text);
        put(w, text);
    }
}

static bool can_be_taken(struct sds_value v) {
    return sds_value_there(v) && sds_value_type(v) != SDS_JSON_NULL &&
           sds_value_text(v).len <= MAX_VALUE && !sds_value_has_surrogate(v) &&
           !sds_value_has_infinity(v);
}

static void add_value(struct writer *w, const char *name, struct sds_value v) {
    if (can_be_taken(v)) {
        key(w, name);
        w->kind = w->kind == SDS_OK ? sds_value_compact(v, w->out) : w->kind;
    }
}

// What is false in Python stands for no metadata.
static void add_object(struct writer *w, const char *name, struct sds_value v) {
    if (!sds_value_is_falsy(v)) {
        add_value(w, name, v);
    }
}

// A field's name may be one that is no text.
static void add_name(struct writer *w, const char *name, struct sds_span text) {
    struct writer before = *w;
    size_t len = w->out->len;
    if (text.len > MAX_VALUE) {
        return;
    }
    key(w, name);
    put_string(w, text);
    if (w->kind == SDS_ERR_INVALID) {
        *w = before;
        w->out->len = len;
    }
}

static void put_list(struct writer *w, const uint64_t *numbers, uint32_t count) {
    put(w, "[");
    for (uint32_t i = 0; i < count && w->kind == SDS_OK; i++) {
        put(w, i > 0 ? "," : "");
        w->kind = w->kind == SDS_OK ? sds_buf_add_u64(w->out, numbers[i]) : w->kind;
    }
    put(w, "]");
}

// Where along the axes before time a recording stands.
static void add_index(struct writer *w, const struct view_subject *subject,
                      const struct sigmf_layout *layout) {
    uint64_t index[SDS_MAX_AXES];
    uint32_t rest = subject->part;
    if (layout->time == 0) {
        return;
    }
    for (uint32_t i = layout->time; i-- > 0;) {
        index[i] = rest % subject->field->shape[i];
        rest = (uint32_t)(rest / subject->field->shape[i]);
    }
    key(w, "sdsfs:index");
    put_list(w, index, layout->time);
}

static void add_global(struct writer *w, const struct view_subject *subject,
                       const struct sigmf_layout *layout, const struct sigmf_facts *facts) {
    const struct sds_field *field = subject->field;
    add_text(w, "core:datatype", layout->datatype);
    if (facts->sample_rate > 0) {
        add_double(w, "core:sample_rate", facts->sample_rate);
    }
    if (layout->channels > 1) {
        add_u64(w, "core:num_channels", layout->channels);
    }
    add_text(w, "core:version", SIGMF_VERSION);
    key(w, "core:extensions");
    put(w, "[{\"name\": \"sdsfs\", \"version\": \"1.0.0\", \"optional\": true}]");
    add_value(w, "sdsfs:id", subject->record->id);
    add_value(w, "sdsfs:scene_id", subject->record->scene_id);
    add_u64(w, "sdsfs:ordinal", subject->ordinal);
    add_name(w, "sdsfs:field", field->name);
    add_value(w, "sdsfs:unit", facts->unit);
    key(w, "sdsfs:shape");
    put_list(w, field->shape, field->rank);
    add_index(w, subject, layout);
    add_value(w, "sdsfs:axes", field->axes);
    add_object(w, "sdsfs:field_metadata", field->metadata);
    add_object(w, "sdsfs:metadata", subject->record->metadata);
}

static void add_capture(struct writer *w, const struct sigmf_facts *facts) {
    add_u64(w, "core:sample_start", 0);
    if (facts->has_frequency) {
        add_double(w, "core:frequency", facts->frequency);
    }
    if (facts->datetime[0] != '\0') {
        add_text(w, "core:datetime", facts->datetime);
    }
}

static void add_remark(struct writer *w, const char *name, struct sds_value text) {
    if (sds_value_text(text).len <= MAX_REMARK) {
        add_value(w, name, text);
    }
}

static void add_mark(struct writer *w, const struct sigmf_mark *mark) {
    add_u64(w, "core:sample_start", mark->start);
    if (mark->count > 0) {
        add_u64(w, "core:sample_count", mark->count);
    }
    if (mark->has_edges) {
        add_double(w, "core:freq_lower_edge", mark->lower);
        add_double(w, "core:freq_upper_edge", mark->upper);
    }
    add_remark(w, "core:label", mark->label);
    add_remark(w, "core:comment", mark->comment);
}

static void add_marks(struct writer *w, const struct view_subject *subject,
                      const struct sigmf_layout *layout, const struct sigmf_facts *facts) {
    struct sigmf_mark *marks = NULL;
    size_t count = 0;
    enum sds_kind kind = sigmf_marks_find(subject, layout, facts, &marks, &count);
    w->kind = w->kind == SDS_OK ? kind : w->kind;
    for (size_t i = 0; i < count && w->kind == SDS_OK; i++) {
        put(w, i > 0 ? ",\n    {" : "\n    {");
        w->more = false;
        add_mark(w, &marks[i]);
        put(w, "\n    }");
    }
    put(w, count > 0 ? "\n  ]" : "]");
    free(marks);
}

enum sds_kind sigmf_render(const struct view_subject *subject, const struct sigmf_layout *layout,
                           struct sds_buf *out) {
    struct sigmf_facts facts;
    sigmf_facts_find(subject, layout, &facts);
    struct writer w = {.out = out, .indent = "\n    "};
    put(&w, "{\n  \"global\": {");
    add_global(&w, subject, layout, &facts);
    put(&w, "\n  },\n  \"captures\": [\n    {");
    w = (struct writer){.out = out, .indent = "\n      ", .kind = w.kind};
    add_capture(&w, &facts);
    put(&w, "\n    }\n  ],\n  \"annotations\": [");
    add_marks(&w, subject, layout, &facts);
    put(&w, "\n}\n");
    return w.kind;
}
