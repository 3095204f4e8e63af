#include "tests/support/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/support/test.h"

#define ROOM_WANTED ((uint64_t)1 << 30)

/* Memory, where there is enough of it: what a file system must do to survive a power cut takes most
 * of the time on a disk, and no unit test cuts the power. */
static const char *parent_folder(void) {
    const char *wanted = getenv("TMPDIR");
    struct statvfs status;
    if (wanted)
        return wanted;
    bool roomy = statvfs("/dev/shm", &status) == 0 && access("/dev/shm", W_OK) == 0 &&
                 (uint64_t)status.f_bavail * status.f_frsize >= ROOM_WANTED;
    return roomy ? "/dev/shm" : "/tmp";
}

void scratch_make(struct scratch *scratch) {
    snprintf(scratch->path, sizeof(scratch->path), "%s/scratch-XXXXXX", parent_folder());
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
