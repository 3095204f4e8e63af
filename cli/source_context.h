/* Lines of a source file around one of them, as llvm-symbolizer shows them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/*
 * Appends `count` lines of the file, half of them before `line`, each with its number and a '>'
 * behind that of `line`. False, and nothing appended, when there is nothing to show: a count of 0,
 * no such file (debug data states whatever path it likes; only regular files are read), or the file
 * ends before.
 */
bool source_context_read(struct span path, uint32_t line, unsigned count, struct buffer *text);
