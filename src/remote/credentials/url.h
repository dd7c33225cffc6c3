// SPDX-License-Identifier: Apache-2.0
//
// Where a secret may be sent to, and texts for it: URLs of endpoints and forms. Pure.
#ifndef SDSFS_REMOTE_CREDENTIALS_URL_H
#define SDSFS_REMOTE_CREDENTIALS_URL_H

#include <stdbool.h>

#include "base/buf.h"

#define SDS_URL_MAX 2048 // bytes of a URL, with its NUL

enum sds_url_rule {
    SDS_URL_CHOSEN,    // the user's own choice: http or https, anywhere
    SDS_URL_SECURE,    // https, or http to this machine itself
    SDS_URL_CONTAINER, // also http to the addresses that ECS and EKS document
    SDS_URL_METADATA,  // also http to the addresses of machines' metadata services
};
// Whether url is a plain http(s) URL that the rule allows: INVALID with the reason, which shows the
// URL's host at most. Check "credentials".
SDS_MUST_CHECK enum sds_kind sds_url_check(const char *url, enum sds_url_rule rule,
                                           struct sds_err *err);
// Whether the host of a URL is domain or ends with "." and domain.
bool sds_url_is_of(const char *url, const char *domain);
// "base/path" with one slash between them; false when it does not fit.
bool sds_url_join(const char *base, const char *path, char *out, size_t size);

// Appends "name=value", percent-encoded, behind an "&" unless it is the first. Kinds of sds_buf.
SDS_MUST_CHECK enum sds_kind sds_form_add(struct sds_buf *form, const char *name,
                                          const char *value);
// The value alone, percent-encoded but for letters, digits and "-_.~".
SDS_MUST_CHECK enum sds_kind sds_form_encode(struct sds_buf *out, struct sds_span value);

#endif
