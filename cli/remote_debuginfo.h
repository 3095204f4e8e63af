/* The calls of parca.debuginfo.v1alpha1.DebuginfoService as functions, on a blocking client. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/error.h"
#include "base/span.h"
#include "rpc/grpc_client.h"

#define REMOTE_TEXT_SIZE 512

enum remote_type { REMOTE_DEBUGINFO, REMOTE_EXECUTABLE };

/* What is to be uploaded. */
struct remote_object {
    struct binary_id id; /* gnu, htlhash or go */
    struct binary_id htlhash;
    enum remote_type type;
    bool force;
    struct span bytes;
};

/* What the server said to a call; the text is its reason or its message. */
struct remote_answer {
    enum grpc_status status;
    bool should_upload;               /* ShouldInitiateUpload */
    char upload_id[REMOTE_TEXT_SIZE]; /* InitiateUpload */
    char text[REMOTE_TEXT_SIZE];
};

/* Errors: as grpc_client.h, and ERR_MALFORMED for an answer that is not the call's message. */
enum err remote_should_initiate(struct grpc_client *client, const struct remote_object *object,
                                struct remote_answer *ret_answer, struct error *error);

/* ERR_UNSUPPORTED when the server wants the bytes elsewhere than in Upload. */
enum err remote_initiate(struct grpc_client *client, const struct remote_object *object,
                         struct remote_answer *ret_answer, struct error *error);
enum err remote_send(struct grpc_client *client, const struct remote_object *object,
                     const char *upload_id, struct remote_answer *ret_answer, struct error *error);
enum err remote_finish(struct grpc_client *client, const struct remote_object *object,
                       const char *upload_id, struct remote_answer *ret_answer,
                       struct error *error);
