/* test_loop_memory.c - loops whose iterations read memory that earlier iterations wrote, unrolled (the count is known)
 * and not (it is a parameter), in index spaces and over whole arrays, beside plain C, on every device.
 *
 * ctest: devices baseline
 */
#include "on_devices.h"

enum { N = 37, MOST = 5 };

static wf_val turns_of(wf_graph *g, const char *name, int turns, bool known)
{
    return known ? wf_const_i64(g, WF_I64, turns) : wf_param(g, name, WF_I64, turns);
}

static wf_array *counting_from(int32_t first)
{
    int32_t x[N];
    for (int i = 0; i < N; ++i)
        x[i] = first + i;
    return array_of(ctx, WF_I32, WF_SHAPE(N), x);
}

static void expect(wf_array *a, const int32_t *want)
{
    int32_t *got = contents(a);
    for (int i = 0; i < N; ++i)
        if (got[i] != want[i])
            fail_msg("element %d is %d, not %d", i, got[i], want[i]);
    free(got);
    wf_release(a);
}

/* a = 3 a + turn, or the old value where it was odd; without index, and by index. */
static void in_place(void **state)
{
    (void)state;
    for (int how = 0; how < 2 * 2 * (MOST + 1); ++how) {
        int turns = how / 4;
        bool space = how & 1, known = how & 2;
        int32_t a[N], odd[N];
        wf_array *x = counting_from(1), *y = counting_from(-9);
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
        wf_val k, i = space ? wf_index(g, 0) : wf_iota(g, WF_SHAPE(N), 0);
        WF_FOR (g, k, 0, turns_of(g, "turns", turns, known), 1) {
            wf_val v = space ? wf_read(g, x, i) : wf_in(g, x);
            WF_IF (g, wf_eq(wf_mod(v, 2), 1)) {
                if (space)
                    wf_write(g, y, v, i);
                else
                    wf_out(g, y, v);
            }
            WF_END(g);
            v = wf_add(wf_mul(v, 3), wf_cast(k, WF_I32));
            if (space)
                wf_write(g, x, v, i);
            else
                wf_out(g, x, v);
        }
        WF_END(g);
        OK(ctx, wf_run(g));
        for (int e = 0; e < N; ++e) {
            a[e] = 1 + e;
            odd[e] = e - 9;
            for (int t = 0; t < turns; ++t) {
                odd[e] = a[e] % 2 ? a[e] : odd[e];
                a[e] = 3 * a[e] + t;
            }
        }
        expect(x, a);
        expect(y, odd);
    }
}

/* A turn stores through one array, and the next one reads through another array of the same memory. */
static void through_views(void **state)
{
    (void)state;
    for (int how = 0; how < 2 * (MOST + 1); ++how) {
        int turns = how / 2;
        int32_t a[N], sum[N];
        wf_array *x = counting_from(5), *again = wf_view_slice(x, 0, 0, N, 1), *out = counting_from(0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val k, i = wf_index(g, 0);
        wf_var total = wf_local(g, WF_I32, 0);
        WF_FOR (g, k, 0, turns_of(g, "turns", turns, how & 1), 1) {
            wf_set(total, wf_add(wf_get(total), wf_read(g, again, i)));
            wf_write(g, x, wf_add(wf_mul(wf_cast(k, WF_I32), 100), i), i);
        }
        WF_END(g);
        wf_write(g, out, wf_add(wf_get(total), wf_read(g, again, i)), i);
        OK(ctx, wf_run(g));
        for (int e = 0; e < N; ++e) {
            a[e] = 5 + e;
            sum[e] = 0;
            for (int t = 0; t < turns; ++t) {
                sum[e] += a[e];
                a[e] = 100 * t + e;
            }
            sum[e] += a[e];
        }
        wf_release(again);
        expect(x, a);
        expect(out, sum);
    }
}

/* Loops in loops, with reads before, between and behind the inner ones. */
static void nested(void **state)
{
    (void)state;
    for (int how = 0; how < 4; ++how) {
        int32_t a[N], b[N], c[N];
        wf_array *x = counting_from(0), *y = counting_from(1), *z = counting_from(2);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val j, k, i = wf_index(g, 0);
        WF_FOR (g, j, 0, turns_of(g, "outer", 3, how & 1), 1) {
            wf_val before = wf_read(g, x, i);
            WF_FOR (g, k, 0, turns_of(g, "inner", 2, how & 2), 1) {
                wf_write(g, x, wf_add(wf_read(g, x, i), wf_read(g, y, i)), i);
                wf_write(g, z, wf_xor(wf_read(g, z, i), wf_read(g, x, i)), i);
            }
            WF_END(g);
            wf_write(g, y, wf_sub(wf_read(g, x, i), before), i);
            WF_FOR (g, k, 0, 2, 1) {
                wf_write(g, z, wf_add(wf_read(g, z, i), wf_read(g, y, i)), i);
            }
            WF_END(g);
        }
        WF_END(g);
        wf_write(g, x, wf_add(wf_read(g, x, i), wf_read(g, z, i)), i);
        OK(ctx, wf_run(g));
        for (int e = 0; e < N; ++e) {
            a[e] = e, b[e] = 1 + e, c[e] = 2 + e;
            for (int t = 0; t < 3; ++t) {
                int32_t before = a[e];
                for (int u = 0; u < 2; ++u) {
                    a[e] += b[e];
                    c[e] ^= a[e];
                }
                b[e] = a[e] - before;
                for (int u = 0; u < 2; ++u)
                    c[e] += b[e];
            }
            a[e] += c[e];
        }
        expect(x, a);
        expect(y, b);
        expect(z, c);
    }
}

/* Unrolled loops in loops with two accesses in each turn: by index, without index, through another array of the same
 * memory, and to scratch before the points. */
static void mixed(void **state)
{
    (void)state;
    enum { ELEMENT_READ, ELEMENT_WRITTEN, VIEW, SCRATCH, WAYS };
    for (int way = 0; way < WAYS; ++way) {
        wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(N), 0), *same = wf_view_slice(a, 0, 0, N, 1);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .block = WF_SHAPE(3));
        wf_val k, l, i = wf_index(g, 0);
        wf_array *to = way == SCRATCH ? wf_scratch(g, WF_I32, WF_SHAPE(4), true) : a, *from = way == VIEW ? same : to;
        wf_val at = way == SCRATCH ? WF_V(2) : i;
        if (way == SCRATCH)
            wf_section(g, WF_SECTION_INIT);
        WF_FOR (g, k, 0, 2, 1) {
            WF_FOR (g, l, 0, 3, 1) {
                wf_val old = way == ELEMENT_READ ? wf_in(g, a) : wf_read(g, from, at);
                wf_val now = wf_add(wf_add(old, wf_cast(l, WF_I32)), 1);
                if (way == ELEMENT_WRITTEN)
                    wf_out(g, a, now);
                else
                    wf_write(g, to, now, at);
                wf_write(g, to, wf_add(wf_read(g, from, at), wf_cast(k, WF_I32)), at);
            }
            WF_END(g);
        }
        WF_END(g);
        if (way == SCRATCH) {
            wf_section(g, WF_SECTION_CALL);
            wf_write(g, a, wf_read(g, to, at), i);
        }
        OK(ctx, wf_run(g));
        int32_t want[N];
        for (int e = 0; e < N; ++e)
            want[e] = 2 * (0 + 1 + 2) + 6 + 3 * (0 + 1);
        wf_release(same);
        expect(a, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_place), cmocka_unit_test(through_views),
                                        cmocka_unit_test(nested), cmocka_unit_test(mixed) };
    return RUN_ON_ALL(tests);
}
