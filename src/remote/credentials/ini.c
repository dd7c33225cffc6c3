// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/ini.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <strings.h>

struct entry {
    struct sds_span section; // what stands between the brackets, trimmed
    struct sds_span key;     // empty: the section's own line
    struct sds_span sub;     // empty: the property itself
    struct sds_span value;
    bool several_lines;
};

struct sds_ini {
    uint8_t *text;
    size_t len;
    struct entry *entries;
    size_t count, cap;
};

struct reader {
    struct sds_ini *ini;
    struct sds_span section;
    bool in_section;
    size_t property; // index of the entry that indented lines belong to, plus one; 0: none
    size_t indent;   // of that
    unsigned line;
};

static bool is_space(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static struct sds_span trimmed(struct sds_span s) {
    while (s.len > 0 && is_space(s.at[0])) {
        s = sds_span(s.at + 1, s.len - 1);
    }
    while (s.len > 0 && is_space(s.at[s.len - 1])) {
        s.len--;
    }
    return s;
}

static enum sds_kind add(struct sds_ini *ini, struct entry entry, struct sds_err *err) {
    if (ini->count == ini->cap) {
        size_t cap = ini->cap == 0 ? 32 : ini->cap * 2;
        struct entry *entries = realloc(ini->entries, cap * sizeof *entries);
        if (entries == NULL) {
            return sds_fail(err, SDS_ERR_NO_MEMORY, "ini", "no memory for its properties");
        }
        ini->entries = entries;
        ini->cap = cap;
    }
    ini->entries[ini->count++] = entry;
    return SDS_OK;
}

// "key = value" by the first of the two delimiters; false when there is none, or no key.
static bool split(struct sds_span line, struct sds_span *key, struct sds_span *value) {
    for (size_t i = 0; i < line.len; i++) {
        if (line.at[i] == '=' || line.at[i] == ':') {
            *key = trimmed(sds_span(line.at, i));
            *value = trimmed(sds_span(line.at + i + 1, line.len - i - 1));
            return key->len > 0;
        }
    }
    return false;
}

static enum sds_kind read_section(struct reader *r, struct sds_span line, struct sds_err *err) {
    const uint8_t *end = memchr(line.at, ']', line.len);
    struct sds_span name = {0};
    if (end != NULL) {
        name = trimmed(sds_span(line.at + 1, (size_t)(end - line.at) - 1));
    }
    if (name.len == 0) {
        return sds_fail(err, SDS_ERR_INVALID, "ini", "line %u is no \"[section]\"", r->line);
    }
    r->section = name;
    r->in_section = true;
    r->property = 0;
    return add(r->ini, (struct entry){.section = name}, err);
}

// The text of a property is not repeated: it may be a secret.
static enum sds_kind read_property(struct reader *r, struct sds_span line, size_t indent,
                                   struct sds_err *err) {
    struct entry entry = {.section = r->section};
    if (!r->in_section || !split(line, &entry.key, &entry.value)) {
        return sds_fail(err, SDS_ERR_INVALID, "ini",
                        r->in_section ? "line %u is neither a section nor \"key = value\""
                                      : "line %u stands before the first section",
                        r->line);
    }
    enum sds_kind kind = add(r->ini, entry, err);
    if (kind == SDS_OK) {
        r->property = r->ini->count;
        r->indent = indent;
    }
    return kind;
}

static enum sds_kind read_continuation(struct reader *r, struct sds_span line,
                                       struct sds_err *err) {
    struct entry *property = &r->ini->entries[r->property - 1];
    struct entry entry = {.section = property->section, .key = property->key};
    if (property->value.len > 0 || !split(line, &entry.sub, &entry.value)) {
        property->several_lines = true;
        return SDS_OK;
    }
    return add(r->ini, entry, err);
}

static enum sds_kind read_line(struct reader *r, struct sds_span raw, struct sds_err *err) {
    struct sds_span line = trimmed(raw);
    if (line.len == 0 || line.at[0] == '#' || line.at[0] == ';') {
        return SDS_OK;
    }
    size_t indent = (size_t)(line.at - raw.at);
    if (r->property > 0 && indent > r->indent) {
        return read_continuation(r, line, err);
    }
    return line.at[0] == '[' ? read_section(r, line, err) : read_property(r, line, indent, err);
}

static enum sds_kind read_lines(struct reader *r, struct sds_span text, struct sds_err *err) {
    while (text.len > 0) {
        const uint8_t *end = memchr(text.at, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.at) : text.len;
        if (++r->line > SDS_INI_LINES_MAX) {
            return sds_fail(err, SDS_ERR_LIMIT, "ini", "it has more than %d lines",
                            SDS_INI_LINES_MAX);
        }
        enum sds_kind kind = read_line(r, sds_span(text.at, len), err);
        if (kind != SDS_OK) {
            return kind;
        }
        len += end != NULL;
        text = sds_span(text.at + len, text.len - len);
    }
    return SDS_OK;
}

enum sds_kind sds_ini_parse(struct sds_span text, struct sds_ini **out, struct sds_err *err) {
    if (text.len > SDS_INI_BYTES_MAX) {
        return sds_fail(err, SDS_ERR_LIMIT, "ini", "it has more than %zu bytes", SDS_INI_BYTES_MAX);
    }
    if (text.len > 0 && memchr(text.at, '\0', text.len) != NULL) {
        return sds_fail(err, SDS_ERR_INVALID, "ini", "it is no text: it holds a NUL byte");
    }
    struct sds_ini *ini = calloc(1, sizeof *ini);
    uint8_t *copy = malloc(text.len + 1);
    if (ini == NULL || copy == NULL) {
        free(ini);
        free(copy);
        return sds_fail(err, SDS_ERR_NO_MEMORY, "ini", "no memory for it");
    }
    if (text.len > 0) {
        memcpy(copy, text.at, text.len);
    }
    ini->text = copy;
    ini->len = text.len;
    struct sds_span rest = sds_span(copy, text.len);
    if (rest.len >= 3 && memcmp(copy, "\xef\xbb\xbf", 3) == 0) { // a byte order mark
        rest = sds_span(copy + 3, rest.len - 3);
    }
    enum sds_kind kind = read_lines(&(struct reader){.ini = ini}, rest, err);
    if (kind != SDS_OK) {
        sds_ini_free(ini);
        return kind;
    }
    *out = ini;
    return SDS_OK;
}

void sds_ini_free(struct sds_ini *ini) {
    if (ini == NULL) {
        return;
    }
    OPENSSL_cleanse(ini->text, ini->len);
    free(ini->text);
    free(ini->entries);
    free(ini);
}

static bool is_text(struct sds_span span, const char *text) {
    return sds_span_eq(span, sds_span_str(text));
}

static bool is_key(struct sds_span span, const char *key) {
    return span.len == strlen(key) && strncasecmp((const char *)span.at, key, span.len) == 0;
}

static bool is_section(struct sds_span title, struct sds_ini_section section) {
    if (section.type == NULL) {
        return is_text(title, section.name);
    }
    size_t len = strlen(section.type);
    if (title.len <= len || memcmp(title.at, section.type, len) != 0 || !is_space(title.at[len])) {
        return false;
    }
    struct sds_span name = trimmed(sds_span(title.at + len, title.len - len));
    uint8_t quote = name.len >= 2 ? name.at[0] : 0;
    if ((quote == '"' || quote == '\'') && name.at[name.len - 1] == quote) {
        name = sds_span(name.at + 1, name.len - 2);
    }
    return is_text(name, section.name);
}

bool sds_ini_has(const struct sds_ini *ini, struct sds_ini_section section) {
    for (size_t i = 0; i < ini->count; i++) {
        if (is_section(ini->entries[i].section, section)) {
            return true;
        }
    }
    return false;
}

enum sds_ini_answer sds_ini_get(const struct sds_ini *ini, struct sds_ini_section section,
                                const char *key, const char *sub, struct sds_span *out) {
    for (size_t i = ini->count; i-- > 0;) {
        const struct entry *entry = &ini->entries[i];
        bool wanted = sub == NULL ? entry->sub.len == 0 : is_key(entry->sub, sub);
        if (wanted && is_key(entry->key, key) && is_section(entry->section, section)) {
            *out = entry->value;
            return entry->several_lines ? SDS_INI_SEVERAL_LINES : SDS_INI_FOUND;
        }
    }
    return SDS_INI_ABSENT;
}
