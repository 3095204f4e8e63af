#include "debuginfo/dwarf_siblings.h"

#include <stdlib.h>

void dwarf_siblings_clear(struct dwarf_siblings *siblings) {
    free(siblings->items);
    *siblings = (struct dwarf_siblings){0};
}

static enum err add_sibling(struct dwarf_siblings *siblings, const struct dwarf_sibling *sibling,
                            struct error *error) {
    if (siblings->count == siblings->capacity) {
        size_t capacity = siblings->capacity ? 2 * siblings->capacity : 16;
        struct dwarf_sibling *grown = realloc(siblings->items, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu scopes", capacity);
        siblings->items = grown;
        siblings->capacity = capacity;
    }
    siblings->items[siblings->count++] = *sibling;
    return ERR_OK;
}

/* A list being read; the DIE at hand lies `depth` levels below those that are listed. */
struct reader {
    const struct dwarf_abbrevs *abbrevs;
    struct dwarf_die die; /* for its sibling */
    const uint8_t *next;
    size_t depth;
    bool at_end;
};

/* Where the DIE says its sibling is, as far as that can be believed; NULL: it does not say. */
static const uint8_t *sibling_of(const struct dwarf_die *die, const uint8_t *below) {
    struct dwarf_place place;
    if (!dwarf_die_reference(die, DWARF_SLOT_SIBLING, &place) || place.unit != die->unit ||
        place.position <= below)
        return NULL;
    return place.position;
}

/* Passes a DIE that has children: over them if it says where they end, else to the first. */
static enum err pass_parent(struct reader *reader, struct dwarf_siblings *siblings,
                            const struct dwarf_abbrev *abbrev, const uint8_t *position,
                            struct error *error) {
    reader->die.present = 0;
    const uint8_t *below = dwarf_die_take_values(reader->abbrevs->steps + abbrev->take_first,
                                                 abbrev->take_count, reader->next, &reader->die);
    if (!below) {
        reader->at_end = true;
        return ERR_OK;
    }
    const uint8_t *sibling = sibling_of(&reader->die, below);
    reader->next = sibling ? sibling : below;
    enum err err = ERR_OK;
    if (reader->depth == 0) {
        const struct dwarf_sibling item = {
            .position = position,
            .end = sibling ? sibling : reader->die.unit->end,
            .below = below,
            .is_scope = abbrev->flags & DWARF_ABBREV_SCOPE,
        };
        err = add_sibling(siblings, &item, error);
    }
    reader->depth += !sibling;
    return err;
}

/* A null entry ends the list, or what lies below the last DIE of it. */
static void pass_null(struct reader *reader, struct dwarf_siblings *siblings) {
    if (reader->depth == 0)
        reader->at_end = true;
    else if (--reader->depth == 0)
        siblings->items[siblings->count - 1].end = reader->next;
}

static enum err pass_die(struct reader *reader, struct dwarf_siblings *siblings,
                         struct error *error) {
    const struct dwarf_unit *unit = reader->die.unit;
    const uint8_t *position = reader->next;
    uint64_t code;
    if (!dwarf_take_uleb(&reader->next, unit->end, &code)) {
        reader->at_end = true;
        return ERR_OK;
    }
    if (code == 0) {
        pass_null(reader, siblings);
        return ERR_OK;
    }
    const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(reader->abbrevs, code);
    if (!abbrev || (abbrev->flags & DWARF_ABBREV_BROKEN)) {
        reader->at_end = true;
        return ERR_OK;
    }
    if (abbrev->flags & DWARF_ABBREV_CHILDREN)
        return pass_parent(reader, siblings, abbrev, position, error);
    reader->next = dwarf_die_skip_values(unit, reader->abbrevs, abbrev, reader->next);
    reader->at_end = !reader->next;
    return ERR_OK;
}

enum err dwarf_siblings_read(const struct dwarf_unit *unit, const uint8_t *first,
                             struct dwarf_siblings *siblings, struct error *error) {
    struct reader reader = {.die.unit = unit, .next = first};
    siblings->count = 0;
    enum err err = dwarf_unit_abbrevs(unit, &reader.abbrevs, error);
    while (!err && !reader.at_end && reader.next < unit->end)
        err = pass_die(&reader, siblings, error);
    return err;
}

struct dwarf_sibling *dwarf_siblings_at(const struct dwarf_siblings *siblings,
                                        const uint8_t *position) {
    size_t low = 0;
    size_t high = siblings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (siblings->items[middle].position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || siblings->items[low - 1].end <= position)
        return NULL;
    return &siblings->items[low - 1];
}

enum err dwarf_siblings_first(const struct dwarf_unit *unit, const uint8_t **ret_first,
                              struct error *error) {
    const struct dwarf_abbrevs *abbrevs;
    enum err err = dwarf_unit_abbrevs(unit, &abbrevs, error);
    if (err)
        return err;
    const uint8_t *position = unit->root;
    uint64_t code;
    *ret_first = NULL;
    if (!dwarf_take_uleb(&position, unit->end, &code))
        return ERR_OK;
    const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, code);
    if (abbrev && (abbrev->flags & DWARF_ABBREV_CHILDREN) && !(abbrev->flags & DWARF_ABBREV_BROKEN))
        *ret_first = dwarf_die_skip_values(unit, abbrevs, abbrev, position);
    return ERR_OK;
}
