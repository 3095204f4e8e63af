/* The command line of `symbolize upload`. */
#pragma once

#include <stdbool.h>

#include "base/binary_id.h"
#include "cli/remote_upload.h"

struct upload_options {
    struct remote_options remote;
    bool has_id;
    struct binary_id id; /* what the one file goes by, if has_id */
    bool json;
    bool wants_help;
    unsigned jobs; /* uploads at a time */
    char **paths;  /* into argv */
    int path_count;
};

/* ERR_INVALID, ERR_IO name what is wrong. Reorders argv (getopt_long) and keeps pointing into it.
 * End it with upload_options_clear, also after a failure. */
enum err upload_options_parse(int argument_count, char **arguments, struct upload_options *options,
                              struct error *error);
void upload_options_clear(struct upload_options *options);

extern const char upload_help[];
