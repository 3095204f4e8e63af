/*
 * Is this file what its uploader says? Pure: the claim and the worker's identification in, the
 * names under which the object is to be found out (design: "checked at finish").
 *
 *   | claimed kind     | must hold                             | else                            |
 *   |------------------|---------------------------------------|---------------------------------|
 *   | gnu, go          | ELF; the note inside equals the claim | refused                         |
 *   | htlhash          | ELF; equals the hash of the bytes     | ELF: kept, VERIFICATION_NONE    |
 *   | uuid             | ELF                                   | kept, VERIFICATION_NONE         |
 *
 * An extracted debug file cannot have the htlhash of the file it was extracted from, which is why
 * that claim is kept unproven.
 */
#pragma once

#include "base/binary_id.h"
#include "base/error.h"
#include "cache/artifact.h"
#include "symbolizer/protocol/report.h"

struct upload_name {
    struct binary_id id;
    enum verification verification;
};

#define UPLOAD_NAME_MAX (INDEX_ID_MAX + 1)

struct upload_identity {
    struct upload_name names[UPLOAD_NAME_MAX]; /* the claimed one first; each once */
    size_t name_count;
    unsigned contents; /* of enum contents_flags */
};

/*
 * For types that are parsed (debuginfo, executable). ERR_INVALID when the file is refused: asking
 * again with these bytes will not help. ERR_UNAVAILABLE when the worker had trouble of its own.
 */
enum err upload_verify(const struct binary_id *claimed, const struct report *report,
                       struct upload_identity *ret_identity, struct error *error);

/* For types that are stored unparsed: the claimed name alone. */
struct upload_identity upload_identity_claimed(const struct binary_id *claimed);
