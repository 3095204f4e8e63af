#include "debuginfo/dwarf_abbrev_cache.h"

#include <pthread.h>
#include <stdlib.h>

/* One table is read for each way in which its forms can have different sizes. */
struct table_key {
    uint64_t offset;
    uint8_t address_size;
    uint8_t offset_size;
    bool is_version_2; /* DW_FORM_ref_addr is as wide as an address */
};

struct table {
    struct table_key key;
    struct dwarf_abbrevs *abbrevs; /* NULL: the slot is free */
};

/* An open hash table of at most half load. */
struct dwarf_abbrev_cache {
    pthread_mutex_t lock;
    struct span section;
    uint64_t budget; /* bytes of tables that may still be read */
    struct table *slots;
    size_t slot_count; /* a power of two */
    size_t used;
};

#define SLOT_COUNT_FIRST 64

/* Tables do not overlap in files that compilers make; units of different address size may share. */
#define OVERLAP_MAX 8

struct dwarf_abbrev_cache *dwarf_abbrev_cache_new(struct span section) {
    CLEANUP(cleanup_free) struct dwarf_abbrev_cache *cache = calloc(1, sizeof(*cache));
    CLEANUP(cleanup_free) struct table *slots = calloc(SLOT_COUNT_FIRST, sizeof(*slots));
    if (!cache || !slots || pthread_mutex_init(&cache->lock, NULL) != 0)
        return NULL;
    cache->section = section;
    cache->budget = OVERLAP_MAX * (uint64_t)section.size + ((uint64_t)1 << 20);
    cache->slots = TAKE(slots);
    cache->slot_count = SLOT_COUNT_FIRST;
    return TAKE(cache);
}

void dwarf_abbrev_cache_free(struct dwarf_abbrev_cache *cache) {
    if (!cache)
        return;
    for (size_t i = 0; i < cache->slot_count; i++)
        dwarf_abbrevs_free(cache->slots[i].abbrevs);
    free(cache->slots);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static bool is_equal(const struct table_key *a, const struct table_key *b) {
    return a->offset == b->offset && a->address_size == b->address_size &&
           a->offset_size == b->offset_size && a->is_version_2 == b->is_version_2;
}

/* The slot that holds the key's table, or the free one where it belongs. */
static struct table *find_slot(struct table *slots, size_t slot_count,
                               const struct table_key *key) {
    uint64_t hash = key->offset * 0x9e3779b97f4a7c15;
    size_t position = (hash >> 32) & (slot_count - 1);
    while (slots[position].abbrevs && !is_equal(&slots[position].key, key))
        position = (position + 1) & (slot_count - 1);
    return &slots[position];
}

static bool grow(struct dwarf_abbrev_cache *cache) {
    size_t slot_count = 2 * cache->slot_count;
    struct table *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < cache->slot_count; i++)
        if (cache->slots[i].abbrevs)
            *find_slot(slots, slot_count, &cache->slots[i].key) = cache->slots[i];
    free(cache->slots);
    cache->slots = slots;
    cache->slot_count = slot_count;
    return true;
}

static enum err get_locked(struct dwarf_abbrev_cache *cache, const struct table_key *key,
                           const struct dwarf_encoding *encoding,
                           const struct dwarf_abbrevs **ret_abbrevs, struct error *error) {
    struct table *slot = find_slot(cache->slots, cache->slot_count, key);
    if (!slot->abbrevs) {
        if (2 * (cache->used + 1) > cache->slot_count) {
            if (!grow(cache))
                return error_set(error, ERR_NO_MEMORY, "no memory for abbreviations");
            slot = find_slot(cache->slots, cache->slot_count, key);
        }
        enum err err = dwarf_abbrevs_read(cache->section, key->offset, encoding, &cache->budget,
                                          &slot->abbrevs, error);
        if (err)
            return err;
        slot->key = *key;
        cache->used++;
    }
    *ret_abbrevs = slot->abbrevs;
    return ERR_OK;
}

enum err dwarf_abbrev_cache_get(struct dwarf_abbrev_cache *cache, uint64_t offset,
                                const struct dwarf_encoding *encoding,
                                const struct dwarf_abbrevs **ret_abbrevs, struct error *error) {
    struct table_key key = {
        .offset = offset,
        .address_size = encoding->address_size,
        .offset_size = encoding->offset_size,
        .is_version_2 = encoding->version <= 2,
    };
    pthread_mutex_lock(&cache->lock);
    enum err err = get_locked(cache, &key, encoding, ret_abbrevs, error);
    pthread_mutex_unlock(&cache->lock);
    return err;
}
