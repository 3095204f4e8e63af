#include "cli/request_line.h"

static bool is_delimiter(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r';
}

static void skip_delimiters(struct span *rest) {
    while (rest->size > 0 && is_delimiter(rest->data[0]))
        *rest = span_of(rest->data + 1, rest->size - 1);
}

static struct span take(struct span *rest, size_t size) {
    struct span taken = span_of(rest->data, size);
    *rest = span_of(rest->data + size, rest->size - size);
    return taken;
}

static struct span take_word(struct span *rest) {
    skip_delimiters(rest);
    size_t size = 0;
    while (size < rest->size && !is_delimiter(rest->data[size]))
        size++;
    return take(rest, size);
}

static bool take_prefix(struct span *rest, const char *prefix) {
    if (!span_starts_with(*rest, prefix))
        return false;
    take(rest, strlen(prefix));
    return true;
}

/* A word, or anything between two equal quotes. False if the second quote is missing. */
static bool take_module(struct span *rest, struct span *ret_module) {
    skip_delimiters(rest);
    if (rest->size == 0 || (rest->data[0] != '"' && rest->data[0] != '\'')) {
        *ret_module = take_word(rest);
        return true;
    }
    const char *end = memchr(rest->data + 1, rest->data[0], rest->size - 1);
    if (!end)
        return false;
    *ret_module = span_of(rest->data + 1, (size_t)(end - rest->data) - 1);
    take(rest, ret_module->size + 2);
    return true;
}

/* 0 to 15, or 16 for what is no digit. */
static unsigned digit_of(char byte) {
    if (byte >= '0' && byte <= '9')
        return (unsigned)(byte - '0');
    if (byte >= 'a' && byte <= 'f')
        return (unsigned)(byte - 'a') + 10;
    return byte >= 'A' && byte <= 'F' ? (unsigned)(byte - 'A') + 10 : 16;
}

static unsigned take_radix(struct span *digits) {
    if (take_prefix(digits, "0x") || take_prefix(digits, "0X"))
        return 16;
    if (take_prefix(digits, "0b") || take_prefix(digits, "0B"))
        return 2;
    if (take_prefix(digits, "0o"))
        return 8;
    bool is_octal = digits->size > 1 && digits->data[0] == '0' && digit_of(digits->data[1]) < 10;
    return is_octal ? 8 : 10;
}

static bool parse_address(struct span word, uint64_t *ret_address) {
    unsigned radix = take_radix(&word);
    uint64_t address = 0;
    for (size_t i = 0; i < word.size; i++) {
        unsigned digit = digit_of(word.data[i]);
        if (digit >= radix || address > (UINT64_MAX - digit) / radix)
            return false;
        address = address * radix + digit;
    }
    *ret_address = address;
    return word.size > 0;
}

bool request_section_take(struct span *text, struct span *ret_section) {
    if (text->size == 0 || text->data[0] != '.')
        return false;
    const char *plus = memrchr(text->data, '+', text->size);
    if (!plus)
        return false;
    *ret_section = take(text, (size_t)(plus - text->data));
    take(text, 1);
    return true;
}

bool request_line_parse(struct span line, const char *object, struct request_line *ret_line) {
    *ret_line = (struct request_line){.verb = REQUEST_CODE, .module = span_cstr(object)};
    struct span rest = line;
    if (take_prefix(&rest, "DATA "))
        ret_line->verb = REQUEST_DATA;
    else if (take_prefix(&rest, "FRAME "))
        ret_line->verb = REQUEST_FRAME;
    else
        take_prefix(&rest, "CODE ");
    if (!object && !take_module(&rest, &ret_line->module))
        return false;
    struct span word = take_word(&rest);
    request_section_take(&word, &ret_line->section);
    return parse_address(word, &ret_line->address);
}

uint64_t request_address_gnu(struct span text) {
    struct span digits = text;
    while (digits.size > 0 && (is_delimiter(digits.data[0]) || digits.data[0] == '\t'))
        take(&digits, 1);
    if (!take_prefix(&digits, "0x"))
        take_prefix(&digits, "0X");
    uint64_t address = 0;
    for (size_t i = 0; i < digits.size && digit_of(digits.data[i]) < 16; i++) {
        if (address >> 60)
            return UINT64_MAX;
        address = address << 4 | digit_of(digits.data[i]);
    }
    return address;
}
