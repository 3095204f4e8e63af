/*
 * What symbolizerd was told to do, as a typed struct. Where each value comes from (a flag, the
 * configuration file, a default), its bounds and its words are in the table of api/settings.h; a
 * field here without a row there is filled by nobody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

#define SERVER_PATH_MAX 4096
#define SERVER_TEXT_MAX 512
#define SERVER_LIST_MAX 16

struct server_endpoint {
    char address[64]; /* numeric, without brackets */
    uint16_t port;    /* 0: any free one */
};

struct server_list {
    size_t count;
    char texts[SERVER_LIST_MAX][SERVER_TEXT_MAX];
};

/* How ShouldInitiateUpload's answer tells an agent to send its bytes. */
enum server_upload_strategy { SERVER_UPLOAD_GRPC, SERVER_UPLOAD_SIGNED_URL };

struct server_options {
    char data_directory[SERVER_PATH_MAX];
    struct server_endpoint http;
    struct server_endpoint grpc;
    bool allow_remote;
    int64_t shutdown_grace_ms;
    int64_t grpc_keepalive_time_ms;
    int64_t grpc_keepalive_timeout_ms;
    int64_t grpc_ping_interval_min_ms;
    bool grpc_pings_without_calls;
    int64_t grpc_connection_idle_ms;
    int64_t grpc_connection_age_ms; /* 0: any */

    char tls_certificate[SERVER_PATH_MAX]; /* empty: no TLS */
    char tls_key[SERVER_PATH_MAX];         /* given whenever the certificate is */
    char tls_client_ca[SERVER_PATH_MAX];   /* empty: clients need no certificate */

    struct server_list http_cors_allowed_origins; /* empty: no CORS headers */
    struct server_list http_cors_allowed_methods;
    bool http_access_log;

    enum server_upload_strategy upload_strategy;
    char upload_public_url[SERVER_TEXT_MAX]; /* without a slash at its end; may be empty */
    int64_t signed_url_expiry_ms;
    int64_t upload_stale_ms;
    uint64_t upload_size_max;
    unsigned upload_stream_max;

    int64_t blob_compress_after_ms; /* 0: never */
    int64_t blob_sweep_after_ms;    /* 0: never */
    uint64_t index_disk_size_max;
    uint64_t index_mapped_size_max;

    char worker[SERVER_PATH_MAX];
    unsigned worker_count;
    int64_t worker_deadline_ms; /* of one job */
    uint64_t worker_memory_max;
    unsigned worker_thread_count; /* of one build */

    enum log_level log_level;
};

/* Fills what has no fixed default: the data directory, the worker, the number of workers. */
enum err server_options_complete(struct server_options *options, struct error *error);

/*
 * What no single value can tell: ERR_INVALID for a listen address that others can reach without
 * allow_remote or client certificates (there is no other authentication yet, so it has to be said
 * twice), a certificate without a key, signed URLs without the base of the URL.
 */
enum err server_options_check(const struct server_options *options, struct error *error);

/* "127.0.0.1:7080", "[::1]:7080". */
enum err server_endpoint_parse(const char *text, struct server_endpoint *ret_endpoint,
                               struct error *error);
bool server_endpoint_is_loopback(const struct server_endpoint *endpoint);
