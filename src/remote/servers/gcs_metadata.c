// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/json_write.h"
#include "remote/servers/gcs.h"

static const struct sds_json_limits limits = {
    .bytes = SDS_HTTP_ERROR_BODY_MAX, .depth = 16, .nodes = 20000};

static struct sds_json *parse(struct sds_span body) {
    struct sds_json *doc = NULL;
    return sds_json_parse(body, &limits, &doc, NULL) == SDS_OK ? doc : NULL;
}

// A member's text; false when it is no string, does not fit or has NUL in it.
static bool text_member(struct sds_value object, const char *key, char *out, size_t size) {
    struct sds_value member = sds_value_get(object, key);
    struct sds_buf scratch = SDS_BUF_INIT(SDS_HTTP_ERROR_BODY_MAX);
    struct sds_span text = {0};
    bool fine = sds_value_there(member) && sds_value_type(member) == SDS_JSON_STRING &&
                sds_value_string(member, &scratch, &text) == SDS_OK && text.len < size &&
                (text.len == 0 || memchr(text.at, '\0', text.len) == NULL);
    if (fine && text.len > 0) {
        memcpy(out, text.at, text.len);
    }
    out[fine ? text.len : 0] = '\0';
    sds_buf_fini(&scratch);
    return fine;
}

// Google writes 64-bit numbers as strings, for readers that have doubles only.
static bool number_member(struct sds_value object, const char *key, uint64_t *out) {
    char text[24];
    if (!text_member(object, key, text, sizeof text) || text[0] == '\0' ||
        strspn(text, "0123456789") != strlen(text)) {
        return false;
    }
    *out = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*p - '0'), out)) {
            return false;
        }
    }
    return true;
}

// Four bytes, most significant first, in base64.
static bool crc_member(struct sds_value object, uint32_t *out) {
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[16];
    if (!text_member(object, "crc32c", text, sizeof text) || strlen(text) != 8 ||
        strcmp(text + 6, "==") != 0) {
        return false;
    }
    uint64_t bits = 0;
    for (int i = 0; i < 6; i++) {
        const char *digit = strchr(alphabet, text[i]);
        if (digit == NULL) {
            return false;
        }
        bits = bits << 6 | (uint64_t)(digit - alphabet);
    }
    *out = (uint32_t)(bits >> 4);
    return (bits & 15) == 0;
}

static void put_crc(uint32_t crc, char out[9]) {
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t bits = (uint64_t)crc << 4;
    for (int i = 5; i >= 0; i--, bits >>= 6) {
        out[i] = alphabet[bits & 63];
    }
    memcpy(out + 6, "==", 3);
}

// "2026-12-01T00:05:38.245Z", of which the fraction is left out; 0 for anything else.
static int64_t time_member(struct sds_value object, const char *key) {
    char text[64];
    struct tm utc = {0};
    const char *end = text_member(object, key, text, sizeof text)
                          ? strptime(text, "%Y-%m-%dT%H:%M:%S", &utc)
                          : NULL;
    bool zulu = end != NULL && (end[0] == 'Z' || (end[0] == '.' && strchr(end, 'Z') != NULL));
    return zulu ? (int64_t)timegm(&utc) : 0;
}

bool sds_gcs_read_metadata(struct sds_span body, const char *key, struct sds_told *out) {
    sds_autojson struct sds_json *doc = parse(body);
    if (doc == NULL || sds_value_type(sds_json_top(doc)) != SDS_JSON_OBJECT) {
        return false;
    }
    struct sds_value top = sds_json_top(doc);
    uint64_t generation = 0;
    *out = (struct sds_told){.size_known = true};
    if (!number_member(top, "size", &out->size) || !number_member(top, "generation", &generation) ||
        !sds_value_is(sds_value_get(top, "name"), key)) {
        return false;
    }
    snprintf(out->tag.etag, sizeof out->tag.etag, "%" PRIu64, generation);
    out->has_crc = crc_member(top, &out->crc32c);
    out->modified = time_member(top, "updated");
    return true;
}

void sds_gcs_read_refusal(struct sds_span body, struct sds_refusal *out) {
    *out = (struct sds_refusal){.code = ""};
    sds_autojson struct sds_json *doc = parse(body);
    if (doc == NULL) {
        return;
    }
    struct sds_value error = sds_value_get(sds_json_top(doc), "error");
    text_member(error, "message", out->message, sizeof out->message);
    struct sds_iter it = sds_value_iter(sds_value_get(error, "errors"));
    if (sds_iter_next(&it)) {
        text_member(it.value, "reason", out->code, sizeof out->code);
    }
}

enum sds_kind sds_gcs_metadata(const struct sds_operation *operation, char **out) {
    struct sds_buf text = SDS_BUF_INIT(1 << 16);
    char crc[9];
    put_crc(operation->crc32c, crc);
    enum sds_kind kind = sds_buf_add_str(&text, "{\"name\":");
    if (kind == SDS_OK) {
        kind = sds_json_write_string(sds_span_str(operation->key), &text);
    }
    if (kind == SDS_OK) {
        kind = sds_buf_printf(&text, ",\"crc32c\":\"%s\",\"contentType\":\"%s\"}", crc,
                              sds_content_type(operation->key));
    }
    if (kind == SDS_OK) {
        kind = sds_buf_add(&text, "", 1);
    }
    if (kind != SDS_OK) {
        sds_buf_fini(&text);
        return kind;
    }
    *out = (char *)text.at;
    return SDS_OK;
}
