/*
 * What is not among the inputs and would make their symbols better: the debug file that
 * .gnu_debuglink names, where no input has DWARF, and the dwz file that .gnu_debugaltlink names.
 * The ids of .dwo files are not among them: they stand in DWARF that this step does not read.
 */
#pragma once

#include "symbolizer/build/object_inputs.h"
#include "symbolizer/protocol/report.h"

/* report->summary tells what the inputs hold. Links that break their format count as absent. */
void object_needs_find(const struct object_inputs *inputs, struct report *report);
