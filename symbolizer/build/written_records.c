#include "symbolizer/build/written_records.h"

#include <assert.h>

#include "symbolizer/build/keyed_hash.h"

void written_records_init(struct written_records *records, struct collection *collection,
                          struct index_writer *writer) {
    records->collection = collection;
    records->writer = writer;
    records->key = hash_key_of_process();
}

void written_records_clear(struct written_records *records) {
    if (!records->collection)
        return;
    struct memory_budget *budget = &records->collection->budget;
    memory_budget_give(budget, records->table.capacity * sizeof(struct intern_slot));
    intern_table_clear(&records->table);
    BUDGET_FREE(budget, records->subjects, records->subject_capacity);
}

static enum err written_string(struct written_records *records, uint32_t string,
                               uint32_t *ret_string, struct error *error) {
    *ret_string = 0;
    if (string == 0)
        return ERR_OK;
    struct shared_string *entry = shared_strings_entry(records->collection->strings, string);
    if (entry->written == 0 && entry->size > 0) {
        enum err err = index_writer_string(records->writer, span_of(entry->data, entry->size),
                                           &entry->written, error);
        if (err)
            return err;
    }
    *ret_string = entry->written;
    return ERR_OK;
}

enum err written_file(struct written_records *records, uint32_t string, uint32_t *ret_string,
                      struct error *error) {
    struct written_file *file = &records->files[string % WRITTEN_FILES_AT_HAND];
    if (file->string != string) {
        enum err err = written_string(records, string, &file->number, error);
        if (err)
            return err;
        file->string = string;
    }
    *ret_string = file->number;
    return ERR_OK;
}

/* --- subjects --- */

struct wanted_subject {
    const struct written_records *records;
    const struct index_subject *subject;
};

static bool matches(const void *context, uint32_t number) {
    const struct wanted_subject *wanted = context;
    const struct index_subject *a = &wanted->records->subjects[number - 1];
    const struct index_subject *b = wanted->subject;
    return a->name == b->name && a->file == b->file && a->line == b->line && a->flags == b->flags &&
           a->origin == b->origin;
}

static uint64_t hash(const struct written_records *records, const struct index_subject *subject) {
    uint32_t words[] = {
        subject->name, subject->file, subject->line, subject->flags, (uint32_t)subject->origin, 0};
    return keyed_hash(records->key, span_of(words, sizeof(words)));
}

static enum err add_subject(struct written_records *records, const struct index_subject *subject,
                            uint64_t subject_hash, uint32_t *ret_number, struct error *error) {
    struct memory_budget *budget = &records->collection->budget;
    enum err err = intern_table_reserve(&records->table, budget, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, records->subjects, records->subject_capacity,
                          records->subject_count + 1, error);
    if (err == ERR_OK)
        err = index_writer_subject(records->writer, subject, ret_number, error);
    if (err)
        return err;
    records->subjects[records->subject_count++] = *subject;
    assert(*ret_number == records->subject_count);
    intern_table_add(&records->table, subject_hash, *ret_number);
    return ERR_OK;
}

static enum err intern_subject(struct written_records *records, const struct index_subject *subject,
                               uint32_t *ret_number, struct error *error) {
    struct wanted_subject wanted = {records, subject};
    uint64_t subject_hash = hash(records, subject);
    *ret_number = intern_table_find(&records->table, subject_hash, matches, &wanted);
    return *ret_number ? ERR_OK : add_subject(records, subject, subject_hash, ret_number, error);
}

static bool demangles(struct written_records *records, uint32_t name) {
    return name && shared_strings_entry(records->collection->strings, name)->demangles;
}

static enum err subject_of(struct written_records *records, struct shard_subject *subject,
                           uint32_t *ret_subject, struct error *error) {
    if (subject->written == 0) {
        struct index_subject wanted = {
            .line = subject->line,
            .flags = subject->flags,
            .origin = (enum symbol_origin)subject->origin,
        };
        if (subject->is_linkage && demangles(records, subject->name))
            wanted.flags |= SYMBOL_DEMANGLES;
        enum err err = written_string(records, subject->name, &wanted.name, error);
        if (err == ERR_OK)
            err = written_string(records, subject->file, &wanted.file, error);
        if (err == ERR_OK)
            err = intern_subject(records, &wanted, &subject->written, error);
        if (err)
            return err;
    }
    *ret_subject = subject->written;
    return ERR_OK;
}

/* --- scopes --- */

/* The scope around it is written. */
static enum err write_scope(struct written_records *records, struct shard *shard,
                            struct shard_scope *scope, struct error *error) {
    struct index_scope wanted = {.has_entry_pc = scope->has_entry_pc};
    enum err err =
        subject_of(records, &shard->subjects[scope->subject - 1], &wanted.subject, error);
    if (scope->has_entry_pc)
        wanted.entry_pc = scope->entry_pc;
    if (err == ERR_OK && scope->parent) {
        wanted.parent = shard->scopes[scope->parent - 1].written;
        wanted.call = scope->call;
        err = written_file(records, scope->call.file, &wanted.call.file, error);
    }
    return err ? err : index_writer_scope(records->writer, &wanted, &scope->written, error);
}

enum err written_scope(struct written_records *records, struct shard *shard, uint32_t scope,
                       uint32_t *ret_scope, struct error *error) {
    struct shard_scope *scopes = shard->scopes;
    size_t count = 0;
    enum err err = ERR_OK;
    for (uint32_t at = scope; at && scopes[at - 1].written == 0; at = scopes[at - 1].parent) {
        assert(count < FRAME_COUNT_MAX);
        records->path[count++] = at;
    }
    while (err == ERR_OK && count > 0)
        err = write_scope(records, shard, &scopes[records->path[--count] - 1], error);
    *ret_scope = scopes[scope - 1].written;
    return err;
}

static enum err write_symbol(struct written_records *records, struct mapped_symbol *symbol,
                             struct error *error) {
    struct index_subject wanted = {.origin = symbol->origin};
    struct index_scope scope = {.entry_pc = symbol->entry_pc, .has_entry_pc = true};
    if (demangles(records, symbol->name))
        wanted.flags |= SYMBOL_DEMANGLES;
    enum err err = written_string(records, symbol->name, &wanted.name, error);
    if (err == ERR_OK)
        err = intern_subject(records, &wanted, &scope.subject, error);
    if (err == ERR_OK)
        err = index_writer_scope(records->writer, &scope, &symbol->written, error);
    records->symbol_functions += err == ERR_OK;
    return err;
}

static enum err write_nameless(struct written_records *records, struct error *error) {
    struct index_subject wanted = {.origin = SYMBOL_ORIGIN_DWARF};
    struct index_scope scope = {.subject = 0};
    enum err err = intern_subject(records, &wanted, &scope.subject, error);
    return err ? err : index_writer_scope(records->writer, &scope, &records->nameless, error);
}

enum err written_symbol(struct written_records *records, uint32_t symbol, uint32_t *ret_scope,
                        struct error *error) {
    struct mapped_symbol *mapped =
        symbol == SYMBOL_NONE ? NULL : &records->collection->symbols.list[symbol];
    uint32_t *written = mapped ? &mapped->written : &records->nameless;
    enum err err = ERR_OK;
    if (*written == 0)
        err = mapped ? write_symbol(records, mapped, error) : write_nameless(records, error);
    *ret_scope = *written;
    return err;
}
