// SPDX-License-Identifier: Apache-2.0
//
// Errors. A function that can fail returns an enum sds_kind (SDS_OK is 0) and describes the failure
// in a caller-owned struct sds_err: which check failed, on which object, and what was found. The
// struct holds fixed buffers, so the error path never allocates, and lives on the caller's stack,
// so no thread reads another's. A NULL err is allowed everywhere. Kinds become an errno or an exit
// code at the edge only (fs/errno.c, cli/main.c).
#ifndef SDSFS_BASE_ERR_H
#define SDSFS_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

#define SDS_MUST_CHECK __attribute__((warn_unused_result))
#define SDS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

// What the caller can do about it.
enum sds_kind {
    SDS_OK = 0,
    SDS_ERR_CORRUPT,     // the bytes are there and break a rule of the format
    SDS_ERR_NOT_FOUND,   // looked, and it is not there
    SDS_ERR_STORAGE,     // could not look: I/O, network
    SDS_ERR_TIMEOUT,     // could not look in time
    SDS_ERR_DENIED,      // the store refuses us
    SDS_ERR_CONFLICT,    // the name is taken by something else
    SDS_ERR_INVALID,     // the caller's own argument or input is wrong
    SDS_ERR_LIMIT,       // larger than a named ceiling
    SDS_ERR_UNSUPPORTED, // valid, but not something this program does
    SDS_ERR_NO_MEMORY,
    SDS_ERR_INTERNAL, // our own bug
    SDS_ERR_WAITING,  // not a failure: the task that asked will be run again (base/wait.h)
};

struct sds_err {
    enum sds_kind kind;
    char check[40]; // short name of the check, e.g. "stored_bytes"; stable, used in logs and tests
    char object[512];  // the object concerned, printable; "" until somebody who knows it adds it
    char message[512]; // what was found, printable, one line
};

// Fills err (when not NULL) and returns kind. fmt must produce printable text: bytes from outside
// go through sds_quote first. Clears err->object.
enum sds_kind sds_fail(struct sds_err *err, enum sds_kind kind, const char *check, const char *fmt,
                       ...) SDS_PRINTF(4, 5);

// Names the object concerned, unless one was named further down already.
void sds_err_object(struct sds_err *err, const char *fmt, ...) SDS_PRINTF(2, 3);

// Puts "<text>: " in front of the message: context is added on the way up, outermost last.
void sds_err_context(struct sds_err *err, const char *fmt, ...) SDS_PRINTF(2, 3);

// Adds " (<text>)" behind the message: what the user can do about it.
void sds_err_hint(struct sds_err *err, const char *fmt, ...) SDS_PRINTF(2, 3);

// "object: check: message", the one line a stranger can act on. Returns buf.
char *sds_err_line(const struct sds_err *err, char *buf, size_t size);

const char *sds_kind_name(enum sds_kind kind);

// Makes text fit for one line, in place: control bytes and what is no UTF-8, also from cutting,
// become '?'. Returns text.
char *sds_scrub(char *text);
// The same of what is no UTF-8 alone, in len bytes: fit for a string of JSON.
char *sds_scrub_utf8(char *text, size_t len);

// Whether a failure says that the bytes are bad, and not that they could not be had. Of SDS_OK and
// SDS_ERR_WAITING, too: false.
bool sds_kind_is_verdict(enum sds_kind kind);

// Bytes from outside as printable text for a message: quoted, control bytes and invalid UTF-8 as
// \xNN, cut with "..." so that the result fits buf. Returns buf.
char *sds_quote(char *buf, size_t size, const void *bytes, size_t len);

// For one-off use inside an argument list: a quoted copy in a buffer that lives to the end of the
// enclosing block.
#define SDS_QUOTE(bytes, len) sds_quote((char[160]){0}, 160, (bytes), (len))

#endif
