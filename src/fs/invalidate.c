// SPDX-License-Identifier: Apache-2.0
#include "fs/invalidate.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fs/session_internal.h"

struct waiting {
    struct waiting *next;
    uint64_t ino;
};

struct sds_invalidator {
    struct fuse_session *fuse;
    pthread_t thread;
    pthread_mutex_t lock; // everything below; not held while the kernel is told
    pthread_cond_t wake;
    struct waiting *waiting;
    unsigned telling; // threads in sds_write_back
    bool stop;
};

// Takes one inode number off the list, waiting for it; false when it is time to end.
static bool take(struct sds_invalidator *invalidator, uint64_t *ino) {
    pthread_mutex_lock(&invalidator->lock);
    while (invalidator->waiting == NULL && !invalidator->stop) {
        pthread_cond_wait(&invalidator->wake, &invalidator->lock);
    }
    struct waiting *first = invalidator->stop ? NULL : invalidator->waiting;
    if (first != NULL) {
        invalidator->waiting = first->next;
    }
    pthread_mutex_unlock(&invalidator->lock);
    if (first == NULL) {
        return false;
    }
    *ino = first->ino;
    free(first);
    return true;
}

static int tell(struct sds_invalidator *invalidator, uint64_t ino) {
    int e = fuse_lowlevel_notify_inval_inode(invalidator->fuse, ino, 0, 0);
    if (e == 0 || e == -ENOENT) { // which it does not know (any more)
        return 0;
    }
    sds_log(SDS_LOG_DEBUG, "inode %#llx: cannot be invalidated: %s", (unsigned long long)ino,
            strerror(-e));
    return EIO;
}

static void *invalidate(void *arg) {
    struct sds_invalidator *invalidator = arg;
    uint64_t ino;
    while (take(invalidator, &ino)) {
        int ignored = tell(invalidator, ino);
        (void)ignored; // the connection is gone, and the pages with it
    }
    return NULL;
}

enum sds_kind sds_invalidator_start(struct fuse_session *fuse, struct sds_invalidator **out,
                                    struct sds_err *err) {
    struct sds_invalidator *invalidator = calloc(1, sizeof *invalidator);
    if (invalidator == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory");
    }
    invalidator->fuse = fuse;
    pthread_mutex_init(&invalidator->lock, NULL);
    pthread_cond_init(&invalidator->wake, NULL);
    int e = pthread_create(&invalidator->thread, NULL, invalidate, invalidator);
    if (e != 0) {
        free(invalidator);
        return sds_fail(err, SDS_ERR_INTERNAL, "fuse", "cannot start a thread: %s", strerror(e));
    }
    *out = invalidator;
    return SDS_OK;
}

void sds_invalidator_stop(struct sds_invalidator *invalidator) {
    pthread_mutex_lock(&invalidator->lock);
    bool join = !invalidator->stop;
    invalidator->stop = true;
    pthread_cond_broadcast(&invalidator->wake);
    while (invalidator->telling > 0) {
        pthread_cond_wait(&invalidator->wake, &invalidator->lock);
    }
    pthread_mutex_unlock(&invalidator->lock);
    if (join) {
        pthread_join(invalidator->thread, NULL);
    }
}

void sds_invalidator_free(struct sds_invalidator *invalidator) {
    if (invalidator == NULL) {
        return;
    }
    for (struct waiting *w = invalidator->waiting, *next; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
    pthread_cond_destroy(&invalidator->wake);
    pthread_mutex_destroy(&invalidator->lock);
    free(invalidator);
}

void sds_invalidate(struct sds_invalidator *invalidator, uint64_t ino) {
    struct waiting *fresh = malloc(sizeof *fresh);
    if (fresh == NULL) {
        sds_log(SDS_LOG_ERROR, "no memory to have the kernel drop a file that root wrote into");
        return;
    }
    pthread_mutex_lock(&invalidator->lock);
    // A large mapping is written back in many requests.
    bool again = invalidator->waiting != NULL && invalidator->waiting->ino == ino;
    if (!again && !invalidator->stop) {
        *fresh = (struct waiting){.next = invalidator->waiting, .ino = ino};
        invalidator->waiting = fresh;
        fresh = NULL;
        pthread_cond_signal(&invalidator->wake);
    }
    pthread_mutex_unlock(&invalidator->lock);
    free(fresh);
}

static bool begin_telling(struct sds_invalidator *invalidator) {
    pthread_mutex_lock(&invalidator->lock);
    bool begun = !invalidator->stop;
    invalidator->telling += begun;
    pthread_mutex_unlock(&invalidator->lock);
    return begun;
}

static void end_telling(struct sds_invalidator *invalidator) {
    pthread_mutex_lock(&invalidator->lock);
    invalidator->telling--;
    pthread_cond_broadcast(&invalidator->wake);
    pthread_mutex_unlock(&invalidator->lock);
}

int sds_write_back(struct sds_invalidator *invalidator, uint64_t ino) {
    if (!begin_telling(invalidator)) {
        return EINTR;
    }
    int e = tell(invalidator, ino);
    end_telling(invalidator);
    return e;
}
