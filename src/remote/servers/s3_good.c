// SPDX-License-Identifier: Apache-2.0
//
// Answers of S3 that are as asked, if they hold what they promise.
#include <string.h>

#include "remote/servers/s3.h"

// The tag without its quotes; "" when it is none that could be asked for again.
struct sds_tag sds_s3_tag(const struct sds_http_head *head) {
    struct sds_tag tag = {.etag = ""};
    const char *etag = head->etag + (head->etag[0] == '"');
    size_t len = strlen(etag);
    len -= len > 0 && etag[len - 1] == '"';
    if (len < sizeof tag.etag && !head->weak_etag) {
        memcpy(tag.etag, etag, len);
        tag.etag[len] = '\0';
    }
    return tag;
}

static struct sds_verdict judge_get(const struct sds_case *c) {
    struct sds_verdict out = sds_judge_bytes(c, false);
    out.told.tag = sds_s3_tag(&c->answer->head);
    sds_judge_tag(c, &out);
    return out;
}

// By HEAD, or by GET of the first byte.
static struct sds_verdict judge_size(const struct sds_case *c) {
    const struct sds_http_head *head = &c->answer->head;
    struct sds_operation first = *c->operation;
    first.action = SDS_GET;
    first.off = 0;
    first.len = 1;
    struct sds_case as_get = {.operation = &first, .answer = c->answer, .err = c->err};
    if (c->answer->status == 206) {
        struct sds_verdict out = judge_get(&as_get);
        out.received = 0;
        return out;
    }
    if (head->encoded) {
        return sds_judge_bytes(&as_get, false);
    }
    if (!head->has_length) {
        return sds_judge_again(c, SDS_ERR_STORAGE, "answer",
                               "the server does not say how long the object is");
    }
    struct sds_verdict out = {
        .what = SDS_DONE,
        .told = {.size_known = true,
                 .size = head->length,
                 .modified = head->has_modified ? head->modified : 0,
                 .tag = sds_s3_tag(head)},
    };
    sds_judge_tag(c, &out);
    return out;
}

struct sds_verdict sds_s3_judge_good(const struct sds_case *c) {
    switch (c->operation->action) {
    case SDS_GET:
        return judge_get(c);
    case SDS_HEAD:
        return judge_size(c);
    case SDS_CREATE:
    case SDS_SWAP:
        break;
    }
    return (struct sds_verdict){
        .what = SDS_DONE,
        .told = {.size_known = true,
                 .size = c->operation->content->size,
                 .tag = sds_s3_tag(&c->answer->head)},
    };
}
