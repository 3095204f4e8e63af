/*
 * SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", with one compression and
 * three finalization rounds, as Rust's hash maps use it). Keys of hash tables come from uploaded
 * files; without a secret key their author could choose them so that all collide.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct hash_key {
    uint64_t words[2];
};

/* A key that the author of the input cannot know: the 16 random bytes that the kernel gives each
 * new process (AT_RANDOM), which needs no system call and so works inside a sandbox. */
struct hash_key hash_key_of_process(void);

uint64_t keyed_hash(struct hash_key key, struct span bytes);
