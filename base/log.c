#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"

#define LOG_LINE_SIZE_MAX ((size_t)4096)

static const char *level_name(enum log_level level) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    return names[level];
}

static bool needs_quotes(struct span text) {
    if (text.size == 0)
        return true;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte <= ' ' || byte == '"' || byte == '=' || byte == '\\' || byte >= 0x7f)
            return true;
    }
    return false;
}

static void append_value(struct buffer *line, struct span text) {
    if (!needs_quotes(text)) {
        buffer_append(line, text.data, text.size);
        return;
    }
    buffer_append_byte(line, '"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte == '"' || byte == '\\')
            buffer_printf(line, "\\%c", byte);
        else if (byte < ' ' || byte == 0x7f)
            buffer_printf(line, "\\x%02x", byte);
        else
            buffer_append_byte(line, (char)byte);
    }
    buffer_append_byte(line, '"');
}

static void append_field(struct buffer *line, const struct log_field *field) {
    buffer_printf(line, " %s=", field->key);
    if (field->text.data)
        append_value(line, field->text);
    else
        buffer_printf(line, "%lld", (long long)field->number);
}

void log_fields(const struct log *log, enum log_level level, const char *event,
                const struct log_field *fields, size_t field_count) {
    if (level < log->level_min)
        return;
    static const char cut[] = " truncated=true";
    struct buffer line = {.size_max = 8 * LOG_LINE_SIZE_MAX};
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    char stamp[32];
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    buffer_printf(&line, "ts=%s.%03dZ level=%s event=%s", stamp, (int)(now_ms % 1000),
                  level_name(level), event);
    for (size_t i = 0; i < field_count; i++) {
        size_t before = line.size;
        append_field(&line, &fields[i]);
        if (line.failed || line.size > LOG_LINE_SIZE_MAX - sizeof(cut)) {
            line.failed = false;
            line.size = before;
            buffer_append_cstr(&line, cut);
            break;
        }
    }
    buffer_append_byte(&line, '\n');
    ssize_t ignored = write(log->fd, line.data, line.size);
    (void)ignored;
    buffer_clear(&line);
}
