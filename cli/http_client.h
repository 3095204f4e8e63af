/*
 * Asks a server's HTTP API: one question at a time on a connection that is kept. Temporary trouble
 * (no connection, 429, 502, 503, 504) is tried again with pauses. Belongs to one thread.
 */
#pragma once

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "cli/remote_access.h"

struct http_client;

struct http_client_config {
    const struct remote_access *access; /* must outlive the client */
    unsigned retries;                   /* per question */
    int64_t timeout_ms;                 /* per question, with all pauses */
};

/* ERR_INVALID: the server's URL is not of http or https. */
enum err http_client_open(const struct http_client_config *config, struct http_client **ret_client,
                          struct error *error);
void http_client_free(struct http_client *client);
DEFINE_CLEANUP(http_client, struct http_client, http_client_free)

struct http_question {
    const char *method;
    const char *path; /* with what follows '?', percent-encoded */
    struct span body; /* JSON; empty: none */
};

/*
 * The body of an answer with a 2xx code, in a buffer of the client's that lives until the next
 * question. Other codes are errors with the server's words in the text: ERR_NOT_FOUND (404),
 * ERR_UNAVAILABLE (429, 5xx that may pass), ERR_INVALID. No answer: ERR_UNAVAILABLE, ERR_TIMEOUT,
 * ERR_DENIED (the server's certificate is not accepted, or ours); ERR_LIMIT: a body over 1 GiB.
 */
enum err http_client_ask(struct http_client *client, const struct http_question *question,
                         struct span *ret_body, struct error *error);

/* Appends the text percent-encoded as one path segment or query value (RFC 3986, section 2.3). */
void http_append_encoded(struct buffer *buffer, struct span text);
