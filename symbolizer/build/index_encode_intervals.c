/* Stretches and their blocks. */
#include <endian.h>
#include <string.h>

#include "symbolizer/build/index_encode.h"
#include "symbolizer/index/bit_field.h"

/* How many intervals a block is to hold, were they spread evenly. */
#define BLOCK_INTERVALS 64
/* A hole or an interval over more than so many blocks ends a stretch. */
#define LONG_BLOCKS 32
#define BLOCK_SHIFT_MIN 4
/* With no more units than a count of records holds; and with fewer intervals than that. */
#define BLOCK_SHIFT_MAX 15
#define BLOCK_SHIFT_MAX_FEW 24

/* A record of the block that is being made. */
struct block_record {
    uint64_t begin; /* in units above the block's */
    const struct writer_interval *interval;
    struct line_code code;
};

struct interval_encoder {
    struct index_encoder *encoder;
    struct block_record *records;
    size_t record_capacity;
    size_t record_count;
    uint64_t block; /* that the records belong to, within the stretch */
    uint64_t long_units;
    struct format_stretch stretch; /* in the machine's byte order; end 0: none is open */
    uint8_t unit_shift;
    uint8_t block_shift;
};

static void cleanup_interval_encoder(struct interval_encoder *self) {
    BUDGET_FREE(&self->encoder->writer->budget, self->records, self->record_capacity);
}

/* --- one block --- */

/* What the fields of a block's records need. */
struct block_plan {
    uint32_t scope_base;
    uint32_t exception_count;
    unsigned low_bits;
    unsigned scope_bits;
    unsigned line_bits;
    unsigned column_bits;
    unsigned position_bits;
    unsigned file_bits;
    unsigned exception_line_bits;
};

static uint32_t scope_number(const struct interval_encoder *self, size_t record) {
    return self->encoder->numbering.scopes[self->records[record].interval->scope];
}

static uint32_t column_of(const struct block_record *record) {
    return record->interval->column_miss >> 2;
}

static enum symbol_miss miss_of(const struct block_record *record) {
    return (enum symbol_miss)(record->interval->column_miss & 3);
}

static void plan_scopes(const struct interval_encoder *self, struct block_plan *plan) {
    uint32_t lowest = UINT32_MAX;
    uint32_t highest = 0;
    for (size_t i = 0; i < self->record_count; i++) {
        uint32_t number = scope_number(self, i);
        if (number == 0)
            continue;
        lowest = number < lowest ? number : lowest;
        highest = number > highest ? number : highest;
    }
    plan->scope_base = highest ? lowest : 0;
    plan->scope_bits = highest ? bit_length((uint64_t)highest - lowest + 1) : 0;
}

static void plan_lines(const struct interval_encoder *self, struct block_plan *plan) {
    struct line_widths widths = {{0}, 0, 0};
    uint32_t file_max = 0;
    uint32_t line_max = 0;
    uint32_t column_max = 0;
    plan->position_bits = bit_length(self->record_count - 1);
    for (size_t i = 0; i < self->record_count; i++)
        line_widths_add(&widths, &self->records[i].code);
    plan->line_bits = line_widths_choose(&widths, plan->position_bits + 2);
    for (size_t i = 0; i < self->record_count; i++) {
        const struct block_record *record = &self->records[i];
        uint32_t column = column_of(record);
        column_max = column > column_max ? column : column_max;
        if (line_code_fits(&record->code, plan->line_bits))
            continue;
        plan->exception_count++;
        file_max = record->code.file > file_max ? record->code.file : file_max;
        line_max = record->code.line > line_max ? record->code.line : line_max;
    }
    plan->column_bits = bit_length(column_max);
    plan->file_bits = bit_length(file_max);
    plan->exception_line_bits = bit_length(line_max);
}

static struct block_plan plan_block(const struct interval_encoder *self) {
    struct block_plan plan = {.low_bits = 0};
    while (plan.low_bits < self->block_shift && plan.low_bits < FORMAT_LOW_BITS_MAX &&
           self->record_count <= (uint64_t)1 << (self->block_shift - plan.low_bits - 1))
        plan.low_bits++;
    plan_scopes(self, &plan);
    plan_lines(self, &plan);
    return plan;
}

static bool starts_run(const struct interval_encoder *self, size_t record) {
    return record == 0 || scope_number(self, record) != scope_number(self, record - 1);
}

static enum err put_marks(const struct interval_encoder *self, struct bit_writer *bits) {
    for (size_t i = 0; i < self->record_count; i++)
        bit_writer_put(bits, starts_run(self, i), 1);
    return bit_writer_align(bits);
}

static enum err put_upper(const struct interval_encoder *self, const struct block_plan *plan,
                          struct bit_writer *bits) {
    uint64_t cells = (uint64_t)1 << (self->block_shift - plan->low_bits);
    uint64_t cell = 0;
    for (size_t i = 0; i < self->record_count; i++) {
        for (; cell < self->records[i].begin >> plan->low_bits; cell++)
            bit_writer_put(bits, 0, 1);
        bit_writer_put(bits, 1, 1);
    }
    for (; cell < cells; cell++)
        bit_writer_put(bits, 0, 1);
    return bit_writer_align(bits);
}

static void put_rows(const struct interval_encoder *self, const struct block_plan *plan,
                     struct bit_writer *bits) {
    uint64_t low_mask = ((uint64_t)1 << plan->low_bits) - 1;
    for (size_t i = 0; i < self->record_count; i++)
        bit_writer_put(bits, self->records[i].begin & low_mask, plan->low_bits);
    for (size_t i = 0; i < self->record_count; i++) {
        const struct line_code *code = &self->records[i].code;
        bit_writer_put(bits,
                       line_code_fits(code, plan->line_bits) ? code->code
                                                             : line_code_all_set(plan->line_bits),
                       plan->line_bits);
        bit_writer_put(bits, column_of(&self->records[i]), plan->column_bits);
    }
    for (size_t i = 0; i < self->record_count; i++) {
        uint32_t number = scope_number(self, i);
        if (starts_run(self, i))
            bit_writer_put(bits, number ? number - plan->scope_base + 1 : 0, plan->scope_bits);
    }
}

static void put_exceptions(const struct interval_encoder *self, const struct block_plan *plan,
                           struct bit_writer *bits) {
    if (plan->exception_count == 0)
        return;
    bit_writer_put(bits, plan->file_bits, EXCEPTION_WIDTH_BITS);
    bit_writer_put(bits, plan->exception_line_bits, EXCEPTION_WIDTH_BITS);
    for (size_t i = 0; i < self->record_count; i++) {
        const struct block_record *record = &self->records[i];
        if (line_code_fits(&record->code, plan->line_bits))
            continue;
        bit_writer_put(bits, i, plan->position_bits);
        bit_writer_put(bits, miss_of(record), 2);
        bit_writer_put(bits, record->code.file, plan->file_bits);
        bit_writer_put(bits, record->code.line, plan->exception_line_bits);
    }
}

static enum err put_block(struct interval_encoder *self, struct error *error) {
    struct index_encoder *encoder = self->encoder;
    struct block_plan plan = plan_block(self);
    struct format_interval_block header = {
        .scope_base = htole32(plan.scope_base),
        .record_count = htole16((uint16_t)self->record_count),
        .exception_count = htole16((uint16_t)plan.exception_count),
        .low_bits = (uint8_t)plan.low_bits,
        .scope_bits = (uint8_t)plan.scope_bits,
        .line_bits = (uint8_t)plan.line_bits,
        .column_bits = (uint8_t)plan.column_bits,
    };
    enum err err = index_encode_offset(encoder, FORMAT_INTERVALS, error);
    if (err == ERR_OK)
        err = index_encode_bytes(encoder, FORMAT_INTERVALS, &header, sizeof(header), error);
    struct bit_writer bits = index_encode_bits(encoder, FORMAT_INTERVALS, error);
    bits.err = err;
    if (put_marks(self, &bits) == ERR_OK && put_upper(self, &plan, &bits) == ERR_OK) {
        put_rows(self, &plan, &bits);
        put_exceptions(self, &plan, &bits);
    }
    encoder->sections.counts[FORMAT_INTERVALS] += self->record_count;
    return bit_writer_align(&bits);
}

static bool is_hole(const struct block_record *record) {
    return record->interval->scope == 0 && miss_of(record) == SYMBOL_MISS_NO_RANGE;
}

static enum err flush_block(struct interval_encoder *self, struct error *error) {
    bool covered = false;
    for (size_t i = 0; !covered && i < self->record_count; i++)
        covered = !is_hole(&self->records[i]);
    enum err err = ERR_OK;
    if (covered) {
        err = put_block(self, error);
    } else {
        static const uint32_t none;
        self->encoder->sections.counts[FORMAT_INTERVAL_OFFSETS]++;
        err =
            index_encode_bytes(self->encoder, FORMAT_INTERVAL_OFFSETS, &none, sizeof(none), error);
    }
    self->record_count = 0;
    self->block++;
    return err;
}

/* --- stretches --- */

static struct line_code code_of(const struct interval_encoder *self,
                                const struct writer_interval *interval) {
    const struct index_numbering *numbering = &self->encoder->numbering;
    uint32_t function = 0;
    if (interval->scope)
        function = index_numbering_function_of(numbering, self->encoder->writer, interval->scope);
    struct line_code code = index_line_code(numbering, function, interval->file, interval->line);
    enum symbol_miss miss = (enum symbol_miss)(interval->column_miss & 3);
    /* What a code means by itself. */
    enum symbol_miss meant = code.code ? SYMBOL_MISS_NONE : SYMBOL_MISS_NO_LINE;
    if (interval->scope == 0 && code.code == 0)
        meant = SYMBOL_MISS_NO_RANGE;
    if (miss != meant)
        code.code = UINT64_MAX;
    return code;
}

static enum err open_stretch(struct interval_encoder *self, uint64_t base, uint8_t block_shift,
                             struct error *error) {
    uint64_t first = self->encoder->sections.counts[FORMAT_INTERVAL_OFFSETS];
    if (first >= UINT32_MAX / 2)
        return error_set(error, ERR_LIMIT, "the symbol index has too many intervals");
    self->stretch = (struct format_stretch){.base = base,
                                            .end = base,
                                            .block_first = (uint32_t)first,
                                            .block_shift = block_shift,
                                            .unit_shift = self->unit_shift};
    self->block_shift = block_shift;
    self->block = 0;
    self->record_count = 0;
    return ERR_OK;
}

static enum err close_stretch(struct interval_encoder *self, struct error *error) {
    struct format_stretch record = self->stretch;
    if (record.end == record.base)
        return ERR_OK;
    enum err err = self->record_count ? flush_block(self, error) : ERR_OK;
    record.base = htole64(record.base);
    record.end = htole64(record.end);
    record.block_first = htole32(record.block_first);
    record.block_count = htole32((uint32_t)self->block);
    self->encoder->sections.counts[FORMAT_STRETCHES]++;
    self->stretch.end = self->stretch.base;
    return err ? err
               : index_encode_bytes(self->encoder, FORMAT_STRETCHES, &record, sizeof(record),
                                    error);
}

/* An interval or a hole that goes on from the stretch's end. */
static enum err extend_stretch(struct interval_encoder *self, uint64_t end,
                               const struct writer_interval *interval, struct error *error) {
    struct format_stretch *stretch = &self->stretch;
    uint64_t begin = (stretch->end - stretch->base) >> stretch->unit_shift;
    uint64_t last_block = (end - stretch->base - 1) >> stretch->unit_shift >> self->block_shift;
    struct line_code code = code_of(self, interval);
    while (begin >> self->block_shift > self->block) {
        enum err err = flush_block(self, error);
        if (err)
            return err;
    }
    for (;;) {
        uint64_t block_begin = self->block << self->block_shift;
        enum err err = BUDGET_GROW(&self->encoder->writer->budget, self->records,
                                   self->record_capacity, self->record_count + 1, error);
        if (err)
            return err;
        self->records[self->record_count++] =
            (struct block_record){.begin = begin > block_begin ? begin - block_begin : 0,
                                  .interval = interval,
                                  .code = code};
        if (self->block == last_block)
            break;
        err = flush_block(self, error);
        if (err)
            return err;
    }
    stretch->end = end;
    return ERR_OK;
}

/* The smallest shift that makes one block of the interval. */
static uint8_t lone_shift(const struct interval_encoder *self, uint64_t begin, uint64_t end) {
    return (uint8_t)bit_length((end - begin - 1) >> self->unit_shift);
}

static enum err encode_interval(struct interval_encoder *self, uint64_t begin, uint64_t end,
                                const struct writer_interval *interval, uint8_t block_shift,
                                struct error *error) {
    bool hole = interval->scope == 0 && (interval->column_miss & 3) == SYMBOL_MISS_NO_RANGE;
    bool is_long = (end - begin) >> self->unit_shift > self->long_units;
    bool is_open = self->stretch.end > self->stretch.base;
    if (!is_long && is_open && self->stretch.end == begin)
        return extend_stretch(self, end, interval, error);
    enum err err = close_stretch(self, error);
    if (err || hole)
        return err;
    err = open_stretch(self, begin, is_long ? lone_shift(self, begin, end) : block_shift, error);
    if (err == ERR_OK)
        err = extend_stretch(self, end, interval, error);
    return err || !is_long ? err : close_stretch(self, error);
}

/* --- all of them --- */

static uint64_t interval_end(const struct writer_block *block,
                             const struct writer_interval *intervals, uint32_t position) {
    return position + 1 < block->interval_count ? block->base + intervals[position + 1].begin
                                                : block->end;
}

/* The shift of the unit that all begins are multiples of, and of blocks. */
static uint8_t choose_shifts(struct interval_encoder *self) {
    const struct index_writer *writer = self->encoder->writer;
    uint64_t begins = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < writer->blocks.count; i++) {
        const struct writer_block *block = record_array_at(&writer->blocks, i);
        const struct writer_interval *intervals =
            record_array_at(&writer->intervals, block->interval_first);
        for (uint32_t j = 0; j < block->interval_count; j++)
            begins |= block->base + intervals[j].begin;
        bytes += block->end - block->base;
    }
    self->unit_shift = begins ? (uint8_t)__builtin_ctzll(begins) : 0;
    if (self->unit_shift > 12)
        self->unit_shift = 12;
    uint64_t average = (bytes >> self->unit_shift) / (writer->intervals.count + 1) + 1;
    unsigned most = writer->intervals.count <= UINT16_MAX / 2 ? BLOCK_SHIFT_MAX_FEW
                                                              : BLOCK_SHIFT_MAX;
    unsigned shift = average >> most ? most : bit_length(average * BLOCK_INTERVALS - 1);
    shift = shift < BLOCK_SHIFT_MIN ? BLOCK_SHIFT_MIN : shift > most ? most : shift;
    self->long_units = (uint64_t)LONG_BLOCKS << shift;
    return (uint8_t)shift;
}

enum err index_encode_intervals(struct index_encoder *encoder, struct error *error) {
    const struct index_writer *writer = encoder->writer;
    CLEANUP(cleanup_interval_encoder) struct interval_encoder self = {.encoder = encoder};
    uint8_t block_shift = choose_shifts(&self);
    enum err err = ERR_OK;
    for (size_t i = 0; i < writer->blocks.count; i++) {
        const struct writer_block *block = record_array_at(&writer->blocks, i);
        const struct writer_interval *intervals =
            record_array_at(&writer->intervals, block->interval_first);
        for (uint32_t j = 0; err == ERR_OK && j < block->interval_count; j++)
            err = encode_interval(&self, block->base + intervals[j].begin,
                                  interval_end(block, intervals, j), &intervals[j], block_shift,
                                  error);
    }
    if (err == ERR_OK)
        err = close_stretch(&self, error);
    return err ? err : index_encode_tail(encoder, FORMAT_INTERVALS, error);
}
