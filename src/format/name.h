// SPDX-License-Identifier: Apache-2.0
//
// Names taken from data as directory entries (docs/tree.md): "%XX" for '/', '%', control bytes and
// a leading '.'; "%" for an empty name; names that would pass 255 bytes are cut at a character
// boundary and end in "~" and 16 hex digits of the SHA-256 of the unencoded name. Different names
// get different entries, but for one case that only a hostile dataset makes: a name that imitates
// the cut form of a long one. Look-ups then find the imitation, the long field is reached through
// its record.
#ifndef SDSFS_FORMAT_NAME_H
#define SDSFS_FORMAT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define SDS_NAME_MAX 255

// Writes the entry for name followed by suffix (plain ASCII) to out, NUL-terminated; returns its
// length.
size_t sds_name_encode(struct sds_span name, const char *suffix, char out[SDS_NAME_MAX + 1]);

// Digits of the numbers of count things, as the tree writes them: those of the last one, six at
// least, so that names sort in order.
unsigned sds_number_width(uint64_t count);

// A portable identifier, the name of a set, a publication or a worker's shard: the whole string
// matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}.
bool sds_is_portable(struct sds_span text);

#endif
