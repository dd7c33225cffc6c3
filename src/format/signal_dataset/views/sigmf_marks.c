// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/views/sigmf_marks.h"

#include <math.h>
#include <stdlib.h>

static const char *const list_names[] = {"annotations", NULL};
static const char *const start_names[] = {"core:sample_start", "sample_start", "start_sample",
                                          NULL};
static const char *const end_names[] = {"sample_stop", "stop_sample", "sample_end", "end_sample",
                                        NULL};
static const char *const count_names[] = {"core:sample_count", "sample_count", NULL};
static const char *const start_seconds_names[] = {"start_s", "start_seconds", "start_time_s", NULL};
static const char *const end_seconds_names[] = {"stop_s",      "end_s",      "stop_seconds",
                                                "end_seconds", "end_time_s", NULL};
static const char *const duration_names[] = {"duration_s", "duration_seconds", NULL};
static const char *const lower_names[] = {"core:freq_lower_edge", "freq_lower_edge",
                                          "freq_lower_hz",        "low_hz",
                                          "lower_frequency_hz",   NULL};
static const char *const upper_names[] = {"core:freq_upper_edge", "freq_upper_edge",
                                          "freq_upper_hz",        "high_hz",
                                          "upper_frequency_hz",   NULL};
static const char *const label_names[] = {"core:label", "label", "name", "class", NULL};
static const char *const comment_names[] = {"core:comment", "comment", "description", NULL};

// Seconds as the nearest sample; false where there is no such sample.
static bool sample_of_seconds(struct sds_value v, double rate, uint64_t *out) {
    double sample = sigmf_is_number(v) ? nearbyint(sds_value_double(v) * rate) : NAN;
    if (rate <= 0 || !(sample >= 0 && sample < 0x1p63)) {
        return false;
    }
    *out = (uint64_t)sample;
    return true;
}

static bool read_start(struct sds_value object, double rate, uint64_t *out) {
    return sds_value_u64(sigmf_member(object, start_names), out) ||
           sample_of_seconds(sigmf_member(object, start_seconds_names), rate, out);
}

// What is told as a number of samples, or else of seconds, in samples. False: nothing is.
static bool read_length(struct sds_value samples, struct sds_value seconds, double rate,
                        double *out) {
    if (sds_value_type(samples) == SDS_JSON_INTEGER && sds_value_there(samples)) {
        *out = sds_value_double(samples);
        return true;
    }
    *out = sigmf_is_number(seconds) && rate > 0 ? nearbyint(sds_value_double(seconds) * rate) : NAN;
    return !isnan(*out);
}

// Samples from start on, as far as they lie in the recording; 0 when nothing tells. An instant is
// one sample: without a count SigMF would have it go on to the end. False: it ends before it
// begins.
static bool read_count(struct sds_value object, double rate, uint64_t start, uint64_t samples,
                       uint64_t *out) {
    double length, end;
    uint64_t left = samples - start;
    *out = 0;
    if (!read_length(sigmf_member(object, count_names), sigmf_member(object, duration_names), rate,
                     &length)) {
        if (!read_length(sigmf_member(object, end_names), sigmf_member(object, end_seconds_names),
                         rate, &end)) {
            return true;
        }
        length = end - (double)start;
    }
    *out = length < 1 ? 1 : length < (double)left ? (uint64_t)length : left;
    return length >= 0;
}

static struct sds_value string_of(struct sds_value object, const char *const names[]) {
    struct sds_value v = sigmf_member(object, names);
    return sds_value_type(v) == SDS_JSON_STRING ? v : (struct sds_value){0};
}

static bool read_mark(struct sds_value object, double rate, uint64_t samples,
                      struct sigmf_mark *out) {
    *out = (struct sigmf_mark){0};
    if (!read_start(object, rate, &out->start) || out->start >= samples ||
        !read_count(object, rate, out->start, samples, &out->count)) {
        return false;
    }
    // SigMF wants both edges or none.
    out->has_edges = sigmf_frequency(sigmf_member(object, lower_names), &out->lower) &&
                     sigmf_frequency(sigmf_member(object, upper_names), &out->upper);
    out->label = string_of(object, label_names);
    out->comment = string_of(object, comment_names);
    return true;
}

static int by_start(const void *a, const void *b) {
    const struct sigmf_mark *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static struct sds_value find_list(const struct view_subject *subject) {
    struct sds_value list = sigmf_member(subject->field->metadata, list_names);
    return sds_value_type(list) == SDS_JSON_ARRAY
               ? list
               : sigmf_member(subject->record->metadata, list_names);
}

enum sds_kind sigmf_marks_find(const struct view_subject *subject,
                               const struct sigmf_layout *layout, const struct sigmf_facts *facts,
                               struct sigmf_mark **out, size_t *count) {
    struct sds_value list = find_list(subject);
    uint64_t there = sds_value_type(list) == SDS_JSON_ARRAY ? sds_value_count(list) : 0;
    size_t most = there < SIGMF_MAX_MARKS ? (size_t)there : SIGMF_MAX_MARKS;
    *count = 0;
    *out = NULL;
    if (most == 0) {
        return SDS_OK;
    }
    struct sigmf_mark *marks = calloc(most, sizeof *marks);
    if (marks == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    struct sds_iter it = sds_value_iter(list);
    for (uint32_t i = 0; i < most && sds_iter_next(&it); i++) {
        if (read_mark(it.value, facts->sample_rate, layout->samples, &marks[*count])) {
            marks[(*count)++].order = i;
        }
    }
    qsort(marks, *count, sizeof *marks, by_start);
    *out = marks;
    return SDS_OK;
}
