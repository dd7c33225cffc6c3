// SPDX-License-Identifier: Apache-2.0
//
// Commands: what a line written to "commit" does.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "fs/drafts/drafts_internal.h"
#include "fs/drafts/inputs.h"
#include "fs/errno.h"

enum verb { CHECK, PUBLISH, DISCARD };

enum { PROGRESS_MS = 200 }; // between two writes of status.json

// One command at work.
struct command {
    struct sds_drafts *drafts;
    char *draft; // its path
    enum verb verb;
    // While it runs:
    struct sds_claim claim;
    struct sds_status *status;
    int64_t told_ms; // when the progress was last written
};

// --- publishing and checking

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int write_status(struct command *command, bool durable) {
    return sds_status_write(command->drafts, command->draft, command->claim.dir, command->status,
                            durable);
}

// A failure of the state directory, which need not be able to tell it itself.
static int noted(struct command *command, int e, const char *what) {
    if (e != 0) {
        struct sds_err err;
        sds_fail(&err, SDS_ERR_STORAGE, "state_dir", "%s: %s", what, strerror(e));
        sds_drafts_note(command->drafts, command->draft, &err);
    }
    return e;
}

static void take_progress(void *ctx, const char *stage, uint64_t done, uint64_t total) {
    struct command *command = ctx;
    int64_t now = now_ms();
    sds_status_progress(command->status, stage, done, total);
    if (now - command->told_ms >= PROGRESS_MS) {
        command->told_ms = now;
        int ignored = write_status(command, false);
        (void)ignored; // how it ends is what matters
    }
}

static void take_problem(void *ctx, uint64_t line, const struct sds_err *what) {
    struct command *command = ctx;
    sds_status_problem(command->status, line, what);
}

static void take_note(void *ctx, const char *text, bool warning) {
    struct command *command = ctx;
    (void)warning;
    sds_status_note(command->status, text);
}

// Failures that are not the user's are told where all others are, too.
static void note_failure(struct command *command, const struct sds_err *err) {
    if (err->kind == SDS_ERR_INVALID || err->kind == SDS_ERR_CONFLICT) {
        return;
    }
    sds_drafts_note(command->drafts, command->draft, err);
}

static int keep_receipt(struct command *command, struct json_object *receipt) {
    struct sds_drafts *drafts = command->drafts;
    const char *draft = command->draft;
    int dir = command->claim.dir;
    struct json_object *pointer = json_object_object_get(receipt, "pointer");
    int e = pointer != NULL
                ? sds_document_write(drafts, draft, dir, SDS_DRAFT_POINTER, pointer, true)
                : 0;
    json_object_object_del(receipt, "pointer");
    return e != 0 ? e : sds_document_write(drafts, draft, dir, SDS_DRAFT_RECEIPT, receipt, true);
}

// The draft is not published, or no longer: the dataset may have been put back to what it was
// before.
static void withdraw_receipt(struct command *command) {
    static const char *const names[] = {SDS_DRAFT_RECEIPT, SDS_DRAFT_POINTER};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int ignored = noted(
            command,
            sds_document_remove(command->drafts, command->draft, command->claim.dir, names[i]),
            "the receipt of a publication that is not there cannot be removed");
        (void)ignored; // the command has failed already
    }
}

static enum sds_kind annotate(struct command *command, struct json_object **receipt,
                              struct sds_err *err) {
    struct sds_dataset *ds = command->drafts->ds;
    struct sds_inputs inputs;
    enum sds_kind kind = sds_inputs_read(&command->claim, command->draft, &inputs, err);
    if (kind == SDS_OK) {
        inputs.request.spool = sds_backing_tmp(command->drafts->backing);
        inputs.request.check_only = command->verb == CHECK;
        inputs.request.problem = take_problem;
        inputs.request.progress = take_progress;
        inputs.request.note = take_note;
        inputs.request.ctx = command;
        if (inputs.request.what == SDS_ANNOTATE_COORDINATE) {
            sds_status_what(command->status, "coordinate");
        }
        kind = ds->ops->annotate(ds, &inputs.request, receipt, err);
    }
    sds_inputs_free(&inputs);
    return kind;
}

static int annotate_and_tell(struct command *command) {
    struct json_object *receipt = NULL;
    struct sds_err err;
    bool publish = command->verb == PUBLISH;
    enum sds_kind kind = annotate(command, &receipt, &err);
    int e = sds_errno_publish(kind);
    if (kind == SDS_OK && publish) {
        e = keep_receipt(command, receipt);
        if (e != 0) {
            kind = sds_fail(&err, SDS_ERR_STORAGE, "receipt",
                            "published, but the receipt could not be written: %s", strerror(e));
        }
    }
    json_object_put(receipt);
    if (kind != SDS_OK) {
        note_failure(command, &err);
        withdraw_receipt(command);
    }
    sds_status_end(command->status,
                   kind != SDS_OK                               ? "failed"
                   : sds_draft_is_published(command->claim.dir) ? "published"
                                                                : "open",
                   kind != SDS_OK ? &err : NULL);
    int told = noted(command, write_status(command, true), "status.json cannot tell how it ended");
    return e == 0 && !publish ? told : e; // a receipt says more than a status
}

static int check_or_publish(struct command *command) {
    bool again = sds_draft_is_published(command->claim.dir);
    if (!again && command->claim.set >= 0 && sds_draft_is_published(command->claim.set)) {
        return EROFS;
    }
    struct sds_place place = sds_place_of(command->draft);
    command->status = sds_status_new(command->draft, place.role == SDS_ROLE_SET ? "set" : "shard");
    if (command->status == NULL) {
        return ENOMEM;
    }
    sds_status_begin(command->status, command->verb == CHECK ? "checking" : "publishing");
    int e = noted(command, write_status(command, command->verb == PUBLISH),
                  "status.json cannot be written");
    return e != 0 ? e : annotate_and_tell(command);
}

// --- discarding

static int hide(struct command *command, char *hidden) {
    struct sds_drafts *drafts = command->drafts;
    struct sds_place place = sds_place_of(command->draft);
    sds_autofree char *parent = strndup(command->draft, place.parent_len);
    if (parent == NULL) {
        return ENOMEM;
    }
    sds_autofd int dir =
        sds_open_beneath(sds_backing_sets(drafts->backing), parent, O_PATH | O_DIRECTORY, 0);
    if (dir < 0) {
        return errno;
    }
    const char *name = command->draft + place.parent_len + (place.parent_len > 0);
    int e = sds_backing_hide(drafts->backing, dir, name, hidden);
    if (e == 0) {
        sds_ids_remove_path(drafts->ids, command->draft, -1);
    }
    return e;
}

static int discard(struct command *command) {
    char hidden[SDS_TMP_NAME];
    pthread_rwlock_wrlock(&command->drafts->moves);
    int e = hide(command, hidden);
    pthread_rwlock_unlock(&command->drafts->moves);
    return e != 0 ? e : sds_backing_remove(command->drafts->backing, hidden);
}

static int discard_and_note(struct command *command) {
    return noted(command, discard(command), "it cannot be discarded");
}

// --- the command

static int prepare(void *ctx) {
    struct command *command = ctx;
    return command->verb == DISCARD ? 0 : sds_drafts_write_back(command->drafts, command->draft);
}

static int run(void *ctx) {
    struct command *command = ctx;
    int e = sds_claim_take(command->drafts, command->draft, &command->claim);
    if (e == 0) {
        e = command->verb == DISCARD ? discard_and_note(command) : check_or_publish(command);
    }
    sds_claim_drop(&command->claim);
    return e;
}

static void dispose(void *ctx) {
    struct command *command = ctx;
    sds_status_free(command->status);
    free(command->draft);
    free(command);
}

static bool parse_verb(struct sds_span line, enum verb *out) {
    static const char *const verbs[] = {
        [CHECK] = "check", [PUBLISH] = "publish", [DISCARD] = "discard"};
    while (line.len > 0 && isspace(line.at[0])) {
        line = sds_span(line.at + 1, line.len - 1);
    }
    while (line.len > 0 && isspace(line.at[line.len - 1])) {
        line.len--;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (sds_span_eq(line, sds_span_str(verbs[i]))) {
            *out = (enum verb)i;
            return true;
        }
    }
    return false;
}

// The path of a commit file; 0 and *is_commit false for another one.
static int commit_path(struct sds_drafts *drafts, uint64_t id, struct sds_visit *out) {
    pthread_rwlock_rdlock(&drafts->moves);
    int e = sds_visit_path(drafts, id, sds_span(NULL, 0), out);
    pthread_rwlock_unlock(&drafts->moves);
    if (e == 0 && out->place.role != SDS_ROLE_COMMIT) {
        sds_visit_leave(out);
        e = EINVAL;
    }
    return e;
}

bool sds_drafts_is_commit(struct sds_drafts *drafts, uint64_t id) {
    struct sds_visit visit;
    bool is = commit_path(drafts, id, &visit) == 0;
    if (is) {
        sds_visit_leave(&visit);
    }
    return is;
}

// An error number is all that the writer gets.
static void refuse(struct sds_drafts *drafts, const struct sds_visit *visit, struct sds_span line) {
    struct sds_err err;
    sds_fail(&err, SDS_ERR_INVALID, "command", "%s is none of check, publish and discard",
             SDS_QUOTE(line.at, line.len));
    sds_drafts_note(drafts, sds_visit_text(visit), &err);
}

int sds_drafts_command(struct sds_drafts *drafts, uint64_t commit, struct sds_span line,
                       const struct sds_waiter *waiter) {
    enum verb verb;
    struct sds_visit visit;
    int e = commit_path(drafts, commit, &visit);
    if (e != 0) {
        return e;
    }
    if (!parse_verb(line, &verb)) {
        refuse(drafts, &visit, line);
        sds_visit_leave(&visit);
        return EINVAL;
    }
    struct command *command = malloc(sizeof *command);
    char *draft = strndup(sds_visit_text(&visit), visit.place.parent_len);
    sds_visit_leave(&visit);
    if (command == NULL || draft == NULL) {
        free(command);
        free(draft);
        return ENOMEM;
    }
    *command =
        (struct command){.drafts = drafts, .draft = draft, .verb = verb, .claim = SDS_NO_CLAIM};
    return sds_jobs_submit(
        drafts->jobs, draft, (int)verb,
        &(struct sds_job_work){.prepare = prepare, .run = run, .dispose = dispose, .ctx = command},
        waiter);
}
