// SPDX-License-Identifier: Apache-2.0
//
// S3 and what speaks like it: AWS, Ceph, MinIO. For s3*.c only.
//
// Buckets of AWS stand in the host's name; everywhere else, for names with dots, and with option
// path_style, in the path, but for an endpoint that says where: http://{bucket}.host. What answers
// teach (a bucket's region, how far our clock is off, that HEAD does not tell why it is refused) is
// kept for as long as the provider is.
#ifndef SDSFS_REMOTE_S3_H
#define SDSFS_REMOTE_S3_H

#include <pthread.h>

#include "remote/servers/endpoint.h"
#include "remote/servers/judge.h"
#include "remote/servers/provider_internal.h"

#define SDS_S3_REGION 64
#define SDS_S3_OBJECT_MAX (5ULL << 30) // bytes of one PUT

struct sds_s3_learned {
    char *bucket;
    char region[SDS_S3_REGION];
};

struct sds_s3 {
    struct sds_provider base;
    bool aws;                     // no endpoint was named
    struct sds_endpoint endpoint; // when not aws
    bool path_style, requester_pays;
    char region[SDS_S3_REGION]; // as configured

    pthread_mutex_t lock; // what was learned
    struct sds_s3_learned *learned;
    size_t learned_count;
    int64_t skew; // seconds that the server's clock is ahead of ours
    bool explain; // sizes are asked for by GET of one byte: its answer can say what is wrong
};

bool sds_s3_is_region(const char *text);

// What was learned, and learning. Without memory nothing is.
void sds_s3_region(struct sds_s3 *s3, const char *bucket, char out[SDS_S3_REGION]);
void sds_s3_learn_region(struct sds_s3 *s3, const char *bucket, const char *region);
int64_t sds_s3_skew(struct sds_s3 *s3);
void sds_s3_learn_skew(struct sds_s3 *s3, int64_t skew);
bool sds_s3_explains(struct sds_s3 *s3);
void sds_s3_learn_explain(struct sds_s3 *s3);

enum sds_kind sds_s3_prepare(struct sds_provider *provider, const struct sds_operation *operation,
                             const struct sds_credential *credential, int64_t now,
                             struct sds_http_request *out, struct sds_err *err);
struct sds_verdict sds_s3_judge(struct sds_provider *provider,
                                const struct sds_operation *operation,
                                const struct sds_http_answer *answer, int64_t now,
                                struct sds_err *err);

// s3_good.c: a status that promises what was asked for. The tag is without quotes, "" when it is
// none that could be asked for again.
struct sds_tag sds_s3_tag(const struct sds_http_head *head);
struct sds_verdict sds_s3_judge_good(const struct sds_case *c);

#endif
