// SPDX-License-Identifier: Apache-2.0
//
// What failed a check of its content, asked for once more. Each doubt has a number: who began to
// read before the doubt was told may have had the same wrong bytes and is to read again, too; who
// began later has had what was asked for again.
#include "base/hash.h"
#include "base/log.h"
#include "remote/online/remote_internal.h"

#define DOCUMENT_MAX (64ULL << 20) // of an object whose size is not known

// A store that has lost sight of the object finds the version in the disk cache.
static void recall(struct sds_subject *subject) {
    struct sds_known known;
    char tag[SDS_DISK_TAG];
    uint64_t size;
    sds_subject_known(subject, &known);
    if (!known.tagged && subject->remote->disk != NULL &&
        sds_disk_cache_recall(subject->remote->disk, subject->name, tag, &size)) {
        (void)sds_subject_recall(subject, tag, size);
    }
}

static void forget_on_disk(struct sds_subject *subject, uint64_t off, uint64_t end) {
    struct sds_disk_object object;
    struct sds_known known;
    sds_subject_known(subject, &known);
    uint64_t most = known.sized ? known.size : DOCUMENT_MAX;
    end = end < most ? end : most;
    if (off < end && sds_fetch_disk_object(subject, &object)) {
        sds_disk_cache_forget(subject->remote->disk, &object, off, end - off);
    }
}

bool sds_subject_doubt(struct sds_subject *subject, uint64_t off, uint64_t len, uint64_t since) {
    struct sds_remote *remote = subject->remote;
    uint64_t end = len < UINT64_MAX - off ? off + len : UINT64_MAX, last;
    uint64_t key = subject->hash ^ sds_mix64(off + 1);
    recall(subject);
    if (sds_pins_get(remote->doubted, key, &last)) {
        if (last <= since) {
            forget_on_disk(subject, off, end);
        }
        return last > since;
    }
    // Told before, since whoever comes next may have it afresh as soon as it is dropped.
    atomic_fetch_add(&remote->stats.doubts, 1);
    sds_log(SDS_LOG_INFO, "%s: %s: what came failed a check, and is asked for again",
            remote->base.root, SDS_QUOTE(subject->key, strlen(subject->key)));
    sds_extents_drop(&subject->extents, off, end);
    forget_on_disk(subject, off, end);
    if (off == 0 && end == UINT64_MAX) {
        sds_subject_forget_size(subject);
    }
    // The number is given once all is dropped: who has it reads what was asked for again.
    (void)sds_pins_check(remote->doubted, key, atomic_fetch_add(&remote->base.doubts, 1) + 1);
    return sds_pins_get(remote->doubted, key, &last); // without memory for it: never again
}
