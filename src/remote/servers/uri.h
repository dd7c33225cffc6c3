// SPDX-License-Identifier: Apache-2.0
//
// Roots and references on servers: taken apart, and written in URLs. Texts only; any thread.
#ifndef SDSFS_REMOTE_URI_H
#define SDSFS_REMOTE_URI_H

#include "base/buf.h"
#include "base/err.h"
#include "remote/root_shown.h"

enum sds_scheme { SDS_SCHEME_S3, SDS_SCHEME_GCS, SDS_SCHEME_HTTP, SDS_SCHEME_HTTPS };

// What a URI names: s3://bucket/key, gs://bucket/key, http(s)://bucket/key, where the bucket of the
// web is the authority: host or host:port, an IPv6 host in brackets.
struct sds_target {
    enum sds_scheme scheme;
    char *bucket;
    char *key; // not encoded; may be empty. As a server of that kind names the object
};

// Takes a URI apart. Buckets' keys are everything behind the bucket but leading slashes, query and
// fragment, without tab, CR and LF, as the reference's URL split has it; on the web the path behind
// its first slash, percent-decoded. Kinds: INVALID, check "root", with a reason that repeats
// neither user information nor a query; NO_MEMORY. *out is freed with sds_target_fini.
SDS_MUST_CHECK enum sds_kind sds_target_parse(const char *uri, struct sds_target *out,
                                              struct sds_err *err);
// The same for what a person typed, where a tab, CR or LF is an error that is told, not dropped.
SDS_MUST_CHECK enum sds_kind sds_target_parse_typed(const char *uri, struct sds_target *out,
                                                    struct sds_err *err);
void sds_target_fini(struct sds_target *target);

const char *sds_scheme_name(enum sds_scheme scheme); // "s3", "gs", "http", "https"

// prefix and path with one slash between, or path alone where the prefix is empty. NULL without
// memory; freed by the caller.
char *sds_key_join(const char *prefix, const char *path);

// Appends text percent-encoded: letters, digits, "-._~" and the bytes of also stay.
SDS_MUST_CHECK enum sds_kind sds_percent_encode(struct sds_buf *out, const char *text,
                                                const char *also);

#endif
