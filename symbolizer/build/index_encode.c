#include "symbolizer/build/index_encode.h"

#include <endian.h>

#include "symbolizer/index/bit_field.h"

void index_sections_start(struct index_sections *sections) {
    for (unsigned kind = 0; kind <= FORMAT_SECTION_COUNT; kind++)
        sections->bytes[kind].record_size = 1;
}

void index_sections_clear(struct index_sections *sections) {
    for (unsigned kind = 0; kind <= FORMAT_SECTION_COUNT; kind++)
        record_array_clear(&sections->bytes[kind]);
}

enum err index_encode_bytes(struct index_encoder *encoder, enum format_section_kind kind,
                            const void *bytes, size_t size, struct error *error) {
    return record_array_add(&encoder->sections.bytes[kind], bytes, size, &encoder->writer->budget,
                            error);
}

enum err index_encode_offset(struct index_encoder *encoder, enum format_section_kind kind,
                             struct error *error) {
    uint64_t offset = encoder->sections.bytes[kind].count + 1;
    if (offset > FORMAT_PACKED_SIZE_MAX)
        return error_set(error, ERR_LIMIT, "a section of the symbol index is over 4 GiB");
    uint32_t record = htole32((uint32_t)offset);
    encoder->sections.counts[kind - 1]++;
    return index_encode_bytes(encoder, kind - 1, &record, sizeof(record), error);
}

enum err index_encode_tail(struct index_encoder *encoder, enum format_section_kind kind,
                           struct error *error) {
    static const char zeros[FORMAT_TAIL];
    return index_encode_bytes(encoder, kind, zeros, sizeof(zeros), error);
}

struct line_code index_line_code(const struct index_numbering *numbering, uint32_t function,
                                 uint32_t file, uint32_t line) {
    struct line_code code = {.file = numbering->files[file], .line = line, .code = UINT64_MAX};
    if (file == 0 && line == 0) {
        code.code = 0;
    } else if (function != 0 && line != 0) {
        const struct numbered_function *base = index_numbering_function(numbering, function);
        if (base->file == file && line >= base->line)
            code.code = (uint64_t)line - base->line + 1;
    }
    return code;
}

void line_widths_add(struct line_widths *widths, const struct line_code *code) {
    unsigned length = code->code == UINT64_MAX ? 33 : bit_length(code->code + 1);
    widths->by_length[length]++;
    /* Any may become an exception, so each counts for what those need. */
    if (code->file > widths->file_max)
        widths->file_max = code->file;
    if (code->line > widths->line_max)
        widths->line_max = code->line;
}

unsigned line_widths_choose(const struct line_widths *widths, unsigned exception_bits) {
    uint64_t count = 0;
    for (unsigned i = 0; i < 34; i++)
        count += widths->by_length[i];
    exception_bits += bit_length(widths->file_max) + bit_length(widths->line_max);
    uint64_t exceptions = count;
    uint64_t best = UINT64_MAX;
    unsigned chosen = 0;
    for (unsigned width = 0; width <= 32; width++) {
        exceptions -= widths->by_length[width];
        uint64_t cost = count * width + exceptions * exception_bits;
        if (cost < best) {
            best = cost;
            chosen = width;
        }
    }
    return chosen;
}
