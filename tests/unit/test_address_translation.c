#include "api/address_translation.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbolizer/build/index_writer.h"
#include "tests/support/test.h"

/* As of a position-independent executable with a gap between file and address. */
static const struct index_segment segments[] = {
    {.offset = 0, .address = 0, .file_size = 0x1000, .memory_size = 0x1000, .flags = 4},
    {.offset = 0x1000, .address = 0x2000, .file_size = 0x500, .memory_size = 0x500, .flags = 5},
    {.offset = 0x14f0, .address = 0x4000, .file_size = 0x100, .memory_size = 0x900, .flags = 6},
};

static struct index *make_index(size_t segment_count) {
    CLEANUP(cleanup_index_writer) struct index_writer *writer = NULL;
    CLEANUP(cleanup_fd) int fd = memfd_create("index", MFD_CLOEXEC);
    struct index *index = NULL;
    struct error error;
    assert_int_equal(index_writer_new((uint64_t)1 << 30, &writer, &error), ERR_OK);
    for (size_t i = 0; i < segment_count; i++)
        assert_int_equal(index_writer_segment(writer, &segments[i], &error), ERR_OK);
    struct index_summary summary = {.has_dwarf = true};
    uint64_t size = 0;
    assert_int_equal(index_writer_finish(writer, &summary, fd, &size, &error), ERR_OK);
    assert_int_equal(index_open_fd(fd, &index, &error), ERR_OK);
    return index;
}

static uint64_t translate(const struct symbolize_module *rest, uint64_t address) {
    CLEANUP(cleanup_index) struct index *index = make_index(ARRAY_SIZE(segments));
    struct symbolize_module module = *rest;
    module.address_count = 1;
    assert_true(address_translate(&module, index, &address));
    return address;
}

static void elf_addresses_stay(void **state) {
    (void)state;
    struct symbolize_module module = {.address_kind = ADDRESS_ELF};
    assert_int_equal(translate(&module, 0x2345), 0x2345);
    assert_int_equal(translate(&module, 0), 0);
}

static void return_addresses_go_back_into_their_call(void **state) {
    (void)state;
    const bool yes = true;
    struct symbolize_module module = {.address_kind = ADDRESS_ELF, .is_return = &yes};
    assert_int_equal(translate(&module, 0x2345), 0x2344);
    assert_true(translate(&module, 0) == ADDRESS_NOWHERE);
}

static void file_offsets_go_through_their_segment(void **state) {
    (void)state;
    struct symbolize_module module = {.address_kind = ADDRESS_FILE_OFFSET};
    assert_int_equal(translate(&module, 0x1010), 0x2010);
    assert_int_equal(translate(&module, 0x10), 0x10);
    assert_int_equal(translate(&module, 0x15ef), 0x40ff);
    assert_true(translate(&module, 0x15f0) == ADDRESS_NOWHERE);
}

static void where_two_segments_cover_an_offset_code_is_meant(void **state) {
    (void)state;
    struct symbolize_module module = {.address_kind = ADDRESS_FILE_OFFSET};
    assert_int_equal(translate(&module, 0x14f8), 0x24f8);
    assert_int_equal(translate(&module, 0x1500), 0x4010);
}

static void runtime_addresses_go_through_mapping_and_segment(void **state) {
    (void)state;
    const bool yes = true;
    struct symbolize_module module = {
        .address_kind = ADDRESS_RUNTIME,
        .mapping = {.start = 0x7f0000001000, .limit = 0x7f0000002000, .offset = 0x1000},
    };
    assert_int_equal(translate(&module, 0x7f0000001010), 0x2010);
    assert_true(translate(&module, 0x7f0000000fff) == ADDRESS_NOWHERE);
    assert_true(translate(&module, 0x7f0000002000) == ADDRESS_NOWHERE);
    assert_true(translate(&module, 0x7f0000001800) == ADDRESS_NOWHERE);
    /* The mark is applied first, so that a call at the mapping's very end is still inside. */
    module.is_return = &yes;
    module.mapping.limit = 0x7f0000001011;
    assert_int_equal(translate(&module, 0x7f0000001011), 0x2010);
    assert_true(translate(&module, 0x7f0000001000) == ADDRESS_NOWHERE);
}

static void a_list_is_translated_one_by_one(void **state) {
    (void)state;
    CLEANUP(cleanup_index) struct index *index = make_index(ARRAY_SIZE(segments));
    const bool is_return[] = {false, true, false};
    uint64_t addresses[] = {0x1000, 0x1001, 0x9999};
    struct symbolize_module module = {
        .address_kind = ADDRESS_FILE_OFFSET, .is_return = is_return, .address_count = 3};
    assert_true(address_translate(&module, index, addresses));
    assert_int_equal(addresses[0], 0x2000);
    assert_int_equal(addresses[1], 0x2000);
    assert_true(addresses[2] == ADDRESS_NOWHERE);
}

static void without_segments_only_elf_addresses_can_be_answered(void **state) {
    (void)state;
    CLEANUP(cleanup_index) struct index *index = make_index(0);
    uint64_t address = 0x1010;
    struct symbolize_module module = {.address_kind = ADDRESS_FILE_OFFSET, .address_count = 1};
    assert_false(address_translate(&module, index, &address));
    module.address_kind = ADDRESS_RUNTIME;
    assert_false(address_translate(&module, index, &address));
    assert_int_equal(address, 0x1010);
    module.address_kind = ADDRESS_ELF;
    assert_true(address_translate(&module, index, &address));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elf_addresses_stay),
        cmocka_unit_test(return_addresses_go_back_into_their_call),
        cmocka_unit_test(file_offsets_go_through_their_segment),
        cmocka_unit_test(where_two_segments_cover_an_offset_code_is_meant),
        cmocka_unit_test(runtime_addresses_go_through_mapping_and_segment),
        cmocka_unit_test(a_list_is_translated_one_by_one),
        cmocka_unit_test(without_segments_only_elf_addresses_can_be_answered),
    };
    return cmocka_run_group_tests_name("address_translation", tests, NULL, NULL);
}
