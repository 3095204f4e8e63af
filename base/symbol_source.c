#include "base/symbol_source.h"

#include <stdlib.h>

void frame_list_clear(struct frame_list *list) {
    free(list->frames);
    *list = (struct frame_list){0};
}

enum err frame_list_add(struct frame_list *list, const struct symbol_frame *frame,
                        struct error *error) {
    if (list->count == FRAME_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "more than %d frames at one address", FRAME_COUNT_MAX);
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        struct symbol_frame *grown = realloc(list->frames, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu frames", capacity);
        list->frames = grown;
        list->capacity = capacity;
    }
    list->frames[list->count++] = *frame;
    return ERR_OK;
}
