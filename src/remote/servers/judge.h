// SPDX-License-Identifier: Apache-2.0
//
// What judging an answer has in common, whoever gave it: failures of the transport, ranges,
// statuses that can get better. For the providers only; pure.
#ifndef SDSFS_REMOTE_JUDGE_H
#define SDSFS_REMOTE_JUDGE_H

#include "remote/http/http.h"
#include "remote/servers/provider.h"

// What is judged.
struct sds_case {
    const struct sds_operation *operation;
    const struct sds_http_answer *answer;
    struct sds_err *err;
};

// Verdicts with what err says in the end; the pause is the one that the answer asks for.
struct sds_verdict sds_judge_failed(const struct sds_case *c, enum sds_kind kind, const char *check,
                                    const char *fmt, ...) SDS_PRINTF(4, 5);
struct sds_verdict sds_judge_again(const struct sds_case *c, enum sds_kind kind, const char *check,
                                   const char *fmt, ...) SDS_PRINTF(4, 5);

static inline bool sds_action_writes(enum sds_action action) {
    return action == SDS_CREATE || action == SDS_SWAP;
}

// Whether there is no whole answer; then *out is the verdict.
bool sds_judge_transport(const struct sds_case *c, struct sds_verdict *out);

// A status with which the same request may be answered better later.
bool sds_judge_can_improve(int status);

// What a server said with an answer that is no good: texts that are "" when it did not say.
struct sds_refusal {
    char code[64];
    char message[200];
};
// "403 AccessDenied: "Access Denied"", for messages; what could be a secret is left out.
char *sds_refusal_text(int status, const struct sds_refusal *refusal, char *buf, size_t size);
#define SDS_REFUSAL(c, refusal)                                                                    \
    sds_refusal_text((c)->answer->status, (refusal), (char[384]){0}, 384)

// A 200 or 206 of a GET: whether the bytes that came are those that were asked for, or the last
// ones of the object. DONE with size, received, time and checksum, or AGAIN (check "range").
// ranges_vary: servers that know no ranges exist, so that they are told apart (UNSUPPORTED, check
// "ranges").
struct sds_verdict sds_judge_bytes(const struct sds_case *c, bool ranges_vary);
// A 416. size: what the server said the object has, in its body; NULL: it did not. Only of what is
// said to have no bytes it is DONE; see struct sds_operation, doubt.
struct sds_verdict sds_judge_unsatisfied(const struct sds_case *c, const uint64_t *size);
// The version that a good answer told against the one that was asked for: *verdict stays as it is,
// or becomes STORAGE, check "changed". An answer without a version is AGAIN.
void sds_judge_tag(const struct sds_case *c, struct sds_verdict *verdict);

// The end of an operation whose condition did not hold, by what it was: the object is another one
// by now, or there is one already.
struct sds_verdict sds_judge_condition(const struct sds_case *c);
// The bucket is not there: no absence of an object, but a root that is written wrongly.
struct sds_verdict sds_judge_no_bucket(const struct sds_case *c);
// A status that has no meaning of its own to any provider: what is left.
struct sds_verdict sds_judge_rest(const struct sds_case *c, const struct sds_refusal *refusal);

#endif
