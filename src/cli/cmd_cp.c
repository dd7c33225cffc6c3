// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/content.h"
#include "cli/dataset.h"
#include "format/name.h"
#include "fs/walk.h"
#include "remote/root_shown.h"

enum {
    BATCH = 64,      // entries read before they are copied
    MAX_DEPTH = 512, // levels of directories
    MAX_LINK_BYTES = 4095,
    MAX_PATH_BYTES = 1 << 20,
};

struct copy {
    struct sds_dataset *ds;
    const char *root;    // of the dataset, a directory
    struct sds_buf path; // in the dataset, of what is being copied; for messages
    bool failed;
    unsigned depth;
};

static void complain(struct copy *copy, const struct sds_err *err) {
    sds_report(SDS_QUOTE(copy->path.at, copy->path.len), err);
    copy->failed = true;
}

static void complain_about_destination(struct copy *copy, const char *what) {
    struct sds_err err;
    sds_fail(&err, SDS_ERR_STORAGE, what, "%s", strerror(errno));
    complain(copy, &err);
}

// Where a thing is to be made: always by name in an open directory and never through a link, so
// that no tree, whatever it holds, can lead a copy out of its destination.
struct destination {
    int dir;
    const char *name;
};

// --- files and links

// What is made stands under a name of its own until it is whole, and only then takes the place of
// what had the name: a copy that fails loses nothing.
struct pending {
    struct destination to;
    char temporary[40];
};

static struct pending pending_for(struct destination to) {
    static unsigned made;
    struct pending pending = {.to = to};
    snprintf(pending.temporary, sizeof pending.temporary, ".sdsfs-%ld-%u", (long)getpid(), made++);
    return pending;
}

static enum sds_kind take_place(const struct pending *pending, struct sds_err *err) {
    if (renameat(pending->to.dir, pending->temporary, pending->to.dir, pending->to.name) == 0) {
        return SDS_OK;
    }
    return sds_fail(err, SDS_ERR_STORAGE, "rename", "%s", strerror(errno));
}

// Writes a file's content to fd, which it closes.
static enum sds_kind fill(struct copy *copy, struct sds_node node, uint64_t size, int fd,
                          struct sds_err *err) {
    enum sds_kind kind = sds_write_content(copy->ds, node, size, fd, err);
    if (close(fd) != 0 && kind == SDS_OK) {
        kind = sds_fail(err, SDS_ERR_STORAGE, "write", "%s", strerror(errno));
    }
    return kind;
}

// Devices and pipes are written to, not replaced.
static bool is_special(struct destination to) {
    struct stat st;
    return fstatat(to.dir, to.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode);
}

static void copy_to_special(struct copy *copy, struct sds_node node, uint64_t size,
                            struct destination to) {
    int fd = openat(to.dir, to.name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    struct sds_err err;
    if (fd < 0) {
        complain_about_destination(copy, "open");
    } else if (fill(copy, node, size, fd, &err) != SDS_OK) {
        complain(copy, &err);
    }
}

static void copy_file(struct copy *copy, struct sds_node node, uint64_t size,
                      struct destination to) {
    if (is_special(to)) {
        copy_to_special(copy, node, size, to);
        return;
    }
    struct pending pending = pending_for(to);
    int fd = openat(to.dir, pending.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        complain_about_destination(copy, "create");
        return;
    }
    struct sds_err err;
    enum sds_kind kind = fill(copy, node, size, fd, &err);
    if (kind == SDS_OK) {
        kind = take_place(&pending, &err);
    }
    if (kind != SDS_OK) {
        complain(copy, &err);
        unlinkat(to.dir, pending.temporary, 0);
    }
}

static void make_link(struct copy *copy, const char *target, struct destination to) {
    struct pending pending = pending_for(to);
    struct sds_err err;
    if (symlinkat(target, to.dir, pending.temporary) != 0) {
        complain_about_destination(copy, "symlink");
    } else if (take_place(&pending, &err) != SDS_OK) {
        complain(copy, &err);
        unlinkat(to.dir, pending.temporary, 0);
    }
}

static void copy_link(struct copy *copy, struct sds_node node, struct destination to) {
    struct sds_buf target = SDS_BUF_INIT(MAX_LINK_BYTES + 1);
    struct sds_err err;
    enum sds_kind kind = copy->ds->ops->readlink(copy->ds, node, &target, &err);
    if (kind == SDS_OK && (kind = sds_buf_add(&target, "", 1)) != SDS_OK) {
        sds_fail(&err, kind, "memory", "no memory for a link");
    }
    if (kind != SDS_OK) {
        complain(copy, &err);
    } else {
        make_link(copy, (const char *)target.at, to);
    }
    sds_buf_fini(&target);
}

// --- directories

struct item {
    struct sds_node node;
    char name[SDS_NAME_MAX + 1];
};

struct batch {
    struct item *items;
    size_t count;
    uint64_t next; // cookie after the last item
};

static bool take_item(void *ctx, struct sds_span name, struct sds_node node,
                      enum sds_node_type type, uint64_t next) {
    (void)type;
    struct batch *batch = ctx;
    if (batch->count == BATCH || name.len > SDS_NAME_MAX) {
        return false;
    }
    struct item *item = &batch->items[batch->count++];
    item->node = node;
    memcpy(item->name, name.at, name.len);
    item->name[name.len] = '\0';
    batch->next = next;
    return true;
}

static void copy_node(struct copy *copy, struct sds_node node, struct destination to);

static void copy_items(struct copy *copy, const struct batch *batch, int to_dir) {
    size_t parent_len = copy->path.len;
    for (size_t i = 0; i < batch->count; i++) {
        const char *gap = parent_len > 0 ? "/" : "";
        if (sds_buf_printf(&copy->path, "%s%s", gap, batch->items[i].name) == SDS_OK) {
            copy_node(copy, batch->items[i].node,
                      (struct destination){.dir = to_dir, .name = batch->items[i].name});
        } else {
            copy->failed = true;
        }
        copy->path.len = parent_len;
    }
}

// A batch at a time, so that a directory of any size needs little memory and nothing is held in the
// driver while files are copied.
static void copy_content(struct copy *copy, struct sds_node dir, int to_dir) {
    struct batch batch = {.items = malloc(BATCH * sizeof *batch.items)};
    struct sds_err err;
    if (batch.items == NULL) {
        sds_fail(&err, SDS_ERR_NO_MEMORY, "memory", "no memory for the names of the directory");
        complain(copy, &err);
        return;
    }
    do {
        batch.count = 0;
        if (copy->ds->ops->list(copy->ds, dir, batch.next, take_item, &batch, &err) != SDS_OK) {
            complain(copy, &err);
            copy_items(copy, &batch, to_dir); // what came before the error
            break;
        }
        copy_items(copy, &batch, to_dir);
    } while (batch.count > 0);
    free(batch.items);
}

static void copy_directory(struct copy *copy, struct sds_node dir, struct destination to) {
    if (copy->depth == MAX_DEPTH) {
        struct sds_err err;
        sds_fail(&err, SDS_ERR_LIMIT, "depth", "more than %d levels", MAX_DEPTH);
        complain(copy, &err);
        return;
    }
    if (mkdirat(to.dir, to.name, 0777) != 0 && errno != EEXIST) {
        complain_about_destination(copy, "mkdir");
        return;
    }
    sds_autofd int fd = openat(to.dir, to.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        complain_about_destination(copy, "open");
        return;
    }
    copy->depth++;
    copy_content(copy, dir, fd);
    copy->depth--;
}

static void copy_node(struct copy *copy, struct sds_node node, struct destination to) {
    struct sds_attr attr;
    struct sds_err err;
    if (copy->ds->ops->getattr(copy->ds, node, &attr, &err) != SDS_OK) {
        complain(copy, &err);
        return;
    }
    switch (attr.type) {
    case SDS_FILE:
        copy_file(copy, node, attr.size, to);
        break;
    case SDS_LINK:
        copy_link(copy, node, to);
        break;
    case SDS_DIRECTORY:
        copy_directory(copy, node, to);
        break;
    }
}

// --- the command

// Where the last name of a path begins; *end is where it ends (trailing slashes are not part of
// it).
static size_t last_name(const char *path, size_t *end) {
    *end = strlen(path);
    while (*end > 0 && path[*end - 1] == '/') {
        --*end;
    }
    size_t start = *end;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    return start;
}

// Whether a directory is the dataset's root or lies below it. Copying there would put copies in the
// place of what they are made from.
static bool is_inside(int dir, const char *root) {
    struct stat top, here, above;
    int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    bool inside = false, more = at >= 0 && stat(root, &top) == 0 && fstat(at, &here) == 0;
    while (more && !inside) {
        inside = here.st_dev == top.st_dev && here.st_ino == top.st_ino;
        int parent = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        more = parent >= 0 && fstat(parent, &above) == 0 &&
               (above.st_dev != here.st_dev || above.st_ino != here.st_ino);
        here = above;
        close(at);
        at = parent;
    }
    if (at >= 0) {
        close(at);
    }
    return inside;
}

static bool refuse_inside(struct copy *copy, int dir, const char *to) {
    if (!is_inside(dir, copy->root)) {
        return false;
    }
    fprintf(stderr, "sdsfs: %s: it lies inside the dataset that is copied\n", SDS_ROOT_SHOWN(to));
    copy->failed = true;
    return true;
}

// Copies into an existing directory under the name it had ("" and dots have none: the content goes
// there).
static void copy_into(struct copy *copy, struct sds_place from, const char *path, int dir) {
    size_t end;
    size_t start = last_name(path, &end);
    sds_autofree char *name = strndup(path + start, end - start);
    if (name == NULL) {
        copy->failed = true;
    } else if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        copy_content(copy, from.node, dir);
    } else {
        copy_node(copy, from.node, (struct destination){.dir = dir, .name = name});
    }
}

// Copies to a name that is no directory yet.
static void copy_as(struct copy *copy, struct sds_place from, const char *to) {
    size_t end;
    size_t start = last_name(to, &end);
    sds_autofree char *parent = start > 0 ? strndup(to, start) : strdup(".");
    sds_autofree char *name = strndup(to + start, end - start);
    sds_autofd int dir = parent != NULL ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir < 0 || name == NULL) {
        fprintf(stderr, "sdsfs: %s: %s\n", SDS_ROOT_SHOWN(to), strerror(errno));
        copy->failed = true;
    } else if (to[end] == '/' && from.attr.type != SDS_DIRECTORY) {
        fprintf(stderr, "sdsfs: %s: there is no such directory\n", SDS_ROOT_SHOWN(to));
        copy->failed = true;
    } else if (!refuse_inside(copy, dir, to)) {
        copy_node(copy, from.node, (struct destination){.dir = dir, .name = name});
    }
}

static enum sds_exit copy_path(struct copy *copy, const char *path, const char *to,
                               bool recursive) {
    struct sds_place from;
    struct sds_err err;
    enum sds_kind kind = sds_walk(copy->ds, sds_span_str(path), false, &from, &err);
    if (kind == SDS_OK && from.attr.type == SDS_DIRECTORY && !recursive) {
        kind = sds_fail(&err, SDS_ERR_INVALID, "path", "it is a directory (use -r)");
    }
    if (kind == SDS_OK && sds_buf_add_str(&copy->path, path) != SDS_OK) {
        kind = sds_fail(&err, SDS_ERR_LIMIT, "path", "too long");
    }
    if (kind != SDS_OK) {
        return sds_report(path, &err);
    }
    sds_autofd int dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) {
        if (!refuse_inside(copy, dir, to)) {
            copy_into(copy, from, path, dir);
        }
    } else {
        copy_as(copy, from, to);
    }
    return copy->failed ? SDS_EXIT_UNSOUND : SDS_EXIT_DONE;
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    enum sds_exit code;
    bool recursive = false;
    const struct sds_target targets[] = {{&recursive, NULL}, {&recursive, NULL}};
    const struct sds_arguments arguments = {
        .command = &sds_cmd_cp, .targets = targets, .at_least = 2, .at_most = 2};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    struct copy copy = {.ds = reader.opened.ds,
                        .root = sds_store_root(reader.opened.store),
                        .path = SDS_BUF_INIT(MAX_PATH_BYTES)};
    code = copy_path(&copy, reader.rest[0], reader.rest[1], recursive);
    sds_buf_fini(&copy.path);
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"r", NULL, "directories with all that is in them"},
    {"R", NULL, "the same"},
};

const struct sds_command sds_cmd_cp = {
    .name = "cp",
    .synopsis = "[-r] [-o OPTION,...] ROOT PATH DEST",
    .summary = "Copy files out of a dataset",
    .help =
        "Links stay links. Goes on after an error, removes the file it concerns, and exits 1 at\n"
        "the end.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
