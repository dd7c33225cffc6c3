// SPDX-License-Identifier: Apache-2.0
//
// Remembers the version under which each object was first seen, for as long as a store is open: 16
// bytes an object, so a replaced object is noticed however long ago it was read.
// Safe from any thread.
#ifndef SDSFS_REMOTE_PINS_H
#define SDSFS_REMOTE_PINS_H

#include <stdbool.h>
#include <stdint.h>

struct sds_pins;

struct sds_pins *sds_pins_new(void); // NULL without memory
void sds_pins_free(struct sds_pins *pins);

// True when the object (a 64-bit hash of its name) was not seen before or had this version; false
// when it is another one now. Without memory, or beyond SDS_PINS_MAX objects, new objects go
// unremembered.
bool sds_pins_check(struct sds_pins *pins, uint64_t object, uint64_t version);

// Whether the object was seen before, and had this version. Remembers nothing.
bool sds_pins_has(struct sds_pins *pins, uint64_t object, uint64_t version);

// The version with which it was seen; false when it was not. Remembers nothing.
bool sds_pins_get(struct sds_pins *pins, uint64_t object, uint64_t *version);

// Remembers this version from now on, whatever was seen before: we made the object ourselves.
void sds_pins_set(struct sds_pins *pins, uint64_t object, uint64_t version);

#define SDS_PINS_MAX (4u << 20) // 64 MiB

#endif
