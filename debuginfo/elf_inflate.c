/* Section contents: where they are stored, and inflating them within bounds. */
#include <assert.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <zstd.h>

#include "base/cursor.h"
#include "debuginfo/elf_file.h"
#include "debuginfo/elf_file_internal.h"
#include "debuginfo/elf_relocate.h"

/* Deflate cannot grow its input by more than this factor; the slack is for tiny streams. Real
 * debug sections stay far below it under zstd too. */
#define INFLATE_RATIO_MAX ((uint64_t)1032)
#define INFLATE_SLACK ((uint64_t)64 << 10)

/* ch_type values (gABI); ELFCOMPRESS_ZSTD is younger than some elf.h. */
enum { CH_TYPE_ZLIB = 1, CH_TYPE_ZSTD = 2 };

static void deflate_free(struct libdeflate_decompressor *decompressor) {
    libdeflate_free_decompressor(decompressor);
}
DEFINE_CLEANUP(deflate, struct libdeflate_decompressor, deflate_free)

/* Names are bytes from outside and may be anything: enough for a message is enough. */
static enum err prefix_section(const struct elf_section *section, struct error *error) {
    int size = section->name.size < 64 ? (int)section->name.size : 64;
    return error_prefix(error, "section %u (%.*s)", section->index, size,
                        section->name.data ? section->name.data : "");
}

enum err elf_section_stored(const struct elf_file *file, const struct elf_section *section,
                            struct span *ret_stored, struct error *error) {
    if (section->type == SHT_NOBITS || section->type == SHT_NULL || section->size == 0) {
        *ret_stored = (struct span){NULL, 0};
        return ERR_OK;
    }
    uint64_t file_size = file->bytes.size;
    if (section->offset > file_size || section->size > file_size - section->offset) {
        error_set(error, ERR_MALFORMED,
                  "%" PRIu64 " bytes at offset %" PRIu64 " lie outside the file's %" PRIu64,
                  section->size, section->offset, file_size);
        return prefix_section(section, error);
    }
    *ret_stored = span_of(file->bytes.data + section->offset, section->size);
    return ERR_OK;
}

/* An Elf32_Chdr or Elf64_Chdr stands before the stream. */
static enum err read_chdr(const struct elf_file *file, struct span stored,
                          struct elf_packed *ret_packed, struct error *error) {
    const struct elf_header *header = &file->header;
    struct cursor cursor = cursor_of(stored, header->big_endian, "compression header");
    uint32_t type = cursor_u32(&cursor);
    if (header->is_64)
        cursor_skip(&cursor, 4); /* ch_reserved */
    uint64_t size = header->is_64 ? cursor_u64(&cursor) : cursor_u32(&cursor);
    cursor_skip(&cursor, header->is_64 ? 8 : 4); /* ch_addralign */
    enum err err = cursor_check(&cursor, error);
    if (err)
        return err;
    if (type != CH_TYPE_ZLIB && type != CH_TYPE_ZSTD)
        return error_set(error, ERR_UNSUPPORTED, "unknown compression type %u", type);
    *ret_packed = (struct elf_packed){
        .compression = type == CH_TYPE_ZLIB ? ELF_COMPRESSION_ZLIB : ELF_COMPRESSION_ZSTD,
        .stored = cursor_bytes(&cursor, cursor_left(&cursor)),
        .size = size,
    };
    return ERR_OK;
}

/* The GNU convention before SHF_COMPRESSED: "ZLIB", the size in 8 bytes big-endian, the stream. */
static enum err read_zdebug_header(struct span stored, struct elf_packed *ret_packed,
                                   struct error *error) {
    struct cursor cursor = cursor_of(stored, true, ".zdebug header");
    struct span magic = cursor_bytes(&cursor, 4);
    uint64_t size = cursor_u64(&cursor);
    enum err err = cursor_check(&cursor, error);
    if (err)
        return err;
    if (!span_equal_cstr(magic, "ZLIB"))
        return error_set(error, ERR_MALFORMED, "does not begin with ZLIB");
    *ret_packed = (struct elf_packed){
        .compression = ELF_COMPRESSION_ZLIB,
        .stored = cursor_bytes(&cursor, cursor_left(&cursor)),
        .size = size,
    };
    return ERR_OK;
}

static enum err check_claim(const struct elf_packed *packed, struct error *error) {
    uint64_t stored = packed->stored.size;
    uint64_t most = stored > (UINT64_MAX - INFLATE_SLACK) / INFLATE_RATIO_MAX
                        ? UINT64_MAX
                        : stored * INFLATE_RATIO_MAX + INFLATE_SLACK;
    if (packed->size > most || packed->size > SIZE_MAX / 2)
        return error_set(error, ERR_MALFORMED,
                         "%" PRIu64 " compressed bytes claim to hold %" PRIu64, stored,
                         packed->size);
    return ERR_OK;
}

static enum err read_packed(const struct elf_file *file, const struct elf_section *section,
                            struct span stored, struct elf_packed *ret_packed,
                            struct error *error) {
    struct elf_packed packed = {0};
    enum err err;
    if (section->flags & SHF_COMPRESSED)
        err = read_chdr(file, stored, &packed, error);
    else
        err = read_zdebug_header(stored, &packed, error);
    if (!err)
        err = check_claim(&packed, error);
    if (err)
        return prefix_section(section, error);
    *ret_packed = packed;
    return ERR_OK;
}

enum err elf_section_packed(const struct elf_file *file, const struct elf_section *section,
                            struct elf_packed *ret_packed, struct error *error) {
    struct span stored = {NULL, 0};
    enum err err = elf_section_stored(file, section, &stored, error);
    if (err)
        return err;
    bool compressed = (section->flags & SHF_COMPRESSED) ||
                      span_starts_with(section->name, ".zdebug_");
    if (stored.size > 0 && compressed)
        return read_packed(file, section, stored, ret_packed, error);
    *ret_packed = (struct elf_packed){
        .compression = ELF_COMPRESSION_NONE, .stored = stored, .size = stored.size};
    return ERR_OK;
}

enum err elf_inflate_reserve(struct elf_file *file, uint64_t size, struct error *error) {
    if (size > file->inflated_size_max - file->inflated_size)
        return error_set(error, ERR_LIMIT,
                         "inflated sections would take over %" PRIu64 " bytes in all",
                         file->inflated_size_max);
    file->inflated_size += size;
    return ERR_OK;
}

/* Some linkers glued compressed inputs together: then one section holds several streams. */
static enum err inflate_zlib(const struct elf_packed *packed, char *target, struct error *error) {
    CLEANUP(cleanup_deflate)
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (!decompressor)
        return error_set(error, ERR_NO_MEMORY, "no memory for a decompressor");
    struct span in = packed->stored;
    size_t done = 0;
    while (done < packed->size) {
        size_t used = 0;
        size_t made = 0;
        enum libdeflate_result result = libdeflate_zlib_decompress_ex(
            decompressor, in.data, in.size, target + done, packed->size - done, &used, &made);
        if (result != LIBDEFLATE_SUCCESS)
            return error_set(error, ERR_MALFORMED, "its zlib stream is damaged");
        assert(used > 0 && used <= in.size);
        in = span_of(in.data + used, in.size - used);
        done += made;
    }
    return ERR_OK;
}

static enum err inflate_zstd(const struct elf_packed *packed, char *target, struct error *error) {
    size_t made = ZSTD_decompress(target, packed->size, packed->stored.data, packed->stored.size);
    if (ZSTD_isError(made))
        return error_set(error, ERR_MALFORMED, "its zstd stream is damaged: %s",
                         ZSTD_getErrorName(made));
    if (made != packed->size)
        return error_set(error, ERR_MALFORMED, "it holds %zu bytes instead of the claimed %" PRIu64,
                         made, packed->size);
    return ERR_OK;
}

enum err elf_inflate(const struct elf_packed *packed, char *target, struct error *error) {
    switch (packed->compression) {
    case ELF_COMPRESSION_ZLIB:
        return inflate_zlib(packed, target, error);
    case ELF_COMPRESSION_ZSTD:
        return inflate_zstd(packed, target, error);
    case ELF_COMPRESSION_NONE:
        break;
    }
    if (packed->size > 0)
        memcpy(target, packed->stored.data, packed->size);
    return ERR_OK;
}

static enum err inflate_slot(struct elf_file *file, const struct elf_section *section,
                             const struct elf_packed *packed, bool is_relocated,
                             struct error *error) {
    enum err err = elf_inflate_reserve(file, packed->size, error);
    if (err)
        return err;
    CLEANUP(cleanup_free) char *bytes = malloc(packed->size ? packed->size : 1);
    err = bytes ? elf_inflate(packed, bytes, error)
                : error_set(error, ERR_NO_MEMORY, "no memory for %" PRIu64 " inflated bytes",
                            packed->size);
    if (!err && is_relocated)
        err = elf_relocate(file, section, bytes, packed->size, error);
    if (err) {
        file->inflated_size -= packed->size;
        return err;
    }
    *elf_file_slot(file, section) = (struct elf_contents_slot){
        .bytes = TAKE(bytes), .size = packed->size, .is_known = true, .is_owned = true};
    return ERR_OK;
}

enum err elf_file_section_data(struct elf_file *file, const struct elf_section *section,
                               struct span *ret_bytes, struct error *error) {
    struct elf_contents_slot *slot = elf_file_slot(file, section);
    if (!slot->is_known) {
        struct elf_packed packed = {0};
        enum err err = elf_section_packed(file, section, &packed, error);
        if (err)
            return err;
        bool is_relocated = elf_section_is_relocated(file, section);
        if (packed.compression == ELF_COMPRESSION_NONE && !is_relocated) {
            *ret_bytes = packed.stored;
            return ERR_OK;
        }
        err = inflate_slot(file, section, &packed, is_relocated, error);
        if (err)
            return prefix_section(section, error);
    }
    *ret_bytes = span_of(slot->bytes, slot->size);
    return ERR_OK;
}
