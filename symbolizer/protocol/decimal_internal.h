/* Numbers as both texts of this folder write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Decimal digits alone, at most 20 and at most max: no sign, no space. */
static inline bool decimal_parse(struct span text, uint64_t max, uint64_t *ret_number) {
    uint64_t number = 0;
    if (text.size == 0 || text.size > 20)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text.data[i] - '0';
        if (digit > 9 || digit > max || number > (max - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *ret_number = number;
    return true;
}
