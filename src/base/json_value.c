// SPDX-License-Identifier: Apache-2.0
//
// Finding one's way in a parsed document: types, members, elements.
#include "base/json_internal.h"

#include <stdio.h>
bool sds_json_is_plain_utf8(const struct sds_json *doc) {
    return doc->transcoded == NULL;
}

struct sds_value sds_json_top(const struct sds_json *doc) {
    return (struct sds_value){.doc = doc, .token = 0};
}

enum sds_json_type sds_value_type(struct sds_value v) {
    return sds_value_there(v) ? sds_token_type(sds_token_of(v)) : SDS_JSON_NULL;
}

const char *sds_value_type_name(struct sds_value v) {
    static const char *const names[] = {
        [SDS_JSON_NULL] = "null",       [SDS_JSON_FALSE] = "false",   [SDS_JSON_TRUE] = "true",
        [SDS_JSON_INTEGER] = "integer", [SDS_JSON_REAL] = "real",     [SDS_JSON_STRING] = "string",
        [SDS_JSON_ARRAY] = "array",     [SDS_JSON_OBJECT] = "object",
    };
    return sds_value_there(v) ? names[sds_value_type(v)] : "nothing";
}

// Nearly all keys are written without escapes, and differ in their length or their first byte (the
// quote behind an empty one): those cost no call.
static bool is_key(const struct sds_json *doc, uint32_t token, struct sds_span key) {
    const struct sds_token *t = &doc->tokens[token];
    if ((t->info & SDS_TOKEN_ESCAPED) != 0) {
        return sds_value_is((struct sds_value){.doc = doc, .token = token}, (const char *)key.at);
    }
    const uint8_t *at = doc->text.at + t->at + 1;
    return t->len == key.len + 2 && (key.len == 0 || *at == *key.at) &&
           memcmp(at, key.at, key.len) == 0;
}

struct sds_value sds_value_get(struct sds_value object, const char *key) {
    struct sds_span wanted = sds_span_str(key);
    if (sds_value_type(object) != SDS_JSON_OBJECT) {
        return (struct sds_value){0};
    }
    const struct sds_json *doc = object.doc;
    uint32_t end = sds_token_of(object)->next;
    for (uint32_t at = object.token + 1; at < end; at = doc->tokens[at + 1].next) {
        if (is_key(doc, at, wanted)) {
            return (struct sds_value){.doc = doc, .token = at + 1};
        }
    }
    return (struct sds_value){0};
}

static bool is_container(enum sds_json_type type) {
    return type == SDS_JSON_ARRAY || type == SDS_JSON_OBJECT;
}

uint64_t sds_value_count(struct sds_value container) {
    return is_container(sds_value_type(container)) ? sds_token_count(sds_token_of(container)) : 0;
}

struct sds_iter sds_value_iter(struct sds_value container) {
    enum sds_json_type type = sds_value_type(container);
    if (!is_container(type)) {
        return (struct sds_iter){0};
    }
    return (struct sds_iter){
        .doc = container.doc,
        .next = container.token + 1,
        .end = sds_token_of(container)->next,
        .object = type == SDS_JSON_OBJECT,
    };
}

bool sds_iter_next(struct sds_iter *it) {
    if (it->next >= it->end) {
        return false;
    }
    if (it->object) {
        it->key = (struct sds_value){.doc = it->doc, .token = it->next++};
    }
    it->value = (struct sds_value){.doc = it->doc, .token = it->next};
    it->next = sds_token_of(it->value)->next;
    return true;
}

struct sds_span sds_value_text(struct sds_value v) {
    return sds_value_there(v) ? sds_token_text(v.doc, sds_token_of(v)) : sds_span(NULL, 0);
}

char *sds_value_quote(char *buf, size_t size, struct sds_value v) {
    struct sds_span text = sds_value_text(v);
    if (!sds_value_there(v)) {
        snprintf(buf, size, "nothing");
        return buf;
    }
    if (sds_value_type(v) == SDS_JSON_STRING) {
        return sds_quote(buf, size, text.at + 1, text.len - 2);
    }
    sds_quote(buf, size, text.at, text.len);
    size_t len = strlen(buf);
    if (len >= 2) { // the quotes
        memmove(buf, buf + 1, len - 2);
        buf[len - 2] = '\0';
    }
    return buf;
}

bool sds_value_is_falsy(struct sds_value v) {
    switch (sds_value_type(v)) {
    case SDS_JSON_NULL:
    case SDS_JSON_FALSE:
        return true;
    case SDS_JSON_INTEGER:
    case SDS_JSON_REAL:
        return sds_value_double(v) == 0;
    case SDS_JSON_STRING:
        return sds_value_string_len(v) == 0;
    case SDS_JSON_ARRAY:
    case SDS_JSON_OBJECT:
        return sds_value_count(v) == 0;
    case SDS_JSON_TRUE:
        break;
    }
    return false;
}
