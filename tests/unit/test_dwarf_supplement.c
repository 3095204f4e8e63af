#include "debuginfo/dwarf_supplement.h"

#include "tests/support/dwarf_bytes.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

/* An ELF file with one section and, if it has bytes, a build ID. */
struct opened {
    struct elf_image *image;
    struct elf_file *file;
};

static void opened_clear(struct opened *opened) {
    elf_file_free(opened->file);
    elf_image_free(opened->image);
}

static struct opened open_with(const char *section, struct span bytes, struct span build_id) {
    struct opened opened = {.image = elf_image_new(true, false, ET_DYN, EM_X86_64)};
    struct error error;
    if (section)
        elf_image_add_bytes(opened.image, section, bytes);
    if (build_id.size > 0) {
        struct span note = elf_image_note(opened.image, "GNU", NT_GNU_BUILD_ID, build_id, 4);
        elf_image_add(opened.image, &(struct elf_image_section){.name = ".note.gnu.build-id",
                                                                .type = SHT_NOTE,
                                                                .flags = SHF_ALLOC,
                                                                .bytes = note});
    }
    assert_int_equal(elf_file_open_memory(elf_image_finish(opened.image, ELF_IMAGE_PLAIN), NULL,
                                          &opened.file, &error),
                     ERR_OK);
    return opened;
}

static const char id_a[] = "\x12\x34\x56\x78";
static const char id_b[] = "\x12\x34\x56\x79";

static struct span id_of(const char *id) {
    return span_of(id, 4);
}

static void an_altlink_names_the_file_with_its_build_id(void **state) {
    (void)state;
    struct span none = {NULL, 0};
    CLEANUP(opened_clear)
    struct opened file =
        open_with(".gnu_debugaltlink", span_of("../common\0\x12\x34\x56\x78", 14), none);
    CLEANUP(opened_clear) struct opened right = open_with(NULL, none, id_of(id_a));
    CLEANUP(opened_clear) struct opened wrong = open_with(NULL, none, id_of(id_b));
    CLEANUP(opened_clear) struct opened nameless = open_with(".comment", span_of("x", 2), none);
    struct dwarf_supplement_link link;
    assert_true(dwarf_supplement_link_read(file.file, &link));
    assert_false(link.is_standard);
    assert_true(span_equal_cstr(link.path, "../common"));
    assert_true(span_equal(link.id, id_of(id_a)));
    assert_true(dwarf_supplement_fits(right.file, &link));
    assert_false(dwarf_supplement_fits(wrong.file, &link));
    assert_false(dwarf_supplement_fits(nameless.file, &link));
    assert_false(dwarf_supplement_fits(file.file, &link));
}

static struct opened open_sup(uint16_t version, bool is_supplement, const char *id,
                              uint64_t claimed_size) {
    struct dwarf_bytes bytes = {.big_endian = false};
    put_number(&bytes, 2, version);
    put_u8(&bytes, is_supplement);
    put_text(&bytes, is_supplement ? "" : "common");
    put_uleb(&bytes, claimed_size);
    put_bytes(&bytes, id_of(id));
    struct opened opened =
        open_with(".debug_sup", dwarf_bytes_span(&bytes), (struct span){NULL, 0});
    dwarf_bytes_clear(&bytes);
    return opened;
}

static void a_debug_sup_means_the_file_with_its_checksum(void **state) {
    (void)state;
    CLEANUP(opened_clear) struct opened file = open_sup(5, false, id_a, 4);
    CLEANUP(opened_clear) struct opened right = open_sup(5, true, id_a, 4);
    CLEANUP(opened_clear) struct opened wrong = open_sup(5, true, id_b, 4);
    CLEANUP(opened_clear) struct opened shorter = open_sup(5, true, id_a, 3);
    struct dwarf_supplement_link link;
    assert_true(dwarf_supplement_link_read(file.file, &link));
    assert_true(link.is_standard);
    assert_true(span_equal_cstr(link.path, "common"));
    assert_true(dwarf_supplement_fits(right.file, &link));
    assert_false(dwarf_supplement_fits(wrong.file, &link));
    assert_false(dwarf_supplement_fits(shorter.file, &link));
    assert_false(
        dwarf_supplement_fits(file.file, &link)); /* the same checksum, but no supplement */
    assert_false(dwarf_supplement_link_read(right.file, &link));
}

static void what_breaks_its_format_is_no_link(void **state) {
    (void)state;
    struct span none = {NULL, 0};
    struct dwarf_supplement_link link;
    CLEANUP(opened_clear)
    struct opened no_id = open_with(".gnu_debugaltlink", span_of("common", 7), none);
    CLEANUP(opened_clear)
    struct opened no_nul = open_with(".gnu_debugaltlink", span_of("common", 6), none);
    CLEANUP(opened_clear) struct opened old = open_sup(4, false, id_a, 4);
    CLEANUP(opened_clear) struct opened long_one = open_sup(5, false, id_a, 5);
    CLEANUP(opened_clear) struct opened huge = open_sup(5, false, id_a, UINT64_MAX);
    CLEANUP(opened_clear) struct opened empty = open_sup(5, false, id_a, 0);
    struct elf_file *const files[] = {no_id.file,    no_nul.file, old.file,
                                      long_one.file, huge.file,   empty.file};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        assert_false(dwarf_supplement_link_read(files[i], &link));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_altlink_names_the_file_with_its_build_id),
        cmocka_unit_test(a_debug_sup_means_the_file_with_its_checksum),
        cmocka_unit_test(what_breaks_its_format_is_no_link),
    };
    return cmocka_run_group_tests_name("dwarf_supplement", tests, NULL, NULL);
}
