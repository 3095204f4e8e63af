/*
 * Where a file's separate debug file lies: in trees by build ID, as distributions install them, and
 * where .gnu_debuglink points. For the command line alone: the worker gets its files as descriptors
 * and has no paths.
 *
 * In this order, the first that fits:
 *
 *   FOLDER/.build-id/ab/cdef….debug   for each folder; its own build ID must be that
 *   DIR/LINK, DIR/.debug/LINK         DIR: where the file itself lies, symbolic links resolved
 *   FOLDER/DIR/LINK                   for each folder; of these three the checksum must be right
 *
 * A file that is not there is no error, and a link that leads to the file itself is none.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

#define DEBUG_FOLDER_DEFAULT "/usr/lib/debug"

struct debug_folders {
    const char *const *paths; /* such as DEBUG_FOLDER_DEFAULT */
    size_t count;
};

/*
 * Opens FOLDER/.build-id/ab/cdef….debug for an ID in hexadecimal, upper or lower case, if that is
 * its own. ERR_INVALID: not an ID; ERR_NOT_FOUND. *ret_path is the caller's to free.
 */
enum err debug_file_find_id(const struct debug_folders *folders, struct span id, int *ret_fd,
                            char **ret_path, struct error *error);

/*
 * Opens the debug file of the ELF file at `path`, open as `fd`, if that has no DWARF of its own.
 * ERR_NOT_FOUND, with what was there but did not fit; ERR_MALFORMED and the like when `fd` is no
 * ELF file. *ret_path, for messages, is the caller's to free.
 */
enum err debug_file_find(const struct debug_folders *folders, const char *path, int fd, int *ret_fd,
                         char **ret_path, struct error *error);
