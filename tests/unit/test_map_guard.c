#include "base/map_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

#define PAGES 4

static struct scratch scratch;
static size_t page_size;

static int set_up(void **state) {
    (void)state;
    scratch_make(&scratch);
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

/* In the test itself: cmocka handles the signal around each. */
static void install(void) {
    struct error error;
    assert_int_equal(map_guard_install(&error), ERR_OK);
}

/* A map of so many pages full of 'x', whose file is then cut to `left` bytes. */
static struct span map_of_cut_file(const char *name, size_t left) {
    CLEANUP(cleanup_fd) int fd = openat(scratch.fd, name, O_RDWR | O_CREAT, 0600);
    CLEANUP(cleanup_free) char *bytes = malloc(PAGES * page_size);
    struct span mapped;
    struct error error;
    memset(bytes, 'x', PAGES * page_size);
    assert_int_equal(fd_write_all(fd, bytes, PAGES * page_size, &error), ERR_OK);
    assert_int_equal(fd_map(fd, &mapped, &error), ERR_OK);
    assert_int_equal(ftruncate(fd, (off_t)left), 0);
    return mapped;
}

static char read_at(struct span bytes, size_t offset) {
    return *(const volatile char *)(bytes.data + offset);
}

static void pages_that_are_no_more_read_as_zeros_and_mark_the_map(void **state) {
    (void)state;
    install();
    struct span bytes = map_of_cut_file("cut", page_size);
    struct map_guard *guard = map_guard_add(bytes);
    assert_int_equal(read_at(bytes, 7), 'x');
    assert_false(map_guard_was_hit(guard));
    assert_int_equal(read_at(bytes, 2 * page_size + 5), 0);
    assert_true(map_guard_was_hit(guard));
    assert_int_equal(read_at(bytes, page_size), 0);
    assert_int_equal(read_at(bytes, bytes.size - 1), 0);
    assert_int_equal(read_at(bytes, 7), 'x');
    map_guard_remove(guard);
    fd_unmap(bytes);
}

static void other_maps_are_not_marked(void **state) {
    (void)state;
    install();
    struct span sound = map_of_cut_file("sound", PAGES * page_size);
    struct span cut = map_of_cut_file("other", 0);
    struct map_guard *first = map_guard_add(sound);
    struct map_guard *second = map_guard_add(cut);
    assert_int_equal(read_at(cut, 0), 0);
    assert_true(map_guard_was_hit(second));
    assert_false(map_guard_was_hit(first));
    map_guard_remove(second);
    struct map_guard *again = map_guard_add(sound);
    assert_false(map_guard_was_hit(again));
    map_guard_remove(first);
    map_guard_remove(again);
    fd_unmap(sound);
    fd_unmap(cut);
}

static void there_is_room_for_many(void **state) {
    (void)state;
    install();
    struct span bytes = map_of_cut_file("many", 0);
    struct map_guard *guards[1000];
    for (size_t i = 0; i < ARRAY_SIZE(guards) - 1; i++)
        guards[i] = map_guard_add(span_of(bytes.data, 1));
    struct map_guard *last = guards[ARRAY_SIZE(guards) - 1] =
        map_guard_add(span_of(bytes.data + page_size, page_size));
    assert_int_equal(read_at(bytes, page_size), 0);
    assert_true(map_guard_was_hit(last));
    assert_false(map_guard_was_hit(guards[0]));
    for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
        map_guard_remove(guards[i]);
    fd_unmap(bytes);
}

static void a_map_without_a_guard_ends_the_process_as_ever(void **state) {
    (void)state;
    install();
    struct span bytes = map_of_cut_file("unguarded", 0);
    map_guard_remove(map_guard_add(bytes));
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        _exit(read_at(bytes, 0));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    fd_unmap(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_are_no_more_read_as_zeros_and_mark_the_map),
        cmocka_unit_test(other_maps_are_not_marked),
        cmocka_unit_test(there_is_room_for_many),
        cmocka_unit_test(a_map_without_a_guard_ends_the_process_as_ever),
    };
    return cmocka_run_group_tests_name("map_guard", tests, set_up, tear_down);
}
