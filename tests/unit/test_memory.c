/* The arena and the buffer: what grows, and what refuses to. */
#include "base/arena.h"
#include "base/buffer.h"

#include <stdlib.h>

#include "tests/support/test.h"

static void an_arena_hands_out_zeroed_aligned_memory(void **state) {
    (void)state;
    CLEANUP(cleanup_arena) struct arena *arena = arena_new(1 << 20);
    for (size_t size = 0; size < 3000; size += 7) {
        char *bytes = arena_alloc(arena, size);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(bytes[i], 0);
            bytes[i] = (char)0xff;
        }
    }
}

static void an_arena_stops_at_its_limit(void **state) {
    (void)state;
    CLEANUP(cleanup_arena) struct arena *arena = arena_new(100000);
    assert_non_null(arena_alloc(arena, 90000));
    assert_null(arena_alloc(arena, 20000));
    assert_null(arena_alloc(arena, SIZE_MAX));
    assert_non_null(arena_alloc(arena, 9000));
    assert_true(arena_used(arena) <= 100000);
}

static void an_arena_copies_bytes_with_a_nul(void **state) {
    (void)state;
    CLEANUP(cleanup_arena) struct arena *arena = arena_new(1000);
    struct span copy = arena_copy(arena, span_of("a\0b", 3));
    assert_memory_equal(copy.data, "a\0b\0", 4);
    assert_int_equal(copy.size, 3);
    assert_null(arena_copy(arena, span_of("x", 2000)).data);
}

static void a_buffer_latches_its_first_overflow(void **state) {
    (void)state;
    struct buffer buffer = {.size_max = 8};
    buffer_append_cstr(&buffer, "12345");
    buffer_printf(&buffer, "%s", "6789");
    assert_true(buffer_failed(&buffer));
    buffer_append_byte(&buffer, 'x');
    assert_int_equal(buffer.size, 5);
    assert_string_equal(buffer_cstr(&buffer), "");
    buffer_clear(&buffer);
    assert_false(buffer_failed(&buffer));
    buffer_append_cstr(&buffer, "1234567");
    assert_string_equal(buffer_cstr(&buffer), "1234567");
    buffer_clear(&buffer);
}

static void a_buffer_formats_across_its_growth(void **state) {
    (void)state;
    struct buffer buffer = {0};
    for (int i = 0; i < 1000; i++)
        buffer_printf(&buffer, "%04d", i);
    assert_int_equal(buffer.size, 4000);
    assert_memory_equal(buffer.data + 3996, "0999", 4);
    buffer_clear(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_hands_out_zeroed_aligned_memory),
        cmocka_unit_test(an_arena_stops_at_its_limit),
        cmocka_unit_test(an_arena_copies_bytes_with_a_nul),
        cmocka_unit_test(a_buffer_latches_its_first_overflow),
        cmocka_unit_test(a_buffer_formats_across_its_growth),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
