// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Length of the valid UTF-8 sequence that begins at p (n bytes left), 0 when there is none.
static size_t utf8_sequence(const uint8_t *p, size_t n) {
    static const struct {
        uint8_t lead_mask, lead, second_min, second_max;
        size_t len;
    } forms[] = {
        {0xFF, 0xE0, 0xA0, 0xBF, 3}, {0xFF, 0xED, 0x80, 0x9F, 3}, {0xFF, 0xF0, 0x90, 0xBF, 4},
        {0xFF, 0xF4, 0x80, 0x8F, 4}, {0xFE, 0xC0, 0xFF, 0x00, 2}, {0xE0, 0xC0, 0x80, 0xBF, 2},
        {0xF0, 0xE0, 0x80, 0xBF, 3}, {0xFC, 0xF0, 0x80, 0xBF, 4},
    };
    if (p[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if ((p[0] & forms[i].lead_mask) != forms[i].lead) {
            continue;
        }
        if (n < forms[i].len || p[1] < forms[i].second_min || p[1] > forms[i].second_max) {
            return 0;
        }
        for (size_t k = 2; k < forms[i].len; k++) {
            if ((p[k] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return forms[i].len;
    }
    return 0;
}

static char *scrub(char *text, size_t left, bool also_control) {
    for (char *at = text; left > 0;) {
        size_t n = utf8_sequence((const uint8_t *)at, left);
        if (n == 0 || (also_control && ((unsigned char)*at < 0x20 || *at == 0x7F))) {
            *at = '?';
            n = 1;
        }
        at += n;
        left -= n;
    }
    return text;
}

char *sds_scrub(char *text) {
    return scrub(text, strlen(text), true);
}

char *sds_scrub_utf8(char *text, size_t len) {
    return scrub(text, len, false);
}

// Whatever bytes slip into a message (object names come from datasets), it stays one line.
enum sds_kind sds_fail(struct sds_err *err, enum sds_kind kind, const char *check, const char *fmt,
                       ...) {
    if (err == NULL) {
        return kind;
    }
    err->kind = kind;
    err->object[0] = '\0';
    snprintf(err->check, sizeof err->check, "%s", check);
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    sds_scrub(err->message);
    return kind;
}

void sds_err_object(struct sds_err *err, const char *fmt, ...) {
    if (err == NULL || err->object[0] != '\0') {
        return;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->object, sizeof err->object, fmt, args);
    va_end(args);
    sds_scrub(err->object);
}

void sds_err_context(struct sds_err *err, const char *fmt, ...) {
    if (err == NULL) {
        return;
    }
    char inner[sizeof err->message];
    memcpy(inner, err->message, sizeof inner);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof err->message) {
        snprintf(err->message + n, sizeof err->message - (size_t)n, ": %s", inner);
    }
    sds_scrub(err->message);
}

void sds_err_hint(struct sds_err *err, const char *fmt, ...) {
    if (err == NULL) {
        return;
    }
    char hint[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(hint, sizeof hint, fmt, args);
    va_end(args);
    size_t len = strlen(err->message);
    snprintf(err->message + len, sizeof err->message - len, " (%s)", hint);
    sds_scrub(err->message);
}

char *sds_err_line(const struct sds_err *err, char *buf, size_t size) {
    const char *gap = err->object[0] != '\0' ? ": " : "";
    snprintf(buf, size, "%s%s%s: %s", err->object, gap, err->check, err->message);
    return buf;
}

bool sds_kind_is_verdict(enum sds_kind kind) {
    return kind == SDS_ERR_CORRUPT || kind == SDS_ERR_LIMIT || kind == SDS_ERR_UNSUPPORTED;
}

const char *sds_kind_name(enum sds_kind kind) {
    static const char *const names[] = {
        [SDS_OK] = "ok",
        [SDS_ERR_CORRUPT] = "corrupt",
        [SDS_ERR_NOT_FOUND] = "not found",
        [SDS_ERR_STORAGE] = "storage",
        [SDS_ERR_TIMEOUT] = "timeout",
        [SDS_ERR_DENIED] = "denied",
        [SDS_ERR_CONFLICT] = "conflict",
        [SDS_ERR_INVALID] = "invalid",
        [SDS_ERR_LIMIT] = "limit",
        [SDS_ERR_UNSUPPORTED] = "unsupported",
        [SDS_ERR_NO_MEMORY] = "no memory",
        [SDS_ERR_INTERNAL] = "internal",
        [SDS_ERR_WAITING] = "waiting",
    };
    return names[kind];
}

char *sds_quote(char *buf, size_t size, const void *bytes, size_t len) {
    const uint8_t *p = bytes;
    // Room is kept for the longest escape, "..." and the closing quote.
    const size_t reserve = 4 + 3 + 1 + 1;
    if (size <= reserve) {
        if (size > 0) {
            buf[0] = '\0';
        }
        return buf;
    }
    size_t used = 0;
    buf[used++] = '"';
    size_t i = 0;
    while (i < len && used < size - reserve) {
        size_t n = utf8_sequence(p + i, len - i);
        if (n == 0 || p[i] < 0x20 || p[i] == 0x7F) {
            used += (size_t)snprintf(buf + used, 5, "\\x%02X", p[i]);
            n = 1;
        } else {
            memcpy(buf + used, p + i, n);
            used += n;
        }
        i += n;
    }
    if (i < len) {
        memcpy(buf + used, "...", 3);
        used += 3;
    }
    buf[used++] = '"';
    buf[used] = '\0';
    return buf;
}
