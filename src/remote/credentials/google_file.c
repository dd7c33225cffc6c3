// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "remote/credentials/document.h"
#include "remote/credentials/google.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/url.h"

#define PATH_LEN 4096
#define FILE_BYTES_MAX ((size_t)128 << 10)

static const struct kind_of_file {
    const char *type, *shown;
    sds_google_exchange exchange;
} kinds_of_file[] = {
    {"service_account", "service account", sds_google_service_account},
    {"authorized_user", "user", sds_google_user},
    {"external_account", "external account", sds_google_external},
};

// *named: by the environment, so it has to be there. Path "" when there is none to look at.
static enum sds_kind locate(char path[PATH_LEN], bool *named, struct sds_err *err) {
    static const char name[] = "application_default_credentials.json";
    const char *file = sds_env("GOOGLE_APPLICATION_CREDENTIALS");
    const char *directory = sds_env("CLOUDSDK_CONFIG");
    char home[PATH_LEN];
    int n = 0;
    *named = file != NULL;
    path[0] = '\0';
    if (file != NULL) {
        n = snprintf(path, PATH_LEN, "%s", file);
    } else if (directory != NULL) {
        n = snprintf(path, PATH_LEN, "%s/%s", directory, name);
    } else if (sds_home(home, sizeof home)) {
        n = snprintf(path, PATH_LEN, "%s/.config/gcloud/%s", home, name);
    }
    return n < PATH_LEN ? SDS_OK
                        : sds_fail(err, SDS_ERR_INVALID, "credentials",
                                   "the path of application default credentials is too long");
}

static enum sds_kind read(const struct sds_finding *finding, struct sds_value file,
                          const char *path, struct sds_found *found, struct sds_err *err) {
    char type[64];
    enum sds_kind kind = sds_document_need(file, "type", type, sizeof type, err);
    for (size_t i = 0; kind == SDS_OK && i < sizeof kinds_of_file / sizeof kinds_of_file[0]; i++) {
        const struct kind_of_file *known = &kinds_of_file[i];
        if (strcmp(type, known->type) == 0) {
            kind = known->exchange(finding, file, &found->credential, err);
            if (kind == SDS_OK) {
                sds_found_name(found, "%s of %s", known->shown, SDS_QUOTE(path, strlen(path)));
            }
            return kind;
        }
    }
    return kind != SDS_OK ? kind
                          : sds_fail(err, SDS_ERR_UNSUPPORTED, "credentials",
                                     "its type %s is not one that this program knows",
                                     SDS_QUOTE(type, strlen(type)));
}

enum sds_kind sds_google_file(const struct sds_finding *finding, struct sds_found *found,
                              struct sds_err *err) {
    char path[PATH_LEN];
    bool named = false;
    sds_autosecret struct sds_buf text = {0};
    sds_autojson struct sds_json *doc = NULL;
    enum sds_kind kind = locate(path, &named, err);
    if (kind != SDS_OK || path[0] == '\0') {
        return kind;
    }
    kind = sds_secret_read(path, FILE_BYTES_MAX, &text, err);
    if (kind == SDS_ERR_NOT_FOUND && !named) {
        return SDS_OK;
    }
    if (kind != SDS_OK) {
        if (named) {
            sds_err_context(err, "GOOGLE_APPLICATION_CREDENTIALS");
        }
        return kind;
    }
    kind = sds_document_parse(sds_buf_span(&text), &doc, err);
    if (kind == SDS_OK) {
        kind = read(finding, sds_json_top(doc), path, found, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "%s", SDS_QUOTE(path, strlen(path)));
    }
    return kind;
}

enum sds_kind sds_google_post(const struct sds_finding *finding, const char *url,
                              struct sds_span form, const char *authorization,
                              struct sds_credential *out, struct sds_err *err) {
    sds_autosaid struct sds_http_reply reply = {0};
    struct sds_ask ask = {
        .method = "POST",
        .url = url,
        .headers = {{"content-type", "application/x-www-form-urlencoded"},
                    {"authorization", authorization}},
        .body = form,
    };
    enum sds_kind kind = sds_url_check(url, SDS_URL_SECURE, err);
    if (kind == SDS_OK) {
        kind = sds_ask(finding, &ask, &reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_said_well(&reply, err);
    }
    if (kind == SDS_OK) {
        kind = sds_document_read(SDS_DOCUMENT_TOKEN, sds_said_body(&reply), finding->now, out, err);
    }
    if (kind != SDS_OK) {
        sds_err_context(err, "the token endpoint");
    }
    return kind;
}
