/*
 * Byte strings and what number each has: equal bytes get an equal number, counted from 1 in the
 * order of first appearance. The hash is keyed with random bytes, so that hostile names cannot be
 * made to collide; the numbers do not depend on it.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "symbolizer/build/budget.h"

struct string_table;

/* The budget must outlive the table. */
enum err string_table_new(struct memory_budget *budget, struct string_table **ret_table,
                          struct error *error);
void string_table_free(struct string_table *table);
DEFINE_CLEANUP(string_table, struct string_table, string_table_free)

/* The number of these bytes; they are copied when new. The empty string has a number too. */
enum err string_table_intern(struct string_table *table, struct span bytes, uint32_t *ret_number,
                             struct error *error);

/* The bytes of a number; they stay until the table is freed. Number 0 is the empty span. */
struct span string_table_get(const struct string_table *table, uint32_t number);

/* The largest number given out; 0 when the table is empty. */
uint32_t string_table_count(const struct string_table *table);
