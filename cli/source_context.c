#include "cli/source_context.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Larger ones are no source files, and are read whole. */
#define SOURCE_SIZE_MAX ((size_t)64 << 20)

static bool read_file(struct span path, struct buffer *contents) {
    char name[PATH_MAX];
    struct error ignored;
    size_t size = 0;
    if (path.size == 0 || path.size >= sizeof(name) || memchr(path.data, '\0', path.size))
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)path.size, path.data);
    CLEANUP(cleanup_fd) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        (uint64_t)status.st_size > SOURCE_SIZE_MAX)
        return false;
    char *bytes = buffer_reserve(contents, (size_t)status.st_size);
    if (!bytes || fd_read_full(fd, bytes, (size_t)status.st_size, &size, &ignored))
        return false;
    contents->size += size;
    return true;
}

static int digits_of(uint64_t number) {
    int digits = 1;
    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

static struct span take_line(struct span *rest) {
    const char *end = memchr(rest->data, '\n', rest->size);
    struct span line = span_of(rest->data, end ? (size_t)(end - rest->data) : rest->size);
    size_t used = line.size + (end != NULL);
    *rest = span_of(rest->data + used, rest->size - used);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

bool source_context_read(struct span path, uint32_t line, unsigned count, struct buffer *text) {
    CLEANUP(buffer_clear) struct buffer contents = {.size_max = SOURCE_SIZE_MAX};
    size_t size = text->size;
    if (count == 0 || line == 0 || !read_file(path, &contents))
        return false;
    uint64_t first = line > count / 2 ? line - count / 2 : 1;
    uint64_t last = first + count - 1;
    int width = digits_of(last - 1); /* as llvm-symbolizer counts them: 10 has one */
    struct span rest = buffer_span(&contents);
    for (uint64_t number = 1; number <= last && rest.size > 0; number++) {
        struct span shown = take_line(&rest);
        if (number < first)
            continue;
        buffer_printf(text, "%*" PRIu64 " %c: ", width, number, number == line ? '>' : ' ');
        buffer_append(text, shown.data, shown.size);
        buffer_append_byte(text, '\n');
    }
    return text->size > size && !buffer_failed(text);
}
