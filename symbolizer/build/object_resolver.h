/*
 * One cold address on an ELF file, without an index: what `symbolize -e FILE` does. Asks the same
 * sources by the same precedence as build_index, so that both give the same frames; only what an
 * index does not keep (short name, discriminator, entry pc of inlined copies) is extra.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/dwarf_split.h"
#include "debuginfo/symbol_names.h"
#include "symbolizer/protocol/job.h"

struct object_resolver;

/* The finder may be NULL (debuginfo/dwarf_split.h). */
enum err object_resolver_new(const struct job_input *inputs, size_t input_count,
                             struct dwarf_dwo_finder *dwo_finder,
                             struct object_resolver **ret_resolver, struct error *error);
void object_resolver_free(struct object_resolver *resolver);
DEFINE_CLEANUP(object_resolver, struct object_resolver, object_resolver_free)

/* Before the first question: paths are as in the line tables, without compilation directories. */
void object_resolver_use_relative_paths(struct object_resolver *resolver);

/*
 * The address of SECTION+OFFSET in the first input that has such a section; in relocatable files
 * the only name of an address that does not depend on how we lay them out (debuginfo/elf_object.h).
 * An empty section stands for the first executable one that is large enough, in relocatable files.
 */
bool object_resolver_section_address(const struct object_resolver *resolver, struct span section,
                                     uint64_t offset, uint64_t *ret_address);

/* The symbols of that name in the first input that has any, up to count_max. */
size_t object_resolver_symbols(const struct object_resolver *resolver, struct span name,
                               struct named_symbol *ret_symbols, size_t count_max);

/* The symbol of code or data that covers an address, in the first input that has one. */
bool object_resolver_data(const struct object_resolver *resolver, uint64_t address,
                          struct named_symbol *ret_symbol);

/* Leaf first. Frames with SYMBOL_DEMANGLES set have been tried. No frames: *ret_miss says why. */
enum err object_resolver_resolve(struct object_resolver *resolver, uint64_t pc,
                                 struct frame_list *frames, enum symbol_miss *ret_miss,
                                 struct error *error);
