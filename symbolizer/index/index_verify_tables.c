/* Scopes, functions, files and directories. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbolizer/index/index_verify_internal.h"

/* --- files --- */

static enum err verify_directories(const struct index *index, struct error *error) {
    const struct index_section *ends = &index->sections[FORMAT_DIRECTORY_ENDS];
    uint64_t end = 0;
    for (uint64_t i = 0; i < ends->count; i++) {
        uint64_t next = index_load_u32(ends->bytes + i * sizeof(uint32_t));
        if (next < end)
            return verify_damaged_at(FORMAT_DIRECTORY_ENDS, i, error);
        end = next;
    }
    if (end != index->sections[FORMAT_DIRECTORY_BYTES].size)
        return verify_damaged(FORMAT_DIRECTORY_ENDS, "they do not end with the bytes", error);
    return ERR_OK;
}

static enum err verify_file_block(const struct index *index, uint64_t position,
                                  struct verify_blocks *blocks, struct error *error) {
    struct row_block block;
    if (!index_file_block(index, position, &block) ||
        !verify_block_follows(index, blocks, block.header, block.bits, row_block_end(&block)))
        return verify_damaged_at(FORMAT_FILE_OFFSETS, position, error);
    return ERR_OK;
}

/* Files and functions name bytes one after another: each record goes on where the last ended. */
static bool goes_on(struct span bytes, const char **at) {
    bool good = bytes.data == *at;
    *at = bytes.data + bytes.size;
    return good;
}

enum err verify_files(const struct index *index, struct error *error) {
    const struct index_section *bytes = &index->sections[FORMAT_PATH_BYTES];
    struct verify_blocks blocks = {.kind = FORMAT_FILES};
    const char *at = (const char *)bytes->bytes;
    enum err err = verify_directories(index, error);
    for (uint64_t i = 0; err == ERR_OK && i < index->sections[FORMAT_FILES].count; i++) {
        struct file_parts parts;
        char room[FORMAT_JOINED_PATH_MAX];
        struct span path;
        if (i % FORMAT_BLOCK_RECORDS == 0)
            err = verify_file_block(index, i / FORMAT_BLOCK_RECORDS, &blocks, error);
        if (err == ERR_OK &&
            (!index_file_parts(index, (uint32_t)i + 1, &parts) || !goes_on(parts.name, &at) ||
             !index_file(index, (uint32_t)i + 1, room, &path)))
            err = verify_damaged_at(FORMAT_FILES, i, error);
    }
    if (err == ERR_OK &&
        (!verify_blocks_fill(index, &blocks) || at != (const char *)bytes->bytes + bytes->size))
        err = verify_damaged(FORMAT_FILES, "they leave bytes out", error);
    return err;
}

/* --- functions --- */

static enum err verify_function_block(const struct index *index, uint64_t position,
                                      struct verify_blocks *blocks, struct error *error) {
    struct row_block block;
    if (!index_function_block(index, position, &block) ||
        !verify_block_follows(index, blocks, block.header, block.bits, row_block_end(&block)))
        return verify_damaged_at(FORMAT_FUNCTION_OFFSETS, position, error);
    return ERR_OK;
}

enum err verify_functions(const struct index *index, struct error *error) {
    const struct index_section *bytes = &index->sections[FORMAT_NAME_BYTES];
    struct verify_blocks blocks = {.kind = FORMAT_FUNCTIONS};
    const char *at = (const char *)bytes->bytes;
    enum err err = ERR_OK;
    for (uint64_t i = 0; err == ERR_OK && i < index->sections[FORMAT_FUNCTIONS].count; i++) {
        struct function_record function;
        if (i % FORMAT_BLOCK_RECORDS == 0)
            err = verify_function_block(index, i / FORMAT_BLOCK_RECORDS, &blocks, error);
        if (err == ERR_OK &&
            (!index_function(index, (uint32_t)i + 1, &function) || !goes_on(function.name, &at) ||
             function.file > index->sections[FORMAT_FILES].count ||
             index_attributes_origin(function.attributes) > SYMBOL_ORIGIN_DYNSYM ||
             function.attributes >> FORMAT_ATTRIBUTE_FLAGS_SHIFT > FORMAT_FLAGS_MAX))
            err = verify_damaged_at(FORMAT_FUNCTIONS, i, error);
    }
    if (err == ERR_OK &&
        (!verify_blocks_fill(index, &blocks) || at != (const char *)bytes->bytes + bytes->size))
        err = verify_damaged(FORMAT_FUNCTIONS, "they leave bytes out", error);
    return err;
}

/* --- scopes --- */

/* How long the chain of each scope is, so that none is longer than a walk goes. */
struct scope_walk {
    struct verify_blocks blocks;
    uint16_t *depths;
};

static bool scope_is_sound(const struct index *index, const struct scope_record *scope,
                           uint64_t position, uint16_t *depths) {
    if (scope->function == 0 || scope->function > index->sections[FORMAT_FUNCTIONS].count ||
        scope->parent > position)
        return false;
    /* The scope at `position` has the number position + 1. */
    depths[position] = 1;
    if (scope->parent != 0)
        depths[position] = (uint16_t)(depths[position - scope->parent] + 1);
    return depths[position] <= FRAME_COUNT_MAX;
}

/* The exceptions of a block stand for its rows that say so, in order. */
static bool exceptions_are_sound(const struct index *index, const struct row_block *block,
                                 uint64_t *ret_end) {
    struct exception_list list;
    uint32_t next = 0;
    if (!scope_block_exceptions(block, &list))
        return false;
    for (uint32_t i = 0; i < block->record_count; i++) {
        struct scope_record scope = scope_block_get(block, i);
        if (scope.parent == 0 || !scope_row_is_exception(block, &scope))
            continue;
        if (next == list.count)
            return false;
        struct exception exception = exception_list_get(&list, next++);
        if (exception.position != i || exception.file > index->sections[FORMAT_FILES].count)
            return false;
    }
    *ret_end = exception_list_end(&list);
    return next == list.count;
}

static bool scope_block_is_sound(const struct index *index, uint64_t position,
                                 struct scope_walk *walk) {
    struct row_block block;
    uint64_t end = 0;
    if (!index_scope_block(index, position, &block))
        return false;
    uint64_t entry_mask = scope_block_entry_mask(&block);
    if ((block.record_count < 64 && entry_mask >> block.record_count != 0) ||
        !exceptions_are_sound(index, &block, &end) ||
        !verify_block_follows(index, &walk->blocks, block.header, block.bits, end))
        return false;
    for (uint32_t i = 0; i < block.record_count; i++) {
        struct scope_record scope = scope_block_get(&block, i);
        if (!scope_is_sound(index, &scope, position * FORMAT_BLOCK_RECORDS + i, walk->depths))
            return false;
    }
    return true;
}

enum err verify_scopes(const struct index *index, struct error *error) {
    uint64_t count = index->sections[FORMAT_SCOPES].count;
    CLEANUP(cleanup_free) uint16_t *depths = calloc(count + 1, sizeof(*depths));
    if (!depths)
        return error_set(error, ERR_NO_MEMORY, "no memory to verify a symbol index");
    struct scope_walk walk = {.blocks = {.kind = FORMAT_SCOPES}, .depths = depths};
    for (uint64_t i = 0; i < index->sections[FORMAT_SCOPE_OFFSETS].count; i++) {
        if (!scope_block_is_sound(index, i, &walk))
            return verify_damaged_at(FORMAT_SCOPE_OFFSETS, i, error);
    }
    if (!verify_blocks_fill(index, &walk.blocks))
        return verify_damaged(FORMAT_SCOPES, "they leave bytes out", error);
    return ERR_OK;
}
