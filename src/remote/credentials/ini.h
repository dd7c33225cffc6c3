// SPDX-License-Identifier: Apache-2.0
//
// The dialect of INI that AWS's shared configuration files are written in, read as botocore reads
// it: "[section]", "key = value" or "key: value", lines that begin with # or ; are comments, keys
// in any case. A line that is indented deeper than its property's belongs to it: "sub = value"
// below a property without a value is nested in it. Unlike botocore sections that stand twice are
// one, and the last of equal keys holds. Pure; the document holds secrets and is wiped when freed.
#ifndef SDSFS_REMOTE_CREDENTIALS_INI_H
#define SDSFS_REMOTE_CREDENTIALS_INI_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

#define SDS_INI_BYTES_MAX ((size_t)1 << 20)
#define SDS_INI_LINES_MAX 20000

struct sds_ini;

// *out is the caller's and needs text no longer. Kinds: INVALID (check "ini": which line is
// neither), LIMIT, NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_ini_parse(struct sds_span text, struct sds_ini **out,
                                           struct sds_err *err);
void sds_ini_free(struct sds_ini *ini); // NULL is fine

// A section "[type name]", where name may stand in quotes; with type NULL "[name]".
struct sds_ini_section {
    const char *type, *name;
};
bool sds_ini_has(const struct sds_ini *ini, struct sds_ini_section section);

enum sds_ini_answer { SDS_INI_ABSENT, SDS_INI_FOUND, SDS_INI_SEVERAL_LINES /* no single value */ };
// The value of a key (lower case), which points into the document; of sub inside it, unless NULL.
enum sds_ini_answer sds_ini_get(const struct sds_ini *ini, struct sds_ini_section section,
                                const char *key, const char *sub, struct sds_span *out);

#endif
