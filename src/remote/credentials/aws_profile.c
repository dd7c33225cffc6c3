// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <strings.h>

#include "remote/credentials/aws.h"
#include "remote/credentials/document.h"
#include "remote/credentials/process.h"
#include "remote/credentials/secret.h"

#define CHAIN_MAX 5 // profiles that take their roles by one another
#define PROCESS_BYTES_MAX ((size_t)64 << 10)

struct resolver {
    const struct sds_finding *finding;
    const struct sds_aws_config *config;
    const char *chain[CHAIN_MAX]; // the profiles on the way, the one asked for first
    size_t depth;
};

static enum sds_kind resolve(struct resolver *r, const char *profile, struct sds_found *found,
                             struct sds_err *err);

static enum sds_kind setting(struct resolver *r, const char *profile, const char *key,
                             char out[SDS_AWS_TEXT_MAX], struct sds_err *err) {
    return sds_aws_setting(r->config, profile, key, out, SDS_AWS_TEXT_MAX, NULL, err);
}

// --- keys that stand in the file

static enum sds_kind static_keys(struct resolver *r, const char *profile, struct sds_found *found,
                                 struct sds_err *err) {
    char id[512], secret[512], token[8192];
    const char *file = NULL;
    enum sds_kind kind =
        sds_aws_setting(r->config, profile, "aws_access_key_id", id, sizeof id, &file, err);
    if (kind == SDS_OK) {
        kind = sds_aws_setting(r->config, profile, "aws_secret_access_key", secret, sizeof secret,
                               NULL, err);
    }
    if (kind == SDS_OK) {
        kind = sds_aws_setting(r->config, profile, "aws_session_token", token, sizeof token, NULL,
                               err);
    }
    if (kind == SDS_OK && (id[0] != '\0' || secret[0] != '\0')) {
        kind = sds_document_keys(sds_span_str(id), sds_span_str(secret), sds_span_str(token),
                                 &found->credential, err);
        if (kind == SDS_OK) {
            sds_found_name(found, "profile %s of %s", SDS_QUOTE(profile, strlen(profile)),
                           SDS_QUOTE(file, strlen(file)));
        }
    }
    OPENSSL_cleanse(secret, sizeof secret);
    OPENSSL_cleanse(token, sizeof token);
    return kind;
}

// --- a program

static enum sds_kind by_process(struct resolver *r, const char *profile, struct sds_found *found,
                                struct sds_err *err) {
    char command[SDS_AWS_TEXT_MAX];
    sds_autosecret struct sds_buf printed = {0};
    enum sds_kind kind = setting(r, profile, "credential_process", command, err);
    if (kind != SDS_OK || command[0] == '\0') {
        return kind;
    }
    kind = sds_process_run(r->finding, command, PROCESS_BYTES_MAX, &printed, err);
    if (kind == SDS_OK) {
        kind = sds_document_read(SDS_DOCUMENT_PROCESS, sds_buf_span(&printed), r->finding->now,
                                 &found->credential, err);
    }
    OPENSSL_cleanse(command, sizeof command);
    if (kind != SDS_OK) {
        sds_err_context(err, "its credential_process");
        return kind;
    }
    sds_found_name(found, "credential_process of profile %s", SDS_QUOTE(profile, strlen(profile)));
    return SDS_OK;
}

// --- roles

struct role {
    char arn[SDS_AWS_TEXT_MAX], session[SDS_AWS_TEXT_MAX], external_id[SDS_AWS_TEXT_MAX],
        duration[SDS_AWS_TEXT_MAX];
};

static enum sds_kind read_role(struct resolver *r, const char *profile, struct role *out,
                               struct sds_err *err) {
    char mfa[SDS_AWS_TEXT_MAX];
    enum sds_kind kind = setting(r, profile, "role_session_name", out->session, err);
    if (kind == SDS_OK) {
        kind = setting(r, profile, "external_id", out->external_id, err);
    }
    if (kind == SDS_OK) {
        kind = setting(r, profile, "duration_seconds", out->duration, err);
    }
    if (kind == SDS_OK) {
        kind = setting(r, profile, "mfa_serial", mfa, err);
    }
    if (kind == SDS_OK && mfa[0] != '\0') {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "credentials",
                        "its role needs a code of a second factor (mfa_serial), for which nobody "
                        "can be asked here");
    }
    return kind;
}

static enum sds_kind source_of(const char *name, sds_source *out, struct sds_err *err) {
    static const struct {
        const char *name;
        sds_source source;
    } sources[] = {
        {"Environment", sds_aws_environment},
        {"EcsContainer", sds_aws_container},
        {"Ec2InstanceMetadata", sds_aws_instance},
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        if (strcasecmp(name, sources[i].name) == 0) {
            *out = sources[i].source;
            return SDS_OK;
        }
    }
    return sds_fail(err, SDS_ERR_INVALID, "credentials", "its credential_source %s is none",
                    SDS_QUOTE(name, strlen(name)));
}

// Who asks for the role: another profile, this one's own keys, or a source.
static enum sds_kind base_of(struct resolver *r, const char *profile, struct sds_found *base,
                             struct sds_err *err) {
    char name[SDS_AWS_TEXT_MAX];
    sds_source source = NULL;
    enum sds_kind kind = setting(r, profile, "source_profile", name, err);
    if (kind == SDS_OK && name[0] != '\0') {
        return strcmp(name, profile) == 0 ? static_keys(r, profile, base, err)
                                          : resolve(r, name, base, err);
    }
    if (kind == SDS_OK) {
        kind = setting(r, profile, "credential_source", name, err);
    }
    if (kind == SDS_OK && name[0] == '\0') {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "it has role_arn, but neither source_profile nor credential_source nor "
                        "web_identity_token_file");
    }
    if (kind == SDS_OK) {
        kind = source_of(name, &source, err);
    }
    return kind == SDS_OK ? source(r->finding, base, err) : kind;
}

static enum sds_kind assume(struct resolver *r, const char *profile,
                            const struct sds_aws_role *role, struct sds_found *found,
                            struct sds_err *err) {
    struct sds_found base = {0};
    enum sds_kind kind = base_of(r, profile, &base, err);
    if (kind == SDS_OK && !sds_found_there(&base)) {
        kind = sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "what it would take its role with has no keys");
    }
    if (kind == SDS_OK) {
        kind = sds_sts_assume_role(r->finding, r->config, profile, role, &base.credential,
                                   &found->credential, err);
    }
    sds_found_wipe(&base);
    return kind;
}

static enum sds_kind by_role(struct resolver *r, const char *profile, struct sds_found *found,
                             struct sds_err *err) {
    struct role text;
    char token_file[SDS_AWS_TEXT_MAX];
    enum sds_kind kind = setting(r, profile, "role_arn", text.arn, err);
    if (kind != SDS_OK || text.arn[0] == '\0') {
        return kind;
    }
    kind = read_role(r, profile, &text, err);
    if (kind == SDS_OK) {
        kind = setting(r, profile, "web_identity_token_file", token_file, err);
    }
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_aws_role role = {text.arn, text.session, text.external_id, text.duration};
    if (token_file[0] != '\0') {
        kind = sds_sts_web_identity(r->finding, r->config, profile, &role, token_file,
                                    &found->credential, err);
    } else {
        kind = assume(r, profile, &role, found, err);
    }
    if (kind == SDS_OK) {
        sds_found_name(found, "%s of profile %s", token_file[0] != '\0' ? "web identity" : "role",
                       SDS_QUOTE(profile, strlen(profile)));
    }
    return kind;
}

// --- a profile

static enum sds_kind by_sso(struct resolver *r, const char *profile, struct sds_found *found,
                            struct sds_err *err) {
    return sds_aws_sso(r->finding, r->config, profile, found, err);
}

static enum sds_kind enter(struct resolver *r, const char *profile, struct sds_err *err) {
    const char *quoted = SDS_QUOTE(profile, strlen(profile));
    if (!sds_aws_has_profile(r->config, profile)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "it is not in %s nor in %s",
                        SDS_QUOTE(r->config->credentials_path, strlen(r->config->credentials_path)),
                        SDS_QUOTE(r->config->config_path, strlen(r->config->config_path)));
    }
    for (size_t i = 0; i < r->depth; i++) {
        if (strcmp(r->chain[i], profile) == 0) {
            return sds_fail(err, SDS_ERR_INVALID, "credentials",
                            "the source_profile of %s comes back to it", quoted);
        }
    }
    if (r->depth == CHAIN_MAX) {
        return sds_fail(err, SDS_ERR_LIMIT, "credentials",
                        "more than %d profiles take their roles by one another", CHAIN_MAX);
    }
    r->chain[r->depth++] = profile;
    return SDS_OK;
}

static enum sds_kind resolve(struct resolver *r, const char *profile, struct sds_found *found,
                             struct sds_err *err) {
    static enum sds_kind (*const ways[])(struct resolver *, const char *, struct sds_found *,
                                         struct sds_err *) = {by_role, by_sso, static_keys,
                                                              by_process};
    enum sds_kind kind = enter(r, profile, err);
    for (size_t i = 0; kind == SDS_OK && !sds_found_there(found) && i < 4; i++) {
        kind = ways[i](r, profile, found, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "profile %s", SDS_QUOTE(profile, strlen(profile)));
    }
    return kind;
}

enum sds_kind sds_aws_profile(const struct sds_finding *finding, struct sds_found *found,
                              struct sds_err *err) {
    sds_autoconfig struct sds_aws_config config = {0};
    enum sds_kind kind = sds_aws_config_open(finding->options->profile, &config, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (!config.named && !sds_aws_has_profile(&config, config.profile)) {
        return SDS_OK;
    }
    struct resolver r = {.finding = finding, .config = &config};
    return resolve(&r, config.profile, found, err);
}
