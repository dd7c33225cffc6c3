// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/aws.h"
#include "remote/credentials/secret.h"

// The environment of a pod that has a role (EKS): a token that is renewed in a file.
enum sds_kind sds_aws_web_identity(const struct sds_finding *finding, struct sds_found *found,
                                   struct sds_err *err) {
    const char *file = sds_env("AWS_WEB_IDENTITY_TOKEN_FILE");
    struct sds_aws_role role = {.arn = sds_env("AWS_ROLE_ARN"),
                                .session = sds_env("AWS_ROLE_SESSION_NAME")};
    if (file == NULL) {
        return SDS_OK; // a role alone names nothing that it could be taken with
    }
    sds_autoconfig struct sds_aws_config config = {0};
    enum sds_kind kind = SDS_OK;
    if (role.arn == NULL) {
        kind = sds_fail(err, SDS_ERR_INVALID, "credentials", "it is set, but AWS_ROLE_ARN is not");
    }
    if (kind == SDS_OK) {
        kind = sds_aws_config_open(finding->options->profile, &config, err);
    }
    if (kind == SDS_OK) {
        kind = sds_sts_web_identity(finding, &config, config.profile, &role, file,
                                    &found->credential, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)");
        return kind;
    }
    sds_found_name(found, "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)");
    return SDS_OK;
}
