// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 256

struct url {
    bool https;
    char host[HOST_MAX]; // without brackets and port
};

static enum sds_kind bad(struct sds_err *err, const char *why) {
    return sds_fail(err, SDS_ERR_INVALID, "credentials", "%s", why);
}

static bool is_plain(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text <= 0x20 || *text > 0x7e || strchr("\"<>\\^`{|}", *text) != NULL) {
            return false;
        }
    }
    return true;
}

static enum sds_kind parse(const char *text, struct url *out, struct sds_err *err) {
    size_t len = strncasecmp(text, "https://", 8) == 0  ? 8
                 : strncasecmp(text, "http://", 7) == 0 ? 7
                                                        : 0;
    if (len == 0 || !is_plain(text) || strlen(text) >= SDS_URL_MAX) {
        return bad(err, "its URL is no http or https URL");
    }
    out->https = len == 8;
    const char *host = text + len;
    size_t authority = strcspn(host, "/?#");
    if (memchr(host, '@', authority) != NULL) {
        return bad(err, "its URL holds a user's name, which none may");
    }
    size_t n = strcspn(host, ":/?#");
    if (host[0] == '[') {
        host++;
        n = strcspn(host, "]/?#");
        if (host[n] != ']') {
            return bad(err, "its URL has no host");
        }
    }
    if (n == 0 || n >= sizeof out->host) {
        return bad(err, "its URL has no host");
    }
    memcpy(out->host, host, n);
    out->host[n] = '\0';
    return SDS_OK;
}

static bool is_loopback(const char *host) {
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return ntohl(v4.s_addr) >> 24 == 127;
    }
    return strcasecmp(host, "localhost") == 0 ||
           (inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

static bool is_any_of(const char *host, const char *const *hosts) {
    struct in6_addr a, b;
    for (; *hosts != NULL; hosts++) {
        if (strcasecmp(host, *hosts) == 0 ||
            (inet_pton(AF_INET6, host, &a) == 1 && inet_pton(AF_INET6, *hosts, &b) == 1 &&
             IN6_ARE_ADDR_EQUAL(&a, &b))) {
            return true;
        }
    }
    return false;
}

enum sds_kind sds_url_check(const char *text, enum sds_url_rule rule, struct sds_err *err) {
    static const char *const container[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23",
                                            NULL};
    static const char *const metadata[] = {"169.254.169.254", "fd00:ec2::254",
                                           "metadata.google.internal", "fd20:ce::254", NULL};
    struct url url;
    enum sds_kind kind = parse(text, &url, err);
    if (kind != SDS_OK || url.https || rule == SDS_URL_CHOSEN || is_loopback(url.host) ||
        (rule == SDS_URL_CONTAINER && is_any_of(url.host, container)) ||
        (rule == SDS_URL_METADATA && is_any_of(url.host, metadata))) {
        return kind;
    }
    return sds_fail(err, SDS_ERR_INVALID, "credentials",
                    "its URL would have secrets sent to %s without encryption",
                    SDS_QUOTE(url.host, strlen(url.host)));
}

bool sds_url_is_of(const char *text, const char *domain) {
    struct url url;
    if (parse(text, &url, NULL) != SDS_OK) {
        return false;
    }
    size_t len = strlen(url.host), n = strlen(domain);
    return len >= n && strcasecmp(url.host + len - n, domain) == 0 &&
           (len == n || url.host[len - n - 1] == '.');
}

bool sds_url_join(const char *base, const char *path, char *out, size_t size) {
    size_t len = strlen(base);
    while (len > 0 && base[len - 1] == '/') {
        len--;
    }
    path += strspn(path, "/");
    int n = snprintf(out, size, "%.*s/%s", (int)len, base, path);
    return n >= 0 && (size_t)n < size;
}

// --- forms

enum sds_kind sds_form_encode(struct sds_buf *out, struct sds_span value) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; kind == SDS_OK && i < value.len; i++) {
        uint8_t c = value.at[i];
        kind = memchr(plain, c, sizeof plain - 1) != NULL ? sds_buf_add(out, &c, 1)
                                                          : sds_buf_printf(out, "%%%02X", c);
    }
    return kind;
}

enum sds_kind sds_form_add(struct sds_buf *form, const char *name, const char *value) {
    enum sds_kind kind = form->len > 0 ? sds_buf_add_str(form, "&") : SDS_OK;
    if (kind == SDS_OK) {
        kind = sds_buf_printf(form, "%s=", name);
    }
    return kind == SDS_OK ? sds_form_encode(form, sds_span_str(value)) : kind;
}
