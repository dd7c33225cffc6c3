// SPDX-License-Identifier: Apache-2.0
//
// Open segments (disk_index.h) and reading them. A bounded table keeps those that were read last
// open, so that a read of one of them is one pread. Others (threads, processes) write to the same
// files: what a segment does not know it looks for behind the last entry that it knows. Safe from
// any thread; nothing is read under the table's lock, and no more than new entries under the lock
// of a segment.
#ifndef SDSFS_REMOTE_DISK_SEGMENT_H
#define SDSFS_REMOTE_DISK_SEGMENT_H

#include "remote/disk/disk_dir.h"

struct sds_disk_segment {
    struct sds_disk_key key;
    int fd;
    ino_t inode;
    unsigned refs; // under the table's lock
    bool listed;   // in the table
    uint64_t turn; // of the table, when it was last wanted
    _Atomic uint64_t touched_ms;
    pthread_mutex_t lock; // of index
    struct sds_disk_index index;
};

// Opens a segment that is there, or with O_CREAT (which looks at no header) makes it. NULL: errno
// says why not; ENODATA: it has no header yet, EBADMSG: the header of something else. st: as
// opened.
struct sds_disk_segment *sds_disk_segment_open(const struct sds_disk_root *root,
                                               const struct sds_disk_key *key, int flags,
                                               struct stat *st);
void sds_disk_segment_free(struct sds_disk_segment *segment); // NULL is fine
// Takes in the entries that were added since. EIO, ENOMEM or 0.
int sds_disk_segment_catch_up(struct sds_disk_segment *segment);
// Whether its file was removed.
bool sds_disk_segment_gone(const struct sds_disk_segment *segment);

#define SDS_DISK_OPEN 128

struct sds_disk_table {
    pthread_mutex_t lock;
    uint64_t turns;
    size_t count;
    struct sds_disk_segment *segments[SDS_DISK_OPEN];
};

void sds_disk_table_init(struct sds_disk_table *table);
void sds_disk_table_fini(struct sds_disk_table *table);
// A segment to be read, put back afterwards. NULL: it is not there, or it is wrong and should be
// removed.
struct sds_disk_segment *sds_disk_table_get(struct sds_disk_table *table, struct sds_disk_dir *dir,
                                            const struct sds_disk_key *key, bool *wrong);
void sds_disk_table_put(struct sds_disk_table *table, struct sds_disk_segment *segment);
// Takes it out of the table, so that the next one to want it opens the file anew.
void sds_disk_table_drop(struct sds_disk_table *table, struct sds_disk_segment *segment);

enum sds_disk_found {
    SDS_DISK_HIT,
    SDS_DISK_MISS,
    SDS_DISK_BAD, // a checksum is wrong, or the disk does not give the bytes back
};

// Copies bytes [off, off + len) of a segment.
enum sds_disk_found sds_disk_segment_read(struct sds_disk_segment *segment, uint32_t off, void *buf,
                                          uint32_t len);
// The first run in [off, end); false: none.
bool sds_disk_segment_next(struct sds_disk_segment *segment, uint32_t off, uint32_t end,
                           uint32_t *start, uint32_t *stop);

#endif
