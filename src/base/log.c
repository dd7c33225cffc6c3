// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static struct sds_log_options setup = {.level = SDS_LOG_INFO};

static const struct {
    const char *name;
    int priority;
} levels[] = {
    [SDS_LOG_ERROR] = {"error", LOG_ERR},
    [SDS_LOG_WARNING] = {"warning", LOG_WARNING},
    [SDS_LOG_INFO] = {"info", LOG_INFO},
    [SDS_LOG_DEBUG] = {"debug", LOG_DEBUG},
};

static void write_line(enum sds_log_level level, const char *message);

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
        held.count++;
    }
    pthread_mutex_unlock(&held.lock);
}

static void write_held(void) {
    pthread_mutex_lock(&held.lock);
    for (unsigned i = 0; i < held.count; i++) {
        write_line(held.lines[i].level, held.lines[i].message);
    }
    held.count = 0;
    pthread_mutex_unlock(&held.lock);
}

void sds_log_setup(const struct sds_log_options *options) {
    setup = *options;
    if (setup.syslog) {
        openlog("sdsfs", LOG_PID, LOG_DAEMON);
    }
    if (!setup.hold) {
        write_held();
    }
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

// {"time","level","message"} on one line; falls back to the bare message without memory.
static const char *as_json(struct json_object *object, const char *level, const char *message) {
    if (object == NULL) {
        return message;
    }
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_object_object_add(object, "time", json_object_new_string(when));
    json_object_object_add(object, "level", json_object_new_string(level));
    json_object_object_add(object, "message", json_object_new_string(message));
    return json_object_to_json_string_ext(object,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void sds_log(enum sds_log_level level, const char *fmt, ...) {
    if (level > setup.level) {
        return;
    }
    int saved = errno;
    char message[1536];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (setup.hold && level > SDS_LOG_WARNING) {
        hold(level, message);
    } else {
        write_line(level, message);
    }
    errno = saved;
}

static void write_line(enum sds_log_level level, const char *message) {
    struct json_object *object = setup.json ? json_object_new_object() : NULL;
    const char *line = setup.json ? as_json(object, levels[level].name, message) : message;
    if (setup.syslog) {
        syslog(levels[level].priority, "%s", line);
    } else if (setup.json) {
        dprintf(STDERR_FILENO, "%s\n", line);
    } else {
        dprintf(STDERR_FILENO, "sdsfs: %s\n", line);
    }
    json_object_put(object);
}
