// SPDX-License-Identifier: Apache-2.0
//
// toyfs [-t THREADS] [-n MANY] [-o FLAGS] [-s STATE_DIR] [-w TIMEOUT_MS] MOUNTPOINT
//
// Mounts the toy dataset of the unit tests in the foreground and says "ready" on stdout. Lines on
// stdin make a name appear in growing/ ("grow"), its store go away ("down") and come back ("up"),
// or let those go on who wait to be published ("go"). "reads", "lists", "attrs" and "all" stall the
// store (toy.h), and "flow" lets it flow again. "stuck" keeps every thread that asks it anything,
// until "free". A service manager is told WATCHDOG=1 when it asks for that, and RELOADED=1 on
// SIGHUP.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/notify.h"
#include "fs/session.h"
#include "toy.h"

static struct toy *toy; // never freed: the thread that obeys waits for stdin to the end

static void ready(void *ctx) {
    (void)ctx;
    puts("ready");
    fflush(stdout);
}

static void beat(void *ctx, bool answers) {
    if (answers) {
        sds_notify(ctx, "WATCHDOG=1");
    }
}

static void reload(void *ctx) {
    sds_notify(ctx, "RELOADED=1");
}

static void stop(void *ctx) {
    (void)ctx;
    toy_abandon(toy);
}

static bool stall_of(const char *line, enum toy_stall *out) {
    static const char *const words[] = {[TOY_FLOWS] = "flow\n",
                                        [TOY_STALL_READS] = "reads\n",
                                        [TOY_STALL_LISTS] = "lists\n",
                                        [TOY_STALL_ATTRS] = "attrs\n",
                                        [TOY_STALL_ALL] = "all\n"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(line, words[i]) == 0) {
            *out = (enum toy_stall)i;
            return true;
        }
    }
    return false;
}

static void *obey(void *arg) {
    (void)arg;
    char line[16];
    enum toy_stall stall;
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "grow\n") == 0) {
            toy->grown++;
        } else if (strcmp(line, "go\n") == 0) {
            toy->go = true;
        } else if (strcmp(line, "stuck\n") == 0 || strcmp(line, "free\n") == 0) {
            toy->stuck = line[0] == 's';
        } else if (stall_of(line, &stall)) {
            toy_stall(toy, stall);
        } else {
            toy->down = strcmp(line, "down\n") == 0;
        }
        puts("done");
        fflush(stdout);
    }
    return NULL;
}

int main(int argc, char **argv) {
    struct sds_session_options options = {
        .source = "toy", .flags = "", .threads = 10, .ready = ready, .stop = stop};
    uint64_t many = 1000;
    const char *state_dir = "/proc/none/state";
    int option;
    while ((option = getopt(argc, argv, "t:n:o:s:w:")) != -1) {
        if (option == 't') {
            options.threads = (unsigned)atoi(optarg);
        } else if (option == 'n') {
            many = strtoull(optarg, NULL, 10);
        } else if (option == 'o') {
            options.flags = optarg;
        } else if (option == 's') {
            state_dir = optarg;
        } else if (option == 'w') {
            options.timeout_ms = (uint32_t)atoi(optarg);
        } else {
            return 2;
        }
    }
    if (argc - optind != 1) {
        return 2;
    }
    struct sds_notifier notifier;
    sds_notifier_init(&notifier);
    options.beat_ms = notifier.watchdog_ms / 2;
    options.beat = beat;
    options.reload = reload;
    options.ctx = &notifier;
    options.mountpoint = argv[optind];
    toy = toy_new(many);
    struct sds_errors *errors = sds_errors_new();
    struct sds_requests requests = {0};
    struct sds_tree_options tree_options = {.uid = getuid(),
                                            .gid = getgid(),
                                            .version = "test",
                                            .root = "toy:",
                                            .state_dir = state_dir};
    struct sds_tree *tree = sds_tree_new(&toy->base, errors, &requests, &tree_options);
    pthread_t thread;
    pthread_create(&thread, NULL, obey, NULL);
    pthread_detach(thread);
    struct sds_session *session;
    struct sds_err err = {0};
    if (sds_session_open(tree, &requests, &options, &session, &err) != SDS_OK) {
        fprintf(stderr, "toyfs: %s\n", err.message);
        return 4;
    }
    enum sds_kind kind = sds_session_run(session, &err);
    sds_session_close(session);
    unsigned held = toy->held_pieces;
    sds_tree_free(tree);
    sds_errors_free(errors);
    return kind != SDS_OK || held != 0;
}
