#include "debuginfo/dwarf_scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "debuginfo/dwarf_names.h"
#include "debuginfo/dwarf_siblings.h"
#include "debuginfo/place_map.h"

#define SCOPE_DEPTH_MAX 64

/* How far below its unit a DIE is looked for. Deeper ones have no scopes: listing each level may
 * read all that lies below it. */
#define LEVEL_DEPTH_MAX 256

struct dwarf_scopes {
    struct place_map units; /* the number of the level below each unit DIE that was asked for */
    struct dwarf_siblings *levels; /* by number; 0 is not used */
    size_t level_count;
    size_t level_capacity;
};

struct dwarf_scopes *dwarf_scopes_new(void) {
    return calloc(1, sizeof(struct dwarf_scopes));
}

void dwarf_scopes_free(struct dwarf_scopes *scopes) {
    if (!scopes)
        return;
    for (size_t i = 1; i < scopes->level_count; i++)
        dwarf_siblings_clear(&scopes->levels[i]);
    free(scopes->levels);
    place_map_clear(&scopes->units);
    free(scopes);
}

/* Adds the level that begins at `first`; without any where that is NULL. */
static enum err add_level(struct dwarf_scopes *scopes, const struct dwarf_unit *unit,
                          const uint8_t *first, uint32_t *ret_level, struct error *error) {
    if (scopes->level_count + 1 >= scopes->level_capacity) {
        size_t capacity = scopes->level_capacity ? 2 * scopes->level_capacity : 64;
        struct dwarf_siblings *grown = NULL;
        if (capacity <= UINT32_MAX)
            grown = realloc(scopes->levels, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu scopes", capacity);
        scopes->levels = grown;
        scopes->level_capacity = capacity;
    }
    if (scopes->level_count == 0)
        scopes->levels[scopes->level_count++] = (struct dwarf_siblings){0};
    struct dwarf_siblings siblings = {0};
    enum err err = first ? dwarf_siblings_read(unit, first, &siblings, error) : ERR_OK;
    if (err) {
        dwarf_siblings_clear(&siblings);
        return err;
    }
    scopes->levels[scopes->level_count] = siblings;
    *ret_level = (uint32_t)scopes->level_count++;
    return ERR_OK;
}

static enum err top_level(struct dwarf_scopes *scopes, const struct dwarf_unit *unit,
                          uint32_t *ret_level, struct error *error) {
    uint32_t *level;
    enum err err = place_map_at(&scopes->units, unit, 0, &level, error);
    const uint8_t *first = NULL;
    if (!err && *level == 0) {
        err = dwarf_siblings_first(unit, &first, error);
        if (!err)
            err = add_level(scopes, unit, first, level, error);
    }
    if (!err)
        *ret_level = *level;
    return err;
}

/* The innermost scope that holds a DIE; a place without a unit when it is in none, or not found. */
static enum err find_parent(struct dwarf_scopes *scopes, struct dwarf_place place,
                            struct dwarf_place *ret_parent, struct error *error) {
    *ret_parent = (struct dwarf_place){0};
    uint32_t level;
    enum err err = top_level(scopes, place.unit, &level, error);
    struct dwarf_place parent = {0};
    for (int depth = 0; !err && depth < LEVEL_DEPTH_MAX; depth++) {
        struct dwarf_sibling *sibling = dwarf_siblings_at(&scopes->levels[level], place.position);
        if (!sibling || sibling->position == place.position) {
            *ret_parent = parent;
            break;
        }
        if (sibling->is_scope)
            parent = (struct dwarf_place){.unit = place.unit, .position = sibling->position};
        uint32_t below = sibling->level;
        if (below == 0) {
            const uint8_t *first = sibling->below;
            err = add_level(scopes, place.unit, first, &below, error);
            /* The list of levels may have moved, the siblings have not. */
            if (!err)
                sibling->level = below;
        }
        level = below;
    }
    return err;
}

/* Where a class or function is declared: one that is defined outside of the scope that declares it
 * has its name and its own scopes there, and so has a class in a unit of its own. */
static enum err to_declaration(struct dwarf_place *place, struct dwarf_die *ret_die,
                               struct error *error) {
    enum err err = dwarf_die_read(place, ret_die, error);
    for (int i = 0; !err && i < DWARF_ORIGIN_DEPTH_MAX; i++) {
        struct dwarf_place origin;
        if (!dwarf_die_origin(ret_die, &origin) &&
            !dwarf_die_reference(ret_die, DWARF_SLOT_SIGNATURE, &origin))
            return ERR_OK;
        struct dwarf_die die;
        err = dwarf_die_read(&origin, &die, error);
        if (err)
            break;
        *place = origin;
        *ret_die = die;
    }
    return err == ERR_NO_MEMORY ? err : ERR_OK;
}

/* *place becomes the scope's declaration. */
static enum err read_scope_name(struct dwarf_place *place, struct span *ret_name,
                                struct error *error) {
    struct dwarf_die die = {.unit = NULL};
    *ret_name = span_cstr("(anonymous)");
    enum err err = to_declaration(place, &die, error);
    if (err || !die.unit)
        return err;
    if (!dwarf_die_string(&die, DWARF_SLOT_NAME, ret_name) && die.abbrev->tag == DW_TAG_namespace)
        *ret_name = span_cstr("(anonymous namespace)");
    return ERR_OK;
}

enum err dwarf_scopes_append(struct dwarf_scopes *scopes, const struct dwarf_place *declaration,
                             struct buffer *text, struct error *error) {
    struct span names[SCOPE_DEPTH_MAX];
    size_t count = 0;
    struct dwarf_place place = *declaration;
    while (count < SCOPE_DEPTH_MAX) {
        enum err err = find_parent(scopes, place, &place, error);
        if (err == ERR_MALFORMED || err == ERR_LIMIT || (!err && !place.unit))
            break;
        if (!err)
            err = read_scope_name(&place, &names[count++], error);
        if (err)
            return err;
    }
    while (count > 0) {
        struct span name = names[--count];
        buffer_append(text, name.data, name.size);
        buffer_append_cstr(text, "::");
    }
    return ERR_OK;
}
