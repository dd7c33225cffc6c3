// SPDX-License-Identifier: Apache-2.0
//
// nullfs [-f] [-n RECORDS] [-b BYTES] [-F FIELD] MOUNTPOINT
//
// A file system that does nothing: it serves the same tree shape, names and sizes as a mounted
// dataset, records/<ordinal>/{metadata.json,record.safetensors,FIELD.npy}, from one block of
// memory. It is the floor: what FUSE alone costs. Its choices towards the kernel are those of
// src/fs (session.c, operations.c, directory.c) and have to follow them.
#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "result.h"

#define FOR_EVER 1e9 // seconds

enum {
    MAX_READ = 1 << 20,
    MAX_BACKGROUND = 96,
    THREADS = 8,
    MIN_ORDINAL_DIGITS = 6,
    METADATA_BYTES = 1024,
    NPY_HEADER_BYTES = 128,
};

// Inodes: the root, records/, and then four for each record.
enum { ROOT = FUSE_ROOT_ID, RECORDS = 2, PER_RECORD = 4 };
enum part { RECORD_DIR, METADATA_JSON, SAFETENSORS, FIELD_NPY };

static struct {
    uint64_t records;
    uint64_t bytes; // of a field's values
    char field_name[256];
    int digits; // of an ordinal's directory
    uint8_t *content;
    size_t content_len;
} fs = {.records = 1000, .bytes = 65536, .field_name = "samples.npy"};

static fuse_ino_t ino_of(uint64_t ordinal, enum part part) {
    return (ordinal + 1) * PER_RECORD + part;
}

static bool is_record(fuse_ino_t ino) {
    return ino >= PER_RECORD && ino < (fs.records + 1) * PER_RECORD;
}

static enum part part_of(fuse_ino_t ino) {
    return (enum part)(ino % PER_RECORD);
}

static uint64_t size_of(enum part part) {
    switch (part) {
    case METADATA_JSON:
        return METADATA_BYTES;
    case SAFETENSORS:
        return fs.bytes + METADATA_BYTES;
    case FIELD_NPY:
        return fs.bytes + NPY_HEADER_BYTES;
    case RECORD_DIR:
        break;
    }
    return 0;
}

static bool fill_stat(fuse_ino_t ino, struct stat *st) {
    *st = (struct stat){.st_ino = ino, .st_nlink = 1, .st_uid = getuid(), .st_gid = getgid()};
    if (ino == ROOT || ino == RECORDS || (is_record(ino) && part_of(ino) == RECORD_DIR)) {
        st->st_mode = S_IFDIR | 0555;
        st->st_nlink = 2;
        return true;
    }
    if (!is_record(ino)) {
        return false;
    }
    st->st_mode = S_IFREG | 0444;
    st->st_size = (off_t)size_of(part_of(ino));
    st->st_blocks = (st->st_size + 511) / 512;
    return true;
}

static bool fill_entry(fuse_ino_t ino, struct fuse_entry_param *entry) {
    *entry =
        (struct fuse_entry_param){.ino = ino, .attr_timeout = FOR_EVER, .entry_timeout = FOR_EVER};
    return fill_stat(ino, &entry->attr);
}

// 0 when there is no such name.
static fuse_ino_t ino_by_ordinal(const char *name) {
    char *end;
    uint64_t ordinal = strtoull(name, &end, 10);
    bool found = *end == '\0' && (int)strlen(name) == fs.digits && ordinal < fs.records;
    return found ? ino_of(ordinal, RECORD_DIR) : 0;
}

static const char *name_of(enum part part) {
    static const char *const names[] = {".", "metadata.json", "record.safetensors", fs.field_name};
    return names[part];
}

static fuse_ino_t find(fuse_ino_t parent, const char *name) {
    if (parent == ROOT) {
        return strcmp(name, "records") == 0 ? RECORDS : 0;
    }
    if (parent == RECORDS) {
        return ino_by_ordinal(name);
    }
    for (enum part part = METADATA_JSON; part <= FIELD_NPY; part++) {
        if (strcmp(name, name_of(part)) == 0) {
            return parent + part;
        }
    }
    return 0;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
    struct fuse_entry_param entry;
    fuse_ino_t ino = find(parent, name);
    if (ino == 0) {
        entry = (struct fuse_entry_param){.entry_timeout = FOR_EVER};
    } else {
        fill_entry(ino, &entry);
    }
    fuse_reply_entry(req, &entry);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)fi;
    struct stat st;
    if (!fill_stat(ino, &st)) {
        fuse_reply_err(req, ENOENT);
        return;
    }
    fuse_reply_attr(req, &st, FOR_EVER);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi) {
    (void)fi;
    uint64_t len = size_of(part_of(ino));
    uint64_t from = (uint64_t)off < len ? (uint64_t)off : len;
    fuse_reply_buf(req, (const char *)fs.content + from, size < len - from ? size : len - from);
}

// The kernel then opens and closes files by itself, here and from now on
// (FUSE_CAP_NO_OPEN_SUPPORT).
static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)ino;
    (void)fi;
    fuse_reply_err(req, ENOSYS);
}

static void on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    fi->cache_readdir = ino != RECORDS; // the kernel keeps short listings only
    fi->keep_cache = fi->cache_readdir;
    fuse_reply_open(req, fi);
}

// The entry at a position of a directory, its name in name[256]; 0 after the last.
static fuse_ino_t entry_at(fuse_ino_t dir, uint64_t position, char *name) {
    if (dir == ROOT) {
        strcpy(name, "records");
        return position == 0 ? RECORDS : 0;
    }
    if (dir == RECORDS) {
        snprintf(name, 256, "%0*" PRIu64, fs.digits, position);
        return position < fs.records ? ino_of(position, RECORD_DIR) : 0;
    }
    enum part part = (enum part)(position + METADATA_JSON);
    if (part > FIELD_NPY) {
        return 0;
    }
    snprintf(name, 256, "%s", name_of(part));
    return dir + part;
}

static size_t add_entry(fuse_req_t req, char *at, size_t room, const char *name, fuse_ino_t ino,
                        uint64_t next, bool plus) {
    struct fuse_entry_param entry;
    fill_entry(ino, &entry);
    return plus ? fuse_add_direntry_plus(req, at, room, name, &entry, (off_t)next)
                : fuse_add_direntry(req, at, room, name, &entry.attr, (off_t)next);
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, uint64_t position, bool plus) {
    char *reply = malloc(size);
    if (reply == NULL) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    char name[256];
    size_t used = 0;
    for (fuse_ino_t entry; (entry = entry_at(ino, position, name)) != 0; position++) {
        size_t need = add_entry(req, reply + used, size - used, name, entry, position + 1, plus);
        if (need > size - used) {
            break;
        }
        used += need;
    }
    fuse_reply_buf(req, reply, used);
    free(reply);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                       struct fuse_file_info *fi) {
    (void)fi;
    list(req, ino, size, (uint64_t)off, false);
}

static void on_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                           struct fuse_file_info *fi) {
    (void)fi;
    list(req, ino, size, (uint64_t)off, true);
}

static void on_init(void *userdata, struct fuse_conn_info *conn) {
    (void)userdata;
    conn->want &= ~(unsigned)FUSE_CAP_ATOMIC_O_TRUNC;
    conn->want |= conn->capable & (FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT);
    conn->max_read = MAX_READ;
    conn->max_write = MAX_READ; // libfuse derives max_pages from it
    conn->max_background = MAX_BACKGROUND;
    conn->congestion_threshold = MAX_BACKGROUND * 3 / 4;
}

static const struct fuse_lowlevel_ops ops = {
    .init = on_init,
    .lookup = on_lookup,
    .getattr = on_getattr,
    .open = on_open,
    .read = on_read,
    .opendir = on_opendir,
    .readdir = on_readdir,
    .readdirplus = on_readdirplus,
};

static int serve(struct fuse_session *session) {
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, THREADS);
    int failure = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return failure == 0 ? 0 : 1;
}

static int mount_and_serve(char *program, const char *mountpoint, bool foreground) {
    char options[160];
    snprintf(options, sizeof options,
             "-odefault_permissions,max_read=%d,fsname=nullfs,subtype=nullfs", MAX_READ);
    char *argv[] = {program, options, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(2, argv);
    int status = 1;
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    if (session == NULL) {
        goto out_args;
    }
    if (fuse_set_signal_handlers(session) != 0) {
        goto out_session;
    }
    if (fuse_session_mount(session, mountpoint) != 0) {
        goto out_signals;
    }
    if (fuse_daemonize(foreground) == 0) {
        status = serve(session);
    }
    fuse_session_unmount(session);
out_signals:
    fuse_remove_signal_handlers(session);
out_session:
    fuse_session_destroy(session);
out_args:
    fuse_opt_free_args(&args);
    return status;
}

static int usage(void) {
    fprintf(stderr, "usage: nullfs [-f] [-n RECORDS] [-b BYTES] [-F FIELD] MOUNTPOINT\n");
    return 2;
}

int main(int argc, char **argv) {
    bool foreground = false;
    int option;
    while ((option = getopt(argc, argv, "fn:b:F:")) != -1) {
        switch (option) {
        case 'f':
            foreground = true;
            break;
        case 'n':
            fs.records = bench_number(optarg, UINT32_MAX, "records");
            break;
        case 'b':
            fs.bytes = bench_number(optarg, (uint64_t)1 << 32, "bytes");
            break;
        case 'F':
            snprintf(fs.field_name, sizeof fs.field_name, "%.200s.npy", optarg);
            break;
        default:
            return usage();
        }
    }
    if (argc - optind != 1 || fs.records == 0) {
        return usage();
    }
    fs.digits = snprintf(NULL, 0, "%" PRIu64, fs.records - 1);
    fs.digits = fs.digits > MIN_ORDINAL_DIGITS ? fs.digits : MIN_ORDINAL_DIGITS;
    fs.content_len = size_of(SAFETENSORS);
    fs.content = malloc(fs.content_len);
    if (fs.content == NULL) {
        perror("nullfs");
        return 1;
    }
    memset(fs.content, 0x5a, fs.content_len); // touched, so that no read meets a page fault
    int status = mount_and_serve(argv[0], argv[optind], foreground);
    free(fs.content);
    return status;
}
