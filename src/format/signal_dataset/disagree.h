// SPDX-License-Identifier: Apache-2.0
//
// A record is described twice: by the descriptor in its payload and by its metadata entry. Nothing
// in the format makes them agree; this tells where they do not.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_DISAGREE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_DISAGREE_H

#include "format/signal_dataset/record.h"

// Calls tell for each difference; what is one printable line.
SDS_MUST_CHECK enum sds_kind disagreements(const struct sds_record *payload,
                                           const struct sds_record *entry,
                                           void (*tell)(void *ctx, const char *what), void *ctx);

#endif
