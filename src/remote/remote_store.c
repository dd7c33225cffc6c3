// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "remote/backend.h"

bool sds_remote_is_uri(const char *root) {
    static const char *const schemes[] = {"s3://", "gs://", "http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strncmp(root, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

enum sds_kind sds_remote_open(const char *root, const struct sds_store_options *options,
                              struct sds_store **out, struct sds_err *err) {
    (void)root, (void)options, (void)out;
    return sds_fail(err, SDS_ERR_UNSUPPORTED, "scheme", "this version reads local roots only");
}
