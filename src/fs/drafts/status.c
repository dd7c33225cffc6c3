// SPDX-License-Identifier: Apache-2.0
//
// status.json of a draft: what is being done with it, how it ended, which lines were wrong.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "fs/drafts/drafts_internal.h"

enum { MAX_STATUS_BYTES = 1 << 20 };

struct sds_status {
    struct json_object *object;
};

static void set_text(struct json_object *object, const char *key, const char *text) {
    json_object_object_add(object, key, text != NULL ? json_object_new_string(text) : NULL);
}

static void set_now(struct json_object *object, const char *key) {
    char when[40];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(when + n, sizeof when - n, ".%03ldZ", now.tv_nsec / 1000000);
    set_text(object, key, when);
}

// The set's name is the first component of a draft's path.
static void set_name(struct json_object *object, const char *draft) {
    json_object_object_add(object, "set",
                           json_object_new_string_len(draft, (int)strcspn(draft, "/")));
}

struct sds_status *sds_status_new(const char *draft, const char *what) {
    struct sds_status *status = malloc(sizeof *status);
    struct json_object *object = json_object_new_object();
    if (status == NULL || object == NULL) {
        free(status);
        json_object_put(object);
        return NULL;
    }
    set_name(object, draft);
    set_text(object, "state", "open");
    set_text(object, "what", what);
    set_text(object, "started", NULL);
    set_text(object, "ended", NULL);
    json_object_object_add(object, "progress", NULL);
    json_object_object_add(object, "problems", json_object_new_array());
    set_text(object, "note", NULL);
    set_text(object, "error", NULL);
    status->object = object;
    return status;
}

void sds_status_free(struct sds_status *status) {
    if (status != NULL) {
        json_object_put(status->object);
        free(status);
    }
}

void sds_status_begin(struct sds_status *status, const char *state) {
    set_text(status->object, "state", state);
    set_now(status->object, "started");
}

void sds_status_what(struct sds_status *status, const char *what) {
    set_text(status->object, "what", what);
}

void sds_status_progress(struct sds_status *status, const char *stage, uint64_t done,
                         uint64_t total) {
    struct json_object *progress = json_object_new_object();
    if (progress != NULL) {
        set_text(progress, "stage", stage);
        json_object_object_add(progress, "done", json_object_new_uint64(done));
        json_object_object_add(progress, "total", json_object_new_uint64(total));
        json_object_object_add(status->object, "progress", progress);
    }
}

void sds_status_problem(struct sds_status *status, uint64_t line, const struct sds_err *what) {
    struct json_object *problems = json_object_object_get(status->object, "problems");
    struct json_object *problem = json_object_new_object();
    if (problem == NULL) {
        return;
    }
    if (line > 0) {
        json_object_object_add(problem, "line", json_object_new_uint64(line));
    }
    char reason[sizeof *what + 8];
    set_text(problem, "reason", sds_err_line(what, reason, sizeof reason));
    if (json_object_array_add(problems, problem) != 0) {
        json_object_put(problem);
    }
}

void sds_status_note(struct sds_status *status, const char *text) {
    set_text(status->object, "note", text);
}

void sds_status_end(struct sds_status *status, const char *state, const struct sds_err *error) {
    char line[sizeof *error + 8];
    set_text(status->object, "state", state);
    set_now(status->object, "ended");
    set_text(status->object, "error",
             error != NULL ? sds_err_line(error, line, sizeof line) : NULL);
}

int sds_status_write(struct sds_drafts *drafts, const char *path, int draft,
                     const struct sds_status *status, bool durable) {
    return sds_document_write(drafts, path, draft, SDS_DRAFT_STATUS, status->object, durable);
}

// --- statuses that were written before

// What we wrote there; NULL when it is not there, or no longer an object.
static struct json_object *read_status(int draft) {
    sds_autofd int fd = sds_open_beneath(draft, SDS_DRAFT_STATUS, O_RDONLY | O_NOFOLLOW, 0);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_STATUS_BYTES) {
        return NULL;
    }
    struct json_object *status = json_object_from_fd(fd);
    if (!json_object_is_type(status, json_type_object)) {
        json_object_put(status);
        return NULL;
    }
    return status;
}

static bool is_at_work(struct json_object *status) {
    const char *state = json_object_get_string(json_object_object_get(status, "state"));
    return state != NULL && (strcmp(state, "publishing") == 0 || strcmp(state, "checking") == 0);
}

static void recover(struct sds_drafts *drafts, const char *path) {
    struct sds_claim claim;
    if (sds_claim_try(drafts, path, &claim) != 0) {
        return; // another mount is at work
    }
    struct json_object *status = read_status(claim.dir);
    if (status != NULL && is_at_work(status)) {
        bool done = sds_draft_is_published(claim.dir); // and just did not get round to saying so
        set_text(status, "state", done ? "published" : "interrupted");
        set_now(status, "ended");
        int ignored = sds_document_write(drafts, NULL, claim.dir, SDS_DRAFT_STATUS, status, false);
        (void)ignored; // the draft can be committed again, whatever its status says
    }
    json_object_put(status);
    sds_claim_drop(&claim);
}

// Calls a function for each directory in one below sets/.
static void each_directory(struct sds_drafts *drafts, const char *path,
                           void (*visit)(struct sds_drafts *drafts, const char *path)) {
    int fd = sds_open_beneath(sds_backing_sets(drafts->backing), path, O_RDONLY | O_DIRECTORY, 0);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        char below[3 * 256];
        int n = snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "/" : "",
                         entry->d_name);
        if (entry->d_name[0] != '.' && n > 0 && (size_t)n < sizeof below) {
            visit(drafts, below);
        }
    }
    closedir(stream);
}

static void recover_set(struct sds_drafts *drafts, const char *path) {
    char shards[2 * 256];
    recover(drafts, path);
    snprintf(shards, sizeof shards, "%s/" SDS_DRAFT_SHARDS, path);
    each_directory(drafts, shards, recover);
}

void sds_drafts_recover(struct sds_drafts *drafts) {
    each_directory(drafts, "", recover_set);
}

void sds_status_renamed(struct sds_drafts *drafts, const char *path, int draft) {
    struct json_object *status = read_status(draft);
    if (status != NULL) {
        set_name(status, path);
        int ignored = sds_document_write_moving(drafts, path, draft, SDS_DRAFT_STATUS, status);
        (void)ignored; // the next command writes it anew
    }
    json_object_put(status);
}
