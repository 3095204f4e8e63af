#include "debuginfo/debug_link.h"

#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static enum err read_link(bool big_endian, struct span bytes, struct debug_link *ret_link) {
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, big_endian, ET_DYN, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct error error = {0};
    /* One byte before, so that the section begins at no multiple of four. */
    elf_image_add_bytes(image, ".odd", span_cstr("x"));
    elf_image_add_bytes(image, ".gnu_debuglink", bytes);
    assert_int_equal(
        elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_UNALIGNED), NULL, &file, &error),
        ERR_OK);
    enum err err = debug_link_read(file, ret_link, &error);
    assert_true(!err || error.text[0]);
    return err;
}

static void padding_counts_from_the_sections_start(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *name;
    } cases[] = {
        {"a.debug\0\1\2\3\4", 12, "a.debug"},
        {"ab.debug\0\0\0\0\1\2\3\4", 16, "ab.debug"},
        {"abc\0\1\2\3\4", 8, "abc"},
        {"abcde\0\0\0\1\2\3\4", 12, "abcde"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct debug_link link;
        struct span bytes = span_of(cases[i].bytes, cases[i].size);
        assert_int_equal(read_link(false, bytes, &link), ERR_OK);
        assert_string_equal(link.name, cases[i].name);
        assert_int_equal(link.crc, 0x04030201);
        assert_int_equal(read_link(true, bytes, &link), ERR_OK);
        assert_int_equal(link.crc, 0x01020304);
    }
}

static void what_is_no_file_name_is_refused(void **state) {
    (void)state;
    static const struct span cases[] = {
        {"\0\0\0\0\1\2\3\4", 8}, {"../x\0\0\0\0\1\2\3\4", 12}, {"..\0\0\1\2\3\4", 8},
        {"a\nb\0\1\2\3\4", 8},   {"abc\0\1\2\3", 7},           {"abcdefgh", 8},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct debug_link link;
        assert_int_equal(read_link(false, cases[i], &link), ERR_MALFORMED);
    }
}

static void a_section_without_bytes_is_no_link(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct debug_link link;
    struct error error;
    elf_image_add(image, &(struct elf_image_section){
                             .name = ".gnu_debuglink", .type = SHT_NOBITS, .claimed_size = 12});
    assert_int_equal(
        elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), NULL, &file, &error),
        ERR_OK);
    assert_int_equal(debug_link_read(file, &link, &error), ERR_NOT_FOUND);
}

/* The check value that every description of this CRC gives. */
static void the_checksum_is_the_usual_crc_32(void **state) {
    (void)state;
    assert_true(debug_link_crc(span_cstr("123456789")) == 0xcbf43926);
    assert_true(debug_link_crc(span_cstr("")) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_counts_from_the_sections_start),
        cmocka_unit_test(what_is_no_file_name_is_refused),
        cmocka_unit_test(a_section_without_bytes_is_no_link),
        cmocka_unit_test(the_checksum_is_the_usual_crc_32),
    };
    return cmocka_run_group_tests_name("debug_link", tests, NULL, NULL);
}
