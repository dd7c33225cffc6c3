// SPDX-License-Identifier: Apache-2.0
//
// Paths and object references, section 4.
#include "base/hash.h"
#include "format/signal_dataset/document_reader.h"

static bool has_prefix(struct sds_span text, const char *prefix) {
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.at, prefix, len) == 0;
}

bool sds_path_is_absolute(struct sds_span path) {
    return has_prefix(path, "/") || has_prefix(path, "gs://") || has_prefix(path, "s3://");
}

// The segment at pos, which moves past it and its '/'.
static struct sds_span next_segment(struct sds_span path, size_t *pos) {
    const uint8_t *start = path.at + *pos;
    size_t left = path.len - *pos;
    const uint8_t *slash = memchr(start, '/', left);
    size_t len = slash != NULL ? (size_t)(slash - start) : left;
    *pos += slash != NULL ? len + 1 : len;
    return sds_span(start, len);
}

static bool is_unsafe_byte(uint8_t byte) {
    return byte == '\\' || byte == '\0' || byte == '#' || byte == '?';
}

static bool is_safe_relative(struct sds_span path) {
    if (path.len == 0 || path.at[0] == '/') {
        return false;
    }
    for (size_t i = 0; i < path.len; i++) {
        if (is_unsafe_byte(path.at[i])) {
            return false;
        }
    }
    for (size_t pos = 0; pos < path.len;) {
        if (sds_span_eq(next_segment(path, &pos), sds_span_str(".."))) {
            return false;
        }
    }
    return true;
}

// Drops empty and "." segments of a safe path in place; returns its new length. A path of nothing
// else is ".".
static size_t drop_idle_segments(uint8_t *path, size_t len) {
    size_t kept = 0;
    for (size_t pos = 0; pos < len;) {
        struct sds_span segment = next_segment(sds_span(path, len), &pos);
        if (segment.len == 0 || sds_span_eq(segment, sds_span_str("."))) {
            continue;
        }
        if (kept > 0) {
            path[kept++] = '/';
        }
        memmove(path + kept, segment.at, segment.len);
        kept += segment.len;
    }
    if (kept == 0) {
        path[kept++] = '.';
    }
    return kept;
}

bool sds_path_normalise(struct sds_span path, struct sds_buf *out) {
    if (!is_safe_relative(path) || sds_buf_reserve(out, path.len + 1) != SDS_OK) {
        return false;
    }
    uint8_t *copy = out->at + out->len;
    memcpy(copy, path.at, path.len);
    size_t len = drop_idle_segments(copy, path.len);
    copy[len] = '\0';
    out->len += len + 1;
    return true;
}

size_t sds_reference_room(struct sds_value reference) {
    return sds_string_room(sds_value_get(reference, "path"));
}

static void read_path(const struct sds_item *reference, struct sds_reference *out) {
    struct sds_item item = sds_item_member(reference, "path");
    size_t len;
    char *path = sds_read_string(&item, &len);
    if (path == NULL) {
        return;
    }
    out->absolute = sds_path_is_absolute(sds_span(path, len));
    if (out->absolute && memchr(path, '\0', len) != NULL) {
        // The reference keeps such a path and fails when it opens it.
        sds_item_unexpected(&item, "a path without NUL");
    } else if (!out->absolute && !is_safe_relative(sds_span(path, len))) {
        sds_item_unexpected(&item, "an absolute or a safe relative path");
    } else if (!out->absolute) {
        len = drop_idle_segments((uint8_t *)path, len);
        path[len] = '\0';
    }
    out->path = path;
    out->path_len = (uint32_t)len;
    out->path_hash = sds_hash_stable(sds_span(path, len));
}

struct sds_reference sds_item_reference(const struct sds_item *item) {
    struct sds_reference reference = {0};
    read_path(item, &reference);
    reference.pinned = sds_read_generation(item, &reference.generation);
    struct sds_item stored_bytes = sds_item_member(item, "stored_bytes");
    reference.stored_bytes = sds_read_saturated(&stored_bytes);
    return reference;
}

struct sds_reference sds_read_reference(const struct sds_item *object, const char *key) {
    struct sds_item item = sds_item_member(object, key);
    return sds_item_reference(&item);
}
