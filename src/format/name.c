// SPDX-License-Identifier: Apache-2.0
#include "format/name.h"

#include <assert.h>
#include <stdio.h>

#include "base/hash.h"

#define HASH_DIGITS 16
#define MARK_LEN (1 + HASH_DIGITS) // "~" and the digits

// Bytes of the character at the start of text: what its first byte announces, as far as
// continuation bytes follow (a stray one must not hide a '/' behind it).
static size_t character_len(struct sds_span text) {
    uint8_t lead = text.at[0];
    size_t announced = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    size_t len = 1;
    while (len < announced && len < text.len && (text.at[len] & 0xC0) == 0x80) {
        len++;
    }
    return len;
}

static bool must_escape(uint8_t byte, bool first) {
    return byte == '/' || byte == '%' || byte < 0x20 || byte == 0x7F || (first && byte == '.');
}

// Encodes the character at the start of text; returns the length of its encoded form.
static size_t encode_character(struct sds_span text, bool first, char out[4], size_t *taken) {
    *taken = character_len(text);
    if (must_escape(text.at[0], first)) {
        snprintf(out, 4, "%%%02X", text.at[0]);
        return 3;
    }
    memcpy(out, text.at, *taken);
    return *taken;
}

size_t sds_name_encode(struct sds_span name, const char *suffix, char out[SDS_NAME_MAX + 1]) {
    size_t suffix_len = strlen(suffix);
    assert(suffix_len + MARK_LEN <= SDS_NAME_MAX);
    const size_t room = SDS_NAME_MAX - suffix_len;
    size_t len = 0;
    size_t cut = 0; // the last end of a character that leaves room for the mark
    for (size_t i = 0, taken; i < name.len; i += taken) {
        char character[4];
        size_t n = encode_character(sds_span(name.at + i, name.len - i), i == 0, character, &taken);
        if (n > room - len) {
            char digest[SDS_SHA256_HEX];
            sds_sha256_hex(name, digest);
            out[cut] = '~';
            memcpy(out + cut + 1, digest, HASH_DIGITS);
            len = cut + MARK_LEN;
            break;
        }
        memcpy(out + len, character, n);
        len += n;
        cut = len <= room - MARK_LEN ? len : cut;
    }
    if (name.len == 0) {
        out[len++] = '%';
    }
    memcpy(out + len, suffix, suffix_len + 1);
    return len + suffix_len;
}

unsigned sds_number_width(uint64_t count) {
    unsigned width = 1;
    for (uint64_t last = count > 0 ? count - 1 : 0; last >= 10; last /= 10) {
        width++;
    }
    return width < 6 ? 6 : width;
}

bool sds_is_portable(struct sds_span text) {
    if (text.len < 1 || text.len > 128) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];
        bool letter_or_digit =
            (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter_or_digit && (i == 0 || (c != '.' && c != '_' && c != '-'))) {
            return false;
        }
    }
    return true;
}
