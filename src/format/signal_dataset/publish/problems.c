// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/publish/problems.h"

enum sds_kind problems_add(struct problems *problems, uint64_t line, const struct sds_err *what,
                           struct sds_err *err) {
    if (what->kind != SDS_ERR_INVALID) {
        if (err != NULL) {
            *err = *what;
        }
        return what->kind;
    }
    if (problems_full(problems)) {
        return SDS_OK;
    }
    if (problems->count == 0) {
        problems->first = *what;
        problems->first_line = line;
    }
    problems->count++;
    if (problems->request->problem != NULL) {
        problems->request->problem(problems->request->ctx, line, what);
    }
    return SDS_OK;
}

bool problems_full(const struct problems *problems) {
    return problems->count >= SDS_ANNOTATE_MAX_PROBLEMS;
}

enum sds_kind problems_verdict(const struct problems *problems, struct sds_err *err) {
    if (problems->count == 0) {
        return SDS_OK;
    }
    if (err != NULL) {
        *err = problems->first;
        if (problems->first_line > 0) {
            sds_err_context(err, "line %llu", (unsigned long long)problems->first_line);
        }
    }
    return SDS_ERR_INVALID;
}
