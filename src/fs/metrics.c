// SPDX-License-Identifier: Apache-2.0
#include "fs/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Where the text goes, and the first failure to append to it.
struct writer {
    struct sds_buf *out;
    enum sds_kind kind;
};

static void keep(struct writer *writer, enum sds_kind kind) {
    if (writer->kind == SDS_OK) {
        writer->kind = kind;
    }
}

// A family's name in the text: counters are samples NAME_total of a family NAME.
static void family(struct writer *writer, const char *name, const char *type, const char *help) {
    keep(writer,
         sds_buf_printf(writer->out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help));
}

static bool ends_with(const char *name, const char *suffix) {
    size_t len = strlen(name), tail = strlen(suffix);
    return len > tail && strcmp(name + len - tail, suffix) == 0;
}

static void nanoseconds(struct writer *writer, uint64_t ns) {
    keep(writer, sds_buf_printf(writer->out, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000,
                                ns % 1000000000));
}

// A driver's metric has no type but its name tells: "..._total" counts, others go up and down. One
// in seconds is given in nanoseconds.
static void driver_metric(void *ctx, const char *name, const char *help, uint64_t value) {
    struct writer *writer = ctx;
    static const char suffix[] = "_total";
    size_t len = strlen(name);
    char base[128];
    snprintf(base, sizeof base, "%s", name);
    bool counter = ends_with(name, suffix);
    if (counter && len < sizeof base) {
        base[len - (sizeof suffix - 1)] = '\0';
    }
    family(writer, base, counter ? "counter" : "gauge", help);
    if (ends_with(name, "_seconds_total") || ends_with(name, "_seconds")) {
        keep(writer, sds_buf_printf(writer->out, "%s ", name));
        nanoseconds(writer, value);
        return;
    }
    keep(writer, sds_buf_printf(writer->out, "%s %" PRIu64 "\n", name, value));
}

static void check_metric(void *ctx, const char *check, uint64_t count) {
    struct writer *writer = ctx;
    keep(writer, sds_buf_printf(writer->out, "sdsfs_errors_total{check=\"%s\"} %" PRIu64 "\n",
                                check, count));
}

static void request_metrics(struct writer *writer, const struct sds_requests *requests) {
    family(writer, "sdsfs_requests", "counter", "Requests from the kernel, by operation.");
    for (enum sds_op op = 0; op < SDS_OP_COUNT; op++) {
        uint64_t count = atomic_load_explicit(&requests->by_op[op], memory_order_relaxed);
        keep(writer, sds_buf_printf(writer->out, "sdsfs_requests_total{op=\"%s\"} %" PRIu64 "\n",
                                    sds_op_name(op), count));
    }
    driver_metric(writer, "sdsfs_read_bytes_total", "Bytes answered to reads.",
                  atomic_load_explicit(&requests->read_bytes, memory_order_relaxed));
}

// Buckets of OpenMetrics have all that are below their end. One answer more may be counted while
// they are read, so the last of them is the count.
static void latency_of(struct writer *writer, const struct sds_latency *latency, const char *op) {
    uint64_t count = 0;
    for (int i = 0; i < SDS_LATENCY_BUCKETS; i++) {
        count += atomic_load_explicit(&latency->buckets[i], memory_order_relaxed);
        keep(writer, sds_buf_printf(writer->out,
                                    "sdsfs_request_duration_seconds_bucket{op=\"%s\",le=\"%s\"} "
                                    "%" PRIu64 "\n",
                                    op, sds_latency_end(i), count));
    }
    keep(writer, sds_buf_printf(writer->out,
                                "sdsfs_request_duration_seconds_count{op=\"%s\"} %" PRIu64 "\n"
                                "sdsfs_request_duration_seconds_sum{op=\"%s\"} ",
                                op, count, op));
    nanoseconds(writer, atomic_load_explicit(&latency->ns, memory_order_relaxed));
}

static bool is_measured(const struct sds_latency *latency) {
    return atomic_load_explicit(&latency->ns, memory_order_relaxed) != 0;
}

static void latency_metrics(struct writer *writer, const struct sds_requests *requests) {
    family(writer, "sdsfs_request_duration_seconds", "histogram",
           "From taking a request to answering it, waiting included, by operation.");
    for (enum sds_op op = 0; op < SDS_OP_COUNT; op++) {
        if (is_measured(&requests->latency[op])) {
            latency_of(writer, &requests->latency[op], sds_op_name(op));
        }
    }
}

static void parked_metrics(struct writer *writer, const struct sds_parked_counts *counts) {
    driver_metric(writer, "sdsfs_waiting_requests", "Requests that wait for the store now.",
                  atomic_load(&counts->now));
    driver_metric(writer, "sdsfs_waited_requests_total", "Requests that had to wait.",
                  atomic_load(&counts->total));
    driver_metric(writer, "sdsfs_late_requests_total",
                  "Requests answered with ETIMEDOUT because they waited for too long.",
                  atomic_load(&counts->late));
    driver_metric(writer, "sdsfs_killed_requests_total",
                  "Requests let go because whoever asked was killed.",
                  atomic_load(&counts->killed));
}

enum sds_kind sds_metrics_render(const struct sds_control_sources *sources, struct sds_buf *out) {
    struct writer writer = {.out = out};
    request_metrics(&writer, sources->requests);
    latency_metrics(&writer, sources->requests);
    parked_metrics(&writer, &sources->requests->parked);
    family(&writer, "sdsfs_errors", "counter", "Failures of parts of the dataset, by check.");
    sds_errors_each_check(sources->errors, check_metric, &writer);
    driver_metric(&writer, "sdsfs_held_nodes",
                  "Nodes kept because their key does not fit an inode.",
                  sds_nodes_count(sources->nodes));
    sources->ds->ops->metrics(sources->ds, driver_metric, &writer);
    if (sources->store != NULL) {
        sds_store_metrics(sources->store, driver_metric, &writer);
    }
    keep(&writer, sds_buf_add_str(out, "# EOF\n"));
    return writer.kind;
}
