// SPDX-License-Identifier: Apache-2.0
//
// What SigMF wants to know of a recording, as far as the time axis and metadata tell (the tables
// are in docs/views.md). Metadata are looked into in this order: the axis', the field's, the
// record's; what has the wrong type, or lies outside of what SigMF allows, counts for nothing.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_SIGMF_FACTS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_SIGMF_FACTS_H

#include "format/signal_dataset/views/sigmf.h"

#define SIGMF_DATETIME_MAX 48

struct sigmf_facts {
    double sample_rate; // Hz; 0: not known
    double frequency;   // Hz
    bool has_frequency;
    char datetime[SIGMF_DATETIME_MAX]; // of the first sample, in UTC; "": not known
    struct sds_value unit;             // of the samples: a string, or absent
};

void sigmf_facts_find(const struct view_subject *subject, const struct sigmf_layout *layout,
                      struct sigmf_facts *out);

// A time as RFC 3339 has it (an offset from UTC, "Z" or "+02:00", is needed), in UTC and with "Z".
// False for anything else.
bool sigmf_datetime(struct sds_span text, char out[SIGMF_DATETIME_MAX]);

// The first of the members (names, then NULL) that is there and no null.
struct sds_value sigmf_member(struct sds_value object, const char *const names[]);
bool sigmf_is_number(struct sds_value v);
// Hz that SigMF allows for a frequency.
bool sigmf_frequency(struct sds_value v, double *out);

#endif
