// SPDX-License-Identifier: Apache-2.0
//
// What one kind of server wants to be asked and how its answers are to be read: S3, Google Cloud
// Storage, plain HTTP. A provider writes requests and judges answers; it sends nothing, waits for
// nothing and reads no content. What it learns from answers (a bucket's region, how far our clock
// is off) it remembers under a lock of its own, so all functions may be called from any thread.
//
// An operation is: prepare, send, judge; and again as the verdict has it.
#ifndef SDSFS_REMOTE_PROVIDER_H
#define SDSFS_REMOTE_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "remote/servers/uri.h"
#include "remote/store.h"

struct sds_credential;   // remote/credentials/credentials.h
struct sds_http_request; // remote/http/http.h
struct sds_http_answer;

enum sds_action {
    SDS_GET,    // bytes of an object
    SDS_HEAD,   // its size and version
    SDS_CREATE, // stores it where there is none
    SDS_SWAP,   // replaces one version
};

// A version of an object as the server names it.
struct sds_tag {
    char etag[160]; // S3, web: without quotes; GCS: the generation in decimal. "" unknown
};
// Whether two versions of one size always differ in it. Not where a web server tells neither an
// entity tag nor a time: that is enough for the life of a store, but nothing to keep bytes by.
bool sds_tag_is_version(const struct sds_tag *tag);

// An upload in several requests; zeroed by whoever makes the operation, kept by the provider, and
// no concern of anybody else's.
struct sds_upload {
    bool large;  // it goes in several requests
    bool unsure; // how much of it arrived is to be asked first
    uint64_t sent;
    char session[2048]; // where the bytes go; not for messages
    const struct sds_content *whole;
    struct sds_content rest; // what a request's body is: whole from sent on
    char *prefix;            // what a request sends around it
    char suffix[64];
};
void sds_upload_fini(struct sds_upload *upload); // when nothing is on its way any more

struct sds_operation {
    enum sds_action action;
    const char *bucket;
    const char *key;    // the whole name in the bucket, not encoded
    uint64_t off, len;  // GET: these bytes, len > 0; fewer come when the object ends before
    struct sds_tag tag; // GET, HEAD: must be this version ("": any); SWAP: the one to be replaced
                        // ("": there must be none)
    bool pinned;        // GET, HEAD on GCS: to a generation
    uint64_t generation;
    // GET, HEAD: what is known of the object beforehand, by a reference or by what was seen of it:
    // that it is there, and its size. No concern of a provider; see online/witness.h.
    bool promised, sized;
    uint64_t size;
    uint64_t deadline_ms; // of sds_clock_ms(); 0: as long as the store has patience. Nor is this
    // CREATE, SWAP: set by sds_operation_content, but for upload, which they need too.
    const struct sds_content *content;
    char sha256[SDS_SHA256_HEX];
    uint32_t crc32c;
    struct sds_upload *upload;
    // GET, HEAD: kept by the provider from one try to the next, false at first. A server said that
    // there is nothing at the object's beginning, and not that it is empty: all of it is asked for,
    // without a range. NULL: that is a failure.
    bool *doubt;
};
static inline bool sds_operation_in_doubt(const struct sds_operation *operation) {
    return operation->doubt != NULL && *operation->doubt;
}

// Gives an operation what it is to store, and reads it once from first to last for the checksums;
// with what content.read_at fails with, or NO_MEMORY. From a thread that may block.
SDS_MUST_CHECK enum sds_kind sds_operation_content(struct sds_operation *operation,
                                                   const struct sds_content *content,
                                                   struct sds_err *err);

// What an answer told about the object.
struct sds_told {
    bool size_known;
    uint64_t size; // of the whole object
    struct sds_tag tag;
    int64_t modified; // seconds since the epoch; 0 unknown
    bool has_crc;     // of the whole object
    uint32_t crc32c;
};

enum sds_verdict_what {
    SDS_DONE,  // it is as asked
    SDS_NEXT,  // so far it is: an upload has more requests to send. Prepare the next one, at once
    SDS_AGAIN, // can get better: again after a pause
    SDS_AGAIN_NOW, // the provider learned something: prepare again at once, a few times at most
    SDS_RENEW,     // the credential is refused: again with another one, if there is any
    SDS_FAILED,    // asking again would not help
};

struct sds_verdict {
    enum sds_verdict_what what;
    uint32_t pause_ms; // AGAIN: at least so long, as the server asked; 0: it did not
    bool written;      // CREATE, SWAP, not DONE: it may have been done all the same (the answer was
                       // lost, or the server failed on the way): look before anything is concluded
    uint64_t received; // GET, DONE: bytes from off on that came; fewer than asked: the object ends
    struct sds_told told; // DONE; also of a refused range (416), where the server told the size
};

struct sds_provider;
struct sds_provider_ops {
    const char *name; // "s3", "gcs", "web"
    bool can_write, pins_generations;

    // Writes a request, complete but for into, into_len and deadline_ms; on failure out is empty.
    // The credential as of now (NULL or anonymous: unsigned) and seconds since the epoch by our
    // clock. out borrows the operation's content and upload. Kinds: INVALID (check "key"), LIMIT
    // (check "size"), UNSUPPORTED, INTERNAL, NO_MEMORY.
    enum sds_kind (*prepare)(struct sds_provider *provider, const struct sds_operation *operation,
                             const struct sds_credential *credential, int64_t now,
                             struct sds_http_request *out, struct sds_err *err);
    // Reads an answer, failures of the transport included. Whatever the verdict but DONE and NEXT,
    // err says what it is in the end, when nothing better comes: NOT_FOUND (check "absent"), DENIED
    // ("permission", "credentials"), CONFLICT (writes: "exists", "changed"), UNSUPPORTED ("ranges",
    // "conditional_writes", "encoding"), STORAGE ("changed", "credentials", "range", "answer",
    // "redirect", "clock", "size"), and what sds_http_failed has for failures of the transport.
    struct sds_verdict (*judge)(struct sds_provider *provider,
                                const struct sds_operation *operation,
                                const struct sds_http_answer *answer, int64_t now,
                                struct sds_err *err);
    void (*free)(struct sds_provider *provider);
};

// A provider begins with this.
struct sds_provider {
    const struct sds_provider_ops *ops;
    struct sds_target target; // the root's; its key without slashes at the end is the prefix
    char *origin; // "https://host[:port]" that tells servers apart, the same whatever was learned
};

// A provider for a root. *prefix (of keys, "" or without a slash at its end) and *shown (the root
// for messages, without secrets) are the caller's to free. Looks at options, environment and, of
// S3, the profile in the shared configuration. Kinds: INVALID (checks "root", "endpoint",
// "region"), UNSUPPORTED (check "scheme"), NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_provider_new(const char *root,
                                              const struct sds_remote_options *options,
                                              struct sds_provider **out, char **prefix,
                                              char **shown, struct sds_err *err);
void sds_provider_free(struct sds_provider *provider); // NULL is fine

// The bytes of a whole object against the checksum that was told with them, if one was: STORAGE,
// check "checksum".
SDS_MUST_CHECK enum sds_kind sds_told_matches(const struct sds_told *told, struct sds_span bytes,
                                              struct sds_err *err);

#endif
