#include "base/block_list.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct block {
    struct block *next;
    size_t size;
    char bytes[BLOCK_SIZE];
};

struct block_pool {
    pthread_mutex_t mutex; /* for what follows */
    struct block *spare;
    size_t spare_count;
    size_t spare_max;
};

struct block_pool *block_pool_new(size_t spare_max) {
    struct block_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pool->spare_max = spare_max;
    return pool;
}

void block_pool_free(struct block_pool *pool) {
    if (!pool)
        return;
    while (pool->spare) {
        struct block *next = pool->spare->next;
        free(pool->spare);
        pool->spare = next;
    }
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

static struct block *take_block(struct block_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    struct block *block = pool->spare;
    if (block) {
        pool->spare = block->next;
        pool->spare_count--;
    }
    pthread_mutex_unlock(&pool->mutex);
    return block ? block : malloc(sizeof(*block));
}

static void give_back(struct block_pool *pool, struct block *block) {
    pthread_mutex_lock(&pool->mutex);
    bool keep = pool->spare_count < pool->spare_max;
    if (keep) {
        block->next = pool->spare;
        pool->spare = block;
        pool->spare_count++;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (!keep)
        free(block);
}

static struct block *add_block(struct block_list *list) {
    struct block *block = take_block(list->pool);
    if (!block)
        return NULL;
    block->next = NULL;
    block->size = 0;
    if (list->last)
        list->last->next = block;
    else
        list->first = block;
    list->last = block;
    return block;
}

enum err block_list_append(struct block_list *list, struct span bytes, struct error *error) {
    while (bytes.size > 0) {
        struct block *block = list->last;
        if (!block || block->size == BLOCK_SIZE)
            block = add_block(list);
        if (!block)
            return error_set(error, ERR_NO_MEMORY, "no memory for a block of bytes");
        size_t room = BLOCK_SIZE - block->size;
        size_t size = bytes.size < room ? bytes.size : room;
        memcpy(block->bytes + block->size, bytes.data, size);
        block->size += size;
        list->size += size;
        bytes = span_of(bytes.data + size, bytes.size - size);
    }
    return ERR_OK;
}

void block_list_move(struct block_list *from, struct block_list *to) {
    assert(!to->first && from->pool == to->pool);
    *to = *from;
    *from = (struct block_list){.pool = from->pool};
}

const struct block *block_list_next(const struct block_list *list, const struct block *block) {
    return block ? block->next : list->first;
}

struct span block_bytes(const struct block *block) {
    return span_of(block->bytes, block->size);
}

void block_list_clear(struct block_list *list) {
    while (list->first) {
        struct block *next = list->first->next;
        give_back(list->pool, list->first);
        list->first = next;
    }
    *list = (struct block_list){.pool = list->pool};
}
