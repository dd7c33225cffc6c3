// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "remote/credentials/aws.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

// --- the files

static enum sds_kind locate(const char *variable, const char *usual, char *path,
                            struct sds_err *err) {
    const char *named = sds_env(variable);
    path[0] = '\0';
    if (!sds_home_path(named != NULL ? named : usual, path, SDS_AWS_PATH_MAX) && named != NULL) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "%s names no path", variable);
    }
    return SDS_OK;
}

// A file that is not there is an empty one, as for AWS's own tools.
static enum sds_kind load(const char *path, struct sds_ini **out, struct sds_err *err) {
    sds_autosecret struct sds_buf text = {0};
    struct sds_err inner;
    enum sds_kind kind =
        path[0] == '\0' ? SDS_ERR_NOT_FOUND : sds_secret_read(path, SDS_INI_BYTES_MAX, &text, err);
    if (kind != SDS_OK && kind != SDS_ERR_NOT_FOUND) {
        return kind;
    }
    kind = sds_ini_parse(kind == SDS_OK ? sds_buf_span(&text) : sds_span("", 0), out, &inner);
    return kind == SDS_OK ? SDS_OK
                          : sds_fail(err, kind, "credentials", "%s: %s",
                                     SDS_QUOTE(path, strlen(path)), inner.message);
}

enum sds_kind sds_aws_config_open(const char *profile, struct sds_aws_config *out,
                                  struct sds_err *err) {
    *out = (struct sds_aws_config){.profile = profile};
    if (profile == NULL) {
        out->profile = sds_env("AWS_PROFILE");
    }
    if (out->profile == NULL) {
        out->profile = sds_env("AWS_DEFAULT_PROFILE");
    }
    out->named = out->profile != NULL;
    if (!out->named) {
        out->profile = "default";
    }
    enum sds_kind kind = locate("AWS_CONFIG_FILE", "~/.aws/config", out->config_path, err);
    if (kind == SDS_OK) {
        kind =
            locate("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", out->credentials_path, err);
    }
    if (kind == SDS_OK) {
        kind = load(out->config_path, &out->config, err);
    }
    if (kind == SDS_OK) {
        kind = load(out->credentials_path, &out->credentials, err);
    }
    if (kind != SDS_OK) {
        sds_aws_config_close(out);
    }
    return kind;
}

void sds_aws_config_close(struct sds_aws_config *config) {
    sds_ini_free(config->config);
    sds_ini_free(config->credentials);
    *config = (struct sds_aws_config){0};
}

// --- settings

static struct sds_ini_section of_profile(const char *profile) {
    return (struct sds_ini_section){"profile", profile};
}

static struct sds_ini_section plain(const char *name) {
    return (struct sds_ini_section){NULL, name};
}

static bool is_default(const char *profile) {
    return strcmp(profile, "default") == 0;
}

bool sds_aws_has_profile(const struct sds_aws_config *config, const char *profile) {
    return sds_ini_has(config->credentials, plain(profile)) ||
           sds_ini_has(config->config, of_profile(profile)) ||
           (is_default(profile) && sds_ini_has(config->config, plain(profile)));
}

static enum sds_kind take(enum sds_ini_answer answer, struct sds_span value, const char *what,
                          const char *key, char *out, size_t size, struct sds_err *err) {
    out[0] = '\0';
    if (answer == SDS_INI_ABSENT) {
        return SDS_OK;
    }
    bool usable = answer == SDS_INI_FOUND && value.len < size;
    for (size_t i = 0; usable && i < value.len; i++) {
        usable = value.at[i] >= 0x20 && value.at[i] != 0x7f;
    }
    if (!usable) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "\"%s\" of %s is too long, or goes over several lines", key,
                        SDS_QUOTE(what, strlen(what)));
    }
    if (value.len > 0) {
        memcpy(out, value.at, value.len);
    }
    out[value.len] = '\0';
    return SDS_OK;
}

enum sds_kind sds_aws_setting(const struct sds_aws_config *config, const char *profile,
                              const char *key, char *out, size_t size, const char **file,
                              struct sds_err *err) {
    struct sds_span value = {0};
    const char *path = config->credentials_path;
    enum sds_ini_answer answer =
        sds_ini_get(config->credentials, plain(profile), key, NULL, &value);
    if (answer == SDS_INI_ABSENT) {
        path = config->config_path;
        answer = sds_ini_get(config->config, of_profile(profile), key, NULL, &value);
    }
    if (answer == SDS_INI_ABSENT && is_default(profile)) {
        answer = sds_ini_get(config->config, plain(profile), key, NULL, &value);
    }
    if (file != NULL) {
        *file = path;
    }
    return take(answer, value, profile, key, out, size, err);
}

bool sds_aws_has_sso(const struct sds_aws_config *config, const char *session) {
    return sds_ini_has(config->config, (struct sds_ini_section){"sso-session", session});
}

enum sds_kind sds_aws_sso_setting(const struct sds_aws_config *config, const char *session,
                                  const char *key, char *out, size_t size, struct sds_err *err) {
    struct sds_span value = {0};
    enum sds_ini_answer answer = sds_ini_get(
        config->config, (struct sds_ini_section){"sso-session", session}, key, NULL, &value);
    return take(answer, value, session, key, out, size, err);
}

// --- endpoints and regions

static bool endpoints_are_ignored(void) {
    const char *ignore = sds_env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    return ignore != NULL && strcasecmp(ignore, "true") == 0;
}

enum sds_kind sds_aws_configured_endpoint(const struct sds_aws_config *config, const char *profile,
                                          const char *service, char *out, size_t size,
                                          struct sds_err *err) {
    char services[256];
    out[0] = '\0';
    if (endpoints_are_ignored()) {
        return SDS_OK;
    }
    enum sds_kind kind =
        sds_aws_setting(config, profile, "services", services, sizeof services, NULL, err);
    if (kind == SDS_OK && services[0] != '\0') {
        struct sds_span value = {0};
        struct sds_ini_section section = {"services", services};
        enum sds_ini_answer answer =
            sds_ini_get(config->config, section, service, "endpoint_url", &value);
        kind = take(answer, value, services, "endpoint_url", out, size, err);
    }
    if (kind == SDS_OK && out[0] == '\0') {
        kind = sds_aws_setting(config, profile, "endpoint_url", out, size, NULL, err);
    }
    return kind;
}

static bool copy(char *out, size_t size, const char *text) {
    int n = snprintf(out, size, "%s", text);
    return n >= 0 && (size_t)n < size;
}

enum sds_kind sds_aws_endpoint(const struct sds_aws_config *config, const char *profile,
                               const char *service, const char *host, const char *region, char *out,
                               size_t size, struct sds_err *err) {
    char variable[64] = "AWS_ENDPOINT_URL_";
    for (size_t i = 0, n = strlen(variable); service[i] != '\0' && n + i + 1 < sizeof variable;
         i++) {
        variable[n + i] =
            (char)(service[i] >= 'a' && service[i] <= 'z' ? service[i] - 'a' + 'A' : service[i]);
    }
    const char *named = endpoints_are_ignored() ? NULL : sds_env(variable);
    if (named == NULL && !endpoints_are_ignored()) {
        named = sds_env("AWS_ENDPOINT_URL");
    }
    if (named != NULL) {
        if (!copy(out, size, named)) {
            return sds_fail(err, SDS_ERR_INVALID, "credentials", "the URL of %s is too long",
                            service);
        }
        return sds_url_check(out, SDS_URL_CHOSEN, err);
    }
    enum sds_kind kind = sds_aws_configured_endpoint(config, profile, service, out, size, err);
    if (kind != SDS_OK || out[0] != '\0') {
        return kind != SDS_OK ? kind : sds_url_check(out, SDS_URL_CHOSEN, err);
    }
    const char *domain = strncmp(region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";
    int n = region[0] != '\0' ? snprintf(out, size, "https://%s.%s.%s", host, region, domain)
                              : snprintf(out, size, "https://%s.%s", host, domain);
    if (n < 0 || (size_t)n >= size) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "the URL of %s is too long", service);
    }
    return SDS_OK;
}

static bool is_region(const char *text) {
    return strlen(text) < 64 &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] ==
               '\0';
}

enum sds_kind sds_aws_region(const struct sds_finding *finding, const struct sds_aws_config *config,
                             const char *profile, char out[64], struct sds_err *err) {
    const char *named = finding->options->region;
    named = named != NULL ? named : sds_env("AWS_REGION");
    named = named != NULL ? named : sds_env("AWS_DEFAULT_REGION");
    enum sds_kind kind = SDS_OK;
    if (named == NULL) {
        kind = sds_aws_setting(config, profile, "region", out, 64, NULL, err);
    } else if (!copy(out, 64, named)) {
        out[0] = ' ';
        out[1] = '\0';
    }
    if (kind == SDS_OK && !is_region(out)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "the region that is configured is no name of one");
    }
    return kind;
}

enum sds_kind sds_aws_settings_read(const char *profile, struct sds_aws_settings *out,
                                    struct sds_err *err) {
    sds_autoconfig struct sds_aws_config config = {0};
    *out = (struct sds_aws_settings){0};
    enum sds_kind kind = sds_aws_config_open(profile, &config, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (config.named && !sds_aws_has_profile(&config, config.profile)) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "there is no profile %s in the shared configuration",
                        SDS_QUOTE(config.profile, strlen(config.profile)));
    }
    kind = sds_aws_setting(&config, config.profile, "region", out->region, sizeof out->region, NULL,
                           err);
    if (kind == SDS_OK && !is_region(out->region)) {
        kind = sds_fail(err, SDS_ERR_INVALID, "credentials", "the region of profile %s is no name",
                        SDS_QUOTE(config.profile, strlen(config.profile)));
    }
    if (kind == SDS_OK) {
        kind = sds_aws_configured_endpoint(&config, config.profile, "s3", out->endpoint_url,
                                           sizeof out->endpoint_url, err);
    }
    return kind;
}
