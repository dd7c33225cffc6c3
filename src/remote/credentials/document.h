// SPDX-License-Identifier: Apache-2.0
//
// The documents that sources of credentials answer with, read into a credential: of AWS's metadata
// services, of a credential process, of SSO and STS, of Google's token endpoints. All of it is
// taken as hostile: bounded, typed, and nothing of it is repeated in a message but an error's code
// where that is a plain word. Pure.
#ifndef SDSFS_REMOTE_CREDENTIALS_DOCUMENT_H
#define SDSFS_REMOTE_CREDENTIALS_DOCUMENT_H

#include "base/json.h"
#include "remote/credentials/credentials.h"

#define SDS_DOCUMENT_BYTES_MAX ((size_t)256 << 10)

// Parses JSON from outside, which has to be an object. err says what is wrong, but shows nothing of
// the text. Kinds: INVALID, LIMIT, NO_MEMORY; check "credentials".
SDS_MUST_CHECK enum sds_kind sds_document_parse(struct sds_span text, struct sds_json **out,
                                                struct sds_err *err);

// A member that is a printable ASCII text of less than size bytes and not empty.
enum sds_field { SDS_FIELD_ABSENT /* or null, or "" */, SDS_FIELD_OK, SDS_FIELD_BAD };
enum sds_field sds_document_text(struct sds_value object, const char *key, char *out, size_t size);
// The same for one that has to be there: INVALID, which names the key.
SDS_MUST_CHECK enum sds_kind sds_document_need(struct sds_value object, const char *key, char *out,
                                               size_t size, struct sds_err *err);

// Takes the three texts (token may be empty) if they can be keys: printable, no spaces at the ends
// or in id and token, and short enough. Else INVALID, which says which one is not.
SDS_MUST_CHECK enum sds_kind sds_document_keys(struct sds_span key_id, struct sds_span secret,
                                               struct sds_span token, struct sds_credential *out,
                                               struct sds_err *err);

// The readers. *out is zeroed but for what was read. Kinds: INVALID, LIMIT, NO_MEMORY.
enum sds_document {
    SDS_DOCUMENT_METADATA,     // {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"}
    SDS_DOCUMENT_PROCESS,      // {"Version": 1, ..., "SessionToken", "Expiration"}
    SDS_DOCUMENT_SSO,          // {"roleCredentials": {"accessKeyId", ..., "expiration": ms}}
    SDS_DOCUMENT_STS,          // XML with <Credentials>
    SDS_DOCUMENT_TOKEN,        // {"access_token", "expires_in"}
    SDS_DOCUMENT_IMPERSONATED, // {"accessToken", "expireTime"}
};
SDS_MUST_CHECK enum sds_kind sds_document_read(enum sds_document form, struct sds_span text,
                                               int64_t now, struct sds_credential *out,
                                               struct sds_err *err);

// The code that an error document carries ("AccessDenied", "invalid_grant"), JSON or XML; "" when
// there is none that is a plain word. Returns buf.
char *sds_document_error(struct sds_span text, char *buf, size_t size);

#endif
