#include "symbolizer/build/object_resolver.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "debuginfo/dwarf_source.h"
#include "debuginfo/elf_object.h"
#include "debuginfo/symtab_source.h"
#include "symbolizer/build/object_inputs.h"
#include "symbolizer/build/outer_name.h"
#include "symbolizer/index/demangle.h"

struct object_resolver {
    struct object_inputs inputs;
    struct frame_list symbol; /* one symbol's frame at a time */
};

enum err object_resolver_new(const struct job_input *inputs, size_t input_count,
                             struct dwarf_dwo_finder *dwo_finder,
                             struct object_resolver **ret_resolver, struct error *error) {
    CLEANUP(cleanup_object_resolver)
    struct object_resolver *resolver = calloc(1, sizeof(*resolver));
    if (!resolver)
        return error_set(error, ERR_NO_MEMORY, "no memory for a resolver");
    const struct object_inputs_options options = {.backend = DWARF_BACKEND_NATIVE,
                                                  .dwo_finder = dwo_finder};
    enum err err = object_inputs_open(&resolver->inputs, inputs, input_count, &options, error);
    if (err == ERR_OK)
        *ret_resolver = TAKE(resolver);
    return err;
}

void object_resolver_free(struct object_resolver *resolver) {
    if (!resolver)
        return;
    frame_list_clear(&resolver->symbol);
    object_inputs_clear(&resolver->inputs);
    free(resolver);
}

void object_resolver_use_relative_paths(struct object_resolver *resolver) {
    if (resolver->inputs.dwarf && resolver->inputs.dwarf_is_native)
        dwarf_source_use_relative_paths(resolver->inputs.dwarf);
}

bool object_resolver_section_address(const struct object_resolver *resolver, struct span section,
                                     uint64_t offset, uint64_t *ret_address) {
    for (size_t i = 0; i < resolver->inputs.file_count; i++) {
        const struct elf_file *file = resolver->inputs.files[i];
        if (section.size > 0 ? elf_file_section_address(file, section, offset, ret_address)
                             : elf_file_code_address(file, offset, ret_address))
            return true;
    }
    return false;
}

size_t object_resolver_symbols(const struct object_resolver *resolver, struct span name,
                               struct named_symbol *ret_symbols, size_t count_max) {
    size_t count = 0;
    for (size_t i = 0; i < resolver->inputs.file_count && count == 0; i++)
        count = symbol_names_find(resolver->inputs.files[i], name, ret_symbols, count_max);
    return count;
}

bool object_resolver_data(const struct object_resolver *resolver, uint64_t address,
                          struct named_symbol *ret_symbol) {
    for (size_t i = 0; i < resolver->inputs.file_count; i++)
        if (symbol_names_at(resolver->inputs.files[i], address, ret_symbol))
            return true;
    return false;
}

/* The symbol at pc: .symtab before .dynsym, the main input before the debug one. NULL: none. */
static enum err find_symbol(struct object_resolver *resolver, uint64_t pc,
                            struct symbol_frame *ret_symbol, struct symbol_source **ret_source,
                            struct error *error) {
    *ret_source = NULL;
    for (size_t i = 0; i < resolver->inputs.file_count; i++) {
        struct symbol_source *source = resolver->inputs.symtabs[i];
        enum err err = source->ops->resolve(source, pc, &resolver->symbol, error);
        if (err)
            return err;
        if (resolver->symbol.count == 0)
            continue;
        const struct symbol_frame *frame = &resolver->symbol.frames[0];
        bool better = !*ret_source || (frame->origin == SYMBOL_ORIGIN_SYMTAB &&
                                       ret_symbol->origin != SYMBOL_ORIGIN_SYMTAB);
        if (better) {
            *ret_symbol = *frame;
            *ret_source = source;
        }
    }
    return ERR_OK;
}

/* The symbol that begins where the outermost function is entered, or else its first range, if it
 * agrees with DWARF's name (outer_name.h). */
static enum err name_by_alias(struct object_resolver *resolver, struct symbol_frame *outermost,
                              struct error *error) {
    struct span names[SYMTAB_NAMES_MAX];
    struct symbol_frame symbol;
    struct symbol_source *source;
    size_t count = 0;
    uint64_t entry = outermost->has_entry_pc ? outermost->entry_pc : outermost->first_pc;
    enum err err = find_symbol(resolver, entry, &symbol, &source, error);
    if (!err && source && symbol.entry_pc == entry)
        err = symtab_source_names(source, entry, names, &count, error);
    if (err)
        return err;
    struct outer_name dwarf = {outermost->name, outermost->short_name};
    size_t chosen = outer_name_choose(&dwarf, names, count);
    if (chosen != OUTER_NAME_KEEP)
        outermost->name = names[chosen];
    return ERR_OK;
}

/* What DWARF knows of an address but a name: rows alone are named by the symbol there, a nameless
 * function by the one at its entry. */
static enum err name_by_symbol(struct object_resolver *resolver, uint64_t pc,
                               struct frame_list *frames, struct error *error) {
    struct symbol_frame *outermost = &frames->frames[frames->count - 1];
    struct symbol_frame symbol;
    struct symbol_source *found;
    if (outermost->name.size > 0)
        return name_by_alias(resolver, outermost, error);
    bool rows_alone = !outermost->has_entry_pc;
    enum err err =
        find_symbol(resolver, rows_alone ? pc : outermost->entry_pc, &symbol, &found, error);
    if (err)
        return err;
    if (found) {
        outermost->name = symbol.name;
        outermost->origin = symbol.origin;
        if (rows_alone) {
            outermost->entry_pc = symbol.entry_pc;
            outermost->has_entry_pc = true;
        }
    } else if (rows_alone && outermost->line == 0) {
        frames->count = 0; /* neither a name nor a line is no answer */
    }
    return ERR_OK;
}

static void try_names(struct frame_list *frames) {
    struct buffer text = {.size_max = DEMANGLE_OUTPUT_SIZE_MAX};
    for (size_t i = 0; i < frames->count; i++) {
        struct symbol_frame *frame = &frames->frames[i];
        if (demangle_looks_mangled(frame->name) && demangle(frame->name, &text))
            frame->flags |= SYMBOL_DEMANGLES;
        buffer_clear(&text);
    }
}

static enum err resolve(struct object_resolver *resolver, uint64_t pc, struct frame_list *frames,
                        struct error *error) {
    struct symbol_source *dwarf = resolver->inputs.dwarf;
    frames->count = 0;
    if (dwarf) {
        enum err err = dwarf->ops->resolve(dwarf, pc, frames, error);
        if (err)
            return err;
    }
    if (frames->count > 0)
        return name_by_symbol(resolver, pc, frames, error);
    struct symbol_frame symbol;
    struct symbol_source *found;
    enum err err = find_symbol(resolver, pc, &symbol, &found, error);
    return !err && found ? frame_list_add(frames, &symbol, error) : err;
}

enum err object_resolver_resolve(struct object_resolver *resolver, uint64_t pc,
                                 struct frame_list *frames, enum symbol_miss *ret_miss,
                                 struct error *error) {
    enum err err = resolve(resolver, pc, frames, error);
    if (err)
        return err;
    try_names(frames);
    if (frames->count == 0)
        *ret_miss = SYMBOL_MISS_NO_RANGE;
    else
        *ret_miss = frames->frames[0].line ? SYMBOL_MISS_NONE : SYMBOL_MISS_NO_LINE;
    return ERR_OK;
}
