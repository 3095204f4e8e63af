/*
 * Relocatable files (.o, .ko; ET_REL). Their sections all lie at address 0, so that an address
 * alone says little. When such a file is opened, every allocated section is given a place of its
 * own:
 *
 *     in the order of the section headers, from ELF_OBJECT_BASE upwards, each at the next multiple
 *     of its own alignment, at least 16, above the end of the one before
 *
 * and that place is its elf_section.address from then on. Symbols, line tables and ranges follow:
 * symbols have their section's place added, debug sections are relocated when they are read
 * (elf_relocate.h). The layout depends on the section headers alone, so that an object and its
 * separate debug file have the same one, and so has each reading of one file. All that answers for
 * addresses elsewhere then works as for a linked file; who has SECTION+OFFSET adds the place.
 */
#pragma once

#include "debuginfo/elf_file.h"

/* Above the size of any section, so that a plain offset can be told from an address; low enough
 * for 32-bit files. */
#define ELF_OBJECT_BASE ((uint64_t)0x10000000)

/*
 * The address of an offset in the first allocated section of that name that is large enough to
 * hold it; in linked files too. False when there is none.
 */
bool elf_file_section_address(const struct elf_file *file, struct span name, uint64_t offset,
                              uint64_t *ret_address);

/*
 * What a plain offset means in a relocatable file: that far into the first executable section that
 * is large enough. False in other files, and where there is none.
 */
bool elf_file_code_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address);
