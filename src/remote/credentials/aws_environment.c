// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/aws.h"
#include "remote/credentials/document.h"
#include "remote/credentials/secret.h"

enum sds_kind sds_aws_environment(const struct sds_finding *finding, struct sds_found *found,
                                  struct sds_err *err) {
    (void)finding;
    const char *id = sds_env("AWS_ACCESS_KEY_ID");
    const char *secret = sds_env("AWS_SECRET_ACCESS_KEY");
    const char *token = sds_env("AWS_SESSION_TOKEN");
    if (id == NULL && secret == NULL) {
        return SDS_OK;
    }
    if (id == NULL || secret == NULL) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "the environment has %s, but no %s",
                        id != NULL ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                        id != NULL ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    }
    token = token != NULL ? token : sds_env("AWS_SECURITY_TOKEN");
    enum sds_kind kind =
        sds_document_keys(sds_span_str(id), sds_span_str(secret),
                          sds_span_str(token != NULL ? token : ""), &found->credential, err);
    if (kind != SDS_OK) {
        sds_err_context(err, "the environment (AWS_ACCESS_KEY_ID)");
        return kind;
    }
    sds_found_name(found, "the environment (AWS_ACCESS_KEY_ID)");
    return SDS_OK;
}
