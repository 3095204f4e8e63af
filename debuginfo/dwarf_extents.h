/*
 * Which of the addresses in debug data are live. A linker that drops a function leaves what DWARF
 * says of it behind, with an address that stands for nothing: 0, 1, the largest or the largest but
 * one, with or without an offset added. Live is what begins where the file has code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/symbol.h"

/* Where the file has code (elf_file_executable_extents): ascending and disjoint; they belong to the
 * caller. None: nothing is known, and all but the two largest addresses count as live. */
struct dwarf_extents {
    const struct pc_range *items;
    size_t count;
};

/* The largest address of 1 to 8 bytes. */
static inline uint64_t dwarf_address_mask(uint8_t address_size) {
    return address_size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * address_size) - 1;
}

/* No code begins at the two largest addresses, whatever the extents say. */
static inline bool dwarf_is_tombstone(uint64_t address, uint8_t address_size) {
    return address >= dwarf_address_mask(address_size) - 1;
}

static inline bool dwarf_is_live(const struct dwarf_extents *extents, uint64_t address,
                                 uint8_t address_size) {
    if (dwarf_is_tombstone(address, address_size))
        return false;
    if (extents->count == 0)
        return true;
    size_t low = 0;
    size_t high = extents->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < extents->count && extents->items[low].begin <= address;
}
