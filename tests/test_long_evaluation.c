/* test_long_evaluation.c - a graph evaluated thousands of times stays small. Values in use keep their contents,
 * whatever becomes of others in between, and overwritten values still report an error. */
#include "launch/launch.h"
#include "on_devices.h"

enum { N = 64, TURNS = 400 };

static wf_array *ramp(double first) { return wf_array_arange(ctx, WF_F32, N, first, 1); }

/* Repeats a = a + 1 + turn % 3. At any time the graph has few nodes. */
static void turns(wf_graph *g, wf_array *a, int n)
{
    const wf__ir *ir = &g->program.rec.ir;
    for (int t = 0; t < n; ++t) {
        wf_val v = wf_in(g, a), odd = wf_gather(v, wf_xor(wf_iota(g, WF_SHAPE(N), 0), 1));
        wf_out(g, a, wf_add(wf_sub(wf_add(v, odd), odd), 1 + t % 3));
        OK(ctx, wf_eval(g));
        assert_true(ir->n < 1000 && ir->tuple_n < 4000 && ir->closed_n < 1000);
    }
}

static double sum_of_turns(int n)
{
    double sum = 0;
    for (int t = 0; t < n; ++t)
        sum += 1 + t % 3;
    return sum;
}

static void test_values_in_use_stay(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = ramp(5), *c = ramp(-3);
    wf_graph *g = wf_begin(ctx, .name = "long");
    wf_val i = wf_iota(g, WF_SHAPE(N), 0), y = wf_mul(wf_in(g, b), 2), p = wf_param(g, "p", WF_F32, 7);
    wf_val back = wf_gather(wf_add(wf_in(g, c), wf_in(g, b)), wf_sub(N - 1, i)), cut = wf_slice(y, 0, 1, N, 2);
    wf_val total = wf_sum(y, WF_ALL_AXES), run = wf_scan(WF_JOIN_ADD, wf_in(g, c), 0, false, false);
    wf_val old = wf_in(g, a), sum = wf_add(old, y), of_old = wf_add(old, 1);
    wf_array *kept = wf_keep(wf_mul(wf_in(g, a), 3));
    wf_var x = wf_local(g, WF_F32, wf_add(y, 1)), stale = wf_local(g, WF_F32, old);
    wf_label(y, "doubled");
    OK(ctx, wf_eval(g));
    for (int round = 0; round < 3; ++round) {
        turns(g, a, TURNS);
        wf_val later = wf_sub(y, round); /* made in between, used later */
        turns(g, a, 1);
        wf_array *d = wf_keep(later), *e = wf_keep(wf_add(back, p)), *f = wf_keep(wf_mul(cut, 2));
        wf_array *h = wf_keep(wf_add(x, wf_in(g, kept))), *s = wf_keep(total), *r = wf_keep(run);
        OK(ctx, wf_eval(g));
        LINEAR(d, 2, 10 - round);
        LINEAR(e, -2, 2 * (N - 1) + 2 + 7);
        LINEAR(h, 5, 11);
        float *odd = contents(f), *all = contents(s), *scanned = contents(r);
        for (int k = 0; k < N / 2; ++k)
            assert_true(odd[k] == (float)(4 * (2 * k + 1 + 5)));
        for (int k = 0; k < N; ++k)
            assert_true(scanned[k] == (float)((k + 1) * (k - 6) / 2.0));
        assert_true(all[0] == (float)(N * (N - 1) + 10 * N));
        free(odd), free(all), free(scanned);
        wf_release(f), wf_release(s), wf_release(r);
        wf_set(x, wf_add(y, 1)); /* a variable that is set on the way */
    }
    assert_true(g->moved > 0);
    wf_val bad[] = { old, sum, of_old, wf_get(x) };
    for (int k = 0; k < 4; ++k) { /* a graph is poisoned by the first, so each has its own */
        wf_graph *h = wf_begin(ctx);
        wf_val v = wf_in(h, a), w = wf_mul(v, 2);
        wf_var u = wf_local(h, WF_F32, w);
        wf_out(h, a, wf_add(v, 1));
        OK(ctx, wf_eval(h));
        turns(h, a, TURNS);
        if (k == 0)
            wf_out(h, a, v);
        else if (k == 1)
            wf_out(h, a, wf_add(w, 1));
        else if (k == 2)
            wf_out(h, a, wf_sqrt(u));
        else
            wf_out(h, a, bad[k]); /* of another graph */
        REFUSED(ctx, wf_run(h), k < 3 ? WF_ERR_CONTRACT : WF_ERR_ARG, k < 3 ? "wf_eval has changed" : "another");
    }
    wf_out(g, b, wf_add(stale, 1));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_eval has changed");
    float *first = contents(a);
    assert_true(first[0] == (float)(3 * (sum_of_turns(TURNS) + 1) + 4 * (1 + sum_of_turns(TURNS))));
    free(first);
    wf_release(a), wf_release(b), wf_release(c), wf_release(kept);
}

/* Literals that change from turn to turn, arrays that stay kept, and recordings that end by running. */
static void test_small_graphs(void **state)
{
    (void)state;
    for (int how = 0; how < 3; ++how) {
        wf_array *a = ramp(0);
        wf_graph *g = wf_begin(ctx, .flags_off = how == 1 ? WF_FLAG_VALUE_NUMBERING | WF_FLAG_FOLD : 0);
        for (int t = 0; t < TURNS; ++t) {
            wf_out(g, a, wf_sub(wf_add(wf_in(g, a), wf_label(wf_const(g, WF_F32, t), "turn")), t - 1));
            OK(ctx, wf_eval(g));
            if (how == 2 && t == TURNS / 2) { /* a block does not affect later operations */
                WF_IF (g, wf_lt(wf_in(g, a), 0)) {
                    wf_out(g, a, 0);
                }
                WF_END(g);
            }
        }
        assert_true(how == 1 || g->program.rec.ir.n < 3 * TURNS);
        wf_out(g, a, wf_mul(wf_in(g, a), 2));
        OK(ctx, wf_run(g));
        LINEAR(a, 2, 2 * TURNS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values_in_use_stay),
                                        cmocka_unit_test(test_small_graphs) };
    return RUN_ON_CPU(tests);
}
