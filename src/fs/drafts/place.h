// SPDX-License-Identifier: Apache-2.0
//
// What a path below control/annotations is: which drafts it lies in, and whether it is one of the
// names that are ours.
//
//   review-v1/                      a set's draft
//   review-v1/commit                takes commands
//   review-v1/status.json           ours, like receipt.json and pointer.json
//   review-v1/shards/east/          a worker's draft, with the same names in it
//
// Everything else is the user's and means nothing here.
#ifndef SDSFS_FS_DRAFTS_PLACE_H
#define SDSFS_FS_DRAFTS_PLACE_H

#include <stdbool.h>

#include "base/bytes.h"

#define SDS_DRAFT_COMMIT "commit"
#define SDS_DRAFT_STATUS "status.json"
#define SDS_DRAFT_RECEIPT "receipt.json" // there: the draft is published
#define SDS_DRAFT_POINTER "pointer.json"
#define SDS_DRAFT_SHARDS "shards"
#define SDS_DRAFT_OPTIONS "options.json" // a user's; the set's is that of workers who have none

enum sds_role {
    SDS_ROLE_TOP,
    SDS_ROLE_SET,    // a set's draft (whoever has a file of such a name has just a file)
    SDS_ROLE_SHARDS, // the directory with the workers' drafts of a set
    SDS_ROLE_SHARD,  // a worker's draft
    SDS_ROLE_COMMIT,
    SDS_ROLE_OURS, // written by us alone
    SDS_ROLE_USERS,
};

struct sds_place {
    enum sds_role role;
    size_t parent_len; // of the path of the directory that it lies in
    size_t set_len;    // of the path of the set's draft that it lies in; 0: in none
    size_t shard_len;  // of the path of the worker's draft that it lies in; 0: in none
};

struct sds_place sds_place_of(const char *path); // relative, "" for the top

static inline bool sds_role_is_draft(enum sds_role role) {
    return role == SDS_ROLE_SET || role == SDS_ROLE_SHARD;
}

#endif
