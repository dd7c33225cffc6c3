// SPDX-License-Identifier: Apache-2.0
//
// The state machine of a transposed chunk, as its header block describes it
// (docs/formats/array-record.md, section 7). A machine that was opened has all its indices in range
// and no cycle that is run through without a transition byte.
#ifndef SDSFS_FORMAT_ARRAY_RECORD_MACHINE_H
#define SDSFS_FORMAT_ARRAY_RECORD_MACHINE_H

#include "base/err.h"
#include "format/array_record/cursor.h"

enum sds_ar_action {
    SDS_AR_NOTHING,
    SDS_AR_RAW_RECORD,
    SDS_AR_MESSAGE_START,
    SDS_AR_SUBMESSAGE_START,
    SDS_AR_SUBMESSAGE_END,
    SDS_AR_PUT,    // the tag alone, or with an inline value
    SDS_AR_VARINT, // the tag and bytes of the buffer, as a varint
    SDS_AR_FIXED,  // the tag and bytes of the buffer
    SDS_AR_STRING, // the tag, a length and as many bytes of the buffer
};

struct sds_ar_state {
    uint32_t next;   // the state that transitions count from
    uint32_t buffer; // of the actions that read one
    uint8_t action;  // an enum sds_ar_action
    bool implicit;   // left without a transition byte
    uint8_t take;    // bytes of a VARINT or FIXED
    uint8_t put_len;
    uint8_t put[6]; // tag, and inline value
};

struct sds_ar_machine {
    struct sds_ar_state *states;
    uint32_t num_states;
    uint32_t first;
    struct sds_cursor *buffers; // what is left of each
    uint32_t num_buffers;
    struct sds_span transitions;
    // What the buffers and transitions point into, when they were compressed.
    uint8_t *bucket_bytes;
    uint8_t *transition_bytes;
};

// Parses the data of a chunk with num_records records of decoded_size bytes together; what points
// into data lives as long as they do. Kinds: CORRUPT, check "transposed", "sizes" or "compression";
// LIMIT; NO_MEMORY. On failure there is nothing to finish.
SDS_MUST_CHECK enum sds_kind sds_ar_machine_open(struct sds_span data, uint64_t num_records,
                                                 uint64_t decoded_size, struct sds_ar_machine *out,
                                                 struct sds_err *err);
void sds_ar_machine_fini(struct sds_ar_machine *machine);

#endif
