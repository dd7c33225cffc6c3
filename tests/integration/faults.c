// SPDX-License-Identifier: Apache-2.0
//
// A library to preload into a program, for crash tests. It counts what the program does to files
// below one directory, and makes the n-th operation go wrong. From the environment:
//
//   FAULTS_BELOW   the directory, absolute and without links
//   FAULTS_AT      the operation, from 1 on; 0 or absent: none
//   FAULTS_DO      "kill": it is done (half of it, if it is a write), and the process dies by
//   SIGKILL;
//                  "ENOSPC", "EIO": it is not done, and fails so;
//                  "lost": it is done, and fails with EIO, as when a server's answer is lost
//   FAULTS_ALWAYS  if set: so does all that is counted later, apart from removing files
//   FAULTS_READS   if set: opening and reading is counted, instead of what changes something
//   FAULTS_LOG     a file that gets a line for each operation, with "!" where it went wrong
//
// Under ENOSPC only what can need space is counted.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

// What the caller gets of the library that comes next.
#define REAL(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

enum op { OPEN, READ, CREATE, WRITE, MKDIR, LINK, RENAME, UNLINK, SYNC, LOCK, STAMP, CHMOD };

static const struct {
    const char *name;
    bool reads;
    bool takes_space;
} ops[] = {
    [OPEN] = {"open", true, false},     [READ] = {"read", true, false},
    [CREATE] = {"create", false, true}, [WRITE] = {"write", false, true},
    [MKDIR] = {"mkdir", false, true},   [LINK] = {"link", false, true},
    [RENAME] = {"rename", false, true}, [UNLINK] = {"unlink", false, false},
    [SYNC] = {"fsync", false, true},    [LOCK] = {"flock", false, false},
    [STAMP] = {"utimes", false, false}, [CHMOD] = {"fchmod", false, false},
};

enum fault { NONE, KILLED, REFUSED, LOST };

static struct {
    const char *below; // NULL: nothing is counted
    size_t below_len;
    unsigned long at;
    enum fault fault;
    int error;
    bool always;
    bool reads;
    int log;
} plan = {.log = -1};

static atomic_ulong counted;

__attribute__((constructor)) static void make_plan(void) {
    const char *at = getenv("FAULTS_AT"), *what = getenv("FAULTS_DO"), *log = getenv("FAULTS_LOG");
    plan.below = getenv("FAULTS_BELOW");
    plan.below_len = plan.below != NULL ? strlen(plan.below) : 0;
    plan.at = at != NULL ? strtoul(at, NULL, 10) : 0;
    plan.always = getenv("FAULTS_ALWAYS") != NULL;
    plan.reads = getenv("FAULTS_READS") != NULL;
    plan.error = EIO;
    if (what == NULL) {
        plan.at = 0;
    } else if (strcmp(what, "kill") == 0) {
        plan.fault = KILLED;
    } else if (strcmp(what, "lost") == 0) {
        plan.fault = LOST;
    } else {
        plan.fault = REFUSED;
        plan.error = strcmp(what, "ENOSPC") == 0 ? ENOSPC : EIO;
    }
    if (log != NULL) {
        plan.log = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

// The path of a name in a directory, or of a descriptor when there is no name; false when it is not
// below ours.
static bool find(int dir, const char *name, char *path, size_t size) {
    size_t len = 0;
    if (name == NULL || name[0] != '/') {
        char link[32];
        snprintf(link, sizeof link, dir == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dir);
        ssize_t n = readlink(link, path, size - 1);
        if (n < 0) {
            return false;
        }
        len = (size_t)n;
        path[len] = '\0';
    }
    if (name != NULL) {
        snprintf(path + len, size - len, len > 0 ? "/%s" : "%s", name);
    }
    char behind = strncmp(path, plan.below, plan.below_len) == 0 ? path[plan.below_len] : '?';
    return behind == '/' || behind == '\0';
}

static void note(enum op op, const char *path, bool wrong) {
    const char *inside = path + plan.below_len;
    char line[PATH_MAX + 32];
    int len = snprintf(line, sizeof line, "%s%s %s\n", wrong ? "! " : "", ops[op].name,
                       inside[0] == '/' ? inside + 1 : ".");
    if (plan.log >= 0 && REAL(write)(plan.log, line, (size_t)len) != len) {
        abort();
    }
}

// Counts an operation that is about to be done, and says what is to become of it.
static enum fault meet(enum op op, int dir, const char *name) {
    char path[PATH_MAX];
    if (plan.below == NULL || ops[op].reads != plan.reads ||
        (plan.error == ENOSPC && !ops[op].takes_space) || !find(dir, name, path, sizeof path)) {
        return NONE;
    }
    unsigned long n = atomic_fetch_add(&counted, 1) + 1;
    bool wrong = plan.always ? plan.at > 0 && n >= plan.at && op != UNLINK : n == plan.at;
    note(op, path, wrong);
    return wrong ? plan.fault : NONE;
}

static int refuse(void) {
    errno = plan.error;
    return -1;
}

// What the program hears of an operation that was done.
static long after(enum fault fault, long result) {
    if (fault == KILLED) {
        kill(getpid(), SIGKILL);
    }
    return fault == LOST && result != -1 ? refuse() : result;
}

#define AROUND(op, dir, name, call)                                                                \
    __extension__({                                                                                \
        enum fault fault_ = meet(op, dir, name);                                                   \
        fault_ == REFUSED ? refuse() : after(fault_, (call));                                      \
    })

static bool creates(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

static mode_t mode_of(int flags, va_list args) {
    return creates(flags) ? va_arg(args, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return (int)AROUND(creates(flags) ? CREATE : OPEN, AT_FDCWD, path,
                       REAL(open)(path, flags, mode));
}
EXPORT extern __typeof__(open) open64 __attribute__((alias("open")));

EXPORT int openat(int dir, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return (int)AROUND(creates(flags) ? CREATE : OPEN, dir, path,
                       REAL(openat)(dir, path, flags, mode));
}
EXPORT extern __typeof__(openat) openat64 __attribute__((alias("openat")));

// The C library has no openat2.
EXPORT long syscall(long number, ...) {
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    if (number != SYS_openat2) {
        return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    const struct open_how *how = (const struct open_how *)a[2];
    return AROUND(creates((int)how->flags) ? CREATE : OPEN, (int)a[0], (const char *)a[1],
                  REAL(syscall)(number, a[0], a[1], a[2], a[3]));
}

EXPORT ssize_t read(int fd, void *buf, size_t len) {
    return AROUND(READ, fd, NULL, REAL(read)(fd, buf, len));
}

EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t off) {
    return AROUND(READ, fd, NULL, REAL(pread)(fd, buf, len, off));
}
EXPORT extern __typeof__(pread) pread64 __attribute__((alias("pread")));

EXPORT ssize_t write(int fd, const void *buf, size_t len) {
    enum fault fault = meet(WRITE, fd, NULL);
    size_t whole = fault == KILLED ? len / 2 : len;
    return fault == REFUSED ? refuse() : after(fault, REAL(write)(fd, buf, whole));
}

EXPORT ssize_t pwrite(int fd, const void *buf, size_t len, off_t off) {
    enum fault fault = meet(WRITE, fd, NULL);
    size_t whole = fault == KILLED ? len / 2 : len;
    return fault == REFUSED ? refuse() : after(fault, REAL(pwrite)(fd, buf, whole, off));
}
EXPORT extern __typeof__(pwrite) pwrite64 __attribute__((alias("pwrite")));

EXPORT int mkdirat(int dir, const char *name, mode_t mode) {
    return (int)AROUND(MKDIR, dir, name, REAL(mkdirat)(dir, name, mode));
}

EXPORT int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    return (int)AROUND(LINK, to_dir, to, REAL(linkat)(from_dir, from, to_dir, to, flags));
}

EXPORT int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    return (int)AROUND(RENAME, to_dir, to, REAL(renameat)(from_dir, from, to_dir, to));
}

EXPORT int unlinkat(int dir, const char *name, int flags) {
    return (int)AROUND(UNLINK, dir, name, REAL(unlinkat)(dir, name, flags));
}

EXPORT int fsync(int fd) {
    return (int)AROUND(SYNC, fd, NULL, REAL(fsync)(fd));
}

EXPORT int flock(int fd, int operation) {
    return (int)AROUND(LOCK, fd, NULL, REAL(flock)(fd, operation));
}

EXPORT int fchmod(int fd, mode_t mode) {
    return (int)AROUND(CHMOD, fd, NULL, REAL(fchmod)(fd, mode));
}

EXPORT int futimens(int fd, const struct timespec times[2]) {
    return (int)AROUND(STAMP, fd, NULL, REAL(futimens)(fd, times));
}
