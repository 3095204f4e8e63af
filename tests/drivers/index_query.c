/*
 * Asks a symbol index about addresses, for the tests that compare its answers with the truth.
 *
 *     index_query INDEX < addresses
 *
 * Addresses are hexadecimal, one a line; answers as in tests/support/frame_text.h.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbolizer/index/index.h"
#include "tests/support/address_input.h"
#include "tests/support/frame_text.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: index_query INDEX\n");
        return 2;
    }
    CLEANUP(cleanup_fd) int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    CLEANUP(cleanup_index) struct index *index = NULL;
    struct error error;
    if (fd < 0) {
        perror(argv[1]);
        return 1;
    }
    if (index_open_fd(fd, &index, &error) || index_verify(index, &error)) {
        fprintf(stderr, "index_query: %s\n", error.text);
        return 1;
    }
    uint64_t pc;
    while (address_input_next(&pc)) {
        struct index_hit hit;
        struct index_scratch scratch;
        struct symbol_frame frame;
        index_lookup(index, &pc, 1, &hit);
        while (index_chain_next(index, &hit.chain, &scratch, &frame))
            frame_text_print(&frame);
        printf("\n");
    }
    return 0;
}
