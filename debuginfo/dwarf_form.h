/*
 * The forms of attribute values (DWARF 5, 7.5.5 and 7.5.6, and the GNU extensions for dwz and for
 * split DWARF before version 5): how much room a value takes, and what stands there. What a value
 * means (an offset in which section, an index in which table) is dwarf_die.h's.
 */
#pragma once

#include "debuginfo/dwarf_bytes.h"
#include "debuginfo/dwarf_sections.h"

enum dwarf_form_shape {
    DWARF_SHAPE_UNKNOWN, /* a form we do not know: what follows it cannot be found */
    DWARF_SHAPE_FIXED,   /* `size` bytes, 0 of them too */
    DWARF_SHAPE_LEB,
    DWARF_SHAPE_STRING,    /* up to a NUL */
    DWARF_SHAPE_BLOCK,     /* a length of `size` bytes, then so many */
    DWARF_SHAPE_BLOCK_LEB, /* a length as ULEB128, then so many */
    DWARF_SHAPE_INDIRECT,  /* the form as ULEB128, then the value */
};

struct dwarf_form_layout {
    enum dwarf_form_shape shape;
    uint8_t size;
};

struct dwarf_form_layout dwarf_form_layout(uint64_t form, const struct dwarf_encoding *encoding);

/* A value as it is written. */
struct dwarf_value {
    uint64_t number;      /* constant, address, offset or index; the size of `bytes` if there are */
    const uint8_t *bytes; /* of a block, an inline string or data16; else NULL */
    uint16_t form;        /* what DW_FORM_indirect stood for, not itself; 0: no value */
};

/* Past the value at `position`; NULL when it does not end before `end` or its form is unknown.
 * implicit_const is the value that the abbreviation has for DW_FORM_implicit_const. */
const uint8_t *dwarf_form_read(uint64_t form, int64_t implicit_const, const uint8_t *position,
                               const uint8_t *end, const struct dwarf_encoding *encoding,
                               struct dwarf_value *ret_value);

/* Past the value, without a look at it; same failures. */
const uint8_t *dwarf_form_skip(uint64_t form, const uint8_t *position, const uint8_t *end,
                               const struct dwarf_encoding *encoding);
