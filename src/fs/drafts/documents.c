// SPDX-License-Identifier: Apache-2.0
//
// The documents that the daemon writes into drafts: status, receipt, pointer.
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fs/drafts/drafts_internal.h"

static int stage(struct sds_drafts *drafts, int draft, const char *name, struct json_object *object,
                 bool durable, char *staged) {
    struct sds_buf text = SDS_BUF_INIT(SIZE_MAX);
    const char *json = json_object_to_json_string_ext(
        object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    int e = json != NULL && sds_buf_printf(&text, "%s\n", json) == SDS_OK ? 0 : ENOMEM;
    if (e == 0) {
        e = sds_backing_stage(drafts->backing, draft, name, sds_buf_span(&text), durable, staged);
    }
    sds_buf_fini(&text);
    return e;
}

// Puts a document in the place of the one there is, or nothing (staged is NULL). Those who were
// told the size of that one get its bytes as well: its number stays with the old file, and the name
// gets a new one. With `moves` held exclusively.
static int put(struct sds_drafts *drafts, const char *path, int draft, const char *name,
               const char *staged) {
    sds_autofree char *whole = NULL;
    sds_autofd int old = openat(draft, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (asprintf(&whole, "%s/%s", path, name) < 0) {
        if (staged != NULL) {
            unlinkat(sds_backing_tmp(drafts->backing), staged, 0);
        }
        return ENOMEM;
    }
    int e = staged != NULL                  ? sds_backing_put(drafts->backing, staged, draft, name)
            : unlinkat(draft, name, 0) != 0 ? errno
                                            : 0;
    if (e == 0) {
        sds_ids_remove_path(drafts->ids, whole, old);
        old = -1;
    }
    return e;
}

int sds_document_remove(struct sds_drafts *drafts, const char *path, int draft, const char *name) {
    pthread_rwlock_wrlock(&drafts->moves);
    int e = put(drafts, path, draft, name, NULL);
    pthread_rwlock_unlock(&drafts->moves);
    return e == ENOENT ? 0 : e;
}

int sds_document_write_moving(struct sds_drafts *drafts, const char *path, int draft,
                              const char *name, struct json_object *object) {
    char staged[SDS_TMP_NAME];
    int e = stage(drafts, draft, name, object, false, staged);
    return e != 0 ? e : put(drafts, path, draft, name, staged);
}

int sds_document_write(struct sds_drafts *drafts, const char *path, int draft, const char *name,
                       struct json_object *object, bool durable) {
    char staged[SDS_TMP_NAME];
    int e = stage(drafts, draft, name, object, durable, staged);
    if (e == 0 && path == NULL) {
        e = sds_backing_put(drafts->backing, staged, draft, name);
    } else if (e == 0) {
        pthread_rwlock_wrlock(&drafts->moves);
        e = put(drafts, path, draft, name, staged);
        pthread_rwlock_unlock(&drafts->moves);
    }
    return e == 0 && durable && fsync(draft) != 0 ? errno : e;
}
