// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/document_xml.h"

#include <string.h>

static bool begins(struct sds_span text, const char *with) {
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.at, with, len) == 0;
}

static struct sds_span after(struct sds_span text, size_t n) {
    return sds_span(text.at + n, text.len - n);
}

// From the next '<' on; empty when there is none.
static struct sds_span next_tag(struct sds_span text) {
    const uint8_t *at = text.len > 0 ? memchr(text.at, '<', text.len) : NULL;
    return at != NULL ? after(text, (size_t)(at - text.at)) : (struct sds_span){0};
}

// The length of "<name ...>" at the beginning of text; 0 when that is another tag.
static size_t opening(struct sds_span text, const char *name) {
    struct sds_span rest = after(text, 1);
    size_t len = strlen(name);
    if (!begins(rest, name) || rest.len == len || strchr("> \t\r\n", rest.at[len]) == NULL) {
        return 0;
    }
    const uint8_t *end = memchr(rest.at, '>', rest.len);
    return end != NULL && end[-1] != '/' ? (size_t)(end - text.at) + 1 : 0;
}

static bool closes(struct sds_span text, const char *name) {
    size_t len = strlen(name);
    return begins(text, "</") && begins(after(text, 2), name) && text.len > len + 2 &&
           strchr("> \t\r\n", text.at[len + 2]) != NULL;
}

bool sds_xml_find(struct sds_span text, const char *name, struct sds_span *out) {
    size_t len = 0;
    for (text = next_tag(text); text.len > 0; text = next_tag(after(text, 1))) {
        len = opening(text, name);
        if (len > 0) {
            break;
        }
    }
    if (len == 0) {
        return false;
    }
    struct sds_span inside = after(text, len);
    for (struct sds_span at = next_tag(inside); at.len > 0; at = next_tag(after(at, 1))) {
        if (closes(at, name)) {
            *out = sds_span(inside.at, (size_t)(at.at - inside.at));
            return true;
        }
    }
    return false;
}

// The character that text begins with, and its length as written; 0 for what is not allowed.
static char character(struct sds_span text, size_t *len) {
    static const struct {
        const char *written;
        char c;
    } entities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    *len = 1;
    char c = (char)text.at[0];
    if (c != '&') {
        return c >= 0x20 && c <= 0x7e && c != '<' ? c : '\0';
    }
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        if (begins(text, entities[i].written)) {
            *len = strlen(entities[i].written);
            return entities[i].c;
        }
    }
    return '\0';
}

static bool is_space(uint8_t c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct sds_span trimmed(struct sds_span text) {
    while (text.len > 0 && is_space(text.at[0])) {
        text = after(text, 1);
    }
    while (text.len > 0 && is_space(text.at[text.len - 1])) {
        text.len--;
    }
    return text;
}

bool sds_xml_text(struct sds_span text, const char *name, char *out, size_t size) {
    struct sds_span inside = {0};
    size_t n = 0, len = 0;
    out[0] = '\0';
    if (!sds_xml_find(text, name, &inside)) {
        return false;
    }
    for (inside = trimmed(inside); inside.len > 0; inside = after(inside, len)) {
        char c = character(inside, &len);
        if (c == '\0' || n + 1 >= size) {
            out[0] = '\0';
            return false;
        }
        out[n++] = c;
    }
    out[n] = '\0';
    return n > 0;
}
