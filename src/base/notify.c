// SPDX-License-Identifier: Apache-2.0
#include "base/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 4096 };

// A path, or a name in the abstract namespace ("@name"). Anything else (vsock:) is not for us.
static void take_address(struct sds_notifier *notifier, const char *name) {
    size_t len = strlen(name);
    size_t room = sizeof notifier->address.sun_path - (name[0] == '/'); // a path ends with its NUL
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len > room) {
        return;
    }
    notifier->address.sun_family = AF_UNIX;
    memcpy(notifier->address.sun_path, name, len);
    notifier->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (name[0] == '@') {
        notifier->address.sun_path[0] = '\0';
    } else {
        notifier->len++;
    }
}

// A number of digits alone; 0 for anything else.
static uint64_t number(const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long value =
        text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    return end != NULL && *end == '\0' && errno == 0 ? value : 0;
}

void sds_notifier_init(struct sds_notifier *notifier) {
    *notifier = (struct sds_notifier){0};
    const char *name = getenv("NOTIFY_SOCKET"), *pid = getenv("WATCHDOG_PID");
    if (name != NULL) {
        take_address(notifier, name);
    }
    bool meant = pid == NULL || number(pid) == (uint64_t)getpid();
    uint64_t ms = number(getenv("WATCHDOG_USEC")) / 1000;
    if (notifier->len > 0 && meant) {
        notifier->watchdog_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
}

void sds_notify(const struct sds_notifier *notifier, const char *fmt, ...) {
    if (notifier->len == 0) {
        return;
    }
    int saved = errno;
    char text[MAX_TEXT];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        const struct sockaddr *to = (const struct sockaddr *)&notifier->address;
        (void)!sendto(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT, to, notifier->len);
        close(fd);
    }
    errno = saved;
}
