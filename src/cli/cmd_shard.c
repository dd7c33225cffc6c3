// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "cli/command.h"
#include "cli/content.h"
#include "format/array_record/array_record.h"

#define MAX_CHUNK_BYTES (UINT64_C(1) << 30)

static enum sds_kind read_at(void *ctx, uint64_t off, void *buf, size_t len, struct sds_err *err) {
    const int *fd = ctx;
    uint8_t *at = buf;
    while (len > 0) {
        ssize_t n = pread(*fd, at, len, (off_t)off);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return sds_fail(err, SDS_ERR_STORAGE, "read", "at byte %" PRIu64 ": %s", off,
                            n < 0 ? strerror(errno) : "the file became shorter");
        }
        at += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return SDS_OK;
}

// An open file and the chunk that was decoded last; records in order share it.
struct shard {
    int fd;
    struct sds_ar_source source;
    struct sds_ar_index *index;
    uint64_t chunk; // that is decoded
    bool has_chunk;
    struct sds_ar_chunk decoded;
};

static enum sds_kind open_shard(const char *path, struct shard *shard, struct sds_err *err) {
    struct stat st;
    *shard = (struct shard){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (shard->fd < 0 || fstat(shard->fd, &st) != 0) {
        return sds_fail(err, SDS_ERR_STORAGE, "open", "%s", strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return sds_fail(err, SDS_ERR_STORAGE, "open", "it is not a regular file");
    }
    shard->source =
        (struct sds_ar_source){.read_at = read_at, .ctx = &shard->fd, .size = (uint64_t)st.st_size};
    const struct sds_ar_limits limits = {.chunk_bytes = MAX_CHUNK_BYTES};
    return sds_ar_open(&shard->source, &limits, &shard->index, err);
}

static void close_shard(struct shard *shard) {
    if (shard->has_chunk) {
        sds_ar_chunk_fini(&shard->decoded);
    }
    sds_ar_close(shard->index);
    if (shard->fd >= 0) {
        close(shard->fd);
    }
}

static enum sds_kind read_record(struct shard *shard, uint64_t record, struct sds_span *out,
                                 struct sds_err *err) {
    uint64_t chunk;
    uint32_t place;
    sds_ar_locate(shard->index, record, &chunk, &place);
    if (!shard->has_chunk || shard->chunk != chunk) {
        if (shard->has_chunk) {
            sds_ar_chunk_fini(&shard->decoded);
        }
        enum sds_kind kind =
            sds_ar_read_chunk(shard->index, &shard->source, chunk, &shard->decoded, err);
        shard->has_chunk = kind == SDS_OK;
        if (kind != SDS_OK) {
            return kind;
        }
        shard->chunk = chunk;
    }
    *out = sds_ar_chunk_record(&shard->decoded, place);
    return SDS_OK;
}

// --- output

static void print_record(uint64_t record, struct sds_span bytes, bool as_json) {
    char hex[SDS_SHA256_HEX];
    sds_sha256_hex(bytes, hex);
    if (as_json) {
        printf("{\"index\": %" PRIu64 ", \"bytes\": %zu, \"sha256\": \"%s\"}\n", record, bytes.len,
               hex);
    } else {
        printf("%10" PRIu64 " %12zu %s\n", record, bytes.len, hex);
    }
}

static void print_refusal(uint64_t record, const struct sds_err *err, bool as_json) {
    char line[sizeof *err + 8];
    sds_err_line(err, line, sizeof line);
    if (!as_json) {
        printf("%10" PRIu64 " error: %s\n", record, line);
        return;
    }
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, "index", json_object_new_uint64(record));
    json_object_object_add(object, "error", json_object_new_string(line));
    puts(json_object_to_json_string_ext(object,
                                        JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(object);
}

static enum sds_exit print_all(struct shard *shard, bool as_json) {
    enum sds_exit code = SDS_EXIT_DONE;
    uint64_t count = sds_ar_record_count(shard->index);
    for (uint64_t record = 0; record < count; record++) {
        struct sds_span bytes;
        struct sds_err err;
        if (read_record(shard, record, &bytes, &err) == SDS_OK) {
            print_record(record, bytes, as_json);
        } else {
            print_refusal(record, &err, as_json);
            code = SDS_EXIT_UNSOUND;
        }
    }
    return sds_stdout_failed() ? SDS_EXIT_STORAGE : code;
}

static enum sds_kind write_one(struct shard *shard, uint64_t record, struct sds_err *err) {
    uint64_t count = sds_ar_record_count(shard->index);
    if (record >= count) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "index", "%" PRIu64 " of %" PRIu64 " records",
                        record, count);
    }
    struct sds_span bytes;
    enum sds_kind kind = read_record(shard, record, &bytes, err);
    return kind == SDS_OK ? sds_write_all(STDOUT_FILENO, bytes, err) : kind;
}

// --- the command

static enum sds_exit look(const char *path, const uint64_t *record, bool as_json) {
    struct shard shard;
    struct sds_err err;
    enum sds_exit code = SDS_EXIT_DONE;
    enum sds_kind kind = open_shard(path, &shard, &err);
    if (kind == SDS_OK && record != NULL) {
        kind = write_one(&shard, *record, &err);
    } else if (kind == SDS_OK) {
        code = print_all(&shard, as_json);
    }
    close_shard(&shard);
    return kind == SDS_OK ? code : sds_report(path, &err);
}

static bool parse_index(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static enum sds_exit run(int argc, char **argv) {
    static const struct option names[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool as_json = false;
    int result;
    while ((result = getopt_long(argc, argv, ":h", names, NULL)) != -1) {
        if (result == 'h') {
            return sds_help(&sds_cmd_shard);
        }
        if (result != 'j') {
            return sds_bad_option(&sds_cmd_shard, result, argv);
        }
        as_json = true;
    }
    enum sds_exit code;
    int count = argc - optind;
    if (!sds_check_arguments(&sds_cmd_shard, count, argv + optind, 1, 2, &code)) {
        return code;
    }
    uint64_t record;
    if (count == 2 && !parse_index(argv[optind + 1], &record)) {
        return sds_usage(&sds_cmd_shard, "%s: not an index", argv[optind + 1]);
    }
    return look(argv[optind], count == 2 ? &record : NULL, as_json);
}

static const struct sds_switch switches[] = {
    {"json", NULL,
     "an object a line: {\"index\", \"bytes\", \"sha256\"} or {\"index\", \"error\"}"},
};

const struct sds_command sds_cmd_shard = {
    .name = "shard",
    .synopsis = "[--json] FILE [INDEX]",
    .summary = "Look into an ArrayRecord file",
    .help =
        "Prints index, size and SHA-256 of each record, or writes the bytes of one. Exits 1 if\n"
        "anything was refused.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 0,
    .run = run,
};
