// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct parser {
    const char *path;
    sds_config_fn take;
    void *ctx;
    unsigned line;
    bool in_section;
    char *why;
    size_t size;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static char *skip_blanks(char *text) {
    while (is_blank(*text)) {
        text++;
    }
    return text;
}

static void cut_blanks(char *text) {
    size_t len = strlen(text);
    while (len > 0 && is_blank(text[len - 1])) {
        text[--len] = '\0';
    }
}

static bool wrong(const struct parser *parser, const char *what) {
    snprintf(parser->why, parser->size, "%s:%u: %s", parser->path, parser->line, what);
    return false;
}

// Ends the text before a comment: a # that begins it or follows a blank.
static void cut_comment(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '#' && (c == text || is_blank(c[-1]))) {
            *c = '\0';
            return;
        }
    }
}

// Takes the quotes off a value, in place. False when it does not end as it should.
static bool unquote(char *value) {
    char *out = value, *in = value + 1;
    for (; *in != '"'; in++) {
        if (*in == '\\' && (in[1] == '"' || in[1] == '\\')) {
            in++;
        }
        if (*in == '\0') {
            return false;
        }
        *out++ = *in;
    }
    char *rest = skip_blanks(in + 1);
    if (*rest != '\0' && (*rest != '#' || rest == in + 1)) {
        return false;
    }
    *out = '\0';
    return true;
}

static bool parse_section(struct parser *parser, char *line) {
    cut_comment(line);
    cut_blanks(line);
    parser->in_section = strcmp(line, "[mount]") == 0;
    return parser->in_section || wrong(parser, "the only section there is is [mount]");
}

static bool parse_setting(struct parser *parser, char *line) {
    char *value = strchr(line, '=');
    if (value != NULL) {
        *value = '\0';
        value = skip_blanks(value + 1);
    } else {
        cut_comment(line);
    }
    cut_blanks(line);
    if (line[0] == '\0' || strpbrk(line, " \t\"#") != NULL) {
        return wrong(parser, "expected \"name = value\"");
    }
    if (value != NULL && value[0] == '"') {
        if (!unquote(value)) {
            return wrong(parser, "the value does not end with its quotes");
        }
    } else if (value != NULL) {
        cut_comment(value);
        cut_blanks(value);
    }
    char why[512] = "";
    return parser->take(parser->ctx, parser->line, line, value, why, sizeof why) ||
           wrong(parser, why);
}

static bool parse_line(struct parser *parser, char *line) {
    line = skip_blanks(line);
    if (*line == '\0' || *line == '#' || *line == ';') {
        return true;
    }
    if (*line == '[') {
        return parse_section(parser, line);
    }
    return parser->in_section ? parse_setting(parser, line)
                              : wrong(parser, "expected [mount] before the first setting");
}

bool sds_config_parse(const char *path, struct sds_span text, sds_config_fn take, void *ctx,
                      char *why, size_t size) {
    struct parser parser = {.path = path, .take = take, .ctx = ctx, .why = why, .size = size};
    if (text.len > 0 && memchr(text.at, '\0', text.len) != NULL) {
        snprintf(why, size, "%s: it is no text: it holds a NUL byte", path);
        return false;
    }
    sds_autofree char *copy = malloc(text.len + 1);
    if (copy == NULL) {
        snprintf(why, size, "%s: no memory", path);
        return false;
    }
    if (text.len > 0) {
        memcpy(copy, text.at, text.len);
    }
    copy[text.len] = '\0';
    char *rest = copy, *line;
    if (strncmp(rest, "\xef\xbb\xbf", 3) == 0) { // a byte order mark
        rest += 3;
    }
    while ((line = strsep(&rest, "\n")) != NULL) {
        parser.line++;
        if (!parse_line(&parser, line)) {
            return false;
        }
    }
    return true;
}

// Reads to the end. EFBIG when there is more than a configuration has.
static int read_file(int fd, struct sds_buf *out) {
    char step[4096];
    ssize_t n;
    while ((n = read(fd, step, sizeof step)) != 0) {
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        if (n > 0 && sds_buf_add(out, step, (size_t)n) != SDS_OK) {
            return EFBIG;
        }
    }
    return 0;
}

bool sds_config_read(const char *path, bool optional, sds_config_fn take, void *ctx, char *why,
                     size_t size) {
    sds_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
        return true;
    }
    struct sds_buf text = SDS_BUF_INIT(SDS_CONFIG_BYTES_MAX);
    int e = fd < 0 ? errno : read_file(fd, &text);
    bool ok = e == 0;
    if (ok) {
        ok = sds_config_parse(path, sds_span(text.at, text.len), take, ctx, why, size);
    } else {
        snprintf(why, size, "%s: %s", path, strerror(e));
    }
    sds_buf_fini(&text);
    return ok;
}

enum sds_kind sds_config_write_value(const char *value, struct sds_buf *out) {
    size_t len = strlen(value);
    bool plain = len > 0 && value[0] != '"' && value[0] != '#' && !is_blank(value[0]) &&
                 !is_blank(value[len - 1]) && strstr(value, " #") == NULL &&
                 strstr(value, "\t#") == NULL && strchr(value, '\n') == NULL;
    if (plain) {
        return sds_buf_add_str(out, value);
    }
    enum sds_kind kind = sds_buf_add_str(out, "\"");
    for (; *value != '\0' && kind == SDS_OK; value++) {
        if (*value == '"' || *value == '\\') {
            kind = sds_buf_add_str(out, "\\");
        }
        if (kind == SDS_OK) {
            kind = sds_buf_add(out, *value != '\n' ? value : "?", 1);
        }
    }
    return kind == SDS_OK ? sds_buf_add_str(out, "\"") : kind;
}
