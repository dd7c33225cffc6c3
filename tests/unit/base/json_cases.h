// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the JSON reader share: documents out of string literals, and the tables in
// tests/data/json (see generate.py there).
#ifndef SDSFS_TESTS_JSON_CASES_H
#define SDSFS_TESTS_JSON_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

// The limits of the format (docs/formats/signal-dataset.md, section 3).
static const struct sds_json_limits format_limits = {
    .bytes = 64UL << 20, .depth = 128, .nodes = 1000000};

// A literal that may hold NUL bytes.
#define BYTES(literal) sds_span(literal, sizeof(literal) - 1)

static inline struct sds_json *must_parse(struct sds_span text) {
    struct sds_json *doc = NULL;
    struct sds_err err;
    if (sds_json_parse(text, &format_limits, &doc, &err) != SDS_OK) {
        fail_msg("%s: %s", SDS_QUOTE(text.at, text.len), err.message);
    }
    return doc;
}

// A line of a table: up to three columns between tabs, NUL-terminated.
struct line {
    char *column[3];
};

// A table as a list of lines; both are freed with free(table->text) and free(table->lines).
struct table {
    char *text;
    struct line *lines;
    size_t count;
};

static inline struct table read_table(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/json/%s", SDSFS_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    struct table table = {0};
    size_t size = 0;
    assert_true(getdelim(&table.text, &size, '\0', f) > 0); // the whole file
    fclose(f);
    char *rest = table.text;
    for (char *row = strsep(&rest, "\n"); row != NULL && *row != '\0'; row = strsep(&rest, "\n")) {
        table.lines = realloc(table.lines, (table.count + 1) * sizeof table.lines[0]);
        assert_non_null(table.lines);
        struct line *line = &table.lines[table.count++];
        for (size_t i = 0; i < 3; i++) {
            line->column[i] = strsep(&row, "\t");
        }
    }
    assert_true(table.count > 50); // a table that was not found must not pass
    return table;
}

static inline void free_table(struct table *table) {
    free(table->text);
    free(table->lines);
}

// The bytes that hex stands for, in place.
static inline struct sds_span from_hex(char *hex) {
    size_t len = strlen(hex) / 2;
    for (size_t i = 0; i < len; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        hex[i] = (char)strtoul(pair, NULL, 16);
    }
    return sds_span(hex, len);
}

#endif
