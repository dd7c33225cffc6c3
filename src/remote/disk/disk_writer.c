// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define QUEUE_ITEMS 4096
#define RETRY_MS 30000
#define CLOSE_MS 2000 // for what is queued
#define LEAVE_MS 1000 // for what is being written, after that
#define FORGOTTEN_MAX 1024
#define FORGET_TRIES 25 // others may be writing to the file
#define FORGET_PAUSE_MS 20

struct item {
    struct item *next;
    enum { WRITE, NOTE, REMOVE, FORGET } what;
    size_t cost;                   // in the queue's bytes
    struct sds_disk_object object; // WRITE
    uint64_t off;
    struct sds_blob *blob;
    size_t pos, len;
    struct sds_disk_key key; // REMOVE, FORGET
    ino_t inode;
    struct sds_disk_note note;
};

struct sds_disk_writer {
    pthread_t thread;
    struct sds_disk_dir *dir;  // owned
    pthread_mutex_t tell_lock; // held while somebody is told
    void (*tell)(void *ctx, const struct sds_err *why);
    void *ctx;
    uint32_t retry_ms;
    struct sds_disk_store store; // of the thread, as is what follows
    uint64_t retry_at;           // when the directory does not work; 0: it does, or is not known

    pthread_mutex_t lock; // of all that follows; never held across I/O
    pthread_cond_t more;  // something is queued, or it is to end
    pthread_cond_t less;  // something was taken from the queue and done, or the thread has ended
    struct item *first, **last;
    size_t items, bytes;
    uint64_t queued, done; // items, so far
    uint64_t writes;       // of them
    bool closing, ended, left;
    uint64_t close_by;
    bool works;
    uint64_t rest_until; // until then nothing is queued
    // Segments to be removed that count as absent, once for each time they were forgotten; more
    // than there is room for: all do.
    struct forgotten {
        struct sds_disk_key key;
        uint64_t writes; // that were queued before
    } forgotten[FORGOTTEN_MAX];
    atomic_uint forgotten_count; // changes under the lock
    struct sds_disk_stats stats;
};

// --- whether it works

static void tell(struct sds_disk_writer *writer, const struct sds_err *why) {
    pthread_mutex_lock(&writer->tell_lock);
    if (writer->tell != NULL) {
        writer->tell(writer->ctx, why);
    }
    pthread_mutex_unlock(&writer->tell_lock);
}

// What is dropped for want of room or because somebody else was there is no failure.
static bool harmless(enum sds_kind kind) {
    return kind == SDS_OK || kind == SDS_ERR_LIMIT || kind == SDS_ERR_CONFLICT;
}

static void judge(struct sds_disk_writer *writer, enum sds_kind kind, struct sds_err *err) {
    bool works = harmless(kind);
    uint64_t until = works ? 0 : sds_clock_ms() + writer->retry_ms;
    pthread_mutex_lock(&writer->lock);
    bool news = writer->works != works;
    writer->works = works;
    writer->rest_until = until;
    writer->stats.used_bytes = writer->store.room.ledger.used;
    writer->stats.evicted = writer->store.room.evicted;
    pthread_mutex_unlock(&writer->lock);
    writer->retry_at = until;
    if (news) {
        if (!works) {
            sds_err_object(err, "%s", SDS_QUOTE(writer->dir->path, strlen(writer->dir->path)));
        }
        tell(writer, works ? NULL : err);
    }
}

// --- doing what is queued

static enum sds_kind write_item(struct sds_disk_writer *writer, const struct item *item,
                                uint64_t *written, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t done = 0, part; done < item->len && harmless(kind); done += part) {
        uint64_t at = item->off + done;
        uint32_t off = (uint32_t)(at % SDS_DISK_SEGMENT), wrote;
        part =
            item->len - done < SDS_DISK_SEGMENT - off ? item->len - done : SDS_DISK_SEGMENT - off;
        struct sds_disk_key key = {.number = at / SDS_DISK_SEGMENT};
        memcpy(key.id, item->object.id, sizeof key.id);
        struct sds_span bytes = sds_span(item->blob->at + item->pos + done, part);
        kind = sds_disk_store_write(&writer->store, &key, off, bytes, &wrote, err);
        *written += kind == SDS_OK ? part : 0;
    }
    return kind;
}

static enum sds_kind remove_item(struct sds_disk_writer *writer, const struct item *item,
                                 struct sds_err *err) {
    char path[SDS_DISK_PATH];
    uint64_t freed = 0;
    sds_disk_path(&item->key, path);
    enum sds_kind kind = sds_disk_room_remove(&writer->store.room, sds_disk_dir_of(&item->key),
                                              path, item->inode, &freed, err);
    pthread_mutex_lock(&writer->lock);
    writer->stats.corrupt += freed > 0;
    pthread_mutex_unlock(&writer->lock);
    return kind;
}

static bool same_key(const struct sds_disk_key *a, const struct sds_disk_key *b) {
    return a->number == b->number && memcmp(a->id, b->id, sizeof a->id) == 0;
}

// Where a key is among the forgotten ones; FORGOTTEN_MAX: nowhere. Under the lock.
static unsigned forgotten_at(const struct sds_disk_writer *writer, const struct sds_disk_key *key) {
    unsigned count = writer->forgotten_count, i = 0;
    count = count < FORGOTTEN_MAX ? count : FORGOTTEN_MAX;
    while (i < count && !same_key(&writer->forgotten[i].key, key)) {
        i++;
    }
    return i < count ? i : FORGOTTEN_MAX;
}

// One that cannot be removed stays forgotten.
static enum sds_kind forget_item(struct sds_disk_writer *writer, const struct item *item,
                                 struct sds_err *err) {
    char path[SDS_DISK_PATH];
    uint64_t freed = 0;
    sds_disk_path(&item->key, path);
    enum sds_kind kind = SDS_ERR_CONFLICT;
    for (int i = 0; kind == SDS_ERR_CONFLICT && i < FORGET_TRIES; i++) {
        if (i > 0) {
            nanosleep(&(struct timespec){.tv_nsec = FORGET_PAUSE_MS * 1000000L}, NULL);
        }
        kind = sds_disk_room_remove(&writer->store.room, sds_disk_dir_of(&item->key), path, 0,
                                    &freed, err);
    }
    pthread_mutex_lock(&writer->lock);
    writer->stats.forgotten += freed > 0;
    unsigned at = forgotten_at(writer, &item->key);
    if (kind == SDS_OK && at < FORGOTTEN_MAX && writer->forgotten_count <= FORGOTTEN_MAX) {
        writer->forgotten[at] = writer->forgotten[writer->forgotten_count - 1];
        writer->forgotten_count--;
    }
    pthread_mutex_unlock(&writer->lock);
    return kind;
}

static void run(struct sds_disk_writer *writer, const struct item *item) {
    uint64_t written = 0;
    if (writer->retry_at == 0 || sds_clock_ms() >= writer->retry_at) {
        struct sds_err err;
        enum sds_kind kind = sds_disk_room_open(&writer->store.room, &err);
        if (kind == SDS_OK) {
            kind = item->what == WRITE ? write_item(writer, item, &written, &err)
                   : item->what == NOTE
                       ? sds_disk_notes_keep(&writer->store.room, &item->note, &err)
                   : item->what == REMOVE ? remove_item(writer, item, &err)
                                          : forget_item(writer, item, &err);
        }
        judge(writer, kind, &err);
    }
    pthread_mutex_lock(&writer->lock);
    writer->stats.written_bytes += written;
    writer->stats.dropped_bytes += item->len - written;
    pthread_mutex_unlock(&writer->lock);
}

static void item_free(struct item *item) {
    sds_blob_unref(item->blob);
    free(item);
}

// The next item; NULL: the end. Under the lock.
static struct item *next(struct sds_disk_writer *writer) {
    while (writer->first == NULL && !writer->closing) {
        pthread_cond_wait(&writer->more, &writer->lock);
    }
    struct item *item = writer->first;
    if (item == NULL || (writer->closing && sds_clock_ms() >= writer->close_by)) {
        return NULL;
    }
    writer->first = item->next;
    if (writer->first == NULL) {
        writer->last = &writer->first;
    }
    return item;
}

static void writer_destroy(struct sds_disk_writer *writer) {
    for (struct item *item = writer->first, *after; item != NULL; item = after) {
        after = item->next;
        item_free(item);
    }
    sds_disk_store_fini(&writer->store);
    sds_disk_dir_fini(writer->dir);
    free(writer->dir);
    pthread_cond_destroy(&writer->more);
    pthread_cond_destroy(&writer->less);
    pthread_mutex_destroy(&writer->lock);
    pthread_mutex_destroy(&writer->tell_lock);
    free(writer);
}

static void *work(void *arg) {
    struct sds_disk_writer *writer = arg;
    pthread_mutex_lock(&writer->lock);
    for (struct item *item; (item = next(writer)) != NULL;) {
        pthread_mutex_unlock(&writer->lock);
        run(writer, item);
        size_t cost = item->cost;
        item_free(item);
        pthread_mutex_lock(&writer->lock);
        writer->items--;
        writer->bytes -= cost;
        writer->done++;
        pthread_cond_broadcast(&writer->less);
    }
    writer->ended = true;
    bool left = writer->left;
    pthread_cond_broadcast(&writer->less);
    pthread_mutex_unlock(&writer->lock);
    if (left) {
        writer_destroy(writer);
    }
    return NULL;
}

// --- queueing

// Takes the item over.
static void queue(struct sds_disk_writer *writer, struct item *item) {
    pthread_mutex_lock(&writer->lock);
    // What is to be forgotten has to be removed, and takes no room to speak of.
    bool fits =
        !writer->closing &&
        ((item->what == FORGET && writer->items < 2 * QUEUE_ITEMS) ||
         (writer->items < QUEUE_ITEMS && item->cost <= SDS_DISK_QUEUE_BYTES - writer->bytes &&
          (writer->rest_until == 0 || sds_clock_ms() >= writer->rest_until)));
    if (fits) {
        *writer->last = item;
        writer->last = &item->next;
        writer->items++;
        writer->bytes += item->cost;
        writer->queued++;
        writer->writes += item->what == WRITE;
        pthread_cond_signal(&writer->more);
    } else {
        writer->stats.dropped_bytes += item->len;
    }
    pthread_mutex_unlock(&writer->lock);
    if (!fits) {
        item_free(item);
    }
}

void sds_disk_writer_write(struct sds_disk_writer *writer, const struct sds_disk_object *object,
                           uint64_t off, struct sds_blob *blob, size_t pos, size_t len) {
    struct item *item = calloc(1, sizeof *item);
    if (item != NULL) {
        item->what = WRITE;
        item->cost = blob->cap;
        item->object = *object;
        item->off = off;
        item->blob = sds_blob_ref(blob);
        item->pos = pos;
        item->len = len;
        queue(writer, item);
    }
}

void sds_disk_writer_note(struct sds_disk_writer *writer, const struct sds_disk_note *note) {
    struct item *item = calloc(1, sizeof *item);
    if (item != NULL) {
        item->what = NOTE;
        item->note = *note;
        queue(writer, item);
    }
}

void sds_disk_writer_remove(struct sds_disk_writer *writer, const struct sds_disk_key *key,
                            ino_t inode) {
    struct item *item = calloc(1, sizeof *item);
    if (item != NULL) {
        item->what = REMOVE;
        item->key = *key;
        item->inode = inode;
        queue(writer, item);
    }
}

// False when it is to be removed already, and nothing can have been written since. Under the lock.
static bool add_forgotten(struct sds_disk_writer *writer, const struct sds_disk_key *key) {
    unsigned count = writer->forgotten_count;
    for (unsigned i = 0; i < count && i < FORGOTTEN_MAX; i++) {
        const struct forgotten *one = &writer->forgotten[i];
        if (one->writes == writer->writes && same_key(&one->key, key)) {
            return false;
        }
    }
    if (count < FORGOTTEN_MAX) {
        writer->forgotten[count] = (struct forgotten){.key = *key, .writes = writer->writes};
    }
    writer->forgotten_count = count < FORGOTTEN_MAX ? count + 1 : FORGOTTEN_MAX + 1;
    return true;
}

void sds_disk_writer_forget(struct sds_disk_writer *writer, const struct sds_disk_key *key) {
    pthread_mutex_lock(&writer->lock);
    bool added = add_forgotten(writer, key);
    pthread_mutex_unlock(&writer->lock);
    struct item *item = added ? calloc(1, sizeof *item) : NULL;
    if (item != NULL) {
        item->what = FORGET;
        item->key = *key;
        queue(writer, item);
    }
}

bool sds_disk_writer_forgot(struct sds_disk_writer *writer, const struct sds_disk_key *key) {
    if (writer->forgotten_count == 0) {
        return false;
    }
    pthread_mutex_lock(&writer->lock);
    bool is = writer->forgotten_count > FORGOTTEN_MAX || forgotten_at(writer, key) < FORGOTTEN_MAX;
    pthread_mutex_unlock(&writer->lock);
    return is;
}

void sds_disk_writer_resize(struct sds_disk_writer *writer, uint64_t size) {
    sds_disk_room_resize(&writer->store.room, size);
}

void sds_disk_writer_flush(struct sds_disk_writer *writer) {
    pthread_mutex_lock(&writer->lock);
    uint64_t until = writer->queued;
    while (writer->done < until && !writer->ended) {
        pthread_cond_wait(&writer->less, &writer->lock);
    }
    pthread_mutex_unlock(&writer->lock);
}

void sds_disk_writer_stats(struct sds_disk_writer *writer, struct sds_disk_stats *out) {
    pthread_mutex_lock(&writer->lock);
    *out = writer->stats;
    out->working = writer->works;
    pthread_mutex_unlock(&writer->lock);
}

// --- beginning and end

static void init_locks(struct sds_disk_writer *writer) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&writer->tell_lock, NULL);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->more, NULL);
    pthread_cond_init(&writer->less, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct sds_disk_writer *sds_disk_writer_new(struct sds_disk_dir *dir,
                                            const struct sds_disk_options *options) {
    struct sds_disk_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        sds_disk_dir_fini(dir);
        free(dir);
        return NULL;
    }
    writer->dir = dir;
    writer->tell = options->tell;
    writer->ctx = options->ctx;
    writer->retry_ms = options->retry_ms > 0 ? options->retry_ms : RETRY_MS;
    writer->last = &writer->first;
    writer->works = true;
    init_locks(writer);
    sds_disk_store_init(&writer->store, dir, options->size);
    // That the directory does not work is better known before the first write.
    struct sds_err err;
    judge(writer, sds_disk_room_open(&writer->store.room, &err), &err);
    if (pthread_create(&writer->thread, NULL, work, writer) != 0) {
        writer_destroy(writer);
        return NULL;
    }
    return writer;
}

void sds_disk_writer_free(struct sds_disk_writer *writer) {
    pthread_mutex_lock(&writer->tell_lock); // nobody is told any more
    writer->tell = NULL;
    pthread_mutex_unlock(&writer->tell_lock);
    pthread_mutex_lock(&writer->lock);
    writer->closing = true;
    writer->close_by = sds_clock_ms() + CLOSE_MS;
    pthread_cond_broadcast(&writer->more);
    uint64_t by = writer->close_by + LEAVE_MS;
    struct timespec until = {.tv_sec = (time_t)(by / 1000), .tv_nsec = (long)(by % 1000) * 1000000};
    int waited = 0;
    while (!writer->ended && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&writer->less, &writer->lock, &until);
    }
    bool ended = writer->ended;
    pthread_t thread = writer->thread;
    writer->left = !ended;
    pthread_mutex_unlock(&writer->lock);
    if (ended) {
        pthread_join(thread, NULL);
        writer_destroy(writer);
    } else {
        pthread_detach(thread);
    }
}
