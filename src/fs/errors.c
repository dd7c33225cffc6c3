// SPDX-License-Identifier: Apache-2.0
#include "fs/errors.h"

#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"

enum {
    KEPT_ENTRIES = 512,    // in the ring
    KEPT_PLACES = 4096,    // with a first failure
    PLACE_SLOTS = 8192,    // power of two
    KEPT_CHECKS = 96,      // check names come from the source code; far fewer exist
    MAX_PATH_BYTES = 1024, // printable form of a path
    MAX_FIRST_BYTES = MAX_PATH_BYTES + sizeof(struct sds_err),
};

struct entry {
    struct timespec when;
    uint64_t count; // of consecutive equal failures
    char *path;
    struct sds_err what;
};

struct place {
    uint64_t hash; // of its path; 0: free slot
    char *text;    // "name: check: message"
};

struct check_count {
    char name[sizeof((struct sds_err){0}.check)];
    uint64_t count;
};

struct sds_errors {
    pthread_mutex_t lock; // everything below
    uint64_t total;
    struct entry *ring[KEPT_ENTRIES];
    size_t ring_next, ring_count;
    struct place places[PLACE_SLOTS];
    size_t place_count;
    struct check_count checks[KEPT_CHECKS];
    size_t check_count;
};

struct sds_errors *sds_errors_new(void) {
    struct sds_errors *errors = calloc(1, sizeof *errors);
    if (errors != NULL) {
        pthread_mutex_init(&errors->lock, NULL);
    }
    return errors;
}

static void free_entry(struct entry *entry) {
    if (entry != NULL) {
        free(entry->path);
        free(entry);
    }
}

void sds_errors_free(struct sds_errors *errors) {
    if (errors == NULL) {
        return;
    }
    for (size_t i = 0; i < KEPT_ENTRIES; i++) {
        free_entry(errors->ring[i]);
    }
    for (size_t i = 0; i < PLACE_SLOTS; i++) {
        free(errors->places[i].text);
    }
    pthread_mutex_destroy(&errors->lock);
    free(errors);
}

// A path as text for a JSON string or a log line: sds_quote without the quotes around it.
static void printable(struct sds_span path, char out[MAX_PATH_BYTES]) {
    sds_quote(out, MAX_PATH_BYTES, path.at, path.len);
    size_t inside = strlen(out) - 2;
    memmove(out, out + 1, inside);
    out[inside] = '\0';
}

static struct entry *newest(struct sds_errors *errors) {
    return errors->ring_count == 0
               ? NULL
               : errors->ring[(errors->ring_next + KEPT_ENTRIES - 1) % KEPT_ENTRIES];
}

static bool is_repeat(const struct entry *entry, const char *path, const struct sds_err *what) {
    return entry != NULL && strcmp(entry->path, path) == 0 &&
           strcmp(entry->what.check, what->check) == 0 &&
           strcmp(entry->what.object, what->object) == 0 &&
           strcmp(entry->what.message, what->message) == 0;
}

// Adds to the ring; true when it was the newest entry's failure over again.
static bool add_entry(struct sds_errors *errors, const char *path, const struct sds_err *what) {
    struct entry *last = newest(errors);
    if (is_repeat(last, path, what)) {
        last->count++;
        return true;
    }
    struct entry *entry = malloc(sizeof *entry);
    char *kept_path = strdup(path);
    if (entry == NULL || kept_path == NULL) {
        free(entry);
        free(kept_path);
        return false;
    }
    *entry = (struct entry){.count = 1, .path = kept_path, .what = *what};
    clock_gettime(CLOCK_REALTIME, &entry->when);
    free_entry(errors->ring[errors->ring_next]);
    errors->ring[errors->ring_next] = entry;
    errors->ring_next = (errors->ring_next + 1) % KEPT_ENTRIES;
    if (errors->ring_count < KEPT_ENTRIES) {
        errors->ring_count++;
    }
    return false;
}

static void count_check(struct sds_errors *errors, const char *check) {
    size_t i = 0;
    while (i < errors->check_count && strcmp(errors->checks[i].name, check) != 0) {
        i++;
    }
    if (i == KEPT_CHECKS) {
        return; // still in the total
    }
    if (i == errors->check_count) {
        snprintf(errors->checks[i].name, sizeof errors->checks[i].name, "%s", check);
        errors->check_count++;
    }
    errors->checks[i].count++;
}

// The slot of a place, or the free one where it would go.
static struct place *find_place(struct sds_errors *errors, const char *path, size_t len,
                                uint64_t *hash) {
    *hash = sds_hash_stable(sds_span(path, len)) | 1; // 0 marks a free slot
    size_t slot = sds_mix64(*hash) % PLACE_SLOTS;
    while (errors->places[slot].hash != 0 && errors->places[slot].hash != *hash) {
        slot = (slot + 1) % PLACE_SLOTS;
    }
    return &errors->places[slot];
}

static void note_place(struct sds_errors *errors, const char *path, size_t len, const char *name,
                       const struct sds_err *what) {
    uint64_t hash;
    struct place *place = find_place(errors, path, len, &hash);
    if (place->hash != 0 || errors->place_count == KEPT_PLACES) {
        return;
    }
    char text[MAX_FIRST_BYTES];
    snprintf(text, sizeof text, "%s: %s: %s", name, what->check, what->message);
    place->text = strdup(text);
    if (place->text != NULL) {
        place->hash = hash;
        errors->place_count++;
    }
}

// The length of a path's directory part, 0 for a name in the top directory.
static size_t parent_len(const char *path, size_t len) {
    while (len > 0 && path[len - 1] != '/') {
        len--;
    }
    return len > 0 ? len - 1 : 0;
}

// Notes a failure at the place itself and at each directory above it, but for those at the top.
static void note_places(struct sds_errors *errors, const char *path, const struct sds_err *what) {
    size_t len = strlen(path);
    size_t up = parent_len(path, len);
    const char *name = path + up + 1;
    while (up > 0) {
        note_place(errors, path, len, name, what);
        name = path + up + 1;
        len = up;
        up = parent_len(path, len);
    }
}

void sds_errors_add(struct sds_errors *errors, struct sds_span path, const struct sds_err *what) {
    if (what->kind == SDS_ERR_WAITING) {
        return; // not a failure
    }
    char shown[MAX_PATH_BYTES];
    printable(path, shown);
    pthread_mutex_lock(&errors->lock);
    errors->total++;
    count_check(errors, what->check);
    note_places(errors, shown, what);
    bool repeated = add_entry(errors, shown, what);
    pthread_mutex_unlock(&errors->lock);
    if (!repeated) {
        sds_log_failure(SDS_LOG_ERROR, shown, what);
    }
}

uint64_t sds_errors_total(struct sds_errors *errors) {
    pthread_mutex_lock(&errors->lock);
    uint64_t total = errors->total;
    pthread_mutex_unlock(&errors->lock);
    return total;
}

static void add_text(struct json_object *object, const char *key, const char *text) {
    json_object_object_add(object, key, json_object_new_string(text));
}

static enum sds_kind render_entry(const struct entry *entry, struct sds_buf *out) {
    char when[40];
    struct tm utc;
    gmtime_r(&entry->when.tv_sec, &utc);
    size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(when + n, sizeof when - n, ".%03ldZ", entry->when.tv_nsec / 1000000);
    struct json_object *object = json_object_new_object();
    if (object == NULL) {
        return SDS_ERR_NO_MEMORY;
    }
    add_text(object, "time", when);
    add_text(object, "path", entry->path);
    add_text(object, "object", entry->what.object);
    add_text(object, "check", entry->what.check);
    add_text(object, "message", entry->what.message);
    if (entry->count > 1) {
        json_object_object_add(object, "count", json_object_new_uint64(entry->count));
    }
    const char *line = json_object_to_json_string_ext(object, JSON_C_TO_STRING_NOSLASHESCAPE);
    enum sds_kind kind = line == NULL ? SDS_ERR_NO_MEMORY : sds_buf_printf(out, "%s\n", line);
    json_object_put(object);
    return kind;
}

enum sds_kind sds_errors_render(struct sds_errors *errors, struct sds_buf *out) {
    enum sds_kind kind = SDS_OK;
    pthread_mutex_lock(&errors->lock);
    size_t first = (errors->ring_next + KEPT_ENTRIES - errors->ring_count) % KEPT_ENTRIES;
    for (size_t i = 0; i < errors->ring_count && kind == SDS_OK; i++) {
        kind = render_entry(errors->ring[(first + i) % KEPT_ENTRIES], out);
    }
    pthread_mutex_unlock(&errors->lock);
    return kind;
}

bool sds_errors_first(struct sds_errors *errors, struct sds_span path, struct sds_buf *out) {
    char shown[MAX_PATH_BYTES];
    printable(path, shown);
    uint64_t hash;
    pthread_mutex_lock(&errors->lock);
    const struct place *place = find_place(errors, shown, strlen(shown), &hash);
    bool found = place->hash != 0 && sds_buf_add_str(out, place->text) == SDS_OK;
    pthread_mutex_unlock(&errors->lock);
    return found;
}

void sds_errors_each_check(struct sds_errors *errors,
                           void (*emit)(void *ctx, const char *check, uint64_t count), void *ctx) {
    pthread_mutex_lock(&errors->lock);
    for (size_t i = 0; i < errors->check_count; i++) {
        emit(ctx, errors->checks[i].name, errors->checks[i].count);
    }
    pthread_mutex_unlock(&errors->lock);
}
