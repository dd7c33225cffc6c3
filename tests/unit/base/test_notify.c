// SPDX-License-Identifier: Apache-2.0
#include "base/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

// A manager's socket; name as in $NOTIFY_SOCKET.
static int listen_at(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    memcpy(address.sun_path, name, len);
    address.sun_path[0] = name[0] == '@' ? '\0' : name[0];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    return fd;
}

static void environment(const char *socket, const char *usec, const char *pid) {
    const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
    const char *const values[] = {socket, usec, pid};
    for (int i = 0; i < 3; i++) {
        if (values[i] != NULL) {
            setenv(names[i], values[i], 1);
        } else {
            unsetenv(names[i]);
        }
    }
}

static void check_told(const char *name) {
    int fd = listen_at(name);
    environment(name, NULL, NULL);
    struct sds_notifier notifier;
    sds_notifier_init(&notifier);
    assert_null(getenv("NOTIFY_SOCKET"));
    sds_notify(&notifier, "READY=1\nSTATUS=%d", 42);
    char text[64] = "";
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), 17);
    assert_string_equal(text, "READY=1\nSTATUS=42");
    close(fd);
}

static void a_path(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "/tmp/sdsfs-notify-%d", (int)getpid());
    check_told(name);
    unlink(name);
}

static void an_abstract_name(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "@sdsfs-notify-%d", (int)getpid());
    check_told(name);
    // As long as one can be: it ends with no NUL.
    char longest[sizeof((struct sockaddr_un){0}.sun_path) + 1];
    snprintf(longest, sizeof longest, "@sdsfs-notify-%0*d", (int)sizeof longest - 1 - 14,
             (int)getpid());
    check_told(longest);
}

static void nobody_to_tell(void **state) {
    (void)state;
    const char *const names[] = {NULL, "", "/", "relative", "vsock:2:1", "@"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        environment(names[i], "1000000", NULL);
        struct sds_notifier notifier;
        sds_notifier_init(&notifier);
        assert_int_equal(notifier.len, 0);
        assert_int_equal(notifier.watchdog_ms, 0);
        sds_notify(&notifier, "READY=1");
    }
    environment("/nonexistent/socket", NULL, NULL);
    struct sds_notifier notifier;
    sds_notifier_init(&notifier);
    sds_notify(&notifier, "READY=1"); // nobody listens, and that is all
}

static uint32_t watchdog(const char *usec, const char *pid) {
    struct sds_notifier notifier;
    environment("@somebody", usec, pid);
    sds_notifier_init(&notifier);
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    return notifier.watchdog_ms;
}

static void the_watchdog_is_for_one_process(void **state) {
    (void)state;
    char us[32];
    snprintf(us, sizeof us, "%d", (int)getpid());
    assert_int_equal(watchdog("30000000", NULL), 30000);
    assert_int_equal(watchdog("30000000", us), 30000);
    assert_int_equal(watchdog("30000000", "1"), 0);
    assert_int_equal(watchdog("soon", us), 0);
    assert_int_equal(watchdog("-1", us), 0);
    assert_int_equal(watchdog("99999999999999999999999", us), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path),
        cmocka_unit_test(an_abstract_name),
        cmocka_unit_test(nobody_to_tell),
        cmocka_unit_test(the_watchdog_is_for_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
