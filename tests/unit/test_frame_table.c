#include "debuginfo/frame_table.h"

#include <endian.h>
#include <stdio.h>

#include "base/buffer.h"
#include "debuginfo/frame_entries.h"
#include "debuginfo/symtab_source.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

#define EH_ADDRESS 0x8000
#define HEADER_ADDRESS 0x7000

/* --- writing frames ------------------------------------------------------------------------------
 */

struct frames {
    struct buffer bytes;
    bool big_endian;
    size_t entry_at; /* of the length field of the entry being written */
};

static void frames_clear(struct frames *frames) {
    buffer_clear(&frames->bytes);
}

static void put(struct frames *frames, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        buffer_append_byte(&frames->bytes,
                           (char)(value >> 8 * (frames->big_endian ? size - 1 - i : i)));
}

static void patch_u32(struct frames *frames, size_t at, uint32_t value) {
    value = frames->big_endian ? htobe32(value) : htole32(value);
    memcpy(frames->bytes.data + at, &value, sizeof(value));
}

static void begin_entry(struct frames *frames, uint32_t id) {
    frames->entry_at = frames->bytes.size;
    put(frames, 0, 4);
    put(frames, id, 4);
}

static void end_entry(struct frames *frames) {
    patch_u32(frames, frames->entry_at, (uint32_t)(frames->bytes.size - frames->entry_at - 4));
}

/* A CIE as compilers write it, with the encoding of addresses; returns its offset. */
static size_t add_cie(struct frames *frames, uint8_t encoding) {
    begin_entry(frames, 0);
    buffer_append(&frames->bytes, "\1zPLR\0\1\x78\x10", 9);
    buffer_append(&frames->bytes, "\7\x9b\1\2\3\4\x1b", 7);
    buffer_append_byte(&frames->bytes, (char)encoding);
    end_entry(frames);
    return frames->entry_at;
}

/* An FDE whose address and size take `width` bytes as they are given. */
static size_t add_fde(struct frames *frames, size_t cie, uint64_t address, uint64_t size,
                      size_t width) {
    begin_entry(frames, (uint32_t)(frames->bytes.size + 4 - cie));
    put(frames, address, width);
    put(frames, size, width);
    end_entry(frames);
    return frames->entry_at;
}

/* pcrel, four bytes: what everybody uses. */
static size_t add_usual_fde(struct frames *frames, size_t cie, uint64_t begin, uint64_t size) {
    uint64_t here = EH_ADDRESS + frames->bytes.size + 8;
    return add_fde(frames, cie, begin - here, size, 4);
}

/* --- files ---------------------------------------------------------------------------------------
 */

struct fixture {
    struct elf_image *image;
    struct elf_file *file;
    struct frame_table *table;
};

static void fixture_clear(struct fixture *fixture) {
    frame_table_free(fixture->table);
    elf_file_free(fixture->file);
    if (fixture->image)
        elf_image_free(fixture->image);
}

static struct fixture fixture_new(bool is_64, bool big_endian) {
    struct fixture fixture = {.image = elf_image_new(is_64, big_endian, ET_DYN, EM_X86_64)};
    elf_image_add(fixture.image, &(struct elf_image_section){.name = ".text",
                                                             .type = SHT_NOBITS,
                                                             .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                             .address = 0x1000,
                                                             .claimed_size = 0x1000});
    return fixture;
}

static void add_section(struct fixture *fixture, const char *name, uint64_t address,
                        struct span bytes) {
    elf_image_add(fixture->image, &(struct elf_image_section){.name = name,
                                                              .type = SHT_PROGBITS,
                                                              .flags = SHF_ALLOC,
                                                              .address = address,
                                                              .bytes = bytes});
}

static enum err open_table(struct fixture *fixture) {
    struct error error = {0};
    assert_int_equal(elf_file_open_memory(elf_image_finish(fixture->image, ELF_IMAGE_PLAIN), NULL,
                                          &fixture->file, &error),
                     ERR_OK);
    return frame_table_new(fixture->file, &fixture->table, &error);
}

/* "begin-end" of the FDE at pc, or "". */
static const char *found(struct fixture *fixture, uint64_t pc) {
    static char text[64];
    struct pc_range range;
    text[0] = '\0';
    if (frame_table_find(fixture->table, pc, &range))
        snprintf(text, sizeof(text), "%llx-%llx", (unsigned long long)range.begin,
                 (unsigned long long)range.end);
    return text;
}

static uint64_t next(struct fixture *fixture, uint64_t pc) {
    uint64_t begin;
    return frame_table_next(fixture->table, pc, &begin) ? begin : 0;
}

static void check_two_functions(struct fixture *fixture) {
    assert_string_equal(found(fixture, 0xfff), "");
    assert_string_equal(found(fixture, 0x1000), "1000-1010");
    assert_string_equal(found(fixture, 0x100f), "1000-1010");
    assert_string_equal(found(fixture, 0x1010), "");
    assert_string_equal(found(fixture, 0x1021), "1020-1030");
    assert_string_equal(found(fixture, 0x1030), "");
    assert_int_equal(next(fixture, 0), 0x1000);
    assert_int_equal(next(fixture, 0x1000), 0x1020);
    assert_int_equal(next(fixture, 0x1020), 0);
}

/* --- every encoding ------------------------------------------------------------------------------
 */

static void check_encoding(uint8_t encoding, size_t width, uint64_t base) {
    CLEANUP(frames_clear) struct frames frames = {0};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    size_t cie = add_cie(&frames, encoding);
    /* Out of order, so that a walk has something to sort. */
    static const uint64_t begins[] = {0x1020, 0x1000};
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        uint64_t here = EH_ADDRESS + frames.bytes.size + 8;
        bool from_here = (encoding & 0x70) == EH_POINTER_FROM_HERE;
        add_fde(&frames, cie, begins[i] - (from_here ? here : base), 0x10, width);
    }
    add_section(&fixture, ".eh_frame", EH_ADDRESS, buffer_span(&frames.bytes));
    elf_image_add(fixture.image, &(struct elf_image_section){.name = ".got.plt",
                                                             .type = SHT_NOBITS,
                                                             .flags = SHF_ALLOC | SHF_WRITE,
                                                             .address = 0x9000,
                                                             .claimed_size = 8});
    assert_int_equal(open_table(&fixture), ERR_OK);
    assert_false(frame_table_is_from_header(fixture.table));
    check_two_functions(&fixture);
}

static void addresses_in_every_fixed_format_and_base_are_read(void **state) {
    (void)state;
    static const struct {
        uint8_t format;
        size_t width;
        bool reaches; /* a negative distance, or all of an address */
    } formats[] = {
        {EH_POINTER_ABSOLUTE, 8, true}, {EH_POINTER_SIGNED, 8, true}, {EH_POINTER_U16, 2, false},
        {EH_POINTER_S16, 2, true},      {EH_POINTER_U32, 4, false},   {EH_POINTER_S32, 4, true},
        {EH_POINTER_U64, 8, true},      {EH_POINTER_S64, 8, true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        check_encoding(formats[i].format, formats[i].width, 0);
        check_encoding(formats[i].format | EH_POINTER_FROM_TEXT, formats[i].width, 0x1000);
        if (!formats[i].reaches)
            continue;
        check_encoding(formats[i].format | EH_POINTER_FROM_HERE, formats[i].width, 0);
        check_encoding(formats[i].format | EH_POINTER_FROM_DATA, formats[i].width, 0x9000);
    }
}

static bool read_pointer(const char *bytes, size_t size, uint8_t encoding, uint64_t *ret_value) {
    struct cursor cursor = cursor_of(span_of(bytes, size), false, "test");
    struct eh_bases bases = {.here = 0x8001, .text = 0x1000, .data = 0x9000, .address_size = 8};
    return eh_pointer_read(&cursor, encoding, &bases, ret_value);
}

static void variable_and_aligned_pointers_are_read(void **state) {
    (void)state;
    uint64_t value = 0;
    assert_true(read_pointer("\x80\x20", 2, EH_POINTER_ULEB128, &value));
    assert_int_equal(value, 0x1000);
    assert_true(read_pointer("\x70", 1, EH_POINTER_SLEB128 | EH_POINTER_FROM_DATA, &value));
    assert_int_equal(value, 0x8ff0);
    /* The section begins at an odd address: seven bytes up to the next multiple of eight. */
    assert_true(read_pointer("xxxxxxx\x34\x12\0\0\0\0\0\0", 15, EH_POINTER_ALIGNED, &value));
    assert_int_equal(value, 0x1234);
}

static void pointers_that_have_no_value_in_the_file_are_refused(void **state) {
    (void)state;
    uint64_t value = 77;
    static const uint8_t encodings[] = {EH_POINTER_NONE, EH_POINTER_INDIRECT | EH_POINTER_S32,
                                        EH_POINTER_FROM_FUNCTION | EH_POINTER_S32, 0x60, 0x05};
    for (size_t i = 0; i < ARRAY_SIZE(encodings); i++)
        assert_false(read_pointer("12345678", 8, encodings[i], &value));
    assert_false(read_pointer("123", 3, EH_POINTER_S32, &value));
    assert_int_equal(value, 77);
}

/* --- the forms of entries ------------------------------------------------------------------------
 */

static void debug_frame_is_read_where_there_is_no_eh_frame(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool is_64 = i & 1;
        size_t width = is_64 ? 8 : 4;
        CLEANUP(frames_clear) struct frames frames = {.big_endian = i & 2};
        CLEANUP(fixture_clear) struct fixture fixture = fixture_new(is_64, i & 2);
        begin_entry(&frames, UINT32_MAX);
        if (is_64)
            buffer_append(&frames.bytes, "\4\0\10\0\1\x78\x10", 7); /* version 4 */
        else
            buffer_append(&frames.bytes, "\3\0\1\x7c\x08", 5);
        end_entry(&frames);
        for (uint64_t begin = 0x1000; begin < 0x1040; begin += 0x20) {
            begin_entry(&frames, 0);
            put(&frames, begin, width);
            put(&frames, 0x10, width);
            end_entry(&frames);
        }
        elf_image_add_bytes(fixture.image, ".debug_frame", buffer_span(&frames.bytes));
        assert_int_equal(open_table(&fixture), ERR_OK);
        check_two_functions(&fixture);
    }
}

static void entries_with_64_bit_lengths_are_read(void **state) {
    (void)state;
    CLEANUP(frames_clear) struct frames frames = {0};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    put(&frames, UINT32_MAX, 4);
    put(&frames, 13, 8);
    put(&frames, UINT64_MAX, 8);
    buffer_append(&frames.bytes, "\3\0\1\x78\x10", 5);
    for (uint64_t begin = 0x1000; begin < 0x1040; begin += 0x20) {
        put(&frames, UINT32_MAX, 4);
        put(&frames, 24, 8);
        put(&frames, 0, 8);
        put(&frames, begin, 8);
        put(&frames, 0x10, 8);
    }
    elf_image_add_bytes(fixture.image, ".debug_frame", buffer_span(&frames.bytes));
    assert_int_equal(open_table(&fixture), ERR_OK);
    check_two_functions(&fixture);
}

static void damaged_and_dead_entries_are_left_out(void **state) {
    (void)state;
    CLEANUP(frames_clear) struct frames frames = {0};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    size_t cie = add_cie(&frames, EH_POINTER_FROM_HERE | EH_POINTER_S32);
    size_t indirect = add_cie(&frames, EH_POINTER_INDIRECT | EH_POINTER_S32);
    add_usual_fde(&frames, cie, 0x1000, 0x10);
    add_usual_fde(&frames, indirect, 0x1100, 0x10);
    add_fde(&frames, frames.bytes.size + 0x1000, 0x1200, 0x10, 4); /* no such CIE */
    add_usual_fde(&frames, cie, 0, 0x2000);                        /* dropped by the linker */
    add_usual_fde(&frames, cie, 0x1300, 0);
    put(&frames, 0, 4); /* the mark of an end, with more behind it */
    add_usual_fde(&frames, cie, 0x1020, 0x10);
    put(&frames, 0x7fffffff, 4); /* longer than the section */
    add_section(&fixture, ".eh_frame", EH_ADDRESS, buffer_span(&frames.bytes));
    assert_int_equal(open_table(&fixture), ERR_OK);
    check_two_functions(&fixture);
}

static void a_range_past_the_last_address_covers_nothing(void **state) {
    (void)state;
    CLEANUP(frames_clear) struct frames frames = {0};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    size_t cie = add_cie(&frames, EH_POINTER_U64);
    add_fde(&frames, cie, 0x1000, UINT64_MAX, 8);
    add_section(&fixture, ".eh_frame", EH_ADDRESS, buffer_span(&frames.bytes));
    assert_int_equal(open_table(&fixture), ERR_NOT_FOUND);
}

static void a_file_without_frames_has_no_table(void **state) {
    (void)state;
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    assert_int_equal(open_table(&fixture), ERR_NOT_FOUND);
}

/* --- the linker's table --------------------------------------------------------------------------
 */

struct row {
    uint64_t function;
    size_t fde;
};

static void add_header(struct fixture *fixture, const struct row *rows, size_t count,
                       bool big_endian) {
    CLEANUP(frames_clear) struct frames header = {.big_endian = big_endian};
    put(&header, 1, 1);
    put(&header, EH_POINTER_FROM_HERE | EH_POINTER_S32, 1);
    put(&header, EH_POINTER_U32, 1);
    put(&header, EH_POINTER_FROM_DATA | EH_POINTER_S32, 1);
    put(&header, EH_ADDRESS - (HEADER_ADDRESS + 4), 4);
    put(&header, count, 4);
    for (size_t i = 0; i < count; i++) {
        put(&header, rows[i].function - HEADER_ADDRESS, 4);
        put(&header, EH_ADDRESS + rows[i].fde - HEADER_ADDRESS, 4);
    }
    add_section(fixture, ".eh_frame_hdr", HEADER_ADDRESS, buffer_span(&header.bytes));
}

static void the_linkers_table_is_used_where_it_can_be_trusted(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        CLEANUP(frames_clear) struct frames frames = {.big_endian = i & 2};
        CLEANUP(fixture_clear) struct fixture fixture = fixture_new(i & 1, i & 2);
        size_t cie = add_cie(&frames, EH_POINTER_FROM_HERE | EH_POINTER_S32);
        size_t second = add_usual_fde(&frames, cie, 0x1020, 0x10);
        size_t first = add_usual_fde(&frames, cie, 0x1000, 0x10);
        struct row rows[] = {{0x1000, first}, {0x1020, second}};
        add_section(&fixture, ".eh_frame", EH_ADDRESS, buffer_span(&frames.bytes));
        add_header(&fixture, rows, ARRAY_SIZE(rows), i & 2);
        assert_int_equal(open_table(&fixture), ERR_OK);
        assert_true(frame_table_is_from_header(fixture.table));
        check_two_functions(&fixture);
        assert_true(frame_table_is_from_header(fixture.table));
    }
}

static void check_distrusted(const struct row *swapped, bool at_once) {
    CLEANUP(frames_clear) struct frames frames = {0};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    size_t cie = add_cie(&frames, EH_POINTER_FROM_HERE | EH_POINTER_S32);
    size_t fdes[] = {add_usual_fde(&frames, cie, 0x1000, 0x10),
                     add_usual_fde(&frames, cie, 0x1020, 0x10)};
    struct row rows[] = {{swapped[0].function, fdes[swapped[0].fde]},
                         {swapped[1].function, fdes[swapped[1].fde]}};
    add_section(&fixture, ".eh_frame", EH_ADDRESS, buffer_span(&frames.bytes));
    add_header(&fixture, rows, ARRAY_SIZE(rows), false);
    assert_int_equal(open_table(&fixture), ERR_OK);
    assert_int_equal(frame_table_is_from_header(fixture.table), !at_once);
    check_two_functions(&fixture);
    assert_false(frame_table_is_from_header(fixture.table));
}

static void an_unsorted_table_is_not_used(void **state) {
    (void)state;
    check_distrusted((struct row[]){{0x1020, 1}, {0x1000, 0}}, true);
}

static void a_table_that_contradicts_the_entries_is_given_up(void **state) {
    (void)state;
    check_distrusted((struct row[]){{0x1000, 1}, {0x1020, 0}}, false);
}

/* --- symbols without a size ----------------------------------------------------------------------
 */

static void check_symbol_reach(const char *table, uint64_t want_begin, uint64_t want_end) {
    static const struct elf_image_symbol symbols[] = {
        {"sizeless", 0x1004, 0, STB_GLOBAL, STT_FUNC, 1},
        {"other", 0x1800, 0x10, STB_GLOBAL, STT_FUNC, 1},
    };
    CLEANUP(frames_clear) struct frames frames = {0};
    CLEANUP(fixture_clear) struct fixture fixture = fixture_new(true, false);
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    size_t cie = add_cie(&frames, EH_POINTER_FROM_HERE | EH_POINTER_S32);
    add_usual_fde(&frames, cie, 0x1000, 0x10);
    add_usual_fde(&frames, cie, 0x1020, 0x10);
    add_section(&fixture, ".eh_frame", EH_ADDRESS, buffer_span(&frames.bytes));
    elf_image_add_symbols(fixture.image, table, symbols, ARRAY_SIZE(symbols));
    assert_int_equal(open_table(&fixture), ERR_OK);
    struct error error;
    assert_int_equal(symtab_source_new(fixture.file, &source, &error), ERR_OK);
    for (uint64_t pc = 0x1000; pc < 0x1040; pc++) {
        struct frame_list list = {0};
        assert_int_equal(source->ops->resolve(source, pc, &list, &error), ERR_OK);
        assert_int_equal(list.count, pc >= want_begin && pc < want_end);
        frame_list_clear(&list);
    }
}

static void a_sizeless_symbol_ends_where_the_next_fde_begins(void **state) {
    (void)state;
    check_symbol_reach(".symtab", 0x1004, 0x1020);
}

static void a_sizeless_dynamic_symbol_ends_with_its_own_fde(void **state) {
    (void)state;
    check_symbol_reach(".dynsym", 0x1004, 0x1010);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_in_every_fixed_format_and_base_are_read),
        cmocka_unit_test(variable_and_aligned_pointers_are_read),
        cmocka_unit_test(pointers_that_have_no_value_in_the_file_are_refused),
        cmocka_unit_test(debug_frame_is_read_where_there_is_no_eh_frame),
        cmocka_unit_test(entries_with_64_bit_lengths_are_read),
        cmocka_unit_test(damaged_and_dead_entries_are_left_out),
        cmocka_unit_test(a_range_past_the_last_address_covers_nothing),
        cmocka_unit_test(a_file_without_frames_has_no_table),
        cmocka_unit_test(the_linkers_table_is_used_where_it_can_be_trusted),
        cmocka_unit_test(an_unsorted_table_is_not_used),
        cmocka_unit_test(a_table_that_contradicts_the_entries_is_given_up),
        cmocka_unit_test(a_sizeless_symbol_ends_where_the_next_fde_begins),
        cmocka_unit_test(a_sizeless_dynamic_symbol_ends_with_its_own_fde),
    };
    return cmocka_run_group_tests_name("frame_table", tests, NULL, NULL);
}
