/*
 * The line table of a unit (DWARF 5, 6.2; DWARF 2 to 4 likewise): its files, and its rows a
 * sequence at a time.
 *
 * A table object is used for one unit after another and keeps its memory. It belongs to one thread;
 * the sections it reads may be shared. They are those of the file that has the skeleton: a .dwo has
 * no rows.
 */
#pragma once

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "debuginfo/dwarf_extents.h"
#include "debuginfo/dwarf_sections.h"

struct dwarf_line_table;

/* NULL: no memory. */
struct dwarf_line_table *dwarf_line_table_new(void);
void dwarf_line_table_free(struct dwarf_line_table *table);
DEFINE_CLEANUP(dwarf_line_table, struct dwarf_line_table, dwarf_line_table_free)

/*
 * Reads the header at `offset` in .debug_line (DW_AT_stmt_list), unless the table stands there
 * already, so that units that share a table in a row cost nothing. The sections and bases must stay
 * until the next open; of the bases the encoding and str_offsets_base are used. After an error the
 * table has no files and no rows, which is how a unit without DW_AT_stmt_list is to be treated too
 * (dwarf_line_table_close). ERR_MALFORMED, ERR_UNSUPPORTED: damage to report; ERR_NO_MEMORY.
 */
enum err dwarf_line_table_open(struct dwarf_line_table *table,
                               const struct dwarf_sections *sections,
                               const struct dwarf_unit_bases *bases, uint64_t offset,
                               struct error *error);
void dwarf_line_table_close(struct dwarf_line_table *table);

/* True if the list of files breaks its format: rows are there, some or all files are not. */
bool dwarf_line_table_files_damaged(const struct dwarf_line_table *table);

/* The number of file indexes: those below it may name a file, and may be used to cache what was
 * made of one; others mean the unit's own file. A visit adds what DW_LNE_define_file defines. */
uint32_t dwarf_line_table_file_count(const struct dwarf_line_table *table);

/*
 * True if the index names a file of the table. 0 does so only in version 5 of the table, whose
 * version need not be the unit's: DW_AT_decl_file and DW_AT_call_file of 0 mean "unknown" before
 * (DWARF 4, 2.14).
 */
bool dwarf_line_table_has_file(const struct dwarf_line_table *table, uint64_t index);

/* What paths are relative to: DW_AT_comp_dir; and the file that is meant by an index that the table
 * does not have: DW_AT_name. Either may be empty. */
struct dwarf_line_origin {
    struct span comp_dir;
    struct span name;
    bool is_left_out; /* the compilation directory: paths below it stay as they are there */
};

/*
 * Replaces the contents of `path` by the path of a file: its name joined with its directory, and
 * that with the compilation directory, as far as they are relative. Nothing is normalised. Paths of
 * Windows are known for absolute by drive letter or double backslash. Empty: unknown.
 * The caller asks buffer_failed(path).
 */
void dwarf_line_path(const struct dwarf_line_table *table, uint64_t index,
                     const struct dwarf_line_origin *origin, struct buffer *path);

/* Paths over this are left out: no compiler makes them, and each may be asked for many times. */
#define DWARF_PATH_SIZE_MAX ((size_t)256 << 10)

/* 24 bytes, since millions of them are written. */
struct dwarf_row {
    uint64_t address;
    uint32_t line; /* 0: the compiler says that there is no line */
    uint32_t column;
    uint32_t discriminator;
    uint32_t file : 31; /* index for dwarf_line_path; one too large for the field is its maximum */
    uint32_t is_stmt : 1;
};

#define DWARF_ROW_FILE_MAX ((uint32_t)INT32_MAX)

/*
 * A live sequence: at least one row, strictly ascending addresses, the last one below `end`, the
 * first one live. A row holds up to the next one's address, the last one up to `end`.
 *
 * Of several rows with one address the last is left. Where a program goes backwards inside a
 * sequence, which DWARF forbids, its rows are sorted, keeping the order of those with equal
 * addresses; what then lies at or beyond the end is dropped.
 */
struct dwarf_sequence {
    const struct dwarf_row *rows; /* valid for the call only */
    size_t count;
    uint64_t end;
    uint32_t number; /* distinct in the table, ascending */
};

struct dwarf_sequence_visitor {
    enum err (*sequence)(struct dwarf_sequence_visitor *visitor,
                         const struct dwarf_sequence *sequence, struct error *error);
};

/*
 * Runs the program. Sequences come in the order of the table; they may overlap, where a linker
 * folded functions or the extents do not tell dead ones. One that ends without DW_LNE_end_sequence
 * ends at its last row, which so has no length. *ret_damaged is set (never cleared) when something
 * could not be read, or when one table object has run so much of a section that its tables must
 * overlap. Fails for lack of memory, and as the visitor does.
 */
enum err dwarf_line_visit(struct dwarf_line_table *table, const struct dwarf_extents *extents,
                          struct dwarf_sequence_visitor *visitor, bool *ret_damaged,
                          struct error *error);

/* The row that holds at pc; NULL if the sequence does not cover it. O(log n). For a single pc it is
 * asked of each sequence of a visit, of which nothing else need be kept. */
const struct dwarf_row *dwarf_sequence_find(const struct dwarf_sequence *sequence, uint64_t pc);
