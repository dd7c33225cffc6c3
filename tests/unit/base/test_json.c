// SPDX-License-Identifier: Apache-2.0
// The parser: what it accepts and refuses, its limits, and the way through a document.
#include "json_cases.h"

// Value against the reference's json.dumps

static uint32_t take_code_point(struct sds_span *text) {
    uint8_t lead = text->at[0];
    size_t len = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t code = len == 1 ? lead : lead & (0x7FU >> len);
    for (size_t i = 1; i < len; i++) {
        code = code << 6 | (text->at[i] & 0x3FU);
    }
    *text = sds_span(text->at + len, text->len - len);
    return code;
}

static void dump_string(struct sds_value string, FILE *out) {
    struct sds_buf scratch = SDS_BUF_INIT(1 << 20);
    struct sds_span text;
    assert_int_equal(sds_value_string(string, &scratch, &text), SDS_OK);
    fputc('"', out);
    while (text.len > 0) {
        static const char controls[] = "\b\f\n\r\t";
        uint32_t code = take_code_point(&text);
        const char *control = memchr(controls, (int)code, sizeof controls - 1);
        if (code == '"' || code == '\\') {
            fprintf(out, "\\%c", (int)code);
        } else if (code < 0x80 && control != NULL) {
            fprintf(out, "\\%c", "bfnrt"[control - controls]);
        } else if (code >= 0x20 && code < 0x7F) {
            fputc((int)code, out);
        } else if (code < 0x10000) {
            fprintf(out, "\\u%04x", code);
        } else {
            fprintf(out, "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10),
                    0xDC00 + (code & 0x3FF));
        }
    }
    fputc('"', out);
    sds_buf_fini(&scratch);
}

static void dump_number(struct sds_value number, FILE *out) {
    struct sds_span text = sds_value_text(number);
    double value = sds_value_double(number);
    if (sds_value_type(number) == SDS_JSON_INTEGER) {
        bool minus_zero = sds_span_eq(text, sds_span_str("-0"));
        fprintf(out, "%.*s", (int)text.len - minus_zero, (const char *)text.at + minus_zero);
    } else if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308) {
        fputs(value < 0 ? "-Infinity" : "Infinity", out);
    } else {
        char repr[32];
        sds_double_text(value, repr);
        fputs(repr, out);
    }
}

static void dump(struct sds_value v, FILE *out) {
    enum sds_json_type type = sds_value_type(v);
    if (type == SDS_JSON_STRING) {
        dump_string(v, out);
    } else if (type == SDS_JSON_INTEGER || type == SDS_JSON_REAL) {
        dump_number(v, out);
    } else if (type < SDS_JSON_INTEGER) {
        fputs(sds_value_type_name(v), out);
    } else {
        bool first = true;
        fputc(type == SDS_JSON_OBJECT ? '{' : '[', out);
        for (struct sds_iter it = sds_value_iter(v); sds_iter_next(&it); first = false) {
            fputs(first ? "" : ", ", out);
            if (sds_value_there(it.key)) {
                dump(it.key, out);
                fputs(": ", out);
            }
            dump(it.value, out);
        }
        fputc(type == SDS_JSON_OBJECT ? '}' : ']', out);
    }
}

static void assert_dumps_as(const struct sds_json *doc, const struct line *line) {
    char *dumped = NULL;
    size_t len;
    FILE *out = open_memstream(&dumped, &len);
    dump(sds_json_top(doc), out);
    fclose(out);
    assert_string_equal(dumped, line->column[2]);
    free(dumped);
    uint64_t expected = strtoull(line->column[1], NULL, 10);
    assert_int_equal(sds_value_dumped_len(sds_json_top(doc)), expected);
    assert_true(sds_value_dumped_bound(sds_json_top(doc)) >= expected);
}

static void answers_as_the_reference_does(void **state) {
    (void)state;
    struct table table = read_table("documents.txt");
    for (size_t i = 0; i < table.count; i++) {
        const struct line *line = &table.lines[i];
        bool refused = strcmp(line->column[2], "refused") == 0;
        struct sds_span text = from_hex(line->column[0]);
        struct sds_json *doc = NULL;
        struct sds_err err = {0};
        enum sds_kind kind = sds_json_parse(text, &format_limits, &doc, &err);
        if (kind != (refused ? SDS_ERR_CORRUPT : SDS_OK)) {
            fail_msg("line %zu: %s: %s", i + 1, SDS_QUOTE(text.at, text.len), err.message);
        }
        if (refused) {
            assert_null(doc);
            assert_memory_equal(err.check, "json", 4);
        } else {
            assert_dumps_as(doc, line);
        }
        sds_json_free(doc);
    }
    free_table(&table);
}

// Refusals

static void says_what_is_wrong_and_where(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *check;
        const char *message;
    } cases[] = {
        {"", "json", "expected a value at byte 0: the end"},
        {"[1, x]", "json", "expected a value at byte 4: \"x]\""},
        {"nulx", "json", "expected a value at byte 0: \"nulx\""},
        {"NaN", "json", "JSON has no NaN and no Infinity, found one at byte 0: \"NaN\""},
        {"[Infinity]", "json",
         "JSON has no NaN and no Infinity, found one at byte 1: \"Infinity]\""},
        {"[1,-Infinity]", "json",
         "JSON has no NaN and no Infinity, found one at byte 3: \"-Infinity]\""},
        {"-Inf", "json", "minus sign without a number at byte 0: \"-Inf\""},
        {"Na", "json", "expected a value at byte 0: \"Na\""},
        {"-Infinity", "json",
         "JSON has no NaN and no Infinity, found one at byte 0: \"-Infinity\""},
        {"1.", "json", "number with nothing behind its point at byte 0: \"1.\""},
        {"1.5e+", "json", "number with nothing in its exponent at byte 0: \"1.5e+\""},
        {"{}\n}", "json", "expected nothing more at byte 3: \"}\""},
        {"{a:1}", "json", "expected a key in quotes at byte 1: \"a:1}\""},
        {"{\"a\" 1}", "json", "expected a colon after the key at byte 5: \"1}\""},
        {"{\"a\":1 2}", "json", "expected a comma or a closing brace at byte 7: \"2}\""},
        {"[1}", "json", "expected a comma or a closing bracket at byte 2: \"}\""},
        {"[1", "json", "expected a comma or a closing bracket at byte 2: the end"},
        {"[\"ab", "json", "string without a closing quote at byte 1: \"\"ab\""},
        {"\"a\\x\"", "json", "unknown escape at byte 2: \"\\x\"\""},
        {"\"a\x01\"", "json", "control character inside a string at byte 2: \"\\x01\"\""},
        {"\"a\xC0\x80\"", "json", "not valid UTF-8 at byte 2: \"\\xC0\\x80\"\""},
        {"{\"k\":1,\"\\u006b\":2}", "json", "repeated key at byte 7: \"\"\\u006b\":2}\""},
        {"\"123456789012345678901234567890\\x", "json", "unknown escape at byte 31: \"\\x\""},
        {"[x12345678901234567890123456789", "json",
         "expected a value at byte 1: \"x12345678901234567890123\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sds_json *doc = NULL;
        struct sds_err err;
        assert_int_equal(sds_json_parse(sds_span_str(cases[i].text), &format_limits, &doc, &err),
                         SDS_ERR_CORRUPT);
        assert_null(doc);
        assert_int_equal(err.kind, SDS_ERR_CORRUPT);
        assert_string_equal(err.check, cases[i].check);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void says_where_in_a_transcoded_text(void **state) {
    (void)state;
    struct sds_json *doc = NULL;
    struct sds_err err;
    assert_int_equal(sds_json_parse(BYTES("[\0x\0"), &format_limits, &doc, &err), SDS_ERR_CORRUPT);
    assert_string_equal(err.message, "expected a value at byte 1 (counted in plain UTF-8): \"x\"");
    assert_int_equal(sds_json_parse(BYTES("\xFF\xFE[\0]"), &format_limits, &doc, &err),
                     SDS_ERR_CORRUPT);
    assert_string_equal(err.message, "not valid UTF-16 at byte 4: \"]\"");
}

static void needs_no_error_struct(void **state) {
    (void)state;
    struct sds_json *doc = NULL;
    assert_int_equal(sds_json_parse(BYTES("[1,"), &format_limits, &doc, NULL), SDS_ERR_CORRUPT);
    assert_int_equal(sds_json_parse(sds_span(NULL, 0), &format_limits, &doc, NULL),
                     SDS_ERR_CORRUPT);
}

static const char sample[] =
    "{\"fields\": {\"signal\": {\"axes\": [{\"name\": \"time\", \"length\": 3, \"coordinate\":"
    " {\"start\": -0.5e+1, \"step\": 0.004, \"unit\": null}}], \"metadata\": {}}},\n"
    " \"id\": \"r\\u00e9c \\ud83d\\ude00 \xC3\xA9\", \"ok\": [true, false, [], 12]}";

static void refuses_each_prefix(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES(sample));
    sds_json_free(doc);
    for (size_t len = 0; len < sizeof sample - 1; len++) {
        uint8_t *exact = malloc(len + 1); // so that a sanitizer sees a read past the end
        memcpy(exact, sample, len);
        doc = NULL;
        struct sds_err err;
        assert_int_equal(sds_json_parse(sds_span(exact, len), &format_limits, &doc, &err),
                         SDS_ERR_CORRUPT);
        assert_string_equal(err.check, "json");
        free(exact);
    }
}

static void survives_each_changed_byte(void **state) {
    (void)state;
    uint8_t text[sizeof sample - 1];
    for (size_t i = 0; i < sizeof text; i++) {
        memcpy(text, sample, sizeof text);
        for (unsigned byte = 0; byte < 256; byte++) {
            text[i] = (uint8_t)byte;
            struct sds_json *doc = NULL;
            enum sds_kind kind =
                sds_json_parse(sds_span(text, sizeof text), &format_limits, &doc, NULL);
            assert_true(kind == SDS_OK ? doc != NULL : kind == SDS_ERR_CORRUPT && doc == NULL);
            sds_json_free(doc);
        }
    }
}

// Limits

static void assert_refused(const char *text, struct sds_json_limits limits, enum sds_kind kind,
                           const char *check) {
    struct sds_json *doc = NULL;
    struct sds_err err;
    assert_int_equal(sds_json_parse(sds_span_str(text), &limits, &doc, &err), kind);
    assert_null(doc);
    assert_string_equal(err.check, check);
}

static void assert_accepted(const char *text, struct sds_json_limits limits) {
    struct sds_json *doc = NULL;
    assert_int_equal(sds_json_parse(sds_span_str(text), &limits, &doc, NULL), SDS_OK);
    sds_json_free(doc);
}

static void limits_bytes(void **state) {
    (void)state;
    struct sds_json_limits limits = format_limits;
    limits.bytes = 4;
    assert_accepted("[12]", limits);
    assert_refused("[123]", limits, SDS_ERR_LIMIT, "json_size");
}

static void limits_depth(void **state) {
    (void)state;
    struct sds_json_limits limits = format_limits;
    limits.depth = 3;
    assert_accepted("[[[]]]", limits);
    assert_accepted("[[1]]", limits);
    assert_accepted("{\"a\":{\"b\":{}},\"c\":[[]]}", limits);
    assert_refused("[[[1]]]", limits, SDS_ERR_CORRUPT, "json_depth");
    assert_refused("[[[[", limits, SDS_ERR_CORRUPT, "json_depth");
    assert_refused("{\"a\":{\"b\":{\"c\":1}}}", limits, SDS_ERR_CORRUPT, "json_depth");
    limits.depth = 1;
    assert_accepted("1", limits);
    assert_accepted("{}", limits);
    assert_refused("[1]", limits, SDS_ERR_CORRUPT, "json_depth");
    limits.depth = 0;
    assert_refused("1", limits, SDS_ERR_CORRUPT, "json_depth");
}

// What recurses over a document relies on it, whatever limit the caller gave.
static void limits_depth_to_a_thousand(void **state) {
    (void)state;
    struct sds_json_limits limits = format_limits;
    limits.depth = UINT32_MAX;
    char text[2003];
    memset(text, '[', 1001);
    memset(text + 1001, ']', 1001);
    text[2002] = '\0';
    assert_refused(text, limits, SDS_ERR_CORRUPT, "json_depth");
    text[2001] = '\0';
    assert_accepted(text + 1, limits);
}

static void limits_nodes(void **state) {
    (void)state;
    struct sds_json_limits limits = format_limits;
    limits.nodes = 4;
    assert_accepted("[1,[2]]", limits);
    assert_accepted("{\"a\":1,\"b\":2,\"c\":3}", limits); // keys are no nodes
    assert_refused("[1,[2],3]", limits, SDS_ERR_CORRUPT, "json_nodes");
    assert_refused("{\"a\":1,\"b\":2,\"c\":[3]}", limits, SDS_ERR_CORRUPT, "json_nodes");
    limits.nodes = 0;
    assert_refused("1", limits, SDS_ERR_CORRUPT, "json_nodes");
}

static void limits_nodes_to_a_million(void **state) {
    (void)state;
    const size_t nodes = 1000000; // the array and an element less
    char *text = malloc(2 * nodes + 2);
    for (size_t i = 0; i < nodes; i++) {
        text[2 * i] = i == 0 ? '[' : ',';
        text[2 * i + 1] = '1';
    }
    memcpy(text + 2 * nodes, "]", 2);
    assert_refused(text, format_limits, SDS_ERR_CORRUPT, "json_nodes");
    memcpy(text + 2 * nodes - 2, "]", 2);
    struct sds_json *doc = must_parse(sds_span_str(text));
    assert_int_equal(sds_value_count(sds_json_top(doc)), nodes - 1);
    assert_true(sds_json_memory(doc) >= 16 * nodes);
    assert_true(sds_json_memory(doc) < 16 * nodes + 1024);
    sds_json_free(doc);
    free(text);
}

// Large objects

// {"key0":0, ..., <last>: 0} with a million members takes well under a second, also where all keys
// have the same length and a long common beginning.
static char *large_object(size_t members, const char *last) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; i + 1 < members; i++) {
        fprintf(out, "%s\"%016zu\":0", i == 0 ? "{" : ",", i);
    }
    fprintf(out, ",%s:0}", last);
    fclose(out);
    return text;
}

static void finds_a_repeated_key_among_many(void **state) {
    (void)state;
    const size_t members = 999999;
    char *text = large_object(members, "\"last\"");
    struct sds_json *doc = must_parse(sds_span_str(text));
    assert_int_equal(sds_value_count(sds_json_top(doc)), members);
    assert_true(sds_value_there(sds_value_get(sds_json_top(doc), "last")));
    sds_json_free(doc);
    free(text);
    static const char *const repeated[] = {"\"0000000000000000\"", "\"0000000000999997\"",
                                           "\"000000000000000\\u0030\""};
    for (size_t i = 0; i < 3; i++) {
        text = large_object(members, repeated[i]);
        assert_refused(text, format_limits, SDS_ERR_CORRUPT, "json");
        free(text);
    }
}

// Navigation

static void knows_types(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("[null,false,true,-1,1.0,\"\",[],{}]"));
    static const char *const names[] = {"null", "false",  "true",  "integer",
                                        "real", "string", "array", "object"};
    unsigned type = 0;
    for (struct sds_iter it = sds_value_iter(sds_json_top(doc)); sds_iter_next(&it); type++) {
        assert_int_equal(sds_value_type(it.value), type);
        assert_string_equal(sds_value_type_name(it.value), names[type]);
        assert_false(sds_value_there(it.key));
    }
    assert_int_equal(type, 8);
    sds_json_free(doc);
}

static void iterates_over_members(void **state) {
    (void)state;
    struct sds_json *doc =
        must_parse(BYTES("{\"a\":[1,[2,{\"x\":3}]],\"b\":{},\"\\u0063\":{\"a\":4}}"));
    static const char *const keys[] = {"a", "b", "c"};
    static const char *const texts[] = {"[1,[2,{\"x\":3}]]", "{}", "{\"a\":4}"};
    size_t i = 0;
    for (struct sds_iter it = sds_value_iter(sds_json_top(doc)); sds_iter_next(&it); i++) {
        assert_true(sds_value_is(it.key, keys[i]));
        assert_true(sds_span_eq(sds_value_text(it.value), sds_span_str(texts[i])));
    }
    assert_int_equal(i, 3);
    assert_int_equal(sds_value_count(sds_json_top(doc)), 3);
    sds_json_free(doc);
}

static void gets_members(void **state) {
    (void)state;
    struct sds_json *doc =
        must_parse(BYTES("{\"ab\":1,\"a\":{\"c\":2},\"\\u0064\":3,\"e\":\"ab\",\"\":4}"));
    struct sds_value top = sds_json_top(doc);
    uint64_t n = 0;
    assert_true(sds_value_u64(sds_value_get(top, "ab"), &n) && n == 1);
    assert_true(sds_value_u64(sds_value_get(sds_value_get(top, "a"), "c"), &n) && n == 2);
    assert_true(sds_value_u64(sds_value_get(top, "d"), &n) && n == 3);
    assert_true(sds_value_u64(sds_value_get(top, ""), &n) && n == 4);
    assert_false(sds_value_there(sds_value_get(top, "c"))); // only deeper
    assert_false(sds_value_there(sds_value_get(top, "abc")));
    assert_false(sds_value_there(sds_value_get(sds_value_get(top, "e"), "ab"))); // not an object
    sds_json_free(doc);
}

static void an_absent_value_is_nothing(void **state) {
    (void)state;
    struct sds_value absent = {0};
    uint64_t n;
    struct sds_iter it = sds_value_iter(absent);
    assert_false(sds_value_there(absent));
    assert_string_equal(sds_value_type_name(absent), "nothing");
    assert_int_equal(sds_value_type(absent), SDS_JSON_NULL);
    assert_int_equal(sds_value_count(absent), 0);
    assert_false(sds_iter_next(&it));
    assert_false(sds_value_there(sds_value_get(absent, "a")));
    assert_int_equal(sds_value_text(absent).len, 0);
    assert_false(sds_value_is(absent, ""));
    assert_false(sds_value_u64(absent, &n));
    assert_false(sds_value_is_negative(absent));
    assert_false(sds_value_has_surrogate(absent));
    assert_false(sds_value_has_infinity(absent));
    assert_int_equal(sds_value_dumped_len(absent), 0);
}

static void scalars_have_no_elements(void **state) {
    (void)state;
    struct sds_json *doc = must_parse(BYTES("\"[1]\""));
    struct sds_iter it = sds_value_iter(sds_json_top(doc));
    assert_int_equal(sds_value_count(sds_json_top(doc)), 0);
    assert_false(sds_iter_next(&it));
    sds_json_free(doc);
}

// Ownership

static void uses_plain_utf8_as_it_is(void **state) {
    (void)state;
    static const char text[] = " [\"\xC3\xA9\"] ";
    struct sds_json *doc = must_parse(BYTES(text));
    assert_true(sds_json_is_plain_utf8(doc));
    assert_ptr_equal(sds_value_text(sds_json_top(doc)).at, text + 1);
    sds_json_free(doc);
}

static void owns_a_transcoded_copy(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"\xEF\xBB\xBF[\"ab\"]", 9},
        {"[\0\"\0a\0b\0\"\0]\0", 12},
        {"\0\0\0[\0\0\0\"\0\0\0a\0\0\0b\0\0\0\"\0\0\0]", 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *text = malloc(cases[i].len);
        memcpy(text, cases[i].text, cases[i].len);
        struct sds_json *doc = must_parse(sds_span(text, cases[i].len));
        free(text);
        assert_false(sds_json_is_plain_utf8(doc));
        assert_true(sds_span_eq(sds_value_text(sds_json_top(doc)), sds_span_str("[\"ab\"]")));
        sds_json_free(doc);
    }
}

static void frees_nothing(void **state) {
    (void)state;
    sds_json_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_the_reference_does),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(says_where_in_a_transcoded_text),
        cmocka_unit_test(needs_no_error_struct),
        cmocka_unit_test(refuses_each_prefix),
        cmocka_unit_test(survives_each_changed_byte),
        cmocka_unit_test(limits_bytes),
        cmocka_unit_test(limits_depth),
        cmocka_unit_test(limits_depth_to_a_thousand),
        cmocka_unit_test(limits_nodes),
        cmocka_unit_test(limits_nodes_to_a_million),
        cmocka_unit_test(finds_a_repeated_key_among_many),
        cmocka_unit_test(knows_types),
        cmocka_unit_test(iterates_over_members),
        cmocka_unit_test(gets_members),
        cmocka_unit_test(an_absent_value_is_nothing),
        cmocka_unit_test(scalars_have_no_elements),
        cmocka_unit_test(uses_plain_utf8_as_it_is),
        cmocka_unit_test(owns_a_transcoded_copy),
        cmocka_unit_test(frees_nothing),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
