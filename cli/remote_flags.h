/*
 * Options that all commands on the HTTP API have, taken out of a command line that
 * another parser reads: "--name value" and "--name=value", up to "--".
 */
#pragma once

#include <stdbool.h>

#include "cli/remote_access.h"

struct remote_flags {
    struct remote_access *access;
    long retries;
    long timeout_s;
    long wait_s;
    const char *id_kind; /* NULL: not given */
};

/* ret_rest (room for argument_count + 1) gets the arguments that are not ours, and a NULL behind
 * them. ERR_INVALID, ERR_IO. */
enum err remote_flags_take(int argument_count, char **arguments, struct remote_flags *flags,
                           char **ret_rest, int *ret_rest_count, struct error *error);

/* Decimal, within the bounds. ERR_INVALID. */
enum err remote_number_parse(const char *text, long min, long max, long *ret_number,
                             struct error *error);
