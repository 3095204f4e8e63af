#include "symbolizer/build/worker_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITED 0
#elif defined(__has_feature)
#define LIMITED !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define LIMITED 1
#endif

/* The exit status of a child that limits itself and then looks around. */
static int in_limited_child(int (*look)(int open_before)) {
    int before = open("/dev/null", O_RDWR);
    pid_t pid = fork();
    if (pid == 0) {
        struct error error;
        _exit(worker_limits_apply((uint64_t)64 << 20, &error) == ERR_OK ? look(before) : 99);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    close(before);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int opens_a_path(int open_before) {
    (void)open_before;
    errno = 0;
    return open("/dev/null", O_RDONLY) < 0 && errno == EMFILE ? 0 : 1;
}

static int uses_what_was_open(int open_before) {
    return write(open_before, "x", 1) == 1 ? 0 : 1;
}

static int takes_memory(int open_before) {
    (void)open_before;
    return malloc((size_t)256 << 20) ? 1 : 0;
}

static void no_path_can_be_opened_any_more(void **state) {
    (void)state;
    assert_int_equal(in_limited_child(opens_a_path), LIMITED ? 0 : 1);
}

static void what_was_open_stays_usable(void **state) {
    (void)state;
    assert_int_equal(in_limited_child(uses_what_was_open), 0);
}

static void memory_is_bounded(void **state) {
    (void)state;
    assert_int_equal(in_limited_child(takes_memory), LIMITED ? 0 : 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_path_can_be_opened_any_more),
        cmocka_unit_test(what_was_open_stays_usable),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests_name("worker_limits", tests, NULL, NULL);
}
