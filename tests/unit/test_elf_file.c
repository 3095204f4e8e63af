#include "debuginfo/elf_file.h"

#include <elfutils/libdw.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

static struct elf_file *opened(struct span bytes) {
    struct elf_file *file = NULL;
    struct error error = {0};
    if (elf_file_open_memory(bytes, NULL, &file, &error))
        fail_msg("%s", error.text);
    return file;
}

static enum err open_error(struct span bytes) {
    struct elf_file *file = NULL;
    struct error error = {0};
    enum err err = elf_file_open_memory(bytes, NULL, &file, &error);
    elf_file_free(file);
    return err;
}

/* The bytes of a section, inflated; the reason as a failure of the test if they cannot be had. */
static struct span data_of(struct elf_file *file, const char *name) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    assert_non_null(section);
    struct span bytes = {NULL, 0};
    struct error error = {0};
    if (elf_file_section_data(file, section, &bytes, &error))
        fail_msg("%s", error.text);
    return bytes;
}

static enum err data_error(struct elf_file *file, const char *name, struct error *error) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    assert_non_null(section);
    struct span bytes;
    return elf_file_section_data(file, section, &bytes, error);
}

static const struct elf_image_section text_section = {
    .name = ".text",
    .type = SHT_PROGBITS,
    .flags = SHF_ALLOC | SHF_EXECINSTR,
    .address = 0x1000,
    .bytes = {"\x90\x90\x90\x90", 4},
};

/* --- headers -----------------------------------------------------------------------------------
 */

static void check_class_and_order(bool is_64, bool big_endian, unsigned shape) {
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(is_64, big_endian, ET_DYN, EM_AARCH64);
    elf_image_add(image, &text_section);
    elf_image_add_bytes(image, ".debug_str", span_cstr("strings"));
    elf_image_add_segment(image, &(struct elf_image_segment){PT_LOAD, PF_X, 5, 0x1000, 7, 9});
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, shape));
    const struct elf_header *header = elf_file_header(file);
    assert_int_equal(header->type, ET_DYN);
    assert_int_equal(header->machine, EM_AARCH64);
    assert_int_equal(header->is_64, is_64);
    assert_int_equal(header->big_endian, big_endian);
    assert_int_equal(elf_file_section_count(file), 3);
    const struct elf_section *text = elf_file_section(file, 0);
    assert_true(span_equal_cstr(text->name, ".text"));
    assert_int_equal(text->index, 1);
    assert_int_equal(text->address, 0x1000);
    assert_int_equal(text->flags, SHF_ALLOC | SHF_EXECINSTR);
    assert_true(span_equal_cstr(data_of(file, ".debug_str"), "strings"));
    assert_int_equal(elf_file_segment_count(file), 1);
    const struct elf_segment *segment = elf_file_segment(file, 0);
    assert_int_equal(segment->type, PT_LOAD);
    assert_int_equal(segment->flags, PF_X);
    assert_int_equal(segment->offset, 5);
    assert_int_equal(segment->address, 0x1000);
    assert_int_equal(segment->file_size, 7);
    assert_int_equal(segment->memory_size, 9);
    assert_int_equal(segment->alignment, 4);
}

static void reads_both_classes_and_byte_orders(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        check_class_and_order(i & 1, i & 2, ELF_IMAGE_PLAIN);
}

static void reads_unaligned_files_and_extended_counts(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        check_class_and_order(i & 1, i & 2, ELF_IMAGE_UNALIGNED | ELF_IMAGE_EXTENDED_COUNTS);
}

static void reads_seventy_thousand_sections(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_REL, EM_X86_64);
    for (int i = 0; i < 70000; i++)
        elf_image_add_bytes(image, ".text.f", span_cstr("x"));
    elf_image_add_bytes(image, ".debug_last", span_cstr("here"));
    CLEANUP(cleanup_elf_file)
    struct elf_file *file = opened(elf_image_finish(image, ELF_IMAGE_EXTENDED_COUNTS));
    assert_int_equal(elf_file_section_count(file), 70002);
    assert_int_equal(elf_file_section_by_name(file, ".debug_last")->index, 70001);
    assert_true(span_equal_cstr(data_of(file, ".debug_last"), "here"));
}

static void a_file_of_another_kind_is_refused(void **state) {
    (void)state;
    assert_int_equal(open_error(span_cstr("")), ERR_MALFORMED);
    assert_int_equal(open_error(span_cstr("#!/bin/sh\nexit 0\n")), ERR_MALFORMED);
    char ident[64] = {0x7f, 'E', 'L', 'F', 3, 1, 1};
    assert_int_equal(open_error(span_of(ident, sizeof(ident))), ERR_UNSUPPORTED);
    ident[EI_CLASS] = ELFCLASS64;
    ident[EI_DATA] = 7;
    assert_int_equal(open_error(span_of(ident, sizeof(ident))), ERR_UNSUPPORTED);
    ident[EI_DATA] = ELFDATA2LSB;
    ident[EI_VERSION] = 2;
    assert_int_equal(open_error(span_of(ident, sizeof(ident))), ERR_UNSUPPORTED);
}

static void section_headers_outside_the_file_are_refused(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add(image, &text_section);
    struct span bytes = elf_image_finish(image, ELF_IMAGE_PLAIN);
    assert_int_equal(open_error(span_of(bytes.data, bytes.size - 1)), ERR_MALFORMED);
}

static void an_absurd_count_of_sections_is_refused(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    struct span bytes = elf_image_finish(image, ELF_IMAGE_EXTENDED_COUNTS);
    uint64_t offset;
    memcpy(&offset, bytes.data + offsetof(Elf64_Ehdr, e_shoff), sizeof(offset));
    uint64_t counts[] = {UINT64_MAX, UINT64_MAX / sizeof(Elf64_Shdr) + 2, 1u << 21};
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        memcpy((char *)bytes.data + offset + offsetof(Elf64_Shdr, sh_size), &counts[i], 8);
        assert_int_equal(open_error(bytes), ERR_LIMIT);
    }
}

static void a_name_without_its_end_reads_as_empty(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add(image, &text_section);
    struct span bytes = elf_image_finish(image, ELF_IMAGE_PLAIN);
    char *last = memmem(bytes.data, bytes.size, ".shstrtab", 10);
    assert_non_null(last);
    last[9] = 'x'; /* the table's own last NUL */
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(bytes);
    assert_true(span_equal_cstr(elf_file_section(file, 0)->name, ".text"));
    assert_int_equal(elf_file_section(file, 1)->name.size, 0);
}

static void opens_from_a_descriptor_that_is_then_closed(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add_bytes(image, ".comment", span_cstr("hello"));
    struct span bytes = elf_image_finish(image, ELF_IMAGE_PLAIN);
    struct error error;
    int fd = memfd_create("elf", 0);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes.data, bytes.size, &error), ERR_OK);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    assert_int_equal(elf_file_open_fd(fd, NULL, &file, &error), ERR_OK);
    fd_close(fd);
    assert_true(span_equal_cstr(data_of(file, ".comment"), "hello"));
    assert_int_equal(elf_file_bytes(file).size, bytes.size);
}

/* --- lookup by name ----------------------------------------------------------------------------
 */

static void a_section_with_bytes_is_found_before_an_empty_one(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add(image, &(struct elf_image_section){
                             .name = ".debug_info", .type = SHT_NOBITS, .claimed_size = 9});
    elf_image_add_bytes(image, ".debug_info", span_cstr(""));
    elf_image_add_bytes(image, ".debug_info", span_cstr("third"));
    elf_image_add(image, &(struct elf_image_section){
                             .name = ".bss", .type = SHT_NOBITS, .claimed_size = 1 << 30});
    CLEANUP(cleanup_elf_file)
    struct elf_file *file = opened(elf_image_finish(image, ELF_IMAGE_PLAIN));
    assert_int_equal(elf_file_section_by_name(file, ".debug_info")->index, 3);
    assert_int_equal(elf_file_section_by_name(file, ".bss")->index, 4);
    assert_int_equal(data_of(file, ".bss").size, 0);
    assert_null(elf_file_section_by_name(file, ".text"));
}

/* --- inflating ---------------------------------------------------------------------------------
 */

static void check_packed(bool is_64, bool big_endian, enum elf_image_packing packing) {
    char contents[5000];
    for (size_t i = 0; i < sizeof(contents); i++)
        contents[i] = (char)(i % 7 * (i % 11));
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(is_64, big_endian, ET_EXEC, EM_PPC64);
    elf_image_add_packed(image, packing == ELF_IMAGE_ZDEBUG ? ".zdebug_line" : ".debug_line",
                         span_of(contents, sizeof(contents)), packing, 0);
    CLEANUP(cleanup_elf_file)
    struct elf_file *file = opened(elf_image_finish(image, ELF_IMAGE_UNALIGNED));
    struct span first = data_of(file, ".debug_line");
    assert_true(span_equal(first, span_of(contents, sizeof(contents))));
    assert_ptr_equal(data_of(file, ".debug_line").data, first.data);
}

static void inflates_every_kind_in_every_class_and_byte_order(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        check_packed(i & 1, i & 2, ELF_IMAGE_ZLIB);
        check_packed(i & 1, i & 2, ELF_IMAGE_ZSTD);
        check_packed(i & 1, i & 2, ELF_IMAGE_ZDEBUG);
    }
}

static void inflates_streams_glued_together(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *one = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add_packed(one, ".zdebug_str", span_cstr("first,"), ELF_IMAGE_ZDEBUG, 12);
    elf_image_add_packed(one, ".zdebug_two", span_cstr("second"), ELF_IMAGE_ZDEBUG, 0);
    CLEANUP(cleanup_elf_file) struct elf_file *parts = opened(elf_image_finish(one, 0));
    const struct elf_section *first = elf_file_section(parts, 0);
    const struct elf_section *second = elf_file_section(parts, 1);
    char glued[256];
    struct span bytes = elf_file_bytes(parts);
    memcpy(glued, bytes.data + first->offset, first->size);
    memcpy(glued + first->size, bytes.data + second->offset + 12, second->size - 12);
    CLEANUP(cleanup_elf_image)
    struct elf_image *both = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add_bytes(both, ".zdebug_str", span_of(glued, first->size + second->size - 12));
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(both, 0));
    assert_true(span_equal_cstr(data_of(file, ".debug_str"), "first,second"));
}

static void a_claim_that_no_stream_can_hold_is_refused_without_taking_memory(void **state) {
    (void)state;
    for (int packing = ELF_IMAGE_ZLIB; packing <= ELF_IMAGE_ZDEBUG; packing++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
        elf_image_add_packed(image, ".zdebug_info", span_cstr("tiny"),
                             (enum elf_image_packing)packing, (uint64_t)1 << 40);
        CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
        struct error error;
        assert_int_equal(data_error(file, ".debug_info", &error), ERR_MALFORMED);
        assert_non_null(strstr(error.text, "claim to hold 1099511627776"));
    }
}

static void a_stream_that_holds_more_or_less_than_it_claims_is_refused(void **state) {
    (void)state;
    for (int packing = ELF_IMAGE_ZLIB; packing <= ELF_IMAGE_ZDEBUG; packing++) {
        for (uint64_t claim = 3; claim <= 5; claim += 2) {
            CLEANUP(cleanup_elf_image)
            struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
            elf_image_add_packed(image, ".zdebug_info", span_cstr("tiny"),
                                 (enum elf_image_packing)packing, claim);
            CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
            struct error error;
            assert_int_equal(data_error(file, ".debug_info", &error), ERR_MALFORMED);
        }
    }
}

static void the_sum_of_inflated_sections_is_limited(void **state) {
    (void)state;
    char zeros[4096] = {0};
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    struct span contents = span_of(zeros, sizeof(zeros));
    elf_image_add_packed(image, ".debug_info", contents, ELF_IMAGE_ZLIB, 0);
    elf_image_add_packed(image, ".debug_line", contents, ELF_IMAGE_ZSTD, 0);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct error error;
    struct elf_limits limits = {.inflated_size_max = 6000};
    assert_int_equal(elf_file_open_memory(elf_image_finish(image, 0), &limits, &file, &error),
                     ERR_OK);
    assert_int_equal(data_of(file, ".debug_line").size, sizeof(zeros));
    assert_int_equal(data_error(file, ".debug_info", &error), ERR_LIMIT);
    assert_int_equal(data_of(file, ".debug_line").size, sizeof(zeros));
}

static void an_unknown_compression_is_unsupported(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(false, false, ET_EXEC, EM_386);
    elf_image_add(image, &(struct elf_image_section){.name = ".debug_info",
                                                     .type = SHT_PROGBITS,
                                                     .flags = SHF_COMPRESSED,
                                                     .bytes = {"\7\0\0\0\1\0\0\0\1\0\0\0x", 13}});
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
    struct error error;
    assert_int_equal(data_error(file, ".debug_info", &error), ERR_UNSUPPORTED);
}

static void a_section_outside_the_file_names_itself(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add(image, &(struct elf_image_section){.name = ".debug_info",
                                                     .type = SHT_PROGBITS,
                                                     .bytes = {"x", 1},
                                                     .claimed_size = UINT64_MAX - 10});
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
    struct error error;
    assert_int_equal(data_error(file, ".debug_info", &error), ERR_MALFORMED);
    assert_non_null(strstr(error.text, "section 1 (.debug_info)"));
}

/* --- executable extents ------------------------------------------------------------------------
 */

static void add_allocated(struct elf_image *image, const char *name, uint32_t type, uint64_t flags,
                          uint64_t address, uint64_t size) {
    elf_image_add(image, &(struct elf_image_section){.name = name,
                                                     .type = type,
                                                     .flags = SHF_ALLOC | flags,
                                                     .address = address,
                                                     .claimed_size = size});
}

static void check_extents(struct elf_image *image, unsigned shape, const struct pc_range *want,
                          size_t want_count, bool want_exact) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, shape));
    const struct pc_range *extents;
    size_t count;
    bool exact;
    elf_file_executable_extents(file, &extents, &count, &exact);
    assert_int_equal(count, want_count);
    assert_int_equal(exact, want_exact);
    for (size_t i = 0; i < want_count; i++) {
        assert_true(extents[i].begin == want[i].begin);
        assert_true(extents[i].end == want[i].end);
        assert_true(elf_file_is_executable(file, want[i].begin));
        assert_true(elf_file_is_executable(file, want[i].end - 1));
    }
    if (want_count > 0) {
        assert_false(elf_file_is_executable(file, want[0].begin - 1));
        assert_false(elf_file_is_executable(file, want[want_count - 1].end));
    }
}

static void extents_are_the_executable_sections(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    add_allocated(image, ".text", SHT_NOBITS, SHF_EXECINSTR, 0x2000, 0x100);
    add_allocated(image, ".plt", SHT_NOBITS, SHF_EXECINSTR, 0x1000, 0x20);
    add_allocated(image, ".overlap", SHT_NOBITS, SHF_EXECINSTR, 0x20f0, 0x20);
    add_allocated(image, ".touching", SHT_NOBITS, SHF_EXECINSTR, 0x1020, 0x10);
    add_allocated(image, ".data", SHT_NOBITS, SHF_WRITE, 0x3000, 0x100);
    check_extents(image, 0,
                  (struct pc_range[]){{0x1000, 0x1020}, {0x1020, 0x1030}, {0x2000, 0x2110}}, 3,
                  true);
}

static void a_lost_size_reaches_to_the_next_allocated_section(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add_segment(image, &(struct elf_image_segment){PT_NOTE, PF_R, 0x99999, 0, 36, 36});
    add_allocated(image, ".note", SHT_NOTE, 0, 0x300, 0);
    add_allocated(image, ".init", SHT_NOBITS, SHF_EXECINSTR, 0x1000, 0);
    add_allocated(image, ".text", SHT_NOBITS, SHF_EXECINSTR, 0x1040, 0);
    add_allocated(image, ".tbss", SHT_NOBITS, SHF_TLS | SHF_WRITE, 0x1044, 0);
    add_allocated(image, ".rodata", SHT_NOBITS, 0, 0x5000, 0);
    check_extents(image, ELF_IMAGE_UNALIGNED,
                  (struct pc_range[]){{0x1000, 0x1040}, {0x1040, 0x5000}}, 2, false);
}

static void a_lost_size_at_the_very_end_reaches_to_the_end_of_addresses(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(false, true, ET_EXEC, EM_PPC);
    add_allocated(image, ".text", SHT_NOBITS, SHF_EXECINSTR, 0x1040, 0);
    check_extents(image, 0, (struct pc_range[]){{0x1040, (uint64_t)1 << 32}}, 1, false);
}

static void without_sections_the_executable_segments_count(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    elf_image_add_segment(image, &(struct elf_image_segment){PT_LOAD, PF_R, 0, 0x1000, 0x10, 0x10});
    elf_image_add_segment(image,
                          &(struct elf_image_segment){PT_LOAD, PF_R | PF_X, 0, 0x2000, 0x10, 0x20});
    /* One at the last address has nothing in it. */
    elf_image_add_segment(image,
                          &(struct elf_image_segment){PT_LOAD, PF_X, 0, UINT64_MAX, 0x20, 0x20});
    check_extents(image, ELF_IMAGE_NO_SECTION_TABLE, (struct pc_range[]){{0x2000, 0x2020}}, 1,
                  false);
}

static void with_no_extent_known_every_address_is_live(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
    assert_true(elf_file_is_executable(file, 0));
    assert_true(elf_file_is_executable(file, UINT64_MAX));
}

static void a_section_past_the_end_of_addresses_is_cut_there(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    add_allocated(image, ".text", SHT_NOBITS, SHF_EXECINSTR, UINT64_MAX - 16, 64);
    check_extents(image, 0, (struct pc_range[]){{UINT64_MAX - 16, UINT64_MAX}}, 1, true);
}

/* --- the image for libdw -----------------------------------------------------------------------
 */

/* DWARF 4: one compile unit named "unit.c" without children, address size 8. */
static const char abbrev_bytes[] = "\1\x11\0\3\x08\0\0\0";
static const char info_le[] = "\x0f\0\0\0\4\0\0\0\0\0\x08\1unit.c";
static const char info_be[] = "\0\0\0\x0f\0\4\0\0\0\0\x08\1unit.c";

static void check_unit_name(struct elf_file *file) {
    Elf *elf = NULL;
    struct error error = {0};
    if (elf_file_debug_elf(file, &elf, &error))
        fail_msg("%s", error.text);
    Elf *again = NULL;
    assert_int_equal(elf_file_debug_elf(file, &again, &error), ERR_OK);
    assert_ptr_equal(elf, again);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    assert_non_null(dwarf);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    assert_int_equal(dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, &die, NULL), 0);
    assert_string_equal(dwarf_diename(&die), "unit.c");
    dwarf_end(dwarf);
}

static struct span info_bytes(bool big_endian) {
    return big_endian ? span_of(info_be, sizeof(info_be)) : span_of(info_le, sizeof(info_le));
}

static void libdw_reads_plain_sections_of_both_byte_orders(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(i & 1, i & 2, ET_EXEC, EM_MIPS);
        elf_image_add_bytes(image, ".debug_info", info_bytes(i & 2));
        elf_image_add_bytes(image, ".debug_abbrev", span_of(abbrev_bytes, sizeof(abbrev_bytes)));
        CLEANUP(cleanup_elf_file)
        struct elf_file *file = opened(elf_image_finish(image, ELF_IMAGE_UNALIGNED));
        check_unit_name(file);
        assert_null(elf_file_debug_damage(file));
    }
}

static void libdw_reads_compressed_sections(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(i & 1, i & 2, ET_DYN, EM_PPC64);
        elf_image_add(image, &text_section);
        elf_image_add_packed(image, ".debug_info", info_bytes(i & 2), ELF_IMAGE_ZSTD, 0);
        elf_image_add_packed(image, ".zdebug_abbrev", span_of(abbrev_bytes, sizeof(abbrev_bytes)),
                             ELF_IMAGE_ZDEBUG, 0);
        elf_image_add_packed(image, ".debug_str", span_cstr("names"), ELF_IMAGE_ZLIB, 0);
        elf_image_add_packed(image, ".debug_loc", span_cstr("unread"), ELF_IMAGE_ZLIB, 0);
        CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
        check_unit_name(file);
        assert_null(elf_file_debug_damage(file));
        assert_true(span_equal_cstr(data_of(file, ".debug_str"), "names"));
        assert_true(span_equal(data_of(file, ".debug_info"), info_bytes(i & 2)));
    }
}

static void a_broken_section_costs_only_itself(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add_bytes(image, ".debug_info", info_bytes(false));
    elf_image_add_bytes(image, ".debug_abbrev", span_of(abbrev_bytes, sizeof(abbrev_bytes)));
    elf_image_add_packed(image, ".debug_line", span_cstr("tiny"), ELF_IMAGE_ZLIB, 5);
    elf_image_add(image, &(struct elf_image_section){.name = ".debug_str",
                                                     .type = SHT_PROGBITS,
                                                     .bytes = {"x", 1},
                                                     .claimed_size = 1 << 20});
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
    check_unit_name(file);
    assert_non_null(elf_file_debug_damage(file));
    assert_non_null(strstr(elf_file_debug_damage(file), ".debug_str"));
}

static void broken_debug_info_is_an_error(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add_packed(image, ".debug_info", info_bytes(false), ELF_IMAGE_ZLIB, 1000);
    elf_image_add_bytes(image, ".debug_abbrev", span_of(abbrev_bytes, sizeof(abbrev_bytes)));
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
    Elf *elf;
    struct error error;
    assert_int_equal(elf_file_debug_elf(file, &elf, &error), ERR_MALFORMED);
    assert_int_equal(elf_file_debug_elf(file, &elf, &error), ERR_MALFORMED);
}

static void a_file_without_debug_info_says_so(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    elf_image_add_bytes(image, ".debug_info", span_cstr(""));
    CLEANUP(cleanup_elf_file) struct elf_file *file = opened(elf_image_finish(image, 0));
    Elf *elf;
    struct error error;
    assert_int_equal(elf_file_debug_elf(file, &elf, &error), ERR_NOT_FOUND);
}

/* --- damage ------------------------------------------------------------------------------------
 */

static struct span rich_image(struct elf_image *image, bool big_endian) {
    elf_image_add(image, &text_section);
    elf_image_add_packed(image, ".debug_info", info_bytes(big_endian), ELF_IMAGE_ZLIB, 0);
    elf_image_add_packed(image, ".debug_abbrev", span_of(abbrev_bytes, sizeof(abbrev_bytes)),
                         ELF_IMAGE_ZSTD, 0);
    elf_image_add_packed(image, ".zdebug_str", span_cstr("names"), ELF_IMAGE_ZDEBUG, 0);
    elf_image_add_segment(image, &(struct elf_image_segment){PT_LOAD, PF_X, 5, 0x1000, 7, 9});
    return elf_image_finish(image, ELF_IMAGE_EXTENDED_COUNTS);
}

/* Reads everything; what counts is that nothing is read outside `bytes`. */
static size_t read_everything(struct span bytes) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct error error;
    if (elf_file_open_memory(bytes, NULL, &file, &error))
        return 0;
    size_t total = 1;
    for (size_t i = 0; i < elf_file_section_count(file); i++) {
        struct span contents = {NULL, 0};
        const struct elf_section *section = elf_file_section(file, i);
        if (!elf_file_section_data(file, section, &contents, &error))
            for (size_t j = 0; j < contents.size; j++)
                total += (unsigned char)contents.data[j];
    }
    Elf *elf;
    if (!elf_file_debug_elf(file, &elf, &error))
        dwarf_end(dwarf_begin_elf(elf, DWARF_C_READ, NULL));
    return total + elf_file_is_executable(file, 0x1000);
}

/* A copy of exactly that size, so that AddressSanitizer sees one byte too many. */
static struct span exact_copy(struct span bytes, size_t size) {
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes.data, size);
    return span_of(copy, size);
}

static void a_file_cut_at_any_byte_is_refused_or_read_within_bounds(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(i & 1, i & 2, ET_EXEC, EM_X86_64);
        struct span bytes = rich_image(image, i & 2);
        for (size_t size = 0; size < bytes.size; size++) {
            struct span cut = exact_copy(bytes, size);
            assert_int_equal(read_everything(cut), 0); /* the section table is at the end */
            free((void *)cut.data);
        }
        assert_true(read_everything(bytes) > 0);
    }
}

static void a_file_with_any_byte_changed_is_read_within_bounds(void **state) {
    (void)state;
    static const unsigned char changes[] = {0xff, 0x80, 0x01};
    for (int i = 0; i < 4; i++) {
        CLEANUP(cleanup_elf_image)
        struct elf_image *image = elf_image_new(i & 1, i & 2, ET_EXEC, EM_X86_64);
        struct span bytes = rich_image(image, i & 2);
        size_t readable = 0;
        for (size_t at = 0; at < bytes.size; at++) {
            for (size_t j = 0; j < sizeof(changes); j++) {
                struct span copy = exact_copy(bytes, bytes.size);
                ((unsigned char *)copy.data)[at] ^= changes[j];
                readable += read_everything(copy) > 0;
                free((void *)copy.data);
            }
        }
        assert_true(readable > bytes.size);
    }
}

static void released_bytes_can_be_read_again(void **state) {
    (void)state;
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_EXEC, EM_X86_64);
    static char contents[100000];
    memset(contents, 'x', sizeof(contents));
    struct span bytes = span_of(contents, sizeof(contents));
    elf_image_add_bytes(image, ".debug_info", bytes);
    elf_image_add_packed(image, ".debug_str", bytes, ELF_IMAGE_ZLIB, 0);
    struct span whole = elf_image_finish(image, ELF_IMAGE_PLAIN);
    CLEANUP(cleanup_fd) int fd = memfd_create("elf", MFD_CLOEXEC);
    struct error error;
    assert_int_equal(fd_write_all(fd, whole.data, whole.size, &error), ERR_OK);
    CLEANUP(cleanup_elf_file) struct elf_file *mapped = NULL;
    assert_int_equal(elf_file_open_fd(fd, NULL, &mapped, &error), ERR_OK);
    CLEANUP(cleanup_elf_file) struct elf_file *lent = opened(whole);
    struct elf_file *files[] = {mapped, lent};
    for (size_t i = 0; i < 2; i++) {
        elf_file_release(files[i], data_of(files[i], ".debug_info"));
        elf_file_release(files[i], data_of(files[i], ".debug_str"));
        elf_file_release(files[i], (struct span){NULL, 0});
        assert_true(span_equal(data_of(files[i], ".debug_info"), bytes));
        assert_true(span_equal(data_of(files[i], ".debug_str"), bytes));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_classes_and_byte_orders),
        cmocka_unit_test(reads_unaligned_files_and_extended_counts),
        cmocka_unit_test(reads_seventy_thousand_sections),
        cmocka_unit_test(a_file_of_another_kind_is_refused),
        cmocka_unit_test(section_headers_outside_the_file_are_refused),
        cmocka_unit_test(an_absurd_count_of_sections_is_refused),
        cmocka_unit_test(a_name_without_its_end_reads_as_empty),
        cmocka_unit_test(opens_from_a_descriptor_that_is_then_closed),
        cmocka_unit_test(a_section_with_bytes_is_found_before_an_empty_one),
        cmocka_unit_test(inflates_every_kind_in_every_class_and_byte_order),
        cmocka_unit_test(inflates_streams_glued_together),
        cmocka_unit_test(a_claim_that_no_stream_can_hold_is_refused_without_taking_memory),
        cmocka_unit_test(a_stream_that_holds_more_or_less_than_it_claims_is_refused),
        cmocka_unit_test(the_sum_of_inflated_sections_is_limited),
        cmocka_unit_test(an_unknown_compression_is_unsupported),
        cmocka_unit_test(a_section_outside_the_file_names_itself),
        cmocka_unit_test(extents_are_the_executable_sections),
        cmocka_unit_test(a_lost_size_reaches_to_the_next_allocated_section),
        cmocka_unit_test(a_lost_size_at_the_very_end_reaches_to_the_end_of_addresses),
        cmocka_unit_test(without_sections_the_executable_segments_count),
        cmocka_unit_test(with_no_extent_known_every_address_is_live),
        cmocka_unit_test(a_section_past_the_end_of_addresses_is_cut_there),
        cmocka_unit_test(libdw_reads_plain_sections_of_both_byte_orders),
        cmocka_unit_test(libdw_reads_compressed_sections),
        cmocka_unit_test(a_broken_section_costs_only_itself),
        cmocka_unit_test(broken_debug_info_is_an_error),
        cmocka_unit_test(a_file_without_debug_info_says_so),
        cmocka_unit_test(a_file_cut_at_any_byte_is_refused_or_read_within_bounds),
        cmocka_unit_test(released_bytes_can_be_read_again),
        cmocka_unit_test(a_file_with_any_byte_changed_is_read_within_bounds),
    };
    return cmocka_run_group_tests_name("elf_file", tests, NULL, NULL);
}
