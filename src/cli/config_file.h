// SPDX-License-Identifier: Apache-2.0
//
// Configuration files: a section "[mount]" with lines "name = value", or "name" alone. A line that
// begins with # or ; is a comment, and so is what follows a # after a blank. A value with such a #,
// or with blanks at its ends, stands in double quotes, where \" and \\ stand for " and \.
#ifndef SDSFS_CLI_CONFIG_FILE_H
#define SDSFS_CLI_CONFIG_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"

#define SDS_CONFIG_BYTES_MAX ((size_t)1 << 20)

// One setting; value NULL: the name stood alone. False, with why, when it is none.
typedef bool (*sds_config_fn)(void *ctx, unsigned line, const char *name, const char *value,
                              char *why, size_t size);

// Each setting in its order. A false return says in why what is wrong and where: "PATH:LINE: ...".
bool sds_config_parse(const char *path, struct sds_span text, sds_config_fn take, void *ctx,
                      char *why, size_t size);
// The same for a file. optional: one that is not there says nothing.
bool sds_config_read(const char *path, bool optional, sds_config_fn take, void *ctx, char *why,
                     size_t size);

// Appends a value so that it is read as what it is, in quotes where it needs them (but for line
// feeds, which no value can have: "?"). Kinds: LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_config_write_value(const char *value, struct sds_buf *out);

#endif
