// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/aws.h"

// The order of AWS's own tools.
static const struct {
    sds_source source;
    bool of_environment; // which a profile that is asked for by the option goes before
} chain[] = {
    {sds_aws_environment, true}, {sds_aws_web_identity, true}, {sds_aws_profile, false},
    {sds_aws_container, false},  {sds_aws_instance, false},
};

enum sds_kind sds_find_s3(const struct sds_finding *finding, struct sds_found *found,
                          struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    for (size_t i = 0; i < sizeof chain / sizeof chain[0]; i++) {
        if (chain[i].of_environment && finding->options->profile != NULL) {
            continue;
        }
        kind = chain[i].source(finding, found, err);
        if (kind != SDS_OK || sds_found_there(found)) {
            return kind;
        }
    }
    found->credential.anonymous = true;
    sds_found_name(found, "nothing was found: anonymous");
    return SDS_OK;
}
