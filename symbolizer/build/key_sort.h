/* Sorts numbers in ascending order. Stable sorts are made of it by putting the position of a record
 * into the lower bits of its key. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* `spare` has room for as many. O(n log n); linear for what is sorted already. */
void key_sort(uint64_t *keys, size_t count, uint64_t *spare);
