// SPDX-License-Identifier: Apache-2.0
#include "remote/root_shown.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

// Where the host begins, as far as this can be told from what may not be a URL at all: a password
// can hold every byte that ends an authority. So whatever stands before the last "@" is user
// information, unless what is before it is plainly a host and a path.
static const char *behind_user(const char *authority) {
    size_t len = strcspn(authority, "/?#");
    const char *last = strrchr(authority, '@');
    bool plain = memchr(authority, '@', len) == NULL && memchr(authority, ':', len) == NULL &&
                 (authority[len] == '/' || authority[len] == '\0');
    return last == NULL || plain ? authority : last + 1;
}

char *sds_root_shown(const char *root, char *buf, size_t size) {
    const char *separator = strstr(root, "://");
    if (separator == NULL || root[0] == '/' ||
        memchr(root, '/', (size_t)(separator - root)) != NULL) {
        snprintf(buf, size, "%s", root);
        return buf;
    }
    const char *authority = separator + 3;
    const char *host = behind_user(authority);
    size_t shown = strcspn(host, "?#");
    bool more = host[shown] != '\0';
    snprintf(buf, size, "%.*s%s%.*s%.*s%s", (int)(authority - root), root,
             host != authority ? "***@" : "", (int)shown, host, more ? 1 : 0, host + shown,
             more ? "***" : "");
    return buf;
}

char *sds_typed_shown(const char *typed, char *buf, size_t size) {
    char shown[SDS_ROOT_SHOWN_SIZE];
    size_t len = strlen(sds_root_shown(typed, shown, sizeof shown));
    sds_quote(buf, size, shown, len);
    if (strlen(buf) == len + 2 && memcmp(buf + 1, shown, len) == 0) {
        memmove(buf, shown, len + 1);
    }
    return buf;
}
