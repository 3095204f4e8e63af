/*
 * Which symbol answers at which address. Symbol tables overlap themselves: aliases, functions
 * inside functions, labels, symbols without a size. The result is a table of disjoint intervals in
 * ascending order, each with its one winner.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/symbol.h"

/* Better kinds win over all of the later ones, wherever they cover an address. */
enum symbol_kind {
    SYMBOL_KIND_SIZED,         /* a function with a size */
    SYMBOL_KIND_UNTYPED_SIZED, /* STT_NOTYPE with a size */
    SYMBOL_KIND_STUB,          /* of a linker, for calls that leave the file */
    SYMBOL_KIND_SIZELESS,      /* reaches as far as its end says, but never into another symbol */
    SYMBOL_KIND_COUNT,
};

struct symbol_candidate {
    struct span name;
    uint64_t begin;
    uint64_t end; /* begin < end */
    enum symbol_kind kind;
    uint32_t rank; /* among symbols of one kind that begin together the lowest wins */
    enum symbol_origin origin;
};

/* By address, and at one address from the weakest to the best: among functions with a size that
 * cover an address the last one answers. */
int symbol_candidate_compare(const struct symbol_candidate *a, const struct symbol_candidate *b);

struct symbol_winner {
    uint64_t begin;
    uint64_t end;
    uint32_t candidate; /* position in the sorted candidates */
};

/*
 * Sorts the candidates in place and fills a table that the caller frees. Within a kind the one
 * that begins last wins (the inner function), and where it ends the outer one goes on. A symbol
 * that begins inside a better kind's winner is no winner anywhere.
 * ERR_NO_MEMORY; at most UINT32_MAX candidates.
 */
enum err symbol_winners_choose(struct symbol_candidate *candidates, size_t count,
                               struct symbol_winner **ret_winners, size_t *ret_count,
                               struct error *error);
