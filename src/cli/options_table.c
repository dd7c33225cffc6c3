// SPDX-License-Identifier: Apache-2.0
#include "cli/options_table.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ckd.h"
#include "base/cleanup.h"
#include "base/program_dir.h"
#include "format/driver.h"

#define MAX_TIMEOUT_SECONDS 86400.0
#define MAX_REFRESH_SECONDS 1e6

enum { MAX_RETRIES = 100, MAX_THREADS = SDS_OPTION_MAX_THREADS };

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

// --- what is said of an option

// A flag's value, which is "yes" where it stands alone.
static bool take_flag(const char *value, bool *out) {
    *out = strcmp(value, "yes") == 0;
    return *out || strcmp(value, "no") == 0;
}

// Each takes a value; false: not one of the option's values.
static bool take_allow_other(struct sds_options *options, char *value) {
    return take_flag(value, &options->allow_other);
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

static bool take_prefetch(struct sds_options *options, char *value) {
    return parse_size(value, &options->prefetch);
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

static bool take_auto_unmount(struct sds_options *options, char *value) {
    return take_flag(value, &options->auto_unmount);
}

static bool take_config(struct sds_options *options, char *value) {
    return take_text(&options->config, value);
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
    return take_flag(value, &options->remote.path_style);
}

static bool take_no_sign_request(struct sds_options *options, char *value) {
    return take_flag(value, &options->remote.no_sign_request);
}

static bool take_requester_pays(struct sds_options *options, char *value) {
    return take_flag(value, &options->remote.requester_pays);
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
        size_t len = strcspn(word, SDS_OPTION_VIEWS_BETWEEN);
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

// --- what holds where nothing is said

static void tell_program_dir(enum sds_program_dir which, char *out, size_t size) {
    sds_autofree char *path = NULL;
    struct sds_err err;
    bool known = sds_program_dir_path(which, NULL, &path, &err) == SDS_OK;
    snprintf(out, size, "%s", known ? path : "");
}

static void tell_cache_dir(const struct sds_options *options, bool remote, char *out, size_t size) {
    (void)options;
    (void)remote;
    tell_program_dir(SDS_CACHE_DIR, out, size);
}

static void tell_state_dir(const struct sds_options *options, bool remote, char *out, size_t size) {
    (void)options;
    (void)remote;
    tell_program_dir(SDS_STATE_DIR, out, size);
}

static void tell_uid(const struct sds_options *options, bool remote, char *out, size_t size) {
    (void)remote;
    snprintf(out, size, "%ju", (uintmax_t)options->uid);
}

static void tell_gid(const struct sds_options *options, bool remote, char *out, size_t size) {
    (void)remote;
    snprintf(out, size, "%ju", (uintmax_t)options->gid);
}

static void tell_threads(const struct sds_options *options, bool remote, char *out, size_t size) {
    (void)remote;
    snprintf(out, size, "%u", options->threads);
}

static void tell_refresh(const struct sds_options *options, bool remote, char *out, size_t size) {
    snprintf(out, size, "%g", sds_options_refresh_ms(options, remote) / 1000.0);
}

// --- the table

const struct sds_option_spec sds_option_table[] = {
    {.name = "allow_other",
     .take = take_allow_other,
     .fallback = "no",
     .help = "let other users in",
     .more = "An ordinary user needs\n.Li user_allow_other\nin\n.Pa /etc/fuse.conf\nfor it."},
    {.name = "auto_unmount",
     .take = take_auto_unmount,
     .fallback = "no",
     .help = "unmount when the daemon is killed, too",
     .more = "A process of\n.Xr fusermount3 1\nwaits for its end, for root too.\nOther users "
             "need\n.Cm allow_other\nfor it."},
    {.name = "ca_bundle",
     .values = "FILE",
     .take = take_ca_bundle,
     .environment = "AWS_CA_BUNDLE CURL_CA_BUNDLE SSL_CERT_FILE",
     .help = "certificates to trust instead of the system's",
     .more =
         "If not given, the file that\n.Ev AWS_CA_BUNDLE , CURL_CA_BUNDLE\nor\n.Ev SSL_CERT_FILE\n"
         "names."},
    {.name = "cache_dir",
     .values = "DIRECTORY",
     .take = take_cache_dir,
     .tell = tell_cache_dir,
     .environment = "CACHE_DIRECTORY",
     .help = "where data from servers is kept (default /var/cache/sdsfs or ~/.cache/sdsfs)",
     .more =
         "If not given: the first directory of\n.Ev CACHE_DIRECTORY ,\nelse\n.Pa /var/cache/sdsfs\n"
         "for root, else\n.Pa sdsfs\nin\n.Ev XDG_CACHE_HOME\nor in\n.Pa ~/.cache .\n"
         "It may be shared by mounts.\nWhat is in it is checked when it is read; where it cannot "
         "be\n"
         "used, nothing is kept."},
    {.name = "cache_size",
     .values = "SIZE",
     .take = take_cache_size,
     .fallback = "10G",
     .reloads = true,
     .help = "bytes to keep there (default 10G; 0: none)"},
    {.name = "client_cert",
     .values = "FILE",
     .take = take_client_cert,
     .help = "our own certificate for TLS (PEM)"},
    {.name = "client_key", .values = "FILE", .take = take_client_key, .help = "its key (PEM)"},
    {.name = "config",
     .values = "FILE",
     .take = take_config,
     .help =
         "where more options stand (default /etc/sdsfs/sdsfs.conf or ~/.config/sdsfs/sdsfs.conf)",
     .more = "See\n.Sx CONFIGURATION FILE .\nThe file that is the default need not be there, and "
             "is not read\n"
             "where another one is given."},
    {.name = "endpoint",
     .values = "URL",
     .take = take_endpoint,
     .environment = "AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL STORAGE_EMULATOR_HOST",
     .help = "server to ask instead of the provider's own",
     .more =
         "If not given, what\n.Ev AWS_ENDPOINT_URL_S3 , AWS_ENDPOINT_URL\nor the profile says, and "
         "for Google Cloud Storage\n.Ev STORAGE_EMULATOR_HOST ."},
    {.name = "external",
     .values = "none|same|any|PREFIX[:PREFIX...]",
     .take = take_external,
     .fallback = "same",
     .help = "which absolute references to follow (default same)",
     .more = "With\n.Cm same ,\nfor a local root regular files of this machine that everybody may "
             "read or "
             "that belong to\nthe owner of\n.Pa root.json ,\nand for a bucket its own objects."},
    {.name = "gid",
     .values = "NUMBER",
     .take = take_gid,
     .tell = tell_gid,
     .help = "group of everything (default: the mounting user's)"},
    {.name = "log",
     .values = "error|warning|info|debug",
     .take = take_log,
     .fallback = "info",
     .reloads = true,
     .help = "how much to log (default info)"},
    {.name = "log_format",
     .values = "text|json",
     .take = take_log_format,
     .fallback = "text",
     .reloads = true,
     .help = "lines of the log (default text)"},
    {.name = "max_record",
     .values = "SIZE",
     .take = take_max_record,
     .fallback = "1G",
     .help = "largest record to decode (default 1G)",
     .more = "A larger one is an input/output error with check\n.Li limit ."},
    {.name = "mem_cache",
     .values = "SIZE",
     .take = take_mem_cache,
     .fallback = "96M",
     .reloads = true,
     .help = "memory for caches (default 96M)"},
    {.name = "no_sign_request",
     .take = take_no_sign_request,
     .fallback = "no",
     .help = "ask without credentials (public data)"},
    {.name = "path_style",
     .take = take_path_style,
     .fallback = "no",
     .help = "S3: the bucket in the path, not in the host name",
     .more =
         "That is the case anyway where the endpoint is an address or the bucket's name has dots."},
    {.name = "prefetch",
     .values = "SIZE",
     .take = take_prefetch,
     .fallback = "24M",
     .help = "how much is read ahead of one reader (default 24M; 0: nothing)",
     .more =
         "Of readers that take records in order or with a stride, and of those that wrote to\n.Pa "
         "control/prefetch .\nNever more than a quarter of\n.Cm mem_cache ."},
    {.name = "profile",
     .values = "NAME",
     .take = take_profile,
     .environment = "AWS_PROFILE",
     .help = "S3: profile of the shared configuration",
     .more = "If not given,\n.Ev AWS_PROFILE ,\nelse\n.Li default ."},
    {.name = "refresh",
     .values = "SECONDS",
     .take = take_refresh,
     .tell = tell_refresh,
     .help = "how long until annotations published by others are seen (default 1; 60 on a server)",
     .more = "Decimals are allowed.\nWith 0 the store is asked whenever something below an\n.Pa "
             "annotations\ndirectory is looked for."},
    {.name = "region",
     .values = "NAME",
     .take = take_region,
     .environment = "AWS_REGION AWS_DEFAULT_REGION",
     .help = "S3: region of the bucket",
     .more =
         "If not given,\n.Ev AWS_REGION , AWS_DEFAULT_REGION\nor what the profile says.\nA server "
         "that\n"
         "names another one is believed."},
    {.name = "requester_pays",
     .take = take_requester_pays,
     .fallback = "no",
     .help = "we pay for the requests"},
    {.name = "retries",
     .values = "0-100",
     .take = take_retries,
     .fallback = "5",
     .help = "how often a failed request is repeated (default 5)",
     .more = "With growing pauses, and never beyond\n.Cm timeout ."},
    {.name = "state_dir",
     .values = "DIRECTORY",
     .take = take_state_dir,
     .tell = tell_state_dir,
     .environment = "STATE_DIRECTORY",
     .help = "where drafts are kept (default /var/lib/sdsfs or ~/.local/state/sdsfs)",
     .more =
         "If not given: the first directory of\n.Ev STATE_DIRECTORY ,\nelse\n.Pa /var/lib/sdsfs\n"
         "for root, else\n.Pa sdsfs\nin\n.Ev XDG_STATE_HOME\nor in\n.Pa ~/.local/state .\n"
         "It is made when it is first needed, and has to be writable by its owner alone;\n"
         "where it cannot be used a read-write mount says so in its log."},
    {.name = "threads",
     .values = "1-256",
     .take = take_threads,
     .tell = tell_threads,
     .help = "requests served at a time (default: twice the processors)",
     .more = "At least 8 if not given.\nRequests that wait for a server are not among them."},
    {.name = "timeout",
     .values = "SECONDS",
     .take = take_timeout,
     .fallback = "30",
     .help = "how long an operation on a server may take, retries and all (default 30)",
     .more = "What waits for longer fails with\n.Er ETIMEDOUT ."},
    {.name = "tolerate",
     .values = "annotations",
     .take = take_tolerate,
     .help = "go on without annotations that fail a check",
     .more = "Their directories are empty then."},
    {.name = "uid",
     .values = "NUMBER",
     .take = take_uid,
     .tell = tell_uid,
     .help = "owner of everything (default: the mounting user)",
     .more = "With\n.Cm allow_other\nthe owner can make drafts in\n.Pa control/annotations ,\n"
             "and so publish with the rights of the mounting user."},
    {.name = "umask",
     .values = "OCTAL",
     .take = take_umask,
     .fallback = "0",
     .help = "permission bits to take away (default 0)",
     .more = "From modes 0444 and 0555."},
    {.name = "views",
     .values = "[npy][,sigmf][,bin]",
     .take = take_views,
     .fallback = "npy,sigmf",
     .help = "files to show fields as (default npy,sigmf)",
     .more = "NumPy's files; SigMF recordings of fields with a time axis; the elements alone.\n"
             "With nothing behind the equals sign, none."},
};
const size_t sds_option_count = sizeof sds_option_table / sizeof sds_option_table[0];
_Static_assert(sizeof sds_option_table / sizeof sds_option_table[0] <= SDS_OPTIONS_MAX,
               "sds_options has room for all");
