// SPDX-License-Identifier: Apache-2.0
#include "format/signal_dataset/announced.h"

#include <stdlib.h>
#include <string.h>

void announced_fini(struct announced *announced) {
    free(announced->waiting);
    *announced = (struct announced){0};
}

// Makes room for count more, as far as there may be; false without memory.
static bool grow(struct announced *announced, size_t count) {
    size_t wanted =
        announced->count + count < ANNOUNCED_MAX ? announced->count + count : ANNOUNCED_MAX;
    size_t room = announced->room > 0 ? announced->room : 64;
    while (room < wanted) {
        room *= 2;
    }
    if (room == announced->room) {
        return true;
    }
    uint64_t *waiting = malloc(room * sizeof *waiting);
    if (waiting == NULL) {
        return announced->room > 0;
    }
    for (size_t i = 0; i < announced->count; i++) {
        waiting[i] = announced->waiting[(announced->head + i) % announced->room];
    }
    free(announced->waiting);
    announced->waiting = waiting;
    announced->head = 0;
    announced->room = room;
    return true;
}

void announced_add(struct announced *announced, const uint64_t *ordinals, size_t count) {
    count = count < ANNOUNCED_MAX ? count : ANNOUNCED_MAX;
    if (!grow(announced, count)) {
        return;
    }
    for (size_t i = 0; i < count && announced->count < announced->room; i++) {
        announced->waiting[(announced->head + announced->count++) % announced->room] = ordinals[i];
    }
}

bool announced_next(struct announced *announced, size_t most, uint64_t now_ms, uint64_t *out) {
    most = most < ANNOUNCED_WINDOW ? most : ANNOUNCED_WINDOW;
    if (announced->count == 0 || announced->begun_count >= most) {
        return false;
    }
    *out = announced->waiting[announced->head];
    announced->head = (announced->head + 1) % announced->room;
    announced->count--;
    announced->begun[announced->begun_count++] =
        (struct announced_begun){.ordinal = *out, .since_ms = now_ms};
    return true;
}

// Takes count of those that are begun out, from the one with this number on.
static void take_out(struct announced *announced, size_t from, size_t count) {
    struct announced_begun *begun = announced->begun + from;
    memmove(begun, begun + count, (announced->begun_count - from - count) * sizeof *begun);
    announced->begun_count -= count;
}

void announced_read(struct announced *announced, uint64_t ordinal) {
    for (size_t i = 0; i < announced->begun_count; i++) {
        if (announced->begun[i].ordinal == ordinal) {
            take_out(announced, i, 1);
            if (i > ANNOUNCED_PASSED) {
                take_out(announced, 0, i - ANNOUNCED_PASSED);
            }
            return;
        }
    }
}

void announced_expire(struct announced *announced, uint64_t now_ms) {
    size_t count = 0;
    while (count < announced->begun_count &&
           now_ms - announced->begun[count].since_ms >= ANNOUNCED_UNREAD) {
        count++;
    }
    take_out(announced, 0, count);
}
