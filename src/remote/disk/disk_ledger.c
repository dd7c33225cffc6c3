// SPDX-License-Identifier: Apache-2.0
#include "remote/disk/disk_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HEAD SDS_DISK_LEDGER_HEAD
#define FILE_BYTES (HEAD + 8 * SDS_DISK_COUNTERS)
#define TRIES 100 // 2 ms apart

static const char magic[8] = {'s', 'd', 's', 'u', 's', 'e', '1', '\n'};

void sds_disk_ledger_init(struct sds_disk_ledger *ledger) {
    *ledger = (struct sds_disk_ledger){.fd = -1};
    memcpy(ledger->head, magic, sizeof magic);
    sds_autofd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) { // else a file that is older than this start is taken for a good one
        (void)!read(fd, ledger->head + sizeof magic, 36);
    }
}

void sds_disk_ledger_fini(struct sds_disk_ledger *ledger) {
    if (ledger->fd >= 0) {
        close(ledger->fd);
    }
}

enum sds_kind sds_disk_ledger_open(struct sds_disk_ledger *ledger, const struct sds_disk_root *root,
                                   struct sds_err *err) {
    struct stat st;
    if (ledger->fd >= 0 && fstat(ledger->fd, &st) == 0 && st.st_nlink > 0) {
        return SDS_OK;
    }
    sds_disk_ledger_fini(ledger);
    ledger->fd = sds_disk_open(root, "usage", O_RDWR | O_CREAT, &st);
    return ledger->fd >= 0 ? SDS_OK : sds_disk_failed(err, "opening usage");
}

// --- locks: byte 0 is the counters', byte 1 + n that of directory n

static bool try_lock(const struct sds_disk_ledger *ledger, off_t byte, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(ledger->fd, F_OFD_SETLK, &lock) == 0;
}

static void unlock(const struct sds_disk_ledger *ledger, off_t byte) {
    int e = errno;
    (void)try_lock(ledger, byte, F_UNLCK);
    errno = e;
}

static enum sds_kind lock(const struct sds_disk_ledger *ledger, off_t byte, short type,
                          struct sds_err *err) {
    for (int i = 0; i < TRIES; i++) {
        if (try_lock(ledger, byte, type)) {
            return SDS_OK;
        }
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            return sds_disk_failed(err, "locking usage");
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return sds_fail(err, SDS_ERR_CONFLICT, "cache_dir", "usage is locked");
}

enum sds_kind sds_disk_ledger_enter(struct sds_disk_ledger *ledger, unsigned which,
                                    struct sds_err *err) {
    return lock(ledger, 1 + (off_t)which, F_RDLCK, err);
}

void sds_disk_ledger_leave(struct sds_disk_ledger *ledger, unsigned which) {
    unlock(ledger, 1 + (off_t)which);
}

bool sds_disk_ledger_alone(struct sds_disk_ledger *ledger, unsigned which) {
    return try_lock(ledger, 1 + (off_t)which, F_WRLCK);
}

// --- the file

static enum sds_kind make(const struct sds_disk_ledger *ledger, uint8_t file[FILE_BYTES],
                          struct sds_err *err) {
    memset(file + HEAD, 0xff, FILE_BYTES - HEAD); // unknown, each
    return sds_disk_pwrite(ledger->fd, 0, file, FILE_BYTES) == 0
               ? SDS_OK
               : sds_disk_failed(err, "writing usage");
}

// Under the lock of the counters.
static enum sds_kind load(struct sds_disk_ledger *ledger, uint64_t counters[SDS_DISK_COUNTERS],
                          struct sds_err *err) {
    uint8_t file[FILE_BYTES];
    ssize_t n = pread(ledger->fd, file, sizeof file, 0);
    if (n < 0) {
        return sds_disk_failed(err, "reading usage");
    }
    if (n < FILE_BYTES || memcmp(file, ledger->head, HEAD) != 0) {
        memcpy(file, ledger->head, HEAD);
        enum sds_kind kind = make(ledger, file, err);
        if (kind != SDS_OK) {
            return kind;
        }
    }
    for (unsigned i = 0; i < SDS_DISK_COUNTERS; i++) {
        uint64_t value = sds_le64(file + HEAD + 8 * (size_t)i);
        counters[i] = value > INT64_MAX / SDS_DISK_COUNTERS ? SDS_DISK_UNKNOWN : value;
    }
    return SDS_OK;
}

static enum sds_kind store(const struct sds_disk_ledger *ledger, unsigned which, uint64_t value,
                           struct sds_err *err) {
    uint8_t bytes[8];
    sds_put_le64(bytes, value);
    return sds_disk_pwrite(ledger->fd, HEAD + 8 * (uint64_t)which, bytes, 8) == 0
               ? SDS_OK
               : sds_disk_failed(err, "writing usage");
}

// False: some are unknown.
static bool sum(const uint64_t counters[SDS_DISK_COUNTERS], uint64_t *out) {
    *out = 0;
    for (unsigned i = 0; i < SDS_DISK_COUNTERS; i++) {
        if (counters[i] == SDS_DISK_UNKNOWN) {
            return false;
        }
        *out += counters[i];
    }
    return true;
}

static enum sds_kind take_locked(struct sds_disk_ledger *ledger, unsigned which, uint64_t bytes,
                                 uint64_t limit, uint64_t *missing, struct sds_err *err) {
    uint64_t counters[SDS_DISK_COUNTERS];
    enum sds_kind kind = load(ledger, counters, err);
    if (kind != SDS_OK) {
        return kind;
    }
    if (!sum(counters, &ledger->used)) {
        return sds_fail(err, SDS_ERR_NOT_FOUND, "cache_dir", "what is there has to be counted");
    }
    if (bytes > limit || ledger->used > limit - bytes) {
        *missing = bytes > limit ? UINT64_MAX : ledger->used - (limit - bytes);
        return sds_fail(err, SDS_ERR_LIMIT, "cache_dir", "it is full");
    }
    ledger->used += bytes;
    return store(ledger, which, counters[which] + bytes, err);
}

enum sds_kind sds_disk_ledger_take(struct sds_disk_ledger *ledger, unsigned which, uint64_t bytes,
                                   uint64_t limit, uint64_t *missing, struct sds_err *err) {
    enum sds_kind kind = lock(ledger, 0, F_WRLCK, err);
    if (kind == SDS_OK) {
        kind = take_locked(ledger, which, bytes, limit, missing, err);
        unlock(ledger, 0);
    }
    return kind;
}

static void add_locked(struct sds_disk_ledger *ledger, unsigned which, int64_t change) {
    uint64_t counters[SDS_DISK_COUNTERS], was = 0;
    if (load(ledger, counters, NULL) != SDS_OK || (was = counters[which]) == SDS_DISK_UNKNOWN) {
        return;
    }
    uint64_t magnitude = change < 0 ? (uint64_t)-change : (uint64_t)change;
    uint64_t now = change >= 0        ? was + magnitude
                   : magnitude <= was ? was - magnitude
                                      : SDS_DISK_UNKNOWN;
    // What cannot be written leaves the counter too large.
    if (store(ledger, which, now, NULL) == SDS_OK) {
        ledger->used += (uint64_t)change;
    }
}

void sds_disk_ledger_add(struct sds_disk_ledger *ledger, unsigned which, int64_t change) {
    if (change != 0 && lock(ledger, 0, F_WRLCK, NULL) == SDS_OK) {
        add_locked(ledger, which, change);
        unlock(ledger, 0);
    }
}

enum sds_kind sds_disk_ledger_set(struct sds_disk_ledger *ledger, unsigned which, uint64_t bytes,
                                  struct sds_err *err) {
    enum sds_kind kind = lock(ledger, 0, F_WRLCK, err);
    if (kind == SDS_OK) {
        kind = store(ledger, which, bytes, err);
        unlock(ledger, 0);
    }
    return kind;
}

enum sds_kind sds_disk_ledger_read(struct sds_disk_ledger *ledger,
                                   uint64_t counters[SDS_DISK_COUNTERS], struct sds_err *err) {
    enum sds_kind kind = lock(ledger, 0, F_WRLCK, err);
    if (kind == SDS_OK) {
        kind = load(ledger, counters, err);
        unlock(ledger, 0);
    }
    return kind;
}
