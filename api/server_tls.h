/*
 * The certificates of both listeners: loaded at the start, and again by SIGHUP from the same files.
 * New connections get the new ones; those that are open keep theirs. Logs
 *
 *     event=tls_loaded certificate=… not_after=2027-03-01T12:00:00Z clients=any
 *     event=tls_warning warning="… has expired on …"
 *     event=tls_refused protocol=grpc peer=192.0.2.7:50312 reason=…
 *
 * where the last is a client whose handshake failed.
 */
#pragma once

#include <stdatomic.h>

#include "api/server_options.h"
#include "base/log.h"
#include "rpc/tls_slot.h"

enum server_tls_listener { SERVER_TLS_GRPC, SERVER_TLS_HTTP, SERVER_TLS_LISTENER_COUNT };

struct server_tls {
    const struct server_options *options; /* borrowed, as the log */
    const struct log *log;
    struct tls_slot slot;
    bool is_on;
    atomic_uint_fast64_t refused[SERVER_TLS_LISTENER_COUNT];
};

struct server_tls_stats {
    bool is_on;
    uint64_t refused[SERVER_TLS_LISTENER_COUNT]; /* clients told why not */
    int64_t not_after;                           /* of the certificate, in seconds since 1970 */
};

/* Where no certificate is set, there is nothing to load: is_on stays false. Errors name setting
 * and file. */
enum err server_tls_open(const struct server_options *options, const struct log *log,
                         struct server_tls *tls, struct error *error);
void server_tls_close(struct server_tls *tls);

/* The files once more; after a failure everything stays as it is. */
enum err server_tls_reload(struct server_tls *tls, struct error *error);

/* For the listeners: NULL when off. */
struct tls_slot *server_tls_slot(struct server_tls *tls);

void server_tls_stats_read(struct server_tls *tls, struct server_tls_stats *ret_stats);

/* Observers of the listeners; the argument is a struct server_tls. */
void server_tls_refused_grpc(void *argument, const char *peer, const char *reason);
void server_tls_refused_http(void *argument, const char *peer, const char *reason);

/*
 * What --check-config finds: an error, or a warning for a person (the certificate is not valid at
 * that time; else "").
 */
#define SERVER_TLS_WARNING_SIZE (SERVER_PATH_MAX + 128)
enum err server_tls_check(const struct server_options *options, int64_t now_ms,
                          char ret_warning[static SERVER_TLS_WARNING_SIZE], struct error *error);
