#include "debuginfo/identity.h"

#include <stdio.h>

#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static const char build_id[20] = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"
                                 "\xde\xad\xbe\xef";
static const char build_id_text[] = "0123456789abcdef0123456789abcdefdeadbeef";
static const char go_id[] = "abc/def/ghi_-/x";

static struct elf_identity identity_of(struct span bytes) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct error error = {0};
    if (elf_file_open_memory(bytes, NULL, &file, &error))
        fail_msg("%s", error.text);
    struct elf_identity identity;
    elf_identity_read(file, &identity);
    return identity;
}

static uint32_t add_note(struct elf_image *image, struct span note) {
    return elf_image_add(image,
                         &(struct elf_image_section){
                             .name = ".note", .type = SHT_NOTE, .flags = SHF_ALLOC, .bytes = note});
}

static struct span gnu_note(struct elf_image *image, size_t alignment) {
    return elf_image_note(image, "GNU", NT_GNU_BUILD_ID, span_of(build_id, sizeof(build_id)),
                          alignment);
}

static void finds_both_ids_in_every_class_and_byte_order(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(i & 1, i & 2, ET_EXEC, EM_X86_64);
        add_note(image, elf_image_note(image, "Go", 4, span_cstr(go_id), 4));
        add_note(image, gnu_note(image, 4));
        struct elf_identity identity = identity_of(elf_image_finish(image, ELF_IMAGE_UNALIGNED));
        assert_true(identity.has_gnu);
        assert_int_equal(identity.gnu.kind, BINARY_ID_GNU);
        assert_string_equal(identity.gnu.text, build_id_text);
        assert_true(identity.has_go);
        assert_int_equal(identity.go.kind, BINARY_ID_GO);
        assert_string_equal(identity.go.text, go_id);
        assert_int_equal(identity.htlhash.kind, BINARY_ID_HTLHASH);
        assert_int_equal(strlen(identity.htlhash.text), 32);
    }
}

static void reads_the_note_as_the_go_linker_writes_it(void **state) {
    (void)state;
    static const char note[] = "\4\0\0\0\3\0\0\0\4\0\0\0Go\0\0a/b";
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    add_note(image, span_of(note, sizeof(note) - 1));
    struct elf_identity identity = identity_of(elf_image_finish(image, 0));
    assert_true(identity.has_go);
    assert_string_equal(identity.go.text, "a/b");
}

/* Notes of one section one after another, each padded to the alignment. */
static void check_second_note(size_t alignment) {
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    struct span odd = elf_image_note(image, "Linux", 0x101, span_cstr("12345"), alignment);
    struct span gnu = gnu_note(image, alignment);
    char notes[256];
    memcpy(notes, odd.data, odd.size);
    memcpy(notes + odd.size, gnu.data, gnu.size);
    add_note(image, span_of(notes, odd.size + gnu.size));
    struct elf_identity identity = identity_of(elf_image_finish(image, 0));
    assert_true(identity.has_gnu);
    assert_string_equal(identity.gnu.text, build_id_text);
    assert_false(identity.has_go);
}

static void finds_a_note_behind_others_padded_to_four_or_eight(void **state) {
    (void)state;
    check_second_note(4);
    check_second_note(8);
}

static void finds_the_note_in_a_segment_when_there_are_no_sections(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    struct span note = gnu_note(image, 4);
    add_note(image, note);
    uint64_t offset = (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 15) & ~(uint64_t)15;
    elf_image_add_segment(
        image, &(struct elf_image_segment){PT_NOTE, PF_R, offset, 0, note.size, note.size});
    struct elf_identity identity = identity_of(elf_image_finish(image, ELF_IMAGE_NO_SECTION_TABLE));
    assert_true(identity.has_gnu);
    assert_string_equal(identity.gnu.text, build_id_text);
}

static void a_stale_segment_does_not_speak_for_the_file(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    struct span note = gnu_note(image, 4);
    elf_image_add_bytes(image, ".comment", note);
    add_note(image, elf_image_note(image, "Go", 4, span_cstr(go_id), 4));
    uint64_t offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 1;
    elf_image_add_segment(
        image, &(struct elf_image_segment){PT_NOTE, PF_R, offset, 0, note.size, note.size});
    struct elf_identity identity = identity_of(elf_image_finish(image, ELF_IMAGE_UNALIGNED));
    assert_false(identity.has_gnu);
    assert_true(identity.has_go);
}

static void a_segment_outside_the_file_is_not_read(void **state) {
    (void)state;
    static const struct elf_image_segment segments[] = {
        {PT_NOTE, PF_R, UINT64_MAX - 8, 0, 64, 64},
        {PT_NOTE, PF_R, 16, 0, UINT64_MAX, 64},
        {PT_NOTE, PF_R, 16, 0, 3, 3},
    };
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, true, ET_DYN, EM_X86_64);
    for (size_t i = 0; i < ARRAY_SIZE(segments); i++)
        elf_image_add_segment(image, &segments[i]);
    struct elf_identity identity = identity_of(elf_image_finish(image, ELF_IMAGE_NO_SECTION_TABLE));
    assert_false(identity.has_gnu);
    assert_false(identity.has_go);
}

static void ids_that_identify_nothing_count_as_absent(void **state) {
    (void)state;
    static const char zeros[20] = {0};
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    add_note(image, elf_image_note(image, "GNU", NT_GNU_BUILD_ID, span_of(zeros, 20), 4));
    add_note(image, elf_image_note(image, "GNU", NT_GNU_BUILD_ID, span_of("x", 1), 4));
    add_note(image, elf_image_note(image, "Go", 4, span_cstr("redacted"), 4));
    add_note(image, elf_image_note(image, "Xen", NT_GNU_BUILD_ID, span_of(build_id, 20), 4));
    struct elf_identity identity = identity_of(elf_image_finish(image, 0));
    assert_false(identity.has_gnu);
    assert_false(identity.has_go);
}

static void a_note_cut_short_counts_as_absent(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *whole = elf_image_new(true, false, ET_DYN, EM_X86_64);
    struct span note = gnu_note(whole, 4);
    for (size_t size = 0; size <= note.size; size++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
        add_note(image, span_of(note.data, size));
        struct elf_identity identity = identity_of(elf_image_finish(image, 0));
        assert_int_equal(identity.has_gnu, size == note.size);
    }
}

/* The first vector is published with the hash's definition; the others were computed by another
 * implementation (Python's hashlib) from that definition. */
static void htlhash_agrees_with_published_vectors(void **state) {
    (void)state;
    char bytes[10000] = {0};
    assert_string_equal(identity_htlhash(span_of(bytes, 123)).text,
                        "f4c1e5fe2f28034fcceb0776ec00b125");
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i % 251);
    assert_string_equal(identity_htlhash(span_of(bytes, 0)).text,
                        "af5570f5a1810b7af78caf4bc70a660f");
    assert_string_equal(identity_htlhash(span_of(bytes, 4096)).text,
                        "6c3376bc183b0a4994bc0b2c2c9d8b05");
    assert_string_equal(identity_htlhash(span_of(bytes, 6000)).text,
                        "02b3bcc198f1eea9280198f85d4ad01e");
    assert_string_equal(identity_htlhash(span_of(bytes, 10000)).text,
                        "29e3194e821b97b5565d43a5156ad97a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_both_ids_in_every_class_and_byte_order),
        cmocka_unit_test(reads_the_note_as_the_go_linker_writes_it),
        cmocka_unit_test(finds_a_note_behind_others_padded_to_four_or_eight),
        cmocka_unit_test(finds_the_note_in_a_segment_when_there_are_no_sections),
        cmocka_unit_test(a_stale_segment_does_not_speak_for_the_file),
        cmocka_unit_test(a_segment_outside_the_file_is_not_read),
        cmocka_unit_test(ids_that_identify_nothing_count_as_absent),
        cmocka_unit_test(a_note_cut_short_counts_as_absent),
        cmocka_unit_test(htlhash_agrees_with_published_vectors),
    };
    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
