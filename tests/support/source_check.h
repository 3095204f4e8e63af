/*
 * What a DWARF source owes, whatever the file: it pushes live ranges of positive length, parents
 * before children and of the same unit, subjects before they are used, rows ascending in each
 * sequence, which the last of them ends; and resolve() answers or fails politely at the ends of
 * every range that was pushed. Breaking a promise fails an assertion.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/elf_file.h"

/* finds_all: resolve() answers wherever a function or row begins that was pushed. */
void source_check(struct elf_file *file, struct symbol_source *source, bool finds_all);
