#include "rpc/grpc_text.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"

#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_VALUE_MAX 99999999

void grpc_message_encode(const char *text, char *ret_text, size_t text_size) {
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool plain = byte >= ' ' && byte <= '~' && byte != '%';
        if (used + (plain ? 1 : 3) >= text_size)
            break;
        if (plain) {
            ret_text[used++] = (char)byte;
        } else {
            ret_text[used++] = '%';
            ret_text[used++] = digits[byte >> 4];
            ret_text[used++] = digits[byte & 15];
        }
    }
    ret_text[used] = '\0';
}

void grpc_message_decode(struct span encoded, char *ret_text, size_t text_size) {
    size_t used = 0;
    for (size_t i = 0; i < encoded.size && used + 1 < text_size; i++) {
        unsigned char byte = (unsigned char)encoded.data[i];
        if (byte == '%' && encoded.size - i > 2) {
            int high = hex_digit_value(encoded.data[i + 1]);
            int low = hex_digit_value(encoded.data[i + 2]);
            if (high >= 0 && low >= 0) {
                byte = (unsigned char)(high * 16 + low);
                i += 2;
            }
        }
        if (byte < ' ' || byte == 0x7f)
            byte = '?';
        ret_text[used++] = (char)byte;
    }
    ret_text[used] = '\0';
}

bool grpc_timeout_parse(struct span text, int64_t *ret_ms) {
    if (text.size < 2 || text.size > TIMEOUT_DIGITS_MAX + 1)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    switch (text.data[text.size - 1]) {
    case 'H':
        *ret_ms = value * 3600 * 1000;
        return true;
    case 'M':
        *ret_ms = value * 60 * 1000;
        return true;
    case 'S':
        *ret_ms = value * 1000;
        return true;
    case 'm':
        *ret_ms = value;
        return true;
    case 'u':
        *ret_ms = (value + 999) / 1000;
        return true;
    case 'n':
        *ret_ms = (value + 999999) / 1000000;
        return true;
    default:
        return false;
    }
}

void grpc_timeout_format(int64_t timeout_ms, char ret_text[static GRPC_TIMEOUT_SIZE]) {
    assert(timeout_ms >= 0);
    bool fits = timeout_ms <= TIMEOUT_VALUE_MAX;
    int64_t value = fits ? timeout_ms : timeout_ms / 1000;
    if (value > TIMEOUT_VALUE_MAX)
        value = TIMEOUT_VALUE_MAX;
    snprintf(ret_text, GRPC_TIMEOUT_SIZE, "%d%c", (int)value, fits ? 'm' : 'S');
}

bool grpc_content_type_known(struct span value) {
    static const char *const known[] = {"application/grpc+proto", "application/grpc"};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(known[i]);
        if (value.size >= size && strncasecmp(value.data, known[i], size) == 0 &&
            (value.size == size || value.data[size] == ';' || value.data[size] == ' '))
            return true;
    }
    return false;
}
