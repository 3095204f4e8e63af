#include "base/block_list.h"

#include "tests/support/test.h"

static unsigned char byte_at(size_t offset) {
    return (unsigned char)(offset * 131 + offset / 251);
}

static void append(struct block_list *list, size_t size) {
    struct error error;
    char piece[3 * BLOCK_SIZE];
    assert_true(size <= sizeof(piece));
    for (size_t i = 0; i < size; i++)
        piece[i] = (char)byte_at(list->size + i);
    size_t before = list->size;
    assert_int_equal(block_list_append(list, span_of(piece, size), &error), ERR_OK);
    assert_int_equal(list->size, before + size);
}

static size_t check_bytes(const struct block_list *list) {
    size_t offset = 0;
    const struct block *block = NULL;
    while ((block = block_list_next(list, block))) {
        struct span bytes = block_bytes(block);
        assert_in_range(bytes.size, 1, BLOCK_SIZE);
        for (size_t i = 0; i < bytes.size; i++)
            assert_int_equal((unsigned char)bytes.data[i], byte_at(offset + i));
        offset += bytes.size;
    }
    assert_int_equal(offset, list->size);
    return offset;
}

static void bytes_come_out_as_they_went_in_whatever_the_pieces(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, BLOCK_SIZE - 1, BLOCK_SIZE, 2 * BLOCK_SIZE + 7, 3, 0};
    struct block_pool *pool = block_pool_new(1);
    struct block_list list = {.pool = pool};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        append(&list, sizes[i]);
        check_bytes(&list);
    }
    block_list_clear(&list);
    assert_null(block_list_next(&list, NULL));
    append(&list, 10);
    assert_int_equal(check_bytes(&list), 10);
    block_list_clear(&list);
    block_pool_free(pool);
}

static void a_moved_list_leaves_an_empty_one_that_fills_again(void **state) {
    (void)state;
    struct block_pool *pool = block_pool_new(0);
    struct block_list filling = {.pool = pool}, full = {.pool = pool};
    append(&filling, BLOCK_SIZE + 1);
    block_list_move(&filling, &full);
    assert_int_equal(filling.size, 0);
    append(&filling, 5);
    assert_int_equal(check_bytes(&filling), 5);
    assert_int_equal(check_bytes(&full), BLOCK_SIZE + 1);
    block_list_clear(&filling);
    block_list_clear(&full);
    block_pool_free(pool);
}

static void emptied_blocks_are_filled_again_up_to_as_many_as_are_kept(void **state) {
    (void)state;
    struct block_pool *pool = block_pool_new(2);
    struct block_list list = {.pool = pool};
    append(&list, 3 * BLOCK_SIZE);
    const struct block *first = block_list_next(&list, NULL);
    const struct block *second = block_list_next(&list, first);
    block_list_clear(&list);
    append(&list, 2 * BLOCK_SIZE + 1);
    assert_ptr_equal(block_list_next(&list, NULL), second);
    assert_ptr_equal(block_list_next(&list, second), first);
    check_bytes(&list);
    block_list_clear(&list);
    block_pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_as_they_went_in_whatever_the_pieces),
        cmocka_unit_test(a_moved_list_leaves_an_empty_one_that_fills_again),
        cmocka_unit_test(emptied_blocks_are_filled_again_up_to_as_many_as_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
