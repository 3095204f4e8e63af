/*
 * A catalog in a scratch directory, for tests of its operations: they run on a connection of the
 * test, each statement a transaction of its own. There are two tenants, TENANT_DEFAULT and "other".
 */
#pragma once

#include "base/binary_id.h"
#include "base/hash.h"
#include "cache/catalog_internal.h"
#include "tests/support/scratch.h"

struct catalog_fixture {
    struct scratch scratch;
    struct catalog_connection *connection;
    struct catalog_txn txn;
    struct error error;
};

/* For cmocka: *state becomes the fixture. */
int catalog_fixture_set_up(void **state);
int catalog_fixture_tear_down(void **state);

/* A GNU build ID that begins with these hex digits. */
struct binary_id catalog_fixture_id(const char *prefix);
/* The digest of a text, as a stand-in for one of contents. */
struct digest catalog_fixture_digest(const char *text);

/* Runs SQL that must succeed. */
void catalog_fixture_sql(struct catalog_fixture *fixture, const char *sql);
