/* pcg.c - the generator PCG32 as operations on u64 values. */
#include "weft/traced.h"
#include <math.h>

static const uint64_t multiplier = 6364136223846793005u;

static wf_val word(wf_graph *g, uint64_t x) { return wf_const_i64(g, WF_U64, (int64_t)x); }

/* Converts a number or value to u64. C numbers are exact up to 2^53; negative ones wrap, and so count back. */
static wf_val as_u64(wf_graph *g, wf_val v)
{
    double x, imaginary;
    return wf_val_number(v, &x, &imaginary) && imaginary == 0 ? word(g, (uint64_t)(int64_t)x) : wf_cast(v, WF_U64);
}

static wf_val next_state(wf_graph *g, wf_val state, wf_val increment)
{
    return wf_add(wf_mul(state, word(g, multiplier)), increment);
}

wf_pcg32(wf_pcg32_seed)(wf_graph *graph, wf_val seed, wf_val stream)
{
    wf_val increment = wf_or(wf_shl(as_u64(graph, stream), word(graph, 1)), word(graph, 1));
    wf_val state = wf_add(increment, as_u64(graph, seed)); /* the state 0 after one step, plus the seed */
    return (wf_pcg32){ next_state(graph, state, increment), increment };
}

wf_val wf_pcg32_u32(wf_pcg32 *rng)
{
    if (!rng)
        return (wf_val){ { NAN, NULL } };
    wf_graph *g = rng->state.h.graph;
    wf_val old = rng->state;
    rng->state = next_state(g, old, rng->increment);
    wf_val folded = wf_shr(wf_xor(wf_shr(old, word(g, 18)), old), word(g, 27));
    return wf_rotr(wf_cast(folded, WF_U32), wf_cast(wf_shr(old, word(g, 59)), WF_U32));
}

wf_val wf_pcg32_f32(wf_pcg32 *rng) { return wf_mul(wf_cast(wf_shr(wf_pcg32_u32(rng), 8), WF_F32), 0x1p-24); }

wf_val wf_pcg32_f64(wf_pcg32 *rng)
{
    wf_val high = wf_cast(wf_pcg32_u32(rng), WF_U64), low = wf_cast(wf_pcg32_u32(rng), WF_U64);
    return wf_mul(wf_cast(wf_shr(wf_or(wf_shl(high, 32), low), 11), WF_F64), 0x1p-53);
}

/* n steps take state to a state + b increment. For 1, 2, 4, ... steps a and b are numbers (F. Brown, "Random number
 * generation with arbitrary strides", 1994); the bits of n combine them. */
wf_pcg32(wf_pcg32_advance)(wf_pcg32 rng, wf_val n)
{
    wf_graph *g = rng.state.h.graph;
    wf_val steps = as_u64(g, n), a = word(g, 1), b = word(g, 0);
    uint64_t times = multiplier, plus = 1;
    for (int k = 0; k < 64; ++k) {
        wf_val on = wf_ne(wf_and(steps, word(g, (uint64_t)1 << k)), word(g, 0));
        a = wf_select(on, wf_mul(a, word(g, times)), a);
        b = wf_select(on, wf_add(wf_mul(b, word(g, times)), word(g, plus)), b);
        plus *= times + 1;
        times *= times;
    }
    rng.state = wf_add(wf_mul(a, rng.state), wf_mul(b, rng.increment));
    return rng;
}
