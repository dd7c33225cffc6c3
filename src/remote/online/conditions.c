// SPDX-License-Identifier: Apache-2.0
//
// Servers that take a condition for noise answer as if it held, and two publishers lose each
// other's work. So before anything is built on conditions they are tried, on the first object that
// was created: the same bytes once more under its name, which is taken, and in place of a version
// that it never had. A server that takes either has ignored the condition, and nothing was harmed.
// It is asked twice before it is believed to be such a server, which it is for as long as the store
// is open.
#include <string.h>

#include "remote/online/remote_internal.h"

#define NO_ETAG "00000000000000000000000000000000"
#define GOOGLE "https://storage.googleapis.com"

enum { UNKNOWN, HONOURED, IGNORED };

static enum sds_kind refused(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes",
                    "the server writes an object although the condition for it does not hold, so "
                    "nobody can publish safely there");
}

enum sds_kind sds_conditions_known(struct sds_remote *remote, struct sds_err *err) {
    return remote->conditions == IGNORED ? refused(err) : SDS_OK;
}

// OK when the server refuses, as it has to.
static enum sds_kind try_it(struct sds_remote *remote, const struct sds_operation *what,
                            struct sds_err *err) {
    struct sds_outcome outcome = {.err = {.kind = SDS_OK}};
    for (int i = 0; i < 2 && outcome.err.kind == SDS_OK; i++) {
        sds_operation_run(&remote->operations, what, NULL, &outcome);
    }
    if (outcome.err.kind == SDS_ERR_CONFLICT) {
        return SDS_OK;
    }
    if (outcome.err.kind == SDS_OK) {
        remote->conditions = IGNORED;
        return refused(err);
    }
    if (err != NULL) {
        *err = outcome.err;
    }
    return outcome.err.kind;
}

enum sds_kind sds_conditions_check(struct sds_remote *remote, const struct sds_operation *created,
                                   struct sds_err *err) {
    const struct sds_provider *provider = remote->operations.provider;
    if (remote->conditions != UNKNOWN || strcmp(provider->origin, GOOGLE) == 0) {
        return SDS_OK;
    }
    struct sds_operation again = *created, swap = *created;
    swap.action = SDS_SWAP;
    strcpy(swap.tag.etag, provider->target.scheme == SDS_SCHEME_GCS ? "1" : NO_ETAG);
    enum sds_kind kind = try_it(remote, &again, err);
    if (kind == SDS_OK) {
        kind = try_it(remote, &swap, err);
    }
    if (kind == SDS_OK) {
        remote->conditions = HONOURED;
    }
    return kind;
}
