// SPDX-License-Identifier: Apache-2.0
//
// Signature version 4 of AWS: what goes into the header Authorization. Pure.
#ifndef SDSFS_REMOTE_SIGV4_H
#define SDSFS_REMOTE_SIGV4_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct sds_sigv4_key {
    const char *id, *secret;
    const char *region, *service; // "s3", "sts"
};

struct sds_sigv4_header {
    const char *name; // lower case
    const char *value;
};

// The request as it is sent. Everything is encoded already; the query's parameters are sorted. All
// headers that are given are signed, in whatever order they come; "host" and "x-amz-date" must be
// among them, a session's token too.
struct sds_sigv4_request {
    const char *method;
    const char *path;    // "/" at least
    const char *query;   // without "?"; "" none
    const char *payload; // SHA-256 of the body in hex, or "UNSIGNED-PAYLOAD"
    const struct sds_sigv4_header *headers;
    size_t header_count; // at most SDS_SIGV4_HEADERS_MAX
};
#define SDS_SIGV4_HEADERS_MAX 24

#define SDS_SIGV4_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// "20130524T000000Z" of seconds since the epoch: the value of x-amz-date.
void sds_sigv4_date(int64_t now, char out[17]);

// Appends the value of Authorization. date as above, the same as in x-amz-date. Kinds: LIMIT,
// NO_MEMORY of out; INTERNAL (too many headers).
SDS_MUST_CHECK enum sds_kind sds_sigv4_authorize(const struct sds_sigv4_key *key,
                                                 const struct sds_sigv4_request *request,
                                                 const char date[17], struct sds_buf *out);

#endif
