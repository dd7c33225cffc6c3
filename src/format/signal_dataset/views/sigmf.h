// SPDX-License-Identifier: Apache-2.0
//
// <field>.sigmf-meta and <field>.sigmf-data: a field with a time axis as a SigMF recording, or as
// several (docs/views.md). The axes before time tell recordings apart, those behind it are
// interleaved channels of each recording; so every recording is a slice of the field as it lies.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_SIGMF_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_SIGMF_H

#include "format/signal_dataset/views/views.h"

extern const struct view view_sigmf_meta;
extern const struct view view_sigmf_data;

struct sigmf_layout {
    char datatype[8]; // "cf32_le"
    uint32_t time;    // which axis
    struct sds_value axis;
    uint32_t recordings; // product of the dimensions before time; numbered if there are any
    uint64_t samples;    // of each channel
    uint64_t channels;   // product of the dimensions behind time, I and Q left out
};

// False for a field that has no such form: an element type that SigMF does not know, no time axis,
// no samples, more than VIEW_MAX_PARTS recordings.
bool sigmf_layout(const struct sds_field *field, struct sigmf_layout *out);

// The text of .sigmf-meta, of a subject that has a layout. Kinds: LIMIT, NO_MEMORY of out.
SDS_MUST_CHECK enum sds_kind sigmf_render(const struct view_subject *subject,
                                          const struct sigmf_layout *layout, struct sds_buf *out);

#endif
