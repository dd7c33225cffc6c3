// SPDX-License-Identifier: Apache-2.0
#include "remote/servers/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/credentials/credentials.h"

enum { MAX_LEARNED = 256 };

// It becomes a part of host names.
bool sds_s3_is_region(const char *text) {
    size_t len = strlen(text);
    return len > 0 && len < SDS_S3_REGION &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

// --- what was learned

static struct sds_s3_learned *find(struct sds_s3 *s3, const char *bucket) {
    for (size_t i = 0; i < s3->learned_count; i++) {
        if (strcmp(s3->learned[i].bucket, bucket) == 0) {
            return &s3->learned[i];
        }
    }
    return NULL;
}

void sds_s3_region(struct sds_s3 *s3, const char *bucket, char out[SDS_S3_REGION]) {
    pthread_mutex_lock(&s3->lock);
    const struct sds_s3_learned *learned = find(s3, bucket);
    memcpy(out, learned != NULL ? learned->region : s3->region, SDS_S3_REGION);
    pthread_mutex_unlock(&s3->lock);
}

static struct sds_s3_learned *add(struct sds_s3 *s3, const char *bucket) {
    char *name = s3->learned_count < MAX_LEARNED ? strdup(bucket) : NULL;
    struct sds_s3_learned *grown =
        name == NULL ? NULL : realloc(s3->learned, (s3->learned_count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(name);
        return NULL;
    }
    s3->learned = grown;
    grown[s3->learned_count] = (struct sds_s3_learned){.bucket = name};
    return &grown[s3->learned_count++];
}

void sds_s3_learn_region(struct sds_s3 *s3, const char *bucket, const char *region) {
    pthread_mutex_lock(&s3->lock);
    struct sds_s3_learned *learned = find(s3, bucket);
    learned = learned == NULL ? add(s3, bucket) : learned;
    if (learned != NULL) {
        snprintf(learned->region, sizeof learned->region, "%s", region);
    }
    pthread_mutex_unlock(&s3->lock);
}

int64_t sds_s3_skew(struct sds_s3 *s3) {
    pthread_mutex_lock(&s3->lock);
    int64_t skew = s3->skew;
    pthread_mutex_unlock(&s3->lock);
    return skew;
}

void sds_s3_learn_skew(struct sds_s3 *s3, int64_t skew) {
    pthread_mutex_lock(&s3->lock);
    s3->skew = skew;
    pthread_mutex_unlock(&s3->lock);
}

bool sds_s3_explains(struct sds_s3 *s3) {
    pthread_mutex_lock(&s3->lock);
    bool explain = s3->explain;
    pthread_mutex_unlock(&s3->lock);
    return explain;
}

void sds_s3_learn_explain(struct sds_s3 *s3) {
    pthread_mutex_lock(&s3->lock);
    s3->explain = true;
    pthread_mutex_unlock(&s3->lock);
}

// --- making one

static void s3_free(struct sds_provider *provider) {
    struct sds_s3 *s3 = (struct sds_s3 *)provider;
    for (size_t i = 0; i < s3->learned_count; i++) {
        free(s3->learned[i].bucket);
    }
    free(s3->learned);
    sds_endpoint_fini(&s3->endpoint);
    pthread_mutex_destroy(&s3->lock);
    free(s3);
}

static const struct sds_provider_ops s3_ops = {.name = "s3",
                                               .can_write = true,
                                               .prepare = sds_s3_prepare,
                                               .judge = sds_s3_judge,
                                               .free = s3_free};

static enum sds_kind set_region(struct sds_s3 *s3, const char *region, struct sds_err *err) {
    if (!sds_s3_is_region(region)) {
        return sds_fail(err, SDS_ERR_INVALID, "region", "%s is not the name of a region",
                        SDS_QUOTE(region, strlen(region)));
    }
    snprintf(s3->region, sizeof s3->region, "%s", region);
    return SDS_OK;
}

static enum sds_kind set_endpoint(struct sds_s3 *s3, const char *endpoint, struct sds_err *err) {
    enum sds_kind kind = sds_endpoint_parse(endpoint, false, &s3->endpoint, err);
    if (kind != SDS_OK) {
        return kind;
    }
    s3->base.origin = sds_endpoint_origin(&s3->endpoint);
    return s3->base.origin != NULL
               ? SDS_OK
               : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for an endpoint");
}

// The profile is asked for what neither options nor environment say. That there is none, or that it
// cannot be read, is no concern here unless it was asked for: who looks for the keys in it tells.
static enum sds_kind read_profile(const struct sds_remote_options *options,
                                  struct sds_aws_settings *out, struct sds_err *err) {
    enum sds_kind kind = sds_aws_settings_read(options->profile, out, err);
    if (kind != SDS_OK) {
        *out = (struct sds_aws_settings){.region = ""};
    }
    return options->profile != NULL && !options->no_sign_request ? kind : SDS_OK;
}

static enum sds_kind configure(struct sds_s3 *s3, const struct sds_remote_options *options,
                               struct sds_err *err) {
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
    const char *endpoint = sds_setting(options->endpoint, endpoints);
    const char *region = sds_setting(options->region, regions);
    struct sds_aws_settings profile = {.region = ""};
    enum sds_kind kind = SDS_OK;
    if (endpoint == NULL || region == NULL) {
        kind = read_profile(options, &profile, err);
    }
    if (endpoint == NULL && profile.endpoint_url[0] != '\0') {
        endpoint = profile.endpoint_url;
    }
    if (region == NULL) {
        region = profile.region[0] != '\0' ? profile.region : "us-east-1";
    }
    if (kind == SDS_OK) {
        kind = set_region(s3, region, err);
    }
    s3->aws = endpoint == NULL;
    if (kind == SDS_OK && !s3->aws) {
        kind = set_endpoint(s3, endpoint, err);
    }
    if (kind == SDS_OK && s3->aws && (s3->base.origin = strdup("https://amazonaws.com")) == NULL) {
        kind = sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a provider");
    }
    return kind;
}

enum sds_kind sds_s3_new(const struct sds_remote_options *options, struct sds_provider **out,
                         struct sds_err *err) {
    struct sds_s3 *s3 = calloc(1, sizeof *s3);
    if (s3 == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a provider");
    }
    s3->base.ops = &s3_ops;
    s3->path_style = options->path_style;
    s3->requester_pays = options->requester_pays;
    pthread_mutex_init(&s3->lock, NULL);
    enum sds_kind kind = configure(s3, options, err);
    if (kind != SDS_OK) {
        sds_provider_free(&s3->base);
        return kind;
    }
    *out = &s3->base;
    return SDS_OK;
}
