// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/views/sigmf.h"

#include <stdio.h>

// SigMF's name of an element type, less the letter for real or complex; NULL where it has none.
static const char *element_of(enum sds_dtype dtype) {
    switch (dtype) {
    case SDS_I8:
        return "i8";
    case SDS_U8:
        return "u8";
    case SDS_I16:
        return "i16_le";
    case SDS_U16:
        return "u16_le";
    case SDS_I32:
        return "i32_le";
    case SDS_U32:
        return "u32_le";
    case SDS_F32:
    case SDS_C64:
        return "f32_le";
    case SDS_F64:
        return "f64_le";
    default:
        return NULL;
    }
}

// The axis named so, or else the last one with that role; -1 when there is none.
static int64_t find_axis(const struct sds_field *field, const char *word, struct sds_value *axis) {
    int64_t found = -1, i = 0;
    for (struct sds_iter it = sds_value_iter(field->axes); sds_iter_next(&it); i++) {
        bool named = sds_value_is(sds_value_get(it.value, "name"), word);
        if (named || sds_value_is(sds_value_get(it.value, "role"), word)) {
            *axis = it.value;
            found = i;
        }
        if (named) {
            break;
        }
    }
    return found;
}

// Real elements whose last axis holds I and Q make complex samples.
static bool ends_in_iq(const struct sds_field *field) {
    struct sds_value axis;
    return field->dtype != SDS_C64 && field->shape[field->rank - 1] == 2 &&
           find_axis(field, "iq", &axis) == (int64_t)field->rank - 1;
}

bool sigmf_layout(const struct sds_field *field, struct sigmf_layout *out) {
    const char *element = element_of(field->dtype);
    *out = (struct sigmf_layout){.recordings = 1, .channels = 1};
    int64_t time = element != NULL ? find_axis(field, "time", &out->axis) : -1;
    // With fewer bytes than that no product of the dimensions overflows.
    if (time < 0 || time >= field->rank || field->len == 0 || field->len > INT64_MAX) {
        return false;
    }
    out->time = (uint32_t)time;
    bool iq = time + 1 < field->rank && ends_in_iq(field);
    uint64_t recordings = 1;
    for (uint32_t i = 0; i < field->rank; i++) {
        recordings *= i < time ? field->shape[i] : 1;
        out->channels *= i > time ? field->shape[i] : 1;
    }
    out->channels /= iq ? 2 : 1;
    out->samples = field->shape[time];
    out->recordings = (uint32_t)recordings;
    snprintf(out->datatype, sizeof out->datatype, "%c%s", iq || field->dtype == SDS_C64 ? 'c' : 'r',
             element);
    return recordings <= VIEW_MAX_PARTS;
}

static struct view_parts parts(const struct sds_field *field) {
    struct sigmf_layout layout;
    if (!sigmf_layout(field, &layout)) {
        return (struct view_parts){0};
    }
    return (struct view_parts){.count = layout.recordings, .numbered = layout.time > 0};
}

static void slice(const struct sds_field *field, uint32_t part, uint64_t *off, uint64_t *len) {
    struct sigmf_layout layout;
    if (!sigmf_layout(field, &layout)) {
        *off = *len = 0;
        return;
    }
    *len = field->len / layout.recordings;
    *off = part * *len;
}

static enum sds_kind meta(const struct view_subject *subject, struct sds_buf *out) {
    struct sigmf_layout layout;
    return sigmf_layout(subject->field, &layout) ? sigmf_render(subject, &layout, out)
                                                 : SDS_ERR_INTERNAL;
}

const struct view view_sigmf_meta = {
    .option = "sigmf",
    .suffix = ".sigmf-meta",
    .parts = parts,
    .head = meta,
};

const struct view view_sigmf_data = {
    .option = "sigmf",
    .suffix = ".sigmf-data",
    .parts = parts,
    .slice = slice,
};
