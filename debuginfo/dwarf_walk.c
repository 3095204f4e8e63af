#include "debuginfo/dwarf_walk.h"

enum err dwarf_walk_start(struct dwarf_walk *walk, const struct dwarf_place *root,
                          struct error *error) {
    enum err err = dwarf_unit_abbrevs(root->unit, &walk->abbrevs, error);
    if (err)
        return err;
    walk->die.unit = root->unit;
    walk->next = root->position;
    walk->depth = 0;
    walk->context = DWARF_CONTEXT_NONE;
    walk->contexts[0] = DWARF_CONTEXT_NONE;
    walk->damaged = false;
    walk->at_die = false;
    walk->at_end = false;
    return ERR_OK;
}

static const uint8_t *take_values(struct dwarf_walk *walk, const struct dwarf_abbrev *abbrev,
                                  const uint8_t *position) {
    walk->die.present = 0;
    return dwarf_die_take_values(walk->abbrevs->steps + abbrev->take_first, abbrev->take_count,
                                 position, &walk->die);
}

/* Where a DIE says its sibling is; NULL when it does not. One that leads back or out of the unit is
 * not believed: walking what it skips costs only time. */
static const uint8_t *sibling_of(const struct dwarf_walk *walk, const uint8_t *after_values) {
    const struct dwarf_unit *unit = walk->die.unit;
    struct dwarf_place place;
    if (walk->depth == 0 || !dwarf_die_reference(&walk->die, DWARF_SLOT_SIBLING, &place) ||
        place.unit != unit || place.position <= after_values)
        return NULL;
    return place.position;
}

static void end_damaged(struct dwarf_walk *walk) {
    walk->damaged = true;
    walk->at_end = true;
}

/* What lies below a DIE has its context, until the caller says otherwise. */
static inline uint32_t context_below(const struct dwarf_walk *walk, unsigned flags) {
    if (walk->depth >= DWARF_DEPTH_MAX || (flags & DWARF_ABBREV_SUBPROGRAM))
        return DWARF_CONTEXT_NONE;
    return walk->contexts[walk->depth];
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

/* A null entry ends a list of siblings. */
static inline void leave(struct dwarf_walk *walk) {
    walk->depth -= walk->depth > 0;
    walk->at_end = walk->depth == 0;
}

/* More is to be done with such a DIE than to step over its values. */
#define SPECIAL_FLAGS (DWARF_ABBREV_CODE | DWARF_ABBREV_NO_CODE | DWARF_ABBREV_BROKEN)

/*
 * Steps over DIEs that nothing is to be done with, which is nearly all of them: most of the time of
 * a walk is spent here. Stands behind the code of the first special DIE and returns its
 * abbreviation, or returns NULL at the end.
 */
static const struct dwarf_abbrev *pass_plain(struct dwarf_walk *walk,
                                             const uint8_t **ret_position) {
    const struct dwarf_unit *unit = walk->die.unit;
    const struct dwarf_abbrevs *abbrevs = walk->abbrevs;
    const uint8_t *next = walk->next;
    /* A unit may end without the null entries of its outer levels. */
    while (!walk->at_end && next < unit->end) {
        const uint8_t *position = next;
        uint64_t code;
        if (!dwarf_take_uleb(&next, unit->end, &code)) {
            end_damaged(walk);
            break;
        }
        if (code == 0) {
            leave(walk);
            continue;
        }
        const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, code);
        if (!abbrev) {
            end_damaged(walk);
            break;
        }
        if (abbrev->flags & SPECIAL_FLAGS) {
            *ret_position = position;
            walk->next = next;
            return abbrev;
        }
        next = dwarf_die_skip_values(unit, abbrevs, abbrev, next);
        if (!next) {
            end_damaged(walk);
            break;
        }
        enter(walk, abbrev->flags, context_below(walk, abbrev->flags));
    }
    walk->at_end = true;
    return NULL;
}

/* Is this special DIE one to stop at? */
static bool is_wanted(const struct dwarf_walk *walk, unsigned flags) {
    if (!(flags & DWARF_ABBREV_CODE) || walk->depth >= DWARF_DEPTH_MAX)
        return false;
    return !(flags & DWARF_ABBREV_INLINED) || walk->contexts[walk->depth] != DWARF_CONTEXT_NONE;
}

/* Reads a special DIE, whose code ends at walk->next, and takes its values if it is wanted.
 * *ret_jumped: the walk goes on at its sibling. False when the values cannot be read. */
static bool read_special(struct dwarf_walk *walk, const struct dwarf_abbrev *abbrev, bool wanted,
                         bool *ret_jumped) {
    const unsigned jumped = DWARF_ABBREV_NO_CODE | DWARF_ABBREV_CHILDREN;
    bool jumps = (abbrev->flags & jumped) == jumped;
    const uint8_t *next = NULL;
    if (!(abbrev->flags & DWARF_ABBREV_BROKEN))
        next = wanted || jumps
                   ? take_values(walk, abbrev, walk->next)
                   : dwarf_die_skip_values(walk->die.unit, walk->abbrevs, abbrev, walk->next);
    if (!next) {
        end_damaged(walk);
        return false;
    }
    const uint8_t *sibling = jumps ? sibling_of(walk, next) : NULL;
    walk->next = sibling ? sibling : next;
    *ret_jumped = sibling != NULL;
    return true;
}

bool dwarf_walk_next(struct dwarf_walk *walk) {
    if (walk->at_die)
        enter(walk, walk->die.abbrev->flags, walk->context);
    walk->at_die = false;
    const uint8_t *position;
    const struct dwarf_abbrev *abbrev;
    while ((abbrev = pass_plain(walk, &position))) {
        bool wanted = is_wanted(walk, abbrev->flags);
        bool jumped;
        if (!read_special(walk, abbrev, wanted, &jumped))
            break;
        uint32_t context = context_below(walk, abbrev->flags);
        if (wanted) {
            walk->die.abbrev = abbrev;
            walk->die.position = position;
            walk->context = context;
            walk->at_die = true;
            return true;
        }
        if (!jumped)
            enter(walk, abbrev->flags, context);
    }
    return false;
}
