#include "debuginfo/dwarf_info.h"

#include <assert.h>
#include <dwarf.h>
#include <stdlib.h>

#include "debuginfo/dwarf_abbrev_cache.h"
#include "debuginfo/dwarf_unit_read.h"

/* Each takes some hundred bytes of memory for eleven of input; real files have some ten thousand.
 */
#define UNIT_COUNT_MAX ((size_t)1 << 22)

struct signature {
    uint64_t id;
    size_t unit;
};

struct dwarf_info {
    struct dwarf_sections sections;
    struct dwarf_unit *units;
    size_t unit_count;
    size_t unit_capacity;
    size_t info_unit_count;       /* of .debug_info; those of .debug_types follow */
    struct signature *signatures; /* of the type units, ascending */
    size_t signature_count;
    const struct dwarf_info *supplement;
    const struct dwarf_package *package; /* while units are listed; NULL: it is none */
    struct dwarf_abbrev_cache *abbrevs;
    const char *damage;
};

/* --- the list of units ------------------------------------------------------------------------ */

static enum err add_unit(struct dwarf_info *info, const struct dwarf_unit *unit,
                         struct error *error) {
    if (info->unit_count == info->unit_capacity) {
        size_t capacity = info->unit_capacity ? 2 * info->unit_capacity : 16;
        struct dwarf_unit *grown = realloc(info->units, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", capacity);
        info->units = grown;
        info->unit_capacity = capacity;
    }
    struct dwarf_unit *added = &info->units[info->unit_count];
    *added = *unit;
    added->number = (uint32_t)info->unit_count++;
    return ERR_OK;
}

/* Offsets in a unit of a package count from where its parts begin (DWARF 5, 7.3.5). */
static void find_parts(const struct dwarf_info *info, struct dwarf_unit *unit) {
    const struct dwarf_package *package = info->package;
    struct dwarf_parts parts;
    if (!package || unit->damage)
        return;
    bool found = !unit->in_types && dwarf_package_index_at(package->units, unit->offset, &parts);
    if (!found && !dwarf_package_index_at(package->types, unit->offset, &parts)) {
        unit->damage = "no index of the package names it";
        return;
    }
    unit->in_package = true;
    unit->str_offsets_part = parts.str_offsets.offset;
    unit->rnglists_part = parts.rnglists.offset;
    unit->line_part = parts.line.offset;
    if (unit->abbrev_offset >= parts.abbrev.size ||
        parts.abbrev.offset >= info->sections.abbrev.size - unit->abbrev_offset)
        unit->damage = "it has no abbreviations";
    unit->abbrev_offset += parts.abbrev.offset;
}

static enum err read_section(struct dwarf_info *info, bool in_types, struct error *error) {
    struct span section = in_types ? info->sections.types : info->sections.info;
    uint64_t offset = 0;
    while (offset < section.size) {
        struct dwarf_unit unit = {.info = info};
        enum dwarf_header_verdict verdict =
            dwarf_unit_read_header(&info->sections, in_types, offset, &unit, &offset);
        if (verdict == DWARF_HEADER_LAST || info->unit_count == UNIT_COUNT_MAX) {
            info->damage = "the list of units ends early";
            return ERR_OK;
        }
        if (verdict == DWARF_HEADER_PADDING)
            continue;
        find_parts(info, &unit);
        enum err err = add_unit(info, &unit, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

/* Unit DIEs use to have one of the first declarations of a table; only hostile units make each of
 * them search a long one. */
static void read_roots(struct dwarf_info *info) {
    struct dwarf_root_memo memo = {0};
    uint64_t budget = 16 * (uint64_t)info->sections.abbrev.size + ((uint64_t)16 << 20);
    for (size_t i = 0; i < info->unit_count; i++)
        if (!info->units[i].damage)
            dwarf_unit_read_root(&info->units[i], &memo, &budget);
}

/* --- what several units share ----------------------------------------------------------------- */

struct line_table_use {
    uint64_t offset;
    size_t unit;
};

static int compare_uses(const void *a, const void *b) {
    const struct line_table_use *left = a;
    const struct line_table_use *right = b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return left->unit < right->unit ? -1 : left->unit > right->unit;
}

/* Partial units name the table of some compile unit, for their declarations' sake. */
static bool has_rows(const struct dwarf_unit *unit) {
    return !unit->damage && unit->has_code && unit->has_line_offset &&
           unit->type != DW_UT_partial && unit->type != DW_UT_split_compile;
}

/* Of the units that name one line table the first has its rows, so that hostile units cannot
 * multiply them. */
static enum err find_first_rows(struct dwarf_info *info, struct error *error) {
    CLEANUP(cleanup_free)
    struct line_table_use *uses = calloc(info->unit_count + 1, sizeof(*uses));
    if (!uses)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", info->unit_count);
    size_t count = 0;
    for (size_t i = 0; i < info->unit_count; i++)
        if (has_rows(&info->units[i]))
            uses[count++] = (struct line_table_use){info->units[i].line_offset, i};
    qsort(uses, count, sizeof(*uses), compare_uses);
    for (size_t i = 0; i < count; i++)
        info->units[uses[i].unit].first_rows = i == 0 || uses[i].offset != uses[i - 1].offset;
    return ERR_OK;
}

static int compare_signatures(const void *a, const void *b) {
    const struct signature *left = a;
    const struct signature *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->unit < right->unit ? -1 : left->unit > right->unit;
}

static bool is_type_unit(const struct dwarf_unit *unit) {
    return !unit->damage && unit->has_id && !unit->has_code;
}

static enum err index_signatures(struct dwarf_info *info, struct error *error) {
    size_t count = 0;
    for (size_t i = 0; i < info->unit_count; i++)
        count += is_type_unit(&info->units[i]);
    if (count == 0)
        return ERR_OK;
    info->signatures = calloc(count, sizeof(*info->signatures));
    if (!info->signatures)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu type units", count);
    for (size_t i = 0; i < info->unit_count; i++)
        if (is_type_unit(&info->units[i]))
            info->signatures[info->signature_count++] = (struct signature){info->units[i].id, i};
    qsort(info->signatures, count, sizeof(*info->signatures), compare_signatures);
    return ERR_OK;
}

/* --- the object ------------------------------------------------------------------------------- */

enum err dwarf_info_new_package(const struct dwarf_sections *sections,
                                const struct dwarf_package *package, struct dwarf_info **ret_info,
                                struct error *error) {
    CLEANUP(cleanup_dwarf_info) struct dwarf_info *info = calloc(1, sizeof(*info));
    if (!info)
        return error_set(error, ERR_NO_MEMORY, "no memory for units");
    info->sections = *sections;
    info->package = package;
    info->abbrevs = dwarf_abbrev_cache_new(sections->abbrev);
    if (!info->abbrevs)
        return error_set(error, ERR_NO_MEMORY, "no memory for abbreviations");
    enum err err = read_section(info, false, error);
    info->info_unit_count = info->unit_count;
    if (!err)
        err = read_section(info, true, error);
    info->package = NULL;
    if (err)
        return err;
    read_roots(info);
    err = find_first_rows(info, error);
    if (!err)
        err = index_signatures(info, error);
    if (!err)
        *ret_info = TAKE(info);
    return err;
}

enum err dwarf_info_new(const struct dwarf_sections *sections, struct dwarf_info **ret_info,
                        struct error *error) {
    return dwarf_info_new_package(sections, NULL, ret_info, error);
}

void dwarf_info_free(struct dwarf_info *info) {
    if (!info)
        return;
    dwarf_abbrev_cache_free(info->abbrevs);
    free(info->units);
    free(info->signatures);
    free(info);
}

void dwarf_info_set_supplement(struct dwarf_info *info, const struct dwarf_info *supplement) {
    info->supplement = supplement;
}

const struct dwarf_info *dwarf_info_supplement(const struct dwarf_info *info) {
    return info->supplement;
}

void dwarf_info_join(struct dwarf_info *info, size_t number, struct dwarf_info *split_info,
                     size_t split_number) {
    struct dwarf_unit *skeleton = &info->units[number];
    struct dwarf_unit *split = &split_info->units[split_number];
    assert(!skeleton->split && !split->skeleton && skeleton->id == split->id);
    skeleton->split = split;
    skeleton->split_fault = NULL;
    split->skeleton = skeleton;
    split->bases.addr_base = skeleton->bases.addr_base;
    split->bases.low_pc = skeleton->bases.low_pc;
    split->bases.has_low_pc = skeleton->bases.has_low_pc;
    split->bases.gnu_ranges_base = skeleton->gnu_ranges_base;
    if (skeleton->name.size == 0)
        skeleton->name = split->name;
    if (skeleton->comp_dir.size == 0)
        skeleton->comp_dir = split->comp_dir;
    skeleton->language = split->language;
}

void dwarf_info_set_split_fault(struct dwarf_info *info, size_t number, const char *fault) {
    info->units[number].split_fault = fault;
}

const struct dwarf_sections *dwarf_info_sections(const struct dwarf_info *info) {
    return &info->sections;
}

size_t dwarf_info_unit_count(const struct dwarf_info *info) {
    return info->unit_count;
}

const struct dwarf_unit *dwarf_info_unit(const struct dwarf_info *info, size_t number) {
    return &info->units[number];
}

const struct dwarf_unit *dwarf_info_unit_at(const struct dwarf_info *info, uint64_t offset) {
    size_t low = 0;
    size_t high = info->info_unit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (info->units[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct dwarf_unit *unit = &info->units[low - 1];
    return offset - unit->offset < (uint64_t)(unit->end - unit->header) ? unit : NULL;
}

const struct dwarf_unit *dwarf_info_type_unit(const struct dwarf_info *info, uint64_t signature) {
    size_t low = 0;
    size_t high = info->signature_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (info->signatures[middle].id < signature)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == info->signature_count || info->signatures[low].id != signature)
        return NULL;
    return &info->units[info->signatures[low].unit];
}

const char *dwarf_info_damage(const struct dwarf_info *info) {
    return info->damage;
}

/* --- what is read on first use ---------------------------------------------------------------- */

enum err dwarf_unit_abbrevs(const struct dwarf_unit *unit, const struct dwarf_abbrevs **ret_abbrevs,
                            struct error *error) {
    const struct dwarf_abbrevs *abbrevs =
        atomic_load_explicit(&unit->abbrevs, memory_order_acquire);
    if (!abbrevs) {
        enum err err = dwarf_abbrev_cache_get(unit->info->abbrevs, unit->abbrev_offset,
                                              &unit->bases.encoding, &abbrevs, error);
        if (err)
            return err;
        struct dwarf_unit *own = &unit->info->units[unit->number];
        atomic_store_explicit(&own->abbrevs, abbrevs, memory_order_release);
    }
    *ret_abbrevs = abbrevs;
    return ERR_OK;
}
