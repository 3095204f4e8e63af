/*
 * Which objects of an id shall be built into its index: pure, a list of objects in, sets of inputs
 * with their roles and the key of each set out, in the order in which they shall be tried.
 *
 * The best object is the one of the highest trust rank, then one whose name is proven over one that
 * only claims it, then the one with the best symbol data (DWARF before pclntab before symtab before
 * dynsym), then the newest. If another object of the same standing has a kind of data that the best
 * lacks, and lacks one that it has, both are inputs: an executable and its debug file.
 *
 * Should that set turn out not to be buildable, the best object alone comes next, and then the same
 * over the objects that are worse than it: a poorer object answers rather than none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "cache/catalog_builds.h"
#include "cache/catalog_objects.h"

struct build_plan {
    struct digest key;
    struct build_input inputs[2];
    size_t input_count;
};

/* Goes over the sets of a list of objects, which it borrows. Begin with zeros behind the count. */
struct build_plan_walk {
    const struct object_row *objects;
    size_t count;
    const struct object_row *best; /* of the last set; NULL before the first */
    bool paired;                   /* the last set had two inputs */
};

/* The next set. False when there is none (left): sources and source maps hold no symbols. */
bool build_plan_next(struct build_plan_walk *walk, struct build_plan *ret_plan);

/* True if an object of this type can be an input. */
bool build_plan_is_binary(enum artifact_type type);

/* The object that answers best, by the order above, of all or of those that are worse than `above`;
 * NULL when none holds symbols. */
const struct object_row *build_plan_best(const struct object_row *objects, size_t count,
                                         const struct object_row *above);

/* SHA-256 over every (role, digest), sorted, and the index format's version; numbers are 32-bit
 * little-endian. Equal sets have equal keys, in whatever order they are given. */
struct digest build_plan_key(const struct build_input *inputs, size_t count);
