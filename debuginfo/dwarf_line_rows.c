#include <stdlib.h>
#include <string.h>

#include "debuginfo/dwarf_line_internal.h"

enum err line_rows_grow(struct line_rows *rows, struct error *error) {
    size_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
    struct dwarf_row *grown = reallocarray(rows->items, capacity, sizeof(*grown));
    if (!grown)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu line rows", capacity);
    rows->items = grown;
    rows->capacity = capacity;
    return ERR_OK;
}

/* Merges two sorted runs; of equal addresses those of the left one come first. */
static void merge(const struct dwarf_row *left, size_t left_count, const struct dwarf_row *right,
                  size_t right_count, struct dwarf_row *to) {
    while (left_count > 0 && right_count > 0) {
        if (right->address < left->address) {
            *to++ = *right++;
            right_count--;
        } else {
            *to++ = *left++;
            left_count--;
        }
    }
    memcpy(to, left, left_count * sizeof(*to));
    memcpy(to + left_count, right, right_count * sizeof(*to));
}

static size_t at_most(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Stable, and fast whatever the bytes say. */
static enum err sort_rows(struct line_rows *rows, struct error *error) {
    if (rows->sorted_capacity < rows->count) {
        free(rows->sorted);
        rows->sorted_capacity = 0;
        rows->sorted = calloc(rows->capacity, sizeof(*rows->sorted));
        if (!rows->sorted)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu line rows", rows->capacity);
        rows->sorted_capacity = rows->capacity;
    }
    for (size_t run = 1; run < rows->count; run *= 2) {
        for (size_t begin = 0; begin < rows->count; begin += 2 * run) {
            size_t left = at_most(run, rows->count - begin);
            size_t right = at_most(run, rows->count - begin - left);
            const struct dwarf_row *from = &rows->items[begin];
            merge(from, left, from + left, right, &rows->sorted[begin]);
        }
        struct dwarf_row *items = rows->items;
        size_t capacity = rows->capacity;
        rows->items = rows->sorted;
        rows->capacity = rows->sorted_capacity;
        rows->sorted = items;
        rows->sorted_capacity = capacity;
    }
    return ERR_OK;
}

/* Of rows with one address the last stays. */
static void drop_superseded(struct line_rows *rows) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (i + 1 == rows->count || rows->items[i + 1].address != rows->items[i].address)
            rows->items[kept++] = rows->items[i];
    rows->count = kept;
}

enum err line_rows_finish(struct line_rows *rows, uint64_t end, struct dwarf_sequence *ret_sequence,
                          struct error *error) {
    if (rows->unordered) {
        enum err err = sort_rows(rows, error);
        if (err)
            return err;
        drop_superseded(rows);
    }
    size_t count = rows->count;
    while (count > 0 && rows->items[count - 1].address >= end)
        count--;
    ret_sequence->rows = rows->items;
    ret_sequence->count = count;
    ret_sequence->end = end;
    rows->count = 0;
    rows->unordered = false;
    return ERR_OK;
}

const struct dwarf_row *dwarf_sequence_find(const struct dwarf_sequence *sequence, uint64_t pc) {
    size_t low = 0;
    size_t high = sequence->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sequence->rows[middle].address <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && pc < sequence->end ? &sequence->rows[low - 1] : NULL;
}
