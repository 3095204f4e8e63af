#include "api/http_path.h"

#include <stdint.h>

#include "base/hash.h"

/* Cuts the part before the next '/' off the front; false when nothing is left. */
static bool next_segment(struct span *rest, struct span *ret_segment) {
    if (!rest->data)
        return false;
    const char *slash = rest->size ? memchr(rest->data, '/', rest->size) : NULL;
    size_t size = slash ? (size_t)(slash - rest->data) : rest->size;
    *ret_segment = span_of(rest->data, size);
    *rest = slash ? span_of(slash + 1, rest->size - size - 1) : (struct span){NULL, 0};
    return true;
}

bool http_path_match(const char *pattern, struct span path, struct span *ret_parameter) {
    struct span wanted = span_cstr(pattern);
    struct span parameter = span_cstr("");
    struct span want;
    struct span have;
    while (next_segment(&wanted, &want)) {
        if (!next_segment(&path, &have))
            return false;
        if (!span_starts_with(want, "{")) {
            if (!span_equal(want, have))
                return false;
            continue;
        }
        if (have.size == 0)
            return false;
        parameter = have;
    }
    if (next_segment(&path, &have))
        return false;
    *ret_parameter = parameter;
    return true;
}

bool http_percent_decode(struct span text, char *ret_text, size_t size, size_t *ret_size) {
    size_t used = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = (uint8_t)text.data[i];
        size_t decoded = 0;
        if (byte == '%') {
            if (text.size - i < 3 || !hex_decode(span_of(text.data + i + 1, 2), &byte, 1, &decoded))
                return false;
            i += 2;
        }
        if (used + 1 >= size)
            return false;
        ret_text[used++] = (char)byte;
    }
    if (size == 0)
        return false;
    ret_text[used] = '\0';
    *ret_size = used;
    return true;
}
