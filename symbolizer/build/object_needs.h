/*
 * What is not among the inputs and would make their symbols better: the debug file that
 * .gnu_debuglink names, where no input has DWARF, the supplementary file of dwz, and split units.
 */
#pragma once

#include "symbolizer/build/object_inputs.h"
#include "symbolizer/protocol/report.h"

/* report->summary tells what the inputs hold. Links that break their format count as absent. */
void object_needs_find(const struct object_inputs *inputs, struct report *report);

/* The DWO ids of split units that a build missed. */
void object_needs_add_dwos(const uint64_t *ids, size_t count, struct report *report);
