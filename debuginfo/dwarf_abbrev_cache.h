/*
 * The abbreviation tables of one file, each read once, when a unit first needs it, and shared by
 * all units that name it. Any thread may ask.
 */
#pragma once

#include "debuginfo/dwarf_abbrev.h"

struct dwarf_abbrev_cache;

/* NULL: no memory. The section's bytes must stay as long as the cache. */
struct dwarf_abbrev_cache *dwarf_abbrev_cache_new(struct span section);
void dwarf_abbrev_cache_free(struct dwarf_abbrev_cache *cache);
DEFINE_CLEANUP(dwarf_abbrev_cache, struct dwarf_abbrev_cache, dwarf_abbrev_cache_free)

/* The table stays as long as the cache. Failures as dwarf_abbrevs_read. */
enum err dwarf_abbrev_cache_get(struct dwarf_abbrev_cache *cache, uint64_t offset,
                                const struct dwarf_encoding *encoding,
                                const struct dwarf_abbrevs **ret_abbrevs, struct error *error);
