/*
 * An index as text for a person: what `symbolize inspect` prints. One fact a line; bytes that could
 * disturb a terminal come out as \xNN. The text is for reading, its form may change.
 */
#pragma once

#include <stdio.h>

#include "symbolizer/index/index.h"

/* Summary, segments and sections; with `intervals` also every interval with its frames. Checks
 * nothing: see index_verify. A failed write is left to the caller's ferror or fclose. */
void index_dump(const struct index *index, bool intervals, FILE *out);
