// SPDX-License-Identifier: Apache-2.0
//
// Runs the machine of a transposed chunk. Everything comes out backwards, the last record first and
// its last byte first, so the output is written from its end to its begin.
#include "format/array_record/transposed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/array_record/machine.h"

// Submessages inside each other. The reference's encoder stops at 100.
#define MAX_DEPTH (1U << 20)

// A bound on the steps, for each byte of transitions and of output and each record. Every step but
// that of an idle state puts a byte, ends a record or opens what will put two, and the idle states
// of an encoder are inner nodes of trees that fan out 64-fold, so it needs a fraction of this.
#define STEPS_PER_BYTE 16

// A submessage whose end was met, and whose start was not yet.
struct open_submessage {
    uint64_t size;  // of the output when it ended
    uint32_t state; // that ended it
};

struct run {
    struct sds_ar_machine *machine;
    const struct sds_ar_records *out;
    uint64_t room;       // of out->bytes: nothing is written below this yet
    uint64_t started;    // records whose begin was met
    uint64_t record_end; // of the record that is being put, counted from the begin of out->bytes
    struct open_submessage *stack;
    size_t depth, stack_cap;
};

static enum sds_kind invalid(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_CORRUPT, "transposed", "%s", what);
}

static uint64_t size(const struct run *run) {
    return run->out->len - run->room;
}

// Makes len bytes of room in front of the output; NULL when there are none.
static uint8_t *grow(struct run *run, uint64_t len) {
    if (len > run->room) {
        return NULL;
    }
    run->room -= len;
    return run->out->bytes + run->room;
}

static enum sds_kind too_large(struct sds_err *err) {
    return sds_fail(err, SDS_ERR_CORRUPT, "sizes", "the records exceed the size of the chunk");
}

static enum sds_kind exhausted(struct sds_err *err) {
    return invalid(err, "a buffer is exhausted");
}

// Puts the tag of a state, and bytes behind it.
static enum sds_kind put(struct run *run, const struct sds_ar_state *state, struct sds_span bytes,
                         struct sds_err *err) {
    uint8_t *to = grow(run, state->put_len + bytes.len);
    if (to == NULL) {
        return too_large(err);
    }
    memcpy(to, state->put, state->put_len);
    if (bytes.len > 0) {
        memcpy(to + state->put_len, bytes.at, bytes.len);
    }
    return SDS_OK;
}

// Buffers hold the bytes of varints without the bit that says that another byte follows.
static enum sds_kind put_varint(struct run *run, const struct sds_ar_state *state,
                                struct sds_span groups, struct sds_err *err) {
    enum sds_kind kind = put(run, state, groups, err);
    if (kind != SDS_OK) {
        return kind;
    }
    uint8_t *varint = run->out->bytes + run->room + state->put_len;
    for (size_t i = 0; i < groups.len; i++) {
        if (groups.at[i] > 0x7f) {
            return invalid(err, "a byte of a varint has its high bit set");
        }
        varint[i] |= i + 1 < groups.len ? 0x80 : 0;
    }
    return SDS_OK;
}

// The length of a string is put as it is stored, together with its bytes.
static bool take_string(struct sds_cursor *buffer, struct sds_span *out) {
    struct sds_cursor c = *buffer;
    uint32_t len;
    struct sds_span bytes;
    if (!sds_cursor_varint32(&c, &len) || !sds_cursor_take(&c, len, &bytes)) {
        return false;
    }
    *out = sds_span(buffer->at, (size_t)(c.at - buffer->at));
    *buffer = c;
    return true;
}

static enum sds_kind end_submessage(struct run *run, uint32_t state, struct sds_err *err) {
    if (run->depth == MAX_DEPTH) {
        return sds_fail(err, SDS_ERR_LIMIT, "limit", "more than %u submessages in each other",
                        MAX_DEPTH);
    }
    if (run->depth == run->stack_cap) {
        size_t cap = run->stack_cap > 0 ? 2 * run->stack_cap : 64;
        struct open_submessage *stack = realloc(run->stack, cap * sizeof *stack);
        if (stack == NULL) {
            return sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory for submessages");
        }
        run->stack = stack;
        run->stack_cap = cap;
    }
    run->stack[run->depth++] = (struct open_submessage){.size = size(run), .state = state};
    return SDS_OK;
}

static enum sds_kind start_submessage(struct run *run, struct sds_err *err) {
    if (run->depth == 0) {
        return invalid(err, "a submessage starts that did not end");
    }
    const struct open_submessage *top = &run->stack[--run->depth];
    uint64_t len = size(run) - top->size;
    if (len > UINT32_MAX) {
        return invalid(err, "a submessage is larger than a message can be");
    }
    uint8_t varint[5];
    size_t n = 0;
    for (; len > 0x7f; len >>= 7) {
        varint[n++] = (uint8_t)(len | 0x80);
    }
    varint[n++] = (uint8_t)len;
    return put(run, &run->machine->states[top->state], sds_span(varint, n), err);
}

static enum sds_kind start_record(struct run *run, struct sds_err *err) {
    if (run->depth > 0) {
        return invalid(err, "a record starts inside a submessage");
    }
    if (run->started == run->out->count) {
        return sds_fail(err, SDS_ERR_CORRUPT, "sizes", "more records than the chunk header says");
    }
    run->started++;
    run->out->ends[run->out->count - run->started] = run->record_end;
    run->record_end = run->room;
    return SDS_OK;
}

static enum sds_kind put_raw_record(struct run *run, const struct sds_ar_state *state,
                                    struct sds_err *err) {
    struct sds_ar_machine *machine = run->machine;
    uint32_t len;
    struct sds_span bytes;
    // Lengths of raw records are in the last buffer, whatever buffer holds their bytes.
    if (!sds_cursor_varint32(&machine->buffers[machine->num_buffers - 1], &len) ||
        !sds_cursor_take(&machine->buffers[state->buffer], len, &bytes)) {
        return exhausted(err);
    }
    enum sds_kind kind = put(run, state, bytes, err);
    return kind == SDS_OK ? start_record(run, err) : kind;
}

static enum sds_kind act(struct run *run, uint32_t node, struct sds_err *err) {
    const struct sds_ar_state *state = &run->machine->states[node];
    struct sds_cursor *buffer = &run->machine->buffers[state->buffer];
    struct sds_span bytes = sds_span(NULL, 0);
    switch ((enum sds_ar_action)state->action) {
    case SDS_AR_NOTHING:
        return SDS_OK;
    case SDS_AR_RAW_RECORD:
        return put_raw_record(run, state, err);
    case SDS_AR_MESSAGE_START:
        return start_record(run, err);
    case SDS_AR_SUBMESSAGE_START:
        return start_submessage(run, err);
    case SDS_AR_SUBMESSAGE_END:
        return end_submessage(run, node, err);
    case SDS_AR_PUT:
        return put(run, state, bytes, err);
    case SDS_AR_VARINT:
        return sds_cursor_take(buffer, state->take, &bytes) ? put_varint(run, state, bytes, err)
                                                            : exhausted(err);
    case SDS_AR_FIXED:
        return sds_cursor_take(buffer, state->take, &bytes) ? put(run, state, bytes, err)
                                                            : exhausted(err);
    case SDS_AR_STRING:
        return take_string(buffer, &bytes) ? put(run, state, bytes, err) : exhausted(err);
    }
    return SDS_ERR_INTERNAL;
}

// A transition byte says how far behind the next of the state to go, and how often after that to
// go on without a byte. Implicit states are left without one in any case.
static enum sds_kind run_states(struct run *run, struct sds_err *err) {
    const struct sds_ar_machine *machine = run->machine;
    const struct sds_ar_state *states = machine->states;
    struct sds_cursor transitions = sds_cursor(machine->transitions);
    uint64_t budget =
        STEPS_PER_BYTE * (machine->transitions.len + run->out->len + run->out->count + 64);
    uint32_t node = machine->first;
    unsigned left = states[node].implicit;
    for (; budget > 0; budget--) {
        enum sds_kind kind = act(run, node, err);
        if (kind != SDS_OK) {
            return kind;
        }
        node = states[node].next;
        if (left > 0) {
            left -= !states[node].implicit;
            continue;
        }
        uint8_t byte;
        if (!sds_cursor_u8(&transitions, &byte)) {
            return SDS_OK;
        }
        node += byte >> 2;
        if (node >= machine->num_states) {
            return invalid(err, "a transition leads to no state");
        }
        left = (byte & 3) + states[node].implicit;
    }
    return sds_fail(err, SDS_ERR_LIMIT, "limit", "too many transitions for what comes out");
}

static enum sds_kind check_finished(const struct run *run, struct sds_err *err) {
    if (run->depth > 0) {
        return invalid(err, "a submessage ends that did not start");
    }
    if (run->started != run->out->count) {
        return sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                        "%" PRIu64 " records, the chunk header says %" PRIu64, run->started,
                        run->out->count);
    }
    if (run->record_end > 0) {
        return sds_fail(err, SDS_ERR_CORRUPT, "sizes",
                        "the records do not fill the size of the chunk");
    }
    for (uint32_t i = 0; i < run->machine->num_buffers; i++) {
        if (sds_cursor_left(&run->machine->buffers[i]) > 0) {
            return invalid(err, "a buffer was not used up");
        }
    }
    return SDS_OK;
}

enum sds_kind sds_ar_transposed_decode(struct sds_span data, const struct sds_ar_records *out,
                                       struct sds_err *err) {
    struct sds_ar_machine machine;
    enum sds_kind kind = sds_ar_machine_open(data, out->count, out->len, &machine, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct run run = {.machine = &machine, .out = out, .room = out->len, .record_end = out->len};
    kind = run_states(&run, err);
    if (kind == SDS_OK) {
        kind = check_finished(&run, err);
    }
    free(run.stack);
    sds_ar_machine_fini(&machine);
    return kind;
}
