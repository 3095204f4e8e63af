#include "base/utf8.h"

#include <assert.h>
#include <stdint.h>

static bool continues(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

size_t utf8_character_size(struct span bytes) {
    const uint8_t *at = (const uint8_t *)bytes.data;
    if (bytes.size == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || bytes.size < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (!continues(at[i]))
            return 0;
    /* The second byte alone tells overlong forms, surrogates and what is past the last plane. */
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
    bool past = at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || past ? 0 : size;
}

static bool is_control(struct span bytes, size_t size) {
    uint8_t first = (uint8_t)bytes.data[0];
    if (size == 1)
        return first < 0x20 || first == 0x7f;
    return first == 0xc2 && (uint8_t)bytes.data[1] < 0xa0;
}

size_t utf8_copy_printable(struct span bytes, char *ret_text, size_t size) {
    assert(size > 0);
    size_t length = 0;
    while (bytes.size > 0) {
        size_t taken = utf8_character_size(bytes);
        bool shown = taken > 0 && !is_control(bytes, taken);
        size_t written = shown ? taken : 1;
        if (written > size - 1 - length)
            break;
        if (shown)
            memcpy(ret_text + length, bytes.data, taken);
        else
            ret_text[length] = '?';
        length += written;
        taken = taken ? taken : 1;
        bytes = span_of(bytes.data + taken, bytes.size - taken);
    }
    ret_text[length] = '\0';
    return length;
}
