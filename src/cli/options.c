// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ckd.h"
#include "cli/nearest.h"
#include "format/driver.h"

#define DEFAULT_MEM_CACHE (UINT64_C(96) << 20)
#define DEFAULT_MAX_RECORD (UINT64_C(1) << 30)
#define DEFAULT_REFRESH_MS 1000
#define DEFAULT_REMOTE_REFRESH_MS 60000 // looking costs a request
#define DEFAULT_CACHE_SIZE (UINT64_C(10) << 30)
#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_RETRIES 5
#define MAX_TIMEOUT_SECONDS 86400.0
#define MAX_REFRESH_SECONDS 1e6

enum { MAX_RETRIES = 100 };
#define VIEWS_BETWEEN ",:"

enum { MIN_THREADS = 8, MAX_THREADS = 256, MAX_OPTION = 4096 };

// --- values

// Digits only, in a base; at most max.
static bool parse_number(const char *text, int base, uint64_t max, uint64_t *out) {
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    *out = value;
    return errno == 0 && *end == '\0' && value <= max;
}

// Bytes: digits and possibly K, M or G (powers of 1024).
static bool parse_size(const char *text, uint64_t *out) {
    static const char units[] = "KMG";
    char digits[32];
    size_t len = strlen(text);
    const char *unit = len > 0 ? strchr(units, toupper((unsigned char)text[len - 1])) : NULL;
    if (len == 0 || len >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, len + 1);
    uint64_t factor = 1;
    if (unit != NULL) {
        digits[len - 1] = '\0';
        factor <<= 10 * (unit - units + 1);
    }
    return parse_number(digits, 10, UINT64_MAX, out) && !sds_ckd_mul(out, *out, factor);
}

// Seconds, possibly with decimals ("0.25"), as milliseconds; only 0 becomes 0.
static bool parse_seconds(const char *text, double max, uint32_t *out_ms) {
    size_t len = strspn(text, "0123456789.");
    if (!isdigit((unsigned char)text[0]) || text[len] != '\0' ||
        strchr(text, '.') != strrchr(text, '.')) {
        return false;
    }
    double seconds = strtod(text, NULL);
    if (seconds > max) {
        return false;
    }
    *out_ms = (uint32_t)(seconds * 1000);
    *out_ms += *out_ms < seconds * 1000;
    return true;
}

// --- the table

// Each takes a value ("" for a flag); false: not one of the option's values.
static bool take_allow_other(struct sds_options *options, char *value) {
    (void)value;
    options->allow_other = true;
    return true;
}

static bool take_uid(struct sds_options *options, char *value) {
    uint64_t id;
    bool ok = parse_number(value, 10, (uid_t)-2, &id); // -1 means "no change" to the kernel
    options->uid = ok ? (uid_t)id : options->uid;
    return ok;
}

static bool take_gid(struct sds_options *options, char *value) {
    uint64_t id;
    bool ok = parse_number(value, 10, (gid_t)-2, &id);
    options->gid = ok ? (gid_t)id : options->gid;
    return ok;
}

static bool take_umask(struct sds_options *options, char *value) {
    uint64_t mask;
    bool ok = parse_number(value, 8, 0777, &mask);
    options->umask = ok ? (mode_t)mask : options->umask;
    return ok;
}

static bool take_threads(struct sds_options *options, char *value) {
    uint64_t threads;
    bool ok = parse_number(value, 10, MAX_THREADS, &threads) && threads > 0;
    options->threads = ok ? (unsigned)threads : options->threads;
    return ok;
}

static bool take_mem_cache(struct sds_options *options, char *value) {
    return parse_size(value, &options->mem_cache) && options->mem_cache <= SIZE_MAX;
}

static bool take_max_record(struct sds_options *options, char *value) {
    return parse_size(value, &options->max_record);
}

static bool take_refresh(struct sds_options *options, char *value) {
    uint32_t ms;
    bool ok = parse_seconds(value, MAX_REFRESH_SECONDS, &ms);
    options->refresh_ms = ok ? ms : options->refresh_ms;
    return ok;
}

static bool take_external(struct sds_options *options, char *value) {
    return sds_external_parse(value, &options->external); // which keeps pointing at it
}

// A text that must not be empty.
static bool take_text(const char **out, const char *value) {
    *out = value;
    return value[0] != '\0';
}

static bool take_endpoint(struct sds_options *options, char *value) {
    options->remote.endpoint = value;
    return strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0;
}

static bool take_region(struct sds_options *options, char *value) {
    return take_text(&options->remote.region, value);
}

static bool take_profile(struct sds_options *options, char *value) {
    return take_text(&options->remote.profile, value);
}

static bool take_ca_bundle(struct sds_options *options, char *value) {
    return take_text(&options->remote.ca_bundle, value);
}

static bool take_client_cert(struct sds_options *options, char *value) {
    return take_text(&options->remote.client_cert, value);
}

static bool take_client_key(struct sds_options *options, char *value) {
    return take_text(&options->remote.client_key, value);
}

static bool take_cache_dir(struct sds_options *options, char *value) {
    return take_text(&options->remote.cache_dir, value);
}

static bool take_cache_size(struct sds_options *options, char *value) {
    return parse_size(value, &options->remote.cache_size);
}

static bool take_timeout(struct sds_options *options, char *value) {
    return parse_seconds(value, MAX_TIMEOUT_SECONDS, &options->remote.timeout_ms) &&
           options->remote.timeout_ms > 0;
}

static bool take_retries(struct sds_options *options, char *value) {
    uint64_t retries;
    bool ok = parse_number(value, 10, MAX_RETRIES, &retries);
    options->remote.retries = ok ? (unsigned)retries : options->remote.retries;
    return ok;
}

static bool take_path_style(struct sds_options *options, char *value) {
    (void)value;
    options->remote.path_style = true;
    return true;
}

static bool take_no_sign_request(struct sds_options *options, char *value) {
    (void)value;
    options->remote.no_sign_request = true;
    return true;
}

static bool take_requester_pays(struct sds_options *options, char *value) {
    (void)value;
    options->remote.requester_pays = true;
    return true;
}

static bool take_state_dir(struct sds_options *options, char *value) {
    options->state_dir = value;
    return value[0] != '\0';
}

static bool take_tolerate(struct sds_options *options, char *value) {
    options->tolerate_annotations = strcmp(value, "annotations") == 0;
    return options->tolerate_annotations;
}

// Words, each of which some driver knows; none is fine, too.
static bool take_views(struct sds_options *options, char *value) {
    options->views = value;
    for (const char *word = value; *word != '\0';) {
        size_t len = strcspn(word, VIEWS_BETWEEN);
        if (!sds_view_is_known(sds_span(word, len))) {
            return false;
        }
        word += len + (word[len] != '\0');
    }
    return true;
}

static bool take_log(struct sds_options *options, char *value) {
    return sds_log_level_parse(value, &options->log_level);
}

static bool take_log_format(struct sds_options *options, char *value) {
    options->log_json = strcmp(value, "json") == 0;
    return options->log_json || strcmp(value, "text") == 0;
}

static const struct option_spec {
    const char *name;
    const char *values; // what may stand after "="; NULL for a flag
    bool (*take)(struct sds_options *options, char *value);
    const char *help;
    const char *more; // what the man page adds, in mdoc
} table[] = {
    {"allow_other", NULL, take_allow_other, "let other users in",
     "An ordinary user needs\n.Li user_allow_other\nin\n.Pa /etc/fuse.conf\nfor it."},
    {"ca_bundle", "FILE", take_ca_bundle, "certificates to trust instead of the system's",
     "If not given, the file that\n.Ev AWS_CA_BUNDLE , CURL_CA_BUNDLE\nor\n.Ev SSL_CERT_FILE\n"
     "names."},
    {"cache_dir", "DIRECTORY", take_cache_dir,
     "where data from servers is kept (default /var/cache/sdsfs or ~/.cache/sdsfs)",
     "If not given: the first directory of\n.Ev CACHE_DIRECTORY ,\nelse\n.Pa /var/cache/sdsfs\n"
     "for root, else\n.Pa sdsfs\nin\n.Ev XDG_CACHE_HOME\nor in\n.Pa ~/.cache .\n"
     "It may be shared by mounts.\nWhat is in it is checked when it is read; where it cannot be\n"
     "used, nothing is kept."},
    {"cache_size", "SIZE", take_cache_size, "bytes to keep there (default 10G; 0: none)", NULL},
    {"client_cert", "FILE", take_client_cert, "our own certificate for TLS (PEM)", NULL},
    {"client_key", "FILE", take_client_key, "its key (PEM)", NULL},
    {"endpoint", "URL", take_endpoint, "server to ask instead of the provider's own",
     "If not given, what\n.Ev AWS_ENDPOINT_URL_S3 , AWS_ENDPOINT_URL\nor the profile says, and "
     "for Google Cloud Storage\n.Ev STORAGE_EMULATOR_HOST ."},
    {"external", "none|same|any|PREFIX[:PREFIX...]", take_external,
     "which absolute references to follow (default same)",
     "With\n.Cm same ,\nfor a local root regular files of this machine that everybody may read or "
     "that belong to\nthe owner of\n.Pa root.json ,\nand for a bucket its own objects."},
    {"gid", "NUMBER", take_gid, "group of everything (default: the mounting user's)", NULL},
    {"log", "error|warning|info|debug", take_log, "how much to log (default info)", NULL},
    {"log_format", "text|json", take_log_format, "lines of the log (default text)", NULL},
    {"max_record", "SIZE", take_max_record, "largest record to decode (default 1G)",
     "A larger one is an input/output error with check\n.Li limit ."},
    {"mem_cache", "SIZE", take_mem_cache, "memory for caches (default 96M)", NULL},
    {"no_sign_request", NULL, take_no_sign_request, "ask without credentials (public data)", NULL},
    {"path_style", NULL, take_path_style, "S3: the bucket in the path, not in the host name",
     "That is the case anyway where the endpoint is an address or the bucket's name has dots."},
    {"profile", "NAME", take_profile, "S3: profile of the shared configuration",
     "If not given,\n.Ev AWS_PROFILE ,\nelse\n.Li default ."},
    {"refresh", "SECONDS", take_refresh,
     "how long until annotations published by others are seen (default 1; 60 on a server)",
     "Decimals are allowed.\nWith 0 the store is asked whenever something below an\n.Pa "
     "annotations\ndirectory is looked for."},
    {"region", "NAME", take_region, "S3: region of the bucket",
     "If not given,\n.Ev AWS_REGION , AWS_DEFAULT_REGION\nor what the profile says.\nA server "
     "that\n"
     "names another one is believed."},
    {"requester_pays", NULL, take_requester_pays, "we pay for the requests", NULL},
    {"retries", "0-100", take_retries, "how often a failed request is repeated (default 5)",
     "With growing pauses, and never beyond\n.Cm timeout ."},
    {"state_dir", "DIRECTORY", take_state_dir,
     "where drafts are kept (default /var/lib/sdsfs or ~/.local/state/sdsfs)",
     "If not given: the first directory of\n.Ev STATE_DIRECTORY ,\nelse\n.Pa /var/lib/sdsfs\n"
     "for root, else\n.Pa sdsfs\nin\n.Ev XDG_STATE_HOME\nor in\n.Pa ~/.local/state .\n"
     "It is made when it is first needed, and has to be writable by its owner alone;\n"
     "where it cannot be used a read-write mount says so in its log."},
    {"threads", "1-256", take_threads, "requests served at a time (default: twice the processors)",
     "At least 8 if not given.\nRequests that wait for a server are not among them."},
    {"timeout", "SECONDS", take_timeout, "for a whole operation on a server (default 30)",
     "What waits for longer fails with\n.Er ETIMEDOUT ."},
    {"tolerate", "annotations", take_tolerate, "go on without annotations that fail a check",
     "Their directories are empty then."},
    {"uid", "NUMBER", take_uid, "owner of everything (default: the mounting user)",
     "With\n.Cm allow_other\nthe owner can make drafts in\n.Pa control/annotations ,\n"
     "and so publish with the rights of the mounting user."},
    {"umask", "OCTAL", take_umask, "permission bits to take away (default 0)",
     "From modes 0444 and 0555."},
    {"views", "[npy][,sigmf][,bin]", take_views, "files to show fields as (default npy,sigmf)",
     "NumPy's files; SigMF recordings of fields with a time axis; the elements alone.\n"
     "With nothing behind the equals sign, none."},
};
enum { TABLE_LEN = sizeof table / sizeof table[0] };

// Options of mount(8) that mean something to the kernel, and those that only mount(8), systemd and
// fstab read but hand to helpers all the same.
static const char *const kernel_flags[] = {"ro",      "rw",    "nosuid", "suid", "nodev",
                                           "dev",     "exec",  "noexec", "sync", "async",
                                           "dirsync", "atime", "noatime"};
static const char *const generic[] = {
    "auto",       "defaults", "default_permissions", "diratime",      "group",
    "lazytime",   "_netdev",  "nodiratime",          "nofail",        "nogroup",
    "nolazytime", "noauto",   "norelatime",          "nostrictatime", "nouser",
    "owner",      "relatime", "strictatime",         "user",          "users",
};
static const char *const generic_prefixes[] = {"x-", "X-", "comment=", "user="};

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

static bool take_kernel_flag(struct sds_options *options, const char *name, char *why,
                             size_t size) {
    size_t used = strlen(options->flags);
    int n = snprintf(options->flags + used, sizeof options->flags - used, "%s%s",
                     used > 0 ? "," : "", name);
    if ((size_t)n >= sizeof options->flags - used) {
        snprintf(why, size, "%s: too many options", name);
        return false;
    }
    options->read_only = strcmp(name, "ro") == 0 || (options->read_only && strcmp(name, "rw") != 0);
    return true;
}

// --- parsing

void sds_options_init(struct sds_options *options) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *options = (struct sds_options){
        .external = {.mode = SDS_EXTERNAL_SAME},
        .mem_cache = DEFAULT_MEM_CACHE,
        .max_record = DEFAULT_MAX_RECORD,
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

void sds_options_fini(struct sds_options *options) {
    for (size_t i = 0; i < options->text_count; i++) {
        free(options->texts[i]);
    }
}

static const struct option_spec *find_option(const char *name) {
    for (size_t i = 0; i < TABLE_LEN; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

static bool unknown(const char *name, char *why, size_t size) {
    const char *names[TABLE_LEN];
    for (size_t i = 0; i < TABLE_LEN; i++) {
        names[i] = table[i].name;
    }
    char nearest[160];
    sds_nearest(name, names, TABLE_LEN, nearest, sizeof nearest);
    snprintf(why, size, "%s: unknown option%s", name, nearest);
    return false;
}

// Hands a value to its option. Values may be kept as text, so each is copied first.
static bool take(struct sds_options *options, const struct option_spec *option, const char *value,
                 char *why, size_t size) {
    if ((value != NULL) != (option->values != NULL)) {
        snprintf(why, size, value != NULL ? "%s takes no value" : "%s needs a value", option->name);
        return false;
    }
    if (options->text_count == sizeof options->texts / sizeof options->texts[0]) {
        snprintf(why, size, "%s: too many options", option->name);
        return false;
    }
    char *kept = strdup(value != NULL ? value : "");
    if (kept == NULL) {
        snprintf(why, size, "%s: no memory", option->name);
        return false;
    }
    options->texts[options->text_count++] = kept;
    if (!option->take(options, kept)) {
        snprintf(why, size, "%s=%s: expected %s", option->name, value, option->values);
        return false;
    }
    return true;
}

static bool take_one(struct sds_options *options, char *text, bool sloppy, char *why, size_t size) {
    if (text[0] == '\0' || is_generic(text)) {
        return true;
    }
    if (is_one_of(text, kernel_flags, sizeof kernel_flags / sizeof kernel_flags[0])) {
        return take_kernel_flag(options, text, why, size);
    }
    char *value = strchr(text, '=');
    if (value != NULL) {
        *value++ = '\0';
    }
    if (strcmp(text, "remount") == 0) {
        snprintf(why, size, "remount: not possible, unmount and mount again");
        return false;
    }
    const struct option_spec *option = find_option(text);
    if (option == NULL) {
        return sloppy || unknown(text, why, size);
    }
    return take(options, option, value, why, size);
}

// Whether a comma inside an option goes on with it: "views=npy,bin" is one option, though commas
// separate options.
static bool goes_on(const char *option, size_t len, const char *rest) {
    static const char views[] = "views=";
    return len >= sizeof views - 1 && memcmp(option, views, sizeof views - 1) == 0 &&
           sds_view_is_known(sds_span(rest, strcspn(rest, VIEWS_BETWEEN)));
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

bool sds_options_parse(struct sds_options *options, const char *text, char *why, size_t size) {
    return parse(options, text, false, why, size);
}

bool sds_options_parse_sloppy(struct sds_options *options, const char *text, char *why,
                              size_t size) {
    return parse(options, text, true, why, size);
}

uint32_t sds_options_refresh_ms(const struct sds_options *options, bool remote) {
    if (options->refresh_ms >= 0) {
        return (uint32_t)options->refresh_ms;
    }
    return remote ? DEFAULT_REMOTE_REFRESH_MS : DEFAULT_REFRESH_MS;
}

bool sds_option_text(size_t i, struct sds_option_text *out) {
    if (i >= TABLE_LEN) {
        return false;
    }
    *out = (struct sds_option_text){
        .name = table[i].name,
        .values = table[i].values,
        .help = table[i].help,
        .more = table[i].more,
    };
    return true;
}

void sds_options_help(FILE *out) {
    fprintf(out, "\nOptions (-o):\n");
    for (size_t i = 0; i < TABLE_LEN; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", table[i].name, table[i].values != NULL ? "=" : "",
                 table[i].values != NULL ? table[i].values : "");
        fprintf(out, "  %-46s %s\n", left, table[i].help);
    }
    fprintf(out, "  ro, noexec, noatime, _netdev, nofail, x-*, ...     as for mount(8)\n");
}
