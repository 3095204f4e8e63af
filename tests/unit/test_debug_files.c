#include "cli/debug_files.h"

#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "debuginfo/debug_link.h"
#include "tests/support/elf_image.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

/* A folder bin/ with the file and a folder debug/ with trees. */
static int set_up(void **state) {
    struct scratch *scratch = malloc(sizeof(*scratch));
    assert_non_null(scratch);
    scratch_make(scratch);
    static const char *const folders[] = {"bin",   "bin/.debug",      "debug",
                                          "other", "debug/.build-id", "debug/.build-id/ab"};
    struct error error;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        assert_int_equal(fd_make_directory(scratch->fd, folders[i], &error), ERR_OK);
    *state = scratch;
    return 0;
}

static int tear_down(void **state) {
    scratch_remove(*state);
    free(*state);
    return 0;
}

static void write_file(const struct scratch *scratch, const char *name, struct span bytes) {
    struct error error;
    CLEANUP(cleanup_fd)
    int fd = openat(scratch->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes.data, bytes.size, &error), ERR_OK);
}

struct shape {
    const char *id;   /* four bytes, or NULL: none */
    const char *link; /* or NULL */
    uint32_t crc;
    bool has_dwarf;
};

static void write_elf(const struct scratch *scratch, const char *name, const struct shape *shape) {
    CLEANUP(cleanup_elf_image)
    struct elf_image *image = elf_image_new(true, false, ET_DYN, EM_X86_64);
    CLEANUP(buffer_clear) struct buffer link = {0};
    if (shape->id)
        elf_image_add(image, &(struct elf_image_section){
                                 .name = ".note.gnu.build-id",
                                 .type = SHT_NOTE,
                                 .bytes = elf_image_note(image, "GNU", NT_GNU_BUILD_ID,
                                                         span_of(shape->id, 4), 4)});
    if (shape->link) {
        uint32_t crc = htole32(shape->crc);
        buffer_append(&link, shape->link, strlen(shape->link) + 1);
        while (link.size % 4)
            buffer_append_byte(&link, '\0');
        buffer_append(&link, &crc, sizeof(crc));
        elf_image_add_bytes(image, ".gnu_debuglink", buffer_span(&link));
    }
    if (shape->has_dwarf)
        elf_image_add_bytes(image, ".debug_info", span_cstr("x"));
    write_file(scratch, name, elf_image_finish(image, ELF_IMAGE_PLAIN));
}

/* The path that was found, below the scratch folder; "" for none. */
static const char *found(const struct scratch *scratch, const char *name) {
    static char text[PATH_MAX];
    char folder[PATH_MAX];
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", scratch->path, name);
    snprintf(folder, sizeof(folder), "%s/debug", scratch->path);
    const char *const paths[] = {"/nonexistent", folder};
    struct debug_folders folders = {paths, ARRAY_SIZE(paths)};
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY);
    CLEANUP(cleanup_fd) int debug_fd = -1;
    CLEANUP(cleanup_free) char *debug_path = NULL;
    struct error error = {0};
    enum err err = debug_file_find(&folders, path, fd, &debug_fd, &debug_path, &error);
    text[0] = '\0';
    if (err) {
        assert_int_equal(err, ERR_NOT_FOUND);
        assert_true(error.text[0]);
        return text;
    }
    assert_true(debug_fd >= 0);
    char resolved[PATH_MAX];
    assert_non_null(realpath(scratch->path, resolved));
    size_t size = strlen(scratch->path);
    if (strncmp(debug_path, scratch->path, size) != 0)
        size = strlen(resolved);
    snprintf(text, sizeof(text), "%s", debug_path + size + 1);
    return text;
}

#define DEBUG_TEXT "debug data"
#define ID "\xab\x12\x34\x56"
#define ID_PATH "debug/.build-id/ab/123456.debug"

static void a_build_id_leads_into_the_tree(void **state) {
    const struct scratch *scratch = *state;
    write_elf(scratch, "bin/file", &(struct shape){.id = ID});
    assert_string_equal(found(scratch, "bin/file"), "");
    write_elf(scratch, ID_PATH, &(struct shape){.id = ID, .has_dwarf = true});
    assert_string_equal(found(scratch, "bin/file"), ID_PATH);
}

static void an_id_alone_leads_there_too(void **state) {
    const struct scratch *scratch = *state;
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/debug", scratch->path);
    const char *const paths[] = {folder};
    const struct debug_folders folders = {paths, ARRAY_SIZE(paths)};
    CLEANUP(cleanup_fd) int fd = -1;
    CLEANUP(cleanup_free) char *path = NULL;
    struct error error;
    write_elf(scratch, ID_PATH, &(struct shape){.id = ID, .has_dwarf = true});
    assert_int_equal(debug_file_find_id(&folders, span_cstr("AB123456"), &fd, &path, &error),
                     ERR_OK);
    assert_true(fd >= 0 && strcmp(path + strlen(scratch->path) + 1, ID_PATH) == 0);
    assert_int_equal(debug_file_find_id(&folders, span_cstr("ab1234"), &fd, &path, &error),
                     ERR_NOT_FOUND);
    assert_int_equal(debug_file_find_id(&folders, span_cstr("../x"), &fd, &path, &error),
                     ERR_INVALID);
}

static void what_lies_there_of_another_build_is_passed_over(void **state) {
    const struct scratch *scratch = *state;
    write_elf(scratch, "bin/file", &(struct shape){.id = ID});
    write_elf(scratch, ID_PATH, &(struct shape){.id = "\xab\x12\x34\x57", .has_dwarf = true});
    assert_string_equal(found(scratch, "bin/file"), "");
    write_file(scratch, ID_PATH, span_cstr("no ELF file"));
    assert_string_equal(found(scratch, "bin/file"), "");
}

static void a_link_is_followed_to_all_three_places(void **state) {
    const struct scratch *scratch = *state;
    uint32_t crc = debug_link_crc(span_cstr(DEBUG_TEXT));
    char tree[PATH_MAX];
    char resolved[PATH_MAX];
    assert_non_null(realpath(scratch->path, resolved));
    write_elf(scratch, "bin/file", &(struct shape){.link = "file.debug", .crc = crc});
    /* debug/ + the folder of the file + the link */
    snprintf(tree, sizeof(tree), "debug");
    struct error error;
    for (char *at = resolved; at; at = strchr(at + 1, '/')) {
        char *end = strchr(at + 1, '/');
        snprintf(tree, sizeof(tree), "debug%.*s", end ? (int)(end - resolved) : PATH_MAX / 2,
                 resolved);
        assert_int_equal(fd_make_directory(scratch->fd, tree, &error), ERR_OK);
    }
    snprintf(tree, sizeof(tree), "debug%.*s/bin", PATH_MAX / 2, resolved);
    assert_int_equal(fd_make_directory(scratch->fd, tree, &error), ERR_OK);
    snprintf(tree, sizeof(tree), "debug%.*s/bin/file.debug", PATH_MAX / 2, resolved);
    write_file(scratch, tree, span_cstr(DEBUG_TEXT));
    assert_string_equal(found(scratch, "bin/file"), tree);
    write_file(scratch, "bin/.debug/file.debug", span_cstr(DEBUG_TEXT));
    assert_string_equal(found(scratch, "bin/file"), "bin/.debug/file.debug");
    write_file(scratch, "bin/file.debug", span_cstr(DEBUG_TEXT));
    assert_string_equal(found(scratch, "bin/file"), "bin/file.debug");
}

static void a_wrong_checksum_is_passed_over_for_a_right_one(void **state) {
    const struct scratch *scratch = *state;
    uint32_t crc = debug_link_crc(span_cstr(DEBUG_TEXT));
    write_elf(scratch, "bin/file", &(struct shape){.link = "file.debug", .crc = crc});
    write_file(scratch, "bin/file.debug", span_cstr("of an older build"));
    assert_string_equal(found(scratch, "bin/file"), "");
    write_file(scratch, "bin/.debug/file.debug", span_cstr(DEBUG_TEXT));
    assert_string_equal(found(scratch, "bin/file"), "bin/.debug/file.debug");
}

static void a_link_to_itself_is_none(void **state) {
    const struct scratch *scratch = *state;
    write_elf(scratch, "bin/file", &(struct shape){.link = "file", .crc = 0});
    assert_string_equal(found(scratch, "bin/file"), "");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/bin/file", scratch->path);
    assert_int_equal(symlinkat(path, scratch->fd, "bin/.debug/file"), 0);
    assert_string_equal(found(scratch, "bin/file"), "");
}

static void links_are_looked_up_where_the_file_really_lies(void **state) {
    const struct scratch *scratch = *state;
    uint32_t crc = debug_link_crc(span_cstr(DEBUG_TEXT));
    write_elf(scratch, "bin/file", &(struct shape){.link = "file.debug", .crc = crc});
    write_file(scratch, "bin/file.debug", span_cstr(DEBUG_TEXT));
    assert_int_equal(symlinkat("../bin/file", scratch->fd, "other/name"), 0);
    assert_string_equal(found(scratch, "other/name"), "bin/file.debug");
}

static void a_folder_or_pipe_of_that_name_is_no_debug_file(void **state) {
    const struct scratch *scratch = *state;
    struct error error;
    write_elf(scratch, "bin/file", &(struct shape){.link = "file.debug", .crc = 0});
    assert_int_equal(fd_make_directory(scratch->fd, "bin/file.debug", &error), ERR_OK);
    assert_int_equal(mkfifoat(scratch->fd, "bin/.debug/file.debug", 0600), 0);
    assert_string_equal(found(scratch, "bin/file"), "");
}

static void a_file_with_debug_data_needs_none(void **state) {
    const struct scratch *scratch = *state;
    write_elf(scratch, "bin/file", &(struct shape){.id = ID, .has_dwarf = true});
    write_elf(scratch, ID_PATH, &(struct shape){.id = ID, .has_dwarf = true});
    assert_string_equal(found(scratch, "bin/file"), "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_build_id_leads_into_the_tree),
        TEST(an_id_alone_leads_there_too),
        TEST(what_lies_there_of_another_build_is_passed_over),
        TEST(a_link_is_followed_to_all_three_places),
        TEST(a_wrong_checksum_is_passed_over_for_a_right_one),
        TEST(a_link_to_itself_is_none),
        TEST(links_are_looked_up_where_the_file_really_lies),
        TEST(a_folder_or_pipe_of_that_name_is_no_debug_file),
        TEST(a_file_with_debug_data_needs_none),
    };
    return cmocka_run_group_tests_name("debug_files", tests, NULL, NULL);
}
