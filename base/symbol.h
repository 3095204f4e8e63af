/*
 * The words of an answer: which frames lie at an address, where each came from, and why something
 * is not known. Shared by the sources (debuginfo/, gopclntab/), the index and the surfaces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* [begin, end) of ELF virtual addresses. */
struct pc_range {
    uint64_t begin;
    uint64_t end;
};

/* Stored in indexes: values are never reused. */
enum symbol_origin {
    SYMBOL_ORIGIN_NONE = 0,
    SYMBOL_ORIGIN_DWARF = 1,
    SYMBOL_ORIGIN_GOPCLNTAB = 2,
    SYMBOL_ORIGIN_SYMTAB = 3,
    SYMBOL_ORIGIN_DYNSYM = 4,
};

/* "dwarf", "gopclntab", "symtab", "dynsym"; "none". */
const char *symbol_origin_name(enum symbol_origin origin);

/* Stored in indexes: values are never reused. */
enum symbol_flags {
    /* The name is a linkage name that may be demangled: it was tried and stayed within the limits,
     * or it is plainly cheap to try (see symbolizer/index/demangle.h). */
    SYMBOL_DEMANGLES = 1u << 0,
    /* A compiler-made wrapper that the language's own stack traces hide. */
    SYMBOL_WRAPPER = 1u << 1,
};

/* One frame of an answer. Spans stay owned by whoever filled it in; see there. Empty span: unknown.
 */
struct symbol_frame {
    struct span name;       /* linkage name where there is one, else the scoped source name */
    struct span short_name; /* DW_AT_name alone; empty when the source does not keep it */
    struct span file;       /* joined path of the line that executes (or of the call) */
    struct span start_file; /* where the function is declared */
    uint64_t entry_pc;      /* of the function, or of the inlined copy; valid if has_entry_pc */
    uint64_t first_pc;      /* where the first range of a function of DWARF begins; 0: not told */
    uint32_t line;          /* 0: unknown */
    uint32_t column;        /* 0: unknown */
    uint32_t start_line;    /* declaration; 0: unknown */
    uint32_t discriminator; /* 0: none or not kept */
    uint32_t flags;         /* of enum symbol_flags */
    enum symbol_origin origin;
    bool has_entry_pc;
};

/* Why an address has no answer, or only a part of one. */
enum symbol_miss {
    SYMBOL_MISS_NONE = 0,
    SYMBOL_MISS_NO_RANGE,           /* nothing in the file covers the address */
    SYMBOL_MISS_NO_LINE,            /* function known, line not */
    SYMBOL_MISS_INLINE_UNAVAILABLE, /* in inlined code whose chain is not in the file */
    SYMBOL_MISS_DENIED,             /* the tenant's policy hides it */
};

/* "no_range", "no_line", "inline_unavailable", "denied"; NULL for SYMBOL_MISS_NONE. */
const char *symbol_miss_name(enum symbol_miss miss);
