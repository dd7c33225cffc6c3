// SPDX-License-Identifier: Apache-2.0
//
// A bucket "b" on loopback as S3 and plain web servers have it: ranges, ETags, conditions. A test
// puts objects into it, has single answers spoiled, and counts what was asked.
#ifndef SDSFS_TESTS_OBJECT_SERVER_H
#define SDSFS_TESTS_OBJECT_SERVER_H

#include "remote/scripted_server.h"

#include "base/hash.h"

#define OBJECTS 16
#define SPOILERS 16

struct served_object {
    char key[256];
    uint8_t *bytes;
    size_t len;
    unsigned version;
};

// Changes the answers to requests whose method and target have these in them (NULL: any), after the
// first `skip` of them, `times` times.
struct spoiler {
    const char *method, *target;
    unsigned skip, times;
    void (*spoil)(struct scripted_answer *answer);
    bool instead; // of doing what was asked; else after it was done
};

struct object_server {
    struct scripted_server *server;
    pthread_mutex_t lock; // protects all below
    struct served_object objects[OBJECTS];
    struct spoiler spoilers[SPOILERS];
    bool ignores_conditions;
    void *garbage[65536]; // lives as long as answers may
    size_t garbage_count;
};

SCRIPTED void *served_keep(struct object_server *s, void *memory) {
    assert_true(s->garbage_count < 65536);
    s->garbage[s->garbage_count++] = memory;
    return memory;
}

SCRIPTED struct served_object *served_find(struct object_server *s, const char *key) {
    for (size_t i = 0; i < OBJECTS; i++) {
        if (s->objects[i].bytes != NULL && strcmp(s->objects[i].key, key) == 0) {
            return &s->objects[i];
        }
    }
    return NULL;
}

SCRIPTED uint8_t served_byte(uint64_t seed, uint64_t off) {
    return (uint8_t)(sds_mix64(seed ^ off >> 3) >> (off & 7) * 8);
}

// The lock is held.
SCRIPTED void served_store(struct object_server *s, const char *key, const void *bytes,
                           size_t len) {
    struct served_object *object = served_find(s, key);
    for (size_t i = 0; object == NULL; i++) {
        object = s->objects[i].bytes == NULL ? &s->objects[i] : NULL;
    }
    snprintf(object->key, sizeof object->key, "%s", key);
    object->bytes = served_keep(s, malloc(len + 1));
    if (len > 0) {
        memcpy(object->bytes, bytes, len);
    }
    object->len = len;
    object->version++;
}

SCRIPTED void serve_bytes(struct object_server *s, const char *key, const void *bytes, size_t len) {
    pthread_mutex_lock(&s->lock);
    served_store(s, key, bytes, len);
    pthread_mutex_unlock(&s->lock);
}

SCRIPTED void serve(struct object_server *s, const char *key, size_t len, uint64_t seed) {
    uint8_t *bytes = malloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = served_byte(seed, i);
    }
    serve_bytes(s, key, bytes, len);
    free(bytes);
}

SCRIPTED void served_etag(const struct served_object *object, char *out, size_t size) {
    snprintf(out, size, "\"v%u-%zu\"", object->version, object->len);
}

// Whether a condition of the request fails; quotes are optional, as on S3.
SCRIPTED bool served_precondition(const struct scripted_request *request,
                                  const struct served_object *object) {
    char want[256], etag[64];
    if (object != NULL) {
        served_etag(object, etag, sizeof etag);
    }
    if (scripted_header(request, "If-None-Match", want, sizeof want) != NULL && object != NULL) {
        return true;
    }
    if (scripted_header(request, "If-Match", want, sizeof want) == NULL) {
        return false;
    }
    char bare[64] = "";
    if (object != NULL) {
        snprintf(bare, sizeof bare, "%.*s", (int)strlen(etag) - 2, etag + 1);
    }
    return object == NULL || (strcmp(want, etag) != 0 && strcmp(want, bare) != 0);
}

SCRIPTED void served_get(struct object_server *s, const struct scripted_request *request,
                         const struct served_object *object, struct scripted_answer *answer) {
    char range[128], etag[64], part[128] = "";
    unsigned long long first = 0, last = object->len > 0 ? object->len - 1 : 0;
    answer->status = 200;
    answer->body = object->bytes;
    answer->body_len = object->len;
    if (scripted_header(request, "Range", range, sizeof range) != NULL &&
        sscanf(range, "bytes=%llu-%llu", &first, &last) == 2) {
        if (first >= object->len) {
            answer->status = 416;
            answer->body_len = 0;
            snprintf(part, sizeof part, "Content-Range: bytes */%zu\r\n", object->len);
        } else {
            last = last < object->len ? last : object->len - 1;
            answer->status = 206;
            answer->body = object->bytes + first;
            answer->body_len = (size_t)(last - first + 1);
            snprintf(part, sizeof part, "Content-Range: bytes %llu-%llu/%zu\r\n", first, last,
                     object->len);
        }
    }
    served_etag(object, etag, sizeof etag);
    char *headers = served_keep(s, malloc(512));
    snprintf(headers, 512,
             "ETag: %s\r\nLast-Modified: Tue, 01 Dec 2020 00:00:00 GMT\r\nAccept-Ranges: "
             "bytes\r\n%s",
             etag, part);
    answer->headers = headers;
}

SCRIPTED void served_put(struct object_server *s, const struct scripted_request *request,
                         const char *key, struct scripted_answer *answer) {
    char etag[64];
    served_store(s, key, request->body, request->body_len);
    served_etag(served_find(s, key), etag, sizeof etag);
    char *headers = served_keep(s, malloc(128));
    snprintf(headers, 128, "ETag: %s\r\n", etag);
    answer->status = 200;
    answer->headers = headers;
}

SCRIPTED bool served_spoil(struct object_server *s, const struct scripted_request *request,
                           bool instead, struct scripted_answer *answer) {
    for (size_t i = 0; i < SPOILERS; i++) {
        struct spoiler *spoiler = &s->spoilers[i];
        if (spoiler->spoil == NULL || spoiler->times == 0 || spoiler->instead != instead ||
            (spoiler->method != NULL && strcmp(spoiler->method, request->method) != 0) ||
            (spoiler->target != NULL && strstr(request->target, spoiler->target) == NULL)) {
            continue;
        }
        if (spoiler->skip > 0) {
            spoiler->skip--;
        } else {
            spoiler->times--;
            spoiler->spoil(answer);
            return true;
        }
    }
    return false;
}

SCRIPTED void served_answer(void *ctx, const struct scripted_request *request,
                            struct scripted_answer *answer) {
    struct object_server *s = ctx;
    char key[256] = "";
    snprintf(key, sizeof key, "%s",
             strncmp(request->target, "/b/", 3) == 0 ? request->target + 3 : "");
    key[strcspn(key, "?%")] = '\0';
    pthread_mutex_lock(&s->lock);
    const struct served_object *object = served_find(s, key);
    bool put = strcmp(request->method, "PUT") == 0;
    if (served_spoil(s, request, true, answer)) {
        pthread_mutex_unlock(&s->lock);
        return;
    }
    if ((!put || !s->ignores_conditions) && served_precondition(request, object)) {
        answer->status = object == NULL ? 404 : 412;
    } else if (put) {
        served_put(s, request, key, answer);
    } else if (object == NULL) {
        answer->status = 404;
    } else {
        served_get(s, request, object, answer);
    }
    served_spoil(s, request, false, answer);
    pthread_mutex_unlock(&s->lock);
}

SCRIPTED void object_server_start(struct object_server *s) {
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->server = scripted_start(served_answer, s);
}

SCRIPTED void object_server_stop(struct object_server *s) {
    scripted_stop(s->server);
    for (size_t i = 0; i < s->garbage_count; i++) {
        free(s->garbage[i]);
    }
    pthread_mutex_destroy(&s->lock);
}

SCRIPTED void spoil(struct object_server *s, struct spoiler spoiler) {
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SPOILERS; i++) {
        if (s->spoilers[i].times == 0) {
            s->spoilers[i] = spoiler;
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

// --- counting

// Requests since `from` (a scripted_count), by method; NULL: all.
SCRIPTED unsigned asked(struct object_server *s, unsigned from, const char *method) {
    unsigned count = 0, all = scripted_count(s->server);
    for (unsigned i = from; i < all; i++) {
        count += method == NULL || strcmp(scripted_seen(s->server, i)->method, method) == 0;
    }
    return count;
}

// Bytes of the ranges asked for.
SCRIPTED uint64_t asked_bytes(struct object_server *s, unsigned from) {
    uint64_t sum = 0;
    unsigned all = scripted_count(s->server);
    for (unsigned i = from; i < all; i++) {
        char range[128];
        unsigned long long first, last;
        if (scripted_header(scripted_seen(s->server, i), "Range", range, sizeof range) != NULL &&
            sscanf(range, "bytes=%llu-%llu", &first, &last) == 2) {
            sum += last - first + 1;
        }
    }
    return sum;
}

#endif
