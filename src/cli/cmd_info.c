// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli/dataset.h"

static void print_value(struct json_object *value, int indent);

static void print_object(struct json_object *object, int indent) {
    json_object_object_foreach(object, key, value) {
        printf("%*s%-*s ", indent, "", 18 - indent, key);
        print_value(value, indent + 2);
    }
}

static bool is_container(struct json_object *value) {
    return json_object_is_type(value, json_type_object) ||
           json_object_is_type(value, json_type_array);
}

static void print_array(struct json_object *array, int indent) {
    size_t count = json_object_array_length(array);
    bool nested = count > 0 && is_container(json_object_array_get_idx(array, 0));
    for (size_t i = 0; i < count; i++) {
        struct json_object *value = json_object_array_get_idx(array, i);
        if (nested) {
            printf("\n%*s", indent, "");
            printf("%s", json_object_to_json_string_ext(value, JSON_C_TO_STRING_SPACED |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE));
        } else {
            printf("%s%s", i > 0 ? ", " : "", json_object_get_string(value));
        }
    }
    printf("%s\n", count == 0 ? "none" : "");
}

static void print_value(struct json_object *value, int indent) {
    switch (json_object_get_type(value)) {
    case json_type_object:
        putchar('\n');
        print_object(value, indent);
        break;
    case json_type_array:
        print_array(value, indent);
        break;
    default:
        printf("%s\n", value != NULL ? json_object_get_string(value) : "none");
    }
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    enum sds_exit code;
    bool as_json = false;
    const struct sds_switch switches[] = {{"json", &as_json}};
    if (!sds_reader_open(&sds_cmd_info, argc, argv, switches, 1, 0, 0, &reader, &code)) {
        return code;
    }
    struct json_object *facts = NULL;
    struct sds_err err;
    struct sds_dataset *ds = reader.opened.ds;
    if (ds->ops->describe(ds, &facts, &err) != SDS_OK) {
        code = sds_report(reader.root, &err);
    } else {
        if (as_json) {
            puts(json_object_to_json_string_ext(facts, JSON_C_TO_STRING_PRETTY |
                                                           JSON_C_TO_STRING_SPACED |
                                                           JSON_C_TO_STRING_NOSLASHESCAPE));
        } else {
            print_object(facts, 0);
        }
        code = sds_stdout_failed() ? SDS_EXIT_STORAGE : SDS_EXIT_DONE;
    }
    json_object_put(facts);
    sds_reader_close(&reader);
    return code;
}

const struct sds_command sds_cmd_info = {
    .name = "info",
    .synopsis = "[--json] [-o OPTION,...] ROOT",
    .summary = "Tell what a dataset holds",
    .help = "",
    .takes_options = 1,
    .run = run,
};
