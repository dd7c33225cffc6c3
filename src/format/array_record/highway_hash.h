// SPDX-License-Identifier: Apache-2.0
//
// HighwayHash-64 under the fixed key of Riegeli/records files (docs/formats/array-record.md,
// section 2). Incremental, since block headers interrupt what is hashed.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_HIGHWAY_HASH_H
#define SDSFS_FORMAT_ARRAY_RECORD_HIGHWAY_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SDS_HIGHWAY_PACKET 32 // bytes a round takes

struct sds_highway {
    uint64_t v0[4], v1[4], mul0[4], mul1[4];
    uint8_t pending[SDS_HIGHWAY_PACKET]; // input that does not fill a packet yet
    size_t pending_len;
};

void sds_highway_init(struct sds_highway *hash);
void sds_highway_update(struct sds_highway *hash, const void *data, size_t len);
uint64_t sds_highway_final(struct sds_highway *hash); // hash has to be initialised again afterwards

// The hash of one run of bytes.
uint64_t sds_highway_hash(const void *data, size_t len);

// The rounds over whole packets, once for every machine and once for those with AVX2; update
// chooses. Here so that a test can hold the one against the other.
void sds_highway_rounds_portable(struct sds_highway *hash, const uint8_t *packets, size_t count);
#if defined(__x86_64__)
void sds_highway_rounds_avx2(struct sds_highway *hash, const uint8_t *packets, size_t count);
#endif

#endif
