/* The command line of `symbolize admin`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "cli/remote_access.h"

enum admin_action { ADMIN_LIST, ADMIN_MISSING, ADMIN_SHOW, ADMIN_DELETE };

struct admin_options {
    enum admin_action action;
    struct remote_access access;
    enum binary_id_kind kind;
    /* What list, and delete for the type, are bounded by; NULL: nothing. */
    const char *type;
    const char *state;
    const char *contents;
    const char *prefix;
    long limit; /* of list and missing; 0: none */
    bool json;
    bool wants_help;
    char **ids; /* of show and delete */
    int id_count;
    unsigned retries;
    int64_t timeout_ms;
    char **kept; /* the arguments that ids points into; owned */
};

/* ERR_INVALID, ERR_IO name what is wrong. Keeps pointing into argv. End it with
 * admin_options_clear, also after a failure. */
enum err admin_options_parse(int argument_count, char **arguments, struct admin_options *options,
                             struct error *error);
void admin_options_clear(struct admin_options *options);

extern const char admin_help[];
