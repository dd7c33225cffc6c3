// SPDX-License-Identifier: Apache-2.0
//
// Why a request has no answer: libcurl's codes as ours, and ours as errors.
#include <stdio.h>
#include <string.h>

#include "remote/http/http_internal.h"

// In the middle of a handshake the other side may just go away, which can get better.
static bool went_away(const char *detail) {
    return strstr(detail, "SSL_ERROR_SYSCALL") != NULL || strstr(detail, "reset") != NULL ||
           strstr(detail, "unexpected eof") != NULL;
}

// Told as a failure to receive, without a word of whose answer it was.
static bool is_of_proxy(const char *detail) {
    return strncmp(detail, "CONNECT tunnel failed", 21) == 0;
}

static enum sds_http_failure class_of(CURLcode code, const char *detail) {
    switch (code) {
    case CURLE_OK:
        return SDS_HTTP_ANSWERED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return SDS_HTTP_RESOLVE;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
        return SDS_HTTP_CONNECT;
    case CURLE_OPERATION_TIMEDOUT: // connecting: there is no other limit of libcurl's
        return SDS_HTTP_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
        return went_away(detail) ? SDS_HTTP_CONNECT : SDS_HTTP_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CLIENTCERT:
        return SDS_HTTP_TLS;
    case CURLE_RECV_ERROR: // TLS 1.3: that our certificate is missing is told after the handshake
        if (is_of_proxy(detail)) {
            return SDS_HTTP_CONNECT;
        }
        return strstr(detail, "alert") != NULL ? SDS_HTTP_TLS : SDS_HTTP_BROKEN;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return SDS_HTTP_UNSENDABLE;
    case CURLE_OUT_OF_MEMORY:
        return SDS_HTTP_NO_MEMORY;
    default:
        return SDS_HTTP_BROKEN;
    }
}

// libcurl repeats addresses of proxies with their passwords, and bytes of the server.
static bool can_be_shown(enum sds_http_failure failure, const char *detail) {
    return detail[0] != '\0' && failure != SDS_HTTP_UNSENDABLE && strchr(detail, '@') == NULL &&
           strstr(detail, "Unsupported proxy") == NULL;
}

enum sds_http_failure sds_http_failure_of(CURLcode code, const char *detail, char *reason,
                                          size_t size) {
    enum sds_http_failure failure = class_of(code, detail);
    reason[0] = '\0';
    if (failure != SDS_HTTP_ANSWERED) {
        bool show = can_be_shown(failure, detail);
        snprintf(reason, size, "%s%s", is_of_proxy(detail) ? "the proxy refuses it: " : "",
                 show ? detail : curl_easy_strerror(code));
    }
    for (char *c = reason; *c != '\0'; c++) {
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    }
    return failure;
}

enum sds_kind sds_http_failed(const struct sds_http_answer *answer, struct sds_err *err) {
    static const struct {
        enum sds_kind kind;
        const char *check, *what;
    } table[SDS_HTTP_FAILURES] = {
        [SDS_HTTP_ANSWERED] = {SDS_ERR_INTERNAL, "answered", "there is an answer"},
        [SDS_HTTP_RESOLVE] = {SDS_ERR_STORAGE, "resolve", "the server's name has no address"},
        [SDS_HTTP_CONNECT] = {SDS_ERR_STORAGE, "connect", "no connection to the server"},
        [SDS_HTTP_TLS] = {SDS_ERR_STORAGE, "tls", "no trusted connection to the server"},
        [SDS_HTTP_BROKEN] = {SDS_ERR_STORAGE, "broken", "the server's answer broke off"},
        [SDS_HTTP_STALLED] = {SDS_ERR_TIMEOUT, "stalled", "the server fell silent"},
        [SDS_HTTP_TIMEOUT] = {SDS_ERR_TIMEOUT, "timeout", "the server took too long"},
        [SDS_HTTP_CANCELLED] = {SDS_ERR_STORAGE, "closed", "the store is being closed"},
        [SDS_HTTP_TOO_LONG] = {SDS_ERR_STORAGE, "too_long", "the server sent too much"},
        [SDS_HTTP_UNSENDABLE] = {SDS_ERR_INVALID, "request", "the request cannot be sent"},
        [SDS_HTTP_NO_MEMORY] = {SDS_ERR_NO_MEMORY, "memory", "no memory for a request"},
    };
    if (answer->failure == SDS_HTTP_BODY && answer->content_err != NULL) {
        if (err != NULL) {
            *err = *answer->content_err;
        }
        return answer->content_err->kind;
    }
    const char *what = table[answer->failure].what;
    bool more = answer->reason[0] != '\0' && strcmp(answer->reason, what) != 0;
    return sds_fail(err, table[answer->failure].kind, table[answer->failure].check, "%s%s%s", what,
                    more ? ": " : "", more ? answer->reason : "");
}
