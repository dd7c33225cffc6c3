// SPDX-License-Identifier: Apache-2.0
#include "remote/credentials/document.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "remote/credentials/document_xml.h"
#include "remote/credentials/secret.h"
#include "remote/credentials/when.h"

static const struct sds_json_limits limits = {
    .bytes = SDS_DOCUMENT_BYTES_MAX, .depth = 16, .nodes = 4096};

void sds_credential_wipe(struct sds_credential *credential) {
    OPENSSL_cleanse(credential, sizeof *credential);
}

static enum sds_kind bad(struct sds_err *err, const char *what) {
    return sds_fail(err, SDS_ERR_INVALID, "credentials", "%s", what);
}

enum sds_kind sds_document_parse(struct sds_span text, struct sds_json **out, struct sds_err *err) {
    struct sds_err inner;
    enum sds_kind kind = sds_json_parse(text, &limits, out, &inner);
    if (kind == SDS_ERR_CORRUPT) {
        return bad(err, "what it answers is not JSON");
    }
    if (kind != SDS_OK) {
        return sds_fail(err, kind, "credentials", "what it answers is too long");
    }
    if (sds_value_type(sds_json_top(*out)) != SDS_JSON_OBJECT) {
        sds_json_free(SDS_STEAL(*out));
        return bad(err, "what it answers is not a JSON object");
    }
    return SDS_OK;
}

static bool is_printable(struct sds_span text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < 0x20 || text.at[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

enum sds_field sds_document_text(struct sds_value object, const char *key, char *out, size_t size) {
    struct sds_value v = sds_value_get(object, key);
    if (!sds_value_there(v) || sds_value_type(v) == SDS_JSON_NULL || sds_value_is(v, "")) {
        return SDS_FIELD_ABSENT;
    }
    size_t len = sds_value_string_len(v);
    sds_autosecret struct sds_buf scratch = {0};
    struct sds_span text;
    if (sds_value_type(v) != SDS_JSON_STRING || len >= size ||
        sds_secret_init(&scratch, len, NULL) != SDS_OK ||
        sds_value_string(v, &scratch, &text) != SDS_OK || !is_printable(text)) {
        return SDS_FIELD_BAD;
    }
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    return SDS_FIELD_OK;
}

enum sds_kind sds_document_need(struct sds_value object, const char *key, char *out, size_t size,
                                struct sds_err *err) {
    switch (sds_document_text(object, key, out, size)) {
    case SDS_FIELD_OK:
        return SDS_OK;
    case SDS_FIELD_ABSENT:
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "there is no \"%s\" in it", key);
    default:
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "\"%s\" in it is no text that can be used", key);
    }
}

// --- keys

static bool take(struct sds_span text, bool spaces, char *out, size_t size) {
    if (text.len == 0 || text.len >= size || !is_printable(text) || text.at[0] == ' ' ||
        text.at[text.len - 1] == ' ' || (!spaces && memchr(text.at, ' ', text.len) != NULL)) {
        return false;
    }
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    return true;
}

enum sds_kind sds_document_keys(struct sds_span key_id, struct sds_span secret,
                                struct sds_span token, struct sds_credential *out,
                                struct sds_err *err) {
    const char *wrong = NULL;
    *out = (struct sds_credential){0};
    if (!take(key_id, false, out->key_id, sizeof out->key_id)) {
        wrong = "access key id";
    } else if (!take(secret, true, out->secret, sizeof out->secret)) {
        wrong = "secret access key";
    } else if (token.len > 0 && !take(token, false, out->token, sizeof out->token)) {
        wrong = "session token";
    }
    if (wrong != NULL) {
        sds_credential_wipe(out);
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "the %s is empty, too long, or holds bytes that none can have", wrong);
    }
    return SDS_OK;
}

// --- AWS

static enum sds_kind read_when(struct sds_value object, const char *key, int64_t *out,
                               struct sds_err *err) {
    char text[64];
    enum sds_field field = sds_document_text(object, key, text, sizeof text);
    if (field == SDS_FIELD_BAD || (field == SDS_FIELD_OK && !sds_when_parse(text, out))) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials", "\"%s\" in it is no time", key);
    }
    return SDS_OK;
}

struct names {
    const char *key_id, *secret, *token;
};

static enum sds_kind read_keys(struct sds_value object, const struct names *names,
                               struct sds_credential *out, struct sds_err *err) {
    enum sds_kind kind =
        sds_document_need(object, names->key_id, out->key_id, sizeof out->key_id, err);
    if (kind == SDS_OK) {
        kind = sds_document_need(object, names->secret, out->secret, sizeof out->secret, err);
    }
    if (kind == SDS_OK &&
        sds_document_text(object, names->token, out->token, sizeof out->token) == SDS_FIELD_BAD) {
        return sds_fail(err, SDS_ERR_INVALID, "credentials",
                        "\"%s\" in it is no text that can be used", names->token);
    }
    return kind;
}

static enum sds_kind read_metadata(struct sds_value top, struct sds_credential *out,
                                   struct sds_err *err) {
    static const struct names names = {"AccessKeyId", "SecretAccessKey", "Token"};
    char code[64];
    enum sds_field field = sds_document_text(top, "Code", code, sizeof code);
    if (field == SDS_FIELD_BAD || (field == SDS_FIELD_OK && strcmp(code, "Success") != 0)) {
        return bad(err, "it says that it has no keys (\"Code\" is not \"Success\")");
    }
    enum sds_kind kind = read_keys(top, &names, out, err);
    return kind == SDS_OK ? read_when(top, "Expiration", &out->expires, err) : kind;
}

static enum sds_kind read_process(struct sds_value top, struct sds_credential *out,
                                  struct sds_err *err) {
    static const struct names names = {"AccessKeyId", "SecretAccessKey", "SessionToken"};
    uint64_t version;
    if (!sds_value_u64(sds_value_get(top, "Version"), &version) || version != 1) {
        return bad(err, "\"Version\" in what it answers is not 1");
    }
    enum sds_kind kind = read_keys(top, &names, out, err);
    return kind == SDS_OK ? read_when(top, "Expiration", &out->expires, err) : kind;
}

static enum sds_kind read_sso(struct sds_value top, struct sds_credential *out,
                              struct sds_err *err) {
    static const struct names names = {"accessKeyId", "secretAccessKey", "sessionToken"};
    struct sds_value inner = sds_value_get(top, "roleCredentials");
    uint64_t ms;
    if (!sds_value_u64(sds_value_get(inner, "expiration"), &ms) || ms / 1000 > INT64_MAX / 2) {
        return bad(err, "\"expiration\" in what it answers is no time");
    }
    out->expires = (int64_t)(ms / 1000);
    return read_keys(inner, &names, out, err);
}

static enum sds_kind read_sts(struct sds_span text, struct sds_credential *out,
                              struct sds_err *err) {
    static const struct {
        const char *element;
        size_t at, size;
    } parts[] = {
        {"AccessKeyId", offsetof(struct sds_credential, key_id), sizeof out->key_id},
        {"SecretAccessKey", offsetof(struct sds_credential, secret), sizeof out->secret},
        {"SessionToken", offsetof(struct sds_credential, token), sizeof out->token},
    };
    struct sds_span inside;
    char when[64];
    if (text.len > SDS_DOCUMENT_BYTES_MAX || !sds_xml_find(text, "Credentials", &inside)) {
        return bad(err, "there are no <Credentials> in what it answers");
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!sds_xml_text(inside, parts[i].element, (char *)out + parts[i].at, parts[i].size)) {
            return sds_fail(err, SDS_ERR_INVALID, "credentials",
                            "there is no <%s> in what it answers", parts[i].element);
        }
    }
    if (!sds_xml_text(inside, "Expiration", when, sizeof when) ||
        !sds_when_parse(when, &out->expires)) {
        return bad(err, "<Expiration> in what it answers is no time");
    }
    return SDS_OK;
}

// --- Google

static enum sds_kind read_token(struct sds_value top, int64_t now, struct sds_credential *out,
                                struct sds_err *err) {
    char type[32];
    enum sds_field field = sds_document_text(top, "token_type", type, sizeof type);
    if (field == SDS_FIELD_BAD || (field == SDS_FIELD_OK && strcasecmp(type, "Bearer") != 0)) {
        return bad(err, "the token that it answers is no bearer token");
    }
    double seconds = sds_value_double(sds_value_get(top, "expires_in"));
    if (sds_value_there(sds_value_get(top, "expires_in"))) {
        if (!(seconds >= 0 && seconds < 1e9)) {
            return bad(err, "\"expires_in\" in what it answers is no number of seconds");
        }
        out->expires = now + (int64_t)seconds;
    }
    return sds_document_need(top, "access_token", out->token, sizeof out->token, err);
}

static enum sds_kind read_impersonated(struct sds_value top, struct sds_credential *out,
                                       struct sds_err *err) {
    enum sds_kind kind = sds_document_need(top, "accessToken", out->token, sizeof out->token, err);
    return kind == SDS_OK ? read_when(top, "expireTime", &out->expires, err) : kind;
}

// --- all of them

static enum sds_kind read_json(enum sds_document form, struct sds_span text, int64_t now,
                               struct sds_credential *out, struct sds_err *err) {
    sds_autojson struct sds_json *doc = NULL;
    enum sds_kind kind = sds_document_parse(text, &doc, err);
    if (kind != SDS_OK) {
        return kind;
    }
    struct sds_value top = sds_json_top(doc);
    switch (form) {
    case SDS_DOCUMENT_METADATA:
        return read_metadata(top, out, err);
    case SDS_DOCUMENT_PROCESS:
        return read_process(top, out, err);
    case SDS_DOCUMENT_SSO:
        return read_sso(top, out, err);
    case SDS_DOCUMENT_IMPERSONATED:
        return read_impersonated(top, out, err);
    default:
        return read_token(top, now, out, err);
    }
}

// Whatever the document was, what goes into a header is a text that may stand there.
static enum sds_kind check(enum sds_document form, struct sds_credential *out,
                           struct sds_err *err) {
    if (form == SDS_DOCUMENT_TOKEN || form == SDS_DOCUMENT_IMPERSONATED) {
        return strchr(out->token, ' ') == NULL ? SDS_OK : bad(err, "its token holds a space");
    }
    int64_t expires = out->expires;
    struct sds_credential same;
    enum sds_kind kind = sds_document_keys(sds_span_str(out->key_id), sds_span_str(out->secret),
                                           sds_span_str(out->token), &same, err);
    if (kind == SDS_OK) {
        *out = same;
        out->expires = expires;
    }
    sds_credential_wipe(&same);
    return kind;
}

enum sds_kind sds_document_read(enum sds_document form, struct sds_span text, int64_t now,
                                struct sds_credential *out, struct sds_err *err) {
    *out = (struct sds_credential){0};
    enum sds_kind kind =
        form == SDS_DOCUMENT_STS ? read_sts(text, out, err) : read_json(form, text, now, out, err);
    if (kind == SDS_OK) {
        kind = check(form, out, err);
    }
    if (kind != SDS_OK) {
        sds_credential_wipe(out);
    }
    return kind;
}

// --- errors

static bool is_word(const char *text) {
    return text[0] != '\0' && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                                "XYZ0123456789_.#-")] == '\0';
}

char *sds_document_error(struct sds_span text, char *buf, size_t size) {
    static const char *const keys[] = {"error", "Code", "code", "__type", "status"};
    char word[49] = ""; // longer ones are no codes
    sds_autojson struct sds_json *doc = NULL;
    buf[0] = '\0';
    if (text.len > SDS_DOCUMENT_BYTES_MAX) {
        return buf;
    }
    if (sds_json_parse(text, &limits, &doc, NULL) == SDS_OK) {
        struct sds_value top = sds_json_top(doc);
        struct sds_value inner = sds_value_get(top, "error"); // Google's APIs: {"error": {...}}
        top = sds_value_type(inner) == SDS_JSON_OBJECT ? inner : top;
        for (size_t i = 0; i < sizeof keys / sizeof keys[0] && word[0] == '\0'; i++) {
            if (sds_document_text(top, keys[i], word, sizeof word) != SDS_FIELD_OK) {
                word[0] = '\0';
            }
        }
    } else if (!sds_xml_text(text, "Code", word, sizeof word)) {
        word[0] = '\0';
    }
    if (is_word(word)) {
        snprintf(buf, size, "%s", word);
    }
    return buf;
}
