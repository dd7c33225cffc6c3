// SPDX-License-Identifier: Apache-2.0
//
// What a mount tells about itself, as a table: control/status.json and control/metrics.
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/mountpoint.h"
#include "cli/shown.h"
#include "fs/mounts.h"
#include "remote/root_shown.h"

enum { MAX_ANSWER = 8 << 20 };

// --- what is there

struct found {
    const char *state; // "mounted", or why not, in one word
    enum sds_exit code;
    char why[sizeof((struct sds_err){0}.message)];
    struct json_object *status;  // both only when it is mounted
    struct json_object *metrics; // samples without labels: name to number
};

static void not_mounted(struct found *found, const char *state, enum sds_exit code,
                        const char *why) {
    found->state = state;
    found->code = code;
    snprintf(found->why, sizeof found->why, "%s", why);
}

// A line "name value"; lines with labels and comments are for others.
static void take_sample(struct json_object *metrics, char *line) {
    char *value = strchr(line, ' ');
    if (line[0] == '#' || value == NULL || strchr(line, '{') != NULL) {
        return;
    }
    *value++ = '\0';
    struct json_object *number = strchr(value, '.') != NULL
                                     ? json_object_new_double(strtod(value, NULL))
                                     : json_object_new_uint64(strtoull(value, NULL, 10));
    json_object_object_add(metrics, line, number);
}

static struct json_object *parse_metrics(char *text) {
    struct json_object *metrics = json_object_new_object();
    char *line;
    while (metrics != NULL && (line = strsep(&text, "\n")) != NULL) {
        take_sample(metrics, line);
    }
    return metrics;
}

static void judge(struct found *found, enum sds_answer answer) {
    switch (answer) {
    case SDS_ANSWER_GIVEN:
        not_mounted(found, "unreadable", SDS_EXIT_STORAGE, "what it tells is not to be read");
        break;
    case SDS_ANSWER_NONE:
        not_mounted(found, "unreadable", SDS_EXIT_STORAGE,
                    "mounted, but control/status.json cannot be read");
        break;
    case SDS_ANSWER_DEAD:
        not_mounted(found, "dead", SDS_EXIT_MOUNT,
                    "a dead mount: its daemon is gone (sdsfs umount takes it away, sdsfs mount "
                    "takes its place)");
        break;
    case SDS_ANSWER_LATE:
    case SDS_ANSWER_STUCK:
        not_mounted(found, "silent", SDS_EXIT_STORAGE, "mounted, but its daemon does not answer");
        break;
    }
}

static void ask(const char *path, struct found *found) {
    struct sds_buf status = SDS_BUF_INIT(MAX_ANSWER), metrics = SDS_BUF_INIT(MAX_ANSWER);
    enum sds_answer answer = sds_ask_mount(path, "control/status.json", SDS_ASK_MS, &status);
    if (answer == SDS_ANSWER_GIVEN) {
        answer = sds_ask_mount(path, "control/metrics", SDS_ASK_MS, &metrics);
    }
    if (answer == SDS_ANSWER_GIVEN && sds_buf_add(&status, "", 1) == SDS_OK &&
        sds_buf_add(&metrics, "", 1) == SDS_OK) {
        found->status = json_tokener_parse((const char *)status.at);
        found->metrics = parse_metrics((char *)metrics.at);
    }
    if (found->status != NULL && found->metrics != NULL) {
        found->state = "mounted";
        found->code = SDS_EXIT_DONE;
    } else {
        judge(found, answer);
    }
    sds_buf_fini(&status);
    sds_buf_fini(&metrics);
}

static void look(const char *typed, char **path, struct found *found) {
    struct sds_err err;
    struct sds_mount mount;
    enum sds_kind kind = sds_mountpoint_resolve(typed, path, &err);
    if (kind == SDS_OK) {
        kind = sds_mount_find(*path, &mount, &err);
    }
    if (kind == SDS_OK && strcmp(mount.type, SDS_MOUNT_TYPE) == 0) {
        ask(*path, found);
    } else if (kind == SDS_OK) {
        char why[128];
        snprintf(why, sizeof why, "mounted, but not by sdsfs (type %s)", mount.type);
        not_mounted(found, "foreign", SDS_EXIT_MOUNT, why);
    } else {
        not_mounted(found, "none", kind == SDS_ERR_STORAGE ? SDS_EXIT_STORAGE : SDS_EXIT_MOUNT,
                    err.message);
    }
}

// --- the table

static struct json_object *member(struct json_object *object, const char *key) {
    struct json_object *value = NULL;
    json_object_object_get_ex(object, key, &value);
    return value;
}

static const char *text(struct json_object *object, const char *key) {
    struct json_object *value = member(object, key);
    return value != NULL ? json_object_get_string(value) : "?";
}

static uint64_t number(struct json_object *object, const char *key) {
    return json_object_get_uint64(member(object, key));
}

static void print_age(const char *since) {
    struct tm utc = {0};
    char age[SDS_SHOWN_MAX];
    const char *end = strptime(since, "%Y-%m-%dT%H:%M:%SZ", &utc);
    long long seconds = end != NULL ? (long long)(time(NULL) - timegm(&utc)) : -1;
    if (seconds >= 0) {
        printf(" (%s)", sds_age_shown((uint64_t)seconds, age));
    }
}

static void print_dataset(struct json_object *status) {
    char stored[SDS_SHOWN_MAX];
    printf("  %-12s %s\n", "root", SDS_ROOT_SHOWN(text(status, "root")));
    printf("  %-12s %s, snapshot %s (%s)\n", "dataset", SDS_ROOT_SHOWN(text(status, "dataset_id")),
           SDS_ROOT_SHOWN(text(status, "snapshot_id")), text(status, "driver"));
    printf("  %-12s %" PRIu64 " in %" PRIu64 " shards, %s stored\n", "records",
           number(status, "record_count"), number(status, "shard_count"),
           sds_bytes_shown(number(status, "stored_bytes"), stored));
    struct json_object *sets = member(status, "annotation_sets");
    printf("  %-12s %zu published\n", "annotations",
           json_object_is_type(sets, json_type_array) ? json_object_array_length(sets) : 0);
}

static void print_index(struct json_object *index) {
    if (index == NULL) {
        return;
    }
    printf("  %-12s %s", "index", text(index, "state"));
    if (member(index, "total") != NULL) {
        printf(", %" PRIu64 " of %" PRIu64 " records", number(index, "done"),
               number(index, "total"));
    } else if (member(index, "bytes") != NULL) {
        char size[SDS_SHOWN_MAX];
        printf(", %" PRIu64 " records, %" PRIu64 " of them bad, %s", number(index, "records"),
               number(index, "bad"), sds_bytes_shown(number(index, "bytes"), size));
    }
    printf("\n");
}

static void print_store(struct json_object *metrics) {
    char received[SDS_SHOWN_MAX], disk[SDS_SHOWN_MAX];
    if (member(metrics, "sdsfs_store_requests_total") == NULL) {
        return;
    }
    printf("  %-12s %" PRIu64 " requests, %s received, %" PRIu64 " retries, %" PRIu64
           " under way\n",
           "store", number(metrics, "sdsfs_store_requests_total"),
           sds_bytes_shown(number(metrics, "sdsfs_store_received_bytes_total"), received),
           number(metrics, "sdsfs_store_retries_total"), number(metrics, "sdsfs_store_in_flight"));
    if (member(metrics, "sdsfs_disk_cache_bytes") != NULL) {
        printf("  %-12s %s, %" PRIu64 " hits, %" PRIu64 " misses\n", "disk cache",
               sds_bytes_shown(number(metrics, "sdsfs_disk_cache_bytes"), disk),
               number(metrics, "sdsfs_disk_cache_hits_total"),
               number(metrics, "sdsfs_disk_cache_misses_total"));
    }
}

static void print_daemon(struct json_object *status, struct json_object *metrics) {
    char used[SDS_SHOWN_MAX], budget[SDS_SHOWN_MAX], read[SDS_SHOWN_MAX];
    printf("  %-12s %s", "since", text(status, "since"));
    print_age(text(status, "since"));
    printf("\n  %-12s pid %" PRIu64 ", version %s\n", "daemon", number(status, "pid"),
           text(status, "version"));
    printf("  %-12s %" PRIu64 "%s\n", "errors", number(status, "errors"),
           number(status, "errors") > 0 ? " (control/errors.jsonl)" : "");
    printf("  %-12s %" PRIu64 " now, %" PRIu64 " so far, %" PRIu64 " too late\n", "waiting",
           number(metrics, "sdsfs_waiting_requests"),
           number(metrics, "sdsfs_waited_requests_total"),
           number(metrics, "sdsfs_late_requests_total"));
    printf("  %-12s %s\n", "read",
           sds_bytes_shown(number(metrics, "sdsfs_read_bytes_total"), read));
    printf("  %-12s %s of %s, %" PRIu64 " hits, %" PRIu64 " misses\n", "memory",
           sds_bytes_shown(number(metrics, "sdsfs_cache_bytes"), used),
           sds_bytes_shown(number(metrics, "sdsfs_cache_budget_bytes"), budget),
           number(metrics, "sdsfs_cache_hits_total"), number(metrics, "sdsfs_cache_misses_total"));
}

static void print_table(const char *path, const struct found *found) {
    printf("%s\n", SDS_ROOT_SHOWN(path));
    print_dataset(found->status);
    print_daemon(found->status, found->metrics);
    print_store(found->metrics);
    print_index(member(found->status, "index"));
}

static void print_json(const char *path, const struct found *found) {
    struct json_object *all = json_object_new_object();
    if (all == NULL) {
        return;
    }
    sds_autofree char *shown = strdup(path); // it may be any bytes
    json_object_object_add(
        all, "mountpoint",
        json_object_new_string(shown != NULL ? sds_scrub_utf8(shown, strlen(shown)) : ""));
    json_object_object_add(all, "state", json_object_new_string(found->state));
    if (found->code == SDS_EXIT_DONE) {
        json_object_object_add(all, "status", json_object_get(found->status));
        json_object_object_add(all, "metrics", json_object_get(found->metrics));
    } else {
        json_object_object_add(all, "why", json_object_new_string(found->why));
    }
    printf("%s\n",
           json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                                   JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(all);
}

// --- the command

static enum sds_exit status_of(const char *mountpoint, bool json) {
    sds_autofree char *path = NULL;
    struct found found = {0};
    look(mountpoint, &path, &found);
    if (json) {
        print_json(path != NULL ? path : mountpoint, &found);
    } else if (found.code == SDS_EXIT_DONE) {
        print_table(path, &found);
    } else {
        fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(mountpoint), found.why);
    }
    json_object_put(found.status);
    json_object_put(found.metrics);
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : found.code;
}

static enum sds_exit run(int argc, char **argv) {
    static const struct option names[] = {
        {"help", no_argument, NULL, 'h'}, {"json", no_argument, NULL, 'j'}, {0}};
    bool json = false;
    int result;
    while ((result = getopt_long(argc, argv, ":h", names, NULL)) != -1) {
        if (result == 'h') {
            return sds_help(&sds_cmd_status);
        }
        if (result != 'j') {
            return sds_bad_option(&sds_cmd_status, result, argv);
        }
        json = true;
    }
    enum sds_exit code;
    if (!sds_check_arguments(&sds_cmd_status, argc - optind, argv + optind, 1, 1, &code)) {
        return code;
    }
    return status_of(argv[optind], json);
}

static const struct sds_switch switches[] = {
    {"json", NULL, "print one JSON object: state, status and metrics, or why there are none"},
};

const struct sds_command sds_cmd_status = {
    .name = "status",
    .synopsis = "[--json] MOUNTPOINT",
    .summary = "Tell how a mount is",
    .help = "Ends with 0 when the mount answers, with 4 when nothing, something else or a dead\n"
            "mount is there, and with 3 when it is ours and does not answer.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .run = run,
};
