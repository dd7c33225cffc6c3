// SPDX-License-Identifier: Apache-2.0
// Every kept document (tests/data/documents/documents.cases) is accepted or refused as the
// reference package does it; then documents cut at each byte, without memory, and as large as they
// may be.
#include <inttypes.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/signal_dataset/documents.h"
#include "parse_document.h"

// Allocations of the code under test, through the linker's --wrap.

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *at);

static struct {
    unsigned fail_at; // the allocation that fails, counted from 1; 0: none
    unsigned made;
    size_t live, peak; // bytes
} heap;

static bool heap_refuses(void) {
    return ++heap.made == heap.fail_at;
}

static void *heap_count(void *at) {
    heap.live += malloc_usable_size(at);
    heap.peak = heap.live > heap.peak ? heap.live : heap.peak;
    return at;
}

void *__wrap_malloc(size_t size) {
    return heap_refuses() ? NULL : heap_count(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return heap_refuses() ? NULL : heap_count(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (heap_refuses()) {
        return NULL;
    }
    heap.live -= malloc_usable_size(old);
    return heap_count(__real_realloc(old, size));
}

void __wrap_free(void *at) {
    heap.live -= malloc_usable_size(at);
    __real_free(at);
}

// The kept cases: see generate.py there for the file's form.

struct cases {
    FILE *file;
    enum kind kind;
    char verdict[16];
    struct sds_buf base; // of the kind
    struct sds_buf text; // of the case
};

static struct cases open_cases(void) {
    struct cases cases = {.base = SDS_BUF_INIT(1 << 20), .text = SDS_BUF_INIT(1 << 20)};
    cases.file = fopen(SDSFS_TEST_DATA "/documents/documents.cases", "rb");
    assert_non_null(cases.file);
    return cases;
}

static void close_cases(struct cases *cases) {
    fclose(cases->file);
    sds_buf_fini(&cases->base);
    sds_buf_fini(&cases->text);
}

static const char *const kind_names[KINDS] = {"root",    "snapshot", "manifest",
                                              "catalog", "revision", "set"};

static enum kind kind_of(const char *name) {
    enum kind kind = ROOT;
    while (kind < KINDS && strcmp(name, kind_names[kind]) != 0) {
        kind++;
    }
    assert_true(kind < KINDS);
    return kind;
}

static void add(struct sds_buf *buf, const void *bytes, size_t len) {
    assert_int_equal(sds_buf_add(buf, bytes, len), SDS_OK);
}

static bool is_base(const struct cases *cases) {
    return strcmp(cases->verdict, "base") == 0;
}

static bool next_case(struct cases *cases) {
    char name[16];
    size_t off, removed, inserted;
    if (fscanf(cases->file, "%15s %15s %zu %zu %zu", name, cases->verdict, &off, &removed,
               &inserted) != 5) {
        return false;
    }
    assert_int_equal(fgetc(cases->file), '\n');
    uint8_t *bytes = malloc(inserted + 1);
    assert_int_equal(fread(bytes, 1, inserted + 1, cases->file), inserted + 1);
    cases->kind = kind_of(name);
    cases->text.len = 0;
    if (is_base(cases)) {
        cases->base.len = 0;
        add(&cases->base, bytes, inserted);
        add(&cases->text, bytes, inserted);
    } else {
        add(&cases->text, cases->base.at, off);
        add(&cases->text, bytes, inserted);
        add(&cases->text, cases->base.at + off + removed, cases->base.len - off - removed);
    }
    free(bytes);
    return true;
}

static void check_verdict(const struct cases *cases) {
    // A copy of exactly its size, so that a read past the end shows.
    uint8_t *copy = malloc(cases->text.len);
    memcpy(copy, cases->text.at, cases->text.len);
    struct sds_err err = {0};
    enum sds_kind result = parse_document(cases->kind, sds_span(copy, cases->text.len), &err);
    bool as_expected = strcmp(cases->verdict, "accepted") == 0 ? result == SDS_OK
                       : strcmp(cases->verdict, "limit") == 0
                           ? result == SDS_ERR_LIMIT && strcmp(err.check, "limit") == 0
                           : result == SDS_ERR_CORRUPT || result == SDS_ERR_LIMIT;
    if (!as_expected) {
        fail_msg("%s, %s: %s (%s: %s)\n%.*s", kind_names[cases->kind], cases->verdict,
                 sds_kind_name(result), err.check, err.message, (int)cases->text.len, copy);
    }
    free(copy);
}

static void documents_are_accepted_as_the_reference_does(void **state) {
    (void)state;
    unsigned seen[KINDS][2] = {0};
    struct cases cases = open_cases();
    while (next_case(&cases)) {
        if (!is_base(&cases)) {
            check_verdict(&cases);
            seen[cases.kind][strcmp(cases.verdict, "accepted") == 0]++;
        }
    }
    assert_true(feof(cases.file));
    close_cases(&cases);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        assert_true(seen[kind][true] > 40 && seen[kind][false] > 150);
    }
}

static void check_cut(enum kind kind, struct sds_span text) {
    for (size_t len = 0; len < text.len; len++) {
        uint8_t *copy = malloc(len);
        memcpy(copy, text.at, len);
        struct sds_err err = {0};
        assert_int_equal(parse_document(kind, sds_span(copy, len), &err), SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "json");
        free(copy);
    }
}

static void a_document_cut_anywhere_is_refused(void **state) {
    (void)state;
    struct cases cases = open_cases();
    while (next_case(&cases)) {
        if (is_base(&cases)) {
            check_cut(cases.kind, sds_buf_span(&cases.text));
        }
    }
    close_cases(&cases);
}

static void check_without_memory(enum kind kind, struct sds_span text) {
    enum sds_kind result = SDS_ERR_NO_MEMORY;
    unsigned fail_at = 0;
    while (result == SDS_ERR_NO_MEMORY) {
        size_t live = heap.live;
        struct sds_err err = {0};
        heap.made = 0;
        heap.fail_at = ++fail_at;
        result = parse_document(kind, text, &err);
        heap.fail_at = 0;
        assert_int_equal(err.kind, result);
        assert_int_equal(heap.live, live);
    }
    assert_int_equal(result, SDS_OK);
    assert_true(fail_at > 2); // some allocation was there to fail
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    struct cases cases = open_cases();
    while (next_case(&cases)) {
        if (is_base(&cases)) {
            check_without_memory(cases.kind, sds_buf_span(&cases.text));
        }
    }
    close_cases(&cases);
}

// A page of nearly 64 MiB with as many shards as the node limit admits, nearly all of it paths.
static struct sds_buf largest_manifest(size_t shards) {
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES + 1);
    char path[240];
    memset(path, 'p', sizeof path);
    assert_int_equal(sds_buf_printf(&text,
                                    "{\"format\":\"signal-dataset.manifest\","
                                    "\"layout_version\":\"0.1\",\"first_ordinal\":0,"
                                    "\"record_count\":%zu,\"shards\":[",
                                    shards),
                     SDS_OK);
    for (size_t i = 0; i < shards; i++) {
        assert_int_equal(sds_buf_printf(&text,
                                        "%s{\"first_ordinal\":%zu,\"record_count\":1,"
                                        "\"data\":{\"path\":\"%.*s\",\"stored_bytes\":1},"
                                        "\"metadata\":{\"path\":\"%.*s\",\"stored_bytes\":1}}",
                                        i > 0 ? "," : "", i, (int)sizeof path, path,
                                        (int)sizeof path, path),
                         SDS_OK);
    }
    add(&text, "]}", 2);
    return text;
}

static void the_largest_page_needs_bounded_memory(void **state) {
    (void)state;
    const size_t shards = 111000;
    struct sds_buf text = largest_manifest(shards);
    assert_true(text.len > 62ULL << 20 && text.len <= SDS_MAX_DOCUMENT_BYTES);
    size_t before = heap.live;
    heap.peak = heap.live;
    struct sds_manifest_doc manifest;
    assert_int_equal(sds_manifest_parse(sds_buf_span(&text), &manifest, NULL), SDS_OK);
    size_t held = heap.live - before;
    assert_int_equal(manifest.shard_count, shards);
    assert_int_equal(manifest.stored_bytes, 2 * shards);
    assert_true(manifest.memory <= held && held - manifest.memory < 64 << 10);
    if (heap.peak - before > 105ULL << 20) {
        fail_msg("%zu MiB on top of the text", (heap.peak - before) >> 20);
    }
    sds_manifest_doc_fini(&manifest);
    assert_int_equal(heap.live, before);
    sds_buf_fini(&text);
}

static void a_document_above_the_ceiling_is_not_read(void **state) {
    (void)state;
    struct sds_buf text = SDS_BUF_INIT(SDS_MAX_DOCUMENT_BYTES + 1);
    assert_int_equal(sds_buf_reserve(&text, text.max), SDS_OK);
    memset(text.at, ' ', text.max);
    memcpy(text.at, "{\"sets\":{}}", 11);
    struct sds_err err = {0};
    assert_int_equal(parse_document(REVISION, sds_span(text.at, text.max - 1), &err), SDS_OK);
    assert_int_equal(parse_document(REVISION, sds_span(text.at, text.max), &err), SDS_ERR_LIMIT);
    assert_string_equal(err.check, "json_size");
    sds_buf_fini(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_accepted_as_the_reference_does),
        cmocka_unit_test(a_document_cut_anywhere_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_largest_page_needs_bounded_memory),
        cmocka_unit_test(a_document_above_the_ceiling_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
