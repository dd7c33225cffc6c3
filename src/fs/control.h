// SPDX-License-Identifier: Apache-2.0
//
// The control directory of a mount: what the daemon tells about itself. Its files are rendered when
// they are looked up, and reads are served from that rendering, so that a file read in several
// pieces is one text although nothing is kept for an open file. Safe from any thread.
#ifndef SDSFS_FS_CONTROL_H
#define SDSFS_FS_CONTROL_H

#include <stdbool.h>
#include <time.h>

#include "base/blob.h"
#include "format/driver.h"
#include "fs/errors.h"
#include "fs/nodes.h"
#include "fs/requests.h"

enum sds_control_file {
    SDS_CONTROL_STATUS,
    SDS_CONTROL_METRICS,
    SDS_CONTROL_ERRORS,
    SDS_CONTROL_CONFIG,
    SDS_CONTROL_FILES
};

// What the files tell about; everything is borrowed.
struct sds_control_sources {
    struct sds_dataset *ds;
    struct sds_errors *errors;
    struct sds_requests *requests;
    struct sds_nodes *nodes;
    const char *version;     // of this program
    const char *root;        // of the dataset, absolute
    struct sds_store *store; // NULL: nothing is told of it
    // Appends what control/config says, from any thread. NULL: nothing. Kinds: LIMIT, NO_MEMORY.
    enum sds_kind (*config)(void *ctx, struct sds_buf *out);
    void *ctx;
};

struct sds_control;

struct sds_control *sds_control_new(const struct sds_control_sources *sources); // NULL: no memory
void sds_control_free(struct sds_control *control);

const char *sds_control_name(enum sds_control_file file); // "status.json"
bool sds_control_find(struct sds_span name, enum sds_control_file *out);

// A rendering: its text, which the caller unreferences, and when that text came to be.
struct sds_rendering {
    struct sds_blob *text;
    struct timespec changed;
};

// The text now. SDS_RENDER_LOOKUP makes a new one: a path was just resolved. SDS_RENDER_GETATTR
// does so only when the last one is older than a second, so that a reader that asks for the size
// between two reads stays with the text it began with, and one that follows a file (tail -f) still
// gets ahead. SDS_RENDER_READ never does if there is one.
enum sds_render_for { SDS_RENDER_LOOKUP, SDS_RENDER_GETATTR, SDS_RENDER_READ };
SDS_MUST_CHECK enum sds_kind sds_control_render(struct sds_control *control,
                                                enum sds_control_file file,
                                                enum sds_render_for purpose,
                                                struct sds_rendering *out, struct sds_err *err);

#endif
