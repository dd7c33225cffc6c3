// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli/dataset.h"

enum { KEY_WIDTH = 24 };

static const int json_form = JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;

// A scalar as text. A string that would do something to the terminal is shown as JSON.
static const char *scalar(struct json_object *value) {
    if (value == NULL) {
        return "none";
    }
    const char *text = json_object_get_string(value);
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7F) {
            return json_object_to_json_string_ext(value, json_form);
        }
    }
    return text;
}

static bool is_container(struct json_object *value) {
    return json_object_is_type(value, json_type_object) ||
           json_object_is_type(value, json_type_array);
}

static bool is_empty(struct json_object *value) {
    return json_object_is_type(value, json_type_array) ? json_object_array_length(value) == 0
                                                       : json_object_object_length(value) == 0;
}

// An object of a list, on a line: its first member stands for it, the others are told by name.
static void print_row(struct json_object *row) {
    const char *gap = NULL;
    json_object_object_foreach(row, key, value) {
        const char *text =
            is_container(value) ? json_object_to_json_string_ext(value, json_form) : scalar(value);
        if (gap == NULL) {
            printf("  %-*s", KEY_WIDTH - 2, text);
            gap = " ";
        } else {
            printf("%s%s %s", gap, key, text);
            gap = ", ";
        }
    }
    putchar('\n');
}

// JSON of several lines, each a little to the right.
static void print_json(const char *text) {
    while (*text != '\0') {
        int len = (int)strcspn(text, "\n");
        printf("  %.*s\n", len, text);
        text += len + (text[len] == '\n');
    }
}

static void print_list(struct json_object *list) {
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_object)) {
            print_row(item);
        } else {
            printf("  %s\n", scalar(item));
        }
    }
}

static void print_fact(const char *key, struct json_object *value) {
    const char *json = json_object_to_json_string_ext(value, json_form | JSON_C_TO_STRING_PRETTY);
    bool is_list = json_object_is_type(value, json_type_array);
    if (is_container(value) && is_empty(value)) {
        printf("%-*s none\n", KEY_WIDTH, key);
    } else if (!is_list && strchr(json, '\n') != NULL) { // an object, or a driver's text of one
        printf("%s\n", key);
        print_json(json);
    } else if (!is_list) {
        printf("%-*s %s\n", KEY_WIDTH, key, scalar(value));
    } else {
        printf("%s\n", key);
        print_list(value);
    }
}

static void print_facts(struct json_object *facts) {
    json_object_object_foreach(facts, key, value) {
        print_fact(key, value);
    }
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    enum sds_exit code;
    bool as_json = false;
    const struct sds_target targets[] = {{&as_json, NULL}};
    const struct sds_arguments arguments = {
        .command = &sds_cmd_info, .targets = targets, .at_least = 0, .at_most = 0};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    struct json_object *facts = NULL;
    struct sds_err err;
    struct sds_dataset *ds = reader.opened.ds;
    if (ds->ops->describe(ds, &facts, &err) != SDS_OK) {
        code = sds_report(reader.root, &err);
    } else {
        if (as_json) {
            puts(json_object_to_json_string_ext(facts, json_form | JSON_C_TO_STRING_PRETTY));
        } else {
            print_facts(facts);
        }
        code = sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
    }
    json_object_put(facts);
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"json", NULL, "as a JSON object"},
};

const struct sds_command sds_cmd_info = {
    .name = "info",
    .synopsis = "[--json] [-o OPTION,...] ROOT",
    .summary = "Tell what a dataset holds",
    .help = "",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
