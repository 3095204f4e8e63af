/*
 * What the files of the libdw source share. libdw_source.c owns the object and its unit table;
 * libdw_tree.c steps over DIEs, libdw_functions.c finds functions and inlined copies among them,
 * libdw_ranges.c reads live ranges, libdw_names.c and libdw_scopes.c name a DIE, libdw_files.c and
 * libdw_lines.c read a line table's files and rows; libdw_survey.c finds the units that say less
 * than they cover; libdw_push.c and libdw_resolve.c are the two ways to use all that, and give the
 * same answers because both see the same functions, copies and rows.
 *
 * A DIE's address in memory (Dwarf_Die.addr, what dwarf_die_addr_die takes) identifies it: unlike
 * its offset it is unique over .debug_info, .debug_types and a supplementary file.
 */
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/buffer.h"
#include "debuginfo/libdw_source.h"
#include "debuginfo/range_list.h"
#include "debuginfo/string_pool.h"

/* Entries of range lists that one push or resolve reads. Many DIEs may name one long list; real
 * ones do not, and stay far below. */
#define RANGE_BUDGET ((uint64_t)1 << 30)

/* A live range of a function of its own, as the pull remembers it. */
struct libdw_function {
    struct pc_range range;
    void *die_address;
};

/* A DIE that can be somebody's scope or that can need one; see libdw_scopes.c. */
struct libdw_scope {
    void *die_address;
    uint32_t parent; /* position in the unit's list; SCOPE_NONE at the top */
};

#define SCOPE_NONE UINT32_MAX

struct libdw_file {
    struct span path;     /* joined on first use; data NULL before */
    uint32_t sink_number; /* in the present push; 0: not asked for yet */
};

struct libdw_row {
    uint64_t address;
    uint32_t sequence;
    uint32_t file; /* index in the unit's table; what is not there means the unit's own file */
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
    bool is_stmt;
    bool end_sequence;
};

struct libdw_unit {
    Dwarf_Die die;
    uint64_t offset; /* of the unit DIE; in .debug_types for the type units of DWARF 4 */
    uint32_t language;
    uint16_t version;
    bool has_code;  /* a compile, skeleton or partial unit: may hold functions */
    bool has_lines; /* pushes the rows of its line table: no unit before it has the same table */
    bool may_have_more; /* may hold code outside of `ranges` */

    /* Which of the lists below have been read. */
    bool files_read;
    bool functions_read;
    bool rows_read;
    bool scopes_read;

    struct range_list ranges; /* what the unit says it covers, as far as it is live; joined */

    Dwarf_Files *file_table;  /* NULL: the unit has none */
    size_t file_count;        /* of the table */
    struct libdw_file *files; /* by file index; one more, the last, is the unit's own file */

    struct libdw_function *functions;
    size_t function_count;

    struct libdw_row *rows; /* as libdw_visit_rows gives them */
    size_t row_count;

    struct libdw_scope *scopes; /* ascending die_address */
    size_t scope_count;
};

struct libdw_source {
    struct symbol_source source;
    struct elf_file *file;
    Dwarf *dwarf;
    struct empty_image *no_supplement; /* see libdw_supplement.c; owned, with the next two */
    Elf *supplement_elf;
    Dwarf *supplement;
    struct libdw_unit *units; /* in the order of the file */
    size_t unit_count;
    struct libdw_unit **units_by_address; /* ascending die.addr */
    struct string_pool *strings;
    uint64_t range_budget; /* entries of range lists that may still be read */
    bool units_damaged;    /* the list of units ends early */
    bool units_surveyed;   /* may_have_more is true only of units that do; see libdw_survey.c */
};

/* Makes libdw look for no supplementary file. Clear it after dwarf_end(source->dwarf). */
enum err libdw_supplement_none(struct libdw_source *source, struct error *error);
void libdw_supplement_clear(struct libdw_source *source);

/* The unit that a DIE belongs to; NULL when it is in a supplementary file. */
struct libdw_unit *libdw_unit_of(const struct libdw_source *source, Dwarf_Die *die);

/* Replaces the contents of `list` by the live ranges of a DIE: begin < end, begin in an executable
 * extent. *ret_damaged is set (never cleared) when a part could not be read. */
enum err libdw_live_ranges(struct libdw_source *source, Dwarf_Die *die, struct range_list *list,
                           bool *ret_damaged, struct error *error);

/* Attribute readers that answer false when it is absent or of a wrong form. */
bool libdw_read_unsigned(Dwarf_Die *die, unsigned attribute, uint64_t *ret_value);
bool libdw_read_string(Dwarf_Die *die, unsigned attribute, struct span *ret_text);
bool libdw_read_reference(Dwarf_Die *die, unsigned attribute, Dwarf_Die *ret_die);

/* The DIE that abstract_origin or else specification names. */
bool libdw_read_origin(Dwarf_Die *die, Dwarf_Die *ret_die);

/* DW_AT_low_pc, which is where a function or copy with one range is entered. One with several has
 * no such attribute. */
bool libdw_read_entry_pc(Dwarf_Die *die, uint64_t *ret_pc);

/* How far abstract_origin and specification are followed; real chains have at most three links. */
#define ORIGIN_DEPTH_MAX 16

#define TREE_DEPTH_MAX 4096

struct libdw_level {
    Dwarf_Die die;
    uint32_t context; /* the caller's */
};

/*
 * Preorder over a DIE and what lies below it, without recursion. The address of each DIE must be
 * above that of the one before, as preorder implies; a sibling attribute that leads back is damage,
 * so that a walk takes linear time whatever the bytes say.
 */
struct libdw_tree {
    Dwarf *dwarf;
    struct libdw_level *levels; /* from the root to the present DIE */
    size_t depth;               /* levels in use; 0 at the end */
    size_t capacity;
    bool started;
    bool skip;    /* set by the caller: do not enter the present DIE */
    bool damaged; /* the walk ended early */
};

/* Zero-initialised trees may be cleared. */
void libdw_tree_clear(struct libdw_tree *tree);
enum err libdw_tree_start(struct libdw_tree *tree, Dwarf *dwarf, const Dwarf_Die *root,
                          struct error *error);

/* Moves on; the first call stands on the root. At the end tree->depth is 0. The context of a new
 * level is that of its parent. */
enum err libdw_tree_next(struct libdw_tree *tree, struct error *error);

static inline struct libdw_level *libdw_tree_level(struct libdw_tree *tree) {
    return &tree->levels[tree->depth - 1];
}

#define NODE_NONE UINT32_MAX

/*
 * Told of every function with live code below a DIE and, unless `inlined` is NULL, of every inlined
 * copy with live code in it. Nodes are the visitor's own numbers. A visitor that answers NODE_NONE
 * for a function or copy hears nothing of the copies in it.
 */
struct libdw_visitor {
    enum err (*function)(struct libdw_visitor *visitor, Dwarf_Die *die,
                         const struct range_list *ranges, uint32_t *ret_node, struct error *error);
    enum err (*inlined)(struct libdw_visitor *visitor, Dwarf_Die *die, uint32_t parent,
                        const struct range_list *ranges, uint32_t *ret_node, struct error *error);
};

/* *ret_damaged is set (never cleared) when something was left out. */
enum err libdw_visit_functions(struct libdw_source *source, const Dwarf_Die *root,
                               struct libdw_visitor *visitor, bool *ret_damaged,
                               struct error *error);

/* Names over this are left out: no compiler makes them, and each may be asked for many times. */
#define NAME_SIZE_MAX ((size_t)256 << 10)

/* What a function or inlined copy is called and where it is declared. */
struct libdw_subject {
    struct span name; /* linkage name, else scoped; may lie in `scratch` */
    struct span short_name;
    bool name_is_linkage;
    struct libdw_unit *decl_unit; /* whose file table decl_file is an index of; NULL: unknown */
    uint64_t decl_file;
    uint32_t decl_line; /* 0: unknown */
};

/* Never fails: what cannot be read stays empty. Only memory ends it. */
enum err libdw_subject_read(struct libdw_source *source, Dwarf_Die *die, struct buffer *scratch,
                            struct libdw_subject *ret_subject, struct error *error);

/* Where the call stands that an inlined copy replaces. */
struct libdw_call {
    uint64_t file; /* index in the table of the copy's unit; valid if has_file */
    uint32_t line; /* 0: unknown; so the others */
    uint32_t column;
    uint32_t discriminator;
    bool has_file;
};

void libdw_call_read(Dwarf_Die *inlined, const struct libdw_unit *unit,
                     struct libdw_call *ret_call);

/* Appends "scope::" for each scope of the DIE that declares a function, outermost first. */
enum err libdw_scopes_append(struct libdw_source *source, Dwarf_Die *die, struct buffer *text,
                             struct error *error);

/* A file of the unit's line table, its path filled in; the unit's own file when the table has no
 * such index. The path is empty when nothing is known. */
enum err libdw_file_read(struct libdw_source *source, struct libdw_unit *unit, uint64_t index,
                         struct libdw_file **ret_file, struct error *error);

/* An attribute of form file index (DW_AT_decl_file, DW_AT_call_file) that names a file at all. */
bool libdw_read_file_index(Dwarf_Die *die, unsigned attribute, const struct libdw_unit *unit,
                           uint64_t *ret_index);

struct libdw_row_visitor {
    enum err (*row)(struct libdw_row_visitor *visitor, const struct libdw_row *row,
                    struct error *error);
};

/* The live rows of a unit's line table, ascending; the sequences do not overlap. */
enum err libdw_visit_rows(struct libdw_source *source, struct libdw_unit *unit,
                          struct libdw_row_visitor *visitor, bool *ret_damaged,
                          struct error *error);

/* Looks at all units for code outside of the ranges that they state, and sets may_have_more of
 * those that have some. Slow: once, and only for an address that nothing else answers at. */
enum err libdw_survey_units(struct libdw_source *source, struct error *error);

/* What answers at an address. */
struct libdw_place {
    const struct libdw_function *function; /* the smallest that covers it; NULL: none */
    struct libdw_unit *unit;               /* the function's */
    const struct libdw_row *row;           /* of the function's unit first; NULL: none */
    struct libdw_unit *row_unit;
};

enum err libdw_find_place(struct libdw_source *source, uint64_t pc, struct libdw_place *ret_place,
                          struct error *error);

enum err libdw_push(struct symbol_source *source, struct symbol_sink *sink, struct error *error);
enum err libdw_resolve(struct symbol_source *source, uint64_t pc, struct frame_list *frames,
                       struct error *error);
