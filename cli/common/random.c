/* random.c - xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64. A seed gives the same values on every
 * machine. */
#include "common.h"
#include <math.h>

static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void random_seed(random_state *r, uint64_t seed)
{
    *r = (random_state){ .has_spare = false };
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        r->s[i] = z ^ (z >> 31);
    }
}

uint64_t random_bits(random_state *r)
{
    uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double random_uniform(random_state *r) { return (double)(random_bits(r) >> 11) * 0x1p-53; }

/* Marsaglia's polar method, which makes two values at a time. */
double random_normal(random_state *r)
{
    double u, v, q;
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    do {
        u = 2 * random_uniform(r) - 1;
        v = 2 * random_uniform(r) - 1;
        q = u * u + v * v;
    } while (q >= 1 || q == 0);
    double f = sqrt(-2 * log(q) / q);
    r->spare = v * f;
    r->has_spare = true;
    return u * f;
}
