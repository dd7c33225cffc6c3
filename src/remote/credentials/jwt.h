// SPDX-License-Identifier: Apache-2.0
//
// JSON Web Tokens that are signed with an RSA key (RS256), as a service account asks for its token.
// Pure.
#ifndef SDSFS_REMOTE_CREDENTIALS_JWT_H
#define SDSFS_REMOTE_CREDENTIALS_JWT_H

#include "base/buf.h"

struct sds_jwt {
    const char *key_id; // "" none
    const char *issuer, *audience, *scope;
    int64_t issued, expires; // seconds since the epoch
};
// Appends "header.claims.signature". key is PEM, without a pass phrase. Texts are printable ASCII.
// Kinds: INVALID (no such key), LIMIT, NO_MEMORY; check "credentials"; nothing of the key is shown.
SDS_MUST_CHECK enum sds_kind sds_jwt_sign(const struct sds_jwt *jwt, struct sds_span key,
                                          struct sds_buf *out, struct sds_err *err);

#endif
