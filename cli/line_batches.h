/*
 * Lines of a file descriptor, as many at a time as are there: a person at a terminal or a program
 * on a pipe is answered line by line, and a long file in few batches.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

struct line_batches {
    int fd;
    struct buffer bytes; /* read; the first `taken` of them are of earlier batches */
    size_t taken;
    bool has_ended;
};

#define LINE_SIZE_MAX ((size_t)1 << 20)

/* The next lines, each with its '\n' (the last may lack it), valid until the next call. Empty at
 * the end. ERR_IO; ERR_LIMIT: a line over LINE_SIZE_MAX. */
enum err line_batches_next(struct line_batches *batches, struct span *ret_lines,
                           struct error *error);
void line_batches_clear(struct line_batches *batches);
