// SPDX-License-Identifier: Apache-2.0
//
// decode [-s SEED] SHARD...
//
// Reads, hash-checks and decompresses the records of ArrayRecord files (one after the other they
// make the ordinals) into a buffer, shuffled by SEED (0: ascending), in one thread and without a
// file system of ours: what a mount cannot save.
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/array_record/array_record.h"
#include "order.h"
#include "result.h"

static const struct sds_ar_limits limits = {.chunk_bytes = (uint64_t)1 << 30};

struct shard {
    int fd;
    uint64_t first_ordinal;
    struct sds_ar_source source;
    struct sds_ar_index *index;
};

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    const struct shard *shard = ctx;
    uint8_t *to = buf;
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(shard->fd, to + done, len - done, (off_t)(off + done));
        if (n <= 0) {
            return sds_fail(err, SDS_ERR_STORAGE, "read", "%zu of %zu bytes at %" PRIu64, done, len,
                            off);
        }
        done += (size_t)n;
    }
    return SDS_OK;
}

static bool failed(const char *path, const struct sds_err *err) {
    char line[1200];
    fprintf(stderr, "decode: %s: %s\n", path, sds_err_line(err, line, sizeof line));
    return false;
}

static bool open_shard(struct shard *shard, const char *path, uint64_t first_ordinal) {
    struct stat st;
    struct sds_err err;
    shard->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (shard->fd < 0 || fstat(shard->fd, &st) != 0) {
        perror(path);
        return false;
    }
    shard->first_ordinal = first_ordinal;
    shard->source =
        (struct sds_ar_source){.read_at = read_at, .ctx = shard, .size = (uint64_t)st.st_size};
    if (sds_ar_open(&shard->source, &limits, &shard->index, &err) != SDS_OK) {
        return failed(path, &err);
    }
    return true;
}

// The shard that holds ordinal: the last one that begins at or before it.
static const struct shard *shard_of(const struct shard *shards, int count, uint64_t ordinal) {
    int i = count - 1;
    while (shards[i].first_ordinal > ordinal) {
        i--;
    }
    return &shards[i];
}

// Adds the record's length to *bytes.
static bool decode_record(const struct shard *shard, uint64_t ordinal, uint64_t *bytes) {
    uint64_t chunk_number;
    uint32_t place;
    struct sds_ar_chunk chunk;
    struct sds_err err;
    sds_ar_locate(shard->index, ordinal - shard->first_ordinal, &chunk_number, &place);
    if (sds_ar_read_chunk(shard->index, &shard->source, chunk_number, &chunk, &err) != SDS_OK) {
        return failed("record", &err);
    }
    *bytes += sds_ar_chunk_record(&chunk, place).len;
    sds_ar_chunk_fini(&chunk);
    return true;
}

static bool run(const struct shard *shards, int shard_count, uint64_t count, uint64_t seed) {
    uint64_t *order = bench_order(count, seed);
    if (order == NULL) {
        return false;
    }
    uint64_t bytes = 0;
    bool ok = true;
    double start = bench_now();
    for (uint64_t i = 0; i < count && ok; i++) {
        ok = decode_record(shard_of(shards, shard_count, order[i]), order[i], &bytes);
    }
    double seconds = bench_now() - start;
    free(order);
    if (ok) {
        bench_print_result(count, bytes, seconds, 0);
    }
    return ok;
}

int main(int argc, char **argv) {
    uint64_t seed = 0;
    int option;
    while ((option = getopt(argc, argv, "s:")) != -1) {
        if (option != 's') {
            argc = optind; // no shards: usage
            break;
        }
        seed = bench_number(optarg, UINT64_MAX, "seed");
    }
    int shard_count = argc - optind;
    if (shard_count < 1) {
        fprintf(stderr, "usage: decode [-s SEED] SHARD...\n");
        return 2;
    }
    struct shard *shards = calloc((size_t)shard_count, sizeof *shards);
    if (shards == NULL) {
        return 1;
    }
    uint64_t count = 0;
    int opened = 0;
    while (opened < shard_count && open_shard(&shards[opened], argv[optind + opened], count)) {
        count += sds_ar_record_count(shards[opened].index);
        opened++;
    }
    bool ok = opened == shard_count && run(shards, shard_count, count, seed);
    for (int i = 0; i < opened; i++) {
        sds_ar_close(shards[i].index);
        close(shards[i].fd);
    }
    free(shards);
    return ok ? 0 : 1;
}
