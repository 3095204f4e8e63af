/* What each machine's relocation types do, as far as debug sections have them. */
#pragma once

#include "debuginfo/elf_relocate.h"

enum relocation_action {
    RELOCATION_UNKNOWN,
    RELOCATION_IGNORED,  /* nothing that symbolization reads: thread variables, hints */
    RELOCATION_SET,      /* S + A */
    RELOCATION_DISTANCE, /* S + A - P */
    RELOCATION_ADD,      /* what is there + S + A */
    RELOCATION_SUBTRACT,
    RELOCATION_SET_ULEB, /* S + A as a ULEB128 of the size that is there */
    RELOCATION_SUBTRACT_ULEB,
};

struct relocation_rule {
    uint32_t type; /* R_* */
    enum relocation_action action;
    uint8_t bits; /* of the field: 6, 8, 16, 32, 64; 0 where it has none */
};

/* UNKNOWN, with bits 0, for types that are not in the machine's table. */
struct relocation_rule relocation_rule_find(uint16_t machine, uint32_t type);
