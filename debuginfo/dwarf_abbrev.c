#include "debuginfo/dwarf_abbrev.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>

struct dwarf_abbrev_entry {
    uint64_t code;
    struct dwarf_abbrev abbrev;
};

/* --- what is wanted -------------------------------------------------------------------------- */

/* LLVM's extension; <dwarf.h> of elfutils 0.188 does not know it. */
#define DW_AT_GNU_discriminator_ 0x2136

static enum dwarf_slot unit_slot(uint64_t attribute) {
    switch (attribute) {
    case DW_AT_language:
        return DWARF_SLOT_LANGUAGE;
    case DW_AT_stmt_list:
        return DWARF_SLOT_STMT_LIST;
    case DW_AT_comp_dir:
        return DWARF_SLOT_COMP_DIR;
    case DW_AT_str_offsets_base:
        return DWARF_SLOT_STR_OFFSETS_BASE;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        return DWARF_SLOT_ADDR_BASE;
    case DW_AT_rnglists_base:
        return DWARF_SLOT_RNGLISTS_BASE;
    case DW_AT_GNU_ranges_base:
        return DWARF_SLOT_GNU_RANGES_BASE;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        return DWARF_SLOT_DWO_NAME;
    case DW_AT_GNU_dwo_id:
        return DWARF_SLOT_DWO_ID;
    default:
        return DWARF_SLOT_COUNT;
    }
}

static enum dwarf_slot code_slot(uint64_t attribute) {
    switch (attribute) {
    case DW_AT_low_pc:
        return DWARF_SLOT_LOW_PC;
    case DW_AT_high_pc:
        return DWARF_SLOT_HIGH_PC;
    case DW_AT_ranges:
        return DWARF_SLOT_RANGES;
    case DW_AT_decl_file:
        return DWARF_SLOT_DECL_FILE;
    case DW_AT_decl_line:
        return DWARF_SLOT_DECL_LINE;
    case DW_AT_call_file:
        return DWARF_SLOT_CALL_FILE;
    case DW_AT_call_line:
        return DWARF_SLOT_CALL_LINE;
    case DW_AT_call_column:
        return DWARF_SLOT_CALL_COLUMN;
    case DW_AT_GNU_discriminator_:
        return DWARF_SLOT_DISCRIMINATOR;
    default:
        return DWARF_SLOT_COUNT;
    }
}

static enum dwarf_slot name_slot(uint64_t attribute) {
    switch (attribute) {
    case DW_AT_name:
        return DWARF_SLOT_NAME;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return DWARF_SLOT_LINKAGE_NAME;
    case DW_AT_abstract_origin:
        return DWARF_SLOT_ABSTRACT_ORIGIN;
    case DW_AT_specification:
        return DWARF_SLOT_SPECIFICATION;
    case DW_AT_signature:
        return DWARF_SLOT_SIGNATURE;
    default:
        return DWARF_SLOT_COUNT;
    }
}

/* Roles of a DIE, by its tag. */
enum {
    ROLE_UNIT = 1u << 0,
    ROLE_CODE = 1u << 1,
    ROLE_NAMED = 1u << 2,
};

static unsigned roles_of(uint64_t tag) {
    switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_type_unit:
    case DW_TAG_skeleton_unit:
        return ROLE_UNIT | ROLE_CODE | ROLE_NAMED;
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
        return ROLE_CODE | ROLE_NAMED;
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_module:
        return ROLE_NAMED;
    default:
        return 0;
    }
}

enum dwarf_slot dwarf_slot_of(uint64_t tag, uint64_t attribute) {
    if (attribute == DW_AT_sibling)
        return DWARF_SLOT_SIBLING;
    unsigned roles = roles_of(tag);
    enum dwarf_slot slot = DWARF_SLOT_COUNT;
    if (roles & ROLE_NAMED)
        slot = name_slot(attribute);
    if (slot == DWARF_SLOT_COUNT && (roles & ROLE_CODE))
        slot = code_slot(attribute);
    if (slot == DWARF_SLOT_COUNT && (roles & ROLE_UNIT))
        slot = unit_slot(attribute);
    return slot;
}

static unsigned tag_flags(uint64_t tag) {
    switch (tag) {
    case DW_TAG_subprogram:
        return DWARF_ABBREV_SUBPROGRAM | DWARF_ABBREV_SCOPE;
    case DW_TAG_inlined_subroutine:
        return DWARF_ABBREV_INLINED;
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_module:
        return DWARF_ABBREV_SCOPE;
    default:
        return 0;
    }
}

static bool holds_no_code(uint64_t tag) {
    switch (tag) {
    case DW_TAG_array_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return true;
    default:
        return false;
    }
}

/* --- declarations as they are written --------------------------------------------------------- */

bool dwarf_declaration_next(struct dwarf_declaration *declaration,
                            struct dwarf_specification *ret_specification, bool *ret_damaged) {
    struct dwarf_specification specification = {0};
    const uint8_t *end = declaration->end;
    if (!dwarf_take_uleb(&declaration->position, end, &specification.attribute) ||
        !dwarf_take_uleb(&declaration->position, end, &specification.form) ||
        (specification.form == DW_FORM_implicit_const &&
         !dwarf_take_sleb(&declaration->position, end, &specification.implicit_const))) {
        *ret_damaged = true;
        return false;
    }
    if (specification.attribute == 0 && specification.form == 0)
        return false;
    *ret_specification = specification;
    return true;
}

/* The declaration at *position; its specifications follow. False at the end of the table and at
 * damage, which *ret_damaged tells apart. */
static bool begin_declaration(const uint8_t *position, const uint8_t *end,
                              struct dwarf_declaration *ret_declaration, bool *ret_damaged) {
    struct dwarf_declaration declaration = {.position = position, .end = end};
    bool read = dwarf_take_uleb(&declaration.position, end, &declaration.code);
    if (read && declaration.code == 0)
        return false;
    if (!read || !dwarf_take_uleb(&declaration.position, end, &declaration.tag) ||
        declaration.position == end) {
        *ret_damaged = true;
        return false;
    }
    declaration.has_children = *declaration.position++ != DW_CHILDREN_no;
    *ret_declaration = declaration;
    return true;
}

/*
 * Past the specifications of one declaration; NULL at damage. Nearly all of them are two bytes, and
 * many long tables are looked through for the one declaration of their unit DIE, so this counts.
 */
static const uint8_t *skip_specifications(const uint8_t *position, const uint8_t *end) {
    while (end - position >= 2) {
        unsigned attribute = position[0];
        unsigned form = position[1];
        position += 2;
        if ((attribute | form) == 0)
            return position;
        if ((attribute | form) < 0x80 && form != DW_FORM_implicit_const)
            continue;
        if (attribute >= 0x80) {
            uint64_t read;
            position = dwarf_skip_leb(position - 1, end);
            if (!position || !dwarf_take_uleb(&position, end, &read))
                return NULL;
            form = read == DW_FORM_implicit_const ? DW_FORM_implicit_const : 0;
        } else if (form >= 0x80) {
            position = dwarf_skip_leb(position, end);
        }
        if (position && form == DW_FORM_implicit_const)
            position = dwarf_skip_leb(position, end);
        if (!position)
            return NULL;
    }
    return NULL;
}

bool dwarf_declaration_find(struct span section, uint64_t offset, uint64_t code,
                            uint64_t *io_budget, struct dwarf_declaration *ret_declaration) {
    if (offset >= section.size || code == 0)
        return false;
    const uint8_t *start = (const uint8_t *)section.data + offset;
    const uint8_t *end = (const uint8_t *)section.data + section.size;
    const uint8_t *position = start;
    const uint8_t *next = start;
    bool found = false;
    while (next && !found && (uint64_t)(next - start) < *io_budget) {
        uint64_t present;
        uint64_t tag;
        position = next;
        if (!dwarf_take_uleb(&next, end, &present) || present == 0)
            break;
        found = present == code;
        if (!found && (!dwarf_take_uleb(&next, end, &tag) || next == end))
            break;
        if (!found)
            next = skip_specifications(next + 1, end);
    }
    uint64_t read = (uint64_t)((next ? next : end) - start);
    *io_budget -= read < *io_budget ? read : *io_budget;
    bool damaged = false;
    return found && begin_declaration(position, end, ret_declaration, &damaged);
}

/* --- reading a table ---------------------------------------------------------------------------
 */

#define ABBREV_CODE_GAP_MAX 256

struct table_reader {
    const struct dwarf_encoding *encoding;
    struct dwarf_abbrevs *abbrevs;
    size_t step_capacity;
    size_t entry_capacity;
    uint64_t code_max;
    bool out_of_memory;
};

static void add_step(struct table_reader *reader, struct dwarf_step step) {
    struct dwarf_abbrevs *abbrevs = reader->abbrevs;
    if (abbrevs->step_count == reader->step_capacity) {
        size_t capacity = reader->step_capacity ? 2 * reader->step_capacity : 256;
        struct dwarf_step *grown = NULL;
        if (capacity <= UINT32_MAX)
            grown = realloc(abbrevs->steps, capacity * sizeof(*grown));
        if (!grown) {
            reader->out_of_memory = true;
            return;
        }
        abbrevs->steps = grown;
        reader->step_capacity = capacity;
    }
    abbrevs->steps[abbrevs->step_count++] = step;
}

/* One program while it is written. */
struct program {
    bool takes;       /* wanted values go into slots */
    uint32_t pending; /* bytes to be stepped over next */
    uint32_t taken;   /* slots that have been filled; of attributes given twice the first counts */
};

static void flush(struct table_reader *reader, struct program *program) {
    if (program->pending > 0)
        add_step(reader, (struct dwarf_step){.kind = DWARF_STEP_FIXED, .size = program->pending});
    program->pending = 0;
}

static bool takes(struct program *program, enum dwarf_slot slot) {
    _Static_assert(DWARF_SLOT_COUNT < 32, "one bit for each slot");
    if (!program->takes || slot == DWARF_SLOT_COUNT || (program->taken & (1u << slot)))
        return false;
    program->taken |= 1u << slot;
    return true;
}

static enum dwarf_step_kind skip_kind(enum dwarf_form_shape shape) {
    if (shape == DWARF_SHAPE_LEB)
        return DWARF_STEP_LEB;
    return shape == DWARF_SHAPE_BLOCK_LEB ? DWARF_STEP_BLOCK : DWARF_STEP_FORM;
}

/* False: the form is unknown. */
static bool add_value(struct table_reader *reader, struct program *program, enum dwarf_slot slot,
                      const struct dwarf_specification *specification) {
    struct dwarf_form_layout layout = dwarf_form_layout(specification->form, reader->encoding);
    if (layout.shape == DWARF_SHAPE_UNKNOWN)
        return false;
    struct dwarf_step step = {.form = (uint16_t)specification->form};
    if (takes(program, slot)) {
        flush(reader, program);
        bool is_number = layout.shape == DWARF_SHAPE_FIXED && layout.size > 0 && layout.size <= 8;
        step.kind = is_number ? DWARF_STEP_TAKE_FIXED : DWARF_STEP_TAKE;
        step.size = layout.size;
        step.slot = (uint8_t)slot;
        step.implicit_const = specification->implicit_const;
    } else if (layout.shape == DWARF_SHAPE_FIXED && program->pending <= UINT32_MAX - 16) {
        program->pending += layout.size;
        return true;
    } else {
        flush(reader, program);
        step.kind = (uint8_t)skip_kind(layout.shape);
    }
    add_step(reader, step);
    return true;
}

/* Writes one of the two programs of a declaration; false: a form is unknown. */
static bool add_program(struct table_reader *reader, struct dwarf_declaration *declaration,
                        struct program *program, bool *ret_damaged) {
    struct dwarf_specification specification;
    bool known = true;
    while (dwarf_declaration_next(declaration, &specification, ret_damaged)) {
        enum dwarf_slot slot = dwarf_slot_of(declaration->tag, specification.attribute);
        if (known && !add_value(reader, program, slot, &specification))
            known = false;
    }
    return known;
}

static unsigned flags_of(const struct dwarf_declaration *declaration, uint32_t taken) {
    const uint32_t code_slots = 1u << DWARF_SLOT_LOW_PC | 1u << DWARF_SLOT_RANGES;
    unsigned flags = DWARF_ABBREV_DEFINED | tag_flags(declaration->tag);
    if (declaration->has_children)
        flags |= DWARF_ABBREV_CHILDREN;
    if ((taken & code_slots) && (flags & (DWARF_ABBREV_SUBPROGRAM | DWARF_ABBREV_INLINED)))
        flags |= DWARF_ABBREV_CODE;
    if (holds_no_code(declaration->tag) && (taken & (1u << DWARF_SLOT_SIBLING)))
        flags |= DWARF_ABBREV_NO_CODE;
    return flags;
}

static struct dwarf_abbrev make_abbrev(struct table_reader *reader,
                                       struct dwarf_declaration *declaration, bool *ret_damaged) {
    const struct dwarf_abbrevs *abbrevs = reader->abbrevs;
    struct dwarf_abbrev abbrev = {.take_first = (uint32_t)abbrevs->step_count};
    struct dwarf_declaration again = *declaration;
    struct program take = {.takes = true};
    bool known = add_program(reader, declaration, &take, ret_damaged);
    flush(reader, &take);
    abbrev.take_count = (uint32_t)abbrevs->step_count - abbrev.take_first;
    abbrev.skip_first = (uint32_t)abbrevs->step_count;
    struct program skip = {.takes = false};
    add_program(reader, &again, &skip, ret_damaged);
    if (abbrevs->step_count == abbrev.skip_first)
        abbrev.fixed_size = skip.pending;
    else
        flush(reader, &skip);
    abbrev.skip_count = (uint32_t)abbrevs->step_count - abbrev.skip_first;
    abbrev.tag = declaration->tag <= UINT16_MAX ? (uint16_t)declaration->tag : 0;
    abbrev.flags =
        (uint16_t)(flags_of(declaration, take.taken) | (known ? 0 : DWARF_ABBREV_BROKEN));
    return abbrev;
}

static void add_entry(struct table_reader *reader, uint64_t code, struct dwarf_abbrev abbrev) {
    struct dwarf_abbrevs *abbrevs = reader->abbrevs;
    if (abbrevs->entry_count == reader->entry_capacity) {
        size_t capacity = reader->entry_capacity ? 2 * reader->entry_capacity : 64;
        struct dwarf_abbrev_entry *grown = realloc(abbrevs->entries, capacity * sizeof(*grown));
        if (!grown) {
            reader->out_of_memory = true;
            return;
        }
        abbrevs->entries = grown;
        reader->entry_capacity = capacity;
    }
    abbrevs->entries[abbrevs->entry_count++] =
        (struct dwarf_abbrev_entry){.code = code, .abbrev = abbrev};
    if (code > reader->code_max)
        reader->code_max = code;
}

/* Reads up to the end of the table, to damage, or to the budget's end. */
static void read_declarations(struct table_reader *reader, const uint8_t *position,
                              const uint8_t *end, uint64_t *io_budget) {
    struct dwarf_declaration declaration;
    bool damaged = false;
    while (!reader->out_of_memory && begin_declaration(position, end, &declaration, &damaged)) {
        struct dwarf_abbrev abbrev = make_abbrev(reader, &declaration, &damaged);
        uint64_t read = (uint64_t)(declaration.position - position);
        if (read > *io_budget)
            damaged = true;
        *io_budget -= read < *io_budget ? read : *io_budget;
        if (damaged)
            break;
        position = declaration.position;
        add_entry(reader, declaration.code, abbrev);
    }
    reader->abbrevs->damaged = damaged;
}

static int compare_entries(const void *a, const void *b) {
    const struct dwarf_abbrev_entry *left = a;
    const struct dwarf_abbrev_entry *right = b;
    return left->code < right->code ? -1 : left->code > right->code;
}

/* Of a code declared twice the first counts, as for other readers. */
static bool index_by_code(struct table_reader *reader) {
    struct dwarf_abbrevs *abbrevs = reader->abbrevs;
    if (reader->code_max > 4 * (uint64_t)abbrevs->entry_count + ABBREV_CODE_GAP_MAX) {
        qsort(abbrevs->entries, abbrevs->entry_count, sizeof(*abbrevs->entries), compare_entries);
        return true;
    }
    abbrevs->dense = calloc(reader->code_max + 1, sizeof(*abbrevs->dense));
    if (!abbrevs->dense)
        return false;
    abbrevs->dense_count = reader->code_max + 1;
    for (size_t i = 0; i < abbrevs->entry_count; i++) {
        struct dwarf_abbrev *abbrev = &abbrevs->dense[abbrevs->entries[i].code];
        if (!(abbrev->flags & DWARF_ABBREV_DEFINED))
            *abbrev = abbrevs->entries[i].abbrev;
    }
    free(TAKE(abbrevs->entries));
    abbrevs->entry_count = 0;
    return true;
}

enum err dwarf_abbrevs_read(struct span section, uint64_t offset,
                            const struct dwarf_encoding *encoding, uint64_t *io_budget,
                            struct dwarf_abbrevs **ret_abbrevs, struct error *error) {
    if (offset >= section.size)
        return error_set(error, ERR_MALFORMED, "abbreviations at 0x%" PRIx64 " of 0x%zx", offset,
                         section.size);
    if (*io_budget == 0)
        return error_set(error, ERR_LIMIT, "the units' abbreviations overlap too much");
    CLEANUP(cleanup_dwarf_abbrevs) struct dwarf_abbrevs *abbrevs = calloc(1, sizeof(*abbrevs));
    if (!abbrevs)
        return error_set(error, ERR_NO_MEMORY, "no memory for abbreviations");
    struct table_reader reader = {.encoding = encoding, .abbrevs = abbrevs};
    const uint8_t *start = (const uint8_t *)section.data;
    read_declarations(&reader, start + offset, start + section.size, io_budget);
    if (reader.out_of_memory || !index_by_code(&reader))
        return error_set(error, ERR_NO_MEMORY, "no memory for abbreviations");
    *ret_abbrevs = TAKE(abbrevs);
    return ERR_OK;
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs) {
    if (!abbrevs)
        return;
    free(abbrevs->dense);
    free(abbrevs->entries);
    free(abbrevs->steps);
    free(abbrevs);
}

const struct dwarf_abbrev *dwarf_abbrevs_find_sparse(const struct dwarf_abbrevs *abbrevs,
                                                     uint64_t code) {
    size_t low = 0;
    size_t high = abbrevs->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (abbrevs->entries[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < abbrevs->entry_count && abbrevs->entries[low].code == code;
    return found ? &abbrevs->entries[low].abbrev : NULL;
}
