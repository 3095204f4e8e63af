/* The executable extents: where code can lie, from sections or, without them, from segments. */
#include "debuginfo/elf_file.h"
#include "debuginfo/elf_file_internal.h"

/* Sections that take addresses, in ascending order, to see where one with a lost size must end. */
struct allocated {
    uint64_t address;
    uint64_t size;
    bool is_executable;
    bool is_size_lost;
};

static int compare_allocated(const void *left, const void *right) {
    const struct allocated *a = left;
    const struct allocated *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int compare_ranges(const void *left, const void *right) {
    const struct pc_range *a = left;
    const struct pc_range *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The last address plus one, as far as 64 bits can say it. */
static uint64_t address_space_end(const struct elf_file *file) {
    return file->header.is_64 ? UINT64_MAX : (uint64_t)UINT32_MAX + 1;
}

static uint64_t end_of(uint64_t address, uint64_t size) {
    return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

static bool takes_addresses(const struct elf_section *section) {
    if (!(section->flags & SHF_ALLOC))
        return false;
    /* .tbss takes none: the next section begins at its address. */
    return !((section->flags & SHF_TLS) && section->type == SHT_NOBITS);
}

static size_t collect_allocated(const struct elf_file *file, struct allocated *list) {
    size_t count = 0;
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *section = &file->sections[i];
        if (!takes_addresses(section))
            continue;
        bool is_executable = section->flags & SHF_EXECINSTR;
        list[count++] = (struct allocated){
            .address = section->address,
            .size = section->size,
            .is_executable = is_executable,
            .is_size_lost = is_executable && section->type == SHT_NOBITS && section->size == 0,
        };
    }
    qsort(list, count, sizeof(*list), compare_allocated);
    return count;
}

/* Fills extents from the sorted list, walking down so that the next higher address is at hand. */
static size_t extents_from_sections(const struct elf_file *file, const struct allocated *list,
                                    size_t count, struct pc_range *extents, bool *ret_exact) {
    size_t extent_count = 0;
    uint64_t current = address_space_end(file);
    uint64_t next = current;
    bool exact = true;
    for (size_t i = count; i-- > 0;) {
        if (list[i].address != current) {
            next = current;
            current = list[i].address;
        }
        if (!list[i].is_executable)
            continue;
        uint64_t end = list[i].is_size_lost ? next : end_of(list[i].address, list[i].size);
        exact = exact && !list[i].is_size_lost;
        if (end > list[i].address)
            extents[extent_count++] = (struct pc_range){list[i].address, end};
    }
    *ret_exact = exact;
    return extent_count;
}

static size_t extents_from_segments(const struct elf_file *file, struct pc_range *extents) {
    size_t count = 0;
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct elf_segment *segment = &file->segments[i];
        struct pc_range range = {segment->address, end_of(segment->address, segment->memory_size)};
        if (segment->type == PT_LOAD && (segment->flags & PF_X) && range.begin < range.end)
            extents[count++] = range;
    }
    return count;
}

/* Sorts, and joins what overlaps; extents that only touch stay apart, since a sizeless symbol must
 * not reach from one section into the next. */
static size_t make_disjoint(struct pc_range *extents, size_t count) {
    if (count == 0)
        return 0;
    qsort(extents, count, sizeof(*extents), compare_ranges);
    size_t last = 0;
    for (size_t i = 1; i < count; i++) {
        if (extents[i].begin >= extents[last].end)
            extents[++last] = extents[i];
        else if (extents[i].end > extents[last].end)
            extents[last].end = extents[i].end;
    }
    return last + 1;
}

enum err elf_extents_compute(struct elf_file *file, struct error *error) {
    size_t most = file->section_count + file->segment_count;
    CLEANUP(cleanup_free)
    struct allocated *list = calloc(file->section_count + 1, sizeof(*list));
    file->extents = calloc(most + 1, sizeof(*file->extents));
    if (!list || !file->extents)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu extents", most);
    size_t allocated_count = collect_allocated(file, list);
    size_t count =
        extents_from_sections(file, list, allocated_count, file->extents, &file->extents_exact);
    if (count == 0) {
        file->extents_exact = false;
        count = extents_from_segments(file, file->extents);
    }
    file->extent_count = make_disjoint(file->extents, count);
    return ERR_OK;
}

void elf_file_executable_extents(const struct elf_file *file, const struct pc_range **ret_extents,
                                 size_t *ret_count, bool *ret_exact) {
    *ret_extents = file->extents;
    *ret_count = file->extent_count;
    *ret_exact = file->extents_exact;
}

bool elf_file_is_executable(const struct elf_file *file, uint64_t pc) {
    if (file->extent_count == 0)
        return true;
    size_t low = 0;
    size_t high = file->extent_count;
    while (low < high) { /* the first extent that ends behind pc */
        size_t middle = low + (high - low) / 2;
        if (file->extents[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < file->extent_count && file->extents[low].begin <= pc;
}
