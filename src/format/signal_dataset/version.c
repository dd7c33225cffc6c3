// SPDX-License-Identifier: Apache-2.0
//
// min_reader_version, section 5: "from each part take the leading digits", where a digit is what
// Python's str.isdigit says, in any script.
#include "format/signal_dataset/documents.h"

#define MAX_DIGITS 4300     // of one part; Python makes no integer from more
#define PART_CEILING 100000 // parts beyond it compare alike: no release of ours comes near

// The zeros of the decimal digits of Unicode 14 beyond ASCII; the nine others follow each.
static const uint32_t zeros[] = {
    0x00660, 0x006F0, 0x007C0, 0x00966, 0x009E6, 0x00A66, 0x00AE6, 0x00B66, 0x00BE6, 0x00C66,
    0x00CE6, 0x00D66, 0x00DE6, 0x00E50, 0x00ED0, 0x00F20, 0x01040, 0x01090, 0x017E0, 0x01810,
    0x01946, 0x019D0, 0x01A80, 0x01A90, 0x01B50, 0x01BB0, 0x01C40, 0x01C50, 0x0A620, 0x0A8D0,
    0x0A900, 0x0A9D0, 0x0A9F0, 0x0AA50, 0x0ABF0, 0x0FF10, 0x104A0, 0x10D30, 0x11066, 0x110F0,
    0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950,
    0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC,
    0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
};

// Digits in name only: str.isdigit takes superscripts and the like, int() then refuses them.
static const struct {
    uint32_t first, last;
} nominal_digits[] = {
    {0x000B2, 0x000B3}, {0x000B9, 0x000B9}, {0x01369, 0x01371}, {0x019DA, 0x019DA},
    {0x02070, 0x02070}, {0x02074, 0x02079}, {0x02080, 0x02089}, {0x02460, 0x02468},
    {0x02474, 0x0247C}, {0x02488, 0x02490}, {0x024EA, 0x024EA}, {0x024F5, 0x024FD},
    {0x024FF, 0x024FF}, {0x02776, 0x0277E}, {0x02780, 0x02788}, {0x0278A, 0x02792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
};

enum { NOT_A_DIGIT = -1, NOMINAL_DIGIT = -2 };

static int digit_value(uint32_t character) {
    if (character < 0x80) {
        return character >= '0' && character <= '9' ? (int)(character - '0') : NOT_A_DIGIT;
    }
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        if (character - zeros[i] < 10) {
            return (int)(character - zeros[i]);
        }
    }
    for (size_t i = 0; i < sizeof nominal_digits / sizeof nominal_digits[0]; i++) {
        if (character >= nominal_digits[i].first && character <= nominal_digits[i].last) {
            return NOMINAL_DIGIT;
        }
    }
    return NOT_A_DIGIT;
}

// The character at pos, which moves behind it. text came from a JSON string, so its sequences are
// whole; the bounds are checked all the same.
static uint32_t next_character(struct sds_span text, size_t *pos) {
    uint8_t lead = text.at[(*pos)++];
    uint32_t character = lead < 0x80   ? lead
                         : lead < 0xE0 ? lead & 0x1Fu
                         : lead < 0xF0 ? lead & 0x0Fu
                                       : lead & 0x07u;
    while (*pos < text.len && (text.at[*pos] & 0xC0) == 0x80) {
        character = character << 6 | (text.at[(*pos)++] & 0x3Fu);
    }
    return character;
}

struct parts {
    struct sds_span text;
    size_t pos;
    unsigned taken;
    bool ended;
    bool unreadable;
};

// The digits at the start of the part at pos; false when there are none.
static bool take_digits(struct parts *parts, uint32_t *value) {
    unsigned digits = 0;
    *value = 0;
    while (parts->pos < parts->text.len) {
        size_t next = parts->pos;
        int digit = digit_value(next_character(parts->text, &next));
        if (digit == NOT_A_DIGIT) {
            break;
        }
        parts->pos = next;
        if (digit == NOMINAL_DIGIT || ++digits > MAX_DIGITS) {
            parts->unreadable = true;
            return false;
        }
        *value = *value * 10 + (uint32_t)digit;
        *value = *value < PART_CEILING ? *value : PART_CEILING;
    }
    return digits > 0;
}

// The next number of the version: as many as there are, but at least three, padded with zeros.
// False at the end.
static bool next_part(struct parts *parts, uint32_t *value) {
    if (!parts->ended && !take_digits(parts, value)) {
        parts->ended = true;
        parts->unreadable |= parts->taken == 0;
    }
    if (parts->ended) {
        *value = 0;
        return parts->taken++ < 3;
    }
    parts->taken++;
    const uint8_t *rest = parts->text.at + parts->pos;
    const uint8_t *dot = memchr(rest, '.', parts->text.len - parts->pos);
    parts->ended = dot == NULL;
    parts->pos += dot != NULL ? (size_t)(dot - rest) + 1 : 0;
    return true;
}

int sds_reader_accepts(struct sds_span version) {
    struct parts ours = {.text = sds_span_str(SDS_READER_VERSION)};
    struct parts minimum = {.text = version};
    int order = 0; // of ours against the minimum; a list that goes on is the greater one
    bool more_ours, more_minimum;
    do { // to the end, since whatever stands there must be readable
        uint32_t a = 0, b = 0;
        more_ours = next_part(&ours, &a);
        more_minimum = next_part(&minimum, &b);
        if (order == 0) {
            order = more_ours == more_minimum ? (a > b) - (a < b) : more_ours - more_minimum;
        }
    } while (more_ours || more_minimum);
    return minimum.unreadable ? -1 : order >= 0;
}
