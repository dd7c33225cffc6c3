// SPDX-License-Identifier: Apache-2.0
#include "fs/walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { MAX_DEPTH = 1024, MAX_LINKS = 40, MAX_REST_BYTES = 64 << 10 };
enum { MIN_DIGITS = 6, MAX_DIGITS = 20 }; // of numbers in names

struct walk {
    struct sds_dataset *ds;
    struct sds_place trail[MAX_DEPTH]; // the directories from the root to here
    size_t depth;                      // of the place reached; trail[depth] is it
    struct sds_buf rest;               // what is still to be walked
    unsigned links;
};

static enum sds_kind not_there(struct sds_span name, const char *why, struct sds_err *err) {
    return sds_fail(err, SDS_ERR_NOT_FOUND, "path", "%s: %s", SDS_QUOTE(name.at, name.len), why);
}

// Takes the next name off the rest; an empty one when nothing is left.
static struct sds_span next_name(struct sds_span *rest) {
    while (rest->len > 0 && rest->at[0] == '/') {
        *rest = sds_span(rest->at + 1, rest->len - 1);
    }
    if (rest->len == 0) {
        return *rest;
    }
    const uint8_t *slash = memchr(rest->at, '/', rest->len);
    struct sds_span name =
        sds_span(rest->at, slash != NULL ? (size_t)(slash - rest->at) : rest->len);
    *rest = sds_span(name.at + name.len, rest->len - name.len);
    return name;
}

// Puts a link's target in front of what is still to be walked, from the link's directory on.
static enum sds_kind follow_link(struct walk *walk, struct sds_span rest, struct sds_err *err) {
    struct sds_buf ahead = SDS_BUF_INIT(MAX_REST_BYTES);
    enum sds_kind kind = SDS_OK;
    if (++walk->links > MAX_LINKS) {
        kind = sds_fail(err, SDS_ERR_LIMIT, "path", "more than %d links", MAX_LINKS);
    }
    if (kind == SDS_OK) {
        kind = walk->ds->ops->readlink(walk->ds, walk->trail[walk->depth].node, &ahead, err);
    }
    if (kind == SDS_OK && ahead.len > 0 && ahead.at[0] == '/') {
        kind = not_there(sds_buf_span(&ahead), "the link leaves the dataset", err);
    }
    if (kind == SDS_OK &&
        (sds_buf_add_str(&ahead, "/") != SDS_OK || sds_buf_add_span(&ahead, rest) != SDS_OK)) {
        kind = sds_fail(err, SDS_ERR_LIMIT, "path", "too long");
    }
    if (kind != SDS_OK) {
        sds_buf_fini(&ahead);
        return kind;
    }
    sds_buf_fini(&walk->rest);
    walk->rest = ahead;
    walk->depth--;
    return SDS_OK;
}

// A directory's entry for a number, padded to whatever width it has there. False: there is none.
static bool find_number(struct walk *walk, struct sds_node dir, uint64_t number,
                        char out[MAX_DIGITS + 1]) {
    for (int width = MIN_DIGITS; width <= MAX_DIGITS; width++) {
        struct sds_node node;
        snprintf(out, MAX_DIGITS + 1, "%0*" PRIu64, width, number);
        if (walk->ds->ops->lookup(walk->ds, dir, sds_span_str(out), &node, NULL) == SDS_OK) {
            return true;
        }
    }
    return false;
}

// Numbers in names are padded, which who types one need not know, and end somewhere.
static void hint_at_number(struct walk *walk, struct sds_node dir, struct sds_span name,
                           struct sds_err *err) {
    char digits[MAX_DIGITS + 1], found[MAX_DIGITS + 1];
    struct sds_totals totals;
    if (name.len >= sizeof digits || name.len == 0) {
        return;
    }
    memcpy(digits, name.at, name.len);
    digits[name.len] = '\0';
    if (digits[strspn(digits, "0123456789")] != '\0') {
        return;
    }
    uint64_t number = strtoull(digits, NULL, 10);
    walk->ds->ops->totals(walk->ds, &totals);
    if (find_number(walk, dir, number, found)) {
        sds_err_hint(err, "it is called %s", found);
    } else if (number >= totals.records && totals.records > 0 &&
               find_number(walk, dir, totals.records - 1, found)) {
        sds_err_hint(err, "the last one is %s", found);
    }
}

// Goes down one name. *link tells whether a link was reached.
static enum sds_kind enter(struct walk *walk, struct sds_span name, struct sds_err *err) {
    const struct sds_driver_ops *ops = walk->ds->ops;
    const struct sds_place *here = &walk->trail[walk->depth];
    if (here->attr.type != SDS_DIRECTORY) {
        return not_there(name, "not in a directory", err);
    }
    if (walk->depth + 1 == MAX_DEPTH) {
        return sds_fail(err, SDS_ERR_LIMIT, "path", "more than %d levels", MAX_DEPTH);
    }
    struct sds_place *there = &walk->trail[walk->depth + 1];
    enum sds_kind kind = ops->lookup(walk->ds, here->node, name, &there->node, err);
    if (kind == SDS_ERR_NOT_FOUND) {
        kind = not_there(name, "no such file or directory", err);
        hint_at_number(walk, here->node, name, err);
        return kind;
    }
    if (kind == SDS_OK) {
        kind = ops->getattr(walk->ds, there->node, &there->attr, err);
    }
    walk->depth += kind == SDS_OK;
    return kind;
}

static enum sds_kind step(struct walk *walk, struct sds_span name, struct sds_span rest,
                          bool follow, struct sds_err *err) {
    if (name.len == 1 && name.at[0] == '.') {
        return SDS_OK;
    }
    if (name.len == 2 && name.at[0] == '.' && name.at[1] == '.') {
        if (walk->depth == 0) {
            return not_there(name, "above the root of the dataset", err);
        }
        walk->depth--;
        return SDS_OK;
    }
    enum sds_kind kind = enter(walk, name, err);
    bool is_link = kind == SDS_OK && walk->trail[walk->depth].attr.type == SDS_LINK;
    return is_link && (follow || rest.len > 0) ? follow_link(walk, rest, err) : kind;
}

enum sds_kind sds_walk(struct sds_dataset *ds, struct sds_span path, bool follow,
                       struct sds_place *out, struct sds_err *err) {
    struct walk walk = {.ds = ds, .rest = SDS_BUF_INIT(MAX_REST_BYTES)};
    walk.trail[0].node = SDS_NODE_ROOT;
    enum sds_kind kind = ds->ops->getattr(ds, SDS_NODE_ROOT, &walk.trail[0].attr, err);
    if (kind == SDS_OK && sds_buf_add_span(&walk.rest, path) != SDS_OK) {
        kind = sds_fail(err, SDS_ERR_LIMIT, "path", "too long");
    }
    struct sds_span rest = sds_buf_span(&walk.rest);
    while (kind == SDS_OK) {
        struct sds_span name = next_name(&rest);
        if (name.len == 0) {
            *out = walk.trail[walk.depth];
            break;
        }
        unsigned links = walk.links;
        kind = step(&walk, name, rest, follow, err);
        if (walk.links != links) {
            rest = sds_buf_span(&walk.rest);
        }
    }
    sds_buf_fini(&walk.rest);
    return kind;
}
