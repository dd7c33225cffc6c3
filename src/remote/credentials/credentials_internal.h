// SPDX-License-Identifier: Apache-2.0
//
// Credentials with another way of finding them and another clock, for the tests.
#ifndef SDSFS_REMOTE_CREDENTIALS_CREDENTIALS_INTERNAL_H
#define SDSFS_REMOTE_CREDENTIALS_CREDENTIALS_INTERNAL_H

#include "remote/credentials/finding.h"

struct sds_credentials_setup {
    const struct sds_remote_options *options;
    struct sds_http *http;
    sds_source find;      // NULL: anonymous
    int64_t (*now)(void); // seconds since the epoch
    uint64_t (*clock_ms)(void);
};
SDS_MUST_CHECK enum sds_kind sds_credentials_new(const struct sds_credentials_setup *setup,
                                                 struct sds_credentials **out, struct sds_err *err);

#endif
