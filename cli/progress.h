/*
 * How far the uploads are, as one line that is drawn over itself: a bar, bytes, rate, time left and
 * files. Only a terminal gets it; in a pipe or a file nothing is written.
 *
 * Threads: any may report; NULL is a progress that nobody watches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"

struct progress_state {
    uint64_t bytes;
    uint64_t bytes_total;
    uint64_t files;
    uint64_t files_total;
    double rate; /* bytes per second; 0: not known yet */
};

/* The line, without line end, at most `width` columns; ret_text has room for width + 1 bytes. */
void progress_format(const struct progress_state *state, size_t width, char *ret_text);

struct progress;

/* NULL unless the stream is a terminal (or there is no memory for it). */
struct progress *progress_new(FILE *stream, uint64_t bytes_total, uint64_t files_total);

/* Takes the line away. */
void progress_free(struct progress *progress);
DEFINE_CLEANUP(progress, struct progress, progress_free)

/* Bytes that were sent; negative: that must be sent again. */
void progress_move(struct progress *progress, int64_t bytes);

/* A file is done; `bytes_unsent` of the total will not be sent. */
void progress_end_file(struct progress *progress, uint64_t bytes_unsent);

/* Takes the line away and keeps it away, so that something else can be printed in between. */
void progress_pause(struct progress *progress);
void progress_resume(struct progress *progress);
