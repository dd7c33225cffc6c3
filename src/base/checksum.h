// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli), as Google Cloud Storage has it. Pure, any thread.
#ifndef SDSFS_BASE_CHECKSUM_H
#define SDSFS_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// Of bytes that come in pieces: 0 before the first, then what came out of the piece before.
uint32_t sds_crc32c(uint32_t crc, const void *bytes, size_t len);

// The same without the processor's instruction for it; for tests and for processors without.
uint32_t sds_crc32c_portable(uint32_t crc, const void *bytes, size_t len);

#endif
