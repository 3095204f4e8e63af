/*
 * logfmt to a file descriptor: one line per event, one write(2) per line, so that threads and
 * processes never mix lines. Only api/ and mains log; libraries report through struct error.
 *
 *     log_event(log, LOG_LEVEL_INFO, "upload_finished", log_str("build_id", id),
 *               log_i64("bytes", size));
 *     ts=2026-11-30T12:00:00.123Z level=info event=upload_finished build_id=4f…  bytes=1234
 *
 * Keys and event names are ours (lower_snake_case); values may hold any byte and are quoted and
 * escaped. No symbol names or file contents go into logs. Thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

struct log {
    int fd;
    _Atomic(enum log_level) level_min; /* may change while others log */
};

struct log_field {
    const char *key;
    struct span text; /* used when text.data is not NULL */
    int64_t number;
};

static inline struct log_field log_str(const char *key, const char *value) {
    return (struct log_field){.key = key, .text = span_cstr(value ? value : "")};
}

static inline struct log_field log_span(const char *key, struct span value) {
    return (struct log_field){.key = key, .text = value.data ? value : span_cstr("")};
}

static inline struct log_field log_i64(const char *key, int64_t value) {
    return (struct log_field){.key = key, .number = value};
}

/* A line longer than 4 KiB is cut at a field boundary and ends in truncated=true. */
void log_fields(const struct log *log, enum log_level level, const char *event,
                const struct log_field *fields, size_t field_count);

#define log_event(log, level, event, ...)                                                          \
    log_fields((log), (level), (event), (const struct log_field[]){__VA_ARGS__},                   \
               sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))
