// SPDX-License-Identifier: Apache-2.0
//
// An HTTP/1.1 server on a port of loopback that says what a test tells it to: good answers and
// every way of failing to give one. Requests are recorded as they came. A handler makes the answer
// to each request, on a thread of that connection; the ready-made one plays a list in order.
#ifndef SDSFS_TESTS_SCRIPTED_SERVER_H
#define SDSFS_TESTS_SCRIPTED_SERVER_H

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCRIPTED __attribute__((unused)) static
#define SCRIPTED_CONNECTIONS 4096
#define SCRIPTED_REQUESTS 65536

struct scripted_request {
    unsigned connection; // which one it came by, from 0
    char method[16];
    char target[2048]; // as in the request line
    char head[16384];  // request line and headers
    uint8_t *body;
    size_t body_len;
};

enum scripted_fault {
    SCRIPTED_NONE,
    SCRIPTED_STALL, // says no more, and listens until the other side has gone
    SCRIPTED_CLOSE,
    SCRIPTED_RESET,
};

// All zero but the status: an empty answer. Pointers have to live until it was said.
struct scripted_answer {
    int status;
    const char *headers; // each ended by \r\n; NULL: none but Content-Length
    const void *body;
    size_t body_len;
    bool no_length; // of the body: no Content-Length (chunks are for the test to write)
    bool lie;       // Content-Length is `claimed`
    uint64_t claimed;
    const char *raw; // said as it is instead of a head, before the body
    bool hold;       // not before scripted_release
    unsigned delay_ms;

    enum scripted_fault fault; // happens instead of the head, or…
    bool in_head;              // …in the middle of it, or…
    bool in_body;              // …after so many bytes of the body:
    size_t after;
    size_t drip; // so many bytes of the body at once, then a pause; 0: all at once
    unsigned drip_ms;
    bool endless_head; // headers for ever
    bool endless_body; // the body again and again for ever
    bool close_after;  // closes the connection without having said so
};

struct scripted_server;
// Makes the answer to a request; on the connection's thread. Answers begin zeroed.
typedef void (*scripted_handler)(void *ctx, const struct scripted_request *request,
                                 struct scripted_answer *answer);

struct scripted_connection {
    struct scripted_server *server;
    pthread_t thread;
    unsigned number;
    int fd;
};

struct scripted_server {
    int listener, stop; // an eventfd that becomes readable
    unsigned short port;
    pthread_t thread;
    scripted_handler handle;
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool released;
    unsigned connection_count, closed_count;
    struct scripted_connection *connections[SCRIPTED_CONNECTIONS];
    unsigned request_count;
    struct scripted_request **requests; // those so far
    const struct scripted_answer *script;
    size_t script_len, script_at;
};

// --- reading and writing

// Waits until the socket can be read; false when the server stops, or after so many ms (-1: none).
SCRIPTED bool scripted_readable(struct scripted_connection *c, int timeout_ms) {
    struct pollfd fds[2] = {{.fd = c->fd, .events = POLLIN},
                            {.fd = c->server->stop, .events = POLLIN}};
    return poll(fds, 2, timeout_ms) > 0 && fds[1].revents == 0;
}

SCRIPTED void scripted_pause(struct scripted_connection *c, unsigned ms) {
    struct pollfd stop = {.fd = c->server->stop, .events = POLLIN};
    poll(&stop, 1, (int)ms);
}

// All of it, or false when the other side has gone or the server stops.
SCRIPTED bool scripted_say(struct scripted_connection *c, const void *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        struct pollfd fds[2] = {{.fd = c->fd, .events = POLLOUT},
                                {.fd = c->server->stop, .events = POLLIN}};
        if (poll(fds, 2, -1) <= 0 || fds[1].revents != 0) {
            return false;
        }
        ssize_t n =
            send(c->fd, (const char *)bytes + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

// The value of a header of a recorded request, or NULL; in a buffer of the caller.
SCRIPTED const char *scripted_header(const struct scripted_request *request, const char *name,
                                     char *out, size_t size) {
    size_t len = strlen(name);
    for (const char *at = strchr(request->head, '\n'); at != NULL; at = strchr(at, '\n')) {
        at++;
        if (strncasecmp(at, name, len) == 0 && at[len] == ':') {
            at += len + 1;
            at += strspn(at, " ");
            snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
            return out;
        }
    }
    return NULL;
}

SCRIPTED bool scripted_take_body(struct scripted_connection *c, struct scripted_request *request) {
    char text[32];
    if (scripted_header(request, "Content-Length", text, sizeof text) == NULL) {
        return true;
    }
    request->body_len = strtoull(text, NULL, 10);
    request->body = malloc(request->body_len + 1);
    for (size_t done = 0; done < request->body_len;) {
        ssize_t n = scripted_readable(c, -1)
                        ? recv(c->fd, request->body + done, request->body_len - done, 0)
                        : -1;
        if (n <= 0) {
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

// Byte by byte: it is a test.
SCRIPTED bool scripted_take(struct scripted_connection *c, struct scripted_request *request) {
    size_t len = 0;
    request->connection = c->number;
    while (len < 4 || memcmp(request->head + len - 4, "\r\n\r\n", 4) != 0) {
        if (len + 1 >= sizeof request->head || !scripted_readable(c, -1) ||
            recv(c->fd, request->head + len, 1, 0) != 1) {
            return false;
        }
        len++;
    }
    request->head[len] = '\0';
    return sscanf(request->head, "%15s %2047s", request->method, request->target) == 2 &&
           scripted_take_body(c, request);
}

// --- answering

SCRIPTED void scripted_fail(struct scripted_connection *c, enum scripted_fault fault) {
    char byte;
    if (fault == SCRIPTED_STALL) {
        while (scripted_readable(c, -1) && recv(c->fd, &byte, 1, 0) == 1) {
        }
    } else if (fault == SCRIPTED_RESET) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
}

SCRIPTED bool scripted_say_head(struct scripted_connection *c, const struct scripted_answer *a) {
    char head[8192];
    if (a->raw != NULL) {
        return scripted_say(c, a->raw, strlen(a->raw));
    }
    int n = snprintf(head, sizeof head, "HTTP/1.1 %d Scripted\r\n%s", a->status,
                     a->headers != NULL ? a->headers : "");
    if (!a->no_length) {
        uint64_t length = a->lie ? a->claimed : a->body_len;
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Length: %llu\r\n",
                      (unsigned long long)length);
    }
    if (a->in_head) { // the last header has no end
        return scripted_say(c, head, (size_t)n - 3);
    }
    bool good = scripted_say(c, head, (size_t)n);
    for (unsigned i = 0; good && a->endless_head; i++) {
        n = snprintf(head, sizeof head, "X-Filler-%u: %0100u\r\n", i, i);
        good = scripted_say(c, head, (size_t)n);
    }
    return good && scripted_say(c, "\r\n", 2);
}

SCRIPTED bool scripted_say_body(struct scripted_connection *c, const struct scripted_answer *a) {
    size_t len = a->in_body && a->after < a->body_len ? a->after : a->body_len;
    do {
        size_t step = a->drip != 0 ? a->drip : len;
        for (size_t done = 0; done < len; done += step) {
            size_t n = len - done < step ? len - done : step;
            if (!scripted_say(c, (const char *)a->body + done, n)) {
                return false;
            }
            if (a->drip != 0) {
                scripted_pause(c, a->drip_ms);
            }
        }
    } while (a->endless_body);
    return true;
}

// Whether the connection goes on.
SCRIPTED bool scripted_answer_it(struct scripted_connection *c,
                                 const struct scripted_request *request,
                                 const struct scripted_answer *a) {
    struct scripted_server *server = c->server;
    struct scripted_answer head_only = *a;
    if (strcmp(request->method, "HEAD") == 0 && !a->lie) { // says how long it would be
        head_only.lie = true;
        head_only.claimed = a->body_len;
        head_only.body_len = 0;
        a = &head_only;
    }
    pthread_mutex_lock(&server->lock);
    while (a->hold && !server->released) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    if (a->delay_ms != 0) {
        scripted_pause(c, a->delay_ms);
    }
    bool faulty = a->fault != SCRIPTED_NONE;
    if (!(faulty && !a->in_head && !a->in_body)) {
        if (!scripted_say_head(c, a) || ((!faulty || a->in_body) && !scripted_say_body(c, a))) {
            return false;
        }
    }
    if (faulty) {
        scripted_fail(c, a->fault);
        return false;
    }
    return !a->close_after && !(a->no_length && a->headers == NULL);
}

// The ready-made handler: the next of the script; behind its end the last one for ever.
SCRIPTED void scripted_next(void *ctx, const struct scripted_request *request,
                            struct scripted_answer *answer) {
    struct scripted_server *server = ctx;
    (void)request;
    pthread_mutex_lock(&server->lock);
    *answer = server->script[server->script_at];
    server->script_at += server->script_at + 1 < server->script_len;
    pthread_mutex_unlock(&server->lock);
}

SCRIPTED void scripted_record(struct scripted_server *server, struct scripted_request *request) {
    pthread_mutex_lock(&server->lock);
    if (server->request_count >= SCRIPTED_REQUESTS) {
        abort();
    }
    server->requests[server->request_count++] = request;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

SCRIPTED void *scripted_serve(void *arg) {
    struct scripted_connection *c = arg;
    struct scripted_server *server = c->server;
    for (bool more = true; more;) {
        struct scripted_request *request = calloc(1, sizeof *request);
        if (!scripted_take(c, request)) {
            free(request->body);
            free(request);
            break;
        }
        struct scripted_answer answer = {0};
        scripted_record(server, request);
        server->handle(server->ctx, request, &answer);
        more = scripted_answer_it(c, request, &answer);
    }
    pthread_mutex_lock(&server->lock);
    close(c->fd);
    server->closed_count++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

SCRIPTED void *scripted_accept(void *arg) {
    struct scripted_server *server = arg;
    struct pollfd fds[2] = {{.fd = server->listener, .events = POLLIN},
                            {.fd = server->stop, .events = POLLIN}};
    while (poll(fds, 2, -1) > 0 && fds[1].revents == 0) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            continue;
        }
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct scripted_connection *c = calloc(1, sizeof *c);
        *c = (struct scripted_connection){
            .server = server, .fd = fd, .number = server->connection_count};
        if (c->number >= SCRIPTED_CONNECTIONS ||
            pthread_create(&c->thread, NULL, scripted_serve, c) != 0) {
            abort();
        }
        pthread_mutex_lock(&server->lock);
        server->connections[server->connection_count++] = c;
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

// --- for tests

SCRIPTED struct scripted_server *scripted_begin(struct scripted_server *server) {
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    server->requests = calloc(SCRIPTED_REQUESTS, sizeof *server->requests);
    server->stop = eventfd(0, EFD_CLOEXEC);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(server->listener, 1024), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&addr, &len), 0);
    server->port = ntohs(addr.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, scripted_accept, server), 0);
    return server;
}

SCRIPTED struct scripted_server *scripted_start(scripted_handler handle, void *ctx) {
    struct scripted_server *server = calloc(1, sizeof *server);
    server->handle = handle;
    server->ctx = ctx;
    return scripted_begin(server);
}

// The script has to live as long as the server.
SCRIPTED struct scripted_server *scripted_play(const struct scripted_answer *script, size_t len) {
    struct scripted_server *server = calloc(1, sizeof *server);
    server->handle = scripted_next;
    server->ctx = server;
    server->script = script;
    server->script_len = len;
    return scripted_begin(server);
}

SCRIPTED void scripted_release(struct scripted_server *server) {
    pthread_mutex_lock(&server->lock);
    server->released = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

// Waits until so many requests have come.
SCRIPTED void scripted_wait(struct scripted_server *server, unsigned requests) {
    pthread_mutex_lock(&server->lock);
    while (server->request_count < requests) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

SCRIPTED unsigned scripted_count(struct scripted_server *server) {
    pthread_mutex_lock(&server->lock);
    unsigned count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

SCRIPTED unsigned scripted_connections(struct scripted_server *server) {
    pthread_mutex_lock(&server->lock);
    unsigned count = server->connection_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

// The i-th request that came; lives until the server stops.
SCRIPTED const struct scripted_request *scripted_seen(struct scripted_server *server, unsigned i) {
    pthread_mutex_lock(&server->lock);
    assert_true(i < server->request_count);
    const struct scripted_request *request = server->requests[i];
    pthread_mutex_unlock(&server->lock);
    return request;
}

SCRIPTED void scripted_stop(struct scripted_server *server) {
    uint64_t one = 1;
    scripted_release(server);
    assert_int_equal(write(server->stop, &one, sizeof one), sizeof one);
    pthread_join(server->thread, NULL);
    for (unsigned i = 0; i < server->connection_count; i++) {
        pthread_join(server->connections[i]->thread, NULL);
        free(server->connections[i]);
    }
    for (unsigned i = 0; i < server->request_count; i++) {
        free(server->requests[i]->body);
        free(server->requests[i]);
    }
    close(server->listener);
    close(server->stop);
    free(server->requests);
    free(server);
}

#endif
