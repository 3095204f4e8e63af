#include "symbolizer/index/index.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/symbol_source.h"
#include "symbolizer/index/format.h"
#include "tests/support/index_fixture.h"
#include "tests/support/test.h"

static struct index *open_sound(struct span bytes) {
    struct error error = {0};
    struct index *index = NULL;
    if (index_open_memory(bytes, &index, &error) || index_verify(index, &error))
        fail_msg("%s", error.text);
    return index;
}

static char *copy_of(struct span bytes) {
    char *copy = malloc(bytes.size ? bytes.size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    return copy;
}

static uint64_t section_offset(const char *bytes, enum format_section_kind kind) {
    struct format_section entry;
    memcpy(&entry, bytes + sizeof(struct format_header) + (kind - 1) * sizeof(entry),
           sizeof(entry));
    return le64toh(entry.offset);
}

static struct symbol_frame next_frame(const struct index *index, struct index_chain *chain) {
    struct index_scratch scratch;
    struct symbol_frame frame = {0};
    assert_true(index_chain_next(index, chain, &scratch, &frame));
    return frame;
}

static struct index_chain chain_at(const struct index *index, uint64_t pc) {
    struct index_hit hit;
    index_lookup(index, &pc, 1, &hit);
    return hit.chain;
}

static void the_example_reads_back(void **state) {
    (void)state;
    struct span bytes = index_fixture_example();
    struct index *index = open_sound(bytes);
    const uint64_t pcs[] = {0x401020, 0x401008, 0x40100f, 0x401000, 0x401010, 0x400fff, 0x401024};
    struct index_hit hits[ARRAY_SIZE(pcs)];
    index_lookup(index, pcs, ARRAY_SIZE(pcs), hits);
    assert_int_equal(hits[0].miss, SYMBOL_MISS_NO_LINE);
    assert_int_equal(hits[1].miss, SYMBOL_MISS_NONE);
    assert_int_equal(hits[1].chain.scope, hits[2].chain.scope);
    assert_int_equal(hits[3].miss, SYMBOL_MISS_NONE);
    for (size_t i = 4; i < ARRAY_SIZE(pcs); i++) {
        assert_int_equal(hits[i].miss, SYMBOL_MISS_NO_RANGE);
        assert_int_equal(hits[i].chain.scope, 0);
    }
    struct index_chain chain = hits[1].chain;
    struct symbol_frame leaf = next_frame(index, &chain);
    assert_true(span_equal_cstr(leaf.name, "twice") && span_equal_cstr(leaf.file, "a.h"));
    assert_int_equal(leaf.line, 2);
    assert_false(leaf.has_entry_pc);
    struct symbol_frame caller = next_frame(index, &chain);
    assert_true(span_equal_cstr(caller.name, "main") && span_equal_cstr(caller.file, "a.c"));
    assert_true(caller.line == 5 && caller.column == 9 && caller.start_line == 3);
    assert_true(caller.has_entry_pc && caller.entry_pc == 0x401000);
    assert_int_equal(chain.scope, 0);
    index_free(index);
    free((void *)bytes.data);
}

static void the_summary_and_segments_read_back(void **state) {
    (void)state;
    struct span bytes = index_fixture_example();
    struct index *index = open_sound(bytes);
    struct index_summary summary;
    index_summary_read(index, &summary);
    assert_int_equal(summary.id_count, 1);
    assert_int_equal(summary.ids[0].kind, BINARY_ID_GNU);
    assert_string_equal(summary.ids[0].text, "0badc0de");
    assert_int_equal(summary.machine, 62);
    assert_true(summary.has_dwarf && summary.has_symtab && summary.extents_exact);
    assert_false(summary.has_dynsym || summary.has_pclntab);
    assert_int_equal(summary.function_count, 2);
    assert_int_equal(summary.inlined_count, 1);
    assert_int_equal(summary.line_row_count, 3);
    assert_int_equal(summary.interval_count, 3);
    assert_int_equal(summary.location_count, 3);
    assert_int_equal(summary.executable_bytes, 36);
    assert_int_equal(summary.covered_bytes, 20);
    assert_int_equal(index_segment_count(index), 1);
    struct index_segment segment = index_segment_at(index, 0);
    assert_true(segment.address == 0x400000 && segment.file_size == 0x1000 && segment.flags == 5);
    index_free(index);
    free((void *)bytes.data);
}

static void a_file_opens_like_its_bytes(void **state) {
    (void)state;
    struct error error;
    struct span bytes = index_fixture_example();
    int fd = memfd_create("index", MFD_CLOEXEC);
    assert_int_equal(fd_write_all(fd, bytes.data, bytes.size, &error), ERR_OK);
    struct index *index = NULL;
    assert_int_equal(index_open_fd(fd, &index, &error), ERR_OK);
    fd_close(fd);
    assert_int_equal(index_size(index), bytes.size);
    assert_int_equal(index_verify(index, &error), ERR_OK);
    assert_int_not_equal(chain_at(index, 0x401000).scope, 0);
    index_free(index);
    free((void *)bytes.data);
}

static void bytes_may_lie_at_any_address(void **state) {
    (void)state;
    struct span bytes = index_fixture_comb(40);
    char *moved = malloc(bytes.size + 1);
    memcpy(moved + 1, bytes.data, bytes.size);
    struct index *index = open_sound(span_of(moved + 1, bytes.size));
    struct index_chain chain = chain_at(index, 0x1000 + 2 * 33);
    assert_int_equal(next_frame(index, &chain).line, 34);
    index_free(index);
    free(moved);
    free((void *)bytes.data);
}

static void what_is_no_index_of_this_version_does_not_open(void **state) {
    (void)state;
    struct error error;
    struct index *index = NULL;
    struct span bytes = index_fixture_example();
    char *other = copy_of(bytes);
    other[offsetof(struct format_header, version)] = INDEX_FORMAT_VERSION + 1;
    index_fixture_repair(other, bytes.size);
    assert_int_equal(index_open_memory(span_of(other, bytes.size), &index, &error),
                     ERR_UNSUPPORTED);
    assert_int_equal(index_open_memory(span_cstr("\x7f"
                                                 "ELF"),
                                       &index, &error),
                     ERR_MALFORMED);
    int fd = memfd_create("empty", MFD_CLOEXEC);
    assert_int_equal(index_open_fd(fd, &index, &error), ERR_MALFORMED);
    fd_close(fd);
    free(other);
    free((void *)bytes.data);
}

static void no_truncated_or_extended_file_opens(void **state) {
    (void)state;
    struct error error;
    struct index *index = NULL;
    struct span bytes = index_fixture_example();
    for (size_t size = 0; size < bytes.size; size++) {
        char *part = copy_of(span_of(bytes.data, size));
        assert_int_equal(index_open_memory(span_of(part, size), &index, &error), ERR_MALFORMED);
        index_fixture_repair(part, size);
        assert_int_equal(index_open_memory(span_of(part, size), &index, &error), ERR_MALFORMED);
        free(part);
    }
    char *longer = calloc(1, bytes.size + 1);
    memcpy(longer, bytes.data, bytes.size);
    index_fixture_repair(longer, bytes.size + 1);
    assert_int_equal(index_open_memory(span_of(longer, bytes.size + 1), &index, &error),
                     ERR_MALFORMED);
    free(longer);
    free((void *)bytes.data);
}

/* Reads all that the index offers around its addresses; true when nothing was found damaged. */
static bool survey(const struct index *index, uint64_t first, size_t count) {
    uint64_t damage = index_damage_count(index);
    struct index_summary summary;
    index_summary_read(index, &summary);
    for (size_t i = 0; i < index_segment_count(index); i++)
        index_segment_at(index, i);
    for (size_t i = 0; i < count; i++) {
        struct index_scratch scratch;
        struct symbol_frame frame;
        unsigned frames = 0;
        struct index_chain chain = chain_at(index, first + i);
        while (index_chain_next(index, &chain, &scratch, &frame)) {
            /* Touched, so that a sanitizer sees a span that leaves the file. */
            if (frame.name.size)
                assert_true(frame.name.data[0] + frame.name.data[frame.name.size - 1] < 512);
            if (frame.file.size)
                assert_true(frame.file.data[0] + frame.file.data[frame.file.size - 1] < 512);
            assert_in_range(++frames, 1, FRAME_COUNT_MAX);
        }
    }
    return index_damage_count(index) == damage;
}

static void flip_and_survey(struct span bytes, size_t at, unsigned char mask, bool repaired) {
    struct error error;
    struct index *index = NULL;
    char *flipped = copy_of(bytes);
    flipped[at] = (char)(flipped[at] ^ mask);
    if (repaired)
        index_fixture_repair(flipped, bytes.size);
    if (index_open_memory(span_of(flipped, bytes.size), &index, &error) == ERR_OK) {
        bool sound = survey(index, 0x0ffe, 0x64);
        sound = survey(index, 0x400ffe, 0x40) && sound;
        enum err err = index_verify(index, &error);
        if (!repaired)
            assert_int_equal(err, ERR_MALFORMED);
        if (err == ERR_OK)
            assert_true(sound);
        index_free(index);
    }
    free(flipped);
}

static void every_flipped_byte_is_noticed(void **state) {
    (void)state;
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    struct span example = index_fixture_example();
    struct span comb = index_fixture_comb(40);
    for (size_t mask = 0; mask < ARRAY_SIZE(masks); mask++) {
        for (size_t at = 0; at < example.size; at++)
            flip_and_survey(example, at, masks[mask], false);
        for (size_t at = 0; at < comb.size; at++)
            flip_and_survey(comb, at, masks[mask], false);
    }
    free((void *)example.data);
    free((void *)comb.data);
}

static void damage_behind_right_checksums_stays_inside_the_file(void **state) {
    (void)state;
    struct span example = index_fixture_example();
    struct span comb = index_fixture_comb(40);
    for (unsigned bit = 0; bit < 8; bit++) {
        for (size_t at = 0; at < example.size; at++)
            flip_and_survey(example, at, (unsigned char)(1u << bit), true);
        for (size_t at = 0; at < comb.size; at++)
            flip_and_survey(comb, at, (unsigned char)(1u << bit), true);
    }
    free((void *)example.data);
    free((void *)comb.data);
}

/* The bytes behind the header of a block of scopes. */
static char *scope_rows(char *bytes, size_t block) {
    uint32_t offset;
    memcpy(&offset, bytes + section_offset(bytes, FORMAT_SCOPE_OFFSETS) + block * sizeof(offset),
           sizeof(offset));
    return bytes + section_offset(bytes, FORMAT_SCOPES) + le32toh(offset) - 1 +
           sizeof(struct format_scope_block);
}

static void a_caller_that_is_none_ends_the_chain(void **state) {
    (void)state;
    struct error error;
    struct span bytes = index_fixture_example();
    char *damaged = copy_of(bytes);
    /* The distance to the caller stands behind two bits of function: 1 is below the first scope. */
    *scope_rows(damaged, 0) |= 1 << 2;
    index_fixture_repair(damaged, bytes.size);
    struct index *index = NULL;
    assert_int_equal(index_open_memory(span_of(damaged, bytes.size), &index, &error), ERR_OK);
    assert_int_equal(index_verify(index, &error), ERR_MALFORMED);
    assert_string_equal(error.text, "symbol index, section scope_offsets: record 0 is damaged");
    struct index_chain chain = chain_at(index, 0x401000);
    assert_true(span_equal_cstr(next_frame(index, &chain).name, "main"));
    assert_int_equal(chain.scope, 0);
    assert_int_equal(index_damage_count(index), 1);
    index_free(index);
    free(damaged);
    free((void *)bytes.data);
}

static void a_chain_that_damage_made_too_long_ends(void **state) {
    (void)state;
    struct error error;
    struct span bytes = index_fixture_chains(2, FRAME_COUNT_MAX);
    char *joined = copy_of(bytes);
    /* The second chain's outermost scope gets a caller: the first chain's innermost. */
    *scope_rows(joined, FRAME_COUNT_MAX / FORMAT_BLOCK_RECORDS) |= 1;
    index_fixture_repair(joined, bytes.size);
    struct index *index = NULL;
    assert_int_equal(index_open_memory(span_of(joined, bytes.size), &index, &error), ERR_OK);
    assert_int_equal(index_verify(index, &error), ERR_MALFORMED);
    struct index_chain chain = chain_at(index, 0x1001);
    for (unsigned i = 0; i < FRAME_COUNT_MAX; i++)
        next_frame(index, &chain);
    assert_int_equal(chain.scope, 0);
    assert_int_equal(index_damage_count(index), 1);
    index_free(index);
    free(joined);
    free((void *)bytes.data);
}

static void a_scope_that_is_none_yields_no_frame(void **state) {
    (void)state;
    struct span bytes = index_fixture_example();
    struct index *index = open_sound(bytes);
    struct index_scratch scratch;
    struct symbol_frame frame;
    struct index_chain chain = {0};
    assert_false(index_chain_next(index, &chain, &scratch, &frame));
    chain.scope = 5;
    assert_false(index_chain_next(index, &chain, &scratch, &frame));
    assert_int_equal(chain.scope, 0);
    index_free(index);
    free((void *)bytes.data);
}

/* Moves the names, which end the file, so far back that their base takes more than 32 bits. */
static void move_names(char *bytes, size_t size, uint64_t by) {
    struct format_section entry;
    uint64_t base = htole64(by);
    memcpy(bytes + section_offset(bytes, FORMAT_FUNCTIONS), &base, sizeof(base));
    char *at = bytes + sizeof(struct format_header) + (FORMAT_NAME_BYTES - 1) * sizeof(entry);
    memcpy(&entry, at, sizeof(entry));
    entry.size = htole64(le64toh(entry.size) + by);
    entry.count = entry.size;
    memcpy(at, &entry, sizeof(entry));
    index_fixture_repair_header(bytes, size + by);
}

static void names_may_lie_beyond_4_gib(void **state) {
    (void)state;
    const uint64_t by = (uint64_t)5 << 30;
    struct error error;
    struct span example = index_fixture_example();
    char *bytes = copy_of(example);
    const uint64_t names = section_offset(bytes, FORMAT_NAME_BYTES);
    move_names(bytes, example.size, by);
    CLEANUP(cleanup_fd) int fd = memfd_create("sparse", MFD_CLOEXEC);
    assert_int_equal(fd_write_all(fd, bytes, names, &error), ERR_OK);
    assert_int_equal(lseek(fd, (off_t)(names + by), SEEK_SET), (off_t)(names + by));
    assert_int_equal(fd_write_all(fd, bytes + names, example.size - names, &error), ERR_OK);
    struct index *index = NULL;
    assert_int_equal(index_open_fd(fd, &index, &error), ERR_OK);
    struct index_chain chain = chain_at(index, 0x401008);
    assert_true(span_equal_cstr(next_frame(index, &chain).name, "twice"));
    assert_true(span_equal_cstr(next_frame(index, &chain).name, "main"));
    assert_int_equal(index_damage_count(index), 0);
    index_free(index);
    free(bytes);
    free((void *)example.data);
}

#define READER_COUNT 4

static void *read_all(void *context) {
    const struct index *index = context;
    for (unsigned round = 0; round < 50; round++)
        survey(index, 0x1000, 0x64);
    return NULL;
}

static void threads_read_one_index_at_once(void **state) {
    (void)state;
    struct error error;
    struct span bytes = index_fixture_comb(40);
    /* Names that lie nowhere make each reader count damage. */
    char *damaged = copy_of(bytes);
    memset(damaged + section_offset(damaged, FORMAT_FUNCTIONS), 0xff, 8);
    index_fixture_repair(damaged, bytes.size);
    struct index *index = NULL;
    assert_int_equal(index_open_memory(span_of(damaged, bytes.size), &index, &error), ERR_OK);
    survey(index, 0x1000, 0x64);
    uint64_t once = index_damage_count(index);
    assert_true(once > 0);
    pthread_t readers[READER_COUNT];
    for (unsigned i = 0; i < READER_COUNT; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, index), 0);
    for (unsigned i = 0; i < READER_COUNT; i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    assert_int_equal(index_damage_count(index), once + (uint64_t)READER_COUNT * 50 * once);
    index_free(index);
    free(damaged);
    free((void *)bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_reads_back),
        cmocka_unit_test(the_summary_and_segments_read_back),
        cmocka_unit_test(a_file_opens_like_its_bytes),
        cmocka_unit_test(bytes_may_lie_at_any_address),
        cmocka_unit_test(what_is_no_index_of_this_version_does_not_open),
        cmocka_unit_test(no_truncated_or_extended_file_opens),
        cmocka_unit_test(every_flipped_byte_is_noticed),
        cmocka_unit_test(damage_behind_right_checksums_stays_inside_the_file),
        cmocka_unit_test(a_caller_that_is_none_ends_the_chain),
        cmocka_unit_test(a_chain_that_damage_made_too_long_ends),
        cmocka_unit_test(a_scope_that_is_none_yields_no_frame),
        cmocka_unit_test(names_may_lie_beyond_4_gib),
        cmocka_unit_test(threads_read_one_index_at_once),
    };
    return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
