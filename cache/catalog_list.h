/* Pages of what is stored, newest first, with filters. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "cache/catalog_builds.h"
#include "cache/catalog_objects.h"

#define LIST_PAGE_MAX 1000

struct list_filter {
    int64_t before;     /* object numbers below this; 0: from the newest */
    const char *prefix; /* of any name of the object, as it is or in lower case; "": any */
    int type;           /* enum artifact_type; 0: any */
    int build_state;    /* enum build_state; 0: any; LIST_NO_BUILD: none */
    unsigned contents;  /* all of these flags */
    int64_t since_ms;   /* stored at or after */
    unsigned count_max; /* at most LIST_PAGE_MAX */
};

#define LIST_NO_BUILD (-1)

/* One object; its name is the best one it has: proven before claimed, then gnu, go, htlhash, uuid.
 */
struct list_entry {
    struct object_row object;
    struct binary_id id;
    int build_state; /* of the build that answers for that name, or that will; LIST_NO_BUILD */
};

/* Sets the first *ret_count of ret_entries, which has room for count_max. */
enum err catalog_list(struct catalog_txn *txn, const char *tenant, const struct list_filter *filter,
                      struct list_entry *ret_entries, size_t *ret_count, struct error *error);
