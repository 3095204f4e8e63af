/* Blocks of scopes, functions and files. */
#include <endian.h>

#include "symbolizer/build/index_encode.h"
#include "symbolizer/index/bit_field.h"

/* Of up to FORMAT_BLOCK_RECORDS values of one field: base and width. */
struct field_plan {
    uint64_t lowest;
    uint64_t highest;
};

static struct field_plan plan_start(void) {
    return (struct field_plan){.lowest = UINT64_MAX};
}

static void plan_add(struct field_plan *plan, uint64_t value) {
    plan->lowest = value < plan->lowest ? value : plan->lowest;
    plan->highest = value > plan->highest ? value : plan->highest;
}

static unsigned plan_width(const struct field_plan *plan) {
    return bit_length(plan->highest - plan->lowest);
}

static uint32_t block_end(uint32_t first, size_t count) {
    return count - first < FORMAT_BLOCK_RECORDS ? (uint32_t)count : first + FORMAT_BLOCK_RECORDS;
}

/* --- scopes --- */

struct scope_row {
    const struct writer_scope *scope;
    struct line_code code; /* of the call */
    uint32_t function;
    uint32_t parent; /* distance */
};

struct scope_plan {
    struct scope_row rows[FORMAT_BLOCK_RECORDS];
    uint32_t count;
    uint64_t entry_mask;
    struct field_plan functions;
    struct field_plan entries;
    unsigned parent_bits;
    unsigned line_bits;
    unsigned column_bits;
    unsigned exception_count;
    unsigned file_bits;
    unsigned exception_line_bits;
};

#define SCOPE_POSITION_BITS 6
_Static_assert(FORMAT_BLOCK_RECORDS == 1 << SCOPE_POSITION_BITS, "positions fit");

static struct scope_row scope_row(const struct index_encoder *encoder, uint32_t number) {
    const struct index_numbering *numbering = &encoder->numbering;
    const struct writer_scope *scope =
        writer_scope(encoder->writer, numbering->scope_order[number - 1]);
    struct scope_row row = {.scope = scope, .function = numbering->functions[scope->subject]};
    if (scope->parent) {
        row.parent = number - numbering->scopes[scope->parent];
        row.code = index_line_code(
            numbering, index_numbering_function_of(numbering, encoder->writer, scope->parent),
            scope->call_file, scope->call_line);
    }
    return row;
}

static bool is_exception(const struct scope_plan *plan, const struct scope_row *row) {
    return row->parent != 0 && !line_code_fits(&row->code, plan->line_bits);
}

static void plan_calls(struct scope_plan *plan) {
    struct line_widths widths = {{0}, 0, 0};
    uint32_t file_max = 0;
    uint32_t line_max = 0;
    for (uint32_t i = 0; i < plan->count; i++)
        line_widths_add(&widths, &plan->rows[i].code);
    plan->line_bits = line_widths_choose(&widths, SCOPE_POSITION_BITS);
    for (uint32_t i = 0; i < plan->count; i++) {
        if (!is_exception(plan, &plan->rows[i]))
            continue;
        const struct line_code *code = &plan->rows[i].code;
        plan->exception_count++;
        file_max = code->file > file_max ? code->file : file_max;
        line_max = code->line > line_max ? code->line : line_max;
    }
    plan->file_bits = bit_length(file_max);
    plan->exception_line_bits = bit_length(line_max);
}

static void plan_scopes(const struct index_encoder *encoder, uint32_t first, uint32_t end,
                        struct scope_plan *plan) {
    uint32_t parent_max = 0;
    uint32_t column_max = 0;
    *plan = (struct scope_plan){.functions = plan_start(), .entries = plan_start()};
    for (uint32_t i = first; i < end; i++) {
        struct scope_row row = scope_row(encoder, i + 1);
        plan_add(&plan->functions, row.function);
        parent_max = row.parent > parent_max ? row.parent : parent_max;
        column_max = row.scope->call_column > column_max ? row.scope->call_column : column_max;
        if (row.scope->has_entry_pc) {
            plan->entry_mask |= (uint64_t)1 << plan->count;
            plan_add(&plan->entries, row.scope->entry_pc);
        }
        plan->rows[plan->count++] = row;
    }
    plan->parent_bits = bit_length(parent_max);
    plan->column_bits = bit_length(column_max);
    plan_calls(plan);
}

static void put_entries(const struct scope_plan *plan, struct bit_writer *bits) {
    if (plan->entry_mask == 0)
        return;
    unsigned width = plan_width(&plan->entries);
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->rows[i].scope->has_entry_pc)
            bit_writer_put(bits, plan->rows[i].scope->entry_pc - plan->entries.lowest, width);
    }
}

static void put_exceptions(const struct scope_plan *plan, struct bit_writer *bits) {
    if (plan->exception_count == 0)
        return;
    bit_writer_put(bits, plan->file_bits, EXCEPTION_WIDTH_BITS);
    bit_writer_put(bits, plan->exception_line_bits, EXCEPTION_WIDTH_BITS);
    for (uint32_t i = 0; i < plan->count; i++) {
        if (!is_exception(plan, &plan->rows[i]))
            continue;
        bit_writer_put(bits, i, SCOPE_POSITION_BITS);
        bit_writer_put(bits, plan->rows[i].code.file, plan->file_bits);
        bit_writer_put(bits, plan->rows[i].code.line, plan->exception_line_bits);
    }
}

static void put_scopes(const struct scope_plan *plan, struct bit_writer *bits) {
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct scope_row *row = &plan->rows[i];
        bool fits = line_code_fits(&row->code, plan->line_bits);
        bit_writer_put(bits, row->function - plan->functions.lowest, plan_width(&plan->functions));
        bit_writer_put(bits, row->parent, plan->parent_bits);
        bit_writer_put(bits, fits ? row->code.code : line_code_all_set(plan->line_bits),
                       plan->line_bits);
        bit_writer_put(bits, row->scope->call_column, plan->column_bits);
    }
}

static enum err encode_scope_block(struct index_encoder *encoder, uint32_t first, uint32_t end,
                                   struct error *error) {
    struct scope_plan plan;
    plan_scopes(encoder, first, end, &plan);
    struct format_scope_block header = {
        .entry_mask = htole64(plan.entry_mask),
        .entry_base = htole64(plan.entry_mask ? plan.entries.lowest : 0),
        .entry_bits = (uint8_t)(plan.entry_mask ? plan_width(&plan.entries) : 0),
        .function_base = htole32((uint32_t)plan.functions.lowest),
        .function_bits = (uint8_t)plan_width(&plan.functions),
        .parent_bits = (uint8_t)plan.parent_bits,
        .line_bits = (uint8_t)plan.line_bits,
        .column_bits = (uint8_t)plan.column_bits,
        .exception_count = (uint8_t)plan.exception_count,
    };
    enum err err = index_encode_offset(encoder, FORMAT_SCOPES, error);
    if (err == ERR_OK)
        err = index_encode_bytes(encoder, FORMAT_SCOPES, &header, sizeof(header), error);
    if (err)
        return err;
    struct bit_writer bits = index_encode_bits(encoder, FORMAT_SCOPES, error);
    put_scopes(&plan, &bits);
    put_entries(&plan, &bits);
    put_exceptions(&plan, &bits);
    return bit_writer_align(&bits);
}

enum err index_encode_scopes(struct index_encoder *encoder, struct error *error) {
    size_t count = encoder->numbering.scope_count;
    enum err err = ERR_OK;
    for (uint32_t first = 0; err == ERR_OK && first < count;) {
        uint32_t end = block_end(first, count);
        err = encode_scope_block(encoder, first, end, error);
        first = end;
    }
    encoder->sections.counts[FORMAT_SCOPES] = count;
    return err ? err : index_encode_tail(encoder, FORMAT_SCOPES, error);
}

/* --- functions --- */

struct function_row {
    uint64_t name_end; /* from the block's first name on */
    uint32_t file;
    uint32_t line;
    uint32_t attributes;
};

static uint32_t attributes_of(const struct index_subject *subject) {
    uint32_t attributes = subject->flags << FORMAT_ATTRIBUTE_FLAGS_SHIFT;
    attributes |= (uint32_t)subject->origin << FORMAT_ATTRIBUTE_ORIGIN_SHIFT;
    attributes |= subject->file ? 0 : FORMAT_ATTRIBUTE_NO_START_FILE;
    attributes |= subject->line ? 0 : FORMAT_ATTRIBUTE_NO_START_LINE;
    return attributes;
}

/* Adds the names of the block's functions. */
static enum err function_rows(struct index_encoder *encoder, uint32_t first, uint32_t end,
                              struct function_row *rows, struct error *error) {
    const struct record_array *names = &encoder->sections.bytes[FORMAT_NAME_BYTES];
    uint64_t base = names->count;
    for (uint32_t i = first; i < end; i++) {
        const struct numbered_function *function =
            index_numbering_function(&encoder->numbering, i + 1);
        const struct index_subject *subject = writer_subject(encoder->writer, function->subject);
        struct span name = index_writer_text(encoder->writer, subject->name);
        enum err err = index_encode_bytes(encoder, FORMAT_NAME_BYTES, name.data, name.size, error);
        if (err)
            return err;
        rows[i - first] = (struct function_row){
            .name_end = names->count - base,
            .file = encoder->numbering.files[function->file],
            .line = function->line,
            .attributes = attributes_of(subject),
        };
    }
    return ERR_OK;
}

static void put_functions(const struct function_row *rows, uint32_t count,
                          const struct format_function_block *header, uint32_t file_base,
                          uint32_t attribute_base, struct bit_writer *bits) {
    for (uint32_t i = 0; i < count; i++) {
        bit_writer_put(bits, rows[i].name_end, header->end_bits);
        bit_writer_put(bits, rows[i].file - file_base, header->file_bits);
        bit_writer_put(bits, rows[i].line, header->line_bits);
        bit_writer_put(bits, rows[i].attributes - attribute_base, header->attribute_bits);
    }
}

static enum err encode_function_block(struct index_encoder *encoder, uint32_t first, uint32_t end,
                                      struct error *error) {
    struct function_row rows[FORMAT_BLOCK_RECORDS];
    uint64_t name_base = encoder->sections.bytes[FORMAT_NAME_BYTES].count;
    enum err err = function_rows(encoder, first, end, rows, error);
    struct field_plan files = plan_start();
    struct field_plan attributes = plan_start();
    uint32_t line_max = 0;
    uint32_t count = end - first;
    for (uint32_t i = 0; err == ERR_OK && i < count; i++) {
        plan_add(&files, rows[i].file);
        plan_add(&attributes, rows[i].attributes);
        line_max = rows[i].line > line_max ? rows[i].line : line_max;
    }
    if (err == ERR_OK)
        err = index_encode_offset(encoder, FORMAT_FUNCTIONS, error);
    if (err)
        return err;
    struct format_function_block header = {
        .name_base = htole64(name_base),
        .file_base = htole32((uint32_t)files.lowest),
        .attribute_base = htole32((uint32_t)attributes.lowest),
        .end_bits = (uint8_t)bit_length(rows[count - 1].name_end),
        .file_bits = (uint8_t)plan_width(&files),
        .line_bits = (uint8_t)bit_length(line_max),
        .attribute_bits = (uint8_t)plan_width(&attributes),
    };
    struct bit_writer bits = index_encode_bits(encoder, FORMAT_FUNCTIONS, error);
    bits.err = index_encode_bytes(encoder, FORMAT_FUNCTIONS, &header, sizeof(header), error);
    put_functions(rows, count, &header, (uint32_t)files.lowest, (uint32_t)attributes.lowest, &bits);
    return bit_writer_align(&bits);
}

enum err index_encode_functions(struct index_encoder *encoder, struct error *error) {
    size_t count = encoder->numbering.function_order.count;
    enum err err = ERR_OK;
    for (uint32_t first = 0; err == ERR_OK && first < count;) {
        uint32_t end = block_end(first, count);
        err = encode_function_block(encoder, first, end, error);
        first = end;
    }
    encoder->sections.counts[FORMAT_FUNCTIONS] = count;
    encoder->sections.counts[FORMAT_NAME_BYTES] = encoder->sections.bytes[FORMAT_NAME_BYTES].count;
    return err ? err : index_encode_tail(encoder, FORMAT_FUNCTIONS, error);
}
