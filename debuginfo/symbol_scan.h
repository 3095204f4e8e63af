/*
 * One address looked up by going over the symbol tables, without collecting and sorting them: what
 * a single question is answered by. Gives the answer of symbol_winners or none at all.
 */
#pragma once

#include "debuginfo/elf_file.h"
#include "debuginfo/symbol_winners.h"

enum symbol_scan {
    SYMBOL_SCAN_FOUND,
    SYMBOL_SCAN_NOTHING,   /* no symbol answers at pc */
    SYMBOL_SCAN_UNDECIDED, /* it takes all symbols to tell: one without type or size may answer */
};

/* Stubs are not looked at. *ret_candidate is filled in when one is found. ERR_NO_MEMORY; a table
 * that cannot be read counts as not there. */
enum err symbol_scan(struct elf_file *file, uint64_t pc, enum symbol_scan *ret_result,
                     struct symbol_candidate *ret_candidate, struct error *error);

/* The candidates that begin at pc, the better ones first; at most `most`. *ret_count over `most`:
 * there are more, and these need not be the best. */
enum err symbol_scan_names(struct elf_file *file, uint64_t pc,
                           struct symbol_candidate *ret_candidates, size_t most, size_t *ret_count,
                           struct error *error);
