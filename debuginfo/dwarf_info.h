/*
 * The units of one file: an object or separate debug file, a .dwo, or a supplementary file. Opening
 * it reads the headers and unit DIEs alone, whose abbreviations are looked for one by one, so that
 * a single cold address does not pay for tables that it does not need.
 *
 * A header whose length cannot be trusted ends the list; one that breaks its format otherwise costs
 * that unit. Both are kept to be reported (dwarf_unit.damage, dwarf_info_damage).
 *
 * Threads: immutable after dwarf_info_new and dwarf_info_set_supplement, but for caches that guard
 * themselves. The bytes must stay as long as it does.
 */
#pragma once

#include "debuginfo/dwarf_package.h"
#include "debuginfo/dwarf_unit.h"

struct dwarf_info;

/* ERR_NO_MEMORY. Sections without units give a list without units. */
enum err dwarf_info_new(const struct dwarf_sections *sections, struct dwarf_info **ret_info,
                        struct error *error);

/* The indexes of a .dwp, of its compile and of its type units. */
struct dwarf_package {
    const struct dwarf_package_index *units;
    const struct dwarf_package_index *types;
};

/* The same of a .dwp, whose units find their parts of its sections by its indexes. */
enum err dwarf_info_new_package(const struct dwarf_sections *sections,
                                const struct dwarf_package *package, struct dwarf_info **ret_info,
                                struct error *error);
void dwarf_info_free(struct dwarf_info *info);
DEFINE_CLEANUP(dwarf_info, struct dwarf_info, dwarf_info_free)

/* The file that DW_FORM_ref_sup*, DW_FORM_strp_sup and the GNU forms for it lead into. It must
 * outlive this one. */
void dwarf_info_set_supplement(struct dwarf_info *info, const struct dwarf_info *supplement);
const struct dwarf_info *dwarf_info_supplement(const struct dwarf_info *info);

/*
 * Joins a skeleton with its split unit, which from then on counts from the skeleton's addresses and
 * has its line table (dwarf_unit.split and .skeleton). Before any thread reads them; the caller has
 * checked that both have the same id, that neither is joined, and that the sections of the split
 * unit's file hold the skeleton's .debug_addr and .debug_ranges.
 */
void dwarf_info_join(struct dwarf_info *info, size_t number, struct dwarf_info *split_info,
                     size_t split_number);

/* Why a skeleton has no split unit; a text that stays. */
void dwarf_info_set_split_fault(struct dwarf_info *info, size_t number, const char *fault);

const struct dwarf_sections *dwarf_info_sections(const struct dwarf_info *info);

/* Those of .debug_info in the order of the file, then those of .debug_types. */
size_t dwarf_info_unit_count(const struct dwarf_info *info);
const struct dwarf_unit *dwarf_info_unit(const struct dwarf_info *info, size_t number);

/* The unit that covers an offset of .debug_info; NULL if none does. O(log n). */
const struct dwarf_unit *dwarf_info_unit_at(const struct dwarf_info *info, uint64_t offset);

/* The type unit with that signature; NULL if there is none. O(log n). */
const struct dwarf_unit *dwarf_info_type_unit(const struct dwarf_info *info, uint64_t signature);

/* What is wrong with the list as a whole; NULL: nothing. */
const char *dwarf_info_damage(const struct dwarf_info *info);
