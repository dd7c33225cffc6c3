// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/views/sigmf_facts.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define MAX_HZ 1e12 // of SigMF's schema

static const char *const rate_names[] = {"sample_rate_hz",
                                         "sample_rate",
                                         "sampling_rate_hz",
                                         "sampling_rate",
                                         "sample_frequency_hz",
                                         "sampling_frequency_hz",
                                         "sampling_frequency",
                                         "rate_hz",
                                         "fs_hz",
                                         "fs",
                                         NULL};
static const char *const frequency_names[] = {"center_frequency_hz",
                                              "center_frequency",
                                              "centre_frequency_hz",
                                              "centre_frequency",
                                              "carrier_frequency_hz",
                                              "carrier_frequency",
                                              "tuned_frequency_hz",
                                              "rf_frequency_hz",
                                              "frequency_hz",
                                              "fc_hz",
                                              "fc",
                                              NULL};
static const char *const datetime_names[] = {"started_at",  "start_time",  "start_datetime",
                                             "captured_at", "recorded_at", "datetime",
                                             "timestamp",   NULL};
static const char *const unit_names[] = {"unit", "units", NULL};

static const struct {
    const char *name;
    double a_second; // how many make a second
} time_units[] = {
    {"s", 1},           {"sec", 1},           {"second", 1},         {"seconds", 1},
    {"ms", 1e3},        {"millisecond", 1e3}, {"milliseconds", 1e3}, {"us", 1e6},
    {"\xC2\xB5s", 1e6}, {"\xCE\xBCs", 1e6},   {"microsecond", 1e6},  {"microseconds", 1e6},
    {"ns", 1e9},        {"nanosecond", 1e9},  {"nanoseconds", 1e9},
};

// --- values

bool sigmf_is_number(struct sds_value v) {
    enum sds_json_type type = sds_value_type(v);
    return sds_value_there(v) && (type == SDS_JSON_INTEGER || type == SDS_JSON_REAL);
}

static struct sds_value present(struct sds_value object, const char *name) {
    struct sds_value v = sds_value_type(object) == SDS_JSON_OBJECT ? sds_value_get(object, name)
                                                                   : (struct sds_value){0};
    return sds_value_type(v) == SDS_JSON_NULL ? (struct sds_value){0} : v;
}

struct sds_value sigmf_member(struct sds_value object, const char *const names[]) {
    struct sds_value v = {0};
    for (size_t i = 0; names[i] != NULL && !sds_value_there(v); i++) {
        v = present(object, names[i]);
    }
    return v;
}

bool sigmf_frequency(struct sds_value v, double *out) {
    *out = sigmf_is_number(v) ? sds_value_double(v) : NAN;
    return fabs(*out) <= MAX_HZ; // NaN is not
}

static bool is_rate(double hz) {
    return hz > 0 && hz <= MAX_HZ;
}

// --- the time axis

// What 1/step misses of a whole number by rounding alone is put right.
static double whole(double hz) {
    double nearest = nearbyint(hz);
    return fabs(hz - nearest) <= nearest * 1e-14 ? nearest : hz;
}

static double rate_of_axis(struct sds_value axis) {
    struct sds_value coordinate = present(axis, "coordinate");
    struct sds_value step = present(coordinate, "step");
    struct sds_value unit = present(coordinate, "unit");
    double ticks = sigmf_is_number(step) ? sds_value_double(step) : 0;
    for (size_t i = 0; i < sizeof time_units / sizeof time_units[0]; i++) {
        if (ticks > 0 && sds_value_is(unit, time_units[i].name)) {
            return whole(time_units[i].a_second / ticks);
        }
    }
    return 0;
}

// --- dates

static bool number_at(const char *text, size_t at, size_t len, int *out) {
    *out = 0;
    for (size_t i = at; i < at + len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

// "Z", "+02:00", "-0330" as seconds east of Greenwich; the whole of text.
static bool read_offset(const char *text, int *out) {
    int hours, minutes;
    size_t len = strlen(text);
    *out = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        return true;
    }
    bool colon = len == 6 && text[3] == ':';
    if ((text[0] != '+' && text[0] != '-') || (!colon && len != 5) ||
        !number_at(text, 1, 2, &hours) || !number_at(text, colon ? 4 : 3, 2, &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *out = (hours * 60 + minutes) * (text[0] == '-' ? -60 : 60);
    return true;
}

// "2026-03-02T09:03:00" as seconds since 1970.
static bool read_seconds(const char *text, time_t *out) {
    static const char form[] = "....-..-..T..:..:..";
    struct tm t = {0}, again;
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool either = form[i] == 'T' && (text[i] == ' ' || text[i] == 't');
        if (form[i] != '.' && text[i] != form[i] && !either) {
            return false;
        }
    }
    if (!number_at(text, 0, 4, &t.tm_year) || !number_at(text, 5, 2, &t.tm_mon) ||
        !number_at(text, 8, 2, &t.tm_mday) || !number_at(text, 11, 2, &t.tm_hour) ||
        !number_at(text, 14, 2, &t.tm_min) || !number_at(text, 17, 2, &t.tm_sec)) {
        return false;
    }
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    struct tm as_read = t;
    *out = timegm(&t);
    // A day that there is not comes back as another one.
    return gmtime_r(out, &again) != NULL && again.tm_mday == as_read.tm_mday &&
           again.tm_mon == as_read.tm_mon && again.tm_hour == as_read.tm_hour &&
           again.tm_min == as_read.tm_min && again.tm_sec == as_read.tm_sec;
}

bool sigmf_datetime(struct sds_span text, char out[SIGMF_DATETIME_MAX]) {
    enum { SECONDS = 19, LONGEST = 40 };
    char in[LONGEST + 1];
    time_t seconds;
    struct tm t;
    int offset;
    if (text.len <= SECONDS || text.len > LONGEST || memchr(text.at, '\0', text.len) != NULL) {
        return false;
    }
    memcpy(in, text.at, text.len);
    in[text.len] = '\0';
    size_t fraction = in[SECONDS] == '.' ? 1 + strspn(in + SECONDS + 1, "0123456789") : 0;
    if (fraction == 1 || !read_seconds(in, &seconds) ||
        !read_offset(in + SECONDS + fraction, &offset)) {
        return false;
    }
    seconds -= offset;
    if (gmtime_r(&seconds, &t) == NULL || t.tm_year < -1900 || t.tm_year > 9999 - 1900) {
        return false;
    }
    snprintf(out, SIGMF_DATETIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d%.*sZ",
             (t.tm_year + 1900) % 10000, (t.tm_mon + 1) % 100, t.tm_mday % 100, t.tm_hour % 100,
             t.tm_min % 100, t.tm_sec % 100, (int)fraction, in + SECONDS);
    return true;
}

// --- metadata

struct scopes {
    struct sds_value objects[3]; // the nearest first
};

static void find_rate(const struct scopes *scopes, double *out) {
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; rate_names[i] != NULL; i++) {
            struct sds_value v = present(scopes->objects[s], rate_names[i]);
            double hz = sigmf_is_number(v) ? sds_value_double(v) : 0;
            if (is_rate(hz)) {
                *out = hz;
                return;
            }
        }
    }
}

static void find_frequency(const struct scopes *scopes, struct sigmf_facts *out) {
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; frequency_names[i] != NULL; i++) {
            if (sigmf_frequency(present(scopes->objects[s], frequency_names[i]), &out->frequency)) {
                out->has_frequency = true;
                return;
            }
        }
    }
}

static bool read_datetime(struct sds_value v, char out[SIGMF_DATETIME_MAX]) {
    struct sds_buf text = SDS_BUF_INIT(64);
    bool ok = sds_value_type(v) == SDS_JSON_STRING && sds_value_string_len(v) <= 64 &&
              sds_value_string_add(v, &text) == SDS_OK && sigmf_datetime(sds_buf_span(&text), out);
    sds_buf_fini(&text);
    return ok;
}

static void find_datetime(const struct scopes *scopes, char out[SIGMF_DATETIME_MAX]) {
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; datetime_names[i] != NULL; i++) {
            if (read_datetime(present(scopes->objects[s], datetime_names[i]), out)) {
                return;
            }
        }
    }
}

void sigmf_facts_find(const struct view_subject *subject, const struct sigmf_layout *layout,
                      struct sigmf_facts *out) {
    struct scopes scopes = {
        {present(layout->axis, "metadata"), subject->field->metadata, subject->record->metadata}};
    *out = (struct sigmf_facts){.sample_rate = rate_of_axis(layout->axis)};
    if (!is_rate(out->sample_rate)) {
        out->sample_rate = 0;
        find_rate(&scopes, &out->sample_rate);
    }
    find_frequency(&scopes, out);
    find_datetime(&scopes, out->datetime);
    out->unit = sigmf_member(subject->field->metadata, unit_names);
    if (sds_value_type(out->unit) != SDS_JSON_STRING) {
        out->unit = (struct sds_value){0};
    }
}
