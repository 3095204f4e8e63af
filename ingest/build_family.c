#include "ingest/build_family.h"

#include <string.h>

#include "ingest/build_plan.h"

struct rows {
    struct object_row *rows;
    size_t count;
};

static void add_row(struct rows *rows, const struct object_row *row) {
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].object_id == row->object_id)
            return;
    if (rows->count < BUILD_FAMILY_MAX)
        rows->rows[rows->count++] = *row;
}

static enum err add_rows_of(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                            struct rows *rows, struct error *error) {
    struct object_row found[OBJECTS_PER_ID_MAX];
    size_t count = 0;
    enum err err = catalog_objects_by_id(txn, tenant, id, found, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        add_row(rows, &found[i]);
    return err;
}

/* A GNU build ID on a binary is always proven: a claimed one is checked at upload. */
static enum err add_rows_of_relatives(struct catalog_txn *txn, const char *tenant,
                                      const struct object_row *object, struct rows *rows,
                                      struct error *error) {
    struct binary_id names[ALIASES_PER_OBJECT_MAX];
    size_t count = 0;
    if (!build_plan_is_binary(object->type))
        return ERR_OK;
    enum err err = catalog_aliases_of_object(txn, tenant, object->object_id, names, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        if (names[i].kind == BINARY_ID_GNU)
            err = add_rows_of(txn, tenant, &names[i], rows, error);
    return err;
}

enum err build_family_objects(struct catalog_txn *txn, const char *tenant,
                              const struct binary_id *id,
                              struct object_row ret_rows[static BUILD_FAMILY_MAX],
                              size_t *ret_count, struct error *error) {
    struct rows rows = {.rows = ret_rows};
    enum err err = add_rows_of(txn, tenant, id, &rows, error);
    if (err != ERR_OK)
        return err;
    const struct object_row *best = build_plan_best(rows.rows, rows.count, NULL);
    while (best && best->soundness != OBJECT_SOUND)
        best = build_plan_best(rows.rows, rows.count, best);
    bool good = best && (best->contents & (CONTENTS_DWARF | CONTENTS_PCLNTAB)) != 0;
    size_t own_count = good || id->kind == BINARY_ID_GNU ? 0 : rows.count;
    for (size_t i = 0; err == ERR_OK && i < own_count; i++)
        err = add_rows_of_relatives(txn, tenant, &rows.rows[i], &rows, error);
    if (err == ERR_OK)
        *ret_count = rows.count;
    return err;
}

struct names {
    struct binary_id *names;
    size_t count;
};

static void add_name(struct names *names, const struct binary_id *name) {
    for (size_t i = 0; i < names->count; i++)
        if (binary_id_equal(&names->names[i], name))
            return;
    if (names->count < BUILD_FAMILY_NAMES_MAX)
        names->names[names->count++] = *name;
}

static enum err add_names_of(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                             struct names *names, struct error *error) {
    struct binary_id found[ALIASES_PER_OBJECT_MAX];
    size_t count = 0;
    enum err err = catalog_aliases_of_object(txn, tenant, object_id, found, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        add_name(names, &found[i]);
    return err;
}

static enum err add_names_of_relatives(struct catalog_txn *txn, const char *tenant,
                                       const struct binary_id *gnu, struct names *names,
                                       struct error *error) {
    struct object_row rows[OBJECTS_PER_ID_MAX];
    size_t count = 0;
    enum err err = catalog_objects_by_id(txn, tenant, gnu, rows, &count, error);
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        if (build_plan_is_binary(rows[i].type))
            err = add_names_of(txn, tenant, rows[i].object_id, names, error);
    return err;
}

enum err build_family_names(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                            struct binary_id ret_names[static BUILD_FAMILY_NAMES_MAX],
                            size_t *ret_count, struct error *error) {
    struct names names = {.names = ret_names};
    enum err err = add_names_of(txn, tenant, object_id, &names, error);
    size_t own_count = names.count;
    for (size_t i = 0; err == ERR_OK && i < own_count; i++)
        if (names.names[i].kind == BINARY_ID_GNU)
            err = add_names_of_relatives(txn, tenant, &names.names[i], &names, error);
    if (err == ERR_OK)
        *ret_count = names.count;
    return err;
}
