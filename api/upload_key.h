/*
 * The secret under which upload URLs are signed: `upload.key` in the data directory, 32 random
 * bytes that the first start makes, mode 0600. Whoever reads it can make upload URLs; removing it
 * makes those that are out invalid.
 */
#pragma once

#include "api/upload_token.h"

/* Reads the key, or makes it. ERR_MALFORMED when the file is no key, ERR_INVALID when others than
 * its owner may read or write it, ERR_IO. The directory is ours alone (its lock is held). */
enum err upload_key_open(int directory, struct upload_key *ret_key, struct error *error);
