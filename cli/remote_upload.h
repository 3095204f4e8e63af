/*
 * Uploading files to a server, as an agent would: ShouldInitiateUpload, InitiateUpload, then Upload
 * or a PUT to a signed URL as the server says, MarkUploadFinished. Nothing is assumed of the server
 * but the protocol. Files are sent as they are.
 *
 * What is temporary is tried again with pauses (cli/remote_retry.h): Unavailable,
 * ResourceExhausted, DeadlineExceeded, and a connection that breaks or cannot be had.
 */
#pragma once

#include <stdbool.h>

#include "cli/remote_access.h"
#include "cli/remote_debuginfo.h"
#include "cli/upload_list.h"

enum remote_outcome {
    REMOTE_UPLOADED,
    REMOTE_ALREADY_THERE, /* the server wants no upload */
    REMOTE_FAILED,
    REMOTE_FAILED_FOR_NOW, /* another try, later, may work */
};

struct remote_result {
    enum remote_outcome outcome;
    uint64_t size;               /* bytes sent */
    unsigned retries;            /* pauses made */
    char text[REMOTE_TEXT_SIZE]; /* the server's reason, or what went wrong */
};

struct remote_options {
    struct remote_access access;
    enum remote_type type;
    bool force;
    unsigned retries;   /* per file */
    int64_t timeout_ms; /* per file, with all pauses */
};

/* One connection, made when it is needed and kept for the next file. Belongs to one thread. */
struct remote_uploader {
    const struct remote_options *options;
    struct progress *progress; /* NULL: nobody watches */
    struct grpc_client *client;
};

void remote_uploader_close(struct remote_uploader *uploader);

void remote_upload(struct remote_uploader *uploader, const struct upload_item *item,
                   struct remote_result *ret_result);
