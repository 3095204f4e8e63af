/*
 * Who asks, and until when. Made once at the edge (api/, or the CLI) and handed down unchanged.
 * Until tenants exist, the edge fills in the one default tenant and all roles.
 */
#pragma once

#include <stdint.h>

#define TENANT_DEFAULT "default"
#define TENANT_NAME_MAX 127
#define REQUEST_ID_SIZE 33 /* 32 hex digits and NUL */

enum role {
    ROLE_UPLOAD = 1u << 0,
    ROLE_RESOLVE = 1u << 1,
    ROLE_DOWNLOAD = 1u << 2,
    ROLE_ADMIN = 1u << 3,
    ROLE_AUDIT = 1u << 4,
};

struct request_context {
    char tenant[TENANT_NAME_MAX + 1];
    char principal[TENANT_NAME_MAX + 1];
    unsigned roles;                   /* of enum role */
    int64_t deadline_mono_ms;         /* clock_mono_ms() value; INT64_MAX: none */
    char request_id[REQUEST_ID_SIZE]; /* shown to the client and in logs */
};

/* The default tenant with every role, no deadline, a fresh random request id. */
struct request_context request_context_default(const char *principal);
