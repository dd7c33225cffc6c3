// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/servers/s3.h"
#include "remote/servers/xml.h"

static bool is_any(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

// The error document of an answer; without one its texts are "".
static void read_refusal(const struct sds_case *c, struct sds_refusal *out) {
    sds_xml_child(c->answer->body, "Error", "Code", out->code, sizeof out->code);
    sds_xml_child(c->answer->body, "Error", "Message", out->message, sizeof out->message);
}

// --- regions

// Copies the region out of "bucket.s3.region.amazonaws.com" or "s3-region...".
static bool region_of_host(const char *host, char out[SDS_S3_REGION]) {
    for (const char *p = host; (p = strstr(p, "s3")) != NULL; p += 2) {
        bool begins = p == host || p[-1] == '.' || p[-1] == '/';
        const char *region = p + 3;
        size_t len = begins && (p[2] == '.' || p[2] == '-') ? strcspn(region, "./:") : 0;
        if (len > 0 && len < SDS_S3_REGION && strncmp(region + len, ".amazonaws.com", 14) == 0) {
            snprintf(out, SDS_S3_REGION, "%.*s", (int)len, region);
            return sds_s3_is_region(out);
        }
    }
    return false;
}

static bool told_region(const struct sds_case *c, char out[SDS_S3_REGION]) {
    char endpoint[300];
    snprintf(out, SDS_S3_REGION, "%s", c->answer->head.region);
    if (sds_s3_is_region(out) ||
        (sds_xml_child(c->answer->body, "Error", "Region", out, SDS_S3_REGION) &&
         sds_s3_is_region(out))) {
        return true;
    }
    return (sds_xml_child(c->answer->body, "Error", "Endpoint", endpoint, sizeof endpoint) &&
            region_of_host(endpoint, out)) ||
           region_of_host(c->answer->head.location, out);
}

// Something was learned: again, and when that leads nowhere, the error of this answer.
static struct sds_verdict now(struct sds_verdict verdict) {
    verdict.what = SDS_AGAIN_NOW;
    verdict.pause_ms = 0;
    return verdict;
}

static struct sds_verdict judge_redirect(struct sds_s3 *s3, const struct sds_case *c,
                                         const struct sds_refusal *refusal) {
    char region[SDS_S3_REGION];
    char shown[512];
    sds_root_shown(c->answer->head.location, shown, sizeof shown);
    struct sds_verdict out =
        shown[0] == '\0'
            ? sds_judge_failed(c, SDS_ERR_STORAGE, "redirect",
                               "the bucket is elsewhere (%s); option region= or endpoint= can say "
                               "where",
                               SDS_REFUSAL(c, refusal))
            : sds_judge_failed(c, SDS_ERR_STORAGE, "redirect",
                               "the server points to %s, where requests are not taken to; option "
                               "region= or endpoint= can say where the bucket is",
                               SDS_QUOTE(shown, strlen(shown)));
    if (told_region(c, region)) {
        sds_s3_learn_region(s3, c->operation->bucket, region);
        return now(out);
    }
    return out;
}

// --- who we are

static struct sds_verdict judge_credentials(const struct sds_case *c,
                                            const struct sds_refusal *refusal) {
    struct sds_verdict out =
        sds_judge_failed(c, SDS_ERR_STORAGE, "credentials", "the credentials are refused: %s",
                         SDS_REFUSAL(c, refusal));
    out.what = SDS_RENEW;
    return out;
}

static struct sds_verdict judge_clock(struct sds_s3 *s3, const struct sds_case *c, int64_t time) {
    const struct sds_http_head *head = &c->answer->head;
    struct sds_verdict out =
        sds_judge_failed(c, SDS_ERR_STORAGE, "clock",
                         "the server's clock and ours are too far apart for credentials to hold");
    if (head->has_date) {
        sds_s3_learn_skew(s3, head->date - time);
        return now(out);
    }
    return out;
}

static struct sds_verdict judge_malformed(struct sds_s3 *s3, const struct sds_case *c,
                                          const struct sds_refusal *refusal) {
    char region[SDS_S3_REGION];
    if (told_region(c, region)) {
        struct sds_verdict out = judge_credentials(c, refusal);
        sds_s3_learn_region(s3, c->operation->bucket, region);
        return now(out);
    }
    return judge_credentials(c, refusal);
}

static struct sds_verdict judge_denied(const struct sds_case *c,
                                       const struct sds_refusal *refusal) {
    struct sds_verdict out =
        sds_judge_failed(c, SDS_ERR_DENIED, "permission", "%s", SDS_REFUSAL(c, refusal));
    // A code that says so is no matter of which credentials; without one it may be.
    out.what = refusal->code[0] == '\0' ? SDS_RENEW : SDS_FAILED;
    return out;
}

// --- the rest

// What servers say that know no conditional writes.
static bool is_unconditional(const struct sds_case *c, const struct sds_refusal *refusal) {
    if (!sds_action_writes(c->operation->action)) {
        return false;
    }
    if (c->answer->status == 501 || strcmp(refusal->code, "NotImplemented") == 0) {
        return true;
    }
    char argument[64], header[64];
    sds_xml_child(c->answer->body, "Error", "ArgumentName", argument, sizeof argument);
    sds_xml_child(c->answer->body, "Error", "Header", header, sizeof header);
    bool about = strcasestr(refusal->message, "If-None-Match") != NULL ||
                 strcasestr(refusal->message, "If-Match") != NULL ||
                 strncasecmp(argument, "If-", 3) == 0 || strncasecmp(header, "If-", 3) == 0;
    return c->answer->status == 400 && about &&
           (strcmp(refusal->code, "InvalidArgument") == 0 ||
            strcmp(refusal->code, "InvalidRequest") == 0);
}

static struct sds_verdict judge_absent(const struct sds_case *c,
                                       const struct sds_refusal *refusal) {
    bool bucket = strcmp(refusal->code, "NoSuchBucket") == 0;
    if (c->operation->action == SDS_SWAP && !bucket && c->operation->tag.etag[0] != '\0') {
        return sds_judge_condition(c); // what was to be replaced is gone
    }
    return bucket ? sds_judge_no_bucket(c)
                  : sds_judge_failed(c, SDS_ERR_NOT_FOUND, "absent", "there is no such object");
}

static struct sds_verdict judge_range(const struct sds_case *c) {
    char text[24];
    uint64_t size = 0;
    bool told = sds_xml_child(c->answer->body, "Error", "ActualObjectSize", text, sizeof text) &&
                text[0] != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) < 20;
    if (told) {
        size = strtoull(text, NULL, 10);
    }
    struct sds_verdict out = sds_judge_unsatisfied(c, told ? &size : NULL);
    out.told.tag = sds_s3_tag(&c->answer->head);
    return out;
}

// Codes that say more than the status with which they come.
static bool judge_code(struct sds_s3 *s3, const struct sds_case *c,
                       const struct sds_refusal *refusal, int64_t time, struct sds_verdict *out) {
    static const char *const credentials[] = {"ExpiredToken",
                                              "ExpiredTokenException",
                                              "InvalidToken",
                                              "TokenRefreshRequired",
                                              "InvalidAccessKeyId",
                                              "SignatureDoesNotMatch",
                                              "InvalidSecurity",
                                              "InvalidClientTokenId",
                                              "UnrecognizedClientException",
                                              "XAdminUserNotFound",
                                              NULL};
    static const char *const passing[] = {"RequestTimeout",
                                          "SlowDown",
                                          "ServiceUnavailable",
                                          "InternalError",
                                          "IncompleteBody",
                                          "RequestLimitExceeded",
                                          "Throttling",
                                          "ThrottlingException",
                                          "BadDigest",
                                          "XAmzContentSHA256Mismatch",
                                          "ConditionalRequestConflict",
                                          "OperationAborted",
                                          NULL};
    const char *code = refusal->code;
    if (is_any(code, credentials)) {
        *out = judge_credentials(c, refusal);
    } else if (strcmp(code, "RequestTimeTooSkewed") == 0) {
        *out = judge_clock(s3, c, time);
    } else if (strcmp(code, "AuthorizationHeaderMalformed") == 0 ||
               strcmp(code, "IllegalLocationConstraintException") == 0) {
        *out = judge_malformed(s3, c, refusal);
    } else if (is_unconditional(c, refusal)) {
        *out = sds_judge_failed(c, SDS_ERR_UNSUPPORTED, "conditional_writes",
                                "the server has no conditional writes, without which publishing "
                                "is not safe: %s",
                                SDS_REFUSAL(c, refusal));
    } else if (is_any(code, passing)) {
        *out = sds_judge_again(c, SDS_ERR_STORAGE, "answer", "%s", SDS_REFUSAL(c, refusal));
    } else if (strcmp(code, "EntityTooLarge") == 0) {
        *out = sds_judge_failed(c, SDS_ERR_STORAGE, "size", "%s", SDS_REFUSAL(c, refusal));
    } else {
        return false;
    }
    return true;
}

static struct sds_verdict judge_status(struct sds_s3 *s3, const struct sds_case *c,
                                       const struct sds_refusal *refusal) {
    switch (c->answer->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return judge_redirect(s3, c, refusal);
    case 401:
        return judge_credentials(c, refusal);
    case 403:
        return judge_denied(c, refusal);
    case 404:
        return judge_absent(c, refusal);
    case 412:
        return sds_judge_condition(c);
    case 416:
        return judge_range(c);
    case 409:
        return sds_judge_again(c, SDS_ERR_STORAGE, "answer", "%s", SDS_REFUSAL(c, refusal));
    default:
        return sds_judge_rest(c, refusal);
    }
}

// A HEAD has no body that could say why: of these it is worth asking.
static bool is_mute(struct sds_s3 *s3, const struct sds_case *c) {
    int status = c->answer->status;
    return c->operation->action == SDS_HEAD && c->answer->body.len == 0 && !sds_s3_explains(s3) &&
           (status == 400 || status == 401 || status == 403 || status == 301 || status == 307);
}

static bool is_good(const struct sds_case *c) {
    int status = c->answer->status;
    bool writes = sds_action_writes(c->operation->action);
    return status == 200 || (writes ? status == 201 || status == 204 : status == 206);
}

struct sds_verdict sds_s3_judge(struct sds_provider *provider,
                                const struct sds_operation *operation,
                                const struct sds_http_answer *answer, int64_t time,
                                struct sds_err *err) {
    struct sds_s3 *s3 = (struct sds_s3 *)provider;
    struct sds_case c = {.operation = operation, .answer = answer, .err = err};
    struct sds_verdict out;
    if (sds_judge_transport(&c, &out)) {
        return out;
    }
    if (is_good(&c)) {
        return sds_s3_judge_good(&c);
    }
    struct sds_refusal refusal = {.code = ""};
    read_refusal(&c, &refusal);
    if (!judge_code(s3, &c, &refusal, time, &out)) {
        out = judge_status(s3, &c, &refusal);
    }
    if (out.what != SDS_AGAIN_NOW && is_mute(s3, &c)) {
        sds_s3_learn_explain(s3);
        return now(out);
    }
    return out;
}
