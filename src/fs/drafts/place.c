// SPDX-License-Identifier: Apache-2.0
#include "fs/drafts/place.h"

// Components that tell something: set, "shards", shard, a name in it.
enum { TELLING = 4 };

struct components {
    const char *at[TELLING + 1];
    size_t len[TELLING + 1];
    size_t count; // of all there are
};

static struct components split(const char *path) {
    struct components parts = {0};
    for (const char *at = path; *at != '\0'; parts.count++) {
        size_t len = strcspn(at, "/");
        if (parts.count <= TELLING) {
            parts.at[parts.count] = at;
            parts.len[parts.count] = len;
        }
        at += len + (at[len] == '/');
    }
    return parts;
}

static bool is(const struct components *parts, size_t which, const char *name) {
    return which < parts->count &&
           sds_span_eq(sds_span(parts->at[which], parts->len[which]), sds_span_str(name));
}

static enum sds_role role_of_name(const struct components *parts, size_t which) {
    if (is(parts, which, SDS_DRAFT_COMMIT)) {
        return SDS_ROLE_COMMIT;
    }
    return is(parts, which, SDS_DRAFT_STATUS) || is(parts, which, SDS_DRAFT_RECEIPT) ||
                   is(parts, which, SDS_DRAFT_POINTER)
               ? SDS_ROLE_OURS
               : SDS_ROLE_USERS;
}

static enum sds_role role_of(const struct components *parts) {
    bool in_shards = is(parts, 1, SDS_DRAFT_SHARDS);
    switch (parts->count) {
    case 0:
        return SDS_ROLE_TOP;
    case 1:
        return SDS_ROLE_SET;
    case 2:
        return in_shards ? SDS_ROLE_SHARDS : role_of_name(parts, 1);
    case 3:
        return in_shards ? SDS_ROLE_SHARD : SDS_ROLE_USERS;
    case TELLING:
        return in_shards ? role_of_name(parts, 3) : SDS_ROLE_USERS;
    default:
        return SDS_ROLE_USERS;
    }
}

struct sds_place sds_place_of(const char *path) {
    struct components parts = split(path);
    struct sds_place place = {.role = role_of(&parts)};
    const char *last = strrchr(path, '/');
    place.parent_len = last != NULL ? (size_t)(last - path) : 0;
    if (parts.count >= 2) {
        place.set_len = parts.len[0];
    }
    if (parts.count >= TELLING && is(&parts, 1, SDS_DRAFT_SHARDS)) {
        place.shard_len = (size_t)(parts.at[2] - path) + parts.len[2];
    }
    return place;
}
