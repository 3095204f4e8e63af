#include "debuginfo/elf_dynamic.h"

#include <endian.h>

#include "debuginfo/elf_symbols.h"
#include "tests/support/elf_image.h"
#include "tests/support/test.h"

#define BASE ((uint64_t)0x400000)

/* Where the parts stand in the one PT_LOAD, which is the file's only section. */
enum { DYNAMIC_AT = 0, HASH_AT = 256, STRINGS_AT = 512, SYMBOLS_AT = 1024, BLOB_SIZE = 2048 };

struct blob {
    char bytes[BLOB_SIZE];
    bool is_64;
    size_t dynamic_size;
};

static void put_u32(struct blob *blob, size_t at, uint32_t value) {
    value = htole32(value);
    memcpy(blob->bytes + at, &value, sizeof(value));
}

static void put_word(struct blob *blob, size_t at, uint64_t value) {
    put_u32(blob, at, (uint32_t)value);
    if (blob->is_64)
        put_u32(blob, at + 4, (uint32_t)(value >> 32));
}

static void add_entry(struct blob *blob, uint64_t tag, uint64_t value) {
    size_t word = blob->is_64 ? 8 : 4;
    put_word(blob, DYNAMIC_AT + blob->dynamic_size, tag);
    put_word(blob, DYNAMIC_AT + blob->dynamic_size + word, value);
    blob->dynamic_size += 2 * word;
}

static void put_function(struct blob *blob, unsigned number, uint32_t name, uint64_t value) {
    size_t at = SYMBOLS_AT + number * (blob->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    put_u32(blob, at, name);
    if (blob->is_64) {
        blob->bytes[at + offsetof(Elf64_Sym, st_info)] = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        blob->bytes[at + offsetof(Elf64_Sym, st_shndx)] = 1;
        put_word(blob, at + offsetof(Elf64_Sym, st_value), value);
        put_word(blob, at + offsetof(Elf64_Sym, st_size), 16);
    } else {
        put_u32(blob, at + offsetof(Elf32_Sym, st_value), (uint32_t)value);
        put_u32(blob, at + offsetof(Elf32_Sym, st_size), 16);
        blob->bytes[at + offsetof(Elf32_Sym, st_info)] = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC);
        blob->bytes[at + offsetof(Elf32_Sym, st_shndx)] = 1;
    }
}

/* Functions 1 to 3 and the entries that name them; the test adds a hash table. */
static struct blob blob_of(bool is_64) {
    struct blob blob = {.is_64 = is_64};
    static const char strings[] = "\0first\0second\0third";
    memcpy(blob.bytes + STRINGS_AT, strings, sizeof(strings));
    put_function(&blob, 1, 1, BASE + 0x10);
    put_function(&blob, 2, 7, BASE + 0x20);
    put_function(&blob, 3, 14, BASE + 0x30);
    add_entry(&blob, DT_SYMTAB, BASE + SYMBOLS_AT);
    add_entry(&blob, DT_STRTAB, BASE + STRINGS_AT);
    add_entry(&blob, DT_STRSZ, sizeof(strings));
    return blob;
}

static void add_hash(struct blob *blob, uint32_t chain_count) {
    put_u32(blob, HASH_AT, 1);
    put_u32(blob, HASH_AT + 4, chain_count);
    add_entry(blob, DT_HASH, BASE + HASH_AT);
}

/* Symbol 1 is not hashed; 2 and 3 are one chain, in the second of two buckets. */
static void add_gnu_hash(struct blob *blob) {
    static const uint32_t words[] = {2, 2, 1, 6};
    size_t at = HASH_AT;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++, at += 4)
        put_u32(blob, at, words[i]);
    at += blob->is_64 ? 8 : 4; /* the filter */
    put_u32(blob, at, 0);
    put_u32(blob, at + 4, 2);
    put_u32(blob, at + 8, 0x1234 & ~1u);
    put_u32(blob, at + 12, 0x5678 | 1u);
    add_entry(blob, DT_GNU_HASH, BASE + HASH_AT);
}

struct fixture {
    struct elf_image *image;
    struct elf_file *file;
};

static void fixture_clear(struct fixture *fixture) {
    elf_file_free(fixture->file);
    if (fixture->image)
        elf_image_free(fixture->image);
}

static struct fixture fixture_of(const struct blob *blob, uint16_t machine, unsigned shape) {
    /* Behind the headers, which end at a multiple of 16 or are padded to one. */
    uint64_t offset = blob->is_64 ? sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr)
                                  : sizeof(Elf32_Ehdr) + 2 * sizeof(Elf32_Phdr);
    offset = (offset + 15) & ~(uint64_t)15;
    struct fixture fixture = {.image = elf_image_new(blob->is_64, false, ET_DYN, machine)};
    elf_image_add_bytes(fixture.image, ".all", span_of(blob->bytes, BLOB_SIZE));
    elf_image_add_segment(fixture.image, &(struct elf_image_segment){PT_LOAD, PF_R | PF_X, offset,
                                                                     BASE, BLOB_SIZE, BLOB_SIZE});
    elf_image_add_segment(fixture.image,
                          &(struct elf_image_segment){PT_DYNAMIC, PF_R, offset + DYNAMIC_AT,
                                                      BASE + DYNAMIC_AT, 256, 256});
    struct error error = {0};
    if (elf_file_open_memory(elf_image_finish(fixture.image, shape), NULL, &fixture.file, &error))
        fail_msg("%s", error.text);
    return fixture;
}

/* How many symbols are found, with the null symbol; 0 and the reason when none. */
static size_t count_found(const struct blob *blob, uint16_t machine, enum err *ret_err) {
    CLEANUP(fixture_clear)
    struct fixture fixture = fixture_of(blob, machine, ELF_IMAGE_NO_SECTION_TABLE);
    struct elf_dynamic_symbols found = {0};
    struct error error = {0};
    *ret_err = elf_dynamic_symbols_find(fixture.file, &found, &error);
    assert_true(!*ret_err || error.text[0]);
    return found.symbols.size / (blob->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

static void either_hash_table_tells_how_many_symbols_there_are(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct blob blob = blob_of(i & 1);
        enum err err;
        if (i & 2)
            add_hash(&blob, 4);
        else
            add_gnu_hash(&blob);
        assert_int_equal(count_found(&blob, EM_X86_64, &err), 4);
        assert_int_equal(err, ERR_OK);
    }
}

static void mips_states_the_count_itself(void **state) {
    (void)state;
    struct blob blob = blob_of(false);
    enum err err;
    add_entry(&blob, 0x70000011, 4);
    assert_int_equal(count_found(&blob, EM_MIPS, &err), 4);
    assert_int_equal(count_found(&blob, EM_386, &err), 0);
    assert_int_equal(err, ERR_MALFORMED);
}

static void a_count_past_the_file_is_refused(void **state) {
    (void)state;
    struct blob blob = blob_of(true);
    enum err err;
    add_hash(&blob, UINT32_MAX);
    assert_int_equal(count_found(&blob, EM_X86_64, &err), 0);
    assert_int_equal(err, ERR_MALFORMED);
}

static void a_chain_without_end_is_refused(void **state) {
    (void)state;
    struct blob blob = blob_of(true);
    enum err err;
    add_gnu_hash(&blob);
    for (size_t at = HASH_AT + 32; at < BLOB_SIZE; at += 4)
        put_u32(&blob, at, 2);
    assert_int_equal(count_found(&blob, EM_X86_64, &err), 0);
    assert_int_equal(err, ERR_MALFORMED);
}

static void tables_outside_every_segment_are_refused(void **state) {
    (void)state;
    struct blob blob = {.is_64 = true};
    enum err err;
    add_entry(&blob, DT_SYMTAB, UINT64_MAX - 3);
    add_entry(&blob, DT_STRTAB, BASE + STRINGS_AT);
    add_entry(&blob, DT_STRSZ, 16);
    add_hash(&blob, 4);
    assert_int_equal(count_found(&blob, EM_X86_64, &err), 0);
    assert_int_equal(err, ERR_MALFORMED);
}

static size_t code_count(struct elf_file *file) {
    struct elf_symbol_table table;
    struct elf_symbol symbol;
    struct error error;
    size_t count = 0;
    if (elf_symbol_table_open(file, SHT_DYNSYM, &table, &error))
        return 0;
    while (elf_symbol_table_next(&table, &symbol))
        if (elf_symbol_is_code(file, &symbol))
            count++;
    return count;
}

static void the_symbols_answer_when_the_section_headers_are_gone(void **state) {
    (void)state;
    struct blob blob = blob_of(true);
    add_gnu_hash(&blob);
    CLEANUP(fixture_clear)
    struct fixture fixture = fixture_of(&blob, EM_X86_64, ELF_IMAGE_NO_SECTION_TABLE);
    assert_int_equal(code_count(fixture.file), 3);
}

/* The dynamic segment of a debug file points at bytes of something else. */
static void a_file_with_section_headers_is_not_read_that_way(void **state) {
    (void)state;
    struct blob blob = blob_of(true);
    add_gnu_hash(&blob);
    CLEANUP(fixture_clear)
    struct fixture fixture = fixture_of(&blob, EM_X86_64, ELF_IMAGE_PLAIN);
    assert_int_equal(code_count(fixture.file), 0);
}

static void powerpc_descriptors_are_found_by_their_tag(void **state) {
    (void)state;
    struct blob blob = {.is_64 = true};
    add_entry(&blob, 0x70000001, BASE + HASH_AT);
    add_entry(&blob, 0x70000002, 48);
    CLEANUP(fixture_clear)
    struct fixture fixture = fixture_of(&blob, EM_PPC64, ELF_IMAGE_NO_SECTION_TABLE);
    struct span bytes = {NULL, 0};
    uint64_t address = 0;
    assert_true(elf_dynamic_descriptors(fixture.file, &bytes, &address));
    assert_int_equal(bytes.size, 48);
    assert_int_equal(address, BASE + HASH_AT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(either_hash_table_tells_how_many_symbols_there_are),
        cmocka_unit_test(mips_states_the_count_itself),
        cmocka_unit_test(a_count_past_the_file_is_refused),
        cmocka_unit_test(a_chain_without_end_is_refused),
        cmocka_unit_test(tables_outside_every_segment_are_refused),
        cmocka_unit_test(the_symbols_answer_when_the_section_headers_are_gone),
        cmocka_unit_test(a_file_with_section_headers_is_not_read_that_way),
        cmocka_unit_test(powerpc_descriptors_are_found_by_their_tag),
    };
    return cmocka_run_group_tests_name("elf_dynamic", tests, NULL, NULL);
}
