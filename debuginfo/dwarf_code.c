#include "debuginfo/dwarf_code.h"

#include "debuginfo/dwarf_info.h"

void dwarf_code_walk_init(struct dwarf_code_walk *code, const struct dwarf_extents *extents) {
    code->reader = (struct dwarf_range_reader){
        .extents = extents,
        .budget = DWARF_RANGE_BUDGET,
    };
    code->ranges = (struct range_list){0};
}

void dwarf_code_walk_clear(struct dwarf_code_walk *code) {
    range_list_clear(&code->ranges);
}

enum err dwarf_code_walk_start(struct dwarf_code_walk *code, const struct dwarf_place *root,
                               struct error *error) {
    code->reader.sections = dwarf_info_sections(root->unit->info);
    code->reader.bases = &root->unit->bases;
    code->reader.damaged = false;
    return dwarf_walk_start(&code->walk, root, error);
}

enum err dwarf_code_walk_next(struct dwarf_code_walk *code, bool *ret_found, struct error *error) {
    *ret_found = false;
    while (dwarf_walk_next(&code->walk)) {
        struct dwarf_range_attributes attributes;
        dwarf_die_range_attributes(&code->walk.die, &attributes);
        enum err err = dwarf_ranges_read(&code->reader, &attributes, &code->ranges, error);
        if (err)
            return err;
        if (code->ranges.count > 0) {
            *ret_found = true;
            return ERR_OK;
        }
    }
    return ERR_OK;
}
