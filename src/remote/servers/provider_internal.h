// SPDX-License-Identifier: Apache-2.0
//
// What the providers have in common when they write requests; for them only.
#ifndef SDSFS_REMOTE_PROVIDER_INTERNAL_H
#define SDSFS_REMOTE_PROVIDER_INTERNAL_H

#include "remote/http/http.h"
#include "remote/servers/provider.h"

// One provider of each kind, of which sds_provider_new completes the base.
SDS_MUST_CHECK enum sds_kind sds_s3_new(const struct sds_remote_options *options,
                                        struct sds_provider **out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_gcs_new(const struct sds_remote_options *options,
                                         struct sds_provider **out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_web_new(const struct sds_remote_options *options,
                                         struct sds_provider **out, struct sds_err *err);
// How tags of web servers begin that tell neither an entity tag nor a time.
#define SDS_TAG_OF_SIZE "~0:"
char *sds_web_origin(const struct sds_target *target); // NULL without memory

#define SDS_BUCKET_KEY_MAX 1024 // bytes of a name: S3 and GCS

// What holds of every operation. Kinds: INVALID and LIMIT (check "key"), INTERNAL.
SDS_MUST_CHECK enum sds_kind sds_operation_check(const struct sds_operation *operation,
                                                 size_t max_key, struct sds_err *err);
const char *sds_content_type(const char *key);
// The header Range of a GET; none where all of it is asked for.
SDS_MUST_CHECK enum sds_kind sds_request_range(const struct sds_operation *operation,
                                               struct sds_http_request *request);
// How writing a request ended: OK, or empties it and says in err why.
enum sds_kind sds_request_failed(enum sds_kind kind, struct sds_http_request *request,
                                 struct sds_err *err);

#endif
