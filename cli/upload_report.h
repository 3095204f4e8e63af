/* What became of the files, on a stream: a line per file for a person, or JSON for a program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/remote_upload.h"

struct upload_report {
    FILE *stream;
    bool json;
    enum remote_type type;
    uint64_t uploaded;
    uint64_t already_there;
    uint64_t skipped; /* the same build ID twice */
    uint64_t failed;
    uint64_t failed_for_now;
    uint64_t bytes;
};

/* Prints and counts one file. `result` is NULL for one that was not to be uploaded. */
void upload_report_file(struct upload_report *report, const struct upload_item *item,
                        const struct remote_result *result);

/* The sums, in JSON only: a person has the lines. */
void upload_report_end(const struct upload_report *report);
