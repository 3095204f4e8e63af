#include "api/json_writer.h"

#include <assert.h>
#include <math.h>

#include "base/utf8.h"

struct json_writer json_writer_to(struct buffer *out) {
    return (struct json_writer){.out = out};
}

/* What stands between the last item and this one. */
static void separate(struct json_writer *writer) {
    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (writer->has_items[writer->depth])
        buffer_append_byte(writer->out, ',');
    writer->has_items[writer->depth] = true;
}

static void begin(struct json_writer *writer, char bracket) {
    separate(writer);
    buffer_append_byte(writer->out, bracket);
    writer->depth++;
    assert(writer->depth < JSON_DEPTH_MAX);
    writer->has_items[writer->depth] = false;
}

static void end(struct json_writer *writer, char bracket) {
    assert(writer->depth > 0 && !writer->after_key);
    writer->depth--;
    buffer_append_byte(writer->out, bracket);
}

void json_writer_object_begin(struct json_writer *writer) {
    begin(writer, '{');
}

void json_writer_object_end(struct json_writer *writer) {
    end(writer, '}');
}

void json_writer_array_begin(struct json_writer *writer) {
    begin(writer, '[');
}

void json_writer_array_end(struct json_writer *writer) {
    end(writer, ']');
}

void json_writer_key(struct json_writer *writer, const char *key) {
    assert(!writer->after_key);
    separate(writer);
    buffer_append_byte(writer->out, '"');
    buffer_append_cstr(writer->out, key);
    buffer_append(writer->out, "\":", 2);
    writer->after_key = true;
}

static void append_escape(struct buffer *out, unsigned char byte) {
    static const char shorts[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char letter = (char)byte;
    if (byte < sizeof(shorts) && shorts[byte])
        letter = shorts[byte];
    if ((unsigned char)letter < 0x20) {
        buffer_printf(out, "\\u%04x", byte);
        return;
    }
    buffer_append_byte(out, '\\');
    buffer_append_byte(out, letter);
}

static bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Has the word a byte that is not plain? Subtracting one from each byte of a difference borrows
 * into bit 7 where the byte is 0; a borrow from a neighbour can only add a false yes. */
static bool has_special(uint64_t word) {
    uint64_t quote = word ^ EVERY_BYTE('"');
    uint64_t backslash = word ^ EVERY_BYTE('\\');
    uint64_t found = word | (word - EVERY_BYTE(0x20)) | ((quote - EVERY_BYTE(1)) & ~quote) |
                     ((backslash - EVERY_BYTE(1)) & ~backslash);
    return (found & EVERY_BYTE(0x80)) != 0;
}

/* How many plain bytes stand at the front: names and paths are made of little else. */
static size_t plain_run(const char *bytes, size_t size) {
    size_t at = 0;
    for (uint64_t word; size - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, bytes + at, sizeof(word));
        if (has_special(word))
            break;
    }
    while (at < size && is_plain((unsigned char)bytes[at]))
        at++;
    return at;
}

void json_writer_string(struct json_writer *writer, struct span text) {
    struct buffer *out = writer->out;
    separate(writer);
    buffer_append_byte(out, '"');
    size_t at = 0;
    while (at < text.size) {
        size_t run = plain_run(text.data + at, text.size - at);
        buffer_append(out, text.data + at, run);
        at += run;
        if (at == text.size)
            break;
        unsigned char byte = (unsigned char)text.data[at];
        if (byte < 0x80) {
            append_escape(out, byte);
            at++;
            continue;
        }
        size_t size = utf8_character_size(span_of(text.data + at, text.size - at));
        if (size)
            buffer_append(out, text.data + at, size);
        else
            buffer_append(out, "\xef\xbf\xbd", 3);
        at += size ? size : 1;
    }
    buffer_append_byte(out, '"');
}

void json_writer_cstr_or_null(struct json_writer *writer, const char *text) {
    if (text)
        json_writer_string(writer, span_cstr(text));
    else
        json_writer_null(writer);
}

void json_writer_string_or_null(struct json_writer *writer, struct span text) {
    if (text.size)
        json_writer_string(writer, text);
    else
        json_writer_null(writer);
}

void json_writer_u64(struct json_writer *writer, uint64_t number) {
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    separate(writer);
    buffer_append(writer->out, digits + at, sizeof(digits) - at);
}

void json_writer_u64_or_null(struct json_writer *writer, uint64_t number) {
    if (number)
        json_writer_u64(writer, number);
    else
        json_writer_null(writer);
}

void json_writer_fixed(struct json_writer *writer, double value, int digits) {
    assert(isfinite(value));
    separate(writer);
    buffer_printf(writer->out, "%.*f", digits, value);
}

void json_writer_bool(struct json_writer *writer, bool value) {
    separate(writer);
    buffer_append_cstr(writer->out, value ? "true" : "false");
}

void json_writer_null(struct json_writer *writer) {
    separate(writer);
    buffer_append(writer->out, "null", 4);
}
