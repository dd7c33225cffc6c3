// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/uri.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { MAX_URI = 1 << 16, MAX_BUCKET = 255 };

const char *sds_scheme_name(enum sds_scheme scheme) {
    static const char *const names[] = {"s3", "gs", "http", "https"};
    return names[scheme];
}

static bool is_web(enum sds_scheme scheme) {
    return scheme == SDS_SCHEME_HTTP || scheme == SDS_SCHEME_HTTPS;
}

static enum sds_kind invalid(struct sds_err *err, const char *why) {
    return sds_fail(err, SDS_ERR_INVALID, "root", "%s", why);
}

// The scheme, and what stands behind "://"; NULL for anything else.
static const char *take_scheme(const char *uri, enum sds_scheme *out) {
    for (int scheme = SDS_SCHEME_S3; scheme <= SDS_SCHEME_HTTPS; scheme++) {
        const char *name = sds_scheme_name((enum sds_scheme)scheme);
        size_t len = strlen(name);
        if (strncmp(uri, name, len) == 0 && strncmp(uri + len, "://", 3) == 0) {
            *out = (enum sds_scheme)scheme;
            return uri + len + 3;
        }
    }
    return NULL;
}

// A copy without tab, CR and LF.
static char *clean_copy(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    char *to = copy;
    for (const char *p = text; copy != NULL; p++) {
        if (*p != '\t' && *p != '\r' && *p != '\n') {
            *to++ = *p;
        }
        if (*p == '\0') {
            break;
        }
    }
    return copy;
}

// --- authorities

static bool is_bucket_name(const char *name) {
    bool dots_only = true;
    for (const char *p = name; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr("._-", *p) == NULL) {
            return false;
        }
        dots_only &= *p == '.';
    }
    return !dots_only;
}

static enum sds_kind check_bucket(const char *bucket, struct sds_err *err) {
    if (bucket[0] == '\0') {
        return invalid(err, "the bucket is missing");
    }
    if (strchr(bucket, ':') != NULL) {
        return invalid(err, "a bucket has no port (option endpoint= names another server)");
    }
    if (strlen(bucket) > MAX_BUCKET || !is_bucket_name(bucket)) {
        return invalid(err, "this is not the name of a bucket");
    }
    return SDS_OK;
}

// The length of a host at the beginning of an authority; 0 when it is none.
static size_t host_len(const char *authority) {
    if (authority[0] == '[') {
        size_t len = 1 + strspn(authority + 1, "0123456789abcdefABCDEF:.");
        return len > 2 && authority[len] == ']' ? len + 1 : 0;
    }
    size_t len = 0;
    while (isalnum((unsigned char)authority[len]) ||
           (authority[len] != '\0' && strchr("._-", authority[len]) != NULL)) {
        len++;
    }
    return len;
}

// Lower case, and without a port that goes without saying, so that one server has one name.
static enum sds_kind check_host(enum sds_scheme scheme, char *authority, struct sds_err *err) {
    size_t len = host_len(authority);
    if (authority[0] == '\0' || authority[0] == ':') {
        return invalid(err, "the host is missing");
    }
    if (len == 0 || len > MAX_BUCKET || (authority[len] != '\0' && authority[len] != ':')) {
        return invalid(err, "this is not the name of a host");
    }
    for (size_t i = 0; i < len; i++) {
        authority[i] = (char)tolower((unsigned char)authority[i]);
    }
    if (authority[len] == '\0') {
        return SDS_OK;
    }
    const char *digits = authority + len + 1;
    unsigned long port = strtoul(digits, NULL, 10);
    size_t count = strspn(digits, "0123456789");
    if (digits[count] != '\0' || count > 5 || (count > 0 && (port == 0 || port > 65535))) {
        return invalid(err, "this is not the number of a port");
    }
    if (count == 0 || port == (scheme == SDS_SCHEME_HTTP ? 80 : 443)) {
        authority[len] = '\0';
    }
    return SDS_OK;
}

// --- keys

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// In place. A slash that is encoded could not be told from one that is not.
static enum sds_kind percent_decode(char *text, struct sds_err *err) {
    char *to = text;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p != '%') {
            *to++ = *p;
            continue;
        }
        int high = hex_digit(p[1]), low = high < 0 ? -1 : hex_digit(p[2]);
        if (low < 0) {
            return invalid(err, "a percent sign in the path has no two hexadecimal digits behind "
                                "it (write %25 for the sign itself)");
        }
        int byte = 16 * high + low;
        if (byte == 0 || byte == '/') {
            return invalid(err, "%2F and %00 in the path are not supported");
        }
        *to++ = (char)byte;
        p += 2;
    }
    *to = '\0';
    return SDS_OK;
}

// Cuts a text at its query and fragment, which must be empty.
static enum sds_kind cut_query(char *text, struct sds_err *err) {
    char *end = text + strcspn(text, "?#");
    if (end[0] == '?' && end[1] != '\0' && end[1] != '#') {
        return invalid(err, "it has a query, for which there is no place in the names of objects");
    }
    const char *fragment = strchr(end, '#');
    if (fragment != NULL && fragment[1] != '\0') {
        return invalid(err, "it has a fragment, for which there is no place in names of objects");
    }
    *end = '\0';
    return SDS_OK;
}

static enum sds_kind take_key(enum sds_scheme scheme, char *path, const char **key,
                              struct sds_err *err) {
    enum sds_kind kind = cut_query(path, err);
    *key = path + (is_web(scheme) ? path[0] == '/' : strspn(path, "/"));
    if (kind == SDS_OK && is_web(scheme)) {
        kind = percent_decode(path, err);
    }
    return kind;
}

static enum sds_kind check_authority(enum sds_scheme scheme, char *authority, struct sds_err *err) {
    if (strchr(authority, '@') != NULL) {
        return invalid(err, "it has a user or a password in it, which do not belong into a URL");
    }
    return is_web(scheme) ? check_host(scheme, authority, err) : check_bucket(authority, err);
}

enum sds_kind sds_target_parse(const char *uri, struct sds_target *out, struct sds_err *err) {
    *out = (struct sds_target){.scheme = SDS_SCHEME_S3};
    sds_autofree char *copy = strlen(uri) < MAX_URI ? clean_copy(uri) : NULL;
    if (copy == NULL) {
        return strlen(uri) < MAX_URI
                   ? sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a URI")
                   : invalid(err, "it is too long");
    }
    const char *rest = take_scheme(copy, &out->scheme);
    if (rest == NULL) {
        return invalid(err, "it is not s3://, gs://, http:// or https://");
    }
    char *authority = copy + (rest - copy);
    char *path = authority + strcspn(authority, "/?#");
    sds_autofree char *bucket = strndup(authority, (size_t)(path - authority));
    if (bucket == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a URI");
    }
    const char *key = "";
    enum sds_kind kind = check_authority(out->scheme, bucket, err);
    if (kind == SDS_OK) {
        kind = take_key(out->scheme, path, &key, err);
    }
    if (kind == SDS_OK && (out->key = strdup(key)) == NULL) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a URI");
    }
    if (kind == SDS_OK) {
        out->bucket = SDS_STEAL(bucket);
    }
    return kind;
}

enum sds_kind sds_target_parse_typed(const char *uri, struct sds_target *out, struct sds_err *err) {
    switch (uri[strcspn(uri, "\t\r\n")]) {
    case '\t':
        *out = (struct sds_target){.scheme = SDS_SCHEME_S3};
        return invalid(err, "it has a tab in it");
    case '\r':
        *out = (struct sds_target){.scheme = SDS_SCHEME_S3};
        return invalid(err, "it has a carriage return in it");
    case '\n':
        *out = (struct sds_target){.scheme = SDS_SCHEME_S3};
        return invalid(err, "it has a line feed in it");
    default:
        return sds_target_parse(uri, out, err);
    }
}

void sds_target_fini(struct sds_target *target) {
    free(target->bucket);
    free(target->key);
    *target = (struct sds_target){.scheme = SDS_SCHEME_S3};
}

char *sds_key_join(const char *prefix, const char *path) {
    sds_autofree char *rest = clean_copy(path);
    size_t before = strlen(prefix);
    char *key = rest == NULL ? NULL : malloc(before + strlen(rest) + 2);
    if (key != NULL) {
        memcpy(key, prefix, before);
        key[before] = '/';
        strcpy(key + before + (before > 0), rest);
    }
    return key;
}

enum sds_kind sds_percent_encode(struct sds_buf *out, const char *text, const char *also) {
    static const char digits[] = "0123456789ABCDEF";
    enum sds_kind kind = SDS_OK;
    for (const char *p = text; *p != '\0' && kind == SDS_OK; p++) {
        uint8_t byte = (uint8_t)*p;
        bool stays = (byte < 0x80 && isalnum(byte)) || strchr("-._~", byte) != NULL ||
                     strchr(also, byte) != NULL;
        char encoded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        kind = stays ? sds_buf_add(out, p, 1) : sds_buf_add(out, encoded, 3);
    }
    return kind;
}
