/* The line number program (DWARF 5, 6.2.5) and the state machine that it drives (6.2.2). */
#include <dwarf.h>

#include "debuginfo/dwarf_cursor.h"
#include "debuginfo/dwarf_line_internal.h"

struct line_machine {
    struct dwarf_line_table *table;
    const struct dwarf_extents *extents;
    struct dwarf_sequence_visitor *visitor;
    struct cursor cursor;
    uint64_t mask; /* the largest address */

    /* The registers; of the address only the bits of the mask count. */
    uint64_t address;
    uint32_t operation; /* in the instruction at the address */
    uint32_t file;
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
    bool is_stmt;

    uint32_t sequence; /* its number */
    bool dead;         /* its address stands for nothing */
    bool damaged;
};

static void reset_registers(struct line_machine *machine) {
    machine->address = 0;
    machine->operation = 0;
    machine->file = 1;
    machine->line = 1;
    machine->column = 0;
    machine->discriminator = 0;
    machine->is_stmt = machine->table->default_is_stmt;
    machine->dead = false;
}

static uint32_t at_most(uint64_t number, uint32_t limit) {
    return number < limit ? (uint32_t)number : limit;
}

/* Most numbers have one byte. */
static inline uint64_t read_uleb(struct cursor *cursor) {
    if (cursor->position < cursor->end && *cursor->position < 0x80)
        return *cursor->position++;
    return cursor_uleb128(cursor);
}

static inline int64_t read_sleb(struct cursor *cursor) {
    if (cursor->position < cursor->end && *cursor->position < 0x80) {
        int64_t byte = *cursor->position++;
        return byte < 0x40 ? byte : byte - 0x80;
    }
    return cursor_sleb128(cursor);
}

/* Instructions of a VLIW machine hold several operations, which share one address. */
static inline void advance(struct line_machine *machine, uint64_t operations) {
    const struct dwarf_line_table *table = machine->table;
    if (table->operations_max > 1) {
        operations += machine->operation;
        machine->operation = (uint32_t)(operations % table->operations_max);
        operations /= table->operations_max;
    }
    machine->address += operations * table->min_instruction_length;
}

static inline enum err emit_row(struct line_machine *machine, struct error *error) {
    struct line_rows *rows = &machine->table->rows;
    uint64_t address = machine->address & machine->mask;
    if (rows->count > 0) {
        uint64_t last = rows->items[rows->count - 1].address;
        rows->unordered |= address < last;
        rows->count -= address == last; /* the later row holds */
    }
    if (rows->count == rows->capacity) {
        enum err err = line_rows_grow(rows, error);
        if (err)
            return err;
    }
    rows->items[rows->count++] = (struct dwarf_row){
        .address = address,
        .line = machine->line,
        .column = machine->column,
        .discriminator = machine->discriminator,
        .file = machine->file & DWARF_ROW_FILE_MAX,
        .is_stmt = machine->is_stmt,
    };
    machine->discriminator = 0;
    return ERR_OK;
}

static bool is_live(const struct line_machine *machine, uint64_t address) {
    return dwarf_is_live(machine->extents, address, machine->table->address_size);
}

/* Hands out the sequence, if it is live both where it begins and at its lowest address. */
static enum err end_sequence(struct line_machine *machine, struct error *error) {
    struct line_rows *rows = &machine->table->rows;
    struct dwarf_sequence sequence = {.number = machine->sequence++};
    bool dead = machine->dead || rows->count == 0 || !is_live(machine, rows->items[0].address);
    uint64_t end = machine->address & machine->mask;
    reset_registers(machine);
    if (dead) {
        rows->count = 0;
        rows->unordered = false;
        return ERR_OK;
    }
    enum err err = line_rows_finish(rows, end, &sequence, error);
    if (err || sequence.count == 0 || !is_live(machine, sequence.rows[0].address))
        return err;
    return machine->visitor->sequence(machine->visitor, &sequence, error);
}

/* A linker that drops code writes the largest addresses where it stood, from where an advance
 * would lead to the lowest: that is seen here. One of a size that is no number makes the rest of
 * the sequence unknown. */
static void set_address(struct line_machine *machine, size_t size) {
    machine->operation = 0;
    if (size == 0 || size > 8) {
        machine->dead = true;
        machine->damaged = true;
        return;
    }
    machine->address = cursor_unsigned(&machine->cursor, (uint8_t)size);
    if (dwarf_is_tombstone(machine->address & machine->mask, machine->table->address_size))
        machine->dead = true;
}

static enum err define_file(struct line_machine *machine, struct error *error) {
    struct line_entry file;
    if (!line_file_read(machine->table, &machine->cursor, &file))
        return ERR_OK;
    return line_entry_list_add(&machine->table->files, file, error);
}

/* What is not known is skipped by its length, as is what a known one does not use of it. */
static enum err run_extended(struct line_machine *machine, struct error *error) {
    struct cursor *cursor = &machine->cursor;
    uint64_t size = read_uleb(cursor);
    if (size > cursor_left(cursor))
        cursor->failed = true;
    if (size == 0 || cursor_failed(cursor))
        return ERR_OK;
    const uint8_t *table_end = cursor->end;
    cursor->end = cursor->position + size;
    enum err err = ERR_OK;
    switch (cursor_u8(cursor)) {
    case DW_LNE_end_sequence:
        err = end_sequence(machine, error);
        break;
    case DW_LNE_set_address:
        set_address(machine, size - 1);
        break;
    case DW_LNE_define_file:
        err = define_file(machine, error);
        break;
    case DW_LNE_set_discriminator:
        machine->discriminator = at_most(read_uleb(cursor), UINT32_MAX);
        break;
    default:
        break;
    }
    /* One whose operand is cut short costs no more than itself. */
    machine->damaged |= cursor_failed(cursor);
    cursor->failed = false;
    cursor->position = cursor->end;
    cursor->end = table_end;
    return err;
}

static void skip_operands(struct line_machine *machine, uint8_t count) {
    for (uint8_t i = 0; i < count; i++)
        read_uleb(&machine->cursor);
}

static enum err run_standard(struct line_machine *machine, uint8_t opcode, struct error *error) {
    struct cursor *cursor = &machine->cursor;
    switch (opcode) {
    case DW_LNS_copy:
        return emit_row(machine, error);
    case DW_LNS_advance_pc:
        advance(machine, read_uleb(cursor));
        break;
    case DW_LNS_advance_line:
        machine->line += (uint32_t)read_sleb(cursor);
        break;
    case DW_LNS_set_file:
        machine->file = at_most(read_uleb(cursor), DWARF_ROW_FILE_MAX);
        break;
    case DW_LNS_set_column:
        machine->column = at_most(read_uleb(cursor), UINT32_MAX);
        break;
    case DW_LNS_negate_stmt:
        machine->is_stmt = !machine->is_stmt;
        break;
    case DW_LNS_const_add_pc:
        advance(machine, machine->table->steps[255].operations);
        break;
    case DW_LNS_fixed_advance_pc:
        machine->address += cursor_u16(cursor);
        machine->operation = 0;
        break;
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    case DW_LNS_set_isa:
        read_uleb(cursor);
        break;
    default:
        skip_operands(machine, machine->table->operand_counts[opcode]);
        break;
    }
    return ERR_OK;
}

static enum err run_opcode(struct line_machine *machine, struct error *error) {
    const struct dwarf_line_table *table = machine->table;
    uint8_t opcode = *machine->cursor.position++;
    if (opcode == 0)
        return run_extended(machine, error);
    if (opcode < table->opcodes.opcode_base)
        return run_standard(machine, opcode, error);
    advance(machine, table->steps[opcode].operations);
    machine->line += (uint32_t)(int32_t)table->steps[opcode].lines;
    return emit_row(machine, error);
}

/* With their operand, if that has one byte; 0: to be run one by one. */
static const uint8_t short_sizes[] = {
    [DW_LNS_copy] = 1,         [DW_LNS_advance_pc] = 2,       [DW_LNS_advance_line] = 2,
    [DW_LNS_set_file] = 2,     [DW_LNS_set_column] = 2,       [DW_LNS_negate_stmt] = 1,
    [DW_LNS_const_add_pc] = 1, [DW_LNS_set_prologue_end] = 1, [DW_LNS_set_epilogue_begin] = 1,
};

/*
 * Runs the opcodes that programs consist of, up to the first other one: with operands of one byte,
 * for machines with one operation in an instruction. Position, address and line then need not go
 * through memory, which is what takes the time in a plain loop over run_opcode.
 */
static enum err run_short_opcodes(struct line_machine *machine, struct error *error) {
    const struct dwarf_line_table *table = machine->table;
    const uint8_t opcode_base = table->opcodes.opcode_base;
    const uint64_t length = table->min_instruction_length;
    const uint8_t *position = machine->cursor.position;
    const uint8_t *last = machine->cursor.end - 1; /* an operand may follow what is before it */
    uint64_t address = machine->address;
    uint32_t line = machine->line;
    enum err err = ERR_OK;
    while (!err && position < last) {
        uint8_t opcode = position[0];
        uint8_t operand = position[1];
        if (opcode >= opcode_base) {
            position++;
            machine->address = address += table->steps[opcode].operations * length;
            machine->line = line += (uint32_t)(int32_t)table->steps[opcode].lines;
            err = emit_row(machine, error);
            continue;
        }
        uint8_t size = opcode < ARRAY_SIZE(short_sizes) ? short_sizes[opcode] : 0;
        if (size == 0 || (size == 2 && operand >= 0x80))
            break;
        position += size;
        switch (opcode) {
        case DW_LNS_copy:
            machine->address = address;
            machine->line = line;
            err = emit_row(machine, error);
            break;
        case DW_LNS_advance_pc:
            address += operand * length;
            break;
        case DW_LNS_advance_line:
            line += operand < 0x40 ? operand : operand - (uint32_t)0x80;
            break;
        case DW_LNS_set_file:
            machine->file = operand;
            break;
        case DW_LNS_set_column:
            machine->column = operand;
            break;
        case DW_LNS_negate_stmt:
            machine->is_stmt = !machine->is_stmt;
            break;
        case DW_LNS_const_add_pc:
            address += table->steps[255].operations * length;
            break;
        default: /* ends or begins of prologues and epilogues */
            break;
        }
    }
    machine->cursor.position = position;
    machine->address = address;
    machine->line = line;
    return err;
}

static enum err run_program(struct line_machine *machine, struct error *error) {
    const struct cursor *cursor = &machine->cursor;
    bool has_short_opcodes = machine->table->operations_max == 1;
    enum err err = ERR_OK;
    while (!err && !cursor->failed && cursor->position < cursor->end) {
        if (has_short_opcodes)
            err = run_short_opcodes(machine, error);
        if (!err && cursor->position < cursor->end)
            err = run_opcode(machine, error);
    }
    return err;
}

/* False when more of the section has been run than all its tables can make up. */
static bool take_run(struct dwarf_line_table *table) {
    struct span section = table->sections->line;
    if (table->run_in != section.data)
        table->run_size = 0;
    table->run_in = section.data;
    table->run_size += cursor_left(&table->program);
    return table->run_size <= LINE_RUN_FACTOR * (uint64_t)section.size + LINE_RUN_SLACK;
}

enum err dwarf_line_visit(struct dwarf_line_table *table, const struct dwarf_extents *extents,
                          struct dwarf_sequence_visitor *visitor, bool *ret_damaged,
                          struct error *error) {
    if (!table->sections)
        return ERR_OK;
    if (!take_run(table)) {
        *ret_damaged = true;
        return ERR_OK;
    }
    struct line_machine machine = {
        .table = table,
        .extents = extents,
        .visitor = visitor,
        .cursor = table->program,
        .mask = dwarf_address_mask(table->address_size),
    };
    table->files.count = table->header_file_count;
    table->rows.count = 0;
    table->rows.unordered = false;
    reset_registers(&machine);
    enum err err = run_program(&machine, error);
    bool open = table->rows.count > 0;
    if (table->opcodes.line_range == 0 && cursor_left(&table->program) > 0)
        machine.damaged = true;
    if (!err && open) {
        machine.address = table->rows.items[table->rows.count - 1].address;
        err = end_sequence(&machine, error);
    }
    if (machine.damaged || open || cursor_failed(&machine.cursor))
        *ret_damaged = true;
    return err;
}
