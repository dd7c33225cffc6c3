// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

static char path[64];

static void write_config(const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/sdsfs-options-%d.conf", (int)getpid());
    unsetenv("AWS_PROFILE");
    unsetenv("CACHE_DIRECTORY");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static void say(struct sds_options *options, const char *text) {
    char why[600];
    assert_true(sds_options_parse(options, text, why, sizeof why));
}

// Options of a command line and of the file.
static void complete(struct sds_options *options, const char *line) {
    char why[600] = "";
    sds_options_init(options);
    assert_true(sds_options_give(options, "config", path, why, sizeof why));
    say(options, line);
    bool ok = sds_options_complete(options, why, sizeof why);
    assert_string_equal(why, "");
    assert_true(ok);
}

static char *shown(const struct sds_options *options) {
    struct sds_buf text = SDS_BUF_INIT(1 << 20);
    assert_int_equal(sds_options_show(options, false, &text), SDS_OK);
    assert_int_equal(sds_buf_add(&text, "", 1), SDS_OK);
    return (char *)text.at; // the caller frees it: a buffer's memory is malloc's
}

static void the_command_line_wins(void **state) {
    (void)state;
    write_config("[mount]\nmem_cache = 10M\nlog = debug\nallow_other\nro = yes\nx-systemd.y = 1\n"
                 "auto_unmount = yes\nroot = /data\nmountpoint = \"/m # n\"\n");
    struct sds_options options;
    complete(&options, "log=error,auto_unmount=no");
    assert_int_equal(options.mem_cache, 10 << 20);
    assert_int_equal(options.log_level, SDS_LOG_ERROR);
    assert_true(options.allow_other);
    assert_false(options.auto_unmount);
    assert_true(options.read_only);
    assert_string_equal(options.root, "/data");
    assert_string_equal(options.mountpoint, "/m # n");
    sds_options_fini(&options);
}

static void each_tells_where_it_came_from(void **state) {
    (void)state;
    write_config("[mount]\nmem_cache = 10M\n\nendpoint = https://me:secret@host/\nroot = /data\n");
    struct sds_options options;
    setenv("AWS_PROFILE", "lab", 1);
    setenv("CACHE_DIRECTORY", "/var/cache/of-systemd", 1);
    complete(&options, "timeout=5,nodev");
    char *text = shown(&options), line[256];
    snprintf(line, sizeof line, "\nmem_cache = 10M  # %s:2\n", path);
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "\ntimeout = 5  # command line\n"));
    assert_non_null(strstr(text, "\ncache_size = 10G  # default\n"));
    assert_non_null(strstr(text, "\nprofile = lab  # environment: AWS_PROFILE\n"));
    assert_non_null(
        strstr(text, "\ncache_dir = /var/cache/of-systemd  # environment: CACHE_DIRECTORY\n"));
    assert_non_null(strstr(text, "\n# client_key is not set\n"));
    assert_non_null(strstr(text, "\nnodev = yes  # command line\n"));
    assert_non_null(strstr(text, "\nroot = /data  # "));
    assert_null(strstr(text, "secret"));
    free(text);
    sds_options_fini(&options);
    setup(NULL);
}

// What control/config says can be given back.
static void what_is_shown_is_a_file(void **state) {
    (void)state;
    write_config("[mount]\nviews=npy,bin\nmem_cache = 10M\nnoexec\nroot = /a\nmountpoint = /b\n");
    struct sds_options options, again;
    complete(&options, "retries=2,no_sign_request");
    char *text = shown(&options);
    sds_options_fini(&options);
    write_config(text);
    free(text);
    complete(&again, "");
    assert_int_equal(again.mem_cache, 10 << 20);
    assert_int_equal(again.remote.retries, 2);
    assert_true(again.remote.no_sign_request);
    assert_string_equal(again.flags, "noexec");
    assert_string_equal(again.views, "npy,bin");
    assert_string_equal(again.mountpoint, "/b");
    sds_options_fini(&again);
}

static void mistakes_have_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[mount]\nmem_cach = 1\n", ":2: mem_cach: unknown option (did you mean mem_cache?)"},
        {"[mount]\n\nmem_cache = 1X\n", ":3: mem_cache=1X: expected SIZE, such as 512M or 2G"},
        {"[mount]\nmem_cache\n", ":2: mem_cache needs a value"},
        {"[mount]\nallow_other = perhaps\n", ":2: allow_other=perhaps: expected yes or no"},
        {"[mount]\nconfig = /y\n", ":2: config: not in a configuration file"},
        {"[mount]\nroot =\n", ":2: root needs a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_config(cases[i].text);
        struct sds_options options;
        char why[600], expected[600];
        sds_options_init(&options);
        assert_true(sds_options_give(&options, "config", path, why, sizeof why));
        assert_false(sds_options_complete(&options, why, sizeof why));
        snprintf(expected, sizeof expected, "%s%s", path, cases[i].why);
        assert_string_equal(why, expected);
        sds_options_fini(&options);
    }
}

struct told {
    char text[512];
};

static void tell(void *ctx, const char *name, const char *value, bool changed) {
    struct told *told = ctx;
    size_t len = strlen(told->text);
    snprintf(told->text + len, sizeof told->text - len, "%s=%s%s|", name, value,
             changed ? "" : " (not now)");
}

static void reading_it_again(void **state) {
    (void)state;
    write_config("[mount]\nmem_cache = 10M\nlog = debug\nthreads = 8\ncache_size = 1G\n");
    struct sds_options options, newer;
    struct told told = {""};
    char why[600];
    complete(&options, "log=error");
    write_config("[mount]\nmem_cache = 20M\nlog = info\nthreads = 9\n");
    assert_true(sds_options_again(&options, &newer, why, sizeof why));
    sds_options_adopt(&options, &newer, tell, &told);
    sds_options_fini(&newer);
    assert_string_equal(told.text, "cache_size=the default|mem_cache=20M|threads=9 (not now)|");
    assert_int_equal(options.mem_cache, 20 << 20);
    assert_int_equal(options.remote.cache_size, UINT64_C(10) << 30);
    assert_int_equal(options.log_level, SDS_LOG_ERROR); // the command line still wins
    assert_int_equal(options.threads, 8);
    char *text = shown(&options);
    assert_non_null(strstr(text, "\nmem_cache = 20M  # "));
    assert_non_null(strstr(text, "\nthreads = 8  # "));
    assert_non_null(strstr(text, "\ncache_size = 10G  # default\n"));
    free(text);
    // What is said as before is not kept once more: a service is told to reload for years.
    size_t kept = options.text_count;
    for (int i = 0; i < 3; i++) {
        assert_true(sds_options_again(&options, &newer, why, sizeof why));
        sds_options_adopt(&options, &newer, tell, &told);
        sds_options_fini(&newer);
    }
    assert_int_equal(options.text_count, kept);
    write_config("[mount]\nnonsense\n");
    assert_false(sds_options_again(&options, &newer, why, sizeof why));
    sds_options_fini(&options);
}

static void generic_options_are_taken(void **state) {
    (void)state;
    static const char *const names[] = {"_netdev",
                                        "nofail",
                                        "noauto",
                                        "auto",
                                        "defaults",
                                        "user",
                                        "users",
                                        "owner",
                                        "group",
                                        "relatime",
                                        "norelatime",
                                        "lazytime",
                                        "silent",
                                        "loud",
                                        "mand",
                                        "nomand",
                                        "iversion",
                                        "noiversion",
                                        "symfollow",
                                        "nosymfollow",
                                        "nouser",
                                        "strictatime",
                                        "nodiratime",
                                        "x-systemd.automount",
                                        "x-gvfs-show",
                                        "X-mount.mkdir",
                                        "x-systemd.idle-timeout=60",
                                        "comment=hello",
                                        "uhelper=udisks2",
                                        "rw",
                                        "ro",
                                        "nosuid",
                                        "suid",
                                        "nodev",
                                        "dev",
                                        "noexec",
                                        "exec",
                                        "sync",
                                        "async",
                                        "noatime"};
    struct sds_options options;
    sds_options_init(&options);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        say(&options, names[i]);
    }
    sds_options_fini(&options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_wins),   cmocka_unit_test(each_tells_where_it_came_from),
        cmocka_unit_test(what_is_shown_is_a_file), cmocka_unit_test(mistakes_have_their_place),
        cmocka_unit_test(reading_it_again),        cmocka_unit_test(generic_options_are_taken),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
