// SPDX-License-Identifier: Apache-2.0
#include "fs/control.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/metrics.h"

enum { MAX_TEXT_BYTES = 8 << 20 };

static const char *const names[SDS_CONTROL_FILES] = {
    [SDS_CONTROL_STATUS] = "status.json",
    [SDS_CONTROL_METRICS] = "metrics",
    [SDS_CONTROL_ERRORS] = "errors.jsonl",
    [SDS_CONTROL_CONFIG] = "config",
};

struct kept_rendering {
    struct sds_blob *text; // NULL until first asked for
    struct timespec changed;
    time_t rendered; // monotonic seconds
};

struct sds_control {
    struct sds_control_sources sources;
    char since[32];
    pthread_mutex_t lock; // the renderings; not held while one is made
    struct kept_rendering kept[SDS_CONTROL_FILES];
};

struct sds_control *sds_control_new(const struct sds_control_sources *sources) {
    struct sds_control *control = calloc(1, sizeof *control);
    if (control == NULL) {
        return NULL;
    }
    control->sources = *sources;
    pthread_mutex_init(&control->lock, NULL);
    time_t now = time(NULL);
    struct tm utc;
    strftime(control->since, sizeof control->since, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return control;
}

void sds_control_free(struct sds_control *control) {
    if (control == NULL) {
        return;
    }
    for (int file = 0; file < SDS_CONTROL_FILES; file++) {
        sds_blob_unref(control->kept[file].text);
    }
    pthread_mutex_destroy(&control->lock);
    free(control);
}

const char *sds_control_name(enum sds_control_file file) {
    return names[file];
}

bool sds_control_find(struct sds_span name, enum sds_control_file *out) {
    for (enum sds_control_file file = 0; file < SDS_CONTROL_FILES; file++) {
        if (sds_span_eq(name, sds_span_str(names[file]))) {
            *out = file;
            return true;
        }
    }
    return false;
}

static enum sds_kind no_memory(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for a control file");
}

static void add_text(struct json_object *object, const char *key, const char *text) {
    json_object_object_add(object, key, json_object_new_string(text));
}

// A path, which may be any bytes.
static void add_path(struct json_object *object, const char *key, const char *path) {
    char *text = strdup(path);
    if (text != NULL) {
        add_text(object, key, sds_scrub_utf8(text, strlen(text)));
        free(text);
    }
}

static void add_store(struct json_object *status, const struct sds_control_sources *from) {
    struct json_object *store = json_object_new_object();
    if (from->store != NULL) {
        add_text(store, "kind", sds_store_is_remote(from->store) ? "server" : "local");
    }
    json_object_object_add(store, "waiting",
                           json_object_new_uint64(atomic_load(&from->requests->parked.now)));
    json_object_object_add(status, "store", store);
}

// The driver's facts, with the daemon's in front of them.
static enum sds_kind render_status(const struct sds_control *control, struct sds_buf *out,
                                   struct sds_err *err) {
    const struct sds_control_sources *from = &control->sources;
    struct json_object *facts = NULL;
    enum sds_kind kind = from->ds->ops->describe(from->ds, &facts, err);
    struct json_object *status = json_object_new_object();
    if (kind == SDS_OK && status == NULL) {
        kind = no_memory(err);
    }
    if (kind == SDS_OK) {
        json_object_object_add(status, "pid", json_object_new_int64(getpid()));
        add_text(status, "version", from->version);
        add_path(status, "root", from->root);
        add_text(status, "since", control->since);
        json_object_object_add(status, "errors",
                               json_object_new_uint64(sds_errors_total(from->errors)));
        add_store(status, from);
        json_object_object_foreach(facts, key, value) {
            json_object_object_add(status, key, json_object_get(value));
        }
        const char *text = json_object_to_json_string_ext(
            status,
            JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (text == NULL || sds_buf_printf(out, "%s\n", text) != SDS_OK) {
            kind = no_memory(err);
        }
    }
    json_object_put(status);
    json_object_put(facts);
    return kind;
}

static enum sds_kind render(const struct sds_control *control, enum sds_control_file file,
                            struct sds_buf *out, struct sds_err *err) {
    enum sds_kind kind = SDS_OK;
    switch (file) {
    case SDS_CONTROL_STATUS:
        return render_status(control, out, err);
    case SDS_CONTROL_METRICS:
        kind = sds_metrics_render(&control->sources, out);
        break;
    case SDS_CONTROL_ERRORS:
        kind = sds_errors_render(control->sources.errors, out);
        break;
    case SDS_CONTROL_CONFIG:
        if (control->sources.config != NULL) {
            kind = control->sources.config(control->sources.ctx, out);
        }
        break;
    case SDS_CONTROL_FILES:
        break;
    }
    return kind == SDS_OK ? SDS_OK : no_memory(err);
}

// The same as a block that readers share.
static enum sds_kind render_blob(const struct sds_control *control, enum sds_control_file file,
                                 struct sds_blob **out, struct sds_err *err) {
    struct sds_buf text = SDS_BUF_INIT(MAX_TEXT_BYTES);
    enum sds_kind kind = render(control, file, &text, err);
    struct sds_blob *blob = kind == SDS_OK ? sds_blob_new(text.len) : NULL;
    if (kind == SDS_OK && blob == NULL) {
        kind = no_memory(err);
    }
    if (kind == SDS_OK) {
        if (text.len > 0) {
            memcpy(blob->at, text.at, text.len);
        }
        *out = blob;
    }
    sds_buf_fini(&text);
    return kind;
}

static time_t monotonic_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static bool is_fresh(const struct kept_rendering *kept, enum sds_render_for purpose) {
    if (kept->text == NULL || purpose == SDS_RENDER_LOOKUP) {
        return false;
    }
    return purpose == SDS_RENDER_READ || monotonic_seconds() - kept->rendered <= 1;
}

static bool same_text(const struct sds_blob *a, const struct sds_blob *b) {
    return a != NULL && sds_span_eq(sds_span(a->at, a->len), sds_span(b->at, b->len));
}

// Takes text over as the current rendering; the old one lives on with those who read it.
static void keep(struct kept_rendering *kept, struct sds_blob *text) {
    kept->rendered = monotonic_seconds();
    if (!same_text(kept->text, text)) {
        clock_gettime(CLOCK_REALTIME, &kept->changed);
    }
    sds_blob_unref(kept->text);
    kept->text = text;
}

enum sds_kind sds_control_render(struct sds_control *control, enum sds_control_file file,
                                 enum sds_render_for purpose, struct sds_rendering *out,
                                 struct sds_err *err) {
    struct kept_rendering *kept = &control->kept[file];
    pthread_mutex_lock(&control->lock);
    bool fresh = is_fresh(kept, purpose);
    pthread_mutex_unlock(&control->lock);
    struct sds_blob *text = NULL;
    if (!fresh) {
        enum sds_kind kind = render_blob(control, file, &text, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    pthread_mutex_lock(&control->lock);
    if (text != NULL) {
        keep(kept, text);
    }
    *out = (struct sds_rendering){.text = sds_blob_ref(kept->text), .changed = kept->changed};
    pthread_mutex_unlock(&control->lock);
    return SDS_OK;
}
