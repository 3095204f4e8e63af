#include "symbolizer/build/index_numbering.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- arrays --- */

static enum err zeroed(struct memory_budget *budget, uint32_t **array, size_t *capacity,
                       size_t count, struct error *error) {
    enum err err = BUDGET_GROW(budget, *array, *capacity, count, error);
    if (err == ERR_OK)
        memset(*array, 0, count * sizeof(**array));
    return err;
}

static void end_array(struct memory_budget *budget, struct record_array *array) {
    memory_budget_give(budget, (uint64_t)array->capacity * array->record_size);
    record_array_clear(array);
}

void index_numbering_clear(struct index_numbering *numbering) {
    struct memory_budget *budget = numbering->budget;
    if (!budget)
        return;
    BUDGET_FREE(budget, numbering->scopes, numbering->scope_capacity);
    BUDGET_FREE(budget, numbering->scope_order, numbering->scope_order_capacity);
    BUDGET_FREE(budget, numbering->functions, numbering->function_capacity);
    BUDGET_FREE(budget, numbering->files, numbering->file_capacity);
    end_array(budget, &numbering->function_order);
    end_array(budget, &numbering->file_order);
}

/* --- scopes --- */

/* A scope without parent, and what it is ordered by. */
struct root {
    uint64_t key; /* entry pc, or where it is first seen */
    uint32_t scope;
    uint32_t count; /* scopes inlined into it, and itself */
};

struct scope_sort {
    struct index_numbering *numbering;
    struct index_writer *writer;
    uint32_t *seen; /* scopes in the order in which intervals need them, callers first */
    size_t seen_capacity;
    size_t seen_count;
    struct root *roots;
    size_t root_capacity;
    size_t root_count;
    uint32_t *root_of; /* of scope n at [n]: position of its root, plus one; 0: not seen */
    size_t root_of_capacity;
};

static void scope_sort_clear(struct scope_sort *sort) {
    struct memory_budget *budget = &sort->writer->budget;
    BUDGET_FREE(budget, sort->seen, sort->seen_capacity);
    BUDGET_FREE(budget, sort->roots, sort->root_capacity);
    BUDGET_FREE(budget, sort->root_of, sort->root_of_capacity);
}

static enum err add_root(struct scope_sort *sort, uint32_t number, uint64_t pc,
                         struct error *error) {
    const struct writer_scope *scope = writer_scope(sort->writer, number);
    enum err err = BUDGET_GROW(&sort->writer->budget, sort->roots, sort->root_capacity,
                               sort->root_count + 1, error);
    if (err)
        return err;
    sort->roots[sort->root_count++] = (struct root){
        .key = scope->has_entry_pc ? scope->entry_pc : pc,
        .scope = number,
    };
    sort->root_of[number] = (uint32_t)sort->root_count;
    return ERR_OK;
}

static enum err see(struct scope_sort *sort, uint32_t number, uint64_t pc, struct error *error) {
    uint32_t path[FRAME_COUNT_MAX];
    size_t count = 0;
    for (; number && sort->root_of[number] == 0;
         number = writer_scope(sort->writer, number)->parent) {
        assert(count < FRAME_COUNT_MAX);
        path[count++] = number;
    }
    enum err err = ERR_OK;
    while (err == ERR_OK && count > 0) {
        uint32_t next = path[--count];
        uint32_t parent = writer_scope(sort->writer, next)->parent;
        if (parent)
            sort->root_of[next] = sort->root_of[parent];
        else
            err = add_root(sort, next, pc, error);
        if (err)
            return err;
        sort->roots[sort->root_of[next] - 1].count++;
        sort->seen[sort->seen_count++] = next;
    }
    return err;
}

static enum err see_all(struct scope_sort *sort, struct error *error) {
    struct index_writer *writer = sort->writer;
    enum err err = ERR_OK;
    for (size_t i = 0; i < writer->blocks.count; i++) {
        const struct writer_block *block = record_array_at(&writer->blocks, i);
        const struct writer_interval *intervals =
            record_array_at(&writer->intervals, block->interval_first);
        for (uint32_t j = 0; err == ERR_OK && j < block->interval_count; j++)
            err = see(sort, intervals[j].scope, block->base + intervals[j].begin, error);
    }
    return err;
}

static int compare_roots(const void *left, const void *right) {
    const struct root *a = left;
    const struct root *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->scope < b->scope ? -1 : a->scope > b->scope;
}

/* Numbers each root's scopes from where those of the roots before it end. */
static void number_scopes(struct scope_sort *sort) {
    struct index_numbering *numbering = sort->numbering;
    if (sort->root_count)
        qsort(sort->roots, sort->root_count, sizeof(*sort->roots), compare_roots);
    uint32_t next = 1;
    for (size_t i = 0; i < sort->root_count; i++) {
        /* Until all are numbered, a root has in its own place the number that its next one gets. */
        numbering->scopes[sort->roots[i].scope] = next;
        next += sort->roots[i].count;
    }
    for (size_t i = 0; i < sort->seen_count; i++) {
        uint32_t scope = sort->seen[i];
        uint32_t root = sort->root_of[scope];
        numbering->scope_order[numbering->scopes[root]++ - 1] = scope;
    }
    for (size_t i = 0; i < sort->seen_count; i++)
        numbering->scopes[numbering->scope_order[i]] = (uint32_t)i + 1;
    numbering->scope_count = sort->seen_count;
}

/* root_of from positions, which sorting changes, to the roots' scopes. */
static void name_roots(struct scope_sort *sort) {
    for (size_t i = 0; i < sort->seen_count; i++) {
        uint32_t *root = &sort->root_of[sort->seen[i]];
        *root = sort->roots[*root - 1].scope;
    }
}

static enum err sort_scopes(struct index_numbering *numbering, struct index_writer *writer,
                            struct error *error) {
    struct memory_budget *budget = &writer->budget;
    size_t count = writer->scopes.count + 1;
    CLEANUP(scope_sort_clear)
    struct scope_sort sort = {.numbering = numbering, .writer = writer};
    enum err err = zeroed(budget, &numbering->scopes, &numbering->scope_capacity, count, error);
    if (err == ERR_OK)
        err =
            zeroed(budget, &numbering->scope_order, &numbering->scope_order_capacity, count, error);
    if (err == ERR_OK)
        err = zeroed(budget, &sort.seen, &sort.seen_capacity, count, error);
    if (err == ERR_OK)
        err = zeroed(budget, &sort.root_of, &sort.root_of_capacity, count, error);
    if (err == ERR_OK)
        err = see_all(&sort, error);
    if (err)
        return err;
    name_roots(&sort);
    number_scopes(&sort);
    return ERR_OK;
}

/* --- functions --- */

struct wanted_subject {
    const struct index_writer *writer;
    const struct index_numbering *numbering;
    const struct index_subject *subject;
};

static bool subject_matches(const void *context, uint32_t number) {
    const struct wanted_subject *wanted = context;
    const struct numbered_function *function = index_numbering_function(wanted->numbering, number);
    return memcmp(writer_subject(wanted->writer, function->subject), wanted->subject,
                  sizeof(*wanted->subject)) == 0;
}

static enum err number_function(struct index_numbering *numbering, struct index_writer *writer,
                                struct intern_table *table, uint32_t subject, struct error *error) {
    const struct index_subject *contents = writer_subject(writer, subject);
    struct wanted_subject wanted = {writer, numbering, contents};
    uint64_t hash = keyed_hash(writer->key, span_of(contents, sizeof(*contents)));
    uint32_t number = intern_table_find(table, hash, subject_matches, &wanted);
    if (number == 0) {
        struct numbered_function function = {
            .subject = subject, .file = contents->file, .line = contents->line};
        enum err err = intern_table_reserve(table, &writer->budget, error);
        if (err == ERR_OK)
            err =
                record_array_add(&numbering->function_order, &function, 1, &writer->budget, error);
        if (err)
            return err;
        number = (uint32_t)numbering->function_order.count;
        intern_table_add(table, hash, number);
    }
    numbering->functions[subject] = number;
    return ERR_OK;
}

static enum err number_functions(struct index_numbering *numbering, struct index_writer *writer,
                                 struct error *error) {
    struct intern_table table = {0};
    enum err err = zeroed(&writer->budget, &numbering->functions, &numbering->function_capacity,
                          writer->subjects.count + 1, error);
    for (size_t i = 0; err == ERR_OK && i < numbering->scope_count; i++) {
        uint32_t subject = writer_scope(writer, numbering->scope_order[i])->subject;
        if (numbering->functions[subject] == 0)
            err = number_function(numbering, writer, &table, subject, error);
    }
    memory_budget_give(&writer->budget, table.capacity * sizeof(struct intern_slot));
    intern_table_clear(&table);
    return err;
}

/* --- places: what line codes refer to, and which files there are --- */

/* Calls `visit` with each place that a frame shows, and the function that it is in. */
static enum err visit_places(struct index_numbering *numbering, struct index_writer *writer,
                             enum err (*visit)(struct index_numbering *numbering,
                                               struct index_writer *writer, uint32_t function,
                                               uint32_t file, uint32_t line, struct error *error),
                             struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < numbering->scope_count; i++) {
        const struct writer_scope *scope = writer_scope(writer, numbering->scope_order[i]);
        if (scope->parent)
            err = visit(numbering, writer,
                        index_numbering_function_of(numbering, writer, scope->parent),
                        scope->call_file, scope->call_line, error);
    }
    const struct writer_interval *intervals = record_array_at(&writer->intervals, 0);
    for (size_t i = 0; err == ERR_OK && i < writer->intervals.count; i++) {
        uint32_t function = 0;
        if (intervals[i].scope)
            function = index_numbering_function_of(numbering, writer, intervals[i].scope);
        err = visit(numbering, writer, function, intervals[i].file, intervals[i].line, error);
    }
    return err;
}

static struct numbered_function *function_at(struct index_numbering *numbering, uint32_t number) {
    return record_array_at(&numbering->function_order, number - 1);
}

/* A function that is declared nowhere is where its first frame is. */
static enum err choose_file(struct index_numbering *numbering, struct index_writer *writer,
                            uint32_t function, uint32_t file, uint32_t line, struct error *error) {
    (void)writer;
    (void)line;
    (void)error;
    if (function && function_at(numbering, function)->file == 0)
        function_at(numbering, function)->file = file;
    return ERR_OK;
}

/* And begins at the lowest of its lines. */
static enum err choose_line(struct index_numbering *numbering, struct index_writer *writer,
                            uint32_t function, uint32_t file, uint32_t line, struct error *error) {
    (void)error;
    if (function == 0 || line == 0)
        return ERR_OK;
    struct numbered_function *chosen = function_at(numbering, function);
    if (writer_subject(writer, chosen->subject)->line == 0 && file == chosen->file &&
        (chosen->line == 0 || line < chosen->line))
        chosen->line = line;
    return ERR_OK;
}

static enum err number_file(struct index_numbering *numbering, struct index_writer *writer,
                            uint32_t function, uint32_t file, uint32_t line, struct error *error) {
    (void)function;
    (void)line;
    if (file == 0 || numbering->files[file])
        return ERR_OK;
    enum err err = record_array_add(&numbering->file_order, &file, 1, &writer->budget, error);
    if (err == ERR_OK)
        numbering->files[file] = (uint32_t)numbering->file_order.count;
    return err;
}

static enum err number_files(struct index_numbering *numbering, struct index_writer *writer,
                             struct error *error) {
    enum err err = zeroed(&writer->budget, &numbering->files, &numbering->file_capacity,
                          writer->string_ends.count + 1, error);
    for (uint32_t i = 1; err == ERR_OK && i <= numbering->function_order.count; i++)
        err = number_file(numbering, writer, i, function_at(numbering, i)->file, 0, error);
    return err ? err : visit_places(numbering, writer, number_file, error);
}

enum err index_numbering_make(struct index_numbering *numbering, struct index_writer *writer,
                              struct error *error) {
    numbering->budget = &writer->budget;
    numbering->function_order.record_size = sizeof(struct numbered_function);
    numbering->file_order.record_size = sizeof(uint32_t);
    enum err err = sort_scopes(numbering, writer, error);
    if (err == ERR_OK)
        err = number_functions(numbering, writer, error);
    if (err == ERR_OK)
        err = visit_places(numbering, writer, choose_file, error);
    if (err == ERR_OK)
        err = visit_places(numbering, writer, choose_line, error);
    if (err == ERR_OK)
        err = number_files(numbering, writer, error);
    return err;
}
