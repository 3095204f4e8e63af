/*
 * A blocking gRPC client: one connection, one call at a time, unary or client-streaming. Its
 * sending obeys HTTP/2 flow control, and it notices when the server answers before the request
 * is complete.
 *
 * Threads: one client belongs to one thread at a time. What the server sends is bounds-checked.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "rpc/grpc_metadata.h"
#include "rpc/grpc_status.h"

struct grpc_client;
struct grpc_client_call;
struct tls_credentials;

struct grpc_client_config {
    const char *url; /* "http://host:port", h2c by prior knowledge; or "https://host:port" */
    struct tls_credentials *tls;       /* for https, and needed then; borrowed until it is open */
    const char *authorization;         /* a header value, "Bearer ..."; NULL: none */
    const struct grpc_header *headers; /* go with every call; must outlive the client */
    size_t header_count;
    int64_t connect_timeout_ms; /* 0: 10 s */
    uint64_t message_size_max;  /* of an answer; 0: 4 MiB */
};

/* ERR_INVALID, and what grpc_dial fails with. */
enum err grpc_client_open(const struct grpc_client_config *config, struct grpc_client **ret_client,
                          struct error *error);
void grpc_client_free(struct grpc_client *client);
DEFINE_CLEANUP(grpc_client, struct grpc_client, grpc_client_free)

/* What the server said. The message is empty unless the status is GRPC_OK. */
struct grpc_reply {
    enum grpc_status status;
    char text[512];
    struct buffer message;
};

void grpc_reply_clear(struct grpc_reply *reply);

/*
 * The functions below return an error only when there is no answer of the server: ERR_UNAVAILABLE
 * (the connection broke), ERR_TIMEOUT, ERR_MALFORMED (what came is no gRPC), ERR_DENIED (the server
 * does not accept our certificate, which it says only now). timeout_ms 0: none;
 * it is sent along as grpc-timeout. After such an error the client can only be freed.
 */
enum err grpc_client_unary(struct grpc_client *client, const char *path, struct span request,
                           int64_t timeout_ms, struct grpc_reply *ret_reply, struct error *error);

enum err grpc_client_call_open(struct grpc_client *client, const char *path, int64_t timeout_ms,
                               struct grpc_client_call **ret_call, struct error *error);

/* Sends one message made of the parts in a row; blocks until the connection took it. ERR_STATE
 * when the server has answered already, and grpc_client_call_finish tells what. */
enum err grpc_client_call_send(struct grpc_client_call *call, const struct span *parts,
                               size_t part_count, struct error *error);

/* No more messages; waits for the answer. */
enum err grpc_client_call_finish(struct grpc_client_call *call, struct grpc_reply *ret_reply,
                                 struct error *error);

/* Cancels the call unless it is finished. */
void grpc_client_call_free(struct grpc_client_call *call);
DEFINE_CLEANUP(grpc_client_call, struct grpc_client_call, grpc_client_call_free)
