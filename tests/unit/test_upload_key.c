#include "api/upload_key.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

static struct error error;

static int set_up(void **state) {
    static struct scratch scratch;
    scratch_make(&scratch);
    *state = &scratch;
    return 0;
}

static int tear_down(void **state) {
    scratch_remove(*state);
    return 0;
}

static struct upload_key must_open(const struct scratch *scratch) {
    struct upload_key key;
    if (upload_key_open(scratch->fd, &key, &error) != ERR_OK)
        fail_msg("%s", error.text);
    return key;
}

static void the_first_start_makes_a_key_that_stays(void **state) {
    struct scratch *scratch = *state;
    struct upload_key first = must_open(scratch);
    struct upload_key second = must_open(scratch);
    assert_memory_equal(first.bytes, second.bytes, sizeof(first.bytes));
    assert_int_equal(unlinkat(scratch->fd, "upload.key", 0), 0);
    struct upload_key third = must_open(scratch);
    assert_memory_not_equal(first.bytes, third.bytes, sizeof(first.bytes));
}

static void the_key_is_for_its_owner_alone(void **state) {
    struct scratch *scratch = *state;
    struct stat status;
    struct upload_key key = must_open(scratch);
    assert_int_equal(fstatat(scratch->fd, "upload.key", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(fchmodat(scratch->fd, "upload.key", 0640, 0), 0);
    assert_int_equal(upload_key_open(scratch->fd, &key, &error), ERR_INVALID);
    assert_non_null(strstr(error.text, "0640"));
}

static void a_start_that_was_cut_off_leaves_no_half_a_key(void **state) {
    struct scratch *scratch = *state;
    int fd = openat(scratch->fd, "upload.key.new", O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    fd_close(fd);
    struct stat status;
    must_open(scratch);
    assert_int_equal(fstatat(scratch->fd, "upload.key", &status, 0), 0);
    assert_int_equal(status.st_size, UPLOAD_KEY_SIZE);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(faccessat(scratch->fd, "upload.key.new", F_OK, 0), -1);
}

static void a_file_of_another_size_is_no_key(void **state) {
    struct scratch *scratch = *state;
    struct upload_key key;
    int fd = openat(scratch->fd, "upload.key", O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    fd_close(fd);
    assert_int_equal(upload_key_open(scratch->fd, &key, &error), ERR_MALFORMED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_start_makes_a_key_that_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_key_is_for_its_owner_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_that_was_cut_off_leaves_no_half_a_key, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_another_size_is_no_key, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("upload_key", tests, NULL, NULL);
}
