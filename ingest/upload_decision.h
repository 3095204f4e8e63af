/*
 * The upload decision, as a pure function: what is known of an upload of (tenant, id, type) goes
 * in, what ShouldInitiateUpload and InitiateUpload answer comes out. It is Parca's table
 * (pkg/debuginfo/store.go, ShouldInitiateUpload) with two repairs.
 *
 * Poor objects. Parca keeps whatever came first. Here an id whose best object has neither DWARF
 * nor a Go pclntab is asked for again, at most once an hour, in the words Parca has for an object
 * that is marked as invalid ("a new upload is needed. Hash the debuginfo and initiate the upload"):
 * to an agent they mean just that. InitiateUpload then refuses a hash that is held already (Parca's
 * Equal) and accepts any other.
 *
 * Failed uploads. Parca remembers the hash of a broken upload forever. Here the same (id, hash) may
 * be retried three times within a day. The words are again those of an invalid object.
 *
 * Broken objects. Parca marks as invalid what its symbolizer cannot read; here an object counts as
 * broken when every build that it went into has failed for good. An id whose best object is broken,
 * while no other is good, gets Parca's answers for what is invalid, without the hour.
 *
 * Row by row, the first that fits; "good" is a sound object of the id that has DWARF or pclntab, or
 * one of a type without symbols (sources, source maps), "poor" one of this type that is neither:
 *
 *   | latest    | stored | further                | ShouldInitiateUpload    | Initiate |
 *   |-----------|--------|------------------------|-------------------------|----------|
 *   | uploading | any    | forced                 | yes InProgressButForced | accepted |
 *   |           |        | else                   | no  InProgress          | STATE    |
 *   | any other | good   | forced                 | yes ExistsButForced     | accepted |
 *   |           |        | else                   | no  Exists              | STATE    |
 *   |           | poor   | forced                 | yes ExistsButForced     | accepted |
 *   |           |        | hash held, or failed   | no  Equal               | EXISTS   |
 *   |           |        |   too often            |                         |          |
 *   |           |        | asked within the hour  | no  Exists              | accepted |
 *   |           |        | hash given / not       | yes NotEqual / Invalid  | accepted |
 *   | none      | none   |                        | yes FirstTimeSeen       | accepted |
 *   | stale     | none   |                        | yes Stale               | accepted |
 *   | interrupted | none |                        | yes Stale               | accepted |
 *   | purged    | none   |                        | yes Purged              | accepted |
 *   | failed    | none   | forced                 | yes ExistsButForced     | accepted |
 *   |           |        | failed too often       | no  Equal               | EXISTS   |
 *   |           |        | hash given / not       | yes NotEqual / Invalid  | accepted |
 *
 * "Uploading" is one that is not stale. While there is no place for another upload, each yes is
 * answered as "no InProgress" and nothing is accepted (ERR_EXHAUSTED): see ingest/upload.h.
 * An interrupted upload is one that a restart of the server cut off. An uploaded one whose object
 * was lost since is answered like a purged one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cache/artifact.h"
#include "cache/catalog_objects.h"
#include "cache/catalog_uploads.h"
#include "ingest/upload.h"

/* Retries of one (id, hash) within UPLOAD_RETRY_PERIOD_MS, after the first failure. */
#define UPLOAD_RETRIES_MAX 3
#define UPLOAD_RETRY_PERIOD_MS ((int64_t)24 * 60 * 60 * 1000)

/* An id with a poor object is asked for again at most this often. */
#define UPLOAD_INVITATION_PERIOD_MS ((int64_t)60 * 60 * 1000)

/* An upload that began further in the future than this was stamped by a clock that was set back. */
#define UPLOAD_CLOCK_SLACK_MS ((int64_t)2 * 60 * 1000)

struct upload_facts {
    int64_t now_ms;
    int64_t stale_after_ms;
    enum artifact_type type;

    bool has_latest; /* the most recently started upload of (id, type) */
    enum upload_state latest_state;
    int64_t latest_started_ms;

    bool stored;           /* an object of this type is known by this id */
    unsigned contents;     /* of the best sound object of the id, of any type: contents_flags */
    bool broken;           /* the best object of the id, sound or not, is broken */
    bool hash_held;        /* the claimed hash is that of something stored for the id */
    uint64_t failed_count; /* of (id, type, hash) within UPLOAD_RETRY_PERIOD_MS */
    int64_t invited_ms;    /* last time the id was asked for again; 0: never */

    bool has_hash;
    bool forced;
};

struct upload_verdict {
    bool should; /* ShouldInitiateUpload's answer, and why */
    enum upload_reason reason;
    bool invites;      /* the yes is an invitation: remember its time */
    enum err initiate; /* InitiateUpload: ERR_OK, ERR_STATE or ERR_EXISTS */
};

/* Fills in what follows from the objects of the id: stored, contents, broken. The type is set. */
void upload_facts_add_objects(struct upload_facts *facts, const struct object_row *objects,
                              size_t count);

struct upload_verdict upload_decide(const struct upload_facts *facts);

bool upload_is_stale(int64_t started_ms, int64_t stale_after_ms, int64_t now_ms);
