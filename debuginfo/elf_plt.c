#include "debuginfo/elf_plt_internal.h"

#include "debuginfo/elf_dynamic.h"
#include "debuginfo/elf_relocations.h"

/* Where linkers put stubs. What a relocation does not name is none, so a wide choice is safe. */
static const char *const section_names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};

/* A slot of the global offset table, and the symbol whose address the loader puts there. */
struct slot {
    uint64_t address;
    uint32_t symbol;
};

struct slot_list {
    struct slot *items;
    size_t count;
    size_t capacity;
};

struct stub_list {
    struct elf_plt_stub *items;
    size_t count;
    size_t capacity;
};

static void slot_list_clear(struct slot_list *list) {
    free(list->items);
}

static void stub_list_clear(struct stub_list *list) {
    free(list->items);
}

void elf_plt_clear(struct elf_plt *plt) {
    free(plt->stubs);
    *plt = (struct elf_plt){0};
}

/* Makes room for one more of a growable array; false: no memory. */
static bool grow(void **items, size_t *capacity, size_t count, size_t item_size) {
    if (count < *capacity)
        return true;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*items, more * item_size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = more;
    return true;
}

/* One section of each name: NULL where it has no code in this file. */
static const struct elf_section *find_section(const struct elf_file *file, size_t name) {
    const struct elf_section *section = elf_file_section_by_name(file, section_names[name]);
    return section && section->type == SHT_PROGBITS && section->size > 0 ? section : NULL;
}

bool elf_plt_may_cover(const struct elf_file *file, uint64_t pc) {
    for (size_t i = 0; i < ARRAY_SIZE(section_names); i++) {
        const struct elf_section *section = find_section(file, i);
        if (section && pc >= section->address && pc - section->address < section->size)
            return true;
    }
    return false;
}

/* --- the slots -----------------------------------------------------------------------------------
 */

static int compare_slots(const void *left, const void *right) {
    const struct slot *a = left;
    const struct slot *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

static enum err add_slots(struct elf_file *file, const struct elf_section *section,
                          const struct plt_machine *machine, struct slot_list *slots,
                          struct error *error) {
    struct elf_relocation_table table;
    struct elf_relocation relocation;
    struct error ignored;
    if (elf_relocation_table_open(file, section, &table, &ignored))
        return ERR_OK;
    while (elf_relocation_table_next(&table, &relocation)) {
        bool fills_slot = relocation.type == machine->jump_slot ||
                          relocation.type == machine->global_data;
        if (!fills_slot || relocation.symbol == 0)
            continue;
        void *items = slots->items;
        if (!grow(&items, &slots->capacity, slots->count, sizeof(*slots->items)))
            return error_set(error, ERR_NO_MEMORY, "no memory for relocations");
        slots->items = items;
        slots->items[slots->count++] = (struct slot){relocation.offset, relocation.symbol};
    }
    return ERR_OK;
}

/* Of all relocations that the loader applies, .rela.dyn included: .plt.got jumps through slots
 * that are filled at start. */
static enum err find_slots(struct elf_file *file, const struct plt_machine *machine,
                           struct slot_list *slots, struct error *error) {
    uint64_t bytes_left = elf_file_bytes(file).size; /* sections may overlap beyond reason */
    for (size_t i = 0; i < elf_file_section_count(file); i++) {
        const struct elf_section *section = elf_file_section(file, i);
        bool is_table = section->type == SHT_REL || section->type == SHT_RELA;
        if (!is_table || !(section->flags & SHF_ALLOC) || section->size > bytes_left)
            continue;
        bytes_left -= section->size;
        enum err err = add_slots(file, section, machine, slots, error);
        if (err)
            return err;
    }
    if (slots->count > 0)
        qsort(slots->items, slots->count, sizeof(*slots->items), compare_slots);
    return ERR_OK;
}

/* 0: no relocation fills that slot. */
static uint32_t symbol_of_slot(const struct slot_list *slots, uint64_t address) {
    size_t low = 0;
    size_t high = slots->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slots->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < slots->count && slots->items[low].address == address;
    return found ? slots->items[low].symbol : 0;
}

/* --- the stubs -----------------------------------------------------------------------------------
 */

static uint64_t section_address(const struct elf_file *file, const char *name) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    return section ? section->address : 0;
}

static uint64_t got_address(const struct elf_file *file) {
    uint64_t address = elf_dynamic_plt_got(file);
    if (!address)
        address = section_address(file, ".got.plt");
    return address ? address : section_address(file, ".got");
}

static enum err add_stubs(const struct plt_machine *machine, const struct plt_code *code,
                          const struct slot_list *slots, struct stub_list *stubs,
                          struct error *error) {
    size_t offset = 0;
    while (offset < code->size) {
        struct plt_match match;
        uint32_t symbol = machine->match(code, offset, &match) ? symbol_of_slot(slots, match.slot)
                                                               : 0;
        if (symbol == 0) {
            offset += machine->step;
            continue;
        }
        size_t left = code->size - offset;
        size_t size = match.size < left ? match.size : left;
        void *items = stubs->items;
        if (!grow(&items, &stubs->capacity, stubs->count, sizeof(*stubs->items)))
            return error_set(error, ERR_NO_MEMORY, "no memory for stubs");
        stubs->items = items;
        uint64_t begin = code->address + offset;
        stubs->items[stubs->count++] = (struct elf_plt_stub){begin, begin + size, symbol};
        offset += size;
    }
    return ERR_OK;
}

static enum err read_section(struct elf_file *file, const struct elf_section *section,
                             const struct plt_machine *machine, const struct slot_list *slots,
                             struct stub_list *stubs, struct error *error) {
    struct span bytes = {NULL, 0};
    struct error ignored;
    if (elf_file_section_data(file, section, &bytes, &ignored) ||
        bytes.size > UINT64_MAX - section->address)
        return ERR_OK;
    struct plt_code code = {
        .bytes = (const uint8_t *)bytes.data,
        .size = bytes.size,
        .address = section->address,
        .got = got_address(file),
    };
    return add_stubs(machine, &code, slots, stubs, error);
}

static bool has_stubs(const struct elf_file *file) {
    for (size_t i = 0; i < ARRAY_SIZE(section_names); i++)
        if (find_section(file, i))
            return true;
    return false;
}

enum err elf_plt_read(struct elf_file *file, struct elf_plt *ret_plt, struct error *error) {
    const struct plt_machine *machine = plt_machine_find(elf_file_header(file)->machine);
    CLEANUP(slot_list_clear) struct slot_list slots = {0};
    CLEANUP(stub_list_clear) struct stub_list stubs = {0};
    enum err err = ERR_OK;
    if (machine && has_stubs(file))
        err = find_slots(file, machine, &slots, error);
    for (size_t i = 0; !err && slots.count > 0 && i < ARRAY_SIZE(section_names); i++) {
        const struct elf_section *section = find_section(file, i);
        if (section)
            err = read_section(file, section, machine, &slots, &stubs, error);
    }
    if (err)
        return err;
    *ret_plt = (struct elf_plt){.count = stubs.count, .stubs = TAKE(stubs.items)};
    return ERR_OK;
}
