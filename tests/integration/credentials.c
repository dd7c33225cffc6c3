// SPDX-License-Identifier: Apache-2.0
//
// Who we would be to a server, for test_credentials.py:
//
//   credentials s3|gcs [endpoint=URL] [profile=NAME] [region=NAME] [timeout=MS] [no_sign]
//   COMMAND...
//
// Commands run in order: "get" asks; "take" asks as those do who must not be blocked; "renew" has a
// server refuse the last one; "later=SECONDS" puts our clock on; "line" waits for a line from
// standard input; "settings" tells what the profile says. One line for each but "later" and "line":
// "KEY_ID HASH EXPIRES SERIAL SOURCE", where HASH is of all secrets together, or "KIND CHECK
// MESSAGE". The log goes to standard error.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "remote/credentials/credentials.h"
#include "remote/credentials/credentials_internal.h"
#include "remote/http/http.h"

static atomic_llong seconds_on; // what "later" has put our clock on by

static int64_t now(void) {
    return (int64_t)time(NULL) + seconds_on;
}

struct signal {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool has;
};

static void tell(void *ctx) {
    struct signal *signal = ctx;
    pthread_mutex_lock(&signal->lock);
    signal->has = true;
    pthread_cond_signal(&signal->told);
    pthread_mutex_unlock(&signal->lock);
}

static enum sds_kind take(struct sds_credentials *credentials, struct sds_credential *out,
                          struct sds_err *err) {
    for (;;) {
        struct signal signal = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
        enum sds_kind kind = sds_credentials_take(credentials, out, tell, &signal, err);
        if (kind != SDS_ERR_WAITING) {
            return kind;
        }
        pthread_mutex_lock(&signal.lock);
        while (!signal.has) {
            pthread_cond_wait(&signal.told, &signal.lock);
        }
        pthread_mutex_unlock(&signal.lock);
    }
}

static void show(struct sds_credentials *credentials, const struct sds_credential *found) {
    char text[sizeof found->secret + sizeof found->token + 2], hex[SDS_SHA256_HEX], source[256];
    snprintf(text, sizeof text, "%s/%s", found->secret, found->token);
    sds_sha256_hex(sds_span_str(text), hex);
    printf("%s %.16s %lld %llu %s\n", found->anonymous ? "anonymous" : found->key_id, hex,
           (long long)found->expires, (unsigned long long)found->serial,
           sds_credentials_source(credentials, source, sizeof source));
}

static void answer(enum sds_kind kind, const struct sds_err *err) {
    printf("%s %s %s\n", sds_kind_name(kind), err->check, err->message);
}

static void settings(const struct sds_remote_options *options) {
    struct sds_aws_settings read;
    struct sds_err err;
    enum sds_kind kind = sds_aws_settings_read(options->profile, &read, &err);
    if (kind == SDS_OK) {
        printf("%s %s\n", read.region, read.endpoint_url);
    } else {
        answer(kind, &err);
    }
}

static void run(struct sds_credentials *credentials, const struct sds_remote_options *options,
                const char *command, struct sds_credential *last) {
    struct sds_err err;
    enum sds_kind kind = SDS_OK;
    if (strncmp(command, "later=", strlen("later=")) == 0) {
        seconds_on += atoi(command + strlen("later="));
    } else if (strcmp(command, "line") == 0) {
        char line[16];
        if (fgets(line, sizeof line, stdin) == NULL) {
            exit(3);
        }
    } else if (strcmp(command, "settings") == 0) {
        settings(options);
    } else if (strcmp(command, "renew") == 0) {
        puts(sds_credentials_renew(credentials, last) ? "again" : "stands");
    } else {
        kind = strcmp(command, "take") == 0 ? take(credentials, last, &err)
                                            : sds_credentials_get(credentials, last, &err);
        if (kind == SDS_OK) {
            show(credentials, last);
        } else {
            answer(kind, &err);
        }
    }
    fflush(stdout);
}

static bool take_option(char *text, struct sds_remote_options *options) {
    char *value = strchr(text, '=');
    if (strcmp(text, "no_sign") == 0) {
        options->no_sign_request = true;
        return true;
    }
    if (value == NULL) {
        return false;
    }
    *value++ = '\0';
    if (strcmp(text, "endpoint") == 0) {
        options->endpoint = value;
    } else if (strcmp(text, "profile") == 0) {
        options->profile = value;
    } else if (strcmp(text, "region") == 0) {
        options->region = value;
    } else {
        options->timeout_ms = (uint32_t)atoi(value);
    }
    return true;
}

int main(int argc, char **argv) {
    struct sds_remote_options options = {.timeout_ms = 20000};
    struct sds_http *http = NULL;
    struct sds_credentials *credentials = NULL;
    struct sds_credential last = {0};
    struct sds_err err;
    sds_log_setup(&(struct sds_log_options){.level = SDS_LOG_INFO});
    if (argc < 2 || sds_http_new(&(struct sds_http_options){0}, &http, &err) != SDS_OK) {
        return 2;
    }
    int at = 2;
    while (at < argc && take_option(argv[at], &options)) {
        at++;
    }
    sds_source find = strcmp(argv[1], "gcs") == 0 ? sds_find_gcs : sds_find_s3;
    struct sds_credentials_setup setup = {.options = &options,
                                          .http = http,
                                          .find = options.no_sign_request ? NULL : find,
                                          .now = now,
                                          .clock_ms = sds_clock_ms};
    enum sds_kind kind = sds_credentials_new(&setup, &credentials, &err);
    for (; kind == SDS_OK && at < argc; at++) {
        run(credentials, &options, argv[at], &last);
    }
    sds_http_abandon(http);
    sds_credentials_free(credentials);
    sds_http_free(http);
    sds_credential_wipe(&last);
    return kind == SDS_OK ? 0 : 2;
}
