// SPDX-License-Identifier: Apache-2.0
//
// Opening a root on a server: what it is made of, from the provider to the disk cache. No server is
// asked.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/program_dir.h"
#include "remote/online/remote_internal.h"

bool sds_remote_is_uri(const char *root) {
    static const char *const schemes[] = {"s3://", "gs://", "http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strncmp(root, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static enum sds_kind open_http(struct sds_remote *remote, struct sds_err *err) {
    const struct sds_remote_options *options = &remote->options;
    uint32_t half = options->timeout_ms / 2;
    struct sds_http_options how = {.ca_bundle = options->ca_bundle,
                                   .client_cert = options->client_cert,
                                   .client_key = options->client_key,
                                   .stall_timeout_ms = half < 10000 ? half + 1 : 10000};
    return sds_http_new(&how, &remote->operations.http, err);
}

static enum sds_kind open_credentials(struct sds_remote *remote, struct sds_err *err) {
    struct sds_operations *operations = &remote->operations;
    switch (operations->provider->target.scheme) {
    case SDS_SCHEME_S3:
        return sds_credentials_new_s3(&remote->options, operations->http, &operations->credentials,
                                      err);
    case SDS_SCHEME_GCS:
        return sds_credentials_new_gcs(&remote->options, operations->http, &operations->credentials,
                                       err);
    case SDS_SCHEME_HTTP:
    case SDS_SCHEME_HTTPS:
        break;
    }
    return SDS_OK;
}

// The directory is named once, whether it is the object of the failure, stands in the message, or
// neither.
static void tell_broken_disk(const struct sds_remote *remote, struct sds_err why) {
    char line[sizeof why + 8];
    if (strstr(why.message, remote->cache_dir) != NULL) {
        why.object[0] = '\0';
    }
    sds_err_line(&why, line, sizeof line);
    bool named = strstr(line, remote->cache_dir) != NULL;
    sds_log(SDS_LOG_WARNING, "%s: the disk cache%s%s does not work: %s", remote->base.root,
            named ? "" : " ", named ? "" : remote->cache_dir, line);
}

static void tell_disk(void *ctx, const struct sds_err *why) {
    const struct sds_remote *remote = ctx;
    if (why != NULL) {
        tell_broken_disk(remote, *why);
    } else {
        sds_log(SDS_LOG_INFO, "%s: the disk cache %s works again", remote->base.root,
                remote->cache_dir);
    }
}

// A store without its disk cache is slower, and told so.
void sds_remote_open_disk(struct sds_remote *remote, uint64_t size) {
    struct sds_disk_cache *disk = NULL;
    struct sds_err err;
    enum sds_kind kind = remote->cache_dir != NULL
                             ? SDS_OK
                             : sds_program_dir_path(SDS_CACHE_DIR, remote->options.cache_dir,
                                                    &remote->cache_dir, &err);
    if (kind == SDS_OK) {
        struct sds_disk_options how = {
            .dir = remote->cache_dir, .size = size, .tell = tell_disk, .ctx = remote};
        kind = sds_disk_cache_open(&how, &disk, &err);
    }
    if (kind == SDS_OK) {
        remote->disk = disk;
    }
    if (kind != SDS_OK) {
        char line[sizeof err + 8];
        sds_log(SDS_LOG_WARNING, "%s: no disk cache: %s", remote->base.root,
                sds_err_line(&err, line, sizeof line));
    }
}

static enum sds_kind open_parts(struct sds_remote *remote, const char *root, struct sds_err *err) {
    remote->doubted = sds_pins_new();
    if (remote->doubted == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a store");
    }
    enum sds_kind kind = sds_provider_new(root, &remote->options, &remote->operations.provider,
                                          &remote->prefix, &remote->base.root, err);
    if (kind == SDS_OK) {
        kind = open_http(remote, err);
    }
    if (kind == SDS_OK) {
        sds_operations_init(&remote->operations);
        kind = open_credentials(remote, err);
    }
    if (kind == SDS_OK) {
        remote->base.pins_generations = remote->operations.provider->ops->pins_generations;
        if (remote->options.cache_size > 0) {
            sds_remote_open_disk(remote, remote->options.cache_size);
        }
    }
    return kind;
}

enum sds_kind sds_remote_open(const char *root, const struct sds_store_options *options,
                              struct sds_store **out, struct sds_err *err) {
    struct sds_remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a store");
    }
    remote->base.ops = &sds_remote_ops;
    remote->base.remote = true;
    remote->options = options->remote;
    remote->ledger = options->cache;
    remote->operations.timeout_ms = options->remote.timeout_ms;
    remote->operations.retries = options->remote.retries;
    remote->operations.stats = &remote->stats;
    sds_subjects_init(remote);
    pthread_mutex_init(&remote->reloading, NULL);
    enum sds_kind kind = open_parts(remote, root, err);
    if (kind != SDS_OK) {
        sds_store_close(&remote->base);
        return kind;
    }
    *out = &remote->base;
    return SDS_OK;
}
