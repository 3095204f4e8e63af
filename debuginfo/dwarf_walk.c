#include "debuginfo/dwarf_walk.h"

#include <dwarf.h>

enum err dwarf_walk_start(struct dwarf_walk *walk, enum dwarf_walk_kind kind,
                          const struct dwarf_place *root, struct error *error) {
    enum err err = dwarf_unit_abbrevs(root->unit, &walk->abbrevs, error);
    if (err)
        return err;
    walk->die.unit = root->unit;
    walk->kind = kind;
    walk->next = root->position;
    walk->depth = 0;
    walk->context = DWARF_CONTEXT_NONE;
    walk->contexts[0] = DWARF_CONTEXT_NONE;
    walk->damaged = false;
    walk->at_die = false;
    walk->at_end = false;
    return ERR_OK;
}

static const uint8_t *skip_steps(const struct dwarf_step *steps, size_t count,
                                 const uint8_t *position, const struct dwarf_unit *unit) {
    for (const struct dwarf_step *step = steps; position && step < steps + count; step++) {
        if (step->kind == DWARF_STEP_FIXED)
            position = dwarf_skip(position, unit->end, step->size);
        else if (step->kind == DWARF_STEP_LEB)
            position = dwarf_skip_leb(position, unit->end);
        else
            position = dwarf_form_skip(step->form, position, unit->end, &unit->bases.encoding);
    }
    return position;
}

static inline const uint8_t *skip_values(const struct dwarf_walk *walk,
                                         const struct dwarf_abbrev *abbrev,
                                         const uint8_t *position) {
    const struct dwarf_unit *unit = walk->die.unit;
    if (__builtin_expect(abbrev->skip_count == 0, 1))
        return dwarf_skip(position, unit->end, abbrev->fixed_size);
    return skip_steps(walk->abbrevs->steps + abbrev->skip_first, abbrev->skip_count, position,
                      unit);
}

static const uint8_t *take_values(struct dwarf_walk *walk, const struct dwarf_abbrev *abbrev,
                                  const uint8_t *position) {
    walk->die.present = 0;
    return dwarf_die_take_values(walk->abbrevs->steps + abbrev->take_first, abbrev->take_count,
                                 position, &walk->die);
}

/* Where the DIE that was just read says its sibling is. One that leads back or out of the unit is
 * not believed: walking what it skips costs only time. */
static const uint8_t *sibling_of(const struct dwarf_walk *walk, const uint8_t *after_values) {
    const struct dwarf_unit *unit = walk->die.unit;
    struct dwarf_place place;
    if (!dwarf_die_reference(&walk->die, DWARF_SLOT_SIBLING, &place) || place.unit != unit ||
        place.position <= after_values)
        return NULL;
    return place.position;
}

/* Is this DIE one to stop at? */
static inline bool is_wanted(const struct dwarf_walk *walk, unsigned flags) {
    if (walk->kind == DWARF_WALK_SCOPES)
        return flags & DWARF_ABBREV_SCOPE;
    if (!(flags & DWARF_ABBREV_CODE) || walk->depth >= DWARF_DEPTH_MAX)
        return false;
    if (flags & DWARF_ABBREV_INLINED)
        return walk->contexts[walk->depth] != DWARF_CONTEXT_NONE;
    return flags & DWARF_ABBREV_SUBPROGRAM;
}

/* The children of a DIE with that context come next, if it has any. */
static inline void enter(struct dwarf_walk *walk, unsigned flags, uint32_t context) {
    if (!(flags & DWARF_ABBREV_CHILDREN)) {
        walk->at_end = walk->depth == 0;
        return;
    }
    walk->depth++;
    if (walk->depth < DWARF_DEPTH_MAX)
        walk->contexts[walk->depth] = context;
    else
        walk->damaged = true;
}

static inline uint32_t context_below(const struct dwarf_walk *walk, unsigned flags) {
    if (walk->depth >= DWARF_DEPTH_MAX ||
        (walk->kind == DWARF_WALK_CODE && (flags & DWARF_ABBREV_SUBPROGRAM)))
        return DWARF_CONTEXT_NONE;
    return walk->contexts[walk->depth];
}

static void end_damaged(struct dwarf_walk *walk) {
    walk->damaged = true;
    walk->at_end = true;
}

/* Steps over a DIE that is not wanted; walk->next stands behind its code. */
static inline void step_over(struct dwarf_walk *walk, const struct dwarf_abbrev *abbrev) {
    unsigned flags = abbrev->flags;
    const uint8_t *next = walk->next;
    const uint8_t *sibling = NULL;
    if ((flags & (DWARF_ABBREV_NO_CODE | DWARF_ABBREV_CHILDREN)) ==
        (DWARF_ABBREV_NO_CODE | DWARF_ABBREV_CHILDREN)) {
        next = take_values(walk, abbrev, next);
        if (next && walk->depth > 0)
            sibling = sibling_of(walk, next);
    } else {
        next = skip_values(walk, abbrev, next);
    }
    if (!next) {
        end_damaged(walk);
        return;
    }
    walk->next = sibling ? sibling : next;
    if (!sibling)
        enter(walk, flags, context_below(walk, flags));
}

/* Stops at a DIE that is wanted; false when its values cannot be read. */
static bool stop_at(struct dwarf_walk *walk, const struct dwarf_abbrev *abbrev,
                    const uint8_t *position) {
    const uint8_t *next = walk->kind == DWARF_WALK_CODE ? take_values(walk, abbrev, walk->next)
                                                        : skip_values(walk, abbrev, walk->next);
    if (!next) {
        end_damaged(walk);
        return false;
    }
    walk->die.abbrev = abbrev;
    walk->die.position = position;
    walk->die.next = walk->next = next;
    walk->context = context_below(walk, abbrev->flags);
    walk->at_die = true;
    return true;
}

/* A null entry ends a list of siblings. */
static inline void leave(struct dwarf_walk *walk) {
    if (walk->depth > 0)
        walk->depth--;
    walk->at_end = walk->depth == 0;
}

bool dwarf_walk_next(struct dwarf_walk *walk) {
    if (walk->at_die)
        enter(walk, walk->die.abbrev->flags, walk->context);
    walk->at_die = false;
    const uint8_t *end = walk->die.unit->end;
    /* A unit may end without the null entries of its outer levels. */
    while (!walk->at_end && walk->next < end) {
        const uint8_t *position = walk->next;
        uint64_t code;
        if (!dwarf_take_uleb(&walk->next, end, &code)) {
            end_damaged(walk);
            break;
        }
        if (code == 0) {
            leave(walk);
            continue;
        }
        const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(walk->abbrevs, code);
        if (!abbrev || (abbrev->flags & DWARF_ABBREV_BROKEN)) {
            end_damaged(walk);
            break;
        }
        if (!is_wanted(walk, abbrev->flags))
            step_over(walk, abbrev);
        else if (stop_at(walk, abbrev, position))
            return true;
        else
            break;
    }
    return false;
}
