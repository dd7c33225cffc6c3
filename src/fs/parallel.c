// SPDX-License-Identifier: Apache-2.0
#include "fs/parallel.h"

#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/session_internal.h"

// libfuse's own reading and writing, but for the first answer, which is the one to INIT, and for
// counting who is at work: a thread is from when it has read a request until it reads again.
static ssize_t read_request(int fd, void *buf, size_t size, void *userdata) {
    static _Thread_local bool busy;
    struct sds_work *work = &((struct sds_session *)userdata)->work;
    if (busy) {
        atomic_fetch_sub_explicit(&work->busy, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&work->done, 1, memory_order_relaxed);
    }
    ssize_t n = read(fd, buf, size);
    busy = n > 0;
    if (busy) {
        atomic_fetch_add_explicit(&work->busy, 1, memory_order_relaxed);
    }
    return n;
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
    if (session->starting) {
        session->starting = false;
        ssize_t n = session->parallel ? write_init(fd, iov, count) : writev(fd, iov, count);
        if (n >= 0) {
            session->options.ready(session->options.ctx);
        }
        return n;
    }
    return writev(fd, iov, count);
}

int sds_parallel_set_up(struct sds_session *session) {
    static const struct fuse_custom_io io = {.read = read_request, .writev = write_answer};
    return -fuse_session_custom_io(session->fuse, &io, fuse_session_fd(session->fuse));
}
