/*
 * The seam between what reads symbols out of a file and what uses them. A source offers
 *
 *   push     everything it has, into a sink, once: for the index builder
 *   resolve  the frames at one pc, reading as little as it can: for a single cold address
 *
 * The libdw walk, the ELF symbol tables, the native DWARF reader and, later, Go's pclntab are
 * sources of the same shape. Which source wins at an address is the consumer's rule.
 *
 * Trust: a source reads hostile bytes. It checks every offset, bounds every loop, and reports
 * damage (one unit, one name) through the sink instead of failing the file. It hands out only
 * ranges that are begin < end and live: those whose begin lies in an executable extent of the
 * file, so that what the linker dropped does not reach a sink.
 *
 * Threads: one source is used by one thread at a time, and one sink too, with one exception: the
 * shards of one source may be pushed by several threads at once, each into a sink of its own. While
 * that goes on nothing but push_shard may be called.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/symbol.h"

/*
 * What all copies of one function share, however often it is inlined. A big binary holds some
 * fifteen inlined copies of each name, and names are long: so a subject is described once and then
 * meant by its number.
 */
struct sink_subject {
    struct span name;       /* as struct symbol_frame: linkage name, else scoped source name */
    struct span short_name; /* DW_AT_name; may be empty */
    uint32_t decl_file;     /* from sink->file; 0: unknown */
    uint32_t decl_line;     /* 0: unknown */
    uint32_t flags;         /* of enum symbol_flags, without SYMBOL_DEMANGLES */
    enum symbol_origin origin;
    bool name_is_linkage; /* may be mangled: the consumer tries to demangle it */
};

/* A function with code of its own (DW_TAG_subprogram with ranges; a pclntab function). */
struct sink_function {
    uint32_t subject;              /* from sink->subject; never 0 */
    const struct pc_range *ranges; /* unsorted; may overlap those of other functions */
    size_t range_count;            /* at least one */
    uint64_t entry_pc;             /* valid if has_entry_pc */
    bool has_entry_pc;
};

/* A copy of a function inlined into `parent`. Parents are pushed before children. */
struct sink_inlined {
    uint32_t parent;  /* node of a function or of another inlined copy, of the same unit */
    uint32_t subject; /* from sink->subject; never 0 */
    const struct pc_range *ranges;
    size_t range_count; /* at least one */
    uint32_t call_file; /* where in `parent` the call stands; 0: unknown */
    uint32_t call_line;
    uint32_t call_column;
};

/* One row of a line table. */
struct sink_line {
    uint64_t address;
    uint32_t file; /* from sink->file */
    uint32_t line; /* 0: the compiler says there is no line */
    uint32_t column;
    uint32_t discriminator;
    bool is_stmt;
    bool end_sequence;
};

#define SINK_SYMBOL_NAMES_MAX 64

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
    /* All names of code that begins at `begin`, this one among them, the better ones first; none
     * where there is no other, or where the symbol itself begins elsewhere. */
    const struct span *names;
    size_t name_count; /* at most SINK_SYMBOL_NAMES_MAX */
};

/* A compilation unit begins; functions, inlined copies and lines that follow belong to it. */
struct sink_unit {
    uint64_t offset;   /* in .debug_info, for messages; 0 if there is no such thing */
    uint32_t language; /* DW_LANG_*; 0: unknown */
};

/*
 * The consumer. All pointers handed to it are valid for the call only; it copies what it keeps.
 * Any call may fail (a limit, memory), which ends the push with that error.
 *
 * Numbers that a sink gives out (files, subjects, nodes) mean something to that sink alone. Those
 * of files and subjects hold for as long as the sink is pushed into, also across units and shards;
 * those of nodes up to the next unit.
 */
struct symbol_sink {
    const struct symbol_sink_ops *ops;
};

struct symbol_sink_ops {
    enum err (*unit)(struct symbol_sink *sink, const struct sink_unit *unit, struct error *error);

    /* Interns a path: equal bytes get an equal number, never 0. */
    enum err (*file)(struct symbol_sink *sink, struct span path, uint32_t *ret_file,
                     struct error *error);

    /* A number for later functions and copies, never 0; equal subjects may get different ones. Made
     * when it is first needed: a subject without code of its own or inlined code is not described
     * at all. May come before the first unit. */
    enum err (*subject)(struct symbol_sink *sink, const struct sink_subject *subject,
                        uint32_t *ret_subject, struct error *error);

    /* ret_node: to be used as parent of inlined copies within this unit. */
    enum err (*function)(struct symbol_sink *sink, const struct sink_function *function,
                         uint32_t *ret_node, struct error *error);
    enum err (*inlined)(struct symbol_sink *sink, const struct sink_inlined *inlined,
                        uint32_t *ret_node, struct error *error);

    /* One sequence of the unit's line table, whole: addresses ascend (equal ones are allowed), the
     * last row and no other has end_sequence, and its address is exclusive. At least two rows. */
    enum err (*sequence)(struct symbol_sink *sink, const struct sink_line *rows, size_t count,
                         struct error *error);
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
    /* Everything, into one sink: all shards in their order, where there are any. */
    enum err (*push)(struct symbol_source *source, struct symbol_sink *sink, struct error *error);

    /*
     * Both NULL: the source can only be pushed whole. Otherwise the source's units in the order of
     * the file, cut into shards of whole units that do not need one another. Where the cuts are
     * depends on the file alone, never on the machine, so that what is made of the shards can be
     * the same everywhere. Shards should hold some megabytes of input: many enough to keep the
     * cores busy, few enough that what each describes anew (files, subjects) does not matter.
     *
     * shard_count is at least one; it may read the file to find the cuts, and answers the same ever
     * after. Damage that belongs to no unit is reported by the last shard. push_shard is to be
     * called at most once for a shard: the source may release the input pages that it has read. It
     * takes from its sink only numbers that it got in the same call.
     */
    size_t (*shard_count)(struct symbol_source *source);
    enum err (*push_shard)(struct symbol_source *source, size_t shard, struct symbol_sink *sink,
                           struct error *error);

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
