#include "debuginfo/elf_file.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static struct elf_file *open_image(struct elf_image *image, uint64_t inflated_size_max) {
    const struct elf_limits limits = {.inflated_size_max = inflated_size_max};
    struct elf_file *file;
    struct error error;
    assert_int_equal(
        elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), &limits, &file, &error),
        ERR_OK);
    return file;
}

static void add_group_piece(struct elf_image *image, const char *text) {
    elf_image_add(image, &(struct elf_image_section){.name = ".debug_info",
                                                     .type = SHT_PROGBITS,
                                                     .flags = SHF_GROUP,
                                                     .bytes = span_cstr(text)});
}

static void pieces_are_joined_those_in_no_group_first(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
    add_group_piece(image, "type1,");
    elf_image_add_bytes(image, ".debug_info", span_cstr("unit,"));
    elf_image_add_bytes(image, ".debug_infos", span_cstr("other"));
    elf_image_add_packed(image, ".debug_info", span_cstr("packed,"), ELF_IMAGE_ZLIB, 0);
    add_group_piece(image, "type2");
    CLEANUP(cleanup_elf_file) struct elf_file *file = open_image(image, 0);
    struct error error;
    struct span bytes;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(elf_file_joined_data(file, ".debug_info", &bytes, &error), ERR_OK);
        assert_true(span_equal_cstr(bytes, "unit,packed,type1,type2"));
    }
    struct span again;
    assert_int_equal(elf_file_joined_data(file, ".debug_info", &again, &error), ERR_OK);
    assert_ptr_equal(again.data, bytes.data);
}

static void one_section_stays_where_it_is(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add_bytes(image, ".debug_info", span_cstr("unit"));
    CLEANUP(cleanup_elf_file) struct elf_file *file = open_image(image, 0);
    struct error error;
    struct span bytes;
    assert_int_equal(elf_file_joined_data(file, ".debug_info", &bytes, &error), ERR_OK);
    struct span whole = elf_file_bytes(file);
    assert_true(bytes.data >= whole.data && bytes.data < whole.data + whole.size);
    assert_true(span_equal_cstr(bytes, "unit"));
    assert_int_equal(elf_file_joined_data(file, ".debug_types", &bytes, &error), ERR_OK);
    assert_int_equal(bytes.size, 0);
}

static void joining_counts_as_inflating(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
    elf_image_add_bytes(image, ".debug_info", span_cstr("0123456789"));
    elf_image_add_bytes(image, ".debug_info", span_cstr("0123456789"));
    CLEANUP(cleanup_elf_file) struct elf_file *file = open_image(image, 19);
    struct error error;
    struct span bytes;
    assert_int_equal(elf_file_joined_data(file, ".debug_info", &bytes, &error), ERR_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_joined_those_in_no_group_first),
        cmocka_unit_test(one_section_stays_where_it_is),
        cmocka_unit_test(joining_counts_as_inflating),
    };
    return cmocka_run_group_tests_name("elf_joined", tests, NULL, NULL);
}
