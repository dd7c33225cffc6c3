// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dataset.h"
#include "fs/walk.h"

enum { MAX_LINK_BYTES = 4095 };

struct ls {
    struct sds_dataset *ds;
    bool with_details;
    bool failed; // some entry could not be told about; the message has been printed
};

// A name as typed, except for bytes that would end the line or talk to the terminal. Drivers encode
// them in the names they make; paths of stored objects may hold them.
static void print_name(struct sds_span name) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < 0x20 || name.at[i] == 0x7F) {
            printf("%%%02X", name.at[i]);
        } else {
            putchar(name.at[i]);
        }
    }
}

static void print_details(struct ls *ls, struct sds_span name, struct sds_node node) {
    static const char *const modes[] = {
        [SDS_FILE] = "-r--r--r--", [SDS_DIRECTORY] = "dr-xr-xr-x", [SDS_LINK] = "lrwxrwxrwx"};
    struct sds_attr attr;
    struct sds_err err;
    struct sds_buf target = SDS_BUF_INIT(MAX_LINK_BYTES);
    enum sds_kind kind = ls->ds->ops->getattr(ls->ds, node, &attr, &err);
    if (kind == SDS_OK && attr.type == SDS_LINK) {
        kind = ls->ds->ops->readlink(ls->ds, node, &target, &err);
    }
    if (kind != SDS_OK) {
        printf("?????????? %15s ", "?");
        print_name(name);
        putchar('\n');
        sds_report(SDS_QUOTE(name.at, name.len), &err);
        ls->failed = true;
    } else {
        printf("%s %15" PRIu64 " ", modes[attr.type], attr.size);
        print_name(name);
        if (attr.type == SDS_LINK) {
            printf(" -> ");
            print_name(sds_buf_span(&target));
        }
        putchar('\n');
    }
    sds_buf_fini(&target);
}

static void print_entry(struct ls *ls, struct sds_span name, struct sds_node node) {
    if (ls->with_details) {
        print_details(ls, name, node);
    } else {
        print_name(name);
        putchar('\n');
    }
}

// --- sorted listing
// Most directories come in order already, however large; those are printed as they come. Only a
// directory that does not is collected and sorted.

struct order {
    char last[256];
    size_t last_len;
    bool sorted;
};

static bool check_order(void *ctx, struct sds_span name, struct sds_node node,
                        enum sds_node_type type, uint64_t next) {
    (void)node, (void)type, (void)next;
    struct order *order = ctx;
    order->sorted = name.len <= sizeof order->last &&
                    sds_span_cmp(sds_span(order->last, order->last_len), name) <= 0;
    if (order->sorted) {
        memcpy(order->last, name.at, name.len);
        order->last_len = name.len;
    }
    return order->sorted;
}

static bool print_listed(void *ctx, struct sds_span name, struct sds_node node,
                         enum sds_node_type type, uint64_t next) {
    (void)type, (void)next;
    print_entry(ctx, name, node);
    return true;
}

struct item {
    size_t name; // offset
    size_t len;
    struct sds_node node;
};

struct collection {
    struct sds_buf names;
    struct sds_buf items;
    enum sds_kind kind;
};

static bool collect(void *ctx, struct sds_span name, struct sds_node node, enum sds_node_type type,
                    uint64_t next) {
    (void)type, (void)next;
    struct collection *all = ctx;
    struct item item = {.name = all->names.len, .len = name.len, .node = node};
    all->kind = sds_buf_add_span(&all->names, name);
    if (all->kind == SDS_OK) {
        all->kind = sds_buf_add(&all->items, &item, sizeof item);
    }
    return all->kind == SDS_OK;
}

static int by_name(const void *a, const void *b, void *names) {
    const struct item *left = a, *right = b;
    const uint8_t *at = names;
    return sds_span_cmp(sds_span(at + left->name, left->len),
                        sds_span(at + right->name, right->len));
}

static enum sds_kind list_sorted(struct ls *ls, struct sds_node dir, struct sds_err *err) {
    struct collection all = {.names = SDS_BUF_INIT(SIZE_MAX), .items = SDS_BUF_INIT(SIZE_MAX)};
    enum sds_kind kind = ls->ds->ops->list(ls->ds, dir, 0, collect, &all, err);
    if (kind == SDS_OK && all.kind != SDS_OK) {
        kind = sds_fail(err, all.kind, "memory", "no memory for the names of the directory");
    }
    if (kind == SDS_OK) {
        struct item *items = (struct item *)(void *)all.items.at;
        size_t count = all.items.len / sizeof *items;
        qsort_r(items, count, sizeof *items, by_name, all.names.at);
        for (size_t i = 0; i < count; i++) {
            print_entry(ls, sds_span(all.names.at + items[i].name, items[i].len), items[i].node);
        }
    }
    sds_buf_fini(&all.names);
    sds_buf_fini(&all.items);
    return kind;
}

static enum sds_kind list_directory(struct ls *ls, struct sds_node dir, struct sds_err *err) {
    struct order order = {.sorted = true};
    enum sds_kind kind = ls->ds->ops->list(ls->ds, dir, 0, check_order, &order, err);
    if (kind != SDS_OK) {
        return kind;
    }
    return order.sorted ? ls->ds->ops->list(ls->ds, dir, 0, print_listed, ls, err)
                        : list_sorted(ls, dir, err);
}

static enum sds_exit list(struct ls *ls, const char *path) {
    struct sds_err err;
    struct sds_place place;
    // As ls(1): a link is shown as itself when asked for details, followed otherwise.
    enum sds_kind kind = sds_walk(ls->ds, sds_span_str(path), !ls->with_details, &place, &err);
    if (kind == SDS_OK && place.attr.type == SDS_DIRECTORY) {
        kind = list_directory(ls, place.node, &err);
    } else if (kind == SDS_OK) {
        print_entry(ls, sds_span_str(path), place.node);
    }
    if (kind != SDS_OK) {
        return sds_report(path, &err);
    }
    return ls->failed ? SDS_EXIT_UNSOUND : SDS_EXIT_DONE;
}

static enum sds_exit run(int argc, char **argv) {
    struct sds_reader reader;
    struct ls ls = {0};
    enum sds_exit code;
    const struct sds_target targets[] = {{&ls.with_details, NULL}};
    const struct sds_arguments arguments = {
        .command = &sds_cmd_ls, .targets = targets, .at_least = 0, .at_most = 1};
    if (!sds_reader_open(&arguments, argc, argv, &reader, &code)) {
        return code;
    }
    ls.ds = reader.opened.ds;
    code = list(&ls, reader.rest_count > 0 ? reader.rest[0] : "");
    if (sds_stdout_failed()) {
        code = SDS_EXIT_STORAGE;
    }
    sds_reader_close(&reader);
    return code;
}

static const struct sds_switch switches[] = {
    {"l", NULL, "also mode, size and what a link points to"},
};

const struct sds_command sds_cmd_ls = {
    .name = "ls",
    .synopsis = "[-l] [-o OPTION,...] ROOT [PATH]",
    .summary = "List a directory of a dataset",
    .help = "One name a line, sorted by bytes. A file prints itself.\n",
    .switches = switches,
    .switch_count = sizeof switches / sizeof switches[0],
    .takes_options = 1,
    .run = run,
};
