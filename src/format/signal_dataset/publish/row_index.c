// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/row_index.h"

#include <stdlib.h>

#include "format/signal_dataset/dataset.h"
#include "format/signal_dataset/publish/id_table.h"
#include "format/signal_dataset/publish/progress.h"
#include "format/signal_dataset/publish/row.h"

struct scan {
    struct signal_dataset *ds;
    struct rows_file *file;
    struct problems *problems;
    struct row_index *index;
    struct id_table *ids; // made when the first row needs it
    uint64_t line;
    bool sorted; // the rows came in order of their ordinals
};

static enum sds_kind resolve(struct scan *scan, const struct input_row *row, uint64_t *ordinal,
                             struct sds_err *err) {
    uint64_t count = scan->ds->chain.snapshot.record_count;
    if (!row->has_ordinal) {
        enum sds_kind kind = scan->ids == NULL ? id_table_make(scan->ds, &scan->ids, err) : SDS_OK;
        return kind != SDS_OK ? kind
                              : id_table_find(scan->ids, row->source_record_id, ordinal, err);
    }
    *ordinal = row->ordinal;
    if (row->ordinal >= count) {
        return sds_fail(err, SDS_ERR_INVALID, "ordinal",
                        "there is no record %llu: the dataset has %llu",
                        (unsigned long long)row->ordinal, (unsigned long long)count);
    }
    return SDS_OK;
}

static enum sds_kind add(struct scan *scan, struct row_place place, struct sds_err *err) {
    struct row_index *index = scan->index;
    if (index->count == index->room) {
        size_t room = index->room < 1024 ? 1024 : index->room + index->room / 2;
        struct row_place *rows = realloc(index->rows, room * sizeof *rows);
        if (rows == NULL) {
            return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for %zu rows", room);
        }
        index->rows = rows;
        index->room = room;
    }
    scan->sorted = scan->sorted &&
                   (index->count == 0 || index->rows[index->count - 1].ordinal < place.ordinal);
    index->rows[index->count++] = place;
    return SDS_OK;
}

static enum sds_kind take_row(struct scan *scan, struct sds_span line, uint64_t off,
                              struct sds_err *err) {
    struct input_row row;
    struct row_place place = {.off = off, .len = (uint32_t)line.len, .line = (uint32_t)scan->line};
    enum sds_kind kind = input_row_parse(line, &row, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = resolve(scan, &row, &place.ordinal, err);
    input_row_fini(&row);
    return kind == SDS_OK ? add(scan, place, err) : kind;
}

// Where lines cannot be told apart any more, nothing behind can be checked.
static enum sds_kind give_up(struct scan *scan, const struct sds_err *what, struct sds_err *err) {
    enum sds_kind kind = problems_add(scan->problems, scan->line, what, err);
    return kind == SDS_OK ? problems_verdict(scan->problems, err) : kind;
}

static enum sds_kind read_rows(struct scan *scan, struct sds_err *err) {
    bool found = true;
    while (!problems_full(scan->problems)) {
        struct sds_span line;
        struct sds_err what;
        uint64_t off, skipped;
        enum sds_kind kind = rows_file_next(scan->file, &found, &line, &off, &skipped, &what);
        scan->line += skipped + 1;
        if (kind != SDS_OK) {
            return give_up(scan, &what, err);
        }
        if (!found) {
            break;
        }
        if (scan->line > UINT32_MAX) {
            return sds_fail(err, SDS_ERR_LIMIT, "rows", "more than %u lines", UINT32_MAX);
        }
        if (take_row(scan, line, off, &what) != SDS_OK) {
            kind = problems_add(scan->problems, scan->line, &what, err);
            if (kind != SDS_OK) {
                return kind;
            }
        }
        tell_progress(scan->problems->request, "bytes read", scan->file->next,
                      scan->file->state.size, scan->line);
    }
    return SDS_OK;
}

static int by_ordinal(const void *a, const void *b) {
    const struct row_place *x = a, *y = b;
    if (x->ordinal != y->ordinal) {
        return x->ordinal < y->ordinal ? -1 : 1;
    }
    return (x->line > y->line) - (x->line < y->line);
}

static enum sds_kind find_repeats(struct scan *scan, struct sds_err *err) {
    const struct row_index *index = scan->index;
    for (size_t i = 1; i < index->count && !problems_full(scan->problems); i++) {
        const struct row_place *row = &index->rows[i], *before = row - 1;
        if (row->ordinal == before->ordinal) {
            struct sds_err what;
            sds_fail(&what, SDS_ERR_INVALID, "ordinal", "record %llu has a row already, on line %u",
                     (unsigned long long)row->ordinal, before->line);
            enum sds_kind kind = problems_add(scan->problems, row->line, &what, err);
            if (kind != SDS_OK) {
                return kind;
            }
        }
    }
    return SDS_OK;
}

// The first ordinal that has no row, and how many have none. Rows are sorted, without repeats.
static uint64_t count_missing(const struct row_index *index, uint64_t first, uint64_t end,
                              uint64_t *missing) {
    size_t i = 0;
    while (i < index->count && index->rows[i].ordinal == first + i) {
        i++;
    }
    *missing = end - first - index->count;
    return first + i;
}

static enum sds_kind check_coverage(struct scan *scan, bool dense, struct sds_err *err) {
    const struct row_index *index = scan->index;
    uint64_t first = 0, end = scan->ds->chain.snapshot.record_count;
    struct sds_err what;
    if (!dense && index->count == 0) {
        sds_fail(&what, SDS_ERR_INVALID, "rows", "a worker's shard has at least one row");
        return problems_add(scan->problems, 0, &what, err);
    }
    if (!dense) {
        first = index->rows[0].ordinal;
        end = index->rows[index->count - 1].ordinal + 1;
    }
    uint64_t missing, at = count_missing(index, first, end, &missing);
    if (missing == 0) {
        return SDS_OK;
    }
    sds_fail(&what, SDS_ERR_INVALID, "rows", "record %llu has no row (%llu of %llu have none)",
             (unsigned long long)at, (unsigned long long)missing,
             (unsigned long long)(end - first));
    return problems_add(scan->problems, 0, &what, err);
}

static enum sds_kind check_all(struct scan *scan, bool dense, struct sds_err *err) {
    struct row_index *index = scan->index;
    if (!scan->sorted) {
        qsort(index->rows, index->count, sizeof *index->rows, by_ordinal);
    }
    enum sds_kind kind = find_repeats(scan, err);
    if (kind == SDS_OK && scan->problems->count == 0) { // else something is missing for sure
        kind = check_coverage(scan, dense, err);
    }
    return kind == SDS_OK ? problems_verdict(scan->problems, err) : kind;
}

enum sds_kind row_index_make(struct signal_dataset *ds, struct rows_file *file, bool dense,
                             struct problems *problems, struct row_index *out,
                             struct sds_err *err) {
    *out = (struct row_index){0};
    struct scan scan = {.ds = ds, .file = file, .problems = problems, .index = out, .sorted = true};
    enum sds_kind kind = read_rows(&scan, err);
    id_table_free(scan.ids);
    if (kind == SDS_OK) {
        kind = check_all(&scan, dense, err);
    }
    if (kind != SDS_OK) {
        row_index_fini(out);
    }
    return kind;
}

void row_index_fini(struct row_index *index) {
    free(index->rows);
    *index = (struct row_index){0};
}
