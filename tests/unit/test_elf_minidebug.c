#include "debuginfo/elf_minidebug.h"

#include <lzma.h>

#include "base/buffer.h"
#include "debuginfo/contents.h"
#include "debuginfo/symtab_source.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static struct elf_image *image_with_code(void) {
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add(image, &(struct elf_image_section){.name = ".text",
                                                     .type = SHT_NOBITS,
                                                     .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                     .address = 0x1000,
                                                     .claimed_size = 0x1000});
    return image;
}

static void pack(struct span bytes, struct buffer *out) {
    size_t bound = lzma_stream_buffer_bound(bytes.size);
    uint8_t *room = (uint8_t *)buffer_reserve(out, bound);
    assert_non_null(room);
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)bytes.data,
                                             bytes.size, room, &out->size, bound),
                     LZMA_OK);
}

static const struct elf_image_symbol hidden[] = {
    {"hidden", 0x1000, 0x10, STB_LOCAL, STT_FUNC, 1},
    {"shared", 0x1020, 0x10, STB_GLOBAL, STT_FUNC, 1},
    {"elsewhere", 0x8000, 0x10, STB_LOCAL, STT_FUNC, 1},
};

struct fixture {
    struct elf_image *inner;
    struct elf_image *image;
    struct buffer packed;
    struct elf_file *file;
};

static void fixture_clear(struct fixture *fixture) {
    elf_file_free(fixture->file);
    elf_image_free(fixture->inner);
    elf_image_free(fixture->image);
    buffer_clear(&fixture->packed);
}

/* The outer file exports `exported`; the inner one adds what `hidden` says. */
static struct fixture fixture_of(uint64_t inflated_size_max) {
    static const struct elf_image_symbol dynamic[] = {
        {"exported", 0x1020, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    struct fixture fixture = {.inner = image_with_code(), .image = image_with_code()};
    elf_image_add_symbols(fixture.inner, ".symtab", hidden, ARRAY_SIZE(hidden));
    pack(elf_image_finish(fixture.inner, ELF_IMAGE_PLAIN), &fixture.packed);
    elf_image_add_symbols(fixture.image, ".dynsym", dynamic, ARRAY_SIZE(dynamic));
    elf_image_add_bytes(fixture.image, ".gnu_debugdata", buffer_span(&fixture.packed));
    struct elf_limits limits = {.inflated_size_max = inflated_size_max};
    struct error error = {0};
    if (elf_file_open_memory(elf_image_finish(fixture.image, ELF_IMAGE_PLAIN), &limits,
                             &fixture.file, &error))
        fail_msg("%s", error.text);
    return fixture;
}

static void check_name(struct elf_file *file, uint64_t pc, const char *want) {
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct frame_list frames = {0};
    struct error error;
    assert_int_equal(symtab_source_new(file, &source, &error), ERR_OK);
    assert_int_equal(source->ops->resolve(source, pc, &frames, &error), ERR_OK);
    assert_int_equal(frames.count, want ? 1 : 0);
    if (want)
        assert_true(span_equal_cstr(frames.frames[0].name, want));
    frame_list_clear(&frames);
}

static void functions_inside_are_named_and_preferred_over_dynamic_ones(void **state) {
    (void)state;
    CLEANUP(fixture_clear) struct fixture fixture = fixture_of(0);
    check_name(fixture.file, 0x1008, "hidden");
    check_name(fixture.file, 0x1028, "shared");
}

static void what_lies_outside_the_outer_files_code_is_left_out(void **state) {
    (void)state;
    CLEANUP(fixture_clear) struct fixture fixture = fixture_of(0);
    check_name(fixture.file, 0x8000, NULL);
}

static void the_file_counts_as_one_with_a_symbol_table(void **state) {
    (void)state;
    CLEANUP(fixture_clear) struct fixture fixture = fixture_of(0);
    struct elf_contents contents;
    elf_contents_read(fixture.file, &contents);
    assert_true(contents.has_symtab);
}

static void the_inner_file_is_opened_once(void **state) {
    (void)state;
    CLEANUP(fixture_clear) struct fixture fixture = fixture_of(0);
    struct elf_file *first = NULL;
    struct elf_file *second = NULL;
    struct error error;
    assert_int_equal(elf_file_minidebug(fixture.file, &first, &error), ERR_OK);
    assert_int_equal(elf_file_minidebug(fixture.file, &second, &error), ERR_OK);
    assert_ptr_equal(first, second);
}

struct count_sink {
    struct symbol_sink base;
    size_t damage_count;
};

static enum err take_symbol(struct symbol_sink *base, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)base;
    (void)symbol;
    (void)error;
    return ERR_OK;
}

static void take_damage(struct symbol_sink *base, const char *what) {
    assert_non_null(strstr(what, ".gnu_debugdata"));
    ((struct count_sink *)base)->damage_count++;
}

static void one_over_the_limits_is_damage_and_the_rest_answers(void **state) {
    (void)state;
    static const struct symbol_sink_ops ops = {.symbol = take_symbol, .damage = take_damage};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_of(64);
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct count_sink sink = {.base.ops = &ops};
    struct error error;
    assert_int_equal(symtab_source_new(fixture.file, &source, &error), ERR_OK);
    assert_int_equal(source->ops->push(source, &sink.base, &error), ERR_OK);
    assert_int_equal(sink.damage_count, 1);
    check_name(fixture.file, 0x1028, "exported");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_inside_are_named_and_preferred_over_dynamic_ones),
        cmocka_unit_test(what_lies_outside_the_outer_files_code_is_left_out),
        cmocka_unit_test(the_file_counts_as_one_with_a_symbol_table),
        cmocka_unit_test(the_inner_file_is_opened_once),
        cmocka_unit_test(one_over_the_limits_is_damage_and_the_rest_answers),
    };
    return cmocka_run_group_tests_name("elf_minidebug", tests, NULL, NULL);
}
