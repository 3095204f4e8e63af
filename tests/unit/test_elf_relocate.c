#include "debuginfo/elf_relocate.h"

#include <endian.h>

#include "base/buffer.h"
#include "debuginfo/elf_object.h"
#include "debuginfo/elf_symbols.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

#define TEXT_PLACE ELF_OBJECT_BASE

/* An object with .text (section 1), symbols 1 (.text itself) and 2 (a function 8 bytes into it),
 * and .debug_info with relocations. */
struct object {
    struct elf_image *image;
    struct elf_file *file;
};

static void object_clear(struct object *object) {
    elf_file_free(object->file);
    if (object->image)
        elf_image_free(object->image);
}

static struct object object_new(uint16_t type, bool is_64, bool big_endian, uint16_t machine) {
    static const struct elf_image_symbol symbols[] = {
        {"", 0, 0, STB_LOCAL, STT_SECTION, 1},
        {"function", 8, 4, STB_GLOBAL, STT_FUNC, 1},
    };
    struct object object = {.image = elf_image_new(is_64, big_endian, type, machine)};
    elf_image_add(object.image, &(struct elf_image_section){.name = ".text",
                                                            .type = SHT_PROGBITS,
                                                            .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                            .bytes = {"0123456789abcdef", 16}});
    elf_image_add_symbols(object.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    return object;
}

static void open_object(struct object *object) {
    struct error error = {0};
    if (elf_file_open_memory(elf_image_finish(object->image, ELF_IMAGE_PLAIN), NULL, &object->file,
                             &error))
        fail_msg("%s", error.text);
}

static void put(struct buffer *out, bool big_endian, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++)
        buffer_append_byte(out, (char)(value >> 8 * (big_endian ? size - 1 - i : i)));
}

struct relocation {
    uint64_t offset;
    uint32_t symbol;
    uint32_t type;
    int64_t addend;
};

/* Adds .debug_info with these bytes, and its table of 64-bit entries with addends. */
static void add_debug(struct object *object, const char *bytes, size_t size,
                      const struct relocation *list, size_t count) {
    CLEANUP(buffer_clear) struct buffer table = {0};
    uint32_t target = elf_image_add_bytes(object->image, ".debug_info", span_of(bytes, size));
    for (size_t i = 0; i < count; i++) {
        put(&table, false, list[i].offset, 8);
        put(&table, false, (uint64_t)list[i].symbol << 32 | list[i].type, 8);
        put(&table, false, (uint64_t)list[i].addend, 8);
    }
    elf_image_add(object->image, &(struct elf_image_section){.name = ".rela.debug_info",
                                                             .type = SHT_RELA,
                                                             .bytes = buffer_span(&table),
                                                             .info = target});
}

static struct span debug_bytes(struct object *object) {
    struct span bytes = {NULL, 0};
    struct error error = {0};
    const struct elf_section *section = elf_file_section_by_name(object->file, ".debug_info");
    if (elf_file_section_data(object->file, section, &bytes, &error))
        fail_msg("%s", error.text);
    return bytes;
}

static uint64_t word_at(struct object *object, size_t offset, size_t size) {
    struct span bytes = debug_bytes(object);
    uint64_t value = 0;
    assert_true(offset + size <= bytes.size);
    memcpy(&value, bytes.data + offset, size);
    return le64toh(value);
}

static void addresses_and_distances_are_filled_in(void **state) {
    (void)state;
    static const struct relocation list[] = {
        {0, 1, R_X86_64_64, 4},
        {8, 2, R_X86_64_64, 1},
        {16, 1, R_X86_64_32, 2},
        {20, 1, R_X86_64_PC32, 0},
    };
    CLEANUP(object_clear) struct object object = object_new(ET_REL, true, false, EM_X86_64);
    add_debug(&object, "ffffffffffffffffffffffff", 24, list, ARRAY_SIZE(list));
    open_object(&object);
    assert_int_equal(word_at(&object, 0, 8), TEXT_PLACE + 4);
    assert_int_equal(word_at(&object, 8, 8), TEXT_PLACE + 9);
    assert_int_equal(word_at(&object, 16, 4), TEXT_PLACE + 2);
    assert_int_equal(word_at(&object, 20, 4), TEXT_PLACE - 20);
    assert_null(elf_file_relocation_damage(object.file));
}

static void a_linked_file_keeps_what_it_has(void **state) {
    (void)state;
    static const struct relocation list[] = {{0, 1, R_X86_64_64, 4}};
    static const uint16_t types[] = {ET_EXEC, ET_DYN};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        CLEANUP(object_clear) struct object object = object_new(types[i], true, false, EM_X86_64);
        add_debug(&object, "ffffffff", 8, list, ARRAY_SIZE(list));
        open_object(&object);
        assert_true(span_equal_cstr(debug_bytes(&object), "ffffffff"));
    }
}

/* RISC-V: the assembler leaves both ends of a difference to the linker. */
static void differences_are_pairs_of_additions_and_subtractions(void **state) {
    (void)state;
    static const struct relocation list[] = {
        {0, 2, R_RISCV_ADD32, 3},  {0, 1, R_RISCV_SUB32, 0},
        {4, 2, R_RISCV_ADD16, 0},  {4, 1, R_RISCV_SUB16, 0},
        {6, 2, R_RISCV_SET6, 0},   {6, 1, R_RISCV_SUB6, 0},
        {7, 2, R_RISCV_ADD8, 0},   {7, 1, R_RISCV_SUB8, 0},
        {8, 2, 60, 0x100},         {8, 1, 61, 0},
        {12, 2, R_RISCV_RELAX, 0},
    };
    CLEANUP(object_clear) struct object object = object_new(ET_REL, true, false, EM_RISCV);
    add_debug(&object, "\0\0\0\0\0\0\xc0\0\x80\x80\0\0same", 16, list, ARRAY_SIZE(list));
    open_object(&object);
    assert_int_equal(word_at(&object, 0, 4), 11);
    assert_int_equal(word_at(&object, 4, 2), 8);
    assert_int_equal(word_at(&object, 6, 1), 0xc8); /* the other two bits stay */
    assert_int_equal(word_at(&object, 7, 1), 8);
    assert_memory_equal(debug_bytes(&object).data + 8, "\x88\x82\0\0same", 8);
    assert_null(elf_file_relocation_damage(object.file));
}

static void without_addends_they_stand_in_the_bytes(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer table = {0};
    CLEANUP(object_clear) struct object object = object_new(ET_REL, false, true, EM_MIPS);
    uint32_t target =
        elf_image_add_bytes(object.image, ".debug_info", span_of("\0\0\0\4\xff\xff\xff\xff", 8));
    for (uint32_t offset = 0; offset < 8; offset += 4) {
        put(&table, true, offset, 4);
        put(&table, true, 2 << 8 | R_MIPS_32, 4);
    }
    elf_image_add(object.image, &(struct elf_image_section){.name = ".rel.debug_info",
                                                            .type = SHT_REL,
                                                            .bytes = buffer_span(&table),
                                                            .info = target});
    open_object(&object);
    assert_memory_equal(debug_bytes(&object).data, "\x10\0\0\x0c\x10\0\0\x07", 8);
}

static void check_damage(const struct relocation *relocation) {
    CLEANUP(object_clear) struct object object = object_new(ET_REL, true, false, EM_X86_64);
    struct relocation list[] = {*relocation, {0, 1, R_X86_64_64, 4}};
    add_debug(&object, "ffffffffffff", 12, list, ARRAY_SIZE(list));
    open_object(&object);
    assert_int_equal(word_at(&object, 0, 8), TEXT_PLACE + 4);
    assert_memory_equal(debug_bytes(&object).data + 8, "ffff", 4);
    assert_non_null(elf_file_relocation_damage(object.file));
}

static void what_cannot_be_applied_is_noted_and_the_rest_goes_on(void **state) {
    (void)state;
    check_damage(&(struct relocation){8, 1, R_X86_64_GOTPC32, 0});     /* not in debug data */
    check_damage(&(struct relocation){9, 1, R_X86_64_32, 0});          /* across the end */
    check_damage(&(struct relocation){UINT64_MAX, 1, R_X86_64_64, 0}); /* outside */
    check_damage(&(struct relocation){8, 3, R_X86_64_32, 0});          /* no such symbol */
}

/* A table that claims to relocate itself, under the name of what it is not. */
static void a_table_is_never_relocated(void **state) {
    (void)state;
    CLEANUP(object_clear) struct object object = object_new(ET_REL, true, false, EM_X86_64);
    elf_image_add(object.image,
                  &(struct elf_image_section){.name = ".debug_info",
                                              .type = SHT_RELA,
                                              .bytes = {"ffffffffffffffffffffffff", 24},
                                              .info = 4});
    open_object(&object);
    assert_true(span_equal_cstr(debug_bytes(&object), "ffffffffffffffffffffffff"));
}

static void the_descriptors_of_an_object_are_followed(void **state) {
    (void)state;
    static const struct elf_image_symbol symbols[] = {
        {"", 0, 0, STB_LOCAL, STT_SECTION, 1},
        {"described", 0, 4, STB_GLOBAL, STT_FUNC, 2},
    };
    CLEANUP(buffer_clear) struct buffer table = {0};
    CLEANUP(object_clear)
    struct object object = {.image = elf_image_new(true, true, ET_REL, EM_PPC64)};
    elf_image_add(object.image, &(struct elf_image_section){.name = ".text",
                                                            .type = SHT_PROGBITS,
                                                            .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                            .bytes = {"0123456789abcdef", 16}});
    uint32_t target = elf_image_add(
        object.image,
        &(struct elf_image_section){.name = ".opd",
                                    .type = SHT_PROGBITS,
                                    .flags = SHF_ALLOC | SHF_WRITE,
                                    .bytes = {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                              "\0\0\0\0",
                                              24}});
    put(&table, true, 0, 8);
    put(&table, true, (uint64_t)1 << 32 | R_PPC64_ADDR64, 8);
    put(&table, true, 12, 8);
    elf_image_add(object.image, &(struct elf_image_section){.name = ".rela.opd",
                                                            .type = SHT_RELA,
                                                            .bytes = buffer_span(&table),
                                                            .info = target});
    elf_image_add_symbols(object.image, ".symtab", symbols, ARRAY_SIZE(symbols));
    open_object(&object);
    struct elf_symbol_table entries;
    struct elf_symbol symbol = {0};
    struct error error;
    assert_int_equal(elf_symbol_table_open(object.file, SHT_SYMTAB, &entries, &error), ERR_OK);
    assert_true(elf_symbol_table_next(&entries, &symbol));
    assert_true(elf_symbol_table_next(&entries, &symbol));
    assert_true(span_equal_cstr(symbol.name, "described"));
    assert_int_equal(symbol.value, TEXT_PLACE + 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_and_distances_are_filled_in),
        cmocka_unit_test(a_linked_file_keeps_what_it_has),
        cmocka_unit_test(differences_are_pairs_of_additions_and_subtractions),
        cmocka_unit_test(without_addends_they_stand_in_the_bytes),
        cmocka_unit_test(what_cannot_be_applied_is_noted_and_the_rest_goes_on),
        cmocka_unit_test(a_table_is_never_relocated),
        cmocka_unit_test(the_descriptors_of_an_object_are_followed),
    };
    return cmocka_run_group_tests_name("elf_relocate", tests, NULL, NULL);
}
