// SPDX-License-Identifier: Apache-2.0
//
// Reference-counted byte blocks of a fixed size, for payloads that several readers share and that a
// reply may still be sending. A bounded number of freed large blocks is kept for the next one: a
// fresh mapping costs a page fault for each 4 KiB, as much as decompressing them.
// Safe from any thread; the bytes are written by the maker before the blob is shared and only read
// afterwards.
#ifndef SDSFS_BASE_BLOB_H
#define SDSFS_BASE_BLOB_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"

struct sds_blob {
    atomic_uint refs;
    size_t len;  // bytes asked for
    size_t cap;  // bytes there are; what a memory ledger should count
    uint8_t *at; // aligned for any type, large blocks to 64 bytes
};

// A blob with one reference and uninitialised bytes; NULL when there is no memory.
struct sds_blob *sds_blob_new(size_t len);
struct sds_blob *sds_blob_ref(struct sds_blob *blob);
void sds_blob_unref(struct sds_blob *blob); // NULL is fine
void sds_blob_release(void *blob); // the same for whoever lets go of what is no concern of its own

// Gives the kept blocks back to the system; called when the daemon is idle.
void sds_blob_trim(void);

static inline void sds_cleanup_blob(struct sds_blob **blob) {
    sds_blob_unref(*blob);
}
#define sds_autoblob __attribute__((cleanup(sds_cleanup_blob)))

#endif
