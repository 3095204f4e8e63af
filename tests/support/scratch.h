/* A directory that lives as long as a test, under TMPDIR. Fails the test when it cannot be had. */
#pragma once

struct scratch {
    int fd;
    char path[256];
};

void scratch_make(struct scratch *scratch);
/* Removes it with all that is in it. */
void scratch_remove(struct scratch *scratch);
/* "<path>/<name>" in one of four static buffers. */
const char *scratch_path(const struct scratch *scratch, const char *name);
