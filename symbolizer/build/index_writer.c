#include "symbolizer/build/index_writer.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/build/index_writer_internal.h"

enum err index_writer_new(uint64_t size_max, struct index_writer **ret_writer,
                          struct error *error) {
    struct index_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return error_set(error, ERR_NO_MEMORY, "no memory for a writer of symbol indexes");
    writer->budget.max = size_max;
    writer->key = hash_key_of_process();
    writer->string_ends.record_size = sizeof(uint64_t);
    writer->string_bytes.record_size = 1;
    writer->segments.record_size = sizeof(struct format_segment);
    writer->subjects.record_size = sizeof(struct index_subject);
    writer->scopes.record_size = sizeof(struct writer_scope);
    writer->intervals.record_size = sizeof(struct writer_interval);
    writer->blocks.record_size = sizeof(struct writer_block);
    writer->functions.record_size = sizeof(struct writer_function);
    writer->locations.record_size = sizeof(struct writer_location);
    writer->callers.record_size = sizeof(struct writer_caller);
    writer->caller_scopes.record_size = sizeof(uint32_t);
    writer->location_scopes.record_size = sizeof(uint32_t);
    *ret_writer = writer;
    return ERR_OK;
}

void index_writer_leave_out_columns(struct index_writer *writer) {
    writer->without_columns = true;
}

/* Of a table that was paid from the budget. */
static void end_table(struct index_writer *writer, struct intern_table *table) {
    memory_budget_give(&writer->budget, table->capacity * sizeof(struct intern_slot));
    intern_table_clear(table);
}

static void end_array(struct index_writer *writer, struct record_array *array) {
    memory_budget_give(&writer->budget, (uint64_t)array->capacity * array->record_size);
    record_array_clear(array);
}

void index_writer_end_adding(struct index_writer *writer) {
    end_table(writer, &writer->strings_by_text);
    end_table(writer, &writer->subjects_by_record);
    end_table(writer, &writer->functions_by_record);
    end_table(writer, &writer->locations_by_record);
    end_table(writer, &writer->scopes_by_caller);
    end_array(writer, &writer->functions);
    end_array(writer, &writer->locations);
    end_array(writer, &writer->callers);
    end_array(writer, &writer->caller_scopes);
    end_array(writer, &writer->location_scopes);
}

void index_writer_free(struct index_writer *writer) {
    if (!writer)
        return;
    index_writer_end_adding(writer);
    record_array_clear(&writer->string_ends);
    record_array_clear(&writer->string_bytes);
    record_array_clear(&writer->segments);
    record_array_clear(&writer->subjects);
    record_array_clear(&writer->scopes);
    record_array_clear(&writer->intervals);
    record_array_clear(&writer->blocks);
    free(writer);
}

/* --- strings --- */

struct wanted_string {
    const struct index_writer *writer;
    struct span text;
};

static uint64_t string_end(const struct index_writer *writer, uint32_t number) {
    uint64_t end = 0;
    if (number > 0)
        memcpy(&end, record_array_at(&writer->string_ends, number - 1), sizeof(end));
    return end;
}

struct span index_writer_text(const struct index_writer *writer, uint32_t string) {
    if (string == 0)
        return (struct span){NULL, 0};
    uint64_t begin = string_end(writer, string - 1);
    return span_of(writer->string_bytes.data + begin, string_end(writer, string) - begin);
}

static bool string_matches(const void *context, uint32_t number) {
    const struct wanted_string *wanted = context;
    return span_equal(index_writer_text(wanted->writer, number), wanted->text);
}

static enum err add_string(struct index_writer *writer, struct span text, struct error *error) {
    if (writer->string_ends.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many strings");
    enum err err =
        record_array_add(&writer->string_bytes, text.data, text.size, &writer->budget, error);
    if (err)
        return err;
    uint64_t end = writer->string_bytes.count;
    return record_array_add(&writer->string_ends, &end, 1, &writer->budget, error);
}

enum err index_writer_string(struct index_writer *writer, struct span text, uint32_t *ret_string,
                             struct error *error) {
    if (text.size == 0) {
        *ret_string = 0;
        return ERR_OK;
    }
    struct wanted_string wanted = {.writer = writer, .text = text};
    uint64_t hash = keyed_hash(writer->key, text);
    uint32_t number = intern_table_find(&writer->strings_by_text, hash, string_matches, &wanted);
    if (number == 0) {
        enum err err = intern_table_reserve(&writer->strings_by_text, &writer->budget, error);
        if (!err)
            err = add_string(writer, text, error);
        if (err)
            return err;
        number = (uint32_t)writer->string_ends.count;
        intern_table_add(&writer->strings_by_text, hash, number);
    }
    *ret_string = number;
    return ERR_OK;
}

struct wanted_record {
    const struct record_array *array;
    const void *record;
};

static bool record_matches(const void *context, uint32_t number) {
    const struct wanted_record *wanted = context;
    return memcmp(record_array_at(wanted->array, number - 1), wanted->record,
                  wanted->array->record_size) == 0;
}

enum err index_writer_intern(struct index_writer *writer, struct intern_table *table,
                             struct record_array *array, const void *record, uint32_t *ret_number,
                             struct error *error) {
    struct wanted_record wanted = {.array = array, .record = record};
    uint64_t hash = keyed_hash(writer->key, span_of(record, array->record_size));
    uint32_t number = intern_table_find(table, hash, record_matches, &wanted);
    if (number == 0) {
        if (array->count >= FORMAT_RECORD_MAX)
            return error_set(error, ERR_LIMIT, "the symbol index has too many records");
        enum err err = intern_table_reserve(table, &writer->budget, error);
        if (!err)
            err = record_array_add(array, record, 1, &writer->budget, error);
        if (err)
            return err;
        number = (uint32_t)array->count;
        intern_table_add(table, hash, number);
    }
    *ret_number = number;
    return ERR_OK;
}

/* --- subjects and scopes --- */

static enum err check_subject(const struct index_writer *writer,
                              const struct index_subject *subject, struct error *error) {
    if (subject->flags > FORMAT_FLAGS_MAX || subject->origin > SYMBOL_ORIGIN_DYNSYM)
        return error_set(error, ERR_INVALID, "a function of origin %u with flags %#x",
                         (unsigned)subject->origin, subject->flags);
    if (subject->name > writer->string_ends.count || subject->file > writer->string_ends.count)
        return error_set(error, ERR_INVALID, "a function of unknown name or file");
    return ERR_OK;
}

enum err index_writer_subject(struct index_writer *writer, const struct index_subject *subject,
                              uint32_t *ret_subject, struct error *error) {
    enum err err = check_subject(writer, subject, error);
    if (err)
        return err;
    if (writer->subjects.count >= FORMAT_RECORD_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many functions");
    err = record_array_add(&writer->subjects, subject, 1, &writer->budget, error);
    if (err == ERR_OK)
        *ret_subject = (uint32_t)writer->subjects.count;
    return err;
}

static uint32_t kept_column(const struct index_writer *writer, uint32_t column) {
    return writer->without_columns || column > FORMAT_COLUMN_MAX ? 0 : column;
}

enum err index_writer_scope(struct index_writer *writer, const struct index_scope *scope,
                            uint32_t *ret_scope, struct error *error) {
    if (scope->subject == 0 || scope->subject > writer->subjects.count ||
        scope->parent > writer->scopes.count || scope->call.file > writer->string_ends.count)
        return error_set(error, ERR_INVALID, "a scope of unknown function, parent or file");
    uint16_t depth = 1;
    if (scope->parent)
        depth = (uint16_t)(writer_scope(writer, scope->parent)->depth + 1);
    if (depth > FRAME_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "a chain of more than %d frames", FRAME_COUNT_MAX);
    if (writer->scopes.count >= FORMAT_RECORD_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many scopes");
    struct writer_scope kept = {
        .entry_pc = scope->has_entry_pc ? scope->entry_pc : 0,
        .subject = scope->subject,
        .parent = scope->parent,
        .depth = depth,
        .has_entry_pc = scope->has_entry_pc,
    };
    if (scope->parent) {
        kept.call_file = scope->call.file;
        kept.call_line = scope->call.line;
        kept.call_column = kept_column(writer, scope->call.column);
    }
    enum err err = record_array_add(&writer->scopes, &kept, 1, &writer->budget, error);
    if (err == ERR_OK)
        *ret_scope = (uint32_t)writer->scopes.count;
    return err;
}

enum err index_writer_segment(struct index_writer *writer, const struct index_segment *segment,
                              struct error *error) {
    struct format_segment record = {
        .offset = htole64(segment->offset),
        .address = htole64(segment->address),
        .file_size = htole64(segment->file_size),
        .memory_size = htole64(segment->memory_size),
        .flags = htole32(segment->flags),
    };
    return record_array_add(&writer->segments, &record, 1, &writer->budget, error);
}

/* --- intervals --- */

static enum err append_interval(struct index_writer *writer, struct writer_block *block,
                                uint64_t begin, const struct writer_interval *interval,
                                struct error *error) {
    if (writer->intervals.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many intervals");
    block->interval_count++;
    struct writer_interval kept = *interval;
    kept.begin = (uint32_t)(begin - block->base);
    return record_array_add(&writer->intervals, &kept, 1, &writer->budget, error);
}

/* The block that an interval beginning at `begin` goes to, with the hole before it filled. */
static enum err block_for(struct index_writer *writer, struct writer_block *last, uint64_t begin,
                          struct writer_block **ret_block, struct error *error) {
    static const struct writer_interval hole = {.column_miss = SYMBOL_MISS_NO_RANGE};
    if (last && begin - last->base <= UINT32_MAX) {
        *ret_block = last;
        return begin == last->end ? ERR_OK : append_interval(writer, last, last->end, &hole, error);
    }
    struct writer_block block = {.base = begin,
                                 .interval_first = (uint32_t)writer->intervals.count};
    enum err err = record_array_add(&writer->blocks, &block, 1, &writer->budget, error);
    if (!err)
        *ret_block = record_array_at(&writer->blocks, writer->blocks.count - 1);
    return err;
}

static bool same_answer(const struct writer_interval *a, const struct writer_interval *b) {
    return a->scope == b->scope && a->file == b->file && a->line == b->line &&
           a->column_miss == b->column_miss;
}

static enum err add_interval(struct index_writer *writer, struct pc_range range,
                             const struct writer_interval *interval, struct error *error) {
    struct writer_block *last =
        writer->blocks.count ? record_array_at(&writer->blocks, writer->blocks.count - 1) : NULL;
    if (range.begin >= range.end || (last && range.begin < last->end))
        return error_set(error, ERR_INVALID, "the interval [%#llx, %#llx) is out of order",
                         (unsigned long long)range.begin, (unsigned long long)range.end);
    if (last && range.begin == last->end &&
        same_answer(record_array_at(&writer->intervals, writer->intervals.count - 1), interval)) {
        last->end = range.end;
        return ERR_OK;
    }
    struct writer_block *block = NULL;
    enum err err = block_for(writer, last, range.begin, &block, error);
    if (!err)
        err = append_interval(writer, block, range.begin, interval, error);
    if (err)
        return err;
    block->end = range.end;
    writer->interval_count++;
    return ERR_OK;
}

enum err index_writer_add_stretch(struct index_writer *writer, struct pc_range range,
                                  uint32_t scope, const struct index_place *row,
                                  enum symbol_miss miss, struct error *error) {
    if (scope > writer->scopes.count || row->file > writer->string_ends.count ||
        miss > SYMBOL_MISS_INLINE_UNAVAILABLE || miss == SYMBOL_MISS_NO_RANGE ||
        (miss == SYMBOL_MISS_NONE && scope == 0))
        return error_set(error, ERR_INVALID, "an interval of scope %u and miss %u", scope,
                         (unsigned)miss);
    struct writer_interval interval = {
        .scope = scope,
        .file = row->file,
        .line = row->line,
        .column_miss = kept_column(writer, row->column) << 2 | (uint32_t)miss,
    };
    return add_interval(writer, range, &interval, error);
}

enum err index_writer_stretch(struct index_writer *writer, struct pc_range range, uint32_t scope,
                              const struct index_place *row, enum symbol_miss miss,
                              struct error *error) {
    if (scope == 0)
        return error_set(error, ERR_INVALID, "an interval of no scope");
    return index_writer_add_stretch(writer, range, scope, row, miss, error);
}

uint64_t index_writer_interval_count(const struct index_writer *writer) {
    return writer->interval_count;
}

uint64_t index_writer_memory_peak(const struct index_writer *writer) {
    return writer->budget.peak;
}

uint64_t index_writer_location_count(const struct index_writer *writer) {
    return writer->scopes.count;
}
