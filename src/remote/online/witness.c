// SPDX-License-Identifier: Apache-2.0
#include "remote/online/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "remote/servers/judge.h"

static bool fails_by(const struct sds_verdict *verdict, const struct sds_err *err,
                     const char *check) {
    return verdict->what == SDS_FAILED && strcmp(err->check, check) == 0;
}

// It is not, or no longer, what was promised.
static bool is_gone(const struct sds_verdict *verdict, const struct sds_err *err) {
    return fails_by(verdict, err, "absent") || fails_by(verdict, err, "changed") ||
           fails_by(verdict, err, "bucket");
}

// How a server sends bytes can be seen from bytes only.
static bool is_manner(const struct sds_verdict *verdict, const struct sds_err *err) {
    return fails_by(verdict, err, "ranges") || fails_by(verdict, err, "encoding");
}

static bool is_other_size(const struct sds_operation *what, const struct sds_told *told) {
    return what->sized && told->size_known && told->size != what->size;
}

static bool is_other_generation(const struct sds_operation *what, const struct sds_told *told) {
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%" PRIu64, what->generation);
    return what->pinned && told->tag.etag[0] != '\0' && strcmp(told->tag.etag, wanted) != 0;
}

static bool contradicts(const struct sds_operation *what, const struct sds_verdict *verdict,
                        const struct sds_err *err) {
    if (!what->promised || sds_action_writes(what->action)) {
        return false;
    }
    if (verdict->what == SDS_DONE) {
        return is_other_size(what, &verdict->told) || is_other_generation(what, &verdict->told);
    }
    return is_gone(verdict, err) || is_manner(verdict, err) || fails_by(verdict, err, "range");
}

struct sds_operation sds_witness_question(const struct sds_witness *witness,
                                          const struct sds_operation *what) {
    struct sds_operation question = *what;
    if (witness->asking && !witness->repeats) {
        question.action = what->action == SDS_GET ? SDS_HEAD : SDS_GET;
        question.off = 0;
        question.len = question.action == SDS_GET;
    }
    return question;
}

// Whether the second answer says what the first one said.
static bool agrees(struct sds_witness *witness, const struct sds_operation *what,
                   const struct sds_verdict *second, const struct sds_err *err) {
    struct sds_verdict *first = &witness->first;
    if (first->what == SDS_DONE) {
        return second->what == SDS_DONE && first->told.size == second->told.size &&
               strcmp(first->told.tag.etag, second->told.tag.etag) == 0;
    }
    if (witness->repeats) {
        return fails_by(second, err, witness->err.check);
    }
    if (is_gone(first, &witness->err)) {
        return is_gone(second, err);
    }
    // A range was refused: does the object end before it?
    bool ends = second->what == SDS_DONE && second->told.size <= what->off;
    if (ends) {
        first->told = second->told;
    }
    return ends;
}

static void doubt_both(const struct sds_witness *witness, struct sds_verdict *verdict,
                       struct sds_err *err) {
    if (witness->first.what == SDS_DONE) {
        sds_fail(err, SDS_ERR_STORAGE, "answer",
                 "the server contradicts itself: one answer tells of an object of %" PRIu64
                 " bytes, another one does not",
                 witness->first.told.size);
    } else {
        sds_fail(err, SDS_ERR_STORAGE, "answer",
                 "the server contradicts itself: %s, says one answer, and another one does not",
                 witness->err.message);
    }
    *verdict = (struct sds_verdict){.what = SDS_AGAIN};
}

bool sds_witness_hear(struct sds_witness *witness, const struct sds_operation *what,
                      struct sds_verdict *verdict, struct sds_err *err) {
    if (!witness->asking) {
        bool again = contradicts(what, verdict, err);
        if (again) {
            *witness = (struct sds_witness){
                .asking = true, .repeats = is_manner(verdict, err), .first = *verdict, .err = *err};
        }
        return again;
    }
    if (verdict->what != SDS_DONE && verdict->what != SDS_FAILED) {
        return false; // no answer to the question yet
    }
    witness->asking = false;
    if (agrees(witness, what, verdict, err)) {
        *verdict = witness->first;
        *err = witness->err;
    } else if (!witness->repeats || contradicts(what, verdict, err)) {
        doubt_both(witness, verdict, err);
    }
    return false;
}
