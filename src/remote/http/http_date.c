// SPDX-License-Identifier: Apache-2.0
//
// Dates as HTTP has them (RFC 9110, 5.6.7): the one form that is written today and the two that
// have to be understood.
#include <ctype.h>
#include <time.h>

#include "remote/http/http_head.h"

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

struct parts {
    unsigned day, month, year, hour, minute, second;
    char name[3]; // of the month
    unsigned name_len;
};

static bool add_digit(unsigned *number, uint8_t c) {
    *number = *number * 10 + (unsigned)(c - '0');
    return isdigit(c);
}

// One byte against one of the pattern: a letter stands for a digit of a part or a letter of a name,
// anything else for itself.
static bool take(struct parts *parts, char pattern, uint8_t c) {
    switch (pattern) {
    case 'd':
        return add_digit(&parts->day, c);
    case 'e': // padded with a space
        return c == ' ' || add_digit(&parts->day, c);
    case 'b':
        parts->name[parts->name_len++] = (char)c;
        return isalpha(c);
    case 'y':
        return add_digit(&parts->year, c);
    case 'h':
        return add_digit(&parts->hour, c);
    case 'm':
        return add_digit(&parts->minute, c);
    case 's':
        return add_digit(&parts->second, c);
    case 'a':
        return isalpha(c);
    default:
        return c == (uint8_t)pattern;
    }
}

static bool match(struct sds_span text, const char *pattern, struct parts *parts) {
    *parts = (struct parts){0};
    if (text.len != strlen(pattern)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!take(parts, pattern[i], text.at[i])) {
            return false;
        }
    }
    return true;
}

static bool find_month(struct parts *parts) {
    for (unsigned i = 0; i < 12; i++) {
        if (memcmp(parts->name, months + 3 * (size_t)i, 3) == 0) {
            parts->month = i;
            return true;
        }
    }
    return false;
}

static bool to_seconds(struct parts *parts, int64_t *out) {
    if (!find_month(parts) || parts->hour > 23 || parts->minute > 59 || parts->second > 60) {
        return false;
    }
    struct tm tm = {
        .tm_mday = (int)parts->day,
        .tm_mon = (int)parts->month,
        .tm_year = (int)parts->year - 1900,
        .tm_hour = (int)parts->hour,
        .tm_min = (int)parts->minute,
        .tm_sec = (int)(parts->second < 60 ? parts->second : 59), // a leap second is none of ours
    };
    int64_t seconds = timegm(&tm);
    if (tm.tm_mday != (int)parts->day || tm.tm_mon != (int)parts->month) {
        return false; // there is no such day
    }
    *out = seconds;
    return true;
}

// What stands behind "Sun, " or "Sunday, ".
static struct sds_span behind_weekday(struct sds_span text) {
    size_t n = 0;
    while (n < text.len && isalpha(text.at[n])) {
        n++;
    }
    if (n == 0 || text.len - n < 2 || text.at[n] != ',' || text.at[n + 1] != ' ') {
        return (struct sds_span){0};
    }
    return sds_span(text.at + n + 2, text.len - n - 2);
}

bool sds_http_date_parse(struct sds_span text, int64_t *out) {
    struct parts parts;
    struct sds_span date = behind_weekday(text);
    if (match(date, "dd bbb yyyy hh:mm:ss GMT", &parts) ||
        match(text, "aaa bbb ed hh:mm:ss yyyy", &parts)) {
        return to_seconds(&parts, out);
    }
    if (match(date, "dd-bbb-yy hh:mm:ss GMT", &parts)) {
        parts.year += parts.year < 70 ? 2000 : 1900;
        return to_seconds(&parts, out);
    }
    return false;
}
