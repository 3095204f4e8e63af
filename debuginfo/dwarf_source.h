/*
 * DWARF 2 to 5 as a source, by a plain walk over libdw's low-level API (dwarf_* calls; never
 * libdwfl, never .debug_aranges). Lookup never depends on unit ranges being right.
 *
 * Known limits of libdw 0.188 that this source inherits: no .dwp, no DWARF 5 .debug_sup; rows of a
 * unit arrive sorted by address, so the identity of line sequences is rebuilt from end markers.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/elf_file.h"

/* ERR_NOT_FOUND when the file has no DWARF. The file must outlive the source. */
enum err dwarf_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error);
