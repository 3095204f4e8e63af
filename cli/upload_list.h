/*
 * What is to be uploaded: the files that were named, and the ELF files in the folders that were
 * named, with their ids. Symbolic links inside folders are not followed. Of files with the same id
 * only the one that says most about symbols is uploaded, since a server keeps one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/error.h"
#include "cli/remote_debuginfo.h"

struct upload_item {
    char *path;
    struct binary_id id;               /* kind 0: not known */
    uint64_t size;                     /* when it was looked at */
    unsigned rank;                     /* more symbols, higher */
    const struct upload_item *same_as; /* not to be uploaded, because that one is */
    char *failure;                     /* not to be uploaded, because of this */
};

struct upload_list {
    struct upload_item *items;
    size_t count;
    size_t capacity;
};

/* Looks at a path, in a folder at everything below it in the order of names. What cannot be read
 * becomes an item that says why; in folders, what is no ELF file, and objects without a build ID
 * (*.o), are passed over. ERR_NO_MEMORY. */
enum err upload_list_add(struct upload_list *list, const char *path, struct error *error);

/* A file of any kind that goes by the id given. ERR_NO_MEMORY. */
enum err upload_list_add_as(struct upload_list *list, const char *path, const struct binary_id *id,
                            struct error *error);

/* Marks what is there twice. After it nothing may be added. ERR_NO_MEMORY. */
enum err upload_list_mark_same(struct upload_list *list, struct error *error);

void upload_list_clear(struct upload_list *list);
