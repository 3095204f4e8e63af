#include "tests/support/dwarf_site.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdlib.h>

void dwarf_site_clear(struct dwarf_site *site) {
    dwarf_info_free(site->units);
    struct dwarf_bytes *all[] = {&site->info,        &site->types, &site->abbrev,  &site->str,
                                 &site->str_offsets, &site->addr,  &site->line_str};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        dwarf_bytes_clear(all[i]);
}

void dwarf_site_set_big_endian(struct dwarf_site *site) {
    site->info.big_endian = site->types.big_endian = site->abbrev.big_endian = true;
    site->str_offsets.big_endian = site->addr.big_endian = true;
}

void declare(struct dwarf_site *site, uint64_t code, uint64_t tag, int children, ...) {
    put_uleb(&site->abbrev, code);
    put_uleb(&site->abbrev, tag);
    put_u8(&site->abbrev, (uint8_t)children);
    va_list arguments;
    va_start(arguments, children);
    for (int attribute; (attribute = va_arg(arguments, int)) != 0;) {
        put_uleb(&site->abbrev, (uint64_t)attribute);
        put_uleb(&site->abbrev, (uint64_t)va_arg(arguments, int));
    }
    va_end(arguments);
    put_uleb(&site->abbrev, 0);
    put_uleb(&site->abbrev, 0);
}

void end_declarations(struct dwarf_site *site) {
    put_u8(&site->abbrev, 0);
}

static struct dwarf_bytes *section_of(struct dwarf_site *site, const struct dwarf_site_unit *unit) {
    return unit->version < 5 && unit->type == DW_UT_type ? &site->types : &site->info;
}

size_t begin_unit(struct dwarf_site *site, const struct dwarf_site_unit *unit) {
    struct dwarf_bytes *bytes = section_of(site, unit);
    size_t begin = begin_length(bytes, unit->offset_size);
    put_number(bytes, 2, unit->version);
    if (unit->version >= 5) {
        put_u8(bytes, unit->type);
        put_u8(bytes, unit->address_size);
    }
    put_number(bytes, unit->offset_size, unit->abbrev_offset);
    if (unit->version < 5)
        put_u8(bytes, unit->address_size);
    bool is_type = unit->type == DW_UT_type || unit->type == DW_UT_split_type;
    bool has_dwo_id = unit->version >= 5 &&
                      (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile);
    if (is_type || has_dwo_id)
        put_number(bytes, 8, unit->id);
    if (is_type)
        put_number(bytes, unit->offset_size, unit->type_offset);
    return begin;
}

void end_unit(struct dwarf_site *site, const struct dwarf_site_unit *unit, size_t begin) {
    end_length(section_of(site, unit), begin, unit->offset_size);
}

static const struct dwarf_site_unit plain_unit = {
    .version = 4, .type = DW_UT_compile, .address_size = 8, .offset_size = 4};

size_t begin_plain_unit(struct dwarf_site *site) {
    return begin_unit(site, &plain_unit);
}

void end_plain_unit(struct dwarf_site *site, size_t begin) {
    end_unit(site, &plain_unit, begin);
}

struct dwarf_sections dwarf_site_sections(const struct dwarf_site *site) {
    return (struct dwarf_sections){
        .info = dwarf_bytes_span(&site->info),
        .types = dwarf_bytes_span(&site->types),
        .abbrev = dwarf_bytes_span(&site->abbrev),
        .str = dwarf_bytes_span(&site->str),
        .str_offsets = dwarf_bytes_span(&site->str_offsets),
        .addr = dwarf_bytes_span(&site->addr),
        .line_str = dwarf_bytes_span(&site->line_str),
        .big_endian = site->info.big_endian,
        .address_size = 8,
    };
}

void dwarf_site_read(struct dwarf_site *site) {
    struct dwarf_sections sections = dwarf_site_sections(site);
    struct error error;
    if (dwarf_info_new(&sections, &site->units, &error))
        abort();
}
