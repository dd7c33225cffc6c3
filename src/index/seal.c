// SPDX-License-Identifier: Apache-2.0
#include "index/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define STEP_BYTES ((size_t)256 << 10)

// "<identity> <digest>\n"
enum { SEAL_BYTES = 2 * SDS_SHA256_HEX };

static void make_seal(const char *identity, struct sds_digest *content, char out[SEAL_BYTES]) {
    char hex[SDS_SHA256_HEX];
    sds_digest_hex(content, hex);
    memcpy(out, identity, SDS_SHA256_HEX - 1);
    memcpy(out + SDS_SHA256_HEX, hex, SDS_SHA256_HEX - 1);
    out[SDS_SHA256_HEX - 1] = ' ';
    out[SEAL_BYTES - 1] = '\n';
}

enum sds_kind sds_seal_write(int fd, const char identity[SDS_SHA256_HEX],
                             struct sds_digest *content, struct sds_err *err) {
    char seal[SEAL_BYTES];
    make_seal(identity, content, seal);
    for (size_t done = 0; done < sizeof seal;) {
        ssize_t n = write(fd, seal + done, sizeof seal - done);
        if (n < 0 && errno != EINTR) {
            return sds_fail(err, SDS_ERR_STORAGE, "index", "cannot write it: %s", strerror(errno));
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return SDS_OK;
}

static bool read_whole(int fd, uint64_t off, void *out, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)out + done, len - done, (off_t)(off + done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool add_content(int fd, uint64_t size, const atomic_bool *stop, struct sds_digest *digest) {
    sds_autofree uint8_t *step = malloc(STEP_BYTES);
    bool ok = step != NULL;
    for (uint64_t at = 0; ok && at < size;) {
        size_t len = size - at < STEP_BYTES ? (size_t)(size - at) : STEP_BYTES;
        ok = (stop == NULL || !atomic_load(stop)) && read_whole(fd, at, step, len);
        if (ok) {
            sds_digest_add(digest, step, len);
            at += len;
        }
    }
    return ok;
}

bool sds_seal_holds(int fd, const char identity[SDS_SHA256_HEX], const atomic_bool *stop,
                    uint64_t *size) {
    struct stat st;
    char found[SEAL_BYTES], seal[SEAL_BYTES];
    if (fstat(fd, &st) != 0 || st.st_size < SEAL_BYTES) {
        return false;
    }
    *size = (uint64_t)st.st_size - SEAL_BYTES;
    struct sds_digest *digest = sds_digest_new();
    bool holds = digest != NULL && read_whole(fd, *size, found, SEAL_BYTES) &&
                 memcmp(found, identity, SDS_SHA256_HEX - 1) == 0 &&
                 add_content(fd, *size, stop, digest);
    if (holds) {
        make_seal(identity, digest, seal);
        holds = memcmp(found, seal, SEAL_BYTES) == 0;
    }
    sds_digest_free(digest);
    return holds;
}
