// SPDX-License-Identifier: Apache-2.0
//
// Google Cloud Storage by its JSON API. For gcs*.c only.
//
// Uploads are multipart: one request with the object's name, its checksum and its bytes, of which
// servers that stand in for Google's honour the condition. Above 8 MiB Google is given them
// resumably: the condition and the name first, for which it names a session, then the bytes, and
// after a failure only those that it does not have. That is done elsewhere too, when a multipart
// upload is refused as too large.
#ifndef SDSFS_REMOTE_GCS_H
#define SDSFS_REMOTE_GCS_H

#include <stdatomic.h>

#include "remote/servers/endpoint.h"
#include "remote/servers/judge.h"
#include "remote/servers/provider_internal.h"

#define SDS_GCS_MULTIPART_MAX (8ULL << 20) // of Google's own
#define SDS_GCS_OBJECT_MAX (5ULL << 40)
#define SDS_GCS_STAND_IN_MAX (5ULL << 30) // of what others are given in one request

struct sds_gcs {
    struct sds_provider base;
    bool google; // no stand-in
    struct sds_endpoint endpoint;
    char *pays; // the project that is billed for requests; NULL: the bucket's
};

enum sds_kind sds_gcs_prepare(struct sds_provider *provider, const struct sds_operation *operation,
                              const struct sds_credential *credential, int64_t now,
                              struct sds_http_request *out, struct sds_err *err);
struct sds_verdict sds_gcs_judge(struct sds_provider *provider,
                                 const struct sds_operation *operation,
                                 const struct sds_http_answer *answer, int64_t now,
                                 struct sds_err *err);

// gcs_metadata.c: what the description of an object says, in JSON. False: it is none, or of another
// object than asked for.
bool sds_gcs_read_metadata(struct sds_span body, const char *key, struct sds_told *out);
// What an error document says. reason: the code of its first error.
void sds_gcs_read_refusal(struct sds_span body, struct sds_refusal *out);
// A description to go with an upload, freed by the caller. Kinds: INVALID (the name is no UTF-8),
// NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_gcs_metadata(const struct sds_operation *operation, char **out);

// gcs_upload.c: the requests of writing, and their answers.
SDS_MUST_CHECK enum sds_kind sds_gcs_upload(struct sds_gcs *gcs,
                                            const struct sds_operation *operation,
                                            struct sds_http_request *out);
// Answers that only uploads have; false: it is none of these.
bool sds_gcs_judge_upload(struct sds_gcs *gcs, const struct sds_case *c, struct sds_verdict *out);

#endif
