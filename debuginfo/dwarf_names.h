/*
 * What a function is called and where it is declared, from its DIE and those it refers to: its
 * abstract instance, its declaration in a class, in whatever unit or file they are.
 */
#pragma once

#include "base/buffer.h"
#include "debuginfo/dwarf_scopes.h"

/* How far abstract_origin and specification are followed; real chains have at most three links. */
#define DWARF_ORIGIN_DEPTH_MAX 16

struct dwarf_subject {
    struct span name; /* linkage name, else scoped; may lie in the caller's scratch buffer */
    struct span short_name;
    bool name_is_linkage;
    const struct dwarf_unit
        *decl_unit; /* whose line table decl_file is an index of; NULL: unknown */
    uint64_t decl_file;
    uint32_t decl_line; /* 0: unknown */
};

/*
 * The DIE that says all there is to say of a function or an inlined copy: where a DIE adds nothing
 * to its abstract instance, that instance, so that all copies lead to one place. `depth` is that of
 * the DIE below its unit's, 0 if it is not known.
 */
struct dwarf_place dwarf_subject_place(const struct dwarf_die *die, size_t depth);

/* What cannot be read stays empty: a broken reference costs what it would have led to. Fails only
 * for lack of memory. */
enum err dwarf_subject_read(const struct dwarf_place *place, struct dwarf_scopes *scopes,
                            struct buffer *scratch, struct dwarf_subject *ret_subject,
                            struct error *error);
