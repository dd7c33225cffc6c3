// SPDX-License-Identifier: Apache-2.0
//
// What the head of an HTTP answer says, as far as stores and credentials care. Parsed line by line
// into fixed room: whatever a server sends, nothing grows and nothing is believed that is not
// spelled as the standards have it. A header that comes twice with different values is as bad as a
// malformed one. Pure: no I/O, no allocation, no thread.
#ifndef SDSFS_REMOTE_HTTP_HEAD_H
#define SDSFS_REMOTE_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

// A server that asks for more patience than this is not believed.
#define SDS_HTTP_RETRY_AFTER_MAX_MS 3600000U

struct sds_http_head {
    bool has_length; // Content-Length
    bool length_bad; // malformed or contradictory; has_length is false then
    uint64_t length;

    bool has_range;   // Content-Range: bytes first-last/total
    bool total_known; // also with "bytes */total", which has no range
    bool range_bad;   // malformed or contradictory; the two above are false then
    uint64_t first, last, total;

    bool has_uploaded; // Range: bytes=0-N, as a resumable upload answers
    uint64_t uploaded; // N + 1

    char etag[256]; // as sent, with the quotes and without "W/"; "": none
    bool weak_etag;
    bool etag_bad; // too long, malformed or contradictory; etag is "" then

    bool encoded;            // Content-Encoding other than identity
    bool accept_ranges_none; // Accept-Ranges: none
    bool google_metadata;    // Metadata-Flavor: Google

    char location[2048];  // printable, "" when there is none or it does not fit
    char region[64];      // x-amz-bucket-region, likewise
    char request_id[128]; // x-amz-request-id or x-guploader-uploadid, likewise

    bool has_retry_after; // seconds, or a date against the answer's own Date
    uint32_t retry_after_ms;

    bool has_date; // Date, in seconds since the epoch
    int64_t date;
    bool has_modified; // Last-Modified
    int64_t modified;

    bool has_generation; // x-goog-generation
    uint64_t generation;
    bool has_crc32c; // x-goog-hash
    uint32_t crc32c;

    // The parser's own.
    bool seen_modified, seen_generation, seen_crc32c;
    bool has_retry_date;
    int64_t retry_date;
};

// Reads the next line of the head, with or without its line break. A status line begins a new head
// (that of an interim answer is forgotten); the rest is one header, of which those above are kept
// and all others passed over.
void sds_http_head_line(struct sds_http_head *head, struct sds_span line);

// A date as HTTP has it (all three forms), in seconds since the epoch; false for anything else.
bool sds_http_date_parse(struct sds_span text, int64_t *out);

#endif
