#include "symbolizer/build/shard_sink.h"

#include <assert.h>
#include <stdlib.h>

#include "symbolizer/build/unit_flatten.h"
#include "symbolizer/index/demangle.h"

struct shard_sink {
    struct symbol_sink sink;
    struct memory_budget *budget;
    struct shared_strings *strings;
    struct unit_flattener *flattener;
    struct unit unit;
    bool has_unit;
    struct shard work;    /* grows while a shard is pushed; reused by the next */
    struct shard *result; /* what it is copied to at the end */
};

static struct shard_sink *sink_of(struct symbol_sink *sink) {
    return (struct shard_sink *)sink;
}

static enum err end_unit(struct shard_sink *sink, struct error *error) {
    if (!sink->has_unit)
        return ERR_OK;
    enum err err = unit_flatten(sink->flattener, &sink->unit, &sink->work, error);
    unit_reset(&sink->unit);
    sink->has_unit = false;
    return err;
}

static enum err push_unit(struct symbol_sink *base, const struct sink_unit *unit,
                          struct error *error) {
    (void)unit;
    struct shard_sink *sink = sink_of(base);
    enum err err = end_unit(sink, error);
    sink->has_unit = err == ERR_OK;
    return err;
}

static enum err push_file(struct symbol_sink *base, struct span path, uint32_t *ret_file,
                          struct error *error) {
    return shared_strings_intern(sink_of(base)->strings, path, false, ret_file, error);
}

/* Which symbol fits a function can need it (outer_name.h). */
static enum err add_short_name(struct shard_sink *sink, const struct sink_subject *pushed,
                               struct shard_subject *subject, struct error *error) {
    if (pushed->short_name.size == 0 || demangle_looks_mangled(pushed->name))
        return ERR_OK;
    if (span_equal(pushed->short_name, pushed->name)) {
        subject->short_name = subject->name;
        return ERR_OK;
    }
    return shared_strings_intern(sink->strings, pushed->short_name, false, &subject->short_name,
                                 error);
}

static enum err push_subject(struct symbol_sink *base, const struct sink_subject *pushed,
                             uint32_t *ret_subject, struct error *error) {
    struct shard_sink *sink = sink_of(base);
    struct shard *shard = &sink->work;
    assert(pushed->flags <= UINT16_MAX && pushed->origin <= UINT8_MAX);
    struct shard_subject subject = {
        .file = pushed->decl_file,
        .line = pushed->decl_line,
        .flags = (uint16_t)pushed->flags,
        .origin = (uint8_t)pushed->origin,
        .is_linkage = pushed->name_is_linkage,
    };
    enum err err = SHARD_RESERVE(shard, subjects, subject_count, subject_capacity, error);
    if (err == ERR_OK && pushed->name.size > 0)
        err = shared_strings_intern(sink->strings, pushed->name, pushed->name_is_linkage,
                                    &subject.name, error);
    if (err == ERR_OK)
        err = add_short_name(sink, pushed, &subject, error);
    if (err)
        return err;
    shard->subjects[shard->subject_count++] = subject;
    *ret_subject = (uint32_t)shard->subject_count;
    return ERR_OK;
}

static enum err push_function(struct symbol_sink *base, const struct sink_function *function,
                              uint32_t *ret_node, struct error *error) {
    struct shard_sink *sink = sink_of(base);
    assert(sink->has_unit && function->subject - 1 < sink->work.subject_count);
    enum err err = unit_add_function(&sink->unit, function, ret_node, error);
    sink->work.counts.functions += err == ERR_OK;
    return err;
}

static enum err push_inlined(struct symbol_sink *base, const struct sink_inlined *inlined,
                             uint32_t *ret_node, struct error *error) {
    struct shard_sink *sink = sink_of(base);
    assert(sink->has_unit && inlined->subject - 1 < sink->work.subject_count);
    bool kept = false;
    enum err err = unit_add_inlined(&sink->unit, inlined, ret_node, &kept, error);
    sink->work.counts.inlined += err == ERR_OK && kept;
    sink->work.counts.damage += err == ERR_OK && !kept;
    return err;
}

static enum err push_sequence(struct symbol_sink *base, const struct sink_line *rows, size_t count,
                              struct error *error) {
    struct shard_sink *sink = sink_of(base);
    assert(sink->has_unit);
    enum err err = unit_add_sequence(&sink->unit, rows, count, error);
    sink->work.counts.line_rows += err == ERR_OK ? count - 1 : 0;
    return err;
}

static enum err push_symbol(struct symbol_sink *base, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)base, (void)symbol;
    return error_set(error, ERR_INTERNAL, "a source of functions pushed a symbol");
}

static void note_damage(struct symbol_sink *base, const char *what) {
    (void)what;
    sink_of(base)->work.counts.damage++;
}

static const struct symbol_sink_ops shard_sink_ops = {
    .unit = push_unit,
    .file = push_file,
    .subject = push_subject,
    .function = push_function,
    .inlined = push_inlined,
    .sequence = push_sequence,
    .symbol = push_symbol,
    .damage = note_damage,
};

enum err shard_sink_new(struct memory_budget *budget, struct shared_strings *strings,
                        const struct symbol_map *symbols, struct shard_sink **ret_sink,
                        struct error *error) {
    CLEANUP(cleanup_shard_sink) struct shard_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return error_set(error, ERR_NO_MEMORY, "no memory for a shard");
    sink->sink.ops = &shard_sink_ops;
    sink->budget = budget;
    sink->strings = strings;
    sink->unit.budget = budget;
    sink->work.budget = budget;
    enum err err = unit_flattener_new(budget, symbols, &sink->flattener, error);
    if (err == ERR_OK)
        *ret_sink = TAKE(sink);
    return err;
}

void shard_sink_free(struct shard_sink *sink) {
    if (!sink)
        return;
    unit_flattener_free(sink->flattener);
    unit_clear(&sink->unit);
    shard_clear(&sink->work);
    free(sink);
}

struct symbol_sink *shard_sink_begin(struct shard_sink *sink, struct shard *shard) {
    sink->result = shard;
    sink->has_unit = false;
    unit_reset(&sink->unit);
    shard_reset(&sink->work);
    return &sink->sink;
}

enum err shard_sink_end(struct shard_sink *sink, struct error *error) {
    enum err err = end_unit(sink, error);
    return err ? err : shard_copy(&sink->work, sink->result, error);
}
