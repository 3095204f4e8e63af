/*
 * The files that the DWARF of one ELF file is spread over, found by the names that it states and as
 * compilers and distributions put them. For the command line alone: the worker gets its files as
 * descriptors and has no paths.
 *
 *   .dwp    FILE.dwp beside the file, or beside the executable whose debug file it is
 *   .dwo    DW_AT_dwo_name, from DW_AT_comp_dir on where it is relative; else the same name, and
 *           its last part, from the folder of the file on
 *   dwz     the name in .gnu_debugaltlink or .debug_sup, from the folder of the file on where it is
 *           relative; else FOLDER/.build-id/ab/cdef….debug for each folder
 *
 * Which of them belong to the file is checked where they are read, and told as damage.
 */
#pragma once

#include <limits.h>

#include "base/error.h"
#include "cli/debug_files.h"
#include "debuginfo/dwarf_split.h"

struct spread_files {
    struct dwarf_dwo_finder dwo_finder; /* for the resolver or builder, which it must outlive */
    int package_fd;                     /* -1: none; owned, as is the next */
    int supplement_fd;
    char folder[PATH_MAX]; /* of the file with the DWARF, symbolic links resolved; may be empty */
};

/* For the file at `path`, open as `fd`, that has the DWARF; `executable`: the path of the file that
 * it is the debug file of, or NULL. What is not there is no error. End with spread_files_clear. */
void spread_files_find(struct spread_files *files, const char *path, int fd, const char *executable,
                       const struct debug_folders *folders);
void spread_files_clear(struct spread_files *files);
