// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "format/signal_dataset/views/views.h"

enum { MAX_NUMBER = 3 }; // digits of a part
_Static_assert(VIEW_MAX_PARTS <= 1000, "a part has no more digits than that");

// --- from file to name

static unsigned digits(uint32_t count) {
    return count > 100 ? 3 : count > 10 ? 2 : 1;
}

static size_t name_of(const struct view *view, const struct sds_field *field,
                      struct view_parts parts, uint32_t part, char out[SDS_NAME_MAX + 1]) {
    char suffix[64];
    if (!parts.numbered) {
        return sds_name_encode(field->name, view->suffix, out);
    }
    snprintf(suffix, sizeof suffix, ".%0*u%s", (int)digits(parts.count), part, view->suffix);
    return sds_name_encode(field->name, suffix, out);
}

size_t view_file_name(const struct sds_record *record, const struct view_file *file,
                      char out[SDS_NAME_MAX + 1]) {
    const struct view *view = views[file->view];
    const struct sds_field *field = &record->fields[file->field];
    return name_of(view, field, view_parts(view, field), file->part, out);
}

// Whether a field is called like the numbered file of another one, and has a file without number.
// Of longer names the entries end in a hash, so they differ.
static bool is_taken(const struct sds_record *record, const struct view *view,
                     const struct sds_field *field, struct view_parts parts, uint32_t part) {
    char name[SDS_NAME_MAX + 1 + MAX_NUMBER + 1];
    if (field->name.len > SDS_NAME_MAX) {
        return false;
    }
    if (field->name.len > 0) {
        memcpy(name, field->name.at, field->name.len);
    }
    int number = snprintf(name + field->name.len, sizeof name - field->name.len, ".%0*u",
                          (int)digits(parts.count), part);
    int32_t other = sds_record_find(record, sds_span(name, field->name.len + (size_t)number));
    if (other < 0) {
        return false;
    }
    struct view_parts theirs = view_parts(view, &record->fields[other]);
    return theirs.count > 0 && !theirs.numbered;
}

bool view_file_is_shown(const struct sds_record *record, view_set shown,
                        const struct view_file *file) {
    if (file->field >= record->field_count || file->view >= view_count ||
        (shown >> file->view & 1) == 0) {
        return false;
    }
    const struct view *view = views[file->view];
    const struct sds_field *field = &record->fields[file->field];
    struct view_parts parts = view_parts(view, field);
    return file->part < parts.count &&
           (!parts.numbered || !is_taken(record, view, field, parts, file->part));
}

// --- from name to file

static int hex_digit(uint8_t c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Undoes the %XX of an encoded name; false when it is not one. out has room for name.len bytes.
static bool decode_name(struct sds_span name, uint8_t *out, size_t *len) {
    *len = 0;
    if (name.len == 1 && name.at[0] == '%') {
        return true;
    }
    for (size_t i = 0; i < name.len; i++) {
        uint8_t byte = name.at[i];
        if (byte == '%') {
            int high = i + 2 < name.len ? hex_digit(name.at[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(name.at[i + 2]) : -1;
            if (low < 0) {
                return false;
            }
            byte = (uint8_t)(high << 4 | low);
            i += 2;
        }
        out[(*len)++] = byte;
    }
    return true;
}

static bool ends_in(struct sds_span name, const char *suffix) {
    size_t len = strlen(suffix);
    return name.len > len && memcmp(name.at + name.len - len, suffix, len) == 0;
}

// The number at the end of a stem ("samples.07"); stem becomes what stands before it.
static bool take_number(struct sds_span *stem, uint32_t *part) {
    size_t at = stem->len;
    while (at > 0 && stem->at[at - 1] >= '0' && stem->at[at - 1] <= '9') {
        at--;
    }
    if (at < 2 || at == stem->len || stem->len - at > MAX_NUMBER || stem->at[at - 1] != '.') {
        return false;
    }
    *part = 0;
    for (size_t i = at; i < stem->len; i++) {
        *part = *part * 10 + (stem->at[i] - '0');
    }
    stem->len = at - 1;
    return true;
}

// What a name is compared with.
struct search {
    const struct sds_record *record;
    struct sds_span name;
    uint32_t view;
};

static bool is_file(const struct search *s, uint32_t field, uint32_t part, bool numbered,
                    struct view_file *out) {
    char name[SDS_NAME_MAX + 1];
    const struct view *view = views[s->view];
    struct view_parts parts = view_parts(view, &s->record->fields[field]);
    if (part >= parts.count || parts.numbered != numbered) {
        return false;
    }
    size_t len = name_of(view, &s->record->fields[field], parts, part, name);
    *out = (struct view_file){.field = field, .view = s->view, .part = part};
    return sds_span_eq(s->name, sds_span(name, len));
}

// The field whose name is written in full, without or with a number behind it.
static bool find_plain(const struct search *s, struct sds_span stem, uint32_t part, bool numbered,
                       struct view_file *out) {
    uint8_t plain[SDS_NAME_MAX];
    size_t len = 0;
    int32_t i =
        decode_name(stem, plain, &len) ? sds_record_find(s->record, sds_span(plain, len)) : -1;
    return i >= 0 && is_file(s, (uint32_t)i, part, numbered, out);
}

// A name that was cut to fit carries a hash instead of its end.
static bool find_cut(const struct search *s, uint32_t part, bool numbered, struct view_file *out) {
    for (uint32_t i = 0; i < s->record->field_count; i++) {
        if (is_file(s, i, part, numbered, out)) {
            return true;
        }
    }
    return false;
}

// A field that has the name without a number comes before one that would get it with one.
static bool find_in_view(const struct search *s, struct view_file *out) {
    struct sds_span stem = sds_span(s->name.at, s->name.len - strlen(views[s->view]->suffix));
    bool may_be_cut = memchr(stem.at, '~', stem.len) != NULL;
    if (find_plain(s, stem, 0, false, out) || (may_be_cut && find_cut(s, 0, false, out))) {
        return true;
    }
    uint32_t part;
    return take_number(&stem, &part) &&
           (find_plain(s, stem, part, true, out) || (may_be_cut && find_cut(s, part, true, out)));
}

bool view_name_is_possible(view_set shown, struct sds_span name) {
    for (uint32_t i = 0; i < view_count; i++) {
        if ((shown >> i & 1) != 0 && ends_in(name, views[i]->suffix)) {
            return name.len <= SDS_NAME_MAX;
        }
    }
    return false;
}

bool view_file_find(const struct sds_record *record, view_set shown, struct sds_span name,
                    struct view_file *out) {
    for (uint32_t i = 0; i < view_count && name.len <= SDS_NAME_MAX; i++) {
        struct search s = {.record = record, .name = name, .view = i};
        if ((shown >> i & 1) != 0 && ends_in(name, views[i]->suffix) && find_in_view(&s, out)) {
            return true;
        }
    }
    return false;
}
