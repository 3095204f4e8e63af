/* How the stubs of each machine look; what elf_plt.c walks with. */
#pragma once

#include "debuginfo/elf_plt.h"

/* The code of one section. */
struct plt_code {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    uint64_t got; /* what i386's stubs count from; 0: unknown */
};

struct plt_match {
    size_t size;   /* of the whole stub */
    uint64_t slot; /* the address that it jumps through */
};

struct plt_machine {
    uint16_t machine; /* EM_* */
    uint8_t step;     /* stubs begin at multiples of it */
    uint32_t jump_slot;
    uint32_t global_data; /* relocation types that fill a slot with a function's address */
    bool (*match)(const struct plt_code *code, size_t offset, struct plt_match *ret_match);
};

/* NULL: a machine whose stubs we do not know. */
const struct plt_machine *plt_machine_find(uint16_t machine);
