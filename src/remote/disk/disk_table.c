// SPDX-License-Identifier: Apache-2.0
//
// The segments that are open.
#include <errno.h>
#include <fcntl.h>

#include "remote/disk/disk_segment.h"

void sds_disk_table_init(struct sds_disk_table *table) {
    *table = (struct sds_disk_table){0};
    pthread_mutex_init(&table->lock, NULL);
}

void sds_disk_table_fini(struct sds_disk_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        sds_disk_segment_free(table->segments[i]);
    }
    pthread_mutex_destroy(&table->lock);
}

// --- under the lock

static bool same(const struct sds_disk_key *a, const struct sds_disk_key *b) {
    return a->number == b->number && memcmp(a->id, b->id, sizeof a->id) == 0;
}

static struct sds_disk_segment *find(struct sds_disk_table *table, const struct sds_disk_key *key) {
    for (size_t i = 0; i < table->count; i++) {
        struct sds_disk_segment *segment = table->segments[i];
        if (same(&segment->key, key)) {
            segment->refs++;
            segment->turn = ++table->turns;
            return segment;
        }
    }
    return NULL;
}

static void take_out(struct sds_disk_table *table, size_t i) {
    table->segments[i]->listed = false;
    table->segments[i] = table->segments[--table->count];
}

// Makes a place in a full table: the one wanted longest ago that nobody reads leaves it, and is the
// caller's to free. NULL when there is none to be had.
static struct sds_disk_segment *make_place(struct sds_disk_table *table) {
    size_t oldest = table->count;
    for (size_t i = 0; i < table->count; i++) {
        if (table->segments[i]->refs == 0 &&
            (oldest == table->count || table->segments[i]->turn < table->segments[oldest]->turn)) {
            oldest = i;
        }
    }
    if (oldest == table->count) {
        return NULL;
    }
    struct sds_disk_segment *segment = table->segments[oldest];
    take_out(table, oldest);
    return segment;
}

// --- what others call

static struct sds_disk_segment *open_one(struct sds_disk_dir *dir, const struct sds_disk_key *key) {
    struct sds_disk_root *root = sds_disk_dir_get(dir);
    if (root == NULL) {
        errno = ENOENT;
        return NULL;
    }
    struct stat st;
    struct sds_disk_segment *segment = sds_disk_segment_open(root, key, O_RDONLY, &st);
    int e = segment == NULL ? errno : sds_disk_segment_catch_up(segment);
    sds_disk_root_put(root);
    if (e != 0) {
        sds_disk_segment_free(segment);
        errno = e;
        return NULL;
    }
    segment->refs = 1;
    return segment;
}

struct sds_disk_segment *sds_disk_table_get(struct sds_disk_table *table, struct sds_disk_dir *dir,
                                            const struct sds_disk_key *key, bool *wrong) {
    pthread_mutex_lock(&table->lock);
    struct sds_disk_segment *segment = find(table, key);
    pthread_mutex_unlock(&table->lock);
    *wrong = false;
    if (segment != NULL) {
        return segment;
    }
    struct sds_disk_segment *opened = open_one(dir, key), *unused = NULL;
    if (opened == NULL) {
        *wrong = errno == EBADMSG;
        return NULL;
    }
    pthread_mutex_lock(&table->lock);
    segment = find(table, key); // somebody else opened it meanwhile
    if (segment != NULL) {
        unused = opened;
    } else {
        segment = opened;
        unused = table->count == SDS_DISK_OPEN ? make_place(table) : NULL;
        if (table->count < SDS_DISK_OPEN) {
            segment->listed = true;
            segment->turn = ++table->turns;
            table->segments[table->count++] = segment;
        }
    }
    pthread_mutex_unlock(&table->lock);
    sds_disk_segment_free(unused);
    return segment;
}

void sds_disk_table_put(struct sds_disk_table *table, struct sds_disk_segment *segment) {
    pthread_mutex_lock(&table->lock);
    bool last = --segment->refs == 0 && !segment->listed;
    pthread_mutex_unlock(&table->lock);
    if (last) {
        sds_disk_segment_free(segment);
    }
}

void sds_disk_table_drop(struct sds_disk_table *table, struct sds_disk_segment *segment) {
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->count; i++) {
        if (table->segments[i] == segment) {
            take_out(table, i);
            break;
        }
    }
    pthread_mutex_unlock(&table->lock);
}
