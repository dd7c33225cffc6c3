// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "remote/credentials/document.h"
#include "remote/credentials/google.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

// Most machines that look have no such service: it is found out soon. By address, not by name: a
// name may take long to be found not to be there.
#define TRY_MS 1000
#define TRIES 2
#define USUAL_HOST "169.254.169.254"

static enum sds_kind locate(char url[SDS_URL_MAX], bool *named, struct sds_err *err) {
    const char *host = sds_env("GCE_METADATA_HOST");
    *named = host != NULL;
    int n = snprintf(url, SDS_URL_MAX,
                     "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
                     host != NULL ? host : USUAL_HOST);
    if (n < 0 || n >= SDS_URL_MAX || (host != NULL && strpbrk(host, "/?#@") != NULL)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "GCE_METADATA_HOST is no host");
    }
    return sds_url_check(url, SDS_URL_CHOSEN, err);
}

// *there: whether there is such a service and an account to have a token for. Whatever answers
// there without the header of Google's service is another one.
static enum sds_kind ask(const struct sds_finding *finding, const char *url, bool named,
                         bool *there, struct sds_credential *out, struct sds_err *err) {
    sds_autosaid struct sds_http_reply reply = {0};
    struct sds_ask question = {.method = "GET",
                               .url = url,
                               .headers = {{"metadata-flavor", "Google"}},
                               .direct = true,
                               .timeout_ms = TRY_MS,
                               .tries = TRIES};
    enum sds_kind kind = sds_ask(finding, &question, &reply, err);
    bool is_google = kind == SDS_OK && reply.head.google_metadata;
    *there = named || is_google;
    if (kind == SDS_ERR_NO_MEMORY || atomic_load(finding->stop)) {
        return kind;
    }
    if (!*there || (is_google && reply.status == 404)) {
        *there = false;
        return SDS_OK;
    }
    if (kind == SDS_OK && !is_google) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "what answers is not a metadata service of Google's");
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    return kind == SDS_OK ? sds_document_read(SDS_DOCUMENT_TOKEN, sds_said_body(&reply),
                                              finding->now, out, err)
                          : kind;
}

enum sds_kind sds_google_metadata(const struct sds_finding *finding, struct sds_found *found,
                                  struct sds_err *err) {
    const char *disabled = sds_env("NO_GCE_CHECK");
    char url[SDS_URL_MAX];
    bool named = false, there = false;
    if (disabled != NULL && strcasecmp(disabled, "true") == 0) {
        return SDS_OK;
    }
    enum sds_kind kind = locate(url, &named, err);
    if (kind == SDS_OK) {
        kind = ask(finding, url, named, &there, &found->credential, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the machine's metadata service (Google)");
    } else if (there) {
        sds_found_name(found, "the machine's service account (Google)");
    }
    return kind;
}
