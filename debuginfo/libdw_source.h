/*
 * DWARF 2 to 5 as a source, by a plain walk over libdw's low-level API (dwarf_* calls; never
 * libdwfl, never .debug_aranges). A push looks at every unit; resolve() tries first the units whose
 * ranges cover the address, and only where those have no row for it all others. Neither opens
 * another file: what stands in a supplementary file (.gnu_debugaltlink) or in split units (.dwo)
 * stays unknown, and costs a name or, in a skeleton, everything but the line rows.
 *
 * Known limits of libdw 0.188 that this source inherits:
 *   - no .dwp and no DWARF 5 .debug_sup;
 *   - rows of a unit arrive sorted by address, so sequences are rebuilt from end markers and never
 *     overlap: where a dropped function's rows lie between those of live functions of its own unit,
 *     some of them stay;
 *   - a unit header that it does not understand ends the list of units.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/elf_file.h"

/* ERR_NOT_FOUND when the file has no DWARF. The file must outlive the source. */
enum err libdw_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error);
