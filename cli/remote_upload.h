/*
 * Uploading one file to a server, as an agent would: ShouldInitiateUpload, InitiateUpload, Upload,
 * MarkUploadFinished. The file is named by its GNU build ID, or by its htlhash when it has none,
 * and sent as it is.
 */
#pragma once

#include <stdbool.h>

#include "cli/remote_debuginfo.h"

enum remote_outcome {
    REMOTE_UPLOADED,
    REMOTE_ALREADY_THERE, /* the server wants no upload */
    REMOTE_FAILED,
};

struct remote_result {
    enum remote_outcome outcome;
    struct binary_id id;         /* kind 0 when the file could not be read */
    uint64_t size;               /* bytes sent */
    char text[REMOTE_TEXT_SIZE]; /* the server's reason, or what went wrong */
};

struct remote_options {
    const char *server_url;
    enum remote_type type;
    bool force;
};

/* Connects for this file alone. Temporary refusals are retried a few times, with pauses. */
void remote_upload(const struct remote_options *options, const char *path,
                   struct remote_result *ret_result);
