/*
 * The calls of parca.debuginfo.v1alpha1.DebuginfoService as functions, on a blocking client. What
 * the server sends is bounds-checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/span.h"
#include "cli/progress.h"
#include "cli/remote_retry.h"
#include "rpc/grpc_client.h"

#define REMOTE_TEXT_SIZE 512
#define REMOTE_URL_SIZE 8192

enum remote_type { REMOTE_DEBUGINFO, REMOTE_EXECUTABLE, REMOTE_SOURCES, REMOTE_SOURCE_MAP };

/* "debuginfo", "executable", "sources", "source_map"; the wire has the same order. */
const char *remote_type_name(enum remote_type type);
bool remote_type_from_name(const char *name, enum remote_type *ret_type);

/* What is to be uploaded. */
struct remote_object {
    struct binary_id id;
    char hash[DIGEST_HEX_SIZE]; /* names the contents for the server: htlhash or SHA-256 */
    enum remote_type type;
    bool force;
    struct span bytes;
};

/* With whom the calls are made, until when, and who watches. */
struct remote_session {
    struct grpc_client *client;
    struct remote_retry retry; /* its deadline bounds every call */
    struct progress *progress; /* NULL: nobody */
};

/* What the server said to a call; the text is its reason or its message. */
struct remote_answer {
    enum grpc_status status;
    bool should_upload;               /* ShouldInitiateUpload */
    char upload_id[REMOTE_TEXT_SIZE]; /* InitiateUpload */
    char signed_url[REMOTE_URL_SIZE]; /* InitiateUpload; "": the bytes go through Upload */
    char text[REMOTE_TEXT_SIZE];
};

/* Errors: as grpc_client.h, and ERR_MALFORMED for an answer that is not the call's message. */
enum err remote_should_initiate(struct remote_session *session, const struct remote_object *object,
                                struct remote_answer *ret_answer, struct error *error);

/* ERR_UNSUPPORTED when the server wants the bytes neither in Upload nor at a URL. */
enum err remote_initiate(struct remote_session *session, const struct remote_object *object,
                         struct remote_answer *ret_answer, struct error *error);
enum err remote_send(struct remote_session *session, const struct remote_object *object,
                     const char *upload_id, struct remote_answer *ret_answer, struct error *error);
enum err remote_finish(struct remote_session *session, const struct remote_object *object,
                       const char *upload_id, struct remote_answer *ret_answer,
                       struct error *error);
