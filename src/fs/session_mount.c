// SPDX-License-Identifier: Apache-2.0
//
// Mounting through libfuse, and telling what went wrong when it does not work.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "fs/complaint.h"
#include "fs/parallel.h"
#include "fs/session_internal.h"

enum { MAX_OPTION_BYTES = 16 << 10 };

// Appends a value to a list of options, with the commas and backslashes in it escaped.
static enum sds_kind add_escaped(struct sds_buf *out, const char *value) {
    enum sds_kind kind = SDS_OK;
    for (; *value != '\0' && kind == SDS_OK; value++) {
        if (*value == ',' || *value == '\\') {
            kind = sds_buf_add_str(out, "\\");
        }
        if (kind == SDS_OK) {
            kind = sds_buf_add(out, value, 1);
        }
    }
    return kind;
}

// default_permissions is not an option of ours to leave out: without OPEN nobody else checks modes.
static enum sds_kind fuse_options(const struct sds_session_options *options, struct sds_buf *out) {
    enum sds_kind kind = sds_buf_printf(
        out, "default_permissions,max_read=%u,subtype=sdsfs,fsname=", SDS_MAX_READ_BYTES);
    if (kind == SDS_OK) {
        kind = add_escaped(out, options->source);
    }
    if (kind == SDS_OK && options->allow_other) {
        kind = sds_buf_add_str(out, ",allow_other");
    }
    if (kind == SDS_OK && options->auto_unmount) {
        kind = sds_buf_add_str(out, ",auto_unmount");
    }
    if (kind == SDS_OK && options->flags[0] != '\0') {
        kind = sds_buf_printf(out, ",%s", options->flags);
    }
    return kind == SDS_OK ? sds_buf_add(out, "", 1) : kind;
}

static struct fuse_session *new_fuse(struct sds_session *session) {
    struct sds_buf options = SDS_BUF_INIT(MAX_OPTION_BYTES);
    struct fuse_session *fuse = NULL;
    if (fuse_options(&session->options, &options) == SDS_OK) {
        struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
        struct fuse_lowlevel_ops ops = sds_operations();
        if (fuse_opt_add_arg(&args, "sdsfs") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
            fuse_opt_add_arg(&args, (const char *)options.at) == 0) {
            fuse = fuse_session_new(&args, &ops, sizeof ops, session);
        }
        fuse_opt_free_args(&args);
    }
    sds_buf_fini(&options);
    return fuse;
}

// Mounts with stderr caught: libfuse and fusermount3 say there, and only there, what went wrong.
static int mount_caught(struct sds_session *session, char *said, size_t size) {
    int complaint = sds_complaint_open();
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (complaint < 0 || saved < 0 || dup2(complaint, STDERR_FILENO) < 0) {
        snprintf(said, size, "%s", strerror(errno));
        if (complaint >= 0) {
            close(complaint);
        }
        if (saved >= 0) {
            close(saved);
        }
        return -1;
    }
    int result = fuse_session_mount(session->fuse, session->options.mountpoint);
    dup2(saved, STDERR_FILENO);
    close(saved);
    sds_complaint_take(complaint, said, size);
    return result;
}

// The reason for a failed mount in words that name the cure.
static enum sds_kind explain(const char *mountpoint, const char *said, struct sds_err *err) {
    if (strncmp(mountpoint, "/dev/fd/", 8) == 0) {
        return sds_fail(err, SDS_ERR_INVALID, "mount",
                        "it is no descriptor of /dev/fuse that was handed over%s%s",
                        said[0] != '\0' ? ": " : "", said);
    }
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0) {
        int e = errno;
        const char *cure =
            e == ENOENT || e == ENODEV || e == ENXIO
                ? "load the kernel module (modprobe fuse) or give the container the device"
                : "this user may not use it";
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "mount", "/dev/fuse: %s (%s)", strerror(e), cure);
    }
    close(device);
    if (strstr(said, "failed to exec fusermount3") != NULL) {
        return sds_fail(
            err, SDS_ERR_UNSUPPORTED, "mount",
            "fusermount3 was not found, which a user other than root needs (package fuse3)");
    }
    return sds_fail(err, SDS_ERR_DENIED, "mount", "%s", said[0] != '\0' ? said : "mount failed");
}

// fusermount3 looks whether a mount is dead before it takes it away, and as root it may look only
// into mounts that are for others, too.
static enum sds_kind check_auto_unmount(const struct sds_session_options *options,
                                        struct sds_err *err) {
    if (options->auto_unmount && !options->allow_other && geteuid() != 0) {
        return sds_fail(err, SDS_ERR_UNSUPPORTED, "mount",
                        "auto_unmount works for users other than root only with allow_other");
    }
    return SDS_OK;
}

enum sds_kind sds_session_mount(struct sds_session *session, struct sds_err *err) {
    char said[512] = "";
    enum sds_kind kind = check_auto_unmount(&session->options, err);
    if (kind != SDS_OK) {
        return kind;
    }
    session->fuse = new_fuse(session);
    if (session->fuse == NULL) {
        return sds_fail(err, SDS_ERR_INTERNAL, "mount", "libfuse refuses the options");
    }
    if (mount_caught(session, said, sizeof said) != 0) {
        fuse_session_destroy(session->fuse);
        return explain(session->options.mountpoint, said, err);
    }
    int e = sds_parallel_set_up(session);
    if (e != 0) {
        fuse_session_unmount(session->fuse);
        fuse_session_destroy(session->fuse);
        return sds_fail(err, SDS_ERR_INTERNAL, "mount", "libfuse: %s", strerror(e));
    }
    return SDS_OK;
}
