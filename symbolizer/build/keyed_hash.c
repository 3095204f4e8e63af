#include "symbolizer/build/keyed_hash.h"

#include <endian.h>
#include <string.h>
#include <sys/auxv.h>

struct hash_key hash_key_of_process(void) {
    struct hash_key key = {{0, 0}};
    /* The kernel hands out an address as a number. NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random)
        memcpy(&key, random, sizeof(key));
    return key;
}

static inline uint64_t rotate(uint64_t value, unsigned count) {
    return value << count | value >> (64 - count);
}

static inline void sip_round(uint64_t v[static 4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static inline void compress(uint64_t v[static 4], uint64_t word) {
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

uint64_t keyed_hash(struct hash_key key, struct span bytes) {
    uint64_t v[4] = {
        key.words[0] ^ 0x736f6d6570736575,
        key.words[1] ^ 0x646f72616e646f6d,
        key.words[0] ^ 0x6c7967656e657261,
        key.words[1] ^ 0x7465646279746573,
    };
    size_t whole = bytes.size / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) {
        uint64_t word;
        memcpy(&word, bytes.data + i, sizeof(word));
        compress(v, le64toh(word));
    }
    uint64_t last = 0;
    if (bytes.size > whole)
        memcpy(&last, bytes.data + whole, bytes.size - whole);
    compress(v, le64toh(last) | (uint64_t)bytes.size << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
