// SPDX-License-Identifier: Apache-2.0
#include "remote/http/http_head.h"

#include <strings.h>

// --- pieces of text

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

static struct sds_span trimmed(struct sds_span text) {
    while (text.len > 0 && (text.at[0] == ' ' || text.at[0] == '\t')) {
        text = sds_span(text.at + 1, text.len - 1);
    }
    while (text.len > 0 && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

static bool equals(struct sds_span text, const char *word) {
    return text.len == strlen(word) && strncasecmp((const char *)text.at, word, text.len) == 0;
}

// Whether the text begins with that; then it is taken off.
static bool take(struct sds_span *text, const char *word) {
    size_t len = strlen(word);
    if (text->len < len || strncasecmp((const char *)text->at, word, len) != 0) {
        return false;
    }
    *text = sds_span(text->at + len, text->len - len);
    return true;
}

// A decimal number at the beginning, taken off; at most INT64_MAX, so that one more fits as well.
static bool take_number(struct sds_span *text, uint64_t *out) {
    uint64_t n = 0;
    size_t len = 0;
    for (; len < text->len && is_digit(text->at[len]); len++) {
        unsigned digit = text->at[len] - '0';
        if (n > ((uint64_t)INT64_MAX - digit) / 10) {
            return false;
        }
        n = n * 10 + digit;
    }
    *text = sds_span(text->at + len, text->len - len);
    *out = n;
    return len > 0;
}

static bool number(struct sds_span text, uint64_t *out) {
    return take_number(&text, out) && text.len == 0;
}

// Whether all of it can be shown in a line, and there is neither a space nor a quote in it.
static bool is_plain(struct sds_span text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] <= ' ' || text.at[i] > '~' || text.at[i] == '"') {
            return false;
        }
    }
    return true;
}

// --- the headers

static void read_length(struct sds_http_head *head, struct sds_span value) {
    uint64_t length;
    if (!number(value, &length) || (head->has_length && head->length != length)) {
        head->length_bad = true;
    } else {
        head->length = length;
    }
    head->has_length = !head->length_bad;
}

struct range {
    bool has, known;
    uint64_t first, last, total;
};

static bool parse_range(struct sds_span text, struct range *out) {
    *out = (struct range){0};
    if (!take(&text, "bytes ")) {
        return false;
    }
    if (!take(&text, "*")) {
        out->has = true;
        if (!take_number(&text, &out->first) || !take(&text, "-") ||
            !take_number(&text, &out->last) || out->first > out->last) {
            return false;
        }
    }
    if (!take(&text, "/")) {
        return false;
    }
    if (take(&text, "*")) {
        return text.len == 0 && out->has;
    }
    out->known = true;
    return number(text, &out->total) && (!out->has || out->last < out->total);
}

static void read_range(struct sds_http_head *head, struct sds_span value) {
    struct range range;
    bool seen = head->has_range || head->total_known;
    bool good = parse_range(value, &range) && !head->range_bad;
    if (good && seen) {
        good = range.has == head->has_range && range.known == head->total_known &&
               range.first == head->first && range.last == head->last && range.total == head->total;
    }
    head->range_bad = !good;
    head->has_range = good && range.has;
    head->total_known = good && range.known;
    head->first = good ? range.first : 0;
    head->last = good ? range.last : 0;
    head->total = good ? range.total : 0;
}

static void read_uploaded(struct sds_http_head *head, struct sds_span value) {
    uint64_t last;
    head->has_uploaded = take(&value, "bytes=0-") && number(value, &last);
    head->uploaded = head->has_uploaded ? last + 1 : 0;
}

static void read_etag(struct sds_http_head *head, struct sds_span value) {
    bool seen = head->etag[0] != '\0';
    bool weak = value.len > 2 && value.at[0] == 'W' && value.at[1] == '/';
    if (weak) {
        value = sds_span(value.at + 2, value.len - 2);
    }
    bool good = !head->etag_bad && value.len >= 2 && value.len < sizeof head->etag &&
                value.at[0] == '"' && value.at[value.len - 1] == '"' &&
                is_plain(sds_span(value.at + 1, value.len - 2));
    if (good && seen) {
        good = weak == head->weak_etag && sds_span_eq(value, sds_span_str(head->etag));
    }
    head->etag_bad = !good;
    head->weak_etag = good && weak;
    memset(head->etag, 0, sizeof head->etag);
    if (good) {
        memcpy(head->etag, value.at, value.len);
    }
}

static void read_encoding(struct sds_http_head *head, struct sds_span value) {
    head->encoded = head->encoded || (value.len > 0 && !equals(value, "identity"));
}

static void read_accept_ranges(struct sds_http_head *head, struct sds_span value) {
    head->accept_ranges_none = equals(value, "none");
}

static void read_flavor(struct sds_http_head *head, struct sds_span value) {
    head->google_metadata = equals(value, "Google");
}

// The first one counts; one that does not fit or is not plain counts for nothing.
static void read_text(char *out, size_t size, struct sds_span value) {
    if (out[0] == '\0' && value.len < size && is_plain(value)) {
        memcpy(out, value.at, value.len);
        out[value.len] = '\0';
    }
}

static void read_location(struct sds_http_head *head, struct sds_span value) {
    read_text(head->location, sizeof head->location, value);
}

static void read_region(struct sds_http_head *head, struct sds_span value) {
    read_text(head->region, sizeof head->region, value);
}

static void read_request_id(struct sds_http_head *head, struct sds_span value) {
    read_text(head->request_id, sizeof head->request_id, value);
}

static void set_retry_after(struct sds_http_head *head, uint64_t seconds) {
    head->has_retry_after = true;
    head->retry_after_ms = seconds < SDS_HTTP_RETRY_AFTER_MAX_MS / 1000
                               ? (uint32_t)seconds * 1000
                               : SDS_HTTP_RETRY_AFTER_MAX_MS;
}

// A date says how long when the server's own clock is known, whichever header came first.
static void settle_retry(struct sds_http_head *head) {
    if (head->has_retry_date && head->has_date) {
        int64_t seconds = head->retry_date - head->date;
        set_retry_after(head, seconds > 0 ? (uint64_t)seconds : 0);
    }
}

static void read_retry_after(struct sds_http_head *head, struct sds_span value) {
    uint64_t seconds;
    int64_t date;
    if (number(value, &seconds)) {
        set_retry_after(head, seconds);
    } else if (sds_http_date_parse(value, &date)) {
        head->has_retry_date = true;
        head->retry_date = date;
        settle_retry(head);
    }
}

static void read_date(struct sds_http_head *head, struct sds_span value) {
    head->has_date = head->has_date || sds_http_date_parse(value, &head->date);
    settle_retry(head);
}

// What tells a version is known only as long as all that is said of it agrees.
static void read_modified(struct sds_http_head *head, struct sds_span value) {
    int64_t date = 0;
    bool good = sds_http_date_parse(value, &date) &&
                (!head->seen_modified || (head->has_modified && head->modified == date));
    head->seen_modified = true;
    head->has_modified = good;
    head->modified = good ? date : 0;
}

static void read_generation(struct sds_http_head *head, struct sds_span value) {
    uint64_t generation = 0;
    bool good =
        number(value, &generation) &&
        (!head->seen_generation || (head->has_generation && head->generation == generation));
    head->seen_generation = true;
    head->has_generation = good;
    head->generation = good ? generation : 0;
}

static int base64_digit(uint8_t c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

// Four bytes in base64, the first one the most significant.
static bool parse_crc(struct sds_span text, uint32_t *out) {
    uint64_t bits = 0;
    if (text.len != 8 || text.at[6] != '=' || text.at[7] != '=') {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        int digit = base64_digit(text.at[i]);
        if (digit < 0) {
            return false;
        }
        bits = bits << 6 | (unsigned)digit;
    }
    *out = (uint32_t)(bits >> 4);
    return (bits & 15) == 0;
}

static void add_crc(struct sds_http_head *head, struct sds_span text) {
    uint32_t crc = 0;
    bool good =
        parse_crc(text, &crc) && (!head->seen_crc32c || (head->has_crc32c && head->crc32c == crc));
    head->seen_crc32c = true;
    head->has_crc32c = good;
    head->crc32c = good ? crc : 0;
}

// A list, in one line or in several: crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==
static void read_hashes(struct sds_http_head *head, struct sds_span value) {
    while (value.len > 0) {
        const uint8_t *comma = memchr(value.at, ',', value.len);
        size_t len = comma != NULL ? (size_t)(comma - value.at) : value.len;
        struct sds_span item = trimmed(sds_span(value.at, len));
        if (take(&item, "crc32c=")) {
            add_crc(head, item);
        }
        size_t skip = comma != NULL ? len + 1 : len;
        value = sds_span(value.at + skip, value.len - skip);
    }
}

static const struct {
    const char *name;
    void (*read)(struct sds_http_head *head, struct sds_span value);
} readers[] = {
    {"content-length", read_length},
    {"content-range", read_range},
    {"range", read_uploaded},
    {"etag", read_etag},
    {"content-encoding", read_encoding},
    {"accept-ranges", read_accept_ranges},
    {"metadata-flavor", read_flavor},
    {"location", read_location},
    {"x-amz-bucket-region", read_region},
    {"x-amz-request-id", read_request_id},
    {"x-guploader-uploadid", read_request_id},
    {"retry-after", read_retry_after},
    {"date", read_date},
    {"last-modified", read_modified},
    {"x-goog-generation", read_generation},
    {"x-goog-hash", read_hashes},
};

static struct sds_span without_line_break(struct sds_span line) {
    if (line.len > 0 && line.at[line.len - 1] == '\n') {
        line.len--;
    }
    if (line.len > 0 && line.at[line.len - 1] == '\r') {
        line.len--;
    }
    return line;
}

void sds_http_head_line(struct sds_http_head *head, struct sds_span line) {
    line = without_line_break(line);
    struct sds_span status = line;
    if (take(&status, "HTTP/")) {
        *head = (struct sds_http_head){0};
        return;
    }
    const uint8_t *colon = line.len > 0 ? memchr(line.at, ':', line.len) : NULL;
    if (colon == NULL) {
        return;
    }
    struct sds_span name = sds_span(line.at, (size_t)(colon - line.at));
    struct sds_span value = trimmed(sds_span(colon + 1, line.len - name.len - 1));
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (equals(name, readers[i].name)) {
            readers[i].read(head, value);
        }
    }
}
