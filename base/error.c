#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cut back to a whole UTF-8 character, so that a truncated text stays printable. */
static void trim_partial_character(char *text, size_t length) {
    size_t start = length;
    while (start > 0 && length - start < 4) {
        unsigned char byte = (unsigned char)text[start - 1];
        if (byte < 0x80)
            return;
        if (byte >= 0xc0) {
            size_t want = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
            if (length - (start - 1) < want)
                text[start - 1] = '\0';
            return;
        }
        start--;
    }
}

static void format_text(struct error *error, const char *format, va_list arguments) {
    int length = vsnprintf(error->text, sizeof(error->text), format, arguments);
    if (length >= (int)sizeof(error->text))
        trim_partial_character(error->text, sizeof(error->text) - 1);
}

/* In parentheses, since the header makes it a macro for the analyzer. */
enum err(error_set)(struct error *error, enum err code, const char *format, ...) {
    assert(code != ERR_OK && code < ERR_COUNT);
    error->code = code;
    error->sys_errno = 0;
    va_list arguments;
    va_start(arguments, format);
    format_text(error, format, arguments);
    va_end(arguments);
    return code;
}

enum err(error_set_errno)(struct error *error, enum err code, int sys_errno, const char *format,
                          ...) {
    assert(code != ERR_OK && code < ERR_COUNT);
    error->code = code;
    error->sys_errno = sys_errno;
    va_list arguments;
    va_start(arguments, format);
    format_text(error, format, arguments);
    va_end(arguments);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof(error->text) - used, ": %s",
             strerrordesc_np(sys_errno) ? strerrordesc_np(sys_errno) : "unknown errno");
    return code;
}

enum err err_of_errno(int sys_errno) {
    return sys_errno == ENOSPC || sys_errno == EDQUOT ? ERR_NO_SPACE : ERR_IO;
}

enum err error_prefix(struct error *error, const char *format, ...) {
    char before[sizeof(error->text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(before, sizeof(before), format, arguments);
    va_end(arguments);
    size_t room = sizeof(error->text) - 1;
    size_t head = strnlen(before, room / 2);
    size_t tail = strnlen(error->text, room - head - 2);
    memmove(error->text + head + 2, error->text, tail);
    memcpy(error->text, before, head);
    memcpy(error->text + head, ": ", 2);
    error->text[head + 2 + tail] = '\0';
    trim_partial_character(error->text, head + 2 + tail);
    return error->code;
}

const char *err_name(enum err code) {
    static const char *const names[ERR_COUNT] = {
        [ERR_OK] = "ok",
        [ERR_NO_MEMORY] = "no_memory",
        [ERR_IO] = "io",
        [ERR_MALFORMED] = "malformed",
        [ERR_UNSUPPORTED] = "unsupported",
        [ERR_LIMIT] = "limit_exceeded",
        [ERR_INVALID] = "invalid_argument",
        [ERR_NOT_FOUND] = "not_found",
        [ERR_EXISTS] = "already_exists",
        [ERR_STATE] = "failed_precondition",
        [ERR_EXHAUSTED] = "resource_exhausted",
        [ERR_NO_SPACE] = "no_space",
        [ERR_UNAVAILABLE] = "unavailable",
        [ERR_TIMEOUT] = "timeout",
        [ERR_CANCELLED] = "cancelled",
        [ERR_UNIMPLEMENTED] = "unimplemented",
        [ERR_DENIED] = "permission_denied",
        [ERR_KILLED] = "killed",
        [ERR_DAMAGED] = "damaged",
        [ERR_ABORTED] = "aborted",
        [ERR_INTERNAL] = "internal",
    };
    return code < ERR_COUNT ? names[code] : "internal";
}
