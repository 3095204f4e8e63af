/* What the parts of the blob store share. Only cache/blob_*.c include this. */
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include "cache/blob_format.h"
#include "cache/blob_frames.h"
#include "cache/blob_store.h"
#include "cache/digest_files.h"

/* What tells a file from another one, and from itself after it was written to. */
struct blob_file {
    ino_t inode;
    struct timespec changed;
    uint64_t size;
};

/* Raw files that were found to be whole, the last so many. */
#define BLOB_CHECKED_MAX 64

struct blob_store {
    int blobs;
    int temp;
    int lost;
    /* Held while a compressed blob takes the raw one's place and while a blob is removed, so that
     * compression does not bring back what was removed meanwhile. */
    pthread_mutex_t replacing;
    pthread_mutex_t checking; /* guards what follows */
    size_t checked_next;
    struct blob_file checked[BLOB_CHECKED_MAX];
};

/* A raw file with this mode was found not to be worth compressing. */
#define BLOB_MODE_KEPT 0400

/* Opens the file at a place for reading; ERR_NOT_FOUND. */
enum err blob_store_open_file(struct blob_store *store, const struct digest_place *place,
                              int *ret_fd, struct error *error);
