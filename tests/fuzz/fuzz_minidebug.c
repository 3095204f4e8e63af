/*
 * Property: whatever stands in .gnu_debugdata, the file opens and its symbols keep the promises of
 * their header; a stream comes out as liblzma's own one-shot decoder gives it, or is refused with a
 * reason. The first byte says whether the rest is a stream, or an ELF file to be packed into one
 * (a damaged stream rarely gets past its checksums).
 */
#include <assert.h>
#include <lzma.h>

#include "debuginfo/contents.h"
#include "debuginfo/symtab_source.h"
#include "debuginfo/xz.h"
#include "tests/support/elf_image.h"

#define OUTPUT_SIZE_MAX ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack(struct span bytes, struct buffer *out) {
    size_t bound = lzma_stream_buffer_bound(bytes.size);
    uint8_t *room = (uint8_t *)buffer_reserve(out, bound);
    assert(room);
    lzma_ret result = lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL,
                                              (const uint8_t *)bytes.data, bytes.size, room,
                                              &out->size, bound);
    assert(result == LZMA_OK);
}

/* What a second decoder makes of it; false if it refuses. */
static bool decode_at_once(struct span stream, struct buffer *out) {
    uint64_t memory_max = XZ_MEMORY_MAX;
    size_t in = 0;
    uint8_t *room = (uint8_t *)buffer_reserve(out, OUTPUT_SIZE_MAX);
    assert(room);
    return lzma_stream_buffer_decode(&memory_max, LZMA_CONCATENATED, NULL,
                                     (const uint8_t *)stream.data, &in, stream.size, room,
                                     &out->size, OUTPUT_SIZE_MAX) == LZMA_OK;
}

static void check_stream(struct span stream) {
    CLEANUP(buffer_clear) struct buffer ours = {.size_max = OUTPUT_SIZE_MAX};
    CLEANUP(buffer_clear) struct buffer theirs = {0};
    struct error error = {0};
    enum err err = xz_inflate(stream, &ours, &error);
    assert(!err || (error.code == err && error.text[0]));
    assert(ours.size <= OUTPUT_SIZE_MAX);
    bool decoded = decode_at_once(stream, &theirs);
    if (err == ERR_OK)
        assert(decoded && span_equal(buffer_span(&ours), buffer_span(&theirs)));
    else
        assert(!decoded || theirs.size == OUTPUT_SIZE_MAX);
}

static enum err take_symbol(struct symbol_sink *base, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)base;
    (void)error;
    assert(symbol->begin < symbol->end && symbol->name.size > 0);
    assert(symbol->begin >= 0x1000 && symbol->end <= 0x100000);
    return ERR_OK;
}

static void take_damage(struct symbol_sink *base, const char *what) {
    (void)base;
    assert(what[0]);
}

static void check_symbols(struct elf_file *file) {
    static const struct symbol_sink_ops ops = {.symbol = take_symbol, .damage = take_damage};
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct symbol_sink sink = {.ops = &ops};
    struct error error;
    enum err err = symtab_source_new(file, &source, &error);
    assert(err == ERR_OK);
    err = source->ops->push(source, &sink, &error);
    assert(err == ERR_OK);
}

static void check_file(struct span stream) {
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add(image, &(struct elf_image_section){.name = ".text",
                                                     .type = SHT_NOBITS,
                                                     .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                     .address = 0x1000,
                                                     .claimed_size = 0xff000});
    elf_image_add_bytes(image, ".gnu_debugdata", stream);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct elf_limits limits = {.inflated_size_max = OUTPUT_SIZE_MAX};
    struct error error;
    enum err err =
        elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), &limits, &file, &error);
    assert(err == ERR_OK);
    struct elf_contents contents;
    elf_contents_read(file, &contents);
    check_symbols(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct span rest = span_of(data + 1, size - 1);
    CLEANUP(buffer_clear) struct buffer packed = {0};
    if (data[0] & 1)
        pack(rest, &packed);
    struct span stream = data[0] & 1 ? buffer_span(&packed) : rest;
    check_stream(stream);
    check_file(stream);
    return 0;
}
