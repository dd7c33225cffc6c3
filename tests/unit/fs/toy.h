// SPDX-License-Identifier: Apache-2.0
//
// A dataset in memory that has one of everything the file system has to cope with, and knobs to
// make it fail. The driver for tests of src/fs/, alone and behind a real mount.
//
//   hello.txt        "hello, world\n"
//   empty            no bytes
//   big.bin          TOY_BIG_BYTES; byte i is toy_byte(i); comes in three pieces a read
//   link             -> dir/inner.txt      loop -> loop      out -> ../outside
//   dir/             inner.txt; bad.bin (reads are corrupt); gone.bin (cannot be looked up);
//                    attributes id = "toy", large = 65536 bytes
//   many/<000000>/   as many as asked for, each with a file "value" that holds its number
//   wide/w<0..99>    nodes that do not fit an inode number
//   growing/         g0, g1, ... as many as `grown` says; nothing about it may be cached for ever
//
// It publishes annotations, too: the rows are a word that tells what is to become of them. "wait"
// does so until `go` is set; "invalid", "conflict", ... is the kind of failure; anything else
// succeeds, with a receipt that tells what was asked for. "stall" waits for its store.
//
// Its store stalls on command: what then needs it waits (base/wait.h) until it flows again, or has
// been abandoned. What is announced to it, it remembers.
#ifndef SDSFS_TESTS_TOY_H
#define SDSFS_TESTS_TOY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/wait.h"
#include "format/driver.h"

enum { TOY_BIG_BYTES = (5 << 20) + 123, TOY_WIDE = 100, TOY_LARGE_XATTR = 65536 };

// What waits for the store.
enum toy_stall {
    TOY_FLOWS,
    TOY_STALL_READS, // of big.bin and of each "value"
    TOY_STALL_LISTS, // of many/, from its 21st entry on
    TOY_STALL_ATTRS, // of many/000003 and later
    TOY_STALL_ALL,   // but for what is told in control/
};

struct toy {
    struct sds_dataset base;
    uint64_t many;
    atomic_uint grown;
    atomic_bool down;        // every call fails with STORAGE
    atomic_uint held_pieces; // reads whose pieces were not released
    atomic_bool go;          // whoever waits to be published may go on
    atomic_uint publishing;  // how many are at it
    atomic_uint published;   // calls that came to an end
    pthread_mutex_t lock;    // the two below
    enum toy_stall stall;
    struct sds_event *flow;     // while something is stalled
    atomic_bool closed;         // the store has been abandoned
    atomic_bool stuck;          // whoever looks at an attribute is kept in its thread
    atomic_uint asked;          // calls that the store stalled, each run of them counted
    atomic_uint announced;      // ordinals, all in all
    atomic_uint_fast64_t order; // a checksum of them in their order: toy_order
    uint8_t *big;
    uint8_t *large_xattr;
};

struct toy *toy_new(uint64_t many);
void toy_free(struct toy *toy);
uint8_t toy_byte(uint64_t off);
void toy_stall(struct toy *toy, enum toy_stall stall); // TOY_FLOWS lets all go who wait
void toy_abandon(struct toy *toy);                     // the store: all who wait fail
// What `order` becomes with one more ordinal.
uint64_t toy_order(uint64_t order, uint64_t ordinal);

#endif
