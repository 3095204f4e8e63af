/*
 * Abbreviation tables (DWARF 5, 7.5.3), made into what the loops over DIEs need: for each code two
 * small programs, one that steps over a DIE's values and one that also takes those that
 * symbolization wants. Runs of values of fixed size are one step of either.
 *
 * A table is immutable once read; the bytes it was read from are hostile.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "debuginfo/dwarf_form.h"

/* The attributes that symbolization wants; everything else is stepped over. */
enum dwarf_slot {
    DWARF_SLOT_SIBLING,
    DWARF_SLOT_NAME,
    DWARF_SLOT_LINKAGE_NAME, /* DW_AT_linkage_name or DW_AT_MIPS_linkage_name */
    DWARF_SLOT_LOW_PC,
    DWARF_SLOT_HIGH_PC,
    DWARF_SLOT_RANGES,
    DWARF_SLOT_ABSTRACT_ORIGIN,
    DWARF_SLOT_SPECIFICATION,
    DWARF_SLOT_SIGNATURE,
    DWARF_SLOT_DECL_FILE,
    DWARF_SLOT_DECL_LINE,
    DWARF_SLOT_CALL_FILE,
    DWARF_SLOT_CALL_LINE,
    DWARF_SLOT_CALL_COLUMN,
    DWARF_SLOT_DISCRIMINATOR,
    /* Of unit DIEs only. */
    DWARF_SLOT_LANGUAGE,
    DWARF_SLOT_STMT_LIST,
    DWARF_SLOT_COMP_DIR,
    DWARF_SLOT_STR_OFFSETS_BASE,
    DWARF_SLOT_ADDR_BASE, /* DW_AT_addr_base or DW_AT_GNU_addr_base */
    DWARF_SLOT_RNGLISTS_BASE,
    DWARF_SLOT_GNU_RANGES_BASE,
    DWARF_SLOT_DWO_NAME, /* DW_AT_dwo_name or DW_AT_GNU_dwo_name */
    DWARF_SLOT_DWO_ID,   /* DW_AT_GNU_dwo_id */
    DWARF_SLOT_COUNT,
};

/* One step of a program. */
struct dwarf_step {
    uint8_t kind; /* of enum dwarf_step_kind */
    uint8_t slot; /* where a value is taken */
    uint16_t form;
    uint32_t size; /* of DWARF_STEP_FIXED and DWARF_STEP_TAKE_FIXED */
    int64_t implicit_const;
};

enum dwarf_step_kind {
    DWARF_STEP_FIXED,      /* over `size` bytes */
    DWARF_STEP_LEB,        /* over one LEB128 */
    DWARF_STEP_BLOCK,      /* over a block whose length is a LEB128, such as an expression */
    DWARF_STEP_FORM,       /* over a value of any other size */
    DWARF_STEP_TAKE_FIXED, /* a number of `size` bytes, 1 to 8, goes into a slot */
    DWARF_STEP_TAKE,       /* a value of any kind goes into a slot */
};

enum dwarf_abbrev_flags {
    DWARF_ABBREV_DEFINED = 1u << 0,
    DWARF_ABBREV_CHILDREN = 1u << 1,
    DWARF_ABBREV_SUBPROGRAM = 1u << 2,
    DWARF_ABBREV_INLINED = 1u << 3,
    DWARF_ABBREV_SCOPE = 1u << 4,   /* can be somebody's scope; subprograms are */
    DWARF_ABBREV_CODE = 1u << 5,    /* a subprogram or copy that can state addresses */
    DWARF_ABBREV_NO_CODE = 1u << 6, /* nothing below it can have code, and it names its sibling */
    DWARF_ABBREV_BROKEN = 1u << 7,  /* a form in it is unknown: what follows cannot be found */
};

struct dwarf_abbrev {
    uint32_t take_first; /* the programs, as ranges of the table's steps */
    uint32_t take_count;
    uint32_t skip_first;
    uint32_t skip_count;
    uint32_t fixed_size; /* of all values together, where skip_count is 0 */
    uint16_t tag;
    uint16_t flags; /* of enum dwarf_abbrev_flags */
};

struct dwarf_abbrev_entry;

struct dwarf_abbrevs {
    struct dwarf_abbrev *dense; /* by code */
    uint64_t dense_count;
    struct dwarf_abbrev_entry *entries; /* ascending by code; where codes are too far apart */
    size_t entry_count;
    struct dwarf_step *steps;
    size_t step_count;
    bool damaged; /* the table ends early; the codes before that are there */
};

/*
 * Reads the table at the offset. *io_budget is how many bytes of tables may still be read, since
 * hostile units may each name a place inside one long table; ERR_LIMIT when it is used up.
 * ERR_MALFORMED: the offset lies outside the section. ERR_NO_MEMORY.
 */
enum err dwarf_abbrevs_read(struct span section, uint64_t offset,
                            const struct dwarf_encoding *encoding, uint64_t *io_budget,
                            struct dwarf_abbrevs **ret_abbrevs, struct error *error);
void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs);
DEFINE_CLEANUP(dwarf_abbrevs, struct dwarf_abbrevs, dwarf_abbrevs_free)

/* NULL: the table has no such code. */
const struct dwarf_abbrev *dwarf_abbrevs_find_sparse(const struct dwarf_abbrevs *abbrevs,
                                                     uint64_t code);

static inline const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs,
                                                            uint64_t code) {
    if (__builtin_expect(code < abbrevs->dense_count, 1)) {
        const struct dwarf_abbrev *abbrev = &abbrevs->dense[code];
        return abbrev->flags & DWARF_ABBREV_DEFINED ? abbrev : NULL;
    }
    return dwarf_abbrevs_find_sparse(abbrevs, code);
}

/* One abbreviation as it is written, found without reading the table as a whole. */
struct dwarf_declaration {
    uint64_t code;
    uint64_t tag;
    bool has_children;
    const uint8_t *position; /* of its attribute specifications */
    const uint8_t *end;      /* of the section */
};

struct dwarf_specification {
    uint64_t attribute;
    uint64_t form;
    int64_t implicit_const;
};

/* The code's declaration in the table at the offset. False when there is none, or when *io_budget
 * bytes were not enough to find it. */
bool dwarf_declaration_find(struct span section, uint64_t offset, uint64_t code,
                            uint64_t *io_budget, struct dwarf_declaration *ret_declaration);

/* The next specification; false at the end and at damage, which *ret_damaged tells apart. */
bool dwarf_declaration_next(struct dwarf_declaration *declaration,
                            struct dwarf_specification *ret_specification, bool *ret_damaged);

/* Where an attribute of a DIE with this tag is wanted; DWARF_SLOT_COUNT: it is not. */
enum dwarf_slot dwarf_slot_of(uint64_t tag, uint64_t attribute);
