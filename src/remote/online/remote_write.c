// SPDX-License-Identifier: Apache-2.0
//
// Creating and replacing objects of a root on a server (docs/stores.md): one request under a
// condition that the server checks. An answer can be lost on its way, so a failure after which the
// object may have been written is looked into before it is told.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/online/remote_internal.h"

enum sds_kind sds_remote_can_publish(struct sds_store *store, struct sds_err *err) {
    struct sds_remote *remote = (struct sds_remote *)store;
    if (!remote->operations.provider->ops->can_write) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes", "plain HTTP is read only");
    }
    return sds_conditions_known(remote, err);
}

// What is to be written; freed with end_write.
struct writing {
    char *key;
    struct sds_operation what;
};

static enum sds_kind begin_write(struct sds_remote *remote, const char *path,
                                 enum sds_action action, const struct sds_content *content,
                                 struct writing *out, struct sds_err *err) {
    *out = (struct writing){.key = sds_remote_key(remote, path)};
    if (out->key == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a name");
    }
    out->what = (struct sds_operation){
        .action = action, .bucket = remote->operations.provider->target.bucket, .key = out->key};
    return sds_operation_content(&out->what, content, err);
}

static void end_write(struct writing *writing) {
    free(writing->key);
}

static enum sds_kind failed(const struct sds_outcome *outcome, struct sds_err *err) {
    if (err != NULL) {
        *err = outcome->err;
    }
    return outcome->err.kind;
}

// Who reads it later is told when it is another one by then.
static void pin(struct sds_remote *remote, const struct sds_operation *what,
                const struct sds_tag *tag) {
    struct sds_subject_name name = {
        .bucket = what->bucket, .key = what->key, .mutability = SDS_IMMUTABLE};
    struct sds_subject *subject = NULL;
    if (tag->etag[0] != '\0' && sds_subject_get(remote, &name, &subject, NULL) == SDS_OK) {
        sds_pins_set(remote->base.pins, subject->hash, sds_tag_hash(tag));
        sds_subject_unref(subject);
    }
}

enum sds_kind sds_remote_create(struct sds_store *store, const char *path,
                                const struct sds_content *content, struct sds_err *err) {
    struct sds_remote *remote = (struct sds_remote *)store;
    struct writing writing;
    struct sds_outcome outcome;
    enum sds_kind kind = sds_remote_can_publish(store, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = begin_write(remote, path, SDS_CREATE, content, &writing, err);
    if (kind == SDS_OK) {
        sds_operation_run(&remote->operations, &writing.what, NULL, &outcome);
        kind = failed(&outcome, err);
    }
    if (kind == SDS_OK) {
        pin(remote, &writing.what, &outcome.told.tag);
        kind = sds_conditions_check(remote, &writing.what, err);
    }
    end_write(&writing);
    return kind;
}

static enum sds_kind token_of(const struct sds_tag *tag, struct sds_version *version,
                              struct sds_err *err) {
    size_t len = strlen(tag->etag);
    if (len == 0 || len >= sizeof version->token) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "conditional_writes",
                        "the server gives the object no version that can be named");
    }
    version->there = true;
    memcpy(version->token, tag->etag, len + 1);
    return SDS_OK;
}

enum sds_kind sds_remote_read_version(struct sds_store *store, const char *path, uint64_t max,
                                      struct sds_blob **out, struct sds_version *version,
                                      struct sds_err *err) {
    struct sds_tag tag;
    struct sds_blob *blob = NULL;
    enum sds_kind kind = sds_remote_read_whole((struct sds_remote *)store, path, SDS_REPLACEABLE,
                                               NULL, max, &blob, &tag, err);
    if (kind == SDS_OK) {
        kind = token_of(&tag, version, err);
    }
    if (kind != SDS_OK) {
        sds_blob_unref(blob);
        return kind;
    }
    *out = blob;
    return SDS_OK;
}

enum sds_kind sds_remote_version(struct sds_store *store, const char *path,
                                 struct sds_version *version, struct sds_err *err) {
    struct sds_remote *remote = (struct sds_remote *)store;
    struct sds_subject *subject = NULL;
    struct sds_known known;
    char *key = sds_remote_key(remote, path);
    if (key == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a name");
    }
    struct sds_subject_name name = {.bucket = remote->operations.provider->target.bucket,
                                    .key = key,
                                    .mutability = SDS_REPLACEABLE};
    enum sds_kind kind = sds_subject_get(remote, &name, &subject, err);
    free(key);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = sds_look_head(subject, err);
    if (kind == SDS_OK) {
        sds_subject_known(subject, &known);
        kind = token_of(&known.tag, version, err);
    }
    sds_subject_unref(subject);
    return kind == SDS_ERR_NOT_FOUND ? SDS_OK : kind; // version says that it is not there
}

// After a failure that may have been none: what stands there now?
static bool stands(struct sds_remote *remote, const char *path, struct sds_span bytes) {
    struct sds_blob *now = NULL;
    if (sds_remote_read_whole(remote, path, SDS_REPLACEABLE, NULL, bytes.len, &now, NULL, NULL) !=
        SDS_OK) {
        return false;
    }
    bool same = sds_span_eq(sds_span(now->at, now->len), bytes);
    sds_blob_unref(now);
    return same;
}

enum sds_kind sds_remote_swap(struct sds_store *store, const char *path, struct sds_span bytes,
                              const struct sds_version *seen, struct sds_err *err) {
    struct sds_remote *remote = (struct sds_remote *)store;
    struct sds_content content = sds_content_of(&bytes);
    struct writing writing;
    struct sds_outcome outcome;
    enum sds_kind kind = sds_remote_can_publish(store, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = begin_write(remote, path, SDS_SWAP, &content, &writing, err);
    if (kind == SDS_OK) {
        snprintf(writing.what.tag.etag, sizeof writing.what.tag.etag, "%s",
                 seen->there ? seen->token : "");
        sds_operation_run(&remote->operations, &writing.what, NULL, &outcome);
        kind = failed(&outcome, err);
        // A conflict may be with ourselves: the transport repeats what a kept connection lost.
        bool unsure = outcome.written || kind == SDS_ERR_CONFLICT;
        if (kind != SDS_OK && unsure && stands(remote, path, bytes)) {
            kind = SDS_OK;
        }
    }
    end_write(&writing);
    return kind;
}
