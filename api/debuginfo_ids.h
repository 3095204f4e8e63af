/* From the words of parca.debuginfo.v1alpha1 to ours: build IDs with their kinds, and types. */
#pragma once

#include "base/binary_id.h"
#include "base/error.h"
#include "cache/artifact.h"

/*
 * `build_id_type` is a BuildIDType. ERR_INVALID: too short ("unexpectedly short input", Parca's
 * words), not of its kind, or a kind we do not know. Without a kind (old clients) hex is a GNU
 * build ID and other printable text a Go one.
 */
enum err debuginfo_id_parse(const char *build_id, int build_id_type, struct binary_id *ret_id,
                            struct error *error);

/* `debuginfo_type` is a DebuginfoType. ERR_INVALID for one we do not know. */
enum err debuginfo_type_parse(int debuginfo_type, enum artifact_type *ret_type,
                              struct error *error);
