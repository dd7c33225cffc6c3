// SPDX-License-Identifier: Apache-2.0
//
// Views: the files in which a directory shows a field, each for another kind of tool
// (docs/views.md). A file is a head that the view makes up and a slice of the field's bytes as they
// lie in the payload, so nothing is copied, and sizes are known before anything is decoded. A view
// that makes several files of a field (one a channel) numbers them.
//
// To add a view: a file beside this one that holds its struct view, and a line at the end of the
// table in views.c. A view's place in the table is part of inode numbers and of listings, so lines
// are never moved.
//
// Pure functions over decoded records; without I/O, safe from any thread.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_VIEWS_H
#define SDSFS_FORMAT_SIGNAL_DATASET_VIEWS_VIEWS_H

#include "format/name.h"
#include "format/signal_dataset/record.h"

#define VIEWS_MAX 32        // lines of the table
#define VIEW_PART_BITS 8    //
#define VIEW_MAX_PARTS 256u // files that one view makes of one field
#define VIEWS_DEFAULT "npy,sigmf"

// How many files a field gets: one without a number, or `count` numbered ones.
struct view_parts {
    uint32_t count; // 0: none
    bool numbered;
};

// What a head is made from. The record is one whose fields are named and sized by its metadata
// entry, or by its payload.
struct view_subject {
    const struct sds_record *record;
    const struct sds_field *field;
    uint64_t ordinal;
    uint32_t part;
};

struct view {
    const char *option; // its word in views=; several views may share one
    const char *suffix; // plain ASCII; none is the end of another
    bool in_rows;       // the tensors of annotation rows are shown so, too
    // NULL: each field gets one file.
    struct view_parts (*parts)(const struct sds_field *field);
    // Appends what stands before the data. NULL: nothing does. Kinds: LIMIT, NO_MEMORY of out.
    enum sds_kind (*head)(const struct view_subject *subject, struct sds_buf *out);
    // Its length, where there are data behind it. A head alone is a text, kept when it was made.
    uint64_t (*head_len)(const struct sds_field *field);
    // The slice of the field's bytes. NULL: the head is all.
    void (*slice)(const struct sds_field *field, uint32_t part, uint64_t *off, uint64_t *len);
};

extern const struct view *const views[];
extern const uint32_t view_count;

static inline bool view_is_text(const struct view *view) {
    return view->slice == NULL;
}

// Size of a file of a view that is no text.
uint64_t view_size(const struct view *view, const struct sds_field *field, uint32_t part);
struct view_parts view_parts(const struct view *view, const struct sds_field *field);

// --- which views are shown: a set, bit i for view i

typedef uint32_t view_set;

bool views_know(struct sds_span option);
// Words separated by ',' or ':'; those that are not known count for nothing. NULL: the default.
view_set views_parse(const char *text);
view_set views_of_rows(view_set shown);

// --- names

// One file: a view of a field of the record at hand, and its number among the view's files.
struct view_file {
    uint32_t field, view, part;
};

// The entry of a file, NUL-terminated; returns its length. The file exists.
size_t view_file_name(const struct sds_record *record, const struct view_file *file,
                      char out[SDS_NAME_MAX + 1]);
// Whether the file is one that the directory lists: the field gets it, and no other field has a
// file without number of the same name.
bool view_file_is_shown(const struct sds_record *record, view_set shown,
                        const struct view_file *file);
// Whether a name could be one of theirs; false spares reading the record.
bool view_name_is_possible(view_set shown, struct sds_span name);
// The file with this name; false when there is none.
bool view_file_find(const struct sds_record *record, view_set shown, struct sds_span name,
                    struct view_file *out);

#endif
