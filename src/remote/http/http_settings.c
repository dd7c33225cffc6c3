// SPDX-License-Identifier: Apache-2.0
//
// How the pool talks to every server: whom it trusts, how patient it is, and what of HTTP it
// leaves alone.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "remote/http/http_internal.h"

#define CONNECT_TIMEOUT_MS 5000
#define STALL_TIMEOUT_MS 10000
#define MAX_CONNECTIONS 64
#define BUFFER (256L << 10)

static enum sds_kind copy_path(const char *path, const char *check, const char *from, char **out,
                               struct sds_err *err) {
    if (path == NULL) {
        return SDS_OK;
    }
    if (access(path, R_OK) != 0) {
        int error = errno;
        return sds_fail(err, SDS_ERR_INVALID, check, "%s%s: %s", from,
                        SDS_QUOTE(path, strlen(path)), strerror(error));
    }
    *out = strdup(path);
    return *out != NULL ? SDS_OK
                        : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a path");
}

static enum sds_kind find_ca_bundle(const char *path, char **out, struct sds_err *err) {
    static const char *const names[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    char from[32] = "";
    for (size_t i = 0; path == NULL && i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            path = value;
            snprintf(from, sizeof from, "%s: ", names[i]);
        }
    }
    return copy_path(path, "ca_bundle", from, out, err);
}

enum sds_kind sds_http_settings_init(struct sds_http_settings *settings,
                                     const struct sds_http_options *options, struct sds_err *err) {
    uint32_t connect = options->connect_timeout_ms, stall = options->stall_timeout_ms;
    *settings = (struct sds_http_settings){
        .connect_timeout_ms = connect != 0 ? connect : CONNECT_TIMEOUT_MS,
        .stall_timeout_ms = stall != 0 ? stall : STALL_TIMEOUT_MS,
        .max_connections =
            options->max_connections != 0 ? options->max_connections : MAX_CONNECTIONS,
    };
    enum sds_kind kind = find_ca_bundle(options->ca_bundle, &settings->ca_bundle, err);
    if (kind == SDS_OK) {
        kind = copy_path(options->client_cert, "client_cert", "", &settings->client_cert, err);
    }
    if (kind == SDS_OK) {
        kind = copy_path(options->client_key, "client_key", "", &settings->client_key, err);
    }
    if (kind != SDS_OK) {
        sds_http_settings_fini(settings);
    }
    return kind;
}

void sds_http_settings_fini(struct sds_http_settings *settings) {
    free(settings->ca_bundle);
    free(settings->client_cert);
    free(settings->client_key);
    *settings = (struct sds_http_settings){0};
}

static bool apply_trust(const struct sds_http_settings *settings, CURL *easy) {
    bool good =
        curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
    if (settings->ca_bundle != NULL) { // and not the system's directory besides
        good = good && curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_bundle) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK;
    }
    if (settings->client_cert != NULL) {
        good = good && curl_easy_setopt(easy, CURLOPT_SSLCERT, settings->client_cert) == CURLE_OK;
    }
    if (settings->client_key != NULL) {
        good = good && curl_easy_setopt(easy, CURLOPT_SSLKEY, settings->client_key) == CURLE_OK;
    }
    return good;
}

bool sds_http_settings_apply(const struct sds_http_settings *settings, CURL *easy) {
    static const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_QUICK_EXIT, 1}, // never waits for a name that is still being looked up
        {CURLOPT_PATH_AS_IS, 1}, // a key may have ".." in it
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_HTTP_CONTENT_DECODING, 0},
        {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1}, // a proxy's answer is not the server's
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS},
        {CURLOPT_TCP_NODELAY, 1},
        {CURLOPT_TCP_KEEPALIVE, 1},
    };
    bool good = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_USERAGENT, "sdsfs/" SDSFS_VERSION) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                                 (long)settings->connect_timeout_ms) == CURLE_OK;
    for (size_t i = 0; good && i < sizeof numbers / sizeof *numbers; i++) {
        good = curl_easy_setopt(easy, numbers[i].option, numbers[i].value) == CURLE_OK;
    }
    // Refused by a handle that still has its buffer from the last request, which then does as well.
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER);
    return good && apply_trust(settings, easy);
}
