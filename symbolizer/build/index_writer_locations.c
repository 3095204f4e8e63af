/* Functions and locations as the subjects and scopes that an index is kept in. */
#include "symbolizer/build/index_writer_internal.h"

enum err index_writer_file(struct index_writer *writer, struct span path, uint32_t *ret_file,
                           struct error *error) {
    return index_writer_string(writer, path, ret_file, error);
}

static enum err intern_subject(struct index_writer *writer, const struct index_function *function,
                               uint32_t *ret_subject, struct error *error) {
    struct index_subject subject = {
        .line = function->start_line,
        .flags = function->flags,
        .origin = function->origin,
    };
    if (function->flags > FORMAT_FLAGS_MAX || function->origin > SYMBOL_ORIGIN_DYNSYM)
        return error_set(error, ERR_INVALID, "a function of origin %u with flags %#x",
                         (unsigned)function->origin, function->flags);
    enum err err = index_writer_string(writer, function->name, &subject.name, error);
    if (!err)
        err = index_writer_string(writer, function->start_file, &subject.file, error);
    if (!err)
        err = index_writer_intern(writer, &writer->subjects_by_record, &writer->subjects, &subject,
                                  ret_subject, error);
    return err;
}

enum err index_writer_function(struct index_writer *writer, const struct index_function *function,
                               uint32_t *ret_function, struct error *error) {
    struct writer_function record = {
        .entry_pc = function->has_entry_pc ? function->entry_pc : 0,
        .has_entry_pc = function->has_entry_pc,
    };
    enum err err = intern_subject(writer, function, &record.subject, error);
    return err ? err
               : index_writer_intern(writer, &writer->functions_by_record, &writer->functions,
                                     &record, ret_function, error);
}

static uint32_t scope_of_location(const struct index_writer *writer, uint32_t location) {
    const uint32_t *scopes = record_array_at(&writer->location_scopes, 0);
    return location ? scopes[location - 1] : 0;
}

static enum err add_scope(struct index_writer *writer, const struct writer_caller *caller,
                          struct error *error) {
    const struct writer_function *function =
        record_array_at(&writer->functions, caller->function - 1);
    struct index_scope scope = {
        .subject = function->subject,
        .entry_pc = function->entry_pc,
        .has_entry_pc = function->has_entry_pc,
    };
    if (caller->location) {
        const struct writer_location *call =
            record_array_at(&writer->locations, caller->location - 1);
        scope.parent = scope_of_location(writer, caller->location);
        scope.call = (struct index_place){call->file, call->line, call->column};
    }
    uint32_t number = 0;
    enum err err = index_writer_scope(writer, &scope, &number, error);
    return err ? err : record_array_add(&writer->caller_scopes, &number, 1, &writer->budget, error);
}

/* The scope of a function called from a location; each pair has one. */
static enum err scope_of_caller(struct index_writer *writer, const struct writer_caller *caller,
                                uint32_t *ret_scope, struct error *error) {
    uint32_t position = 0;
    enum err err = index_writer_intern(writer, &writer->scopes_by_caller, &writer->callers, caller,
                                       &position, error);
    if (!err && position > writer->caller_scopes.count)
        err = add_scope(writer, caller, error);
    if (!err)
        *ret_scope = *(uint32_t *)record_array_at(&writer->caller_scopes, position - 1);
    return err;
}

/* A location that names no function has a function without a name. */
static enum err nameless_function(struct index_writer *writer, uint32_t *ret_function,
                                  struct error *error) {
    struct index_function function = {.origin = SYMBOL_ORIGIN_NONE};
    return index_writer_function(writer, &function, ret_function, error);
}

static enum err add_location_scope(struct index_writer *writer,
                                   const struct writer_location *location, struct error *error) {
    struct writer_caller caller = {.function = location->function, .location = location->parent};
    uint32_t scope = 0;
    enum err err = ERR_OK;
    if (caller.function == 0)
        err = nameless_function(writer, &caller.function, error);
    if (!err)
        err = scope_of_caller(writer, &caller, &scope, error);
    return err ? err
               : record_array_add(&writer->location_scopes, &scope, 1, &writer->budget, error);
}

enum err index_writer_location(struct index_writer *writer, const struct index_location *location,
                               uint32_t *ret_location, struct error *error) {
    if (location->function > writer->functions.count ||
        location->file > writer->string_ends.count ||
        location->parent > writer->location_scopes.count)
        return error_set(error, ERR_INVALID, "a location of unknown function, file or parent");
    bool no_column = writer->without_columns || location->column > FORMAT_COLUMN_MAX;
    struct writer_location record = {
        .function = location->function,
        .file = location->file,
        .line = location->line,
        .column = no_column ? 0 : location->column,
        .parent = location->parent,
    };
    if (location->parent &&
        writer_scope(writer, scope_of_location(writer, location->parent))->depth >= FRAME_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "a chain of more than %d frames", FRAME_COUNT_MAX);
    uint32_t number = 0;
    enum err err = index_writer_intern(writer, &writer->locations_by_record, &writer->locations,
                                       &record, &number, error);
    if (!err && number > writer->location_scopes.count)
        err = add_location_scope(writer, &record, error);
    if (!err)
        *ret_location = number;
    return err;
}

enum err index_writer_interval(struct index_writer *writer, struct pc_range range,
                               uint32_t location, enum symbol_miss miss, struct error *error) {
    if (location > writer->location_scopes.count)
        return error_set(error, ERR_INVALID, "an interval of location %u and miss %u", location,
                         (unsigned)miss);
    struct index_place row = {0};
    if (location) {
        const struct writer_location *record = record_array_at(&writer->locations, location - 1);
        row = (struct index_place){record->file, record->line, record->column};
    }
    return index_writer_add_stretch(writer, range, scope_of_location(writer, location), &row, miss,
                                    error);
}
