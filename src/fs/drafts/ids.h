// SPDX-License-Identifier: Apache-2.0
//
// What the kernel holds of the drafts: a number for each name it was told, until it forgets it. A
// number is never used twice in the life of a mount. Nothing but the name is kept (no descriptor),
// so that a draft of a hundred thousand files costs what the kernel spends on it, and a name that
// moves takes all below it along.
//
// A name that is removed while somebody has the file open leaves its number behind, with a
// descriptor of the file, as far as there are not too many of them. Safe from any thread.
#ifndef SDSFS_FS_DRAFTS_IDS_H
#define SDSFS_FS_DRAFTS_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

#define SDS_IDS_TOP 0 // the directory of all drafts, always held

struct sds_ids;

struct sds_ids *sds_ids_new(void); // NULL: no memory
void sds_ids_free(struct sds_ids *ids);

// The number of a name, one lookup more taken. ESTALE when the directory is not held, ENOMEM.
SDS_MUST_CHECK int sds_ids_hold(struct sds_ids *ids, uint64_t dir, struct sds_span name,
                                uint64_t *id);
// A number for this look-up alone, which no other one of the name is given. ESTALE, ENOMEM.
SDS_MUST_CHECK int sds_ids_hold_alone(struct sds_ids *ids, uint64_t dir, struct sds_span name,
                                      uint64_t *id);
// One lookup more of a number, or of the directory it lies in. ESTALE when it is not held.
SDS_MUST_CHECK int sds_ids_hold_self(struct sds_ids *ids, uint64_t id);
SDS_MUST_CHECK int sds_ids_hold_parent(struct sds_ids *ids, uint64_t id, uint64_t *parent);
void sds_ids_drop(struct sds_ids *ids, uint64_t id, uint64_t count);

// Appends the path, without a NUL; nothing for the top. ESTALE when the number is not held, or its
// name is gone; ENAMETOOLONG, ENOMEM.
SDS_MUST_CHECK int sds_ids_path(struct sds_ids *ids, uint64_t id, struct sds_buf *out);

// Appends the numbers (uint64_t) of what a path leads to and of all that is in it, at any depth, as
// far as they are held; but for those of one look-up alone. ENOMEM.
SDS_MUST_CHECK int sds_ids_below(struct sds_ids *ids, const char *path, struct sds_buf *out);

bool sds_ids_is_held(struct sds_ids *ids, uint64_t dir, struct sds_span name);
// The name is gone. fd, or -1, is a descriptor of the file for those who still have it open; taken
// over.
void sds_ids_remove(struct sds_ids *ids, uint64_t dir, struct sds_span name, int fd);
// The same for what a path leads to.
void sds_ids_remove_path(struct sds_ids *ids, const char *path, int fd);
// A descriptor of a file whose name is gone, to be closed by the caller; -1 when there is none.
int sds_ids_orphan(struct sds_ids *ids, uint64_t id);
// A name has moved; what stood at the new one was removed before. ENOMEM: the number is stale now.
void sds_ids_move(struct sds_ids *ids, uint64_t dir, struct sds_span name, uint64_t new_dir,
                  struct sds_span new_name);

size_t sds_ids_count(struct sds_ids *ids); // numbers held, but for the top

#endif
