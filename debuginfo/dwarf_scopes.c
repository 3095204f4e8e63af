#include "debuginfo/dwarf_scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_names.h"
#include "debuginfo/dwarf_walk.h"

#define SCOPE_DEPTH_MAX 64

struct scope {
    const uint8_t *position; /* of the DIE */
    uint32_t parent;         /* in the list; DWARF_CONTEXT_NONE at the top */
};

/* What can be somebody's scope, or need one, ascending. */
struct dwarf_scopes {
    struct scope *items;
    size_t count;
    size_t capacity;
};

void dwarf_scopes_free(struct dwarf_scopes *scopes) {
    if (!scopes)
        return;
    free(scopes->items);
    free(scopes);
}

static enum err add_scope(struct dwarf_scopes *scopes, struct dwarf_walk *walk,
                          struct error *error) {
    if (scopes->count == scopes->capacity) {
        size_t capacity = scopes->capacity ? 2 * scopes->capacity : 64;
        struct scope *grown = NULL;
        if (capacity < DWARF_CONTEXT_NONE)
            grown = realloc(scopes->items, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu scopes", capacity);
        scopes->items = grown;
        scopes->capacity = capacity;
    }
    scopes->items[scopes->count] =
        (struct scope){.position = walk->die.position, .parent = walk->context};
    walk->context = (uint32_t)scopes->count++;
    return ERR_OK;
}

static enum err read_scopes(const struct dwarf_unit *unit, const struct dwarf_scopes **ret_scopes,
                            struct error *error) {
    CLEANUP(cleanup_dwarf_scopes) struct dwarf_scopes *scopes = calloc(1, sizeof(*scopes));
    CLEANUP(cleanup_free) struct dwarf_walk *walk = malloc(sizeof(*walk));
    if (!scopes || !walk)
        return error_set(error, ERR_NO_MEMORY, "no memory for scopes");
    enum err err =
        dwarf_walk_start(walk, DWARF_WALK_SCOPES, &(struct dwarf_place){unit, unit->root}, error);
    while (!err && dwarf_walk_next(walk))
        err = add_scope(scopes, walk, error);
    if (err)
        return err;
    *ret_scopes = dwarf_info_keep_scopes(unit, TAKE(scopes));
    return ERR_OK;
}

static enum err scopes_of(const struct dwarf_unit *unit, const struct dwarf_scopes **ret_scopes,
                          struct error *error) {
    *ret_scopes = atomic_load_explicit(&unit->scopes, memory_order_acquire);
    return *ret_scopes ? ERR_OK : read_scopes(unit, ret_scopes, error);
}

/* The scope that holds a DIE; a place without a unit at the top, or when it is not known. */
static enum err find_parent(struct dwarf_place place, struct dwarf_place *ret_parent,
                            struct error *error) {
    const struct dwarf_scopes *scopes;
    enum err err = scopes_of(place.unit, &scopes, error);
    if (err)
        return err;
    size_t low = 0;
    size_t high = scopes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scopes->items[middle].position < place.position)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_parent = (struct dwarf_place){0};
    if (low == scopes->count || scopes->items[low].position != place.position ||
        scopes->items[low].parent == DWARF_CONTEXT_NONE)
        return ERR_OK;
    *ret_parent =
        (struct dwarf_place){place.unit, scopes->items[scopes->items[low].parent].position};
    return ERR_OK;
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

enum err dwarf_scopes_append(const struct dwarf_place *declaration, struct buffer *text,
                             struct error *error) {
    struct span names[SCOPE_DEPTH_MAX];
    size_t count = 0;
    struct dwarf_place place = *declaration;
    while (count < SCOPE_DEPTH_MAX) {
        enum err err = find_parent(place, &place, error);
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
