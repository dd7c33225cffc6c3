// SPDX-License-Identifier: Apache-2.0
//
// Whom the pool trusts, and who trusts it: against `openssl s_server`, with certificates made here.
#include "http_outcome.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static char dir[] = "/tmp/sdsfs-tls-XXXXXX";
static char server_pem[64], client_pem[64]; // key and certificate, signed by themselves

extern char **environ;

static int run_openssl(char *const *args) {
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, "openssl", &actions, NULL, args, environ) == 0) {
        waitpid(pid, &status, 0);
    }
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

static int make_certificate(const char *path, char *subject, char *names) {
    char key_path[80];
    snprintf(key_path, sizeof key_path, "%s", path);
    char *args[] = {
        "openssl", "req",    "-x509", "-newkey", "ec",    "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes",  "-days",  "2",     "-subj",   subject, "-addext",  names,
        "-keyout", key_path, "-out",  key_path,  NULL};
    return run_openssl(args);
}

static int make_certificates(void **state) {
    clear_environment(state);
    snprintf(server_pem, sizeof server_pem, "%s/server.pem", mkdtemp(dir));
    snprintf(client_pem, sizeof client_pem, "%s/client.pem", dir);
    return make_certificate(server_pem, "/CN=server", "subjectAltName=IP:127.0.0.1") == 0 &&
                   make_certificate(client_pem, "/CN=client", "subjectAltName=DNS:client") == 0
               ? 0
               : -1;
}

static int remove_certificates(void **state) {
    (void)state;
    unlink(server_pem);
    unlink(client_pem);
    return rmdir(dir);
}

struct server {
    pid_t pid;
    unsigned port;
};

// A server that answers everything with a page about the connection; with `asks` only those whose
// certificate it knows.
static void start_server(struct server *server, bool asks) {
    char *args[] = {"openssl",
                    "s_server",
                    "-4",
                    "-accept",
                    "0",
                    "-cert",
                    server_pem,
                    "-www",
                    asks ? "-Verify" : NULL,
                    "1",
                    "-verify_return_error",
                    "-CAfile",
                    client_pem,
                    NULL};
    char line[256];
    int ends[2];
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawnp(&server->pid, "openssl", &actions, NULL, args, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    server->port = 0;
    while (server->port == 0 && fgets(line, sizeof line, out) != NULL) {
        const char *colon = strrchr(line, ':');
        if (strncmp(line, "ACCEPT", 6) == 0 && colon != NULL) {
            server->port = (unsigned)strtoul(colon + 1, NULL, 10);
        }
    }
    fclose(out);
    assert_int_not_equal(server->port, 0);
}

static void stop_server(struct server *server) {
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
}

static void get(const struct server *server, const char *host,
                const struct sds_http_options *options, enum sds_http_failure expected) {
    struct sds_http *http = new_pool(options);
    struct outcome o;
    outcome_init(&o);
    o.request.method = "GET";
    o.request.max_body = 1 << 20;
    assert_int_equal(sds_http_request_url(&o.request, "https://%s:%u/", host, server->port),
                     SDS_OK);
    run(http, &o);
    expect_failure(&o, expected);
    if (expected == SDS_HTTP_ANSWERED) {
        assert_int_equal(o.answer.status, 200);
        assert_non_null(strstr(o.body, "TLSv1."));
    } else {
        struct sds_err err;
        assert_int_equal(sds_http_failed(&o.answer, &err), SDS_ERR_STORAGE);
        assert_string_equal(err.check, "tls");
    }
    outcome_fini(&o);
    sds_http_free(http);
}

static void trusts_who_it_should(void **state) {
    (void)state;
    struct server server;
    start_server(&server, false);
    get(&server, "127.0.0.1", &(struct sds_http_options){.ca_bundle = server_pem},
        SDS_HTTP_ANSWERED);
    get(&server, "127.0.0.1", &(struct sds_http_options){0}, SDS_HTTP_TLS);
    get(&server, "127.0.0.1", &(struct sds_http_options){.ca_bundle = client_pem}, SDS_HTTP_TLS);
    // The certificate is good, but of somebody else.
    get(&server, "localhost", &(struct sds_http_options){.ca_bundle = server_pem}, SDS_HTTP_TLS);
    stop_server(&server);
}

static void trusts_who_the_environment_says(void **state) {
    (void)state;
    static const char *const names[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    struct server server;
    start_server(&server, false);
    for (int i = 0; i < 3; i++) {
        setenv(names[i], server_pem, 1);
        get(&server, "127.0.0.1", &(struct sds_http_options){0}, SDS_HTTP_ANSWERED);
        // What was given goes before.
        get(&server, "127.0.0.1", &(struct sds_http_options){.ca_bundle = client_pem},
            SDS_HTTP_TLS);
        clear_environment(NULL);
    }
    stop_server(&server);
}

static void shows_its_certificate(void **state) {
    (void)state;
    struct server server;
    start_server(&server, true);
    get(&server, "127.0.0.1",
        &(struct sds_http_options){.ca_bundle = server_pem, .client_cert = client_pem},
        SDS_HTTP_ANSWERED);
    get(&server, "127.0.0.1",
        &(struct sds_http_options){
            .ca_bundle = server_pem, .client_cert = client_pem, .client_key = client_pem},
        SDS_HTTP_ANSWERED);
    get(&server, "127.0.0.1", &(struct sds_http_options){.ca_bundle = server_pem}, SDS_HTTP_TLS);
    stop_server(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusts_who_it_should),
        cmocka_unit_test(trusts_who_the_environment_says),
        cmocka_unit_test(shows_its_certificate),
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
