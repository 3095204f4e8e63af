#include "api/server_options.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/http_cors.h"
#include "base/cleanup.h"

#define SYSTEM_DATA_DIRECTORY "/var/lib/symbolizer"
#define WORKER_NAME "symbolizer-worker"
#define WORKER_COUNT_DEFAULT_MAX 4

enum err server_endpoint_parse(const char *text, struct server_endpoint *ret_endpoint,
                               struct error *error) {
    struct server_endpoint endpoint = {.port = 0};
    const char *colon = strrchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : 0;
    bool bracketed = size >= 2 && text[0] == '[' && text[size - 1] == ']';
    const char *address = bracketed ? text + 1 : text;
    size -= bracketed ? 2 : 0;
    unsigned char parsed[sizeof(struct in6_addr)];
    char *end = NULL;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    bool good = colon && size < sizeof(endpoint.address) && colon[1] >= '0' && colon[1] <= '9' &&
                *end == '\0' && port <= UINT16_MAX;
    if (good) {
        memcpy(endpoint.address, address, size);
        endpoint.port = (uint16_t)port;
        good = inet_pton(bracketed ? AF_INET6 : AF_INET, endpoint.address, parsed) == 1;
    }
    if (!good)
        return error_set(error, ERR_INVALID,
                         "\"%.100s\" is no listen address; want 127.0.0.1:7080 or [::1]:7080",
                         text);
    *ret_endpoint = endpoint;
    return ERR_OK;
}

bool server_endpoint_is_loopback(const struct server_endpoint *endpoint) {
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, endpoint->address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, endpoint->address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* symbolizer-worker in the folder of the running program. */
static enum err default_worker(char ret_path[static SERVER_PATH_MAX], struct error *error) {
    char program[SERVER_PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (size < 0)
        return error_set(error, ERR_INVALID, "cannot tell where symbolizerd lies: give --worker");
    program[size] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        slash[1] = '\0';
    if (snprintf(ret_path, SERVER_PATH_MAX, "%s%s", program, WORKER_NAME) >= SERVER_PATH_MAX)
        return error_set(error, ERR_INVALID, "the path of symbolizerd is too long: give --worker");
    return ERR_OK;
}

static enum err default_data_directory(char ret_path[static SERVER_PATH_MAX], struct error *error) {
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int size = 0;
    if (geteuid() == 0)
        size = snprintf(ret_path, SERVER_PATH_MAX, "%s", SYSTEM_DATA_DIRECTORY);
    else if (state && state[0] == '/')
        size = snprintf(ret_path, SERVER_PATH_MAX, "%s/symbolizer", state);
    else if (home && home[0] == '/')
        size = snprintf(ret_path, SERVER_PATH_MAX, "%s/.local/state/symbolizer", home);
    if (size <= 0 || size >= SERVER_PATH_MAX)
        return error_set(error, ERR_INVALID, "no home directory to keep data in: give --data-dir");
    return ERR_OK;
}

static unsigned default_worker_count(void) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1                          ? 1
           : cpus > WORKER_COUNT_DEFAULT_MAX ? WORKER_COUNT_DEFAULT_MAX
                                             : (unsigned)cpus;
}

enum err server_options_complete(struct server_options *options, struct error *error) {
    enum err err = ERR_OK;
    if (!options->data_directory[0])
        err = default_data_directory(options->data_directory, error);
    if (err == ERR_OK && !options->worker[0])
        err = default_worker(options->worker, error);
    if (options->worker_count == 0)
        options->worker_count = default_worker_count();
    return err;
}

static enum err check_origins(const struct server_list *origins, struct error *error) {
    for (size_t i = 0; i < origins->count; i++) {
        if (!http_cors_is_origin(origins->texts[i]))
            return error_set(error, ERR_INVALID,
                             "http.cors_allowed_origins: \"%.100s\" is no origin; want one such as "
                             "https://grafana.example.org, without a slash at its end",
                             origins->texts[i]);
    }
    return ERR_OK;
}

static enum err check_tls(const struct server_options *options, struct error *error) {
    bool certificate = options->tls_certificate[0];
    bool key = options->tls_key[0];
    if (certificate != key)
        return error_set(error, ERR_INVALID, "tls.certificate and tls.key belong together: give %s",
                         certificate ? "tls.key" : "tls.certificate");
    if (options->tls_client_ca[0] && !certificate)
        return error_set(error, ERR_INVALID,
                         "tls.client_ca needs tls.certificate and tls.key: without TLS no client "
                         "shows a certificate");
    return ERR_OK;
}

static enum err check_methods(const struct server_list *methods, struct error *error) {
    for (size_t i = 0; i < methods->count; i++) {
        if (!http_cors_is_method(methods->texts[i]))
            return error_set(error, ERR_INVALID,
                             "http.cors_allowed_methods: \"%.100s\" is none of GET, POST, PUT and "
                             "DELETE",
                             methods->texts[i]);
    }
    return ERR_OK;
}

enum err server_options_check(const struct server_options *options, struct error *error) {
    bool local = server_endpoint_is_loopback(&options->http) &&
                 server_endpoint_is_loopback(&options->grpc);
    if (!local && !options->allow_remote && !options->tls_client_ca[0])
        return error_set(error, ERR_INVALID,
                         "others can reach that listen address, and nothing is authenticated: "
                         "anyone could upload and read symbols; give --allow-remote if that is "
                         "meant, or --tls-client-ca to ask for certificates");
    if (options->upload_strategy == SERVER_UPLOAD_SIGNED_URL && !options->upload_public_url[0])
        return error_set(error, ERR_INVALID,
                         "uploads.strategy signed_url needs uploads.public_url: the URL under "
                         "which agents reach the HTTP listener");
    enum err err = check_origins(&options->http_cors_allowed_origins, error);
    if (err == ERR_OK)
        err = check_methods(&options->http_cors_allowed_methods, error);
    return err == ERR_OK ? check_tls(options, error) : err;
}
