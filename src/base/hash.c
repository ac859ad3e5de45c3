/* hash.c - hashing by xxHash. */
#include "base/base.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t wf__hash64(const void *data, size_t bytes, uint64_t seed) { return XXH3_64bits_withSeed(data, bytes, seed); }

wf__hash128 wf__hash_128(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return (wf__hash128){ h.low64, h.high64 };
}
