// SPDX-License-Identifier: Apache-2.0
//
// Stretches of a recording that its metadata mark: the elements of an array `annotations` in the
// field's metadata, or else in the record's, as SigMF's annotations (docs/views.md).
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_SIGMF_MARKS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_SIGMF_MARKS_H

#include "format/signal_dataset/views/sigmf_facts.h"

#define SIGMF_MAX_MARKS 1000u // elements that are looked at

struct sigmf_mark {
    uint64_t start; // sample, inside the recording
    uint64_t count; // samples, none beyond its end; 0: not known
    uint32_t order; // in the array
    double lower, upper;
    bool has_edges;
    struct sds_value label, comment; // strings, or absent
};

// Gives them in the order in which they start; *out is the caller's to free, NULL when there are
// none. Elements that tell no place, one outside of the recording, or an end before their start,
// are left out. Kind: NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sigmf_marks_find(const struct view_subject *subject,
                                              const struct sigmf_layout *layout,
                                              const struct sigmf_facts *facts,
                                              struct sigmf_mark **out, size_t *count);

#endif
