/*
 * The seam between what reads symbols out of a file and what uses them. A source offers
 *
 *   push     everything it has, into a sink, once: for the index builder
 *   resolve  the frames at one pc, reading as little as it can: for a single cold address
 *
 * The libdw walk, the ELF symbol tables and, later, the native DWARF reader and Go's pclntab are
 * sources of the same shape. Which source wins at an address is the consumer's rule.
 *
 * Trust: a source reads hostile bytes. It checks every offset, bounds every loop, and reports
 * damage (one unit, one name) through the sink instead of failing the file. It hands out only
 * ranges that are begin < end and live: those whose begin lies in an executable extent of the
 * file, so that what the linker dropped does not reach a sink.
 *
 * Threads: one source is used by one thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/symbol.h"

/* A function with code of its own (DW_TAG_subprogram with ranges; a pclntab function). */
struct sink_function {
    struct span name;       /* as struct symbol_frame: linkage name, else scoped source name */
    struct span short_name; /* DW_AT_name; may be empty */
    const struct pc_range *ranges; /* unsorted; may overlap those of other functions */
    size_t range_count;            /* at least one */
    uint64_t entry_pc;             /* valid if has_entry_pc */
    uint32_t decl_file;            /* from sink->file; 0: unknown */
    uint32_t decl_line;            /* 0: unknown */
    uint32_t flags;                /* of enum symbol_flags, without SYMBOL_DEMANGLES */
    enum symbol_origin origin;
    bool name_is_linkage; /* may be mangled: the consumer tries to demangle it */
    bool has_entry_pc;
};

/* A copy of a function inlined into `parent`. Parents are pushed before children. */
struct sink_inlined {
    uint32_t parent; /* node of a function or of another inlined copy, of the same unit */
    struct span name;
    struct span short_name;
    const struct pc_range *ranges;
    size_t range_count;
    uint32_t decl_file;
    uint32_t decl_line;
    uint32_t call_file; /* where in `parent` the call stands; 0: unknown */
    uint32_t call_line;
    uint32_t call_column;
    uint32_t flags;
    bool name_is_linkage;
};

/*
 * One row of a line table. Rows of one sequence come one after another in ascending address; the
 * last has end_sequence set and its address is exclusive. Sequence ids are distinct within a unit.
 */
struct sink_line {
    uint64_t address;
    uint32_t sequence;
    uint32_t file; /* from sink->file */
    uint32_t line; /* 0: the compiler says there is no line */
    uint32_t column;
    uint32_t discriminator;
    bool is_stmt;
    bool end_sequence;
};

/*
 * A winner among the ELF symbols: symbols come in ascending address and do not overlap;
 * [begin, end) is what the symbol may answer for.
 */
struct sink_symbol {
    struct span name; /* without @VERSION */
    uint64_t begin;
    uint64_t end;
    uint64_t entry_pc; /* the symbol's value; below begin where another symbol lies inside it */
    enum symbol_origin origin; /* symtab or dynsym */
};

/* A compilation unit begins; functions, inlined copies and lines that follow belong to it. */
struct sink_unit {
    uint64_t offset;   /* in .debug_info, for messages; 0 if there is no such thing */
    uint32_t language; /* DW_LANG_*; 0: unknown */
};

/*
 * The consumer. All pointers handed to it are valid for the call only; it copies what it keeps.
 * Any call may fail (a limit, memory), which ends the push with that error.
 */
struct symbol_sink {
    const struct symbol_sink_ops *ops;
};

struct symbol_sink_ops {
    enum err (*unit)(struct symbol_sink *sink, const struct sink_unit *unit, struct error *error);

    /* Interns a path: equal bytes get an equal number, never 0. Valid for the whole push. */
    enum err (*file)(struct symbol_sink *sink, struct span path, uint32_t *ret_file,
                     struct error *error);

    /* ret_node: to be used as parent of inlined copies within this unit. */
    enum err (*function)(struct symbol_sink *sink, const struct sink_function *function,
                         uint32_t *ret_node, struct error *error);
    enum err (*inlined)(struct symbol_sink *sink, const struct sink_inlined *inlined,
                        uint32_t *ret_node, struct error *error);
    enum err (*line)(struct symbol_sink *sink, const struct sink_line *line, struct error *error);
    enum err (*symbol)(struct symbol_sink *sink, const struct sink_symbol *symbol,
                       struct error *error);

    /* Something could not be read and was left out; `what` names it for a person. */
    void (*damage)(struct symbol_sink *sink, const char *what);
};

/* Frames at one pc, leaf first. Strings belong to the source and live as long as it does; the
 * array belongs to the list and is reused by the next resolve. */
struct frame_list {
    struct symbol_frame *frames;
    size_t count;
    size_t capacity;
};

void frame_list_clear(struct frame_list *list);

/* Appends; ERR_LIMIT past FRAME_COUNT_MAX, ERR_NO_MEMORY. */
enum err frame_list_add(struct frame_list *list, const struct symbol_frame *frame,
                        struct error *error);

#define FRAME_COUNT_MAX 4096

struct symbol_source {
    const struct symbol_source_ops *ops;
};

struct symbol_source_ops {
    enum err (*push)(struct symbol_source *source, struct symbol_sink *sink, struct error *error);

    /* Replaces the contents of the list. No frames: this source knows nothing at pc. */
    enum err (*resolve)(struct symbol_source *source, uint64_t pc, struct frame_list *frames,
                        struct error *error);
    void (*free)(struct symbol_source *source);
};

static inline void symbol_source_free(struct symbol_source *source) {
    if (source)
        source->ops->free(source);
}
DEFINE_CLEANUP(symbol_source, struct symbol_source, symbol_source_free)
