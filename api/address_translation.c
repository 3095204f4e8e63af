#include "api/address_translation.h"

#define SEGMENT_EXECUTE 1u /* PF_X of the ELF specification */

/* A file has a handful; a doctored one with thousands must not make each address cost as many. */
#define SEGMENT_COUNT_MAX ((size_t)128)

struct segments {
    struct index_segment list[SEGMENT_COUNT_MAX];
    size_t count;
    size_t last; /* where the previous address was found */
};

static void collect(struct segments *segments, const struct index *index, bool executable) {
    size_t count = index_segment_count(index);
    for (size_t i = 0; i < count && segments->count < SEGMENT_COUNT_MAX; i++) {
        struct index_segment segment = index_segment_at(index, i);
        bool fits = ((segment.flags & SEGMENT_EXECUTE) != 0) == executable;
        if (fits && segment.file_size > 0)
            segments->list[segments->count++] = segment;
    }
}

static bool covers(const struct index_segment *segment, uint64_t offset) {
    return offset >= segment->offset && offset - segment->offset < segment->file_size;
}

static uint64_t from_offset(struct segments *segments, uint64_t offset) {
    size_t at = segments->last;
    if (!covers(&segments->list[at], offset))
        for (at = 0; at < segments->count && !covers(&segments->list[at], offset); at++)
            ;
    if (at == segments->count)
        return ADDRESS_NOWHERE;
    segments->last = at;
    return segments->list[at].address + (offset - segments->list[at].offset);
}

static uint64_t from_runtime(struct segments *segments, const struct address_mapping *mapping,
                             uint64_t address) {
    if (address < mapping->start || address >= mapping->limit)
        return ADDRESS_NOWHERE;
    return from_offset(segments, address - mapping->start + mapping->offset);
}

static uint64_t translate(struct segments *segments, const struct symbolize_module *module,
                          uint64_t address) {
    switch (module->address_kind) {
    case ADDRESS_FILE_OFFSET:
        return from_offset(segments, address);
    case ADDRESS_RUNTIME:
        return from_runtime(segments, &module->mapping, address);
    case ADDRESS_ELF:
        break;
    }
    return address;
}

bool address_translate(const struct symbolize_module *module, const struct index *index,
                       uint64_t *addresses) {
    struct segments segments = {.count = 0};
    if (module->address_kind != ADDRESS_ELF) {
        /* Where two cover an offset, code is meant. */
        collect(&segments, index, true);
        collect(&segments, index, false);
        if (segments.count == 0)
            return false;
    }
    for (size_t i = 0; i < module->address_count; i++) {
        bool is_return = module->is_return && module->is_return[i];
        /* No call returns to address 0. */
        if (is_return && addresses[i] == 0)
            addresses[i] = ADDRESS_NOWHERE;
        else
            addresses[i] = translate(&segments, module, addresses[i] - is_return);
    }
    return true;
}
