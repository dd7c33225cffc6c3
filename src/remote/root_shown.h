// SPDX-License-Identifier: Apache-2.0
//
// Roots in messages. Pure.
#ifndef SDSFS_REMOTE_ROOT_SHOWN_H
#define SDSFS_REMOTE_ROOT_SHOWN_H

#include <stddef.h>

// A root as it was typed (URI or path) as messages may show it: what could be a secret (user
// information, the query and the fragment of a URI, well-formed or not) is "***". Cut to size;
// returns buf.
char *sds_root_shown(const char *root, char *buf, size_t size);

// The same of anything that was typed, quoted (sds_quote) where it is not printable: a message
// stays one line, and a terminal is told nothing by it.
char *sds_typed_shown(const char *typed, char *buf, size_t size);

// For one-off use inside an argument list; lives to the end of the enclosing block.
#define SDS_ROOT_SHOWN_SIZE 4352 // a path and more
#define SDS_ROOT_SHOWN(root)                                                                       \
    sds_typed_shown((root), (char[SDS_ROOT_SHOWN_SIZE]){0}, SDS_ROOT_SHOWN_SIZE)

#endif
