/* Addresses from standard input, hexadecimal, one a line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* False at the end. */
static inline bool address_input_next(uint64_t *ret_pc) {
    char line[64];
    if (!fgets(line, sizeof(line), stdin))
        return false;
    *ret_pc = strtoull(line, NULL, 16);
    return true;
}
