// SPDX-License-Identifier: Apache-2.0
#include "fs/parallel.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/session_internal.h"

// libfuse's own reading and writing, but for the first answer, which is the one to INIT.
static ssize_t read_request(int fd, void *buf, size_t size, void *userdata) {
    (void)userdata;
    return read(fd, buf, size);
}

// An answer to INIT with one more flag; other answers are as long only if they are data.
static ssize_t write_init(int fd, struct iovec *iov, int count) {
    struct fuse_out_header head;
    struct fuse_init_out init;
    const size_t flags_end = offsetof(struct fuse_init_out, flags) + sizeof init.flags;
    if (count == 2 && iov[0].iov_len == sizeof head && iov[1].iov_len >= flags_end) {
        memcpy(&head, iov[0].iov_base, sizeof head);
        memcpy(&init, iov[1].iov_base, flags_end);
        if (head.error == 0) {
            init.flags |= FUSE_PARALLEL_DIROPS;
            memcpy(iov[1].iov_base, &init, flags_end);
        }
    }
    return writev(fd, iov, count);
}

static ssize_t write_answer(int fd, struct iovec *iov, int count, void *userdata) {
    struct sds_session *session = userdata;
    // init() has just been called, in this thread, and no other request comes before the answer.
    if (session->parallel) {
        session->parallel = false;
        return write_init(fd, iov, count);
    }
    return writev(fd, iov, count);
}

int sds_parallel_set_up(struct sds_session *session) {
    static const struct fuse_custom_io io = {.read = read_request, .writev = write_answer};
    return -fuse_session_custom_io(session->fuse, &io, fuse_session_fd(session->fuse));
}
