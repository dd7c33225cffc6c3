// SPDX-License-Identifier: Apache-2.0
//
// First looks at an object: how large it is, and which version. One request, by whichever of two:
// the object's beginning, so that a small object needs no second request, or its head alone where
// the disk cache knows the rest.
#include "remote/online/remote_internal.h"

// The extent at the beginning, asked for now if it was not. Bytes stay for others than those who
// wait, but not those of a replaceable object: the next one looks anew.
static enum sds_kind begin(struct sds_subject *subject, struct sds_extents *extents, uint64_t len,
                           struct sds_extent_view *out, struct sds_err *err) {
    struct sds_cache *ledger = extents->how->ledger;
    struct sds_extent_claim claim = {.to = len};
    bool fresh;
    if (ledger != NULL) {
        claim.charged = (size_t)len;
        sds_cache_charge(ledger, claim.charged);
    }
    enum sds_kind kind = sds_extents_claim(extents, &claim, out, &fresh, err);
    if (kind == SDS_OK && fresh) {
        sds_fetch_start(subject, out->extent, subject->mutability == SDS_IMMUTABLE);
    }
    return kind;
}

enum sds_kind sds_look_head(struct sds_subject *subject, struct sds_err *err) {
    struct sds_extent_view view;
    enum sds_kind kind = begin(subject, &subject->heads, 1, &view, err);
    if (kind == SDS_OK) {
        kind = sds_extent_wait(view.extent, err);
        sds_extent_unref(view.extent);
    }
    return kind;
}

// Whether the disk cache has some of the bytes, of a version that the server has to be asked for.
static bool is_worth_asking(struct sds_subject *subject, uint64_t off, uint64_t len) {
    struct sds_disk_cache *disk = subject->remote->disk;
    struct sds_known known;
    char tag[SDS_DISK_TAG];
    uint64_t size, start, run;
    sds_subject_known(subject, &known);
    if (known.tagged || disk == NULL || subject->mutability == SDS_REPLACEABLE ||
        !sds_disk_cache_recall(disk, subject->name, tag, &size) ||
        sds_subject_recall(subject, tag, size)) {
        return false;
    }
    struct sds_disk_object object = sds_disk_object_of(subject->name, tag);
    return sds_disk_cache_next(disk, &object, off, off + len, &start, &run);
}

enum sds_kind sds_look_for_disk(struct sds_subject *subject, uint64_t off, uint64_t len,
                                struct sds_err *err) {
    return is_worth_asking(subject, off, len) ? sds_look_head(subject, err) : SDS_OK;
}

bool sds_look_ahead_for_disk(struct sds_subject *subject, uint64_t off, uint64_t len) {
    struct sds_extent_view view;
    if (!is_worth_asking(subject, off, len)) {
        return false;
    }
    if (begin(subject, &subject->heads, 1, &view, NULL) == SDS_OK) {
        sds_extent_unref(view.extent);
    }
    return true;
}

enum sds_kind sds_look(struct sds_subject *subject, struct sds_extent **first,
                       struct sds_err *err) {
    struct sds_known known;
    struct sds_extent_view view;
    *first = NULL;
    sds_subject_known(subject, &known);
    enum sds_kind kind = known.sized ? SDS_OK : sds_look_for_disk(subject, 0, 1, err);
    if (kind != SDS_OK) {
        return kind;
    }
    sds_subject_known(subject, &known);
    if (known.sized) {
        return SDS_OK;
    }
    kind = begin(subject, &subject->extents, SDS_FETCH_LOOK, &view, err);
    if (kind != SDS_OK) {
        return kind;
    }
    kind = sds_extent_wait(view.extent, err);
    sds_subject_known(subject, &known);
    if (kind == SDS_OK && !known.sized) {
        kind = sds_fail(err, SDS_ERR_STORAGE, "answer", "the server does not tell the size");
    }
    if (kind == SDS_OK) {
        *first = view.extent;
    } else {
        sds_extent_unref(view.extent);
    }
    return kind;
}
