/*
 * DWARF 2 to 5 as a source, by our own reader: no .debug_aranges, sequences kept apart, every
 * form and range list, references across units. A push reads every unit once, in shards that
 * several threads may push; resolve() reads the unit DIEs, then the units whose ranges cover the
 * address, and only where those have no row for it all others.
 *
 * What stands in a supplementary file (.gnu_debugaltlink, .debug_sup) or in split units (.dwo,
 * .dwp) is not read: it costs a name or, in a skeleton, everything but the line rows.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/elf_file.h"

/* ERR_NOT_FOUND when the file has no DWARF. The file must outlive the source. */
enum err dwarf_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error);
