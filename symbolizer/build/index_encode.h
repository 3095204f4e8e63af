/*
 * What the writer collected, as the sections of symbolizer/index/format.h. Sections grow in memory,
 * paid from the writer's budget.
 */
#pragma once

#include "symbolizer/build/bit_writer.h"
#include "symbolizer/build/index_numbering.h"

struct index_sections {
    struct record_array bytes[FORMAT_SECTION_COUNT + 1]; /* by kind */
    uint64_t counts[FORMAT_SECTION_COUNT + 1];           /* of records; of arrays: see there */
};

struct index_encoder {
    struct index_writer *writer;
    struct index_numbering numbering;
    struct index_sections sections;
};

void index_sections_start(struct index_sections *sections);
void index_sections_clear(struct index_sections *sections);

/* Begins a block: notes in the section of offsets, that stands before, where it is. */
enum err index_encode_offset(struct index_encoder *encoder, enum format_section_kind kind,
                             struct error *error);
enum err index_encode_bytes(struct index_encoder *encoder, enum format_section_kind kind,
                            const void *bytes, size_t size, struct error *error);
/* Behind the last block. */
enum err index_encode_tail(struct index_encoder *encoder, enum format_section_kind kind,
                           struct error *error);

static inline struct bit_writer index_encode_bits(struct index_encoder *encoder,
                                                  enum format_section_kind kind,
                                                  struct error *error) {
    return (struct bit_writer){.bytes = &encoder->sections.bytes[kind],
                               .budget = &encoder->writer->budget,
                               .error = error};
}

/* --- line codes --- */

/* A line code, or what an exception holds instead. */
struct line_code {
    uint32_t file; /* number */
    uint32_t line;
    uint64_t code; /* UINT64_MAX: only an exception can tell */
};

/* Of a place (file as a string) in a function; 0: in none. */
struct line_code index_line_code(const struct index_numbering *numbering, uint32_t function,
                                 uint32_t file, uint32_t line);

/* Which width makes codes and exceptions take the least room. */
struct line_widths {
    uint32_t by_length[34]; /* codes, by the bits that hold code + 1; the last: exceptions anyhow */
    uint32_t file_max;
    uint32_t line_max;
};

void line_widths_add(struct line_widths *widths, const struct line_code *code);
/* exception_bits: of an exception beside file and line. */
unsigned line_widths_choose(const struct line_widths *widths, unsigned exception_bits);

static inline bool line_code_fits(const struct line_code *code, unsigned width) {
    return code->code < ((uint64_t)1 << width) - 1;
}

static inline uint64_t line_code_all_set(unsigned width) {
    return ((uint64_t)1 << width) - 1;
}

/* Widths of exceptions in front of them. */
#define EXCEPTION_WIDTH_BITS 6

enum err index_encode_intervals(struct index_encoder *encoder, struct error *error);
enum err index_encode_scopes(struct index_encoder *encoder, struct error *error);
enum err index_encode_functions(struct index_encoder *encoder, struct error *error);
enum err index_encode_files(struct index_encoder *encoder, struct error *error);
