// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/daemon.h"
#include "cli/dataset.h"
#include "cli/mountpoint.h"
#include "cli/service.h"
#include "fs/session.h"
#include "index/overlay.h"
#include "remote/root_shown.h"

enum { MAX_DECODE_THREADS = 8 };
enum { FUSE_MAJOR = 10, FUSE_MINOR = 229 }; // of /dev/fuse, on every machine

struct request {
    const char *root; // as typed
    char *mountpoint; // absolute; "/dev/fd/N" where the mount was made by others
    int device;       // N; -1: we mount
    struct sds_options options;
    struct sds_notifier notifier;
    bool foreground;
    bool verbose;
};

// --- the daemon

struct server {
    struct request *request;
    struct sds_service service;
    struct sds_daemon daemon;
    struct sds_errors *errors;
    struct sds_requests requests;
    struct sds_opened opened;
    struct sds_dataset *shown; // the opened one, with index/ where it can be searched
    struct sds_tree *tree;
};

static unsigned decode_threads(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1                    ? 1
           : processors > MAX_DECODE_THREADS ? MAX_DECODE_THREADS
                                             : (unsigned)processors;
}

static void set_up_log(const struct request *request, bool to_syslog, bool hold) {
    sds_log_setup(&(struct sds_log_options){.level = request->options.log_level,
                                            .json = request->options.log_json,
                                            .syslog = to_syslog,
                                            .journal = !to_syslog && sds_log_is_journal(),
                                            .hold = hold});
}

// What was tolerated is told like any other failure of a part.
static void warn(void *ctx, const struct sds_err *problem) {
    struct server *server = ctx;
    sds_errors_add(server->errors, sds_span_str(""), problem);
}

// Who is going to publish learns in time that it will not work.
static void check_drafts(const struct server *server) {
    struct sds_err err;
    if (!server->request->options.read_only &&
        sds_tree_check_drafts(server->tree, &err) != SDS_OK) {
        sds_log(SDS_LOG_WARNING, "nothing can be published through this mount: %s: %s", err.check,
                err.message);
    }
}

// The mount answers: the command may return.
static void ready(void *ctx) {
    struct server *server = ctx;
    const struct request *request = server->request;
    if (!request->foreground) {
        sds_daemon_detach();
    }
    set_up_log(request, !request->foreground, false);
    sds_log(SDS_LOG_INFO, "%s: mounted on %s", sds_store_root(server->opened.store),
            request->mountpoint);
    check_drafts(server);
    sds_service_ready(&server->service);
    sds_daemon_report(&server->daemon, SDS_EXIT_DONE);
}

// The session ends by a signal: nobody waits for the store any more.
static void stop(void *ctx) {
    struct server *server = ctx;
    sds_service_stopping(&server->service);
    sds_store_abandon(server->opened.store);
}

static void beat(void *ctx, bool answers) {
    sds_service_beat(&((struct server *)ctx)->service, answers);
}

static void reload(void *ctx) {
    sds_service_reload(&((struct server *)ctx)->service);
}

static enum sds_exit out_of_memory(const struct server *server) {
    fprintf(stderr, "sdsfs: %s: no memory\n", SDS_ROOT_SHOWN(server->request->root));
    return SDS_EXIT_STORAGE;
}

// Mounts. Two commands that do so at one place at the same time must not take away or cover what
// the other one has just mounted.
static enum sds_kind open_session(struct server *server, const struct sds_session_options *options,
                                  struct sds_session **out, struct sds_err *err) {
    sds_autofd int held = -1;
    enum sds_kind kind = SDS_OK;
    if (server->request->device < 0) {
        held = sds_mountpoint_hold(options->mountpoint);
        kind = sds_mountpoint_clear(options->mountpoint, err);
        kind = kind == SDS_OK ? sds_mountpoint_check(options->mountpoint, err) : kind;
    }
    return kind == SDS_OK ? sds_session_open(server->tree, &server->requests, options, out, err)
                          : kind;
}

static enum sds_exit serve_session(struct server *server) {
    struct request *request = server->request;
    struct sds_session *session;
    struct sds_session_options options = {
        .source = sds_store_root(server->opened.store),
        .mountpoint = request->mountpoint,
        .flags = request->options.flags,
        .allow_other = request->options.allow_other,
        .auto_unmount = request->options.auto_unmount,
        .threads = request->options.threads,
        .timeout_ms = request->options.remote.timeout_ms,
        .stop = stop,
        .ready = ready,
        .beat_ms = sds_service_beat_ms(&server->service),
        .beat = beat,
        .reload = reload,
        .ctx = server,
    };
    struct sds_err err;
    enum sds_kind kind = open_session(server, &options, &session, &err);
    if (kind != SDS_OK) {
        fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(request->mountpoint), err.message);
        return SDS_EXIT_MOUNT;
    }
    kind = sds_session_run(session, &err);
    sds_service_stopping(&server->service);
    sds_session_close(session);
    if (kind != SDS_OK) {
        if (request->device >= 0) {
            sds_err_hint(&err, "a mount has to be made with the descriptor first");
        }
        sds_log(SDS_LOG_ERROR, "%s: %s", request->mountpoint, err.message);
        return SDS_EXIT_MOUNT;
    }
    sds_log(SDS_LOG_INFO, "%s: unmounted", request->mountpoint);
    return SDS_EXIT_DONE;
}

static enum sds_kind config(void *ctx, struct sds_buf *out) {
    return sds_service_show(&((struct server *)ctx)->service, out);
}

static enum sds_exit serve_tree(struct server *server) {
    const struct sds_options *options = &server->request->options;
    server->tree = sds_tree_new(server->shown, server->errors, &server->requests,
                                &(struct sds_tree_options){
                                    .uid = options->uid,
                                    .gid = options->gid,
                                    .umask = options->umask,
                                    .version = SDSFS_VERSION,
                                    .root = sds_store_root(server->opened.store),
                                    .state_dir = options->state_dir,
                                    .store = server->opened.store,
                                    .config = config,
                                    .config_ctx = server,
                                });
    enum sds_exit code = server->tree != NULL ? serve_session(server) : out_of_memory(server);
    sds_tree_free(server->tree);
    return code;
}

static enum sds_exit serve_shown(struct server *server) {
    struct sds_dataset *ds = server->opened.ds, *overlay = NULL;
    const char *cache_dir = server->request->options.remote.cache_dir;
    if (ds->ops->scan != NULL && sds_index_overlay(ds, cache_dir, &overlay, NULL) != SDS_OK) {
        return out_of_memory(server);
    }
    server->shown = overlay != NULL ? overlay : ds;
    sds_service_init(&server->service, &server->request->notifier, &server->request->options,
                     &server->opened, server->shown, server->request->mountpoint);
    enum sds_exit code = serve_tree(server);
    sds_store_abandon(server->opened.store); // an index that is being built gives up
    sds_dataset_close(overlay);
    sds_service_fini(&server->service);
    return code;
}

static enum sds_exit serve_root(struct server *server) {
    const struct request *request = server->request;
    enum sds_exit code;
    struct sds_err err;
    struct sds_opening opening = {.root = request->root,
                                  .options = &request->options,
                                  .decode_threads = decode_threads(),
                                  .warn = warn,
                                  .ctx = server};
    if (sds_open_root(&opening, &server->opened, &code, &err) != SDS_OK) {
        sds_report_root(request->root, &err);
        return code;
    }
    code = serve_shown(server);
    sds_store_abandon(server->opened.store); // what was fetched ahead
    sds_close_root(&server->opened);
    return code;
}

static enum sds_exit serve(struct request *request, struct sds_daemon daemon) {
    struct server server = {.request = request, .daemon = daemon, .errors = sds_errors_new()};
    set_up_log(request, false, true);
    enum sds_exit code = server.errors != NULL ? serve_root(&server) : out_of_memory(&server);
    sds_errors_free(server.errors);
    if (code == SDS_EXIT_DONE && server.daemon.report >= 0) {
        fprintf(stderr, "sdsfs: %s: stopped before it answered\n",
                SDS_ROOT_SHOWN(request->mountpoint));
        code = SDS_EXIT_MOUNT;
    }
    sds_daemon_report(&server.daemon, code);
    return code;
}

// --- the command

// The daemon says that it is ready when the kernel has made contact; asking once through the mount
// leaves no doubt.
static enum sds_exit confirm(const struct request *request) {
    struct stat st;
    if (request->device < 0 && stat(request->mountpoint, &st) != 0) {
        fprintf(stderr, "sdsfs: %s: mounted, but it does not answer: %s\n",
                SDS_ROOT_SHOWN(request->mountpoint), strerror(errno));
        return SDS_EXIT_MOUNT;
    }
    if (request->verbose) {
        printf("sdsfs: %s mounted on %s\n", SDS_ROOT_SHOWN(request->root),
               SDS_ROOT_SHOWN(request->mountpoint));
    }
    return SDS_EXIT_DONE;
}

// "/dev/fd/N", as libfuse knows it: the mount was made by whoever opened the device.
static int device_of(const char *mountpoint) {
    static const char devices[] = "/dev/fd/";
    if (strncmp(mountpoint, devices, sizeof devices - 1) != 0) {
        return -1;
    }
    const char *number = mountpoint + sizeof devices - 1;
    size_t digits = strspn(number, "0123456789");
    return digits > 0 && digits < 10 && number[digits] == '\0' ? atoi(number) : -1;
}

static enum sds_kind check_device(const struct request *request, struct sds_err *err) {
    struct stat st;
    if (fstat(request->device, &st) != 0) {
        return sds_fail(err, SDS_ERR_INVALID, "mountpoint", "descriptor %d: %s", request->device,
                        strerror(errno));
    }
    return S_ISCHR(st.st_mode) && st.st_rdev == makedev(FUSE_MAJOR, FUSE_MINOR)
               ? SDS_OK
               : sds_fail(err, SDS_ERR_INVALID, "mountpoint", "descriptor %d is not /dev/fuse",
                          request->device);
}

static enum sds_kind find_mountpoint(struct request *request, const char *typed,
                                     struct sds_err *err) {
    request->device = device_of(typed);
    if (request->device >= 0) {
        request->mountpoint = strdup(typed);
        return request->mountpoint != NULL
                   ? check_device(request, err)
                   : sds_fail(err, SDS_ERR_NO_MEMORY, "memory", "no memory");
    }
    enum sds_kind kind = sds_mountpoint_resolve(typed, &request->mountpoint, err);
    request->options.external.mountpoint = request->mountpoint;
    return kind == SDS_OK ? sds_mountpoint_check(request->mountpoint, err) : kind;
}

static enum sds_exit mount_at(struct request *request, const char *mountpoint) {
    struct sds_err err;
    if (find_mountpoint(request, mountpoint, &err) != SDS_OK) {
        fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(mountpoint), err.message);
        return SDS_EXIT_MOUNT;
    }
    struct sds_daemon daemon = {.report = -1};
    enum sds_exit code;
    sds_notifier_init(&request->notifier);
    if (request->foreground ||
        sds_daemon_start(&daemon, SDS_ROOT_SHOWN(request->root), request->device, &code)) {
        return serve(request, daemon);
    }
    return code == SDS_EXIT_DONE ? confirm(request) : code;
}

// The root and the mountpoint may stand in a configuration file.
static enum sds_exit mount_arguments(struct request *request, int argc, char **argv,
                                     const char *mountpoint) {
    char why[600];
    if (!sds_options_complete(&request->options, why, sizeof why)) {
        return sds_usage(&sds_cmd_mount, "%s", why);
    }
    int count = argc - optind;
    request->root = count > 0 ? argv[optind] : request->options.root;
    if (mountpoint == NULL) {
        mountpoint = count > 1 ? argv[optind + 1] : request->options.mountpoint;
    } else if (count > 1) {
        return sds_usage(&sds_cmd_mount, "with --fd there is no MOUNTPOINT");
    }
    enum sds_exit code;
    if (!sds_check_arguments(&sds_cmd_mount, count, argv + optind, 0, 2, &code)) {
        return code;
    }
    if (request->root == NULL || mountpoint == NULL) {
        return sds_usage(&sds_cmd_mount, "%s is missing",
                         request->root == NULL ? "ROOT" : "MOUNTPOINT");
    }
    code = mount_at(request, mountpoint);
    free(request->mountpoint);
    return code;
}

static enum sds_exit parse_and_mount(struct request *request, int argc, char **argv) {
    static const struct option names[] = {{"help", no_argument, NULL, 'h'},
                                          {"config", required_argument, NULL, 'c'},
                                          {"fd", required_argument, NULL, 'd'},
                                          {0}};
    char why[600], device[64];
    const char *mountpoint = NULL;
    int result;
    while ((result = getopt_long(argc, argv, ":hfo:", names, NULL)) != -1) {
        bool ok = true;
        switch (result) {
        case 'h':
            return sds_help(&sds_cmd_mount);
        case 'f':
            request->foreground = true;
            break;
        case 'c':
            ok = sds_options_give(&request->options, "config", optarg, why, sizeof why);
            break;
        case 'd':
            snprintf(device, sizeof device, "/dev/fd/%s", optarg);
            mountpoint = device;
            if (device_of(device) < 0) {
                return sds_usage(&sds_cmd_mount, "--fd %s: expected a number", optarg);
            }
            break;
        case 'o':
            ok = sds_options_parse(&request->options, optarg, why, sizeof why);
            break;
        default:
            return sds_bad_option(&sds_cmd_mount, result, argv);
        }
        if (!ok) {
            return sds_usage(&sds_cmd_mount, "-o %s", why);
        }
    }
    return mount_arguments(request, argc, argv, mountpoint);
}

static enum sds_exit run(int argc, char **argv) {
    struct request request = {.device = -1};
    sds_options_init(&request.options);
    enum sds_exit code = parse_and_mount(&request, argc, argv);
    sds_options_fini(&request.options);
    return code;
}

// --- mount(8)'s helper

// mount.sdsfs ROOT MOUNTPOINT [-sfnv] [-o OPTION,...] [-t TYPE]
static enum sds_exit parse_helper(struct request *request, int argc, char **argv) {
    bool sloppy = false, fake = false;
    const char *options[64];
    size_t option_count = 0;
    int result;
    while ((result = getopt(argc, argv, ":sfnvo:t:")) != -1) {
        switch (result) {
        case 's':
            sloppy = true;
            break;
        case 'f':
            fake = true;
            break;
        case 'v':
            request->verbose = true;
            break;
        case 'o':
            if (option_count == sizeof options / sizeof options[0]) {
                return sds_usage(&sds_cmd_mount, "too many -o");
            }
            options[option_count++] = optarg;
            break;
        case 'n': // there is no /etc/mtab to write
        case 't': // the type that made mount(8) come here
            break;
        default:
            return sds_bad_option(&sds_cmd_mount, result, argv);
        }
    }
    for (size_t i = 0; i < option_count; i++) {
        char why[256];
        bool ok = sloppy ? sds_options_parse_sloppy(&request->options, options[i], why, sizeof why)
                         : sds_options_parse(&request->options, options[i], why, sizeof why);
        if (!ok) {
            return sds_usage(&sds_cmd_mount, "-o %s", why);
        }
    }
    return fake ? SDS_EXIT_DONE : mount_arguments(request, argc, argv, NULL);
}

enum sds_exit sds_mount_helper(int argc, char **argv) {
    struct request request = {.device = -1};
    sds_options_init(&request.options);
    enum sds_exit code = parse_helper(&request, argc, argv);
    sds_options_fini(&request.options);
    return code;
}

static const struct sds_switch switches[] = {
    {"f", NULL, "stay in the foreground, log to standard error"},
    {"config", "FILE", "read options from a file, the root and the mountpoint too"},
    {"fd", "N", "serve a mount that others made with this descriptor of /dev/fuse"},
};

const struct sds_command sds_cmd_mount = {
    .name = "mount",
    .synopsis = "[-f] [--config FILE] [--fd N] [-o OPTION,...] [ROOT [MOUNTPOINT]]",
    .summary = "Mount a dataset",
    .help = "Returns when the dataset's root was verified and the mount answers. ROOT is the "
            "directory\n"
            "with the dataset's root.json, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or\n"
            "http(s)://HOST/PREFIX. A configuration file may say both. For example:\n\n"
            "  sdsfs mount -o ro,mem_cache=256M captures.sds /mnt/captures\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
