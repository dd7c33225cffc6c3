// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_limit.h"

enum { MAX_MESSAGE = 1536 };

// The program's one log. What is read without the lock is atomic.
static struct {
    _Atomic int level;
    atomic_bool json;
    atomic_bool hold, syslog, journal;
    pthread_mutex_t lock; // the limit
    struct sds_log_limit limit;
} setup = {.level = SDS_LOG_INFO, .lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *name;
    int priority;
} levels[] = {
    [SDS_LOG_ERROR] = {"error", LOG_ERR},
    [SDS_LOG_WARNING] = {"warning", LOG_WARNING},
    [SDS_LOG_INFO] = {"info", LOG_INFO},
    [SDS_LOG_DEBUG] = {"debug", LOG_DEBUG},
};

static void write_line(enum sds_log_level level, const char *message, const char *path,
                       const struct sds_err *what);

// Lines that are held back.
enum { MAX_HELD = 8 };
static struct {
    pthread_mutex_t lock;
    unsigned count;
    struct {
        enum sds_log_level level;
        char message[256];
    } lines[MAX_HELD];
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hold(enum sds_log_level level, const char *message) {
    pthread_mutex_lock(&held.lock);
    if (held.count < MAX_HELD) {
        held.lines[held.count].level = level;
        snprintf(held.lines[held.count].message, sizeof held.lines[0].message, "%.*s",
                 (int)sizeof held.lines[0].message - 1, message);
        sds_scrub(held.lines[held.count].message);
        held.count++;
    }
    pthread_mutex_unlock(&held.lock);
}

static void write_held(void) {
    pthread_mutex_lock(&held.lock);
    for (unsigned i = 0; i < held.count; i++) {
        write_line(held.lines[i].level, held.lines[i].message, NULL, NULL);
    }
    held.count = 0;
    pthread_mutex_unlock(&held.lock);
}

void sds_log_setup(const struct sds_log_options *options) {
    sds_log_change(options->level, options->json);
    atomic_store(&setup.syslog, options->syslog);
    atomic_store(&setup.journal, options->journal);
    if (atomic_load(&setup.syslog)) {
        openlog("sdsfs", LOG_PID, LOG_DAEMON);
    }
    atomic_store(&setup.hold, options->hold);
    if (!options->hold) {
        write_held();
    }
}

bool sds_log_holds(void) {
    return atomic_load(&setup.hold);
}

void sds_log_change(enum sds_log_level level, bool json) {
    atomic_store(&setup.level, level);
    atomic_store(&setup.json, json);
}

bool sds_log_is_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    uintmax_t device, inode;
    return stream != NULL && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

bool sds_log_level_parse(const char *text, enum sds_log_level *out) {
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(text, levels[i].name) == 0) {
            *out = (enum sds_log_level)i;
            return true;
        }
    }
    return false;
}

static void add_text(struct json_object *object, const char *key, const char *text) {
    json_object_object_add(object, key, json_object_new_string(text));
}

// {"time","level","message"} on one line, and more of a failure; falls back to the bare message
// without memory.
static const char *as_json(struct json_object *object, enum sds_log_level level,
                           const char *message, const char *path, const struct sds_err *what) {
    if (object == NULL) {
        return message;
    }
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    add_text(object, "time", when);
    add_text(object, "level", levels[level].name);
    add_text(object, "message", what != NULL ? what->message : message);
    if (what != NULL) {
        add_text(object, "path", path);
        add_text(object, "object", what->object);
        add_text(object, "check", what->check);
    }
    return json_object_to_json_string_ext(object,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void write_line(enum sds_log_level level, const char *message, const char *path,
                       const struct sds_err *what) {
    bool json = atomic_load(&setup.json);
    struct json_object *object = json ? json_object_new_object() : NULL;
    const char *line = json ? as_json(object, level, message, path, what) : message;
    if (atomic_load(&setup.syslog)) {
        syslog(levels[level].priority, "%s", line);
    } else if (atomic_load(&setup.journal)) {
        dprintf(STDERR_FILENO, "<%d>%s\n", levels[level].priority, line);
    } else {
        dprintf(STDERR_FILENO, "%s%s\n", json ? "" : "sdsfs: ", line);
    }
    json_object_put(object);
}

void sds_log_sweep(void) {
    char name[SDS_LOG_LIMIT_NAME], message[SDS_LOG_LIMIT_NAME + 64];
    for (;;) {
        pthread_mutex_lock(&setup.lock);
        unsigned left_out = sds_log_limit_over(&setup.limit, sds_clock_ms(), name);
        pthread_mutex_unlock(&setup.lock);
        if (left_out == 0) {
            return;
        }
        snprintf(message, sizeof message, "suppressed %u more like \"%s\"", left_out, name);
        write_line(SDS_LOG_WARNING, message, NULL, NULL);
    }
}

// Whether a line is written at all; tells first of those that were left out before.
static bool may_write(enum sds_log_level level, const char *kind) {
    if ((int)level > atomic_load(&setup.level)) {
        return false;
    }
    if (level == SDS_LOG_DEBUG) {
        return true;
    }
    sds_log_sweep();
    pthread_mutex_lock(&setup.lock);
    bool may = sds_log_limit_take(&setup.limit, kind, sds_clock_ms());
    pthread_mutex_unlock(&setup.lock);
    return may;
}

void sds_log(enum sds_log_level level, const char *fmt, ...) {
    int saved = errno;
    if (may_write(level, fmt)) {
        char message[MAX_MESSAGE];
        va_list args;
        va_start(args, fmt);
        vsnprintf(message, sizeof message, fmt, args);
        va_end(args);
        sds_scrub(message); // paths of files may be any bytes
        if (level > SDS_LOG_WARNING && atomic_load(&setup.hold)) {
            hold(level, message);
        } else {
            write_line(level, message, NULL, NULL);
        }
    }
    errno = saved;
}

void sds_log_failure(enum sds_log_level level, const char *path, const struct sds_err *what) {
    int saved = errno;
    if (may_write(level, what->check)) {
        char line[sizeof *what + 8], message[MAX_MESSAGE];
        snprintf(message, sizeof message, "%s%s%s", path, path[0] != '\0' ? ": " : "",
                 sds_err_line(what, line, sizeof line));
        sds_scrub(message);
        write_line(level, message, path, what);
    }
    errno = saved;
}
