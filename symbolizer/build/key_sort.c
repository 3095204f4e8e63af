#include "symbolizer/build/key_sort.h"

#include <stdbool.h>
#include <string.h>

/* Runs of so many are sorted by insertion, which beats merging for them. */
#define RUN 16

static bool is_sorted(const uint64_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (keys[i - 1] > keys[i])
            return false;
    return true;
}

static void insertion_sort(uint64_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Two sorted runs into one; without branches on the keys, which no processor could foretell. */
static void merge(const uint64_t *from, size_t middle, size_t end, uint64_t *to) {
    size_t left = 0;
    size_t right = middle;
    size_t out = 0;
    while (left < middle && right < end) {
        bool takes_right = from[right] < from[left];
        to[out++] = takes_right ? from[right] : from[left];
        right += takes_right;
        left += !takes_right;
    }
    memcpy(to + out, from + left, (middle - left) * sizeof(*to));
    out += middle - left;
    memcpy(to + out, from + right, (end - right) * sizeof(*to));
}

void key_sort(uint64_t *keys, size_t count, uint64_t *spare) {
    if (is_sorted(keys, count))
        return;
    for (size_t i = 0; i < count; i += RUN)
        insertion_sort(keys + i, count - i < RUN ? count - i : RUN);
    uint64_t *from = keys;
    uint64_t *to = spare;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = count - i;
            size_t middle = left < width ? left : width;
            merge(from + i, middle, left < 2 * width ? left : 2 * width, to + i);
        }
        uint64_t *kept = from;
        from = to;
        to = kept;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof(*keys));
}
