// SPDX-License-Identifier: Apache-2.0
#include "fs/session.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/blob.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "fs/session_internal.h"

enum {
    IDLE_SECONDS =
        5, // between looks at what memory can go; also without a request before all of it does
    NUDGE_MS = 10,
    MIN_RUNNERS = 2, // threads that run requests again which had to wait
    MAX_RUNNERS = 8,
};

// --- signals

// Posted by the signal handlers, and when serving has ended.
static sem_t wake;
static atomic_bool stop_asked, reload_asked;

static void ask_to_stop(int signal_number) {
    (void)signal_number;
    int saved = errno;
    atomic_store(&stop_asked, true);
    sem_post(&wake);
    errno = saved;
}

static void ask_to_reload(int signal_number) {
    (void)signal_number;
    int saved = errno;
    atomic_store(&reload_asked, true);
    sem_post(&wake);
    errno = saved;
}

static void nudge(int signal_number) {
    (void)signal_number; // has interrupted a wait, which is all it is for
}

static void set_handler(int signal_number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

// From before the mount on, so that a signal never leaves one behind.
static void catch_signals(void) {
    sem_init(&wake, 0, 0);
    set_handler(SIGUSR1, nudge, 0);
    set_handler(SIGTERM, ask_to_stop, SA_RESTART);
    set_handler(SIGINT, ask_to_stop, SA_RESTART);
    set_handler(SIGHUP, ask_to_reload, SA_RESTART);
    set_handler(SIGPIPE, SIG_IGN, 0);
    set_handler(SIGXFSZ, SIG_IGN, 0); // a draft that grows beyond our limit is EFBIG
}

// --- the session

__attribute__((format(printf, 2, 0))) static void log_fuse(enum fuse_log_level level,
                                                           const char *fmt, va_list args) {
    char line[512];
    vsnprintf(line, sizeof line, fmt, args);
    line[strcspn(line, "\n")] = '\0';
    sds_log(level <= FUSE_LOG_ERR ? SDS_LOG_ERROR : SDS_LOG_DEBUG, "%s", line);
}

enum sds_kind sds_session_open(struct sds_tree *tree, struct sds_requests *requests,
                               const struct sds_session_options *options, struct sds_session **out,
                               struct sds_err *err) {
    struct sds_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return sds_fail(err, SDS_ERR_NO_MEMORY, "mount", "no memory");
    }
    *session = (struct sds_session){.tree = tree, .requests = requests, .options = *options};
    catch_signals();
    enum sds_kind kind = sds_session_mount(session, err);
    if (kind != SDS_OK) {
        free(session);
        return kind;
    }
    fuse_set_log_func(log_fuse);
    *out = session;
    return SDS_OK;
}

void sds_session_close(struct sds_session *session) {
    fuse_session_unmount(session->fuse);
    fuse_session_destroy(session->fuse);
    free(session);
}

// --- serving

// The thread beside the loop: ends the session on a signal, reloads on another, gives memory back
// when nothing is asked for, and tells now and then whether requests are answered. libfuse 3.14's
// fuse_session_exit only sets a flag; the thread that waits inside fuse_session_loop_mt has to be
// interrupted until it has seen it.
struct keeper {
    struct sds_session *session;
    pthread_t loop;
    atomic_bool ended;
    uint64_t next_sweep_ms, next_beat_ms;
    uint64_t requests_seen, done_seen;
};

static void stop_loop(struct keeper *keeper) {
    struct sds_session *session = keeper->session;
    // Requests first, so that what the store answers from now on is nobody's error.
    sds_parking_refuse(session->parking);
    if (session->options.stop != NULL) {
        session->options.stop(session->options.ctx);
    }
    // The kernel may be told to drop a page that a parked request is to fill.
    sds_parking_stop(session->parking);
    sds_invalidator_stop(session->invalidator); // as long as somebody answers it
    fuse_session_exit(session->fuse);
    while (!atomic_load(&keeper->ended)) {
        pthread_kill(keeper->loop, SIGUSR1);
        nanosleep(&(struct timespec){.tv_nsec = NUDGE_MS * 1000000L}, NULL);
    }
}

// Waits for a post, or until a moment of sds_clock_ms.
static void wait_for_wake(uint64_t until_ms) {
    uint64_t now = sds_clock_ms();
    uint64_t ms = until_ms > now ? until_ms - now : 0;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    while (sem_timedwait(&wake, &until) != 0 && errno == EINTR) {
    }
}

static void sweep(struct keeper *keeper) {
    uint64_t total = sds_requests_total(keeper->session->requests);
    sds_log_sweep();
    sds_tree_sweep(keeper->session->tree);
    if (total == keeper->requests_seen) {
        sds_blob_trim();
        sds_heap_trim();
    }
    keeper->requests_seen = total;
}

// A thread that is free takes the next request; so do those that got on since the last time.
static bool answers(struct keeper *keeper) {
    const struct sds_work *work = &keeper->session->work;
    uint64_t done = atomic_load_explicit(&work->done, memory_order_relaxed);
    bool moved = done != keeper->done_seen;
    keeper->done_seen = done;
    return moved || atomic_load_explicit(&work->busy, memory_order_relaxed) <
                        keeper->session->options.threads;
}

static uint32_t beat_ms(const struct sds_session *session) {
    return session->options.beat_ms != 0 ? session->options.beat_ms : IDLE_SECONDS * 1000;
}

static void do_what_is_due(struct keeper *keeper) {
    struct sds_session *session = keeper->session;
    uint64_t now = sds_clock_ms();
    if (now >= keeper->next_beat_ms) {
        keeper->next_beat_ms = now + beat_ms(session);
        if (session->options.beat != NULL) {
            session->options.beat(session->options.ctx, answers(keeper));
        }
    }
    if (now >= keeper->next_sweep_ms) {
        keeper->next_sweep_ms = now + IDLE_SECONDS * 1000;
        sweep(keeper);
    }
    if (atomic_exchange(&reload_asked, false) && session->options.reload != NULL) {
        session->options.reload(session->options.ctx);
    }
}

static void *keep(void *arg) {
    struct keeper *keeper = arg;
    uint64_t now = sds_clock_ms();
    keeper->next_beat_ms = now + beat_ms(keeper->session);
    keeper->next_sweep_ms = now + IDLE_SECONDS * 1000;
    while (!atomic_load(&keeper->ended)) {
        wait_for_wake(keeper->next_beat_ms < keeper->next_sweep_ms ? keeper->next_beat_ms
                                                                   : keeper->next_sweep_ms);
        if (atomic_load(&stop_asked)) {
            stop_loop(keeper);
            break;
        }
        if (!atomic_load(&keeper->ended)) {
            do_what_is_due(keeper);
        }
    }
    return NULL;
}

static int loop(struct sds_session *session) {
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (config == NULL) {
        return -ENOMEM;
    }
    fuse_loop_cfg_set_max_threads(config, session->options.threads);
    int result = fuse_session_loop_mt(session->fuse, config);
    fuse_loop_cfg_destroy(config);
    return result;
}

static enum sds_kind serve(struct sds_session *session, struct sds_err *err) {
    struct keeper keeper = {.session = session, .loop = pthread_self()};
    pthread_t thread;
    int e = pthread_create(&thread, NULL, keep, &keeper);
    if (e != 0) {
        return sds_fail(err, SDS_ERR_INTERNAL, "fuse", "cannot start a thread: %s", strerror(e));
    }
    e = loop(session);
    atomic_store(&keeper.ended, true);
    sem_post(&wake);
    pthread_join(thread, NULL);
    if (e < 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "fuse", "the kernel connection failed: %s",
                        strerror(-e));
    }
    return SDS_OK;
}

static int write_back(void *ctx, uint64_t ino) {
    return sds_write_back(ctx, ino);
}

static unsigned runners(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < MIN_RUNNERS   ? MIN_RUNNERS
           : processors > MAX_RUNNERS ? MAX_RUNNERS
                                      : (unsigned)processors;
}

static enum sds_kind start_parking(struct sds_session *session, struct sds_err *err) {
    return sds_parking_start(
        &(struct sds_parking_options){.timeout_ms = session->options.timeout_ms,
                                      .threads = runners(),
                                      .most = SDS_MAX_PARKED,
                                      .counts = &session->requests->parked},
        &session->parking, err);
}

enum sds_kind sds_session_run(struct sds_session *session, struct sds_err *err) {
    enum sds_kind kind = start_parking(session, err);
    if (kind == SDS_OK) {
        kind = sds_invalidator_start(session->fuse, &session->invalidator, err);
    }
    if (kind == SDS_OK) {
        sds_tree_set_write_back(session->tree, write_back, session->invalidator);
        kind = serve(session, err);
        sds_parking_stop(session->parking); // as long as there is a way to answer
        sds_invalidator_stop(session->invalidator);
        sds_tree_abandon(session->tree); // the same
        sds_invalidator_free(session->invalidator);
    }
    if (session->parking != NULL) {
        sds_parking_stop(session->parking);
    }
    sds_parking_free(session->parking);
    return kind;
}
