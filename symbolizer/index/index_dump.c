#include "symbolizer/index/index_dump.h"

#include <inttypes.h>

#include "base/utf8.h"
#include "symbolizer/index/index_internal.h"

static bool is_control(struct span character) {
    unsigned char first = (unsigned char)character.data[0];
    /* C1 controls are U+0080 to U+009F, that is C2 80 to C2 9F. */
    return first < 0x20 || first == 0x7f ||
           (first == 0xc2 && character.size == 2 && (unsigned char)character.data[1] < 0xa0);
}

static void dump_text(struct span text, FILE *out) {
    while (text.size > 0) {
        size_t size = utf8_character_size(text);
        bool plain = size > 0 && !is_control(span_of(text.data, size)) && text.data[0] != '\\';
        if (plain) {
            fwrite(text.data, 1, size, out);
        } else {
            size = 1;
            fprintf(out, "\\x%02x", (unsigned char)text.data[0]);
        }
        text = span_of(text.data + size, text.size - size);
    }
}

static void dump_summary(const struct index *index, FILE *out) {
    struct index_summary summary;
    index_summary_read(index, &summary);
    fprintf(out, "version %d\nsize %" PRIu64 "\n", INDEX_FORMAT_VERSION, index_size(index));
    for (size_t i = 0; i < summary.id_count; i++)
        fprintf(out, "id %s %s\n", binary_id_kind_name(summary.ids[i].kind), summary.ids[i].text);
    fprintf(out, "machine %u\ncontents%s%s%s%s\n", summary.machine,
            summary.has_dwarf ? " dwarf" : "", summary.has_pclntab ? " pclntab" : "",
            summary.has_symtab ? " symtab" : "", summary.has_dynsym ? " dynsym" : "");
    if (summary.without_columns)
        fprintf(out, "columns left out\n");
    fprintf(out, "functions %" PRIu64 "\ninlined %" PRIu64 "\nline_rows %" PRIu64 "\n",
            summary.function_count, summary.inlined_count, summary.line_row_count);
    fprintf(out, "intervals %" PRIu64 "\nlocations %" PRIu64 "\ndamage %" PRIu64 "\n",
            summary.interval_count, summary.location_count, summary.damage_count);
    fprintf(out, "executable_bytes %" PRIu64 "%s\ncovered_bytes %" PRIu64 "\n",
            summary.executable_bytes, summary.extents_exact ? "" : " (inferred)",
            summary.covered_bytes);
}

static void dump_segments(const struct index *index, FILE *out) {
    for (size_t i = 0; i < index_segment_count(index); i++) {
        struct index_segment segment = index_segment_at(index, i);
        fprintf(out,
                "segment offset 0x%" PRIx64 " address 0x%" PRIx64 " file_size 0x%" PRIx64
                " memory_size 0x%" PRIx64 " flags 0x%x\n",
                segment.offset, segment.address, segment.file_size, segment.memory_size,
                segment.flags);
    }
}

static void dump_sections(const struct index *index, FILE *out) {
    for (unsigned kind = 1; kind <= FORMAT_SECTION_COUNT; kind++) {
        const struct index_section *section = &index->sections[kind];
        fprintf(out, "section %s offset %td size %" PRIu64 " count %" PRIu64 " checksum %08x\n",
                index_section_name(kind), (const char *)section->bytes - index->bytes.data,
                section->size, section->count, section->checksum);
    }
}

static void dump_place(struct span file, uint32_t line, FILE *out) {
    dump_text(file.size ? file : span_cstr("?"), out);
    fprintf(out, ":%u", line);
}

static void dump_frame(const struct symbol_frame *frame, FILE *out) {
    fputs("  ", out);
    dump_text(frame->name.size ? frame->name : span_cstr("?"), out);
    fputs(" at ", out);
    dump_place(frame->file, frame->line, out);
    fprintf(out, ":%u (%s", frame->column, symbol_origin_name(frame->origin));
    if (frame->start_file.size || frame->start_line) {
        fputs(", declared at ", out);
        dump_place(frame->start_file, frame->start_line, out);
    }
    if (frame->has_entry_pc)
        fprintf(out, ", entry 0x%" PRIx64, frame->entry_pc);
    fprintf(out, "%s%s)\n", frame->flags & SYMBOL_DEMANGLES ? ", demangles" : "",
            frame->flags & SYMBOL_WRAPPER ? ", wrapper" : "");
}

static void dump_intervals(const struct index *index, FILE *out) {
    struct index_position position = {0};
    struct index_scratch scratch;
    struct index_hit hit;
    struct pc_range range;
    while (index_interval_next(index, &position, &range, &hit)) {
        const char *miss = symbol_miss_name(hit.miss);
        fprintf(out, "0x%" PRIx64 "-0x%" PRIx64 "%s%s\n", range.begin, range.end, miss ? " " : "",
                miss ? miss : "");
        struct symbol_frame frame;
        while (index_chain_next(index, &hit.chain, &scratch, &frame))
            dump_frame(&frame, out);
    }
}

void index_dump(const struct index *index, bool intervals, FILE *out) {
    dump_summary(index, out);
    dump_segments(index, out);
    dump_sections(index, out);
    if (intervals)
        dump_intervals(index, out);
}
