/*
 * Frames as the test drivers print them: one line a frame, leaf first,
 *     NAME TAB SHORT_NAME TAB FILE TAB LINE TAB COLUMN TAB START_FILE TAB START_LINE
 * An answer ends with an empty line.
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>

#include "base/symbol.h"

static inline void frame_text_span(struct span span) {
    printf("%.*s\t", (int)span.size, span.size ? span.data : "");
}

static inline void frame_text_print(const struct symbol_frame *frame) {
    frame_text_span(frame->name);
    frame_text_span(frame->short_name);
    frame_text_span(frame->file);
    printf("%" PRIu32 "\t%" PRIu32 "\t", frame->line, frame->column);
    frame_text_span(frame->start_file);
    printf("%" PRIu32 "\n", frame->start_line);
}
