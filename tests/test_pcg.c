/* test_pcg.c - PCG32 as traced functions: the published sequence, and the same numbers as the generator in C.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/traced.h"

enum { POINTS = 50, DRAWS = 6 };

typedef struct c_pcg {
    uint64_t state, increment;
} c_pcg;

static uint32_t c_next(c_pcg *r)
{
    uint64_t old = r->state;
    r->state = old * 6364136223846793005u + r->increment;
    uint32_t x = (uint32_t)(((old >> 18) ^ old) >> 27), by = (uint32_t)(old >> 59);
    return x >> by | x << ((32 - by) & 31);
}

static c_pcg c_seed(uint64_t seed, uint64_t stream)
{
    c_pcg r = { 0, stream << 1 | 1 };
    c_next(&r);
    r.state += seed;
    c_next(&r);
    return r;
}

static void published_sequence(void **state)
{
    (void)state;
    static const uint32_t want[DRAWS] = { 0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e };
    wf_array *out = wf_empty(ctx, WF_U32, WF_SHAPE(1, DRAWS));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
    wf_pcg32 rng = wf_pcg32_seed(g, 42, 54);
    for (int k = 0; k < DRAWS; k++)
        wf_write(g, out, wf_pcg32_u32(&rng), 0, k);
    OK(ctx, wf_run(g));
    uint32_t *got = contents(out);
    assert_memory_equal(got, want, sizeof want);
    free(got);
    wf_release(out);
}

static void a_stream_for_each_point(void **state)
{
    (void)state;
    wf_array *bits = wf_empty(ctx, WF_U32, WF_SHAPE(POINTS)), *f = wf_empty(ctx, WF_F32, WF_SHAPE(POINTS));
    wf_array *d = wf_empty(ctx, WF_F64, WF_SHAPE(POINTS));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_pcg32 rng = wf_pcg32_seed(g, 12345, wf_index(g, 0));
    wf_out(g, bits, wf_pcg32_u32(&rng));
    wf_out(g, f, wf_pcg32_f32(&rng));
    wf_out(g, d, wf_pcg32_f64(&rng));
    OK(ctx, wf_run(g));
    uint32_t *got = contents(bits);
    float *gotf = contents(f);
    double *gotd = contents(d);
    for (uint64_t i = 0; i < POINTS; i++) {
        c_pcg r = c_seed(12345, i);
        assert_int_equal(got[i], c_next(&r));
        float want = (float)(c_next(&r) >> 8) * 0x1p-24f;
        assert_true(gotf[i] == want);
        uint64_t high = c_next(&r);
        assert_true(gotd[i] == (double)((high << 32 | c_next(&r)) >> 11) * 0x1p-53);
        assert_true(gotf[i] >= 0 && gotf[i] < 1 && gotd[i] >= 0 && gotd[i] < 1);
    }
    free(got), free(gotf), free(gotd);
    wf_release(bits), wf_release(f), wf_release(d);
}

/* By a number, by values (some of them negative), and in an array graph. */
static void advancing(void **state)
{
    (void)state;
    wf_array *step = wf_array_arange(ctx, WF_I64, POINTS, -20, 3);
    wf_array *a = wf_empty(ctx, WF_U32, WF_SHAPE(POINTS)), *b = wf_empty(ctx, WF_U32, WF_SHAPE(POINTS));
    wf_graph *g = wf_begin(ctx);
    wf_pcg32 rng = wf_pcg32_seed(g, wf_const_i64(g, WF_U64, -5), 7);
    wf_pcg32 by_value = wf_pcg32_advance(rng, wf_in(g, step));
    wf_out(g, a, wf_pcg32_u32(&by_value));
    wf_pcg32 far = wf_pcg32_advance(wf_pcg32_advance(rng, 1000), -997);
    wf_out(g, b, wf_add(wf_mul(wf_cast(wf_in(g, step), WF_U32), 0), wf_pcg32_u32(&far)));
    OK(ctx, wf_run(g));
    uint32_t *gota = contents(a), *gotb = contents(b), sequence[3 * POINTS];
    c_pcg r = c_seed((uint64_t)-5, 7);
    for (int k = 0; k < 3 * POINTS; k++)
        sequence[k] = c_next(&r);
    for (int i = 0; i < POINTS; i++) {
        int n = 3 * i - 20;
        if (n >= 0)
            assert_int_equal(gota[i], sequence[n]);
        assert_int_equal(gotb[i], sequence[3]);
    }
    wf_graph *back = wf_begin(ctx, .shape = WF_SHAPE(POINTS)); /* there and back again */
    rng = wf_pcg32_seed(back, 9, 9);
    wf_val n = wf_in(back, step);
    rng = wf_pcg32_advance(wf_pcg32_advance(rng, n), wf_neg(n));
    wf_out(back, a, wf_pcg32_u32(&rng));
    OK(ctx, wf_run(back));
    free(gota);
    gota = contents(a);
    r = c_seed(9, 9);
    uint32_t first = c_next(&r);
    for (int i = 0; i < POINTS; i++)
        assert_int_equal(gota[i], first);
    free(gota), free(gotb);
    wf_release(step), wf_release(a), wf_release(b);
}

static void in_a_loop(void **state)
{
    (void)state;
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(POINTS));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_pcg32 rng = wf_pcg32_seed(g, 1, wf_index(g, 0));
    wf_var s = wf_local(g, WF_U64, rng.state), x = wf_local(g, WF_F32, WF_V(0));
    WF_LOOP(g)
    { /* the first draw beyond 3/4 */
        rng.state = wf_get(s);
        wf_set(x, wf_pcg32_f32(&rng));
        wf_set(s, rng.state);
        WF_IF (g, wf_gt(x, 0.75))
            wf_break(g);
        WF_END(g);
    }
    WF_END(g);
    wf_out(g, out, wf_get(x));
    OK(ctx, wf_run(g));
    float *got = contents(out);
    for (uint64_t i = 0; i < POINTS; i++) {
        c_pcg r = c_seed(1, i);
        float want = 0;
        while (!(want > 0.75f))
            want = (float)(c_next(&r) >> 8) * 0x1p-24f;
        assert_true(got[i] == want);
    }
    free(got);
    wf_release(out);
}

static void mistakes(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(1));
    wf_array *out = wf_empty(ctx, WF_U32, WF_SHAPE(1));
    wf_out(g, out, wf_pcg32_u32(NULL));
    assert_true(wf_run(g) != WF_OK);
    wf_clear_error(ctx);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_sequence), cmocka_unit_test(a_stream_for_each_point),
        cmocka_unit_test(advancing),          cmocka_unit_test(in_a_loop),
        cmocka_unit_test(mistakes),
    };
    return RUN_ON_ALL(tests);
}
