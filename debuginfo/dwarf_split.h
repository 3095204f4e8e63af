/*
 * Split DWARF (DWARF 5, 3.1.2 and 7.3.2; GNU DebugFission for version 4): finds for each skeleton
 * unit of a file the split unit with the same DWO id, in the .dwo files and the package (.dwp) that
 * are at hand, and joins them. A skeleton whose split unit is missing keeps what it has: its
 * addresses and line rows, and with clang's -fsplit-dwarf-inlining its inlined copies.
 *
 * Nothing is looked for by the names in the debug data, unless the caller brings a finder: they are
 * paths on the machine that compiled the file.
 */
#pragma once

#include "debuginfo/dwarf_info.h"

/* Opens a .dwo that a skeleton names. */
struct dwarf_dwo_finder {
    /* *ret_file NULL: it is not there. The caller owns the file. */
    enum err (*find)(struct dwarf_dwo_finder *finder, struct span comp_dir, struct span dwo_name,
                     struct elf_file **ret_file, struct error *error);
};

/* What there is besides the file with the skeletons; all of it optional. The files must outlive
 * the source. */
struct dwarf_split_files {
    struct elf_file *package;
    struct elf_file *const *dwos;
    size_t dwo_count;
    struct dwarf_dwo_finder *finder;
};

struct dwarf_split;

/*
 * Joins the skeletons of `info`, which must outlive the object. A file that cannot be read is
 * damage, of which the first is kept (ret_damage, its code ERR_OK if there is none); what it would
 * have had is missing. ERR_NO_MEMORY.
 */
enum err dwarf_split_new(struct dwarf_info *info, const struct dwarf_split_files *files,
                         struct dwarf_split **ret_split, struct error *ret_damage,
                         struct error *error);
void dwarf_split_free(struct dwarf_split *split);
DEFINE_CLEANUP(dwarf_split, struct dwarf_split, dwarf_split_free)
