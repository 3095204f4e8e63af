/*
 * .gnu_debuglink: the name of a file's separate debug file and the checksum of all of its bytes
 * (GDB manual, "Debugging Information in Separate Files"). Who looks for such a file must compare
 * the checksum: names are reused.
 */
#pragma once

#include "debuginfo/elf_file.h"

#define DEBUG_LINK_NAME_MAX 255

struct debug_link {
    char name[DEBUG_LINK_NAME_MAX + 1]; /* without folders */
    uint32_t crc;
};

/* ERR_NOT_FOUND when the file has none (a debug file has one without bytes); ERR_MALFORMED: cut
 * short, a name that is empty, too long, or has a folder or a control character in it. */
enum err debug_link_read(struct elf_file *file, struct debug_link *ret_link, struct error *error);

/* Of a whole file. */
uint32_t debug_link_crc(struct span bytes);
