#include "cli/json_text.h"

#include "base/utf8.h"

static void write_escaped(FILE *stream, unsigned char byte) {
    switch (byte) {
    case '"':
        fputs("\\\"", stream);
        return;
    case '\\':
        fputs("\\\\", stream);
        return;
    case '\t':
        fputs("\\t", stream);
        return;
    case '\n':
        fputs("\\n", stream);
        return;
    case '\r':
        fputs("\\r", stream);
        return;
    default:
        if (byte < 0x20)
            fprintf(stream, "\\u%04x", byte);
        else
            fputc(byte, stream);
    }
}

void json_text_write(FILE *stream, struct span text) {
    fputc('"', stream);
    for (size_t i = 0; i < text.size;) {
        size_t size = utf8_character_size(span_of(text.data + i, text.size - i));
        if (size == 0)
            fputs("\xef\xbf\xbd", stream);
        else if (size == 1)
            write_escaped(stream, (unsigned char)text.data[i]);
        else
            fwrite(text.data + i, 1, size, stream);
        i += size ? size : 1;
    }
    fputc('"', stream);
}
