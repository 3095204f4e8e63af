/*
 * Which objects of an id shall be built into its index: pure, a list of objects in, a set of inputs
 * with their roles and the key of that set out.
 *
 * The best object is the one of the highest trust rank, then one whose name is proven over one that
 * only claims it, then the one with the best symbol data (DWARF before pclntab before symtab before
 * dynsym), then the newest. If another object of the same standing has a kind of data that the best
 * lacks, and lacks one that it has, both are inputs: an executable and its debug file.
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

/* False when no object holds symbols (sources and source maps do not). */
bool build_plan_choose(const struct object_row *objects, size_t count, struct build_plan *ret_plan);

/* True if an object of this type can be an input. */
bool build_plan_is_binary(enum artifact_type type);

/* The object that answers best, by the order above; NULL when none holds symbols. */
const struct object_row *build_plan_best(const struct object_row *objects, size_t count);

/* SHA-256 over every (role, digest), sorted, and the index format's version; numbers are 32-bit
 * little-endian. Equal sets have equal keys, in whatever order they are given. */
struct digest build_plan_key(const struct build_input *inputs, size_t count);
