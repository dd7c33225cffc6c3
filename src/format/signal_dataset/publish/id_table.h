// SPDX-License-Identifier: Apache-2.0
//
// From record ids to ordinals, for rows that give the id alone: 16 bytes a record, made by one scan
// over the metadata entries. Ids are told apart by 64 bits of their SHA-256; that a row's id is the
// record's, byte for byte, is checked once more where the row is used.
#ifndef SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ID_TABLE_H
#define SDSFS_FORMAT_SIGNAL_DATASET_PUBLISH_ID_TABLE_H

#include "base/json.h"

struct signal_dataset;
struct id_table;

// Kinds: NO_MEMORY, and those of reading an entry.
SDS_MUST_CHECK enum sds_kind id_table_make(struct signal_dataset *ds, struct id_table **out,
                                           struct sds_err *err);
void id_table_free(struct id_table *table); // NULL is fine

// The ordinal of the one record with this id, a string. INVALID, check "source_record_id", when
// there is none or more than one.
SDS_MUST_CHECK enum sds_kind id_table_find(const struct id_table *table, struct sds_value id,
                                           uint64_t *ordinal, struct sds_err *err);

#endif
