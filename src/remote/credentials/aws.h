// SPDX-License-Identifier: Apache-2.0
//
// Where AWS's tools find keys: the shared configuration, and one function a source. For this
// directory and its tests only; threads as finding.h has it.
#ifndef SDSFS_REMOTE_CREDENTIALS_AWS_H
#define SDSFS_REMOTE_CREDENTIALS_AWS_H

#include "remote/credentials/finding.h"
#include "remote/credentials/ini.h"

// --- the shared configuration: ~/.aws/config and ~/.aws/credentials, or what the environment names

#define SDS_AWS_PATH_MAX 4096
#define SDS_AWS_TEXT_MAX 2048 // bytes of a setting, with its NUL

struct sds_aws_config {
    struct sds_ini *config, *credentials; // empty where there is no file
    char config_path[SDS_AWS_PATH_MAX], credentials_path[SDS_AWS_PATH_MAX];
    const char *profile; // the one that is asked for; borrowed from option or environment
    bool named;          // by either; else it is "default"
};
// Reads both files. profile: the option, or NULL. Kinds: INVALID (a file that is no configuration),
// DENIED, STORAGE, LIMIT, NO_MEMORY; check "credentials". Nothing is to be closed after a failure.
SDS_MUST_CHECK enum sds_kind sds_aws_config_open(const char *profile, struct sds_aws_config *out,
                                                 struct sds_err *err);
void sds_aws_config_close(struct sds_aws_config *config);
#define sds_autoconfig __attribute__((cleanup(sds_aws_config_close)))

bool sds_aws_has_profile(const struct sds_aws_config *config, const char *profile);
// A setting of a profile: of the credentials file, else of the other; "" where there is none. file
// (may be NULL) is set to the path of the file that has it. INVALID when it is too long for out,
// not printable, or goes over several lines.
SDS_MUST_CHECK enum sds_kind sds_aws_setting(const struct sds_aws_config *config,
                                             const char *profile, const char *key, char *out,
                                             size_t size, const char **file, struct sds_err *err);
// The same of [sso-session name].
SDS_MUST_CHECK enum sds_kind sds_aws_sso_setting(const struct sds_aws_config *config,
                                                 const char *session, const char *key, char *out,
                                                 size_t size, struct sds_err *err);
bool sds_aws_has_sso(const struct sds_aws_config *config, const char *session);
// The URL that is configured for a service ("sts"): by the profile's services section, else by the
// profile for all of them; "" where there is none.
SDS_MUST_CHECK enum sds_kind sds_aws_configured_endpoint(const struct sds_aws_config *config,
                                                         const char *profile, const char *service,
                                                         char *out, size_t size,
                                                         struct sds_err *err);
// The URL of a service: AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, as configured, or that of AWS
// in the region. Checked.
SDS_MUST_CHECK enum sds_kind sds_aws_endpoint(const struct sds_aws_config *config,
                                              const char *profile, const char *service,
                                              const char *host, const char *region, char *out,
                                              size_t size, struct sds_err *err);
// The region to ask STS in: of the option, the environment or the profile; "" where none names one.
SDS_MUST_CHECK enum sds_kind sds_aws_region(const struct sds_finding *finding,
                                            const struct sds_aws_config *config,
                                            const char *profile, char out[64], struct sds_err *err);

// --- sources in the order in which they are asked

enum sds_kind sds_aws_environment(const struct sds_finding *finding, struct sds_found *found,
                                  struct sds_err *err);
enum sds_kind sds_aws_web_identity(const struct sds_finding *finding, struct sds_found *found,
                                   struct sds_err *err);
enum sds_kind sds_aws_profile(const struct sds_finding *finding, struct sds_found *found,
                              struct sds_err *err);
enum sds_kind sds_aws_container(const struct sds_finding *finding, struct sds_found *found,
                                struct sds_err *err);
enum sds_kind sds_aws_instance(const struct sds_finding *finding, struct sds_found *found,
                               struct sds_err *err);

// --- what profiles are resolved with

// The account and role of a profile by the token that `aws sso login` left; nothing found where the
// profile does not name them.
enum sds_kind sds_aws_sso(const struct sds_finding *finding, const struct sds_aws_config *config,
                          const char *profile, struct sds_found *found, struct sds_err *err);

struct sds_aws_role {
    const char *arn;
    const char *session, *external_id, *duration; // "" or NULL: none
};
// STS: a role by the keys of a base, or by the token in a file.
SDS_MUST_CHECK enum sds_kind sds_sts_assume_role(const struct sds_finding *finding,
                                                 const struct sds_aws_config *config,
                                                 const char *profile,
                                                 const struct sds_aws_role *role,
                                                 const struct sds_credential *base,
                                                 struct sds_credential *out, struct sds_err *err);
SDS_MUST_CHECK enum sds_kind
sds_sts_web_identity(const struct sds_finding *finding, const struct sds_aws_config *config,
                     const char *profile, const struct sds_aws_role *role, const char *token_file,
                     struct sds_credential *out, struct sds_err *err);

#endif
