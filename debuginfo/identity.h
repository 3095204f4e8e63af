/*
 * The names that an ELF file carries in its own bytes: the GNU build-ID note (any alignment, in
 * notes sections or PT_NOTE), the Go toolchain's build-ID note (name "Go", type 4), and the
 * htlhash of the whole file.
 */
#pragma once

#include <stdbool.h>

#include "base/binary_id.h"
#include "debuginfo/elf_file.h"

struct elf_identity {
    bool has_gnu;
    bool has_go;
    struct binary_id gnu;
    struct binary_id go;
    struct binary_id htlhash; /* always there */
};

/* A note that breaks its format, or an id that identifies nothing, counts as absent. */
void elf_identity_read(struct elf_file *file, struct elf_identity *ret_identity);

/* Of any bytes, ELF or not. */
struct binary_id identity_htlhash(struct span bytes);
