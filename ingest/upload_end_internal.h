/*
 * How an upload ends whose bytes have come, whichever way they came (upload_finish.c,
 * upload_put.c):
 *
 *     upload_end_identify            a worker looks at the bytes
 *     upload_end_publish             the blob appears, and in one transaction
 *         upload_end_store           the object and its names, and the row says uploaded
 *         (the caller writes the row)
 *         upload_end_plan            the build
 *     upload_end_refuse              or the row says failed
 *
 * Only ingest/upload_*.c include this.
 */
#pragma once

#include "ingest/upload_internal.h"
#include "ingest/upload_verify.h"

/* Blocks. ERR_UNAVAILABLE: no worker ran. */
enum err upload_end_identify(struct ingest *ingest, struct blob_writer *writer,
                             struct report *ret_report, struct error *error);

/* Blocks. The function is the transaction that names the blob, which nobody removes meanwhile. */
enum err upload_end_publish(struct ingest *ingest, struct blob_writer *writer,
                            catalog_function *commit, void *argument, struct error *error);

/* Size, type and uploader of the object are those of the row, which gets state, time and object. */
enum err upload_end_store(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                          const struct digest *digest, const struct upload_identity *identity,
                          struct upload_row *row, struct error *error);
enum err upload_end_plan(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                         const struct upload_row *row, struct error *error);

enum err upload_end_refuse(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                           struct upload_row *row, const char *reason, struct error *error);

/* Our own trouble is ERR_UNAVAILABLE to who sent the bytes: they are to come again. */
enum err upload_end_outcome(enum err err, struct error *error);
