#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *buffer_reserve(struct buffer *buffer, size_t size) {
    if (buffer->failed)
        return NULL;
    size_t limit = buffer->size_max ? buffer->size_max : SIZE_MAX / 4;
    if (size > limit || buffer->size > limit - size) {
        buffer->failed = true;
        return NULL;
    }
    size_t need = buffer->size + size;
    if (need > buffer->capacity) {
        size_t capacity = buffer->capacity ? buffer->capacity : 256;
        while (capacity < need)
            capacity *= 2;
        char *grown = realloc(buffer->data, capacity);
        if (!grown) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = grown;
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->size;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size) {
    if (size == 0)
        return;
    char *room = buffer_reserve(buffer, size);
    if (!room)
        return;
    memcpy(room, data, size);
    buffer->size += size;
}

void buffer_append_cstr(struct buffer *buffer, const char *text) {
    buffer_append(buffer, text, strlen(text));
}

void buffer_append_byte(struct buffer *buffer, char byte) {
    buffer_append(buffer, &byte, 1);
}

void buffer_printf(struct buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    /* vsnprintf writes a NUL that is not part of the contents: reserve room for it too. */
    char *room = length < 0 ? NULL : buffer_reserve(buffer, (size_t)length + 1);
    if (length < 0)
        buffer->failed = true;
    if (room) {
        vsnprintf(room, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
}

const char *buffer_cstr(struct buffer *buffer) {
    char *room = buffer_reserve(buffer, 1);
    if (!room)
        return "";
    *room = '\0';
    return buffer->data;
}

void buffer_clear(struct buffer *buffer) {
    size_t size_max = buffer->size_max;
    free(buffer->data);
    *buffer = (struct buffer){.size_max = size_max};
}
