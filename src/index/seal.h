// SPDX-License-Identifier: Apache-2.0
//
// A seal: what a kept text file says behind its content about what it is and what its bytes are. So
// one that was cut or damaged, or put there by something else, is not taken for it. The content is
// shown without its seal.
#ifndef SDSFS_INDEX_SEAL_H
#define SDSFS_INDEX_SEAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/hash.h"

// Appends the seal to what was written to fd; content: the digest of all of that, which takes no
// more bytes afterwards. identity: the same for nothing else. Kind: STORAGE (check "index").
SDS_MUST_CHECK enum sds_kind sds_seal_write(int fd, const char identity[SDS_SHA256_HEX],
                                            struct sds_digest *content, struct sds_err *err);

// Whether fd holds a content under its seal; *size: the bytes of the content. Reads all of it;
// false once *stop is set (NULL: never).
bool sds_seal_holds(int fd, const char identity[SDS_SHA256_HEX], const atomic_bool *stop,
                    uint64_t *size);

#endif
