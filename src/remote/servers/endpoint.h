// SPDX-License-Identifier: Apache-2.0
//
// Where a provider's server is, as options and environment name it. Pure.
#ifndef SDSFS_REMOTE_ENDPOINT_H
#define SDSFS_REMOTE_ENDPOINT_H

#include <stdbool.h>

#include "base/err.h"

struct sds_endpoint {
    bool tls;
    bool bucket_host; // "{bucket}." stood before the host
    char *host;       // host or host:port, as it goes into a URL; without the bucket
    char *path;       // below the host, encoded: "" or "/x"
};

// Parses http(s)://[{bucket}.]host[:port][/path]; a text without a scheme is http:// where
// bare_is_http. Kinds: INVALID, check "endpoint", in a text without user information and query;
// NO_MEMORY. *out is freed with sds_endpoint_fini.
SDS_MUST_CHECK enum sds_kind sds_endpoint_parse(const char *text, bool bare_is_http,
                                                struct sds_endpoint *out, struct sds_err *err);
void sds_endpoint_fini(struct sds_endpoint *endpoint);

// "https://host", the way in which everything there is told apart from what is elsewhere; NULL
// without memory.
char *sds_endpoint_origin(const struct sds_endpoint *endpoint);

// An option, or the first of the variables (a list that ends with NULL) that is set and not empty;
// NULL: none is.
const char *sds_setting(const char *option, const char *const *variables);

#endif
