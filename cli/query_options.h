/*
 * The command line of `symbolize query`: where to ask and about what, and for the rest the options
 * of the offline command (cli/options.h), so that answers can be had in the same shapes.
 */
#pragma once

#include <stdbool.h>

#include "base/binary_id.h"
#include "cli/options.h"
#include "cli/remote_access.h"

struct query_options {
    struct remote_access access;
    struct options shape; /* its inputs are the addresses */
    struct binary_id id;
    bool wants_help;
    unsigned retries;
    int64_t timeout_ms; /* per request */
    int64_t wait_ms;    /* for an index that is being made */
    char **kept;        /* arguments of `shape`; owned */
};

/* ERR_INVALID, ERR_IO name what is wrong. Keeps pointing into argv. End it with
 * query_options_clear, also after a failure. */
enum err query_options_parse(int argument_count, char **arguments, struct query_options *options,
                             struct error *error);
void query_options_clear(struct query_options *options);

extern const char query_help[];
