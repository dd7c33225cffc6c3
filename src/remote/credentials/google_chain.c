// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "remote/credentials/google.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

enum sds_kind sds_google_environment(const struct sds_finding *finding, struct sds_found *found,
                                     struct sds_err *err) {
    (void)finding;
    const char *name = "CLOUDSDK_AUTH_ACCESS_TOKEN";
    const char *token = sds_env(name);
    if (token == NULL) {
        name = "GOOGLE_OAUTH_ACCESS_TOKEN";
        token = sds_env(name);
    }
    if (token == NULL) {
        return SDS_OK;
    }
    size_t len = strlen(token);
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] > 0x7e || len >= sizeof found->credential.token) {
            return sds_fail(err, SDS_ERR_INVALID, "credentials",
                            "%s in the environment is no token: too long, or with bytes that none "
                            "can have",
                            name);
        }
    }
    memcpy(found->credential.token, token, len + 1);
    sds_found_name(found, "the environment (%s)", name);
    return SDS_OK;
}

// A machine's own token is for Google only.
static bool is_elsewhere(const struct sds_remote_options *options) {
    return sds_env("STORAGE_EMULATOR_HOST") != NULL ||
           (options->endpoint != NULL && !sds_url_is_of(options->endpoint, "googleapis.com"));
}

enum sds_kind sds_find_gcs(const struct sds_finding *finding, struct sds_found *found,
                           struct sds_err *err) {
    enum sds_kind kind = sds_google_environment(finding, found, err);
    if (kind == SDS_OK && !sds_found_there(found)) {
        kind = sds_google_file(finding, found, err);
    }
    if (kind == SDS_OK && !sds_found_there(found) && !is_elsewhere(finding->options)) {
        kind = sds_google_metadata(finding, found, err);
    }
    if (kind == SDS_OK && !sds_found_there(found)) {
        found->credential.anonymous = true;
        sds_found_name(found, "nothing was found: anonymous");
    }
    return kind;
}
