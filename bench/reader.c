// SPDX-License-Identifier: Apache-2.0
//
// reader [-s SEED] [-l LIMIT] [-p PASSES] [-t THREADS] [-d] DIR FIELD COUNT
//
// Opens, reads and closes DIR/records/<ordinal>/FIELD for COUNT ordinals, shuffled by SEED (0:
// ascending), or the first LIMIT of them, PASSES times over, and prints how fast that went. With -d
// the bytes are also folded into a digest that does not depend on the order, to compare targets
// (not for timing). A file is read as numpy.load reads it: one read of everything that fstat
// promised.
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "order.h"
#include "result.h"

enum { MAX_THREADS = 256, MIN_ORDINAL_DIGITS = 6 };

struct job {
    const char *dir, *field;
    const uint64_t *order;
    uint64_t count;  // of records that are read
    uint64_t visits; // count times the number of passes
    int digits;      // of an ordinal's directory
    bool want_digest;
    atomic_uint_fast64_t next; // visit that the next free thread makes
    atomic_uint_fast64_t bytes, digest;
    atomic_bool failed;
};

struct buffer {
    uint8_t *at;
    size_t cap;
};

static uint64_t fold(uint64_t ordinal, const uint8_t *bytes, size_t len) {
    uint64_t hash = 0xcbf29ce484222325ULL ^ ordinal;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
    }
    return hash;
}

static bool grow(struct buffer *buffer, size_t len) {
    if (len <= buffer->cap) {
        return true;
    }
    free(buffer->at);
    buffer->at = malloc(len);
    buffer->cap = buffer->at == NULL ? 0 : len;
    return buffer->at != NULL;
}

// The whole file into buffer; its length, or -1 with errno set (a short file counts as an error).
static ssize_t read_whole(int fd, struct buffer *buffer) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !grow(buffer, (size_t)st.st_size)) {
        return -1;
    }
    size_t done = 0;
    while (done < (size_t)st.st_size) {
        ssize_t n = read(fd, buffer->at + done, (size_t)st.st_size - done);
        if (n <= 0) {
            return -1;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static bool read_record(struct job *job, uint64_t ordinal, struct buffer *buffer) {
    char path[4096];
    int need = snprintf(path, sizeof path, "%s/records/%0*" PRIu64 "/%s", job->dir, job->digits,
                        ordinal, job->field);
    if (need < 0 || (size_t)need >= sizeof path) {
        fprintf(stderr, "reader: path too long\n");
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read_whole(fd, buffer);
    if (len < 0) {
        perror(path);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (len < 0) {
        return false;
    }
    atomic_fetch_add(&job->bytes, (uint64_t)len);
    if (job->want_digest) {
        atomic_fetch_add(&job->digest, fold(ordinal, buffer->at, (size_t)len));
    }
    return true;
}

static void *read_records(void *arg) {
    struct job *job = arg;
    struct buffer buffer = {0};
    for (;;) {
        uint64_t i = atomic_fetch_add(&job->next, 1);
        if (i >= job->visits || atomic_load(&job->failed)) {
            break;
        }
        if (!read_record(job, job->order[i % job->count], &buffer)) {
            atomic_store(&job->failed, true);
        }
    }
    free(buffer.at);
    return NULL;
}

static double run(struct job *job, unsigned thread_count) {
    pthread_t threads[MAX_THREADS];
    unsigned started = 0;
    double start = bench_now();
    while (started < thread_count &&
           pthread_create(&threads[started], NULL, read_records, job) == 0) {
        started++;
    }
    if (started < thread_count) {
        fprintf(stderr, "reader: cannot start %u threads\n", thread_count);
        atomic_store(&job->failed, true);
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    return bench_now() - start;
}

static int digits_of(uint64_t largest) {
    int digits = snprintf(NULL, 0, "%" PRIu64, largest);
    return digits > MIN_ORDINAL_DIGITS ? digits : MIN_ORDINAL_DIGITS;
}

static int usage(void) {
    fprintf(stderr,
            "usage: reader [-s SEED] [-l LIMIT] [-p PASSES] [-t THREADS] [-d] DIR FIELD COUNT\n");
    return 2;
}

int main(int argc, char **argv) {
    struct job job = {0};
    uint64_t seed = 0, limit = UINT64_MAX, passes = 1;
    unsigned thread_count = 1;
    int option;
    while ((option = getopt(argc, argv, "s:l:p:t:d")) != -1) {
        switch (option) {
        case 's':
            seed = bench_number(optarg, UINT64_MAX, "seed");
            break;
        case 'l':
            limit = bench_number(optarg, UINT64_MAX, "limit");
            break;
        case 'p':
            passes = bench_number(optarg, 1000, "passes");
            break;
        case 't':
            thread_count = (unsigned)bench_number(optarg, MAX_THREADS, "threads");
            break;
        case 'd':
            job.want_digest = true;
            break;
        default:
            return usage();
        }
    }
    if (argc - optind != 3) {
        return usage();
    }
    job.dir = argv[optind];
    job.field = argv[optind + 1];
    uint64_t all = bench_number(argv[optind + 2], UINT32_MAX, "count");
    job.count = all < limit ? all : limit;
    job.visits = job.count * passes;
    uint64_t *order = bench_order(all, seed);
    if (order == NULL || job.visits == 0) {
        fprintf(stderr, "reader: nothing to read\n");
        return 1;
    }
    job.order = order;
    job.digits = digits_of(all - 1);
    double seconds = run(&job, thread_count);
    free(order);
    if (atomic_load(&job.failed)) {
        return 1;
    }
    bench_print_result(job.visits, job.bytes, seconds, job.digest);
    return 0;
}
