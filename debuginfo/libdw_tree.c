#include <stdlib.h>

#include "debuginfo/libdw_internal.h"

void libdw_tree_clear(struct libdw_tree *tree) {
    free(tree->levels);
    *tree = (struct libdw_tree){0};
}

static enum err push_level(struct libdw_tree *tree, const Dwarf_Die *die, struct error *error) {
    if (tree->depth == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : 32;
        struct libdw_level *grown = realloc(tree->levels, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu levels of DIEs", capacity);
        tree->levels = grown;
        tree->capacity = capacity;
    }
    uint32_t context = tree->depth ? libdw_tree_level(tree)->context : 0;
    tree->levels[tree->depth++] = (struct libdw_level){.die = *die, .context = context};
    return ERR_OK;
}

enum err libdw_tree_start(struct libdw_tree *tree, Dwarf *dwarf, const Dwarf_Die *root,
                          struct error *error) {
    tree->dwarf = dwarf;
    tree->depth = 0;
    tree->started = tree->skip = tree->damaged = false;
    return push_level(tree, root, error);
}

static void end_damaged(struct libdw_tree *tree) {
    tree->damaged = true;
    tree->depth = 0;
}

/*
 * Leaves levels that end at the null entry at `null_entry` and finds the DIE behind it. libdw would
 * find the sibling of a parent by passing over all its children again, which is costly where
 * compilers write no DW_AT_sibling (all but gcc); the DIE behind the children's null entry is it.
 */
static bool leave_at_null(struct libdw_tree *tree, unsigned char *null_entry, Dwarf_Die *ret_die) {
    Dwarf_CU *unit = tree->levels[0].die.cu;
    for (;;) {
        /* The level of the children is left, and its parent is where the next DIE is a sibling. */
        tree->depth--;
        if (tree->depth <= 1) {
            tree->depth = 0;
            return false;
        }
        Dwarf_Die next;
        if (!dwarf_die_addr_die(tree->dwarf, null_entry + 1, &next) || next.cu != unit) {
            /* The unit ends without the null entries of its outer levels. */
            tree->depth = 0;
            return false;
        }
        if (*(unsigned char *)next.addr != 0) {
            *ret_die = next;
            return true;
        }
        null_entry = next.addr;
    }
}

/* The next DIE that is not below the present one becomes the present one. */
static void to_sibling(struct libdw_tree *tree) {
    if (tree->depth <= 1) {
        tree->depth = 0;
        return;
    }
    Dwarf_Die next = {0};
    void *last = libdw_tree_level(tree)->die.addr;
    int found = dwarf_siblingof(&libdw_tree_level(tree)->die, &next);
    if (found < 0) {
        end_damaged(tree);
        return;
    }
    if (found > 0) {
        if (!next.addr) {
            tree->depth = 0; /* the unit ended */
            return;
        }
        if (!leave_at_null(tree, next.addr, &next))
            return;
    }
    if ((char *)next.addr <= (char *)last || dwarf_tag(&next) == DW_TAG_invalid) {
        end_damaged(tree);
        return;
    }
    libdw_tree_level(tree)->die = next;
    libdw_tree_level(tree)->context = tree->levels[tree->depth - 2].context;
}

enum err libdw_tree_next(struct libdw_tree *tree, struct error *error) {
    if (!tree->started) {
        tree->started = true;
        if (dwarf_tag(&tree->levels[0].die) == DW_TAG_invalid)
            end_damaged(tree);
        return ERR_OK;
    }
    bool skip = tree->skip;
    tree->skip = false;
    if (!skip) {
        Dwarf_Die child;
        int found = dwarf_child(&libdw_tree_level(tree)->die, &child);
        if (found < 0) {
            end_damaged(tree);
            return ERR_OK;
        }
        if (found == 0) {
            if (tree->depth < TREE_DEPTH_MAX)
                return push_level(tree, &child, error);
            tree->damaged = true; /* what lies deeper is left out */
        }
    }
    to_sibling(tree);
    return ERR_OK;
}
