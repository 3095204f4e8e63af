#include "base/map_guard.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS_PER_BLOCK 256

struct map_guard {
    _Atomic(char *) start; /* NULL: free */
    atomic_size_t size;
    atomic_bool hit;
};

/* Blocks are never freed, so that the handler may walk them at any time. */
struct block {
    _Atomic(struct block *) next;
    struct map_guard slots[SLOTS_PER_BLOCK];
};

/* All there is for a signal handler to find anything by. */
static struct {
    pthread_mutex_t adding;
    _Atomic(struct block *) first;
    size_t page_size;
} registry = {.adding = PTHREAD_MUTEX_INITIALIZER};

/* A slot that changes meanwhile is of another map: whoever reads the one at `address` keeps it. */
static bool holds(struct map_guard *guard, uintptr_t address) {
    char *start = atomic_load(&guard->start);
    size_t size = atomic_load(&guard->size);
    return start && address >= (uintptr_t)start && address - (uintptr_t)start < size &&
           atomic_load(&guard->start) == start;
}

static struct map_guard *find(uintptr_t address) {
    for (struct block *block = atomic_load(&registry.first); block;
         block = atomic_load(&block->next))
        for (size_t i = 0; i < SLOTS_PER_BLOCK; i++)
            if (holds(&block->slots[i], address))
                return &block->slots[i];
    return NULL;
}

/* Marked before the zeros can be read. The bare system call, which is safe in a handler: other
 * threads may be reading the pages, and get the old bytes or zeros; ThreadSanitizer would take what
 * it knows as mmap for a write that races with them. */
static bool fill(struct map_guard *guard, uintptr_t address) {
    char *start = atomic_load(&guard->start);
    size_t offset = (address - (uintptr_t)start) & ~(registry.page_size - 1);
    size_t size = atomic_load(&guard->size) - offset;
    atomic_store(&guard->hit, true);
    return syscall(SYS_mmap, start + offset, size, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != -1;
}

/* What is not ours happens again when the handler returns, and then ends the process. */
static void handle(int number, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct map_guard *guard = find(address);
    if (!guard || !fill(guard, address))
        signal(number, SIG_DFL);
    errno = saved;
}

enum err map_guard_install(struct error *error) {
    registry.page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) < 0)
        return error_set_errno(error, ERR_INTERNAL, errno, "cannot handle SIGBUS");
    return ERR_OK;
}

static struct map_guard *take_free(struct block *block) {
    for (size_t i = 0; i < SLOTS_PER_BLOCK; i++)
        if (!atomic_load(&block->slots[i].start))
            return &block->slots[i];
    return NULL;
}

/* The mutex is held. New blocks come first, where their slots are free. */
static struct map_guard *take_slot(void) {
    for (struct block *block = atomic_load(&registry.first); block;
         block = atomic_load(&block->next)) {
        struct map_guard *guard = take_free(block);
        if (guard)
            return guard;
    }
    struct block *block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    atomic_store(&block->next, atomic_load(&registry.first));
    atomic_store(&registry.first, block);
    return &block->slots[0];
}

struct map_guard *map_guard_add(struct span bytes) {
    assert(bytes.data && bytes.size > 0);
    pthread_mutex_lock(&registry.adding);
    struct map_guard *guard = take_slot();
    if (guard) {
        atomic_store(&guard->hit, false);
        atomic_store(&guard->size, bytes.size);
        atomic_store(&guard->start, (char *)bytes.data);
    }
    pthread_mutex_unlock(&registry.adding);
    return guard;
}

bool map_guard_was_hit(const struct map_guard *guard) {
    return atomic_load(&guard->hit);
}

void map_guard_remove(struct map_guard *guard) {
    if (guard)
        atomic_store(&guard->start, NULL);
}
