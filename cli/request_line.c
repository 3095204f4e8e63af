#include "cli/request_line.h"

static bool is_delimiter(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r';
}

/* In front of a word, but not behind it. */
static bool is_blank(char byte) {
    return is_delimiter(byte) || byte == '\t' || byte == '\v' || byte == '\f';
}

static void skip_blanks(struct span *rest) {
    while (rest->size > 0 && is_blank(rest->data[0]))
        *rest = span_of(rest->data + 1, rest->size - 1);
}

static struct span take(struct span *rest, size_t size) {
    struct span taken = span_of(rest->data, size);
    *rest = span_of(rest->data + size, rest->size - size);
    return taken;
}

static struct span take_word(struct span *rest) {
    skip_blanks(rest);
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

/* A word, or anything between two equal quotes; empty if the second quote is missing. */
static struct span take_name(struct span *rest) {
    skip_blanks(rest);
    if (rest->size == 0 || (rest->data[0] != '"' && rest->data[0] != '\''))
        return take_word(rest);
    const char *end = memchr(rest->data + 1, rest->data[0], rest->size - 1);
    if (!end)
        return span_of(rest->data, 0);
    struct span name = span_of(rest->data + 1, (size_t)(end - rest->data) - 1);
    take(rest, name.size + 2);
    return name;
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

static bool parse_digits(struct span word, unsigned radix, uint64_t *ret_address) {
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

static bool parse_number(struct span word, uint64_t *ret_number) {
    unsigned radix = take_radix(&word);
    return parse_digits(word, radix, ret_number);
}

static bool parse_address(struct span word, enum questions questions, uint64_t *ret_address) {
    if (questions == QUESTIONS_LLVM)
        return parse_number(word, ret_address);
    if (!take_prefix(&word, "0x"))
        take_prefix(&word, "0X");
    return parse_digits(word, 16, ret_address);
}

/* Cuts "SECTION+" off the front of a word that begins with a dot; what is left is the offset. */
static bool take_section(struct span *text, struct span *ret_section) {
    if (text->size == 0 || text->data[0] != '.')
        return false;
    const char *plus = memrchr(text->data, '+', text->size);
    if (!plus)
        return false;
    *ret_section = take(text, (size_t)(plus - text->data));
    take(text, 1);
    return true;
}

/* SYMBOL or SYMBOL+OFFSET; a '+' without a number behind belongs to the name. */
static void read_symbol(struct span word, struct request_line *line) {
    const char *plus = memrchr(word.data, '+', word.size);
    size_t size = plus ? (size_t)(plus - word.data) : 0;
    line->symbol = word;
    line->address = 0;
    if (size > 0 && parse_number(span_of(plus + 1, word.size - size - 1), &line->address))
        line->symbol = span_of(word.data, size);
}

static enum request_verb take_verb(struct span *rest) {
    if (take_prefix(rest, "DATA "))
        return REQUEST_DATA;
    if (take_prefix(rest, "FRAME "))
        return REQUEST_FRAME;
    take_prefix(rest, "CODE ");
    return REQUEST_CODE;
}

static bool is_hexadecimal(struct span text) {
    for (size_t i = 0; i < text.size; i++)
        if (digit_of(text.data[i]) == 16)
            return false;
    return true;
}

/* What names the module. Returns the problem, or NULL. */
static const char *read_module(struct span *rest, const char *object, struct request_line *line) {
    bool is_file = false;
    for (;;) {
        skip_blanks(rest);
        bool names_id = take_prefix(rest, "BUILDID:");
        if (!names_id && !take_prefix(rest, "FILE:"))
            break;
        if (is_file || line->module_is_build_id)
            return "more than one FILE: or BUILDID:";
        line->module_is_build_id = names_id;
        is_file = !names_id;
    }
    bool is_prefixed = is_file || line->module_is_build_id;
    if (is_prefixed && rest->size == 0)
        return is_file ? "no file behind FILE:" : "no build ID behind BUILDID:";
    if (is_prefixed && object)
        return "a file is named on the command line already";
    if (!object)
        line->module = take_name(rest);
    if (line->module.size == 0)
        return "no file is named";
    if (!line->module_is_build_id || is_hexadecimal(line->module))
        return NULL;
    line->module = span_cstr("");
    return "not a build ID";
}

static const char *read_address(struct span *rest, enum questions questions,
                                struct request_line *line) {
    struct span word = take_word(rest);
    if (word.size == 0)
        return "no address is named";
    if (parse_address(word, questions, &line->address))
        return NULL;
    if (take_section(&word, &line->section))
        return parse_number(word, &line->address) ? NULL : "no offset behind the section";
    if (word.data[0] >= '0' && word.data[0] <= '9')
        return "not a number";
    read_symbol(word, line);
    return NULL;
}

bool request_line_parse(struct span line, const char *object, enum questions questions,
                        struct request_line *ret_line) {
    struct span rest = line;
    *ret_line = (struct request_line){.verb = take_verb(&rest), .module = span_cstr(object)};
    ret_line->problem = read_module(&rest, object, ret_line);
    if (!ret_line->problem)
        ret_line->problem = read_address(&rest, questions, ret_line);
    return !ret_line->problem;
}

/* --- addr2line's form ---------------------------------------------------------------------------
 */

static uint64_t hexadecimal(struct span digits) {
    take_prefix(&digits, "+");
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

static bool begins_symbol(struct span text) {
    if (text.size == 0)
        return false;
    char byte = text.data[0];
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return byte == '_' || (is_letter && digit_of(byte) == 16);
}

/* As far as the digits of "+ OFFSET" go, as strtoul reads them. */
static uint64_t offset_behind(struct span rest) {
    skip_blanks(&rest);
    if (!take_prefix(&rest, "+"))
        return 0;
    skip_blanks(&rest);
    unsigned radix = take_radix(&rest);
    uint64_t offset = 0;
    size_t size = 0;
    while (size < rest.size && digit_of(rest.data[size]) < radix)
        size++;
    return parse_digits(span_of(rest.data, size), radix, &offset) ? offset : 0;
}

void request_line_parse_gnu(struct span line, struct request_line *ret_line) {
    struct span rest = line;
    *ret_line = (struct request_line){.verb = REQUEST_CODE};
    skip_blanks(&rest);
    take_section(&rest, &ret_line->section);
    if (ret_line->section.size > 0 || !begins_symbol(rest)) {
        ret_line->address = hexadecimal(rest);
        return;
    }
    size_t size = 0;
    while (size < rest.size && !is_blank(rest.data[size]) && rest.data[size] != '+')
        size++;
    ret_line->symbol = take(&rest, size);
    ret_line->address = offset_behind(rest);
}
