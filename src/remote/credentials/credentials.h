// SPDX-License-Identifier: Apache-2.0
//
// Who we are to a server: found where the provider's own tools look for it, kept while it is valid,
// and asked for again ahead of its end. Finding may read files, run a program and ask servers, so
// it is done by a thread that belongs to the credentials (started with the first question, never
// one of the callers'); everybody else gets a copy of what was found last.
//
// A place that is configured but broken is a failure that names it: the search goes on only past
// places that are not configured at all. Where nothing is configured anywhere requests go out
// anonymously. Secrets are in no log and no message, and wiped from memory that is let go.
//
// All functions may be called from any thread.
#ifndef SDSFS_REMOTE_CREDENTIALS_CREDENTIALS_H
#define SDSFS_REMOTE_CREDENTIALS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "remote/store.h"

struct sds_http;
struct sds_credentials;

// A value: copied out, and wiped by whoever had it copied (sds_credential_wipe).
struct sds_credential {
    char key_id[256]; // S3; "" for Google
    char secret[256]; // S3; "" for Google
    char token[8192]; // S3: the session's, "" without one. Google: the bearer token
    int64_t expires;  // seconds since the epoch; 0: does not, as far as is known
    bool anonymous;   // nothing was found, or nothing was to be used: no signature
    uint64_t serial;  // which finding this is; 0: none. The same value found again keeps its serial
};
void sds_credential_wipe(struct sds_credential *credential);

// For one store. options and http are borrowed and outlive the credentials. Asks nobody and reads
// no file yet. With options->no_sign_request every answer is anonymous. Kinds: NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_credentials_new_s3(const struct sds_remote_options *options,
                                                    struct sds_http *http,
                                                    struct sds_credentials **out,
                                                    struct sds_err *err);
SDS_MUST_CHECK enum sds_kind sds_credentials_new_gcs(const struct sds_remote_options *options,
                                                     struct sds_http *http,
                                                     struct sds_credentials **out,
                                                     struct sds_err *err);
// Whoever waits is told now, from this thread, and every later question fails (STORAGE, check
// "closed"). Does not block. Nothing is told any more when sds_credentials_free has returned; it
// waits for the end of a search, so the pool of connections is abandoned before.
void sds_credentials_abandon(struct sds_credentials *credentials);
void sds_credentials_free(struct sds_credentials *credentials); // abandons; NULL is fine

// The credential as of now, waited for if there is none that is still good. Under a task (see
// base/wait.h) WAITING instead of blocking. Check "credentials" in all of the failures. Kinds:
// INVALID, DENIED, UNSUPPORTED, LIMIT (what is configured is wrong: asking again soon does not
// help), STORAGE, TIMEOUT (a server or file did not answer: it may), NO_MEMORY, WAITING.
SDS_MUST_CHECK enum sds_kind sds_credentials_get(struct sds_credentials *credentials,
                                                 struct sds_credential *out, struct sds_err *err);
// The same for those who must never be blocked. WAITING: `then` will be told exactly once, from
// another thread and with no lock held, when it is worth asking again; any other answer: it will
// not be. What is told there must not block.
SDS_MUST_CHECK enum sds_kind sds_credentials_take(struct sds_credentials *credentials,
                                                  struct sds_credential *out,
                                                  void (*then)(void *ctx), void *ctx,
                                                  struct sds_err *err);

// A server would not have this one (401, or 403 with a code that blames the credential): it is
// looked for again, files included. True: take another one, by sds_credentials_take, and try again.
// False: this value was looked for again already and came back the same; the refusal stands. (It is
// looked for again at most every half minute, so that keys that are replaced later are found.)
bool sds_credentials_renew(struct sds_credentials *credentials,
                           const struct sds_credential *refused);

// Somebody has changed what is configured: the next question has it looked for again. Whoever has a
// copy goes on with it.
void sds_credentials_forget(struct sds_credentials *credentials);

// Where the credential came from, for messages: "profile \"x\" of ~/.aws/credentials",
// "nothing was found: anonymous", "" before the first answer. Copies into buf, which it returns.
char *sds_credentials_source(struct sds_credentials *credentials, char *buf, size_t size);

// What a profile of the shared configuration says besides who we are; "" where it says nothing.
// profile: as options->profile, NULL for AWS_PROFILE or "default". Reads the files each time.
struct sds_aws_settings {
    char region[64];
    char endpoint_url[1024]; // for S3: of the profile's services section, else its own
};
// Kinds: INVALID (not such a profile where it was asked for by name; a file that is no
// configuration), STORAGE (unreadable); check "credentials".
SDS_MUST_CHECK enum sds_kind
sds_aws_settings_read(const char *profile, struct sds_aws_settings *out, struct sds_err *err);

#endif
