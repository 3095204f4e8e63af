/*
 * The link from a file to its supplementary one, where dwz puts what several files have in common:
 * .gnu_debugaltlink (a name and the build ID of the other file) or .debug_sup (DWARF 5, 7.3.6: a
 * name and a checksum that both files state).
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"
#include "debuginfo/elf_file.h"

struct dwarf_supplement_link {
    struct span path; /* as the file says; never opened but by a person's own tools */
    struct span id;   /* the build ID or the checksum */
    bool is_standard; /* .debug_sup */
};

/* False when the file has no link, one that breaks its format, or is supplementary itself. The
 * spans belong to the file. */
bool dwarf_supplement_link_read(struct elf_file *file, struct dwarf_supplement_link *ret_link);

/* True if `supplement` is the file that the link means. */
bool dwarf_supplement_fits(struct elf_file *supplement, const struct dwarf_supplement_link *link);
