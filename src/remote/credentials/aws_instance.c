// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "remote/credentials/aws.h"
#include "remote/credentials/document.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

// Most machines that look have no such service: it is found out soon.
#define TRY_MS 1000
#define TRIES 2

#define ROLES "latest/meta-data/iam/security-credentials/"
#define TOKEN_MAX 1024
#define ROLE_MAX 256

struct service {
    char base[SDS_URL_MAX];
    bool named; // by the user: then it has to answer
    char token[TOKEN_MAX];
};

static enum sds_kind locate(struct service *out, struct sds_err *err) {
    const char *named = sds_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = sds_env("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    bool v6 = mode != NULL && strcasecmp(mode, "IPv6") == 0;
    out->named = named != NULL;
    const char *base = named != NULL ? named
                       : v6          ? "http://[fd00:ec2::254]"
                                     : "http://169.254.169.254";
    int n = snprintf(out->base, sizeof out->base, "%s", base);
    if (n < 0 || (size_t)n >= sizeof out->base) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "its URL is too long");
    }
    return sds_url_check(out->base, SDS_URL_CHOSEN, err);
}

static enum sds_kind ask(const struct sds_finding *finding, const struct service *service,
                         const char *method, const char *path, struct sds_http_reply *out,
                         struct sds_err *err) {
    char url[SDS_URL_MAX + ROLE_MAX];
    bool first = strcmp(method, "PUT") == 0;
    struct sds_ask question = {
        .method = method,
        .url = url,
        .headers = {{"x-aws-ec2-metadata-token-ttl-seconds", first ? "21600" : NULL},
                    {"x-aws-ec2-metadata-token", first ? NULL : service->token}},
        .direct = true,
        .timeout_ms = TRY_MS,
        .tries = TRIES,
    };
    if (!sds_url_join(service->base, path, url, sizeof url)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "its URL is too long");
    }
    return sds_ask(finding, &question, out, err);
}

// One word of what came: a token, the name of a role.
static enum sds_kind take(const struct sds_http_reply *reply, const char *what, char *out,
                          size_t size, struct sds_err *err) {
    struct sds_span body = sds_said_body(reply);
    size_t len = 0;
    while (len < body.len && body.at[len] > 0x20 && body.at[len] < 0x7f) {
        len++;
    }
    if (len == 0 || len >= size || (len < body.len && memchr("\r\n", body.at[len], 2) == NULL)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "it answers with no %s", what);
    }
    memcpy(out, body.at, len);
    out[len] = '\0';
    return SDS_OK;
}

// *there: whether there is such a service at all, and one that gives out tokens.
static enum sds_kind begin(const struct sds_finding *finding, struct service *service, bool *there,
                           struct sds_err *err) {
    sds_autosaid struct sds_http_reply reply = {0};
    enum sds_kind kind = ask(finding, service, "PUT", "latest/api/token", &reply, err);
    *there = service->named || (kind == SDS_OK && reply.status == 200);
    if (!*there && (kind == SDS_OK || kind == SDS_ERR_STORAGE || kind == SDS_ERR_TIMEOUT) &&
        !atomic_load(finding->stop)) {
        return SDS_OK;
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    return kind == SDS_OK ? take(&reply, "token", service->token, sizeof service->token, err)
                          : kind;
}

// *there: whether the machine has a role.
static enum sds_kind name_role(const struct sds_finding *finding, const struct service *service,
                               char role[ROLE_MAX], bool *there, struct sds_err *err) {
    sds_autosaid struct sds_http_reply reply = {0};
    enum sds_kind kind = ask(finding, service, "GET", ROLES, &reply, err);
    *there = kind != SDS_OK || reply.status != 404;
    if (!*there) {
        return SDS_OK;
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    if (kind == SDS_OK) {
        kind = take(&reply, "role", role, ROLE_MAX, err);
    }
    if (kind == SDS_OK && strpbrk(role, "/?#%\\") != NULL) {
        kind = sds_fail(err, SDS_ERR_INVALID, "credentials", "it answers with no role");
    }
    return kind;
}

static enum sds_kind take_role(const struct sds_finding *finding, const struct service *service,
                               const char *role, struct sds_credential *out, struct sds_err *err) {
    sds_autosaid struct sds_http_reply reply = {0};
    char path[sizeof ROLES + ROLE_MAX];
    snprintf(path, sizeof path, "%s%s", ROLES, role);
    enum sds_kind kind = ask(finding, service, "GET", path, &reply, err);
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    return kind == SDS_OK ? sds_document_read(SDS_DOCUMENT_METADATA, sds_said_body(&reply),
                                              finding->now, out, err)
                          : kind;
}

static enum sds_kind find(const struct sds_finding *finding, struct service *service,
                          struct sds_found *found, struct sds_err *err) {
    char role[ROLE_MAX];
    bool there = false;
    enum sds_kind kind = locate(service, err);
    if (kind == SDS_OK) {
        kind = begin(finding, service, &there, err);
    }
    if (kind == SDS_OK && there) {
        kind = name_role(finding, service, role, &there, err);
    }
    if (kind == SDS_OK && there) {
        kind = take_role(finding, service, role, &found->credential, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the machine's metadata service (EC2)");
    } else if (there) {
        sds_found_name(found, "the machine's role %s (EC2)", SDS_QUOTE(role, strlen(role)));
    }
    return kind;
}

enum sds_kind sds_aws_instance(const struct sds_finding *finding, struct sds_found *found,
                               struct sds_err *err) {
    const char *disabled = sds_env("AWS_EC2_METADATA_DISABLED");
    struct service service = {0};
    if (disabled != NULL && strcasecmp(disabled, "true") == 0) {
        return SDS_OK;
    }
    enum sds_kind kind = find(finding, &service, found, err);
    OPENSSL_cleanse(service.token, sizeof service.token);
    return kind;
}
