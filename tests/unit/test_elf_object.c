#include "debuginfo/elf_object.h"

#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static void add(struct elf_image *image, const char *name, uint64_t flags, uint64_t size) {
    elf_image_add(image,
                  &(struct elf_image_section){
                      .name = name, .type = SHT_NOBITS, .flags = flags, .claimed_size = size});
}

static enum err open_image(struct elf_image *image, struct elf_file **ret_file) {
    struct error error = {0};
    return elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), NULL, ret_file, &error);
}

static uint64_t address_of(const struct elf_file *file, const char *section, uint64_t offset) {
    uint64_t address;
    return elf_file_section_address(file, span_cstr(section), offset, &address) ? address : 0;
}

static void every_allocated_section_has_a_place_of_its_own(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    add(image, ".text", SHF_ALLOC | SHF_EXECINSTR, 0);
    add(image, ".text.a", SHF_ALLOC | SHF_EXECINSTR, 0x20);
    add(image, ".comment", 0, 0x100);
    add(image, ".text.a", SHF_ALLOC | SHF_EXECINSTR, 0x40);
    add(image, ".data", SHF_ALLOC | SHF_WRITE, 8);
    assert_int_equal(open_image(image, &file), ERR_OK);
    assert_int_equal(elf_file_section(file, 0)->address, ELF_OBJECT_BASE);
    assert_int_equal(elf_file_section(file, 1)->address, ELF_OBJECT_BASE + 0x10);
    assert_int_equal(elf_file_section(file, 2)->address, 0);
    assert_int_equal(elf_file_section(file, 3)->address, ELF_OBJECT_BASE + 0x40);
    assert_int_equal(elf_file_section(file, 4)->address, ELF_OBJECT_BASE + 0x90);
    assert_true(elf_file_is_executable(file, ELF_OBJECT_BASE + 0x7f));
    assert_false(elf_file_is_executable(file, ELF_OBJECT_BASE + 0x80));
}

static void an_offset_is_found_in_a_section_that_is_large_enough(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    uint64_t address = 0;
    add(image, ".data", SHF_ALLOC | SHF_WRITE, 0x1000);
    add(image, ".text", SHF_ALLOC | SHF_EXECINSTR, 0x20);
    add(image, ".text", SHF_ALLOC | SHF_EXECINSTR, 0x40);
    assert_int_equal(open_image(image, &file), ERR_OK);
    uint64_t first = elf_file_section(file, 1)->address;
    uint64_t second = elf_file_section(file, 2)->address;
    assert_int_equal(address_of(file, ".text", 0x1f), first + 0x1f);
    assert_int_equal(address_of(file, ".text", 0x20), second + 0x20);
    assert_int_equal(address_of(file, ".text", 0x40), 0);
    assert_int_equal(address_of(file, ".shstrtab", 0), 0);
    assert_true(elf_file_code_address(file, 0x3f, &address));
    assert_int_equal(address, second + 0x3f);
    assert_false(elf_file_code_address(file, 0x40, &address));
    assert_false(elf_file_code_address(file, first, &address));
}

static void a_linked_file_keeps_its_addresses(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    uint64_t address;
    elf_image_add(image, &(struct elf_image_section){.name = ".text",
                                                     .type = SHT_NOBITS,
                                                     .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                     .address = 0x1000,
                                                     .claimed_size = 0x100});
    assert_int_equal(open_image(image, &file), ERR_OK);
    assert_int_equal(address_of(file, ".text", 0x10), 0x1010);
    assert_false(elf_file_code_address(file, 0x10, &address));
}

static void sections_that_fit_no_address_space_are_refused(void **state) {
    (void)state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 0x10000000, (uint64_t)1 << 48};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
        struct elf_file *file = NULL;
        add(image, ".bss", SHF_ALLOC | SHF_WRITE, sizes[i]);
        assert_int_equal(open_image(image, &file), ERR_MALFORMED);
    }
}

/* A type unit of DWARF 5 is a .debug_info of its own that the linker may drop. */
static void debug_sections_of_groups_come_last(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    elf_image_add(image, &(struct elf_image_section){.name = ".debug_info",
                                                     .type = SHT_PROGBITS,
                                                     .flags = SHF_GROUP,
                                                     .bytes = {"type", 4}});
    elf_image_add_bytes(image, ".debug_info", span_cstr("unit"));
    assert_int_equal(open_image(image, &file), ERR_OK);
    assert_int_equal(elf_file_section_by_name(file, ".debug_info")->index, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocated_section_has_a_place_of_its_own),
        cmocka_unit_test(an_offset_is_found_in_a_section_that_is_large_enough),
        cmocka_unit_test(a_linked_file_keeps_its_addresses),
        cmocka_unit_test(sections_that_fit_no_address_space_are_refused),
        cmocka_unit_test(debug_sections_of_groups_come_last),
    };
    return cmocka_run_group_tests_name("elf_object", tests, NULL, NULL);
}
