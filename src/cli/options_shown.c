// SPDX-License-Identifier: Apache-2.0
//
// What control/config says.
#include <stdlib.h>
#include <string.h>

#include "cli/config_file.h"
#include "cli/options_table.h"
#include "remote/root_shown.h"

// The first variable that is set of those that stand in for an option; NULL: none.
static const char *find_variable(const char *names, char *name, size_t size) {
    for (; names != NULL && *names != '\0'; names += strspn(names, " ")) {
        size_t len = strcspn(names, " ");
        snprintf(name, size, "%.*s", (int)len, names);
        const char *value = getenv(name);
        if (value != NULL && value[0] != '\0') {
            return value;
        }
        names += len;
    }
    return NULL;
}

static enum sds_kind show_line(const char *name, const char *value, const char *source,
                               struct sds_buf *out) {
    enum sds_kind kind = sds_buf_printf(out, "%s = ", name);
    if (kind == SDS_OK) {
        char shown[SDS_ROOT_SHOWN_SIZE]; // as it is: a file quotes in its own way
        kind = sds_config_write_value(sds_root_shown(value, shown, sizeof shown), out);
    }
    return kind == SDS_OK ? sds_buf_printf(out, "  # %s\n", source) : kind;
}

// What holds for an option of which nothing was said.
static enum sds_kind show_fallback(const struct sds_option_spec *option,
                                   const struct sds_options *options, bool remote,
                                   struct sds_buf *out) {
    char text[4096] = "", name[64], source[96] = "default";
    const char *variable = find_variable(option->environment, name, sizeof name);
    if (option->tell != NULL) {
        option->tell(options, remote, text, sizeof text);
    } else if (variable != NULL || option->fallback != NULL) {
        snprintf(text, sizeof text, "%s", variable != NULL ? variable : option->fallback);
    }
    if (variable != NULL) {
        snprintf(source, sizeof source, "environment: %s", name);
    }
    return text[0] != '\0' ? show_line(option->name, text, source, out)
                           : sds_buf_printf(out, "# %s is not set\n", option->name);
}

static enum sds_kind show_option(const struct sds_options *options, size_t i, bool remote,
                                 struct sds_buf *out) {
    const struct sds_option_spec *option = &sds_option_table[i];
    const struct sds_said *said = &options->said[i];
    if (strcmp(option->name, "config") == 0) {
        return SDS_OK; // told above all; a file cannot say it
    }
    return said->source != NULL ? show_line(option->name, said->value, said->source, out)
                                : show_fallback(option, options, remote, out);
}

static enum sds_kind show_head(const struct sds_options *options, struct sds_buf *out) {
    enum sds_kind kind = SDS_OK;
    if (options->config_path != NULL) {
        kind = sds_buf_printf(out, "# configuration file: %s%s\n", options->config_path,
                              options->config_optional ? " (if it is there)" : "");
    }
    return kind == SDS_OK ? sds_buf_add_str(out, "[mount]\n") : kind;
}

enum sds_kind sds_options_show(const struct sds_options *options, bool remote,
                               struct sds_buf *out) {
    enum sds_kind kind = show_head(options, out);
    if (kind == SDS_OK && options->root_said.source != NULL) {
        kind = show_line("root", options->root_said.value, options->root_said.source, out);
    }
    if (kind == SDS_OK && options->mountpoint_said.source != NULL) {
        kind = show_line("mountpoint", options->mountpoint_said.value,
                         options->mountpoint_said.source, out);
    }
    for (size_t i = 0; i < sds_option_count && kind == SDS_OK; i++) {
        kind = show_option(options, i, remote, out);
    }
    for (size_t i = 0; i < options->flag_count && kind == SDS_OK; i++) {
        kind = show_line(options->flags_said[i].name, "yes", options->flags_said[i].source, out);
    }
    return kind;
}
