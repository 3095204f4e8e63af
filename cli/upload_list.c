#include "cli/upload_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "debuginfo/contents.h"
#include "debuginfo/identity.h"

#define ITEM_COUNT_FIRST 64

void upload_list_clear(struct upload_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].failure);
    }
    free(list->items);
    *list = (struct upload_list){0};
}

/* Takes what `item` owns, also when it fails. */
static enum err add(struct upload_list *list, struct upload_item item, struct error *error) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : ITEM_COUNT_FIRST;
        struct upload_item *grown = reallocarray(list->items, capacity, sizeof(*grown));
        if (grown) {
            list->items = grown;
            list->capacity = capacity;
        }
    }
    if (!item.path || list->count == list->capacity) {
        free(item.path);
        free(item.failure);
        return error_set(error, ERR_NO_MEMORY, "no memory for a list of files");
    }
    list->items[list->count++] = item;
    return ERR_OK;
}

static enum err add_failure(struct upload_list *list, const char *path, const char *text,
                            struct error *error) {
    struct upload_item item = {.path = strdup(path), .failure = strdup(text)};
    return add(list, item, error);
}

/* --- one file -----------------------------------------------------------------------------------
 */

/* Does not hang on a pipe that took the place of a file. */
static int open_file(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static unsigned rank_of(struct elf_file *file) {
    struct elf_contents contents;
    elf_contents_read(file, &contents);
    return (contents.has_dwarf ? 8u : 0) | (contents.has_pclntab ? 4u : 0) |
           (contents.has_symtab ? 2u : 0) | (contents.has_dynsym ? 1u : 0);
}

/* ERR_NOT_FOUND: nothing that a folder's listing should name. */
static enum err look_at(int fd, bool was_named, struct upload_item *item, struct error *error) {
    char magic[SELFMAG] = {0};
    bool is_elf = pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
    if (!is_elf && !was_named)
        return error_set(error, ERR_NOT_FOUND, "no ELF file");
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct elf_identity identity;
    enum err err = elf_file_open_fd(fd, NULL, &file, error);
    if (err)
        return err;
    elf_identity_read(file, &identity);
    uint16_t type = elf_file_header(file)->type;
    if (!was_named && !identity.has_gnu && (type == ET_REL || type == ET_CORE))
        return error_set(error, ERR_NOT_FOUND, "an object or a core file");
    item->id = identity.has_gnu ? identity.gnu : identity.htlhash;
    item->size = elf_file_bytes(file).size;
    item->rank = rank_of(file);
    return ERR_OK;
}

static enum err add_file(struct upload_list *list, const char *path, bool was_named,
                         struct error *error) {
    CLEANUP(cleanup_fd) int fd = open_file(path);
    struct error reason;
    if (fd < 0) {
        error_set_errno(&reason, ERR_IO, errno, "cannot open it");
        return add_failure(list, path, reason.text, error);
    }
    struct upload_item item = {.path = NULL};
    enum err err = look_at(fd, was_named, &item, &reason);
    if (err == ERR_NOT_FOUND)
        return ERR_OK;
    if (err)
        return add_failure(list, path, reason.text, error);
    item.path = strdup(path);
    return add(list, item, error);
}

enum err upload_list_add_as(struct upload_list *list, const char *path, const struct binary_id *id,
                            struct error *error) {
    struct stat status;
    struct error reason;
    if (stat(path, &status) != 0) {
        error_set_errno(&reason, ERR_IO, errno, "cannot open it");
        return add_failure(list, path, reason.text, error);
    }
    if (!S_ISREG(status.st_mode))
        return add_failure(list, path, "no regular file", error);
    struct upload_item item = {.path = strdup(path), .id = *id, .size = (uint64_t)status.st_size};
    return add(list, item, error);
}

/* --- folders ------------------------------------------------------------------------------------
 */

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static enum err add_entry(struct upload_list *list, const FTSENT *entry, struct error *error) {
    struct error reason;
    bool was_named = entry->fts_level == FTS_ROOTLEVEL;
    switch (entry->fts_info) {
    case FTS_F:
        return add_file(list, entry->fts_path, was_named, error);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
    case FTS_SLNONE:
        error_set_errno(&reason, ERR_IO, entry->fts_errno ? entry->fts_errno : ENOENT,
                        "cannot open it");
        return add_failure(list, entry->fts_path, reason.text, error);
    case FTS_DEFAULT:
        return was_named ? add_failure(list, entry->fts_path, "no file and no folder", error)
                         : ERR_OK;
    default:
        return ERR_OK;
    }
}

static void close_walk(FTS **walk) {
    if (*walk)
        fts_close(*walk);
}

enum err upload_list_add(struct upload_list *list, const char *path, struct error *error) {
    char *const paths[] = {(char *)path, NULL};
    CLEANUP(close_walk)
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!walk)
        return error_set_errno(error, ERR_IO, errno, "%s", path);
    for (FTSENT *entry; (entry = fts_read(walk));) {
        enum err err = add_entry(list, entry, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

/* --- the same id twice --------------------------------------------------------------------------
 */

/* By id; the best of each first, and of equally good ones the first that was named. */
static int by_id(const void *a, const void *b) {
    const struct upload_item *left = *(struct upload_item *const *)a;
    const struct upload_item *right = *(struct upload_item *const *)b;
    if (left->id.kind != right->id.kind)
        return left->id.kind < right->id.kind ? -1 : 1;
    int order = strcmp(left->id.text, right->id.text);
    if (order != 0)
        return order;
    if (left->rank != right->rank)
        return left->rank > right->rank ? -1 : 1;
    return left < right ? -1 : left > right;
}

enum err upload_list_mark_same(struct upload_list *list, struct error *error) {
    CLEANUP(cleanup_free)
    struct upload_item **sorted = reallocarray(NULL, list->count + 1, sizeof(void *));
    size_t count = 0;
    if (!sorted)
        return error_set(error, ERR_NO_MEMORY, "no memory for a list of files");
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].failure)
            sorted[count++] = &list->items[i];
    qsort(sorted, count, sizeof(void *), by_id);
    for (size_t i = 1; i < count; i++) {
        const struct upload_item *best = sorted[i - 1]->same_as ? sorted[i - 1]->same_as
                                                                : sorted[i - 1];
        if (binary_id_equal(&best->id, &sorted[i]->id))
            sorted[i]->same_as = best;
    }
    return ERR_OK;
}
