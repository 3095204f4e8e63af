/*
 * From the addresses of a request to ELF addresses (what is looked up): return addresses are taken
 * back into their call, and runtime addresses and file offsets are translated by the file's
 * PT_LOADs, which the index keeps. There is no one load base: each address goes through the
 * mapping to a file offset and through the PT_LOAD that covers that offset.
 */
#pragma once

#include <stdbool.h>

#include "api/symbolize_request.h"
#include "symbolizer/index/index.h"

/* No range holds this address, since ends are exclusive: what cannot be translated becomes it. */
#define ADDRESS_NOWHERE UINT64_MAX

/* In place. False, and nothing changed, when the file has no PT_LOADs and the kind needs them. */
bool address_translate(const struct symbolize_module *module, const struct index *index,
                       uint64_t *addresses);
