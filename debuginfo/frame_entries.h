/*
 * The entries of .eh_frame (LSB Core 5.0, 10.6) and .debug_frame (DWARF 5, 6.4.1), as far as they
 * say which addresses one FDE covers: rules for unwinding are not read.
 *
 * The bytes are hostile. Reading one entry takes bounded time whatever they say; a walk moves
 * forward with every entry.
 */
#pragma once

#include "base/cursor.h"
#include "debuginfo/elf_file.h"

/* Encodings of pointers (LSB Core 5.0, 10.5.1): a format in the low half, a base in the high. */
enum eh_pointer_encoding {
    EH_POINTER_ABSOLUTE = 0x00, /* also the format of an address */
    EH_POINTER_ULEB128 = 0x01,
    EH_POINTER_U16 = 0x02,
    EH_POINTER_U32 = 0x03,
    EH_POINTER_U64 = 0x04,
    EH_POINTER_SIGNED = 0x08,
    EH_POINTER_SLEB128 = 0x09,
    EH_POINTER_S16 = 0x0a,
    EH_POINTER_S32 = 0x0b,
    EH_POINTER_S64 = 0x0c,
    EH_POINTER_FROM_HERE = 0x10,
    EH_POINTER_FROM_TEXT = 0x20,
    EH_POINTER_FROM_DATA = 0x30,
    EH_POINTER_FROM_FUNCTION = 0x40,
    EH_POINTER_ALIGNED = 0x50,
    EH_POINTER_INDIRECT = 0x80,
    EH_POINTER_NONE = 0xff,
};

/* What encoded pointers count from. */
struct eh_bases {
    uint64_t here; /* the address of the section's first byte */
    uint64_t text;
    uint64_t data;
    uint8_t address_size; /* 4 or 8 */
};

/* False, also for what needs memory of the process (INDIRECT), when there is no value to be had. */
bool eh_pointer_read(struct cursor *cursor, uint8_t encoding, const struct eh_bases *bases,
                     uint64_t *ret_value);

struct frame_section {
    struct span bytes;
    struct eh_bases bases;
    bool big_endian;
    bool is_eh; /* .eh_frame, else .debug_frame */
    /* The CIE that was read last: neighbours share theirs. */
    bool has_cie;
    uint64_t cie_offset;
    uint8_t cie_encoding;
    uint8_t cie_address_size;
    uint8_t cie_segment_size;
};

enum frame_entry_kind {
    FRAME_ENTRY_FDE,
    FRAME_ENTRY_OTHER,   /* a CIE, or the mark of an end */
    FRAME_ENTRY_DAMAGED, /* cannot be read; the next one may */
};

struct frame_entry {
    enum frame_entry_kind kind;
    struct pc_range range; /* of an FDE; empty where it covers nothing */
    uint64_t end;          /* offset of the next entry */
};

/* False at the end of the section, and where it cannot be told where the next entry begins
 * (*ret_damaged is then set). */
bool frame_entry_read(struct frame_section *section, uint64_t offset, struct frame_entry *ret_entry,
                      bool *ret_damaged);
