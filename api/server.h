/*
 * The parts of symbolizerd, opened in the order in which they need each other and ended in
 * reverse. Holds the lock on the data directory, so that there is one server per directory.
 *
 * Logs what a person wants to know of a start and a stop:
 *
 *     event=listening protocol=http address=127.0.0.1 port=7080 tls=off
 *     event=listening protocol=grpc address=127.0.0.1 port=7070 tls=off
 *     event=ready data_dir=…
 *     event=stopped
 */
#pragma once

#include "api/server_options.h"
#include "base/cleanup.h"

struct server;

/* Borrows options and log. ERR_UNAVAILABLE when another server has the data directory. */
enum err server_open(const struct server_options *options, const struct log *log,
                     struct server **ret_server, struct error *error);

/* Reads the certificates again, then takes the settings of the table (api/settings.h) that reload
 * and are not the log's. After a failure everything stays as it is. */
enum err server_reload(struct server *server, const struct server_options *options,
                       struct error *error);

/* Stops listening, answers what is under way for up to grace_ms, and ends all parts. */
void server_stop(struct server *server, int64_t grace_ms);
void server_free(struct server *server);
DEFINE_CLEANUP(server, struct server, server_free)
