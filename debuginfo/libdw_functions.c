#include "debuginfo/libdw_internal.h"

/* Binutils and gcc before DWARF 5; <dwarf.h> has it, and DW_TAG_call_site since 5. */
static bool holds_no_code(int tag) {
    switch (tag) {
    case DW_TAG_array_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return true;
    default:
        return false;
    }
}

struct function_visit {
    struct libdw_source *source;
    struct libdw_visitor *visitor;
    struct range_list ranges;
    bool damaged;
};

static void cleanup_function_visit(struct function_visit *visit) {
    range_list_clear(&visit->ranges);
}

/* A declaration, an abstract instance or a function that the linker dropped has no live range, and
 * nothing inlined there counts. */
static enum err enter_function(struct function_visit *visit, struct libdw_level *level,
                               struct error *error) {
    level->context = NODE_NONE;
    enum err err =
        libdw_live_ranges(visit->source, &level->die, &visit->ranges, &visit->damaged, error);
    if (err || visit->ranges.count == 0)
        return err;
    return visit->visitor->function(visit->visitor, &level->die, &visit->ranges, &level->context,
                                    error);
}

/* A copy without code of its own is left out; copies inside it belong to its parent. */
static enum err enter_inlined(struct function_visit *visit, struct libdw_level *level,
                              struct error *error) {
    if (!visit->visitor->inlined || level->context == NODE_NONE)
        return ERR_OK;
    enum err err =
        libdw_live_ranges(visit->source, &level->die, &visit->ranges, &visit->damaged, error);
    if (err || visit->ranges.count == 0)
        return err;
    return visit->visitor->inlined(visit->visitor, &level->die, level->context, &visit->ranges,
                                   &level->context, error);
}

static enum err visit_die(struct function_visit *visit, struct libdw_tree *tree,
                          struct error *error) {
    struct libdw_level *level = libdw_tree_level(tree);
    int tag = dwarf_tag(&level->die);
    if (tree->depth == 1)
        level->context = NODE_NONE;
    tree->skip = holds_no_code(tag);
    if (tag == DW_TAG_subprogram)
        return enter_function(visit, level, error);
    if (tag == DW_TAG_inlined_subroutine)
        return enter_inlined(visit, level, error);
    return ERR_OK;
}

enum err libdw_visit_functions(struct libdw_source *source, const Dwarf_Die *root,
                               struct libdw_visitor *visitor, bool *ret_damaged,
                               struct error *error) {
    CLEANUP(cleanup_function_visit)
    struct function_visit visit = {.source = source, .visitor = visitor};
    CLEANUP(libdw_tree_clear) struct libdw_tree tree = {0};
    enum err err = libdw_tree_start(&tree, source->dwarf, root, error);
    while (!err) {
        err = libdw_tree_next(&tree, error);
        if (err || tree.depth == 0)
            break;
        err = visit_die(&visit, &tree, error);
    }
    if (visit.damaged || tree.damaged)
        *ret_damaged = true;
    return err;
}
