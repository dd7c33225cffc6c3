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
// succeeds, with a receipt that tells what was asked for.
#ifndef SDSFS_TESTS_TOY_H
#define SDSFS_TESTS_TOY_H

#include <stdatomic.h>

#include "format/driver.h"

enum { TOY_BIG_BYTES = (5 << 20) + 123, TOY_WIDE = 100, TOY_LARGE_XATTR = 65536 };

struct toy {
    struct sds_dataset base;
    uint64_t many;
    atomic_uint grown;
    atomic_bool down;        // every call fails with STORAGE
    atomic_uint held_pieces; // reads whose pieces were not released
    atomic_bool go;          // whoever waits to be published may go on
    atomic_uint publishing;  // how many are at it
    atomic_uint published;   // calls that came to an end
    uint8_t *big;
    uint8_t *large_xattr;
};

struct toy *toy_new(uint64_t many);
void toy_free(struct toy *toy);
uint8_t toy_byte(uint64_t off);

#endif
