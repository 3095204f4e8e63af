/*
 * Scopes of functions without a linkage name. A DIE does not know its parent, so the first question
 * about a unit walks it once and keeps the parents of what can need a scope or be one.
 */
#include <stdlib.h>

#include "debuginfo/libdw_internal.h"

#define SCOPE_DEPTH_MAX 64

static bool is_scope(int tag) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_module:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

static enum err add_scope(struct libdw_unit *unit, size_t *capacity, struct libdw_level *level,
                          struct error *error) {
    if (unit->scope_count == *capacity) {
        size_t grown_capacity = *capacity ? 2 * *capacity : 64;
        struct libdw_scope *grown = realloc(unit->scopes, grown_capacity * sizeof(*grown));
        if (!grown || unit->scope_count >= SCOPE_NONE) {
            unit->scopes = grown ? grown : unit->scopes;
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu scopes", grown_capacity);
        }
        unit->scopes = grown;
        *capacity = grown_capacity;
    }
    unit->scopes[unit->scope_count] =
        (struct libdw_scope){.die_address = level->die.addr, .parent = level->context};
    level->context = (uint32_t)unit->scope_count++;
    return ERR_OK;
}

static enum err read_scopes(struct libdw_source *source, struct libdw_unit *unit,
                            struct error *error) {
    unit->scopes_read = true;
    size_t capacity = 0;
    CLEANUP(libdw_tree_clear) struct libdw_tree tree = {0};
    enum err err = libdw_tree_start(&tree, source->dwarf, &unit->die, error);
    while (!err) {
        err = libdw_tree_next(&tree, error);
        if (err || tree.depth == 0)
            break;
        struct libdw_level *level = libdw_tree_level(&tree);
        if (tree.depth == 1)
            level->context = SCOPE_NONE;
        else if (is_scope(dwarf_tag(&level->die)))
            err = add_scope(unit, &capacity, level, error);
    }
    return err;
}

static int compare_scope(const void *key, const void *element) {
    const char *address = key;
    const char *other = ((const struct libdw_scope *)element)->die_address;
    return address < other ? -1 : address > other;
}

/* The scope that holds a DIE. False at the top, or when it is not known. */
static bool find_parent(struct libdw_source *source, Dwarf_Die *die, Dwarf_Die *ret_parent,
                        enum err *ret_err, struct error *error) {
    struct libdw_unit *unit = libdw_unit_of(source, die);
    if (!unit)
        return false;
    if (!unit->scopes_read)
        *ret_err = read_scopes(source, unit, error);
    if (*ret_err || unit->scope_count == 0)
        return false;
    const struct libdw_scope *scope =
        bsearch(die->addr, unit->scopes, unit->scope_count, sizeof(*unit->scopes), compare_scope);
    if (!scope || scope->parent == SCOPE_NONE)
        return false;
    void *address = unit->scopes[scope->parent].die_address;
    return dwarf_die_addr_die(source->dwarf, address, ret_parent) != NULL;
}

/* A class or function defined outside the scope that declares it stands where it is declared. */
static void to_declaration(Dwarf_Die *die) {
    Dwarf_Die origin;
    for (int i = 0; i < ORIGIN_DEPTH_MAX && libdw_read_origin(die, &origin); i++)
        *die = origin;
}

static struct span scope_name(Dwarf_Die *die) {
    struct span name;
    if (libdw_read_string(die, DW_AT_name, &name) && name.size <= NAME_SIZE_MAX)
        return name;
    return span_cstr(dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)");
}

enum err libdw_scopes_append(struct libdw_source *source, Dwarf_Die *die, struct buffer *text,
                             struct error *error) {
    struct span names[SCOPE_DEPTH_MAX];
    size_t count = 0;
    enum err err = ERR_OK;
    Dwarf_Die current = *die;
    Dwarf_Die parent;
    while (count < SCOPE_DEPTH_MAX && find_parent(source, &current, &parent, &err, error)) {
        to_declaration(&parent);
        names[count++] = scope_name(&parent);
        current = parent;
    }
    while (!err && count > 0) {
        struct span name = names[--count];
        buffer_append(text, name.data, name.size);
        buffer_append_cstr(text, "::");
    }
    return err;
}
