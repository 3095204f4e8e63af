#include "debuginfo/contents.h"

#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static struct elf_contents contents_of(struct elf_image *image) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct error error = {0};
    if (elf_file_open_memory(elf_image_finish(image, 0), NULL, &file, &error))
        fail_msg("%s", error.text);
    struct elf_contents contents;
    elf_contents_read(file, &contents);
    return contents;
}

static struct elf_image *image_with_text(void) {
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add(image, &(struct elf_image_section){.name = ".text",
                                                     .type = SHT_NOBITS,
                                                     .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                     .address = 0x1000,
                                                     .claimed_size = 0x100});
    return image;
}

static const struct elf_image_symbol function = {"f", 0x1010, 4, STB_GLOBAL, STT_FUNC, 1};

static void everything_that_is_there_is_seen(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image) struct elf_image *image = image_with_text();
    elf_image_add_packed(image, ".debug_info", span_cstr("info"), ELF_IMAGE_ZSTD, 0);
    elf_image_add_bytes(image, ".debug_abbrev", span_cstr("abbrev"));
    elf_image_add_bytes(image, ".data.rel.ro.gopclntab", span_cstr("pclntab"));
    elf_image_add_symbols(image, ".symtab", &function, 1);
    elf_image_add_symbols(image, ".dynsym", &function, 1);
    struct elf_contents contents = contents_of(image);
    assert_true(contents.has_dwarf);
    assert_true(contents.has_pclntab);
    assert_true(contents.has_symtab);
    assert_true(contents.has_dynsym);
}

static void dwarf_needs_bytes_of_both_sections(void **state) {
    (void)state;
    static const struct {
        struct span info;
        struct span abbrev;
        bool want;
    } cases[] = {
        {{"i", 1}, {"a", 1}, true},
        {{"i", 1}, {"", 0}, false},
        {{"", 0}, {"a", 1}, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(cleanup_elf_image) struct elf_image *image = image_with_text();
        elf_image_add_bytes(image, ".debug_info", cases[i].info);
        elf_image_add_bytes(image, ".debug_abbrev", cases[i].abbrev);
        assert_int_equal(contents_of(image).has_dwarf, cases[i].want);
    }
}

static void dwarf_is_seen_in_compressed_sections(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image) struct elf_image *image = image_with_text();
    elf_image_add_packed(image, ".debug_info", span_cstr("info"), ELF_IMAGE_ZSTD, 0);
    elf_image_add_packed(image, ".zdebug_abbrev", span_cstr("a"), ELF_IMAGE_ZDEBUG, 0);
    assert_true(contents_of(image).has_dwarf);
}

static void a_name_alone_is_no_contents(void **state) {
    (void)state;
    static const struct elf_image_symbol others[] = {
        {"undefined", 0x1010, 4, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
        {"data", 0x1020, 4, STB_GLOBAL, STT_OBJECT, 1},
        {"elsewhere", 0x9000, 4, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(cleanup_elf_image) struct elf_image *image = image_with_text();
    elf_image_add(image, &(struct elf_image_section){
                             .name = ".debug_info", .type = SHT_NOBITS, .claimed_size = 99});
    elf_image_add_bytes(image, ".debug_abbrev", span_cstr("a"));
    elf_image_add(image, &(struct elf_image_section){
                             .name = ".gopclntab", .type = SHT_NOBITS, .claimed_size = 99});
    elf_image_add(image, &(struct elf_image_section){.name = ".data.gopclntab",
                                                     .type = SHT_PROGBITS,
                                                     .bytes = {"x", 1},
                                                     .claimed_size = (uint64_t)1 << 50});
    elf_image_add_symbols(image, ".symtab", others, ARRAY_SIZE(others));
    elf_image_add_symbols(image, ".dynsym", NULL, 0);
    struct elf_contents contents = contents_of(image);
    assert_false(contents.has_dwarf);
    assert_false(contents.has_pclntab);
    assert_false(contents.has_symtab);
    assert_false(contents.has_dynsym);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_is_there_is_seen),
        cmocka_unit_test(dwarf_needs_bytes_of_both_sections),
        cmocka_unit_test(dwarf_is_seen_in_compressed_sections),
        cmocka_unit_test(a_name_alone_is_no_contents),
    };
    return cmocka_run_group_tests_name("contents", tests, NULL, NULL);
}
