// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/config_file.h"
#include "cli/nearest.h"
#include "cli/options_table.h"
#include "format/driver.h"
#include "remote/root_shown.h"

#define DEFAULT_MEM_CACHE (UINT64_C(96) << 20)
#define DEFAULT_MAX_RECORD (UINT64_C(1) << 30)
#define DEFAULT_PREFETCH (UINT64_C(24) << 20)
#define DEFAULT_REFRESH_MS 1000
#define DEFAULT_REMOTE_REFRESH_MS 60000 // looking costs a request
#define DEFAULT_CACHE_SIZE (UINT64_C(10) << 30)
#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_RETRIES 5

enum { MIN_THREADS = 8, MAX_THREADS = SDS_OPTION_MAX_THREADS, MAX_OPTION = 4096 };

static const char command_line[] = "command line";

// Options of mount(8) that mean something to the kernel, and those that only mount(8), systemd and
// fstab read but hand to helpers all the same.
static const char *const kernel_flags[] = {"ro",      "rw",    "nosuid", "suid", "nodev",
                                           "dev",     "exec",  "noexec", "sync", "async",
                                           "dirsync", "atime", "noatime"};
static const char *const generic[] = {
    "auto",       "defaults",      "default_permissions",
    "diratime",   "group",         "iversion",
    "lazytime",   "loud",          "mand",
    "_netdev",    "nodiratime",    "nofail",
    "nogroup",    "noiversion",    "nolazytime",
    "nomand",     "noauto",        "noowner",
    "norelatime", "nostrictatime", "nosymfollow",
    "nouser",     "nousers",       "owner",
    "relatime",   "silent",        "strictatime",
    "symfollow",  "user",          "users",
};
static const char *const generic_prefixes[] = {
    "x-", "X-", "comment=", "user=", "uhelper=", "helper="};

static bool is_one_of(const char *name, const char *const names[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_generic(const char *text) {
    for (size_t i = 0; i < sizeof generic_prefixes / sizeof generic_prefixes[0]; i++) {
        if (strncmp(text, generic_prefixes[i], strlen(generic_prefixes[i])) == 0) {
            return true;
        }
    }
    return is_one_of(text, generic, sizeof generic / sizeof generic[0]);
}

static bool take_kernel_flag(struct sds_options *options, const char *name, const char *source,
                             char *why, size_t size) {
    size_t used = strlen(options->flags);
    int n = snprintf(options->flags + used, sizeof options->flags - used, "%s%s",
                     used > 0 ? "," : "", name);
    if ((size_t)n >= sizeof options->flags - used || options->flag_count == SDS_OPTIONS_FLAGS_MAX) {
        snprintf(why, size, "%s: too many options", name);
        return false;
    }
    options->read_only = strcmp(name, "ro") == 0 || (options->read_only && strcmp(name, "rw") != 0);
    for (size_t i = 0; i < sizeof kernel_flags / sizeof kernel_flags[0]; i++) {
        if (strcmp(kernel_flags[i], name) == 0) {
            options->flags_said[options->flag_count].name = kernel_flags[i];
            options->flags_said[options->flag_count++].source = source;
        }
    }
    return true;
}

// --- parsing

void sds_options_init(struct sds_options *options) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *options = (struct sds_options){
        .external = {.mode = SDS_EXTERNAL_SAME},
        .mem_cache = DEFAULT_MEM_CACHE,
        .max_record = DEFAULT_MAX_RECORD,
        .prefetch = DEFAULT_PREFETCH,
        .refresh_ms = -1,
        .remote = {.cache_size = DEFAULT_CACHE_SIZE,
                   .timeout_ms = DEFAULT_TIMEOUT_MS,
                   .retries = DEFAULT_RETRIES},
        .log_level = SDS_LOG_INFO,
        .uid = getuid(),
        .gid = getgid(),
        .threads = processors * 2 < MIN_THREADS   ? MIN_THREADS
                   : processors * 2 > MAX_THREADS ? MAX_THREADS
                                                  : (unsigned)processors * 2,
    };
}

// Everything but what was said on the command line.
static void free_values(struct sds_options *options) {
    for (size_t i = 0; i < options->text_count; i++) {
        free(options->texts[i]);
    }
    free(options->texts);
    free(options->config_path);
}

static void free_given(struct sds_options *options) {
    for (size_t i = 0; i < options->given_count; i++) {
        free(options->given[i].text);
    }
    free(options->given);
}

void sds_options_fini(struct sds_options *options) {
    free_values(options);
    free_given(options);
}

// A copy that lives as long as the options; NULL without memory.
static char *keep(struct sds_options *options, const char *text) {
    char **texts = realloc(options->texts, (options->text_count + 1) * sizeof *texts);
    if (texts == NULL) {
        return NULL;
    }
    options->texts = texts;
    texts[options->text_count] = strdup(text);
    return texts[options->text_count] != NULL ? texts[options->text_count++] : NULL;
}

static const struct sds_option_spec *find_option(const char *name) {
    for (size_t i = 0; i < sds_option_count; i++) {
        if (strcmp(sds_option_table[i].name, name) == 0) {
            return &sds_option_table[i];
        }
    }
    return NULL;
}

static bool unknown(const char *name, char *why, size_t size) {
    const char *names[SDS_OPTIONS_MAX];
    for (size_t i = 0; i < sds_option_count; i++) {
        names[i] = sds_option_table[i].name;
    }
    char nearest[160];
    sds_nearest(name, names, sds_option_count, nearest, sizeof nearest);
    snprintf(why, size, "%s: unknown option%s", name, nearest);
    return false;
}

// Of values whose name alone does not tell what they look like.
static const char *example_of(const char *values) {
    static const struct {
        const char *values, *example;
    } known[] = {{"SIZE", ", such as 512M or 2G"},
                 {"SECONDS", ", such as 30 or 0.5"},
                 {"NUMBER", ", such as 1000"},
                 {"OCTAL", ", such as 022"},
                 {"URL", ", such as https://host:9000"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(values, known[i].values) == 0) {
            return known[i].example;
        }
    }
    return "";
}

// Hands a value (NULL: none) to its option. Values may be kept as text, so each is copied first.
static bool take(struct sds_options *options, const struct sds_option_spec *option,
                 const char *value, const char *source, char *why, size_t size) {
    if (value == NULL && option->values != NULL) {
        snprintf(why, size, "%s needs a value", option->name);
        return false;
    }
    char *kept = keep(options, value != NULL ? value : "yes");
    if (kept == NULL) {
        snprintf(why, size, "%s: no memory", option->name);
        return false;
    }
    if (!option->take(options, kept)) {
        const char *values = option->values != NULL ? option->values : "yes or no";
        snprintf(why, size, "%s=%s: expected %s%s", option->name, SDS_ROOT_SHOWN(value), values,
                 example_of(values));
        return false;
    }
    options->said[option - sds_option_table] = (struct sds_said){.value = kept, .source = source};
    return true;
}

// One option of the command line or of a file. value: NULL for none.
static bool take_named(struct sds_options *options, const char *name, const char *value,
                       const char *source, bool sloppy, char *why, size_t size) {
    if (value == NULL &&
        is_one_of(name, kernel_flags, sizeof kernel_flags / sizeof *kernel_flags)) {
        return take_kernel_flag(options, name, source, why, size);
    }
    if (strcmp(name, "remount") == 0) {
        snprintf(why, size, "remount: not possible, unmount and mount again");
        return false;
    }
    const struct sds_option_spec *option = find_option(name);
    if (option == NULL) {
        return sloppy || unknown(name, why, size);
    }
    return take(options, option, value, source, why, size);
}

static bool take_one(struct sds_options *options, char *text, bool sloppy, char *why, size_t size) {
    if (text[0] == '\0' || is_generic(text)) {
        return true;
    }
    char *value = strchr(text, '=');
    if (value != NULL) {
        *value++ = '\0';
    }
    return take_named(options, text, value, command_line, sloppy, why, size);
}

// Whether a comma inside an option goes on with it: "views=npy,bin" is one option, though commas
// separate options.
static bool goes_on(const char *option, size_t len, const char *rest) {
    static const char views[] = "views=";
    return len >= sizeof views - 1 && memcmp(option, views, sizeof views - 1) == 0 &&
           sds_view_is_known(sds_span(rest, strcspn(rest, SDS_OPTION_VIEWS_BETWEEN)));
}

static bool parse(struct sds_options *options, const char *text, bool sloppy, char *why,
                  size_t size) {
    char one[MAX_OPTION];
    size_t len = 0;
    for (const char *in = text;; in++) {
        bool at_end = *in == '\0' || (*in == ',' && !goes_on(one, len, in + 1));
        if (at_end) {
            one[len] = '\0';
            if (!take_one(options, one, sloppy, why, size)) {
                return false;
            }
            if (*in == '\0') {
                return true;
            }
            len = 0;
            continue;
        }
        in += in[0] == '\\' && (in[1] == ',' || in[1] == '\\');
        if (len == sizeof one - 1) {
            snprintf(why, size, "an option of more than %zu bytes", sizeof one - 1);
            return false;
        }
        one[len++] = *in;
    }
}

// Remembers a value of -o, to be said again after what a file says.
static bool remember(struct sds_options *options, const char *text, bool sloppy) {
    struct sds_given *given =
        realloc(options->given, (options->given_count + 1) * sizeof *options->given);
    if (given == NULL) {
        return false;
    }
    options->given = given;
    given[options->given_count] = (struct sds_given){.text = strdup(text), .sloppy = sloppy};
    return given[options->given_count].text != NULL && ++options->given_count > 0;
}

static bool parse_given(struct sds_options *options, const char *text, bool sloppy, char *why,
                        size_t size) {
    if (!remember(options, text, sloppy)) {
        snprintf(why, size, "no memory");
        return false;
    }
    return parse(options, text, sloppy, why, size);
}

bool sds_options_parse(struct sds_options *options, const char *text, char *why, size_t size) {
    return parse_given(options, text, false, why, size);
}

bool sds_options_parse_sloppy(struct sds_options *options, const char *text, char *why,
                              size_t size) {
    return parse_given(options, text, true, why, size);
}

bool sds_options_give(struct sds_options *options, const char *name, const char *value, char *why,
                      size_t size) {
    char text[MAX_OPTION * 2];
    size_t len = (size_t)snprintf(text, sizeof text, "%s=", name);
    for (; *value != '\0' && len < sizeof text - 2; value++) {
        if (*value == ',' || *value == '\\') {
            text[len++] = '\\';
        }
        text[len++] = *value;
    }
    text[len] = '\0';
    if (*value != '\0') {
        snprintf(why, size, "%s: an option of more than %d bytes", name, MAX_OPTION - 1);
        return false;
    }
    return sds_options_parse(options, text, why, size);
}

// --- the configuration file

struct reading {
    struct sds_options *options;
    const char *path;
};

static bool is_place(const char *name) {
    return strcmp(name, "root") == 0 || strcmp(name, "mountpoint") == 0;
}

// Where the root is and where it goes, which on the command line are arguments. value: a kept one.
static bool take_place(struct sds_options *options, const char *name, const char *value,
                       const char *source, char *why, size_t size) {
    if (options->config_optional) {
        snprintf(why, size, "%s: only in a file that is asked for (config=)", name);
        return false;
    }
    if (value == NULL || value[0] == '\0') {
        snprintf(why, size, "%s needs a value", name);
        return false;
    }
    bool root = strcmp(name, "root") == 0;
    *(root ? &options->root : &options->mountpoint) = value;
    *(root ? &options->root_said : &options->mountpoint_said) =
        (struct sds_said){.value = value, .source = source};
    return true;
}

static bool take_setting(void *ctx, unsigned line, const char *name, const char *value, char *why,
                         size_t size) {
    const struct reading *reading = ctx;
    struct sds_options *options = reading->options;
    char place[MAX_OPTION + 32], joined[MAX_OPTION];
    snprintf(place, sizeof place, "%s:%u", reading->path, line);
    snprintf(joined, sizeof joined, "%s%s%s", name, value != NULL ? "=" : "",
             value != NULL ? value : "");
    const char *source = keep(options, place);
    char *kept = value != NULL ? keep(options, value) : NULL;
    if (source == NULL || (value != NULL && kept == NULL)) {
        snprintf(why, size, "no memory");
        return false;
    }
    if (strcmp(name, "config") == 0) {
        snprintf(why, size, "config: not in a configuration file");
        return false;
    }
    if (is_place(name)) {
        return take_place(options, name, kept, source, why, size);
    }
    if (is_generic(joined) || is_generic(name)) {
        return true;
    }
    bool on = value != NULL && strcmp(value, "yes") == 0 &&
              is_one_of(name, kernel_flags, sizeof kernel_flags / sizeof *kernel_flags);
    return take_named(options, name, on ? NULL : value, source, false, why, size);
}

// "/etc/sdsfs/sdsfs.conf" for root, else below $XDG_CONFIG_HOME or ~/.config; NULL: nowhere.
static char *default_path(void) {
    const char *home = getenv("HOME"), *base = getenv("XDG_CONFIG_HOME");
    char *path = NULL;
    int n = 0;
    if (geteuid() == 0) {
        return strdup("/etc/sdsfs/sdsfs.conf");
    }
    if (base != NULL && base[0] == '/') {
        n = asprintf(&path, "%s/sdsfs/sdsfs.conf", base);
    } else if (home != NULL && home[0] == '/') {
        n = asprintf(&path, "%s/.config/sdsfs/sdsfs.conf", home);
    }
    return n > 0 ? path : NULL;
}

// The current directory is another one when the file is read again.
static char *absolute(const char *path) {
    sds_autofree char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char *joined = NULL;
    if (path[0] == '/') {
        return strdup(path);
    }
    return cwd != NULL && asprintf(&joined, "%s/%s", cwd, path) > 0 ? joined : NULL;
}

static bool read_config(struct sds_options *options, char *why, size_t size) {
    struct reading reading = {.options = options, .path = options->config_path};
    return options->config_path == NULL ||
           sds_config_read(options->config_path, options->config_optional, take_setting, &reading,
                           why, size);
}

static bool say_again(struct sds_options *options, const struct sds_given *given, size_t count,
                      char *why, size_t size) {
    for (size_t i = 0; i < count; i++) {
        if (!parse(options, given[i].text, given[i].sloppy, why, size)) {
            return false;
        }
    }
    return true;
}

// What the file at path says, and then the command line.
static bool read_all(const struct sds_options *from, const char *path, bool optional,
                     struct sds_options *out, char *why, size_t size) {
    why[0] = '\0';
    sds_options_init(out);
    out->config_path = path != NULL ? strdup(path) : NULL;
    out->config_optional = optional;
    if ((path == NULL || out->config_path != NULL) && read_config(out, why, size) &&
        say_again(out, from->given, from->given_count, why, size)) {
        return true;
    }
    free_values(out);
    return false;
}

bool sds_options_complete(struct sds_options *options, char *why, size_t size) {
    sds_autofree char *path = options->config != NULL ? absolute(options->config) : default_path();
    struct sds_options all;
    if (options->config != NULL && path == NULL) {
        snprintf(why, size, "%s: %s", options->config, strerror(errno));
        return false;
    }
    if (!read_all(options, path, options->config == NULL, &all, why, size)) {
        return false;
    }
    free_values(options);
    all.given = options->given;
    all.given_count = options->given_count;
    *options = all;
    return true;
}

bool sds_options_again(const struct sds_options *options, struct sds_options *out, char *why,
                       size_t size) {
    struct stat st;
    const char *path = options->config_path;
    // A pipe that was read is empty, and one that nobody writes to would hold us.
    if (path != NULL && stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        snprintf(why, size, "%s: it cannot be read again, it is no regular file", path);
        return false;
    }
    return read_all(options, path, options->config_optional, out, why, size);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void adopt(struct sds_options *options, const struct sds_options *newer) {
    options->log_level = newer->log_level;
    options->log_json = newer->log_json;
    options->mem_cache = newer->mem_cache;
    options->remote.cache_size = newer->remote.cache_size;
}

// Strings of the newer options end with them; what is said as before costs no memory.
static struct sds_said copy_said(struct sds_options *options, const struct sds_said *old,
                                 const struct sds_said *said) {
    if (same_text(old->value, said->value) && same_text(old->source, said->source)) {
        return *old;
    }
    const char *value = said->value != NULL ? keep(options, said->value) : NULL;
    const char *source = said->source != NULL ? keep(options, said->source) : NULL;
    return (struct sds_said){.value = value, .source = value != NULL ? source : NULL};
}

void sds_options_adopt(struct sds_options *options, const struct sds_options *newer,
                       void (*tell)(void *ctx, const char *name, const char *value, bool changed),
                       void *ctx) {
    for (size_t i = 0; i < sds_option_count; i++) {
        const struct sds_option_spec *option = &sds_option_table[i];
        struct sds_said *old = &options->said[i];
        const struct sds_said *said = &newer->said[i];
        const char *fallback = option->fallback;
        if (!same_text(old->value != NULL ? old->value : fallback,
                       said->value != NULL ? said->value : fallback)) {
            tell(ctx, option->name, said->value != NULL ? said->value : "the default",
                 option->reloads);
        }
        if (option->reloads) {
            *old = copy_said(options, old, said);
        }
    }
    if (!same_text(options->root, newer->root)) {
        tell(ctx, "root", newer->root != NULL ? newer->root : "nothing", false);
    }
    if (!same_text(options->mountpoint, newer->mountpoint)) {
        tell(ctx, "mountpoint", newer->mountpoint != NULL ? newer->mountpoint : "nothing", false);
    }
    if (strcmp(options->flags, newer->flags) != 0) {
        tell(ctx, "flags", newer->flags, false);
    }
    adopt(options, newer);
}

// --- what is told of them

uint32_t sds_options_refresh_ms(const struct sds_options *options, bool remote) {
    if (options->refresh_ms >= 0) {
        return (uint32_t)options->refresh_ms;
    }
    return remote ? DEFAULT_REMOTE_REFRESH_MS : DEFAULT_REFRESH_MS;
}

bool sds_option_text(size_t i, struct sds_option_text *out) {
    if (i >= sds_option_count) {
        return false;
    }
    const struct sds_option_spec *option = &sds_option_table[i];
    *out = (struct sds_option_text){
        .name = option->name,
        .values = option->values,
        .help = option->help,
        .more = option->more,
    };
    return true;
}

void sds_options_help(FILE *out) {
    fprintf(out, "\nOptions (-o):\n");
    for (size_t i = 0; i < sds_option_count; i++) {
        const struct sds_option_spec *option = &sds_option_table[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", option->name, option->values != NULL ? "=" : "",
                 option->values != NULL ? option->values : "");
        fprintf(out, "  %-46s %s\n", left, option->help);
    }
    fprintf(out, "  ro, noexec, noatime, _netdev, nofail, x-*, ...     as for mount(8)\n");
}
