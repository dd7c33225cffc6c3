// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/when.h"

#include <string.h>
#include <time.h>

// Exactly count digits; NULL when they are not there.
static const char *digits(const char *at, int count, int *out) {
    *out = 0;
    for (; at != NULL && count > 0; count--, at++) {
        if (*at < '0' || *at > '9') {
            return NULL;
        }
        *out = *out * 10 + (*at - '0');
    }
    return at;
}

static const char *expect(const char *at, const char *any_of) {
    return at != NULL && *at != '\0' && strchr(any_of, *at) != NULL ? at + 1 : NULL;
}

static const char *fraction(const char *at) {
    if (at == NULL || *at != '.') {
        return at;
    }
    size_t len = strspn(at + 1, "0123456789");
    return len > 0 ? at + 1 + len : NULL;
}

// What has to be taken from the time to have it in UTC; NULL unless the text ends with it.
static const char *zone(const char *at, int *seconds) {
    *seconds = 0;
    if (at == NULL || strcmp(at, "Z") == 0 || strcmp(at, "z") == 0 || strcmp(at, "UTC") == 0) {
        return at;
    }
    int hours, minutes;
    int sign = *at == '-' ? -1 : 1;
    at = digits(expect(at, "+-"), 2, &hours);
    if (at != NULL && *at == ':') {
        at++;
    }
    at = digits(at, 2, &minutes);
    *seconds = sign * (hours * 3600 + minutes * 60);
    return at != NULL && *at == '\0' && hours < 24 && minutes < 60 ? at : NULL;
}

bool sds_when_parse(const char *text, int64_t *out) {
    struct tm tm = {0};
    int offset;
    const char *at = digits(text, 4, &tm.tm_year);
    at = digits(expect(at, "-"), 2, &tm.tm_mon);
    at = digits(expect(at, "-"), 2, &tm.tm_mday);
    at = digits(expect(at, "Tt "), 2, &tm.tm_hour);
    at = digits(expect(at, ":"), 2, &tm.tm_min);
    at = digits(expect(at, ":"), 2, &tm.tm_sec);
    at = zone(fraction(at), &offset);
    if (at == NULL || tm.tm_year < 1970 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
        tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60) {
        return false;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    struct tm same = tm;
    time_t t = timegm(&tm);
    *out = (int64_t)t - offset;
    return tm.tm_mon == same.tm_mon; // the 31st of a month that has none
}
