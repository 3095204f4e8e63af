/* Scopes and rows as the records of format 1: a location for each frame, a function for each entry
 * pc. */
#include <endian.h>

#include "symbolizer/build/index_writer_internal.h"

enum err index_writer_subject(struct index_writer *writer, const struct index_subject *subject,
                              uint32_t *ret_subject, struct error *error) {
    if (subject->flags > UINT16_MAX || subject->origin > SYMBOL_ORIGIN_DYNSYM)
        return error_set(error, ERR_INVALID, "a function of origin %u with flags %#x",
                         (unsigned)subject->origin, subject->flags);
    if (subject->name > writer->string_ends.count || subject->file > writer->string_ends.count)
        return error_set(error, ERR_INVALID, "a function of unknown name or file");
    if (writer->subjects.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many functions");
    struct writer_subject kept = {
        .record = {.name = htole32(subject->name),
                   .start_file = htole32(subject->file),
                   .start_line = htole32(subject->line),
                   .flags = htole16((uint16_t)subject->flags),
                   .origin = (uint8_t)subject->origin},
    };
    enum err err = record_array_add(&writer->subjects, &kept, 1, &writer->budget, error);
    if (err == ERR_OK)
        *ret_subject = (uint32_t)writer->subjects.count;
    return err;
}

static enum err function_of(struct index_writer *writer, const struct index_scope *scope,
                            uint32_t *ret_function, struct error *error) {
    struct writer_subject *subject = record_array_at(&writer->subjects, scope->subject - 1);
    if (scope->has_entry_pc) {
        struct format_function record = subject->record;
        record.entry_pc = htole64(scope->entry_pc);
        record.has_entry_pc = 1;
        return index_writer_add_function(writer, &record, ret_function, error);
    }
    enum err err = subject->function ? ERR_OK
                                     : index_writer_add_function(writer, &subject->record,
                                                                 &subject->function, error);
    *ret_function = subject->function;
    return err;
}

static enum err location_in(struct index_writer *writer, const struct writer_scope *scope,
                            const struct index_place *place, uint32_t *ret_location,
                            struct error *error) {
    struct index_location location = {
        .function = scope->function,
        .file = place->file,
        .line = place->line,
        .column = place->column,
        .parent = scope->caller,
    };
    return index_writer_location(writer, &location, ret_location, error);
}

enum err index_writer_scope(struct index_writer *writer, const struct index_scope *scope,
                            uint32_t *ret_scope, struct error *error) {
    if (scope->subject == 0 || scope->subject > writer->subjects.count ||
        scope->parent > writer->scopes.count)
        return error_set(error, ERR_INVALID, "a scope of unknown function or parent");
    if (writer->scopes.count >= UINT32_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many scopes");
    struct writer_scope kept = {.function = 0};
    enum err err = function_of(writer, scope, &kept.function, error);
    if (err == ERR_OK && scope->parent)
        err = location_in(writer, record_array_at(&writer->scopes, scope->parent - 1), &scope->call,
                          &kept.caller, error);
    if (err == ERR_OK)
        err = record_array_add(&writer->scopes, &kept, 1, &writer->budget, error);
    if (err == ERR_OK)
        *ret_scope = (uint32_t)writer->scopes.count;
    return err;
}

enum err index_writer_stretch(struct index_writer *writer, struct pc_range range, uint32_t scope,
                              const struct index_place *row, enum symbol_miss miss,
                              struct error *error) {
    if (scope == 0 || scope > writer->scopes.count)
        return error_set(error, ERR_INVALID, "an interval of an unknown scope");
    uint32_t location = 0;
    enum err err =
        location_in(writer, record_array_at(&writer->scopes, scope - 1), row, &location, error);
    return err ? err : index_writer_interval(writer, range, location, miss, error);
}
