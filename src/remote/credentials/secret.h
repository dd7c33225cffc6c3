// SPDX-License-Identifier: Apache-2.0
//
// Memory that secrets were in: buffers that never move (so that no copy stays behind) and are wiped
// when they are let go, and bounded reading of files into them.
#ifndef SDSFS_REMOTE_CREDENTIALS_SECRET_H
#define SDSFS_REMOTE_CREDENTIALS_SECRET_H

#include <openssl/crypto.h>

#include "base/buf.h"

// A buffer with all of its room at once. NO_MEMORY.
SDS_MUST_CHECK enum sds_kind sds_secret_init(struct sds_buf *buf, size_t max, struct sds_err *err);
static inline void sds_secret_fini(struct sds_buf *buf) {
    if (buf->at != NULL) {
        OPENSSL_cleanse(buf->at, buf->cap);
    }
    sds_buf_fini(buf);
}
#define sds_autosecret __attribute__((cleanup(sds_secret_fini))) // struct sds_buf x = {0}

// A whole file of at most max bytes, behind which a NUL stands that is not counted; buf is zeroed
// before. Kinds: NOT_FOUND (no such file), DENIED, STORAGE (also of what is no regular file,
// nor /dev/null), LIMIT, NO_MEMORY; check "credentials", the path in the message.
SDS_MUST_CHECK enum sds_kind sds_secret_read(const char *path, size_t max, struct sds_buf *buf,
                                             struct sds_err *err);

// The user's home directory, as HOME or the system has it; false when neither does.
bool sds_home(char *buf, size_t size);
// A path that may begin with "~/". False when it does not fit or there is no home.
bool sds_home_path(const char *path, char *buf, size_t size);

// A variable that is set and not empty, else NULL.
const char *sds_env(const char *name);

#endif
