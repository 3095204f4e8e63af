#include "cache/catalog_list.h"

#include <assert.h>
#include <string.h>

#include "cache/catalog_internal.h"

/* ?2 before, ?3 type, ?4 contents, ?5 since, ?6 prefix, ?7 build state, ?8 count. The state of an
 * object without a build is -1, see LIST_NO_BUILD. */
#define LIST_QUERY                                                                                 \
    "SELECT o.object_id, o.digest, o.size, o.type, o.uploader, o.contents, o.created_ms,"          \
    " a.kind, a.value, a.verification, coalesce(b.state, -1) AS build_state"                       \
    " FROM object AS o"                                                                            \
    " JOIN alias AS a ON a.tenant_id = o.tenant_id AND a.object_id = o.object_id"                  \
    " AND (a.kind, a.value) = (SELECT n.kind, n.value FROM alias AS n"                             \
    " WHERE n.tenant_id = o.tenant_id AND n.object_id = o.object_id"                               \
    " ORDER BY n.verification = 0, n.kind, n.value LIMIT 1)"                                       \
    " LEFT JOIN generation AS g ON o.type IN (1, 2) AND g.tenant_id = o.tenant_id"                 \
    " AND g.kind = a.kind AND g.value = a.value"                                                   \
    " LEFT JOIN build AS b ON b.tenant_id = o.tenant_id"                                           \
    " AND b.key = coalesce(g.serving, g.pending)"                                                  \
    " WHERE o.tenant_id = ?1 AND o.object_id < ?2 AND o.gone = 0"                                  \
    " AND (?3 = 0 OR o.type = ?3) AND o.contents & ?4 = ?4 AND o.created_ms >= ?5"                 \
    " AND (?6 = '' OR EXISTS (SELECT 1 FROM alias AS p WHERE p.tenant_id = o.tenant_id"            \
    " AND p.object_id = o.object_id AND substr(p.value, 1, length(?6)) IN (?6, lower(?6))))"       \
    " AND (?7 = 0 OR coalesce(b.state, -1) = ?7)"                                                  \
    " ORDER BY o.object_id DESC LIMIT ?8"

_Static_assert(ARTIFACT_DEBUGINFO == 1 && ARTIFACT_EXECUTABLE == 2, "types with builds, above");
_Static_assert(VERIFICATION_NONE == 0, "a literal above");

static void read_entry(struct catalog_query *query, struct list_entry *ret_entry) {
    *ret_entry = (struct list_entry){
        .object = {.object_id = catalog_query_i64(query, 0),
                   .size = catalog_query_u64(query, 2),
                   .type = (enum artifact_type)catalog_query_i64(query, 3),
                   .contents = (unsigned)catalog_query_i64(query, 5),
                   .created_ms = catalog_query_i64(query, 6),
                   .verification = (enum verification)catalog_query_i64(query, 9)},
        .build_state = (int)catalog_query_i64(query, 10),
    };
    catalog_query_digest(query, 1, &ret_entry->object.digest);
    catalog_query_text(query, 4, ret_entry->object.uploader, sizeof(ret_entry->object.uploader));
    catalog_query_id(query, 7, &ret_entry->id);
}

enum err catalog_list(struct catalog_txn *txn, const char *tenant, const struct list_filter *filter,
                      struct list_entry *ret_entries, size_t *ret_count, struct error *error) {
    assert(filter->count_max <= LIST_PAGE_MAX + 1);
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant, LIST_QUERY, &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, filter->before ? filter->before : INT64_MAX);
    catalog_query_bind_i64(&query, 3, filter->type);
    catalog_query_bind_i64(&query, 4, filter->contents);
    catalog_query_bind_i64(&query, 5, filter->since_ms);
    catalog_query_bind_text(&query, 6, filter->prefix);
    catalog_query_bind_i64(&query, 7, filter->build_state);
    catalog_query_bind_i64(&query, 8, filter->count_max);
    size_t count = 0;
    bool row = false;
    while ((err = catalog_query_step(&query, &row, error)) == ERR_OK && row) {
        assert(count < filter->count_max);
        read_entry(&query, &ret_entries[count++]);
    }
    if (err == ERR_OK)
        err = catalog_query_check(&query, error);
    if (err == ERR_OK)
        *ret_count = count;
    return err;
}
