/*
 * Where a server is, who asks it, and whom they trust: the options --server, --bearer-token-file,
 * --header, --cacert, --cert, --key and --insecure, which all commands that talk to a server share.
 * Agents send the same: an authorization header with a bearer token, and metadata that names a
 * project or tenant.
 */
#pragma once

#include "base/error.h"
#include "rpc/grpc_metadata.h"
#include "rpc/tls_credentials.h"

/* The token, where no file is given. */
#define REMOTE_TOKEN_VARIABLE "SYMBOLIZE_BEARER_TOKEN"

struct remote_access {
    const char *server_url;
    char *authorization; /* "Bearer ..."; NULL: none */
    struct grpc_header headers[GRPC_HEADER_COUNT_MAX];
    size_t header_count;

    /* For https, as curl's options of these names. NULL: the system's authorities; no certificate;
     * the key is in the certificate's file. */
    const char *authorities;
    const char *certificate;
    const char *key;
    bool insecure;
    struct tls_credentials *tls; /* made of these, for gRPC; NULL until it is needed */
};

/* What --help says of the four. */
#define REMOTE_TLS_HELP                                                                            \
    "  --cacert FILE             https: certificate authorities (PEM) to trust, instead of the\n"  \
    "                            system's\n"                                                       \
    "  --cert FILE               https: a certificate (PEM) to show to the server\n"               \
    "  --key FILE                https: its key, where that is not in the same file\n"             \
    "  --insecure                https: takes whatever certificate the server shows\n"

void remote_access_clear(struct remote_access *access);

/* "name=value"; the name is folded to lower case, as gRPC's clients do. ERR_INVALID. */
enum err remote_access_add_header(struct remote_access *access, const char *text,
                                  struct error *error);

/* The file's text without blanks around it. ERR_IO, ERR_INVALID. */
enum err remote_access_read_token(struct remote_access *access, const char *path,
                                  struct error *error);

/* Once all options are known: loads the files that are named, so that what is wrong with them is
 * said before anything is asked. ERR_INVALID, ERR_IO, ERR_MALFORMED. */
enum err remote_access_check_tls(struct remote_access *access, struct error *error);

/* For gRPC to an https server: sees to access->tls. */
enum err remote_access_load_tls(struct remote_access *access, struct error *error);

/* From the environment, unless there is a token already. ERR_INVALID. */
enum err remote_access_token_of_environment(struct remote_access *access, struct error *error);
