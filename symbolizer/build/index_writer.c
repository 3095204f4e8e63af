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
    writer->segments.record_size = sizeof(struct format_segment);
    writer->intervals.record_size = sizeof(struct format_interval);
    writer->locations.record_size = sizeof(struct format_location);
    writer->functions.record_size = sizeof(struct format_function);
    writer->string_ends.record_size = sizeof(uint64_t);
    writer->string_bytes.record_size = 1;
    writer->blocks.record_size = sizeof(struct writer_block);
    writer->subjects.record_size = sizeof(struct writer_subject);
    writer->scopes.record_size = sizeof(struct writer_scope);
    *ret_writer = writer;
    return ERR_OK;
}

void index_writer_free(struct index_writer *writer) {
    if (!writer)
        return;
    intern_table_clear(&writer->strings_by_text);
    intern_table_clear(&writer->functions_by_record);
    intern_table_clear(&writer->locations_by_record);
    record_array_clear(&writer->segments);
    record_array_clear(&writer->intervals);
    record_array_clear(&writer->locations);
    record_array_clear(&writer->functions);
    record_array_clear(&writer->string_ends);
    record_array_clear(&writer->string_bytes);
    record_array_clear(&writer->blocks);
    record_array_clear(&writer->subjects);
    record_array_clear(&writer->scopes);
    free(writer);
}

/* --- interning --- */

struct wanted_string {
    const struct index_writer *writer;
    struct span text;
};

static uint64_t string_end(const struct index_writer *writer, uint32_t number) {
    uint64_t end = 0;
    if (number > 0)
        memcpy(&end, record_array_at(&writer->string_ends, number - 1), sizeof(end));
    return le64toh(end);
}

static bool string_matches(const void *context, uint32_t number) {
    const struct wanted_string *wanted = context;
    uint64_t begin = string_end(wanted->writer, number - 1);
    uint64_t end = string_end(wanted->writer, number);
    return end - begin == wanted->text.size &&
           memcmp(wanted->writer->string_bytes.data + begin, wanted->text.data, end - begin) == 0;
}

static enum err add_string(struct index_writer *writer, struct span text, struct error *error) {
    if (writer->string_ends.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many strings");
    enum err err =
        record_array_add(&writer->string_bytes, text.data, text.size, &writer->budget, error);
    if (err)
        return err;
    uint64_t end = htole64(writer->string_bytes.count);
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

/* `record` is in the file's byte order, without padding. */
static enum err intern_record(struct index_writer *writer, struct intern_table *table,
                              struct record_array *array, const void *record, uint32_t *ret_number,
                              struct error *error) {
    struct wanted_record wanted = {.array = array, .record = record};
    uint64_t hash = keyed_hash(writer->key, span_of(record, array->record_size));
    uint32_t number = intern_table_find(table, hash, record_matches, &wanted);
    if (number == 0) {
        if (array->count >= FORMAT_LOCATION_MAX)
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

/* --- what is interned --- */

enum err index_writer_file(struct index_writer *writer, struct span path, uint32_t *ret_file,
                           struct error *error) {
    return index_writer_string(writer, path, ret_file, error);
}

enum err index_writer_function(struct index_writer *writer, const struct index_function *function,
                               uint32_t *ret_function, struct error *error) {
    if (function->flags > UINT16_MAX || function->origin > SYMBOL_ORIGIN_DYNSYM)
        return error_set(error, ERR_INVALID, "a function of origin %u with flags %#x",
                         (unsigned)function->origin, function->flags);
    uint32_t name = 0;
    uint32_t start_file = 0;
    enum err err = index_writer_string(writer, function->name, &name, error);
    if (!err)
        err = index_writer_string(writer, function->start_file, &start_file, error);
    if (err)
        return err;
    struct format_function record = {
        .entry_pc = function->has_entry_pc ? htole64(function->entry_pc) : 0,
        .name = htole32(name),
        .start_file = htole32(start_file),
        .start_line = htole32(function->start_line),
        .flags = htole16((uint16_t)function->flags),
        .origin = (uint8_t)function->origin,
        .has_entry_pc = function->has_entry_pc,
    };
    return intern_record(writer, &writer->functions_by_record, &writer->functions, &record,
                         ret_function, error);
}

enum err index_writer_add_function(struct index_writer *writer,
                                   const struct format_function *record, uint32_t *ret_function,
                                   struct error *error) {
    if (writer->functions.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many functions");
    enum err err = record_array_add(&writer->functions, record, 1, &writer->budget, error);
    if (err == ERR_OK)
        *ret_function = (uint32_t)writer->functions.count;
    return err;
}

/* Depth as in struct format_location: one less than the number of frames. */
static uint32_t depth_below(const struct index_writer *writer, uint32_t parent) {
    if (parent == 0)
        return 0;
    const struct format_location *record = record_array_at(&writer->locations, parent - 1);
    return (le32toh(record->column_depth) & (FRAME_COUNT_MAX - 1)) + 1;
}

enum err index_writer_location(struct index_writer *writer, const struct index_location *location,
                               uint32_t *ret_location, struct error *error) {
    if (location->function > writer->functions.count ||
        location->file > writer->string_ends.count || location->parent > writer->locations.count)
        return error_set(error, ERR_INVALID, "a location of unknown function, file or parent");
    uint32_t depth = depth_below(writer, location->parent);
    if (depth >= FRAME_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "a chain of more than %d frames", FRAME_COUNT_MAX);
    uint32_t column = location->column > FORMAT_COLUMN_MAX ? 0 : location->column;
    struct format_location record = {
        .function = htole32(location->function),
        .file = htole32(location->file),
        .line = htole32(location->line),
        .parent = htole32(location->parent),
        .column_depth = htole32(column << FORMAT_DEPTH_BITS | depth),
    };
    return intern_record(writer, &writer->locations_by_record, &writer->locations, &record,
                         ret_location, error);
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

static enum err interval_value(const struct index_writer *writer, uint32_t location,
                               enum symbol_miss miss, uint32_t *ret_value, struct error *error) {
    static const uint32_t values[] = {
        [SYMBOL_MISS_NONE] = FORMAT_VALUE_NONE,
        [SYMBOL_MISS_NO_LINE] = FORMAT_VALUE_NO_LINE,
        [SYMBOL_MISS_INLINE_UNAVAILABLE] = FORMAT_VALUE_NO_INLINE,
    };
    if (location > writer->locations.count || miss > SYMBOL_MISS_INLINE_UNAVAILABLE ||
        miss == SYMBOL_MISS_NO_RANGE || (miss == SYMBOL_MISS_NONE && location == 0))
        return error_set(error, ERR_INVALID, "an interval of location %u and miss %u", location,
                         (unsigned)miss);
    *ret_value = values[miss] | location;
    return ERR_OK;
}

static enum err append_interval(struct index_writer *writer, struct writer_block *block,
                                uint64_t begin, uint32_t value, struct error *error) {
    if (writer->intervals.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many intervals");
    block->last_begin = (uint32_t)(begin - block->base);
    block->last_value = value;
    block->interval_count++;
    struct format_interval record = {.begin = htole32(block->last_begin), .value = htole32(value)};
    return record_array_add(&writer->intervals, &record, 1, &writer->budget, error);
}

/* The block that an interval beginning at `begin` goes to, with the hole before it filled. */
static enum err block_for(struct index_writer *writer, struct writer_block *last, uint64_t begin,
                          struct writer_block **ret_block, struct error *error) {
    if (last && begin - last->base <= UINT32_MAX) {
        *ret_block = last;
        return begin == last->end
                   ? ERR_OK
                   : append_interval(writer, last, last->end, FORMAT_VALUE_HOLE, error);
    }
    struct writer_block block = {.base = begin,
                                 .interval_first = (uint32_t)writer->intervals.count};
    enum err err = record_array_add(&writer->blocks, &block, 1, &writer->budget, error);
    if (!err)
        *ret_block = record_array_at(&writer->blocks, writer->blocks.count - 1);
    return err;
}

enum err index_writer_interval(struct index_writer *writer, struct pc_range range,
                               uint32_t location, enum symbol_miss miss, struct error *error) {
    struct writer_block *last =
        writer->blocks.count ? record_array_at(&writer->blocks, writer->blocks.count - 1) : NULL;
    if (range.begin >= range.end || (last && range.begin < last->end))
        return error_set(error, ERR_INVALID, "the interval [%#llx, %#llx) is out of order",
                         (unsigned long long)range.begin, (unsigned long long)range.end);
    uint32_t value = 0;
    enum err err = interval_value(writer, location, miss, &value, error);
    if (err)
        return err;
    if (last && range.begin == last->end && last->last_value == value) {
        last->end = range.end;
        return ERR_OK;
    }
    struct writer_block *block = NULL;
    err = block_for(writer, last, range.begin, &block, error);
    if (!err)
        err = append_interval(writer, block, range.begin, value, error);
    if (err)
        return err;
    block->end = range.end;
    writer->interval_count++;
    return ERR_OK;
}

uint64_t index_writer_interval_count(const struct index_writer *writer) {
    return writer->interval_count;
}

uint64_t index_writer_location_count(const struct index_writer *writer) {
    return writer->locations.count;
}
