#include "debuginfo/libdw_internal.h"

static uint32_t to_u32(int number) {
    return number > 0 ? (uint32_t)number : 0;
}

static bool read_row(Dwarf_Line *line, struct libdw_row *row) {
    Dwarf_Addr address;
    int number = 0;
    int column = 0;
    bool end_sequence = false;
    if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineno(line, &number) != 0 ||
        dwarf_lineendsequence(line, &end_sequence) != 0)
        return false;
    *row = (struct libdw_row){.address = address, .file = UINT32_MAX, .sequence = row->sequence};
    row->line = to_u32(number);
    row->end_sequence = end_sequence;
    if (dwarf_linecol(line, &column) == 0)
        row->column = to_u32(column);
    dwarf_linebeginstatement(line, &row->is_stmt);
    dwarf_linediscriminator(line, &row->discriminator);
    Dwarf_Files *files;
    size_t file;
    if (dwarf_line_file(line, &files, &file) == 0 && file < UINT32_MAX)
        row->file = (uint32_t)file;
    return true;
}

/*
 * libdw hands out a unit's rows sorted by address, end markers before other rows of the same
 * address, and says nothing of the sequence they came from. Where sequences do not overlap the
 * markers tell them apart. They do overlap when the linker dropped some of the unit's functions and
 * left their rows at address 0 and up: such a run begins outside code, and of it only those rows
 * count that lie where the unit says it has code.
 */
struct row_walk {
    struct libdw_source *source;
    struct libdw_unit *unit;
    struct libdw_row_visitor *visitor;
    uint32_t sequence; /* of the next run */
    uint64_t end;      /* of the run before */
    bool has_end;
    bool open; /* inside a run */
    bool dead; /* which began outside code */
    bool sent; /* and of which the visitor has rows */
};

/*
 * A last row of no length (a function that ends in a call that does not return) arrives behind its
 * own end marker and would open a run of its own that reaches over whatever follows.
 */
static bool is_stray(const struct row_walk *walk, uint64_t address) {
    return !walk->open && walk->has_end && address == walk->end && walk->unit->ranges.count > 0 &&
           !range_list_covers(&walk->unit->ranges, address);
}

static bool counts(struct row_walk *walk, uint64_t address) {
    return !walk->dead || range_list_covers(&walk->unit->ranges, address);
}

static enum err send_row(struct row_walk *walk, struct libdw_row *row, struct error *error) {
    row->sequence = walk->sequence;
    walk->sent = !row->end_sequence;
    return walk->visitor->row(walk->visitor, row, error);
}

static enum err take_row(struct row_walk *walk, struct libdw_row *row, struct error *error) {
    if (row->end_sequence) {
        enum err err = walk->sent ? send_row(walk, row, error) : ERR_OK;
        walk->open = false;
        walk->end = row->address;
        walk->has_end = true;
        walk->sequence++;
        return err;
    }
    if (is_stray(walk, row->address))
        return ERR_OK;
    if (!walk->open) {
        walk->open = true;
        walk->dead = !elf_file_is_executable(walk->source->file, row->address);
    }
    if (counts(walk, row->address))
        return send_row(walk, row, error);
    if (!walk->sent)
        return ERR_OK;
    /* Code of the dropped function follows: the live part ends here. */
    row->end_sequence = true;
    enum err err = send_row(walk, row, error);
    walk->sequence++;
    return err;
}

/* A table that ends without a marker would leave its last run open: the last row's address ends
 * it. */
static enum err end_rows(struct row_walk *walk, struct libdw_row *last, struct error *error) {
    if (!walk->sent)
        return ERR_OK;
    last->end_sequence = true;
    return send_row(walk, last, error);
}

enum err libdw_visit_rows(struct libdw_source *source, struct libdw_unit *unit,
                          struct libdw_row_visitor *visitor, bool *ret_damaged,
                          struct error *error) {
    Dwarf_Lines *lines;
    size_t count;
    if (!dwarf_hasattr(&unit->die, DW_AT_stmt_list))
        return ERR_OK;
    if (dwarf_getsrclines(&unit->die, &lines, &count) != 0) {
        *ret_damaged = true;
        return ERR_OK;
    }
    struct row_walk walk = {.source = source, .unit = unit, .visitor = visitor};
    struct libdw_row row = {0};
    for (size_t i = 0; i < count; i++) {
        if (!read_row(dwarf_onesrcline(lines, i), &row)) {
            *ret_damaged = true;
            continue;
        }
        enum err err = take_row(&walk, &row, error);
        if (err)
            return err;
    }
    return end_rows(&walk, &row, error);
}
