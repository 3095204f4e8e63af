#include "cli/line_batches.h"

#include <errno.h>
#include <unistd.h>

#define READ_SIZE ((size_t)1 << 16)

void line_batches_clear(struct line_batches *batches) {
    buffer_clear(&batches->bytes);
}

static void drop_taken(struct line_batches *batches) {
    struct buffer *bytes = &batches->bytes;
    bytes->size -= batches->taken;
    if (batches->taken > 0)
        memmove(bytes->data, bytes->data + batches->taken, bytes->size);
    batches->taken = 0;
}

static enum err read_more(struct line_batches *batches, struct error *error) {
    char *room = buffer_reserve(&batches->bytes, READ_SIZE);
    if (!room)
        return error_set(error, ERR_NO_MEMORY, "no memory for lines");
    ssize_t size;
    do
        size = read(batches->fd, room, READ_SIZE);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot read");
    batches->has_ended = size == 0;
    batches->bytes.size += (size_t)size;
    return ERR_OK;
}

enum err line_batches_next(struct line_batches *batches, struct span *ret_lines,
                           struct error *error) {
    struct buffer *bytes = &batches->bytes;
    drop_taken(batches);
    while (!batches->has_ended) {
        const char *end = bytes->size ? memrchr(bytes->data, '\n', bytes->size) : NULL;
        if (end) {
            batches->taken = (size_t)(end - bytes->data) + 1;
            break;
        }
        if (bytes->size > LINE_SIZE_MAX)
            return error_set(error, ERR_LIMIT, "a line of over %zu bytes", LINE_SIZE_MAX);
        enum err err = read_more(batches, error);
        if (err)
            return err;
    }
    if (batches->has_ended)
        batches->taken = bytes->size;
    *ret_lines = span_of(bytes->data, batches->taken);
    return ERR_OK;
}
