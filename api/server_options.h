/* The command line of symbolizerd: every flag, its default and its bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"

#define SERVER_PATH_MAX 4096

struct server_endpoint {
    char address[64]; /* numeric, without brackets */
    uint16_t port;    /* 0: any free one */
};

struct server_options {
    char data_directory[SERVER_PATH_MAX];
    struct server_endpoint http;
    struct server_endpoint grpc;
    char worker[SERVER_PATH_MAX];
    uint64_t upload_size_max;
    uint64_t index_disk_size_max;
    unsigned worker_count;      /* 0: the build queue's default */
    int64_t worker_deadline_ms; /* of one job */
    uint64_t worker_memory_max;
    enum log_level log_level;
};

enum server_action { SERVER_RUN, SERVER_SHOW_HELP, SERVER_SHOW_VERSION };

/*
 * ERR_INVALID with a text for the person at the terminal: an unknown flag, a value out of bounds, a
 * stray argument, or a listen address that others can reach without --allow-remote (there is no
 * authentication yet, so it has to be said twice).
 */
enum err server_options_parse(int argument_count, char **arguments,
                              struct server_options *ret_options, enum server_action *ret_action,
                              struct error *error);

void server_options_help(FILE *out);

/* "127.0.0.1:7080", "[::1]:7080". */
enum err server_endpoint_parse(const char *text, struct server_endpoint *ret_endpoint,
                               struct error *error);
bool server_endpoint_is_loopback(const struct server_endpoint *endpoint);
