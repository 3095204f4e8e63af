/*
 * DWARF 2 to 5 as a source, by our own reader: no .debug_aranges, sequences kept apart, every
 * form and range list, references across units. A push reads every unit once, in shards that
 * several threads may push; resolve() reads the unit DIEs, then the units whose ranges cover the
 * address, and only where those have no row for it all others.
 *
 * One object's DWARF may be spread over files: a supplementary one (.gnu_debugaltlink, .debug_sup)
 * that several share, and .dwo files or a package of them. One that is not there, or that belongs
 * to another build, is damage: it costs names or, in a skeleton, everything but the line rows.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/dwarf_split.h"
#include "debuginfo/elf_file.h"

struct dwarf_files {
    struct elf_file *main;       /* has the DWARF or, of split units, the skeletons */
    struct elf_file *supplement; /* NULL: none */
    struct dwarf_split_files split;
};

/* ERR_NOT_FOUND when the file has no DWARF. The file must outlive the source. */
enum err dwarf_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error);

/* The same with the other files that there are. */
enum err dwarf_source_new_spread(const struct dwarf_files *files, struct symbol_source **ret_source,
                                 struct error *error);

/* Before the first resolve: its paths are as in the line table, without the compilation directory.
 */
void dwarf_source_use_relative_paths(struct symbol_source *source);

/* The DWO ids of skeletons without their split units, as many as there is room for. */
size_t dwarf_source_missing_dwos(const struct symbol_source *source, uint64_t *ret_ids,
                                 size_t count_max);
