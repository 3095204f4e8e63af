#include "api/error_map.h"

struct error_mapping {
    enum grpc_status grpc;
    unsigned http;
};

static const struct error_mapping mappings[ERR_COUNT] = {
    [ERR_OK] = {GRPC_OK, 200},
    /* The next request may find room, and so may another replica. */
    [ERR_NO_MEMORY] = {GRPC_RESOURCE_EXHAUSTED, 503},
    /* Our disk's trouble, not the client's: a full or failing disk is repaired while agents retry.
     */
    [ERR_IO] = {GRPC_UNAVAILABLE, 503},
    [ERR_MALFORMED] = {GRPC_INVALID_ARGUMENT, 400},
    [ERR_UNSUPPORTED] = {GRPC_INVALID_ARGUMENT, 422},
    [ERR_LIMIT] = {GRPC_INVALID_ARGUMENT, 413},
    [ERR_INVALID] = {GRPC_INVALID_ARGUMENT, 400},
    [ERR_NOT_FOUND] = {GRPC_NOT_FOUND, 404},
    [ERR_EXISTS] = {GRPC_ALREADY_EXISTS, 409},
    [ERR_STATE] = {GRPC_FAILED_PRECONDITION, 409},
    [ERR_EXHAUSTED] = {GRPC_RESOURCE_EXHAUSTED, 429},
    /* RFC 4918, 11.5: insufficient storage. */
    [ERR_NO_SPACE] = {GRPC_RESOURCE_EXHAUSTED, 507},
    [ERR_UNAVAILABLE] = {GRPC_UNAVAILABLE, 503},
    [ERR_TIMEOUT] = {GRPC_DEADLINE_EXCEEDED, 504},
    /* 499 is nginx's number for a client that went away; nobody is left to read it. */
    [ERR_CANCELLED] = {GRPC_CANCELLED, 499},
    [ERR_ABORTED] = {GRPC_ABORTED, 409},
    [ERR_UNIMPLEMENTED] = {GRPC_UNIMPLEMENTED, 501},
    [ERR_DENIED] = {GRPC_PERMISSION_DENIED, 403},
    /* The input killed a parser, or our own logic broke: asking again at once would do so again. */
    [ERR_KILLED] = {GRPC_INTERNAL, 500},
    [ERR_DAMAGED] = {GRPC_DATA_LOSS, 500},
    [ERR_INTERNAL] = {GRPC_INTERNAL, 500},
};

enum grpc_status error_map_grpc(enum err code) {
    return code < ERR_COUNT ? mappings[code].grpc : GRPC_INTERNAL;
}

unsigned error_map_http(enum err code) {
    return code < ERR_COUNT ? mappings[code].http : 500;
}

const char *error_map_public_text(const struct error *error) {
    if (error->code == ERR_NO_SPACE)
        return "the server's disk is full; try again later";
    if (error->sys_errno != 0 || error->code == ERR_IO || error->code == ERR_INTERNAL)
        return "the server has trouble of its own; its log says more";
    return error->text;
}
