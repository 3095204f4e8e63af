/*
 * Where a server is and who asks it: the options --server, --bearer-token-file and --header, which
 * all commands that talk to a server share. Agents send the same: an authorization header with a
 * bearer token, and metadata that names a project or tenant.
 */
#pragma once

#include "base/error.h"
#include "rpc/grpc_metadata.h"

/* The token, where no file is given. */
#define REMOTE_TOKEN_VARIABLE "SYMBOLIZE_BEARER_TOKEN"

struct remote_access {
    const char *server_url;
    char *authorization; /* "Bearer ..."; NULL: none */
    struct grpc_header headers[GRPC_HEADER_COUNT_MAX];
    size_t header_count;
};

void remote_access_clear(struct remote_access *access);

/* "name=value"; the name is folded to lower case, as gRPC's clients do. ERR_INVALID. */
enum err remote_access_add_header(struct remote_access *access, const char *text,
                                  struct error *error);

/* The file's text without blanks around it. ERR_IO, ERR_INVALID. */
enum err remote_access_read_token(struct remote_access *access, const char *path,
                                  struct error *error);

/* From the environment, unless there is a token already. ERR_INVALID. */
enum err remote_access_token_of_environment(struct remote_access *access, struct error *error);
