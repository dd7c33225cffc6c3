// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/bytes.h"
#include "remote/backend.h"

bool sds_external_parse(const char *text, struct sds_external_policy *out) {
    static const struct {
        const char *word;
        int mode;
    } words[] = {
        {"none", SDS_EXTERNAL_NONE}, {"same", SDS_EXTERNAL_SAME}, {"any", SDS_EXTERNAL_ANY}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i].word) == 0) {
            *out = (struct sds_external_policy){.mode = words[i].mode};
            return true;
        }
    }
    *out = (struct sds_external_policy){.mode = SDS_EXTERNAL_PREFIX, .prefixes = text};
    return text[0] == '/' || sds_remote_is_uri(text);
}

// The component that begins at *p or after slashes and "." there; *p moves past it. Len 0 at the
// end.
static struct sds_span next_component(const char **p, const char *end) {
    struct sds_span part;
    do {
        while (*p < end && **p == '/') {
            ++*p;
        }
        part = sds_span(*p, 0);
        while (*p < end && **p != '/') {
            ++*p;
            part.len++;
        }
    } while (part.len == 1 && part.at[0] == '.');
    return part;
}

// True when path lies at or below the prefix, component by component.
static bool below(const char *path, const char *prefix, size_t len) {
    const char *p = path, *q = prefix;
    const char *path_end = path + strlen(path), *prefix_end = prefix + len;
    for (;;) {
        struct sds_span want = next_component(&q, prefix_end);
        if (want.len == 0) {
            return true;
        }
        if (!sds_span_eq(want, next_component(&p, path_end))) {
            return false;
        }
    }
}

// Up to the next colon that separates prefixes, which that of "s3://" does not.
static size_t prefix_len(const char *prefixes) {
    size_t len = strcspn(prefixes, ":");
    while (strncmp(prefixes + len, "://", 3) == 0) {
        len += 3;
        len += strcspn(prefixes + len, ":");
    }
    return len;
}

bool sds_path_below_any(const char *path, const char *prefixes) {
    for (const char *p = prefixes; *p != '\0';) {
        size_t len = prefix_len(p);
        if (len > 0 && below(path, p, len)) {
            return true;
        }
        p += len + (p[len] == ':');
    }
    return false;
}

// ".." in a path could leave the prefix that it begins with.
static bool climbs(const char *path) {
    for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2) {
        if ((p == path || p[-1] == '/') && (p[2] == '\0' || p[2] == '/')) {
            return true;
        }
    }
    return false;
}

// The length of "scheme://bucket" in a URI.
static size_t bucket_len(const char *uri) {
    size_t scheme = strcspn(uri, ":") + 3;
    return scheme + strcspn(uri + scheme, "/");
}

static bool same_bucket(const char *uri, const char *root) {
    size_t len = bucket_len(root);
    return bucket_len(uri) == len && strncmp(uri, root, len) == 0;
}

static enum sds_kind refuse(const char *uri, const char *why, struct sds_err *err) {
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "external", "%s: %s", SDS_QUOTE(uri, strlen(uri)),
                    why);
}

// Whether a root can refer to such a place at all. A root on a server may refer to objects of the
// same kind of server only: nothing there says which of our files are meant to be shown.
static const char *out_of_reach(const struct sds_external_policy *policy, const char *root,
                                const char *uri) {
    if (sds_remote_is_uri(root)) {
        size_t scheme = strcspn(root, ":") + 3;
        return strncmp(uri, root, scheme) != 0 ? "another kind of store than the root's" : NULL;
    }
    if (uri[0] != '/') {
        return "another kind of store, which a local root may not refer to";
    }
    bool into_mount = policy->mountpoint != NULL &&
                      (climbs(uri) || below(uri, policy->mountpoint, strlen(policy->mountpoint)));
    return into_mount ? "it leads, or could lead, into the mount itself" : NULL;
}

enum sds_kind sds_external_allows(const struct sds_external_policy *policy, const char *root,
                                  const char *uri, struct sds_err *err) {
    const char *why = out_of_reach(policy, root, uri);
    if (why != NULL) {
        return refuse(uri, why, err);
    }
    switch (policy->mode) {
    case SDS_EXTERNAL_NONE:
        return refuse(uri, "absolute references are off (option external=none)", err);
    case SDS_EXTERNAL_SAME:
        // For a local root the rest depends on the file (local.c).
        return sds_remote_is_uri(root) && !same_bucket(uri, root)
                   ? refuse(uri, "it is in another bucket (option external=)", err)
                   : SDS_OK;
    case SDS_EXTERNAL_PREFIX:
        return climbs(uri) || !sds_path_below_any(uri, policy->prefixes)
                   ? refuse(uri, "it is not below a prefix of option external=", err)
                   : SDS_OK;
    case SDS_EXTERNAL_ANY:
        break;
    }
    return SDS_OK;
}
