// SPDX-License-Identifier: Apache-2.0
//
// Turns of requests to one server. A request gets its turn only when a connection may be had for
// it, so that what is waited for is the server and not other requests.
#include <stdlib.h>
#include <string.h>

#include "remote/http/http_internal.h"

// Scheme, host and port: all before the path.
static size_t origin_len(const char *url) {
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    return (size_t)(host - url) + strcspn(host, "/?#");
}

struct sds_http_host *sds_http_host_of(struct sds_http *http, const char *url) {
    size_t len = origin_len(url);
    for (struct sds_http_host *host = http->hosts; host != NULL; host = host->next) {
        if (strncmp(host->origin, url, len) == 0 && host->origin[len] == '\0') {
            return host;
        }
    }
    struct sds_http_host *host = calloc(1, sizeof *host);
    if (host == NULL || (host->origin = strndup(url, len)) == NULL) {
        free(host);
        return NULL;
    }
    host->last = &host->first;
    host->next = http->hosts;
    http->hosts = host;
    return host;
}

void sds_http_host_add(struct sds_http_host *host, struct sds_http_request *request) {
    request->next = NULL;
    *host->last = request;
    host->last = &request->next;
}

struct sds_http_request *sds_http_host_take(struct sds_http_host *host) {
    struct sds_http_request *request = host->first;
    if (request != NULL) {
        host->first = request->next;
        if (host->first == NULL) {
            host->last = &host->first;
        }
    }
    return request;
}

struct sds_http_request *sds_http_hosts_expired(struct sds_http *http, bool all, uint64_t now,
                                                uint64_t *next_ms) {
    struct sds_http_request *expired = NULL, **last = &expired;
    for (struct sds_http_host *host = http->hosts; host != NULL; host = host->next) {
        struct sds_http_request **link = &host->first;
        while (*link != NULL) {
            struct sds_http_request *request = *link;
            uint64_t deadline = request->deadline_ms;
            if (all || (deadline != 0 && deadline <= now)) {
                *link = request->next;
                request->next = NULL;
                *last = request;
                last = &request->next;
                continue;
            }
            if (deadline != 0 && deadline < *next_ms) {
                *next_ms = deadline;
            }
            link = &request->next;
        }
        host->last = link;
    }
    return expired;
}

void sds_http_hosts_forget(struct sds_http *http) {
    struct sds_http_host **link = &http->hosts;
    while (*link != NULL) {
        struct sds_http_host *host = *link;
        if (host->active == 0 && host->first == NULL) {
            *link = host->next;
            free(host->origin);
            free(host);
        } else {
            link = &host->next;
        }
    }
}
