// SPDX-License-Identifier: Apache-2.0
#include "cli/shown.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

const char *sds_bytes_shown(uint64_t count, char out[SDS_SHOWN_MAX]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)count;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(out, SDS_SHOWN_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

const char *sds_age_shown(uint64_t seconds, char out[SDS_SHOWN_MAX]) {
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t unit = 0;
    while (unit < sizeof units / sizeof units[0] && seconds < units[unit].seconds) {
        unit++;
    }
    if (unit == sizeof units / sizeof units[0]) {
        snprintf(out, SDS_SHOWN_MAX, "just now");
        return out;
    }
    uint64_t whole = seconds / units[unit].seconds, rest = seconds % units[unit].seconds;
    uint64_t next = unit + 1 < sizeof units / sizeof units[0] ? rest / units[unit + 1].seconds : 0;
    if (next > 0) {
        snprintf(out, SDS_SHOWN_MAX, "%" PRIu64 " %s %" PRIu64 " %s", whole, units[unit].name, next,
                 units[unit + 1].name);
    } else {
        snprintf(out, SDS_SHOWN_MAX, "%" PRIu64 " %s", whole, units[unit].name);
    }
    return out;
}
