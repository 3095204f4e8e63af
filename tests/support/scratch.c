#include "tests/support/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/test.h"

void scratch_make(struct scratch *scratch) {
    const char *parent = getenv("TMPDIR");
    snprintf(scratch->path, sizeof(scratch->path), "%s/scratch-XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(scratch->path));
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(scratch->fd >= 0);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *level) {
    (void)status;
    (void)type;
    (void)level;
    return remove(path);
}

void scratch_remove(struct scratch *scratch) {
    close(scratch->fd);
    assert_int_equal(nftw(scratch->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *scratch_path(const struct scratch *scratch, const char *name) {
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch->path, name);
    return path;
}
