#include "debuginfo/libdw_internal.h"

enum err libdw_live_ranges(struct libdw_source *source, Dwarf_Die *die, struct range_list *list,
                           bool *ret_damaged, struct error *error) {
    list->count = 0;
    ptrdiff_t position = 0;
    Dwarf_Addr base = 0;
    struct pc_range range;
    while ((position = dwarf_ranges(die, position, &base, &range.begin, &range.end)) > 0) {
        if (source->range_budget == 0) {
            *ret_damaged = true;
            return ERR_OK;
        }
        source->range_budget--;
        if (range.begin >= range.end || !elf_file_is_executable(source->file, range.begin))
            continue;
        enum err err = range_list_add(list, range, error);
        if (err)
            return err;
    }
    if (position < 0)
        *ret_damaged = true;
    return ERR_OK;
}
