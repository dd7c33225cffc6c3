// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/views/views.h"

#include "format/signal_dataset/views/bin.h"
#include "format/signal_dataset/views/npy.h"
#include "format/signal_dataset/views/sigmf.h"

// In the order of listings. New ones at the end.
const struct view *const views[] = {
    &view_npy,
    &view_sigmf_meta,
    &view_sigmf_data,
    &view_bin,
};
const uint32_t view_count = sizeof views / sizeof views[0];
_Static_assert(sizeof views / sizeof views[0] <= VIEWS_MAX, "a set of views has a bit for each");
_Static_assert(VIEW_MAX_PARTS == 1u << VIEW_PART_BITS, "a part fits its bits");

struct view_parts view_parts(const struct view *view, const struct sds_field *field) {
    return view->parts == NULL ? (struct view_parts){.count = 1} : view->parts(field);
}

uint64_t view_size(const struct view *view, const struct sds_field *field, uint32_t part) {
    uint64_t off, len;
    view->slice(field, part, &off, &len);
    return (view->head != NULL ? view->head_len(field) : 0) + len;
}

// --- sets

static view_set views_of_option(struct sds_span option) {
    view_set set = 0;
    for (uint32_t i = 0; i < view_count; i++) {
        set |= sds_span_eq(option, sds_span_str(views[i]->option)) ? 1u << i : 0;
    }
    return set;
}

bool views_know(struct sds_span option) {
    return views_of_option(option) != 0;
}

view_set views_parse(const char *text) {
    view_set set = 0;
    for (const char *word = text != NULL ? text : VIEWS_DEFAULT; *word != '\0';) {
        size_t len = strcspn(word, ",:");
        set |= views_of_option(sds_span(word, len));
        word += len + (word[len] != '\0');
    }
    return set;
}

view_set views_of_rows(view_set shown) {
    for (uint32_t i = 0; i < view_count; i++) {
        shown &= views[i]->in_rows ? UINT32_MAX : ~(1u << i);
    }
    return shown;
}
