/*
 * The objects that may answer for an id: those of that name, and, when they have neither DWARF nor
 * pclntab, those that carry the same GNU build ID. An executable is then answered for under its
 * file hash too by the debug file that came under its build ID. A file that has good symbols
 * itself, and can be built, is not mixed with others: equal build IDs on different contents do
 * happen.
 */
#pragma once

#include "cache/catalog_objects.h"

#define BUILD_FAMILY_MAX ((size_t)2 * OBJECTS_PER_ID_MAX)

enum err build_family_objects(struct catalog_txn *txn, const char *tenant,
                              const struct binary_id *id,
                              struct object_row ret_rows[static BUILD_FAMILY_MAX],
                              size_t *ret_count, struct error *error);

/* The names whose answer a new object may change: its own, and those of the objects that carry the
 * same GNU build ID. Names past the bound are left out; they are met when they are next uploaded.
 */
#define BUILD_FAMILY_NAMES_MAX 128
enum err build_family_names(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                            struct binary_id ret_names[static BUILD_FAMILY_NAMES_MAX],
                            size_t *ret_count, struct error *error);
