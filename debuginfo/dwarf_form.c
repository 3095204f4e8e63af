#include "debuginfo/dwarf_form.h"

#include <dwarf.h>

static struct dwarf_form_layout fixed(unsigned size) {
    return (struct dwarf_form_layout){DWARF_SHAPE_FIXED, (uint8_t)size};
}

/* DW_FORM_ref_addr was as wide as an address in DWARF 2 (DWARF 3, 7.4). */
static unsigned ref_addr_size(const struct dwarf_encoding *encoding) {
    return encoding->version <= 2 ? encoding->address_size : encoding->offset_size;
}

static struct dwarf_form_layout variable_layout(uint64_t form) {
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return (struct dwarf_form_layout){DWARF_SHAPE_LEB, 0};
    case DW_FORM_string:
        return (struct dwarf_form_layout){DWARF_SHAPE_STRING, 0};
    case DW_FORM_block1:
        return (struct dwarf_form_layout){DWARF_SHAPE_BLOCK, 1};
    case DW_FORM_block2:
        return (struct dwarf_form_layout){DWARF_SHAPE_BLOCK, 2};
    case DW_FORM_block4:
        return (struct dwarf_form_layout){DWARF_SHAPE_BLOCK, 4};
    case DW_FORM_block:
    case DW_FORM_exprloc:
        return (struct dwarf_form_layout){DWARF_SHAPE_BLOCK_LEB, 0};
    case DW_FORM_indirect:
        return (struct dwarf_form_layout){DWARF_SHAPE_INDIRECT, 0};
    default:
        return (struct dwarf_form_layout){DWARF_SHAPE_UNKNOWN, 0};
    }
}

struct dwarf_form_layout dwarf_form_layout(uint64_t form, const struct dwarf_encoding *encoding) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return fixed(0);
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return fixed(1);
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return fixed(2);
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return fixed(3);
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return fixed(4);
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return fixed(8);
    case DW_FORM_data16:
        return fixed(16);
    case DW_FORM_addr:
        return fixed(encoding->address_size);
    case DW_FORM_ref_addr:
        return fixed(ref_addr_size(encoding));
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return fixed(encoding->offset_size);
    default:
        return variable_layout(form);
    }
}

/* The form that DW_FORM_indirect names. It may be neither itself, which would allow endless chains,
 * nor DW_FORM_implicit_const, whose value has no place here (DWARF 5, 7.5.3). */
static bool take_real_form(const uint8_t **position, const uint8_t *end, uint64_t *form) {
    return dwarf_take_uleb(position, end, form) && *form != DW_FORM_indirect &&
           *form != DW_FORM_implicit_const;
}

static const uint8_t *read_fixed(unsigned size, const uint8_t *position, const uint8_t *end,
                                 bool big_endian, struct dwarf_value *value) {
    if (size > (size_t)(end - position))
        return NULL;
    if (size == 16) {
        value->bytes = position;
        value->number = size;
    } else if (size > 0) {
        value->number = dwarf_number_at(position, size, big_endian);
    }
    return position + size;
}

static const uint8_t *read_string(const uint8_t *position, const uint8_t *end,
                                  struct dwarf_value *value) {
    const uint8_t *nul = memchr(position, 0, (size_t)(end - position));
    if (!nul)
        return NULL;
    value->bytes = position;
    value->number = (uint64_t)(nul - position);
    return nul + 1;
}

static const uint8_t *read_block(unsigned length_size, const uint8_t *position, const uint8_t *end,
                                 bool big_endian, struct dwarf_value *value) {
    uint64_t length;
    if (length_size == 0) {
        if (!dwarf_take_uleb(&position, end, &length))
            return NULL;
    } else {
        if (length_size > (size_t)(end - position))
            return NULL;
        length = dwarf_number_at(position, length_size, big_endian);
        position += length_size;
    }
    value->bytes = position;
    value->number = length;
    return dwarf_skip(position, end, length);
}

static const uint8_t *read_leb(uint64_t form, const uint8_t *position, const uint8_t *end,
                               struct dwarf_value *value) {
    if (form != DW_FORM_sdata)
        return dwarf_take_uleb(&position, end, &value->number) ? position : NULL;
    int64_t number;
    if (!dwarf_take_sleb(&position, end, &number))
        return NULL;
    value->number = (uint64_t)number;
    return position;
}

const uint8_t *dwarf_form_read(uint64_t form, int64_t implicit_const, const uint8_t *position,
                               const uint8_t *end, const struct dwarf_encoding *encoding,
                               struct dwarf_value *ret_value) {
    if (form == DW_FORM_indirect && !take_real_form(&position, end, &form))
        return NULL;
    struct dwarf_value value = {.form = (uint16_t)form};
    struct dwarf_form_layout layout = dwarf_form_layout(form, encoding);
    switch (layout.shape) {
    case DWARF_SHAPE_FIXED:
        position = read_fixed(layout.size, position, end, encoding->big_endian, &value);
        break;
    case DWARF_SHAPE_LEB:
        position = read_leb(form, position, end, &value);
        break;
    case DWARF_SHAPE_STRING:
        position = read_string(position, end, &value);
        break;
    case DWARF_SHAPE_BLOCK:
    case DWARF_SHAPE_BLOCK_LEB:
        position = read_block(layout.size, position, end, encoding->big_endian, &value);
        break;
    default:
        return NULL;
    }
    if (form == DW_FORM_implicit_const)
        value.number = (uint64_t)implicit_const;
    else if (form == DW_FORM_flag_present)
        value.number = 1;
    if (position)
        *ret_value = value;
    return position;
}

const uint8_t *dwarf_form_skip(uint64_t form, const uint8_t *position, const uint8_t *end,
                               const struct dwarf_encoding *encoding) {
    if (form == DW_FORM_indirect && !take_real_form(&position, end, &form))
        return NULL;
    struct dwarf_form_layout layout = dwarf_form_layout(form, encoding);
    if (layout.shape == DWARF_SHAPE_FIXED)
        return dwarf_skip(position, end, layout.size);
    if (layout.shape == DWARF_SHAPE_LEB)
        return dwarf_skip_leb(position, end);
    struct dwarf_value ignored;
    return dwarf_form_read(form, 0, position, end, encoding, &ignored);
}
