/* test_ewise.c - lazy array graphs on every device: broadcasting, mixed dtypes, several outputs, every kind of overlap
 * between inputs and outputs, program order, kept arrays, errors and their messages.
 *
 * ctest: devices baseline threads
 */
#include "on_devices.h"

static wf_array *counting(int64_t n) { return wf_array_arange(ctx, WF_F32, n, 0, 1); }

static void test_expression(void **state)
{
    (void)state;
    wf_array *a = counting(1001), *b = wf_full(ctx, WF_F32, WF_SHAPE(1001), 2), *c = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, c, wf_add(wf_mul(wf_in(g, a), wf_in(g, b)), 1));
    OK(ctx, wf_run(g));
    float *x = contents(c);
    for (int i = 0; i < 1001; ++i)
        assert_true(x[i] == 2.f * (float)i + 1);
    free(x);
    RELEASE(a, b, c);
}

static void test_broadcasting(void **state)
{
    (void)state;
    const float column[] = { 10, 20 }, row[] = { 1, 2, 3 };
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 1), column), *b = array_of(ctx, WF_F32, WF_SHAPE(3), row);
    wf_array *s = wf_full(ctx, WF_F32, WF_SCALAR, 100), *out = wf_empty(ctx, WF_F32, WF_SHAPE(2, 3));
    wf_graph *g = wf_begin(ctx);
    wf_val sum = wf_add(wf_add(wf_in(g, a), wf_in(g, b)), wf_in(g, s));
    assert_int_equal(wf_val_shape(sum).rank, 2);
    assert_int_equal(wf_val_shape(sum).dim[1], 3);
    wf_out(g, out, sum);
    OK(ctx, wf_run(g));
    EXPECT_F32(out, 111, 112, 113, 121, 122, 123);
    /* a smaller value fills a larger array; a number fills any */
    g = wf_begin(ctx);
    wf_out(g, out, wf_in(g, a));
    OK(ctx, wf_run(g));
    EXPECT_F32(out, 10, 10, 10, 20, 20, 20);
    g = wf_begin(ctx);
    wf_out(g, out, 7);
    OK(ctx, wf_run(g));
    EXPECT_F32(out, 7, 7, 7, 7, 7, 7);
    RELEASE(a, b, s, out);
}

static void test_empty_and_one(void **state)
{
    (void)state;
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0, 3)), *one = wf_full(ctx, WF_F32, WF_SHAPE(1, 1, 1), 4);
    wf_graph *g = wf_begin(ctx);
    wf_array *kept = wf_keep(wf_add(wf_in(g, none), wf_in(g, one)));
    wf_array *root = wf_keep(wf_sqrt(wf_in(g, one)));
    OK(ctx, wf_run(g));
    wf_shape s = wf_array_shape(kept);
    assert_true(s.rank == 3 && s.dim[0] == 1 && s.dim[1] == 0 && s.dim[2] == 3);
    EXPECT_F32(root, 2);
    g = wf_begin(ctx);
    wf_out(g, none, wf_mul(wf_in(g, none), 2));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    OK(ctx, wf_run(g)); /* nothing recorded */
    RELEASE(none, one, kept, root);
}

static void test_mixed_dtypes(void **state)
{
    (void)state;
    const uint8_t bytes[] = { 0, 1, 200, 255 };
    const int16_t words[] = { -300, 5, 1000, -1 };
    wf_array *a = array_of(ctx, WF_U8, WF_SHAPE(4), bytes), *b = array_of(ctx, WF_I16, WF_SHAPE(4), words);
    wf_array *u = wf_empty(ctx, WF_U8, WF_SHAPE(4)), *t = wf_empty(ctx, WF_BOOL, WF_SHAPE(4));
    wf_graph *g = wf_begin(ctx);
    wf_val sum = wf_add(wf_in(g, a), wf_in(g, b)); /* i16 */
    wf_array *wide = wf_keep(wf_mul(wf_cast(sum, WF_F32), 0.5)), *ints = wf_keep(wf_cast(sum, WF_I64));
    wf_out(g, u, sum); /* wraps */
    wf_out(g, t, wf_gt(sum, 0));
    OK(ctx, wf_run(g));
    EXPECT_F32(wide, -150, 3, 600, 127);
    int64_t *i = contents(ints);
    uint8_t *w = contents(u), *p = contents(t);
    const int64_t want[] = { -300, 6, 1200, 254 };
    for (int k = 0; k < 4; ++k) {
        assert_true(i[k] == want[k]);
        assert_int_equal(w[k], (uint8_t)want[k]);
        assert_int_equal(p[k], want[k] > 0);
    }
    free(i);
    free(w);
    free(p);
    RELEASE(a, b, u, t, wide, ints);
}

static void test_in_place(void **state)
{
    (void)state;
    wf_array *a = counting(5);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, a), 1));
    wf_out(g, a, wf_mul(wf_in(g, a), 2));
    wf_out(g, a, wf_sub(wf_in(g, a), 1));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 1, 3, 5, 7, 9);
    RELEASE(a);
}

/* Every shift, forwards, backwards and reversed, of an array onto itself: all is read before anything is written. */
static void test_shifted_overlap(void **state)
{
    (void)state;
    enum { N = 200, M = 140 };
    for (int shift = 0; shift <= N - M; shift += 7)
        for (int reverse = 0; reverse < 2; ++reverse)
            for (int forwards = 0; forwards < 2; ++forwards) {
                wf_array *a = counting(N);
                int from = forwards ? 0 : shift, to = forwards ? shift : 0;
                wf_array *source = wf_view_slice(a, 0, from, from + M, 1), *target = wf_view_slice(a, 0, to, to + M, 1);
                if (reverse) {
                    wf_array *back = wf_view_slice(source, 0, -1, WF_END_INDEX, -1);
                    wf_release(source);
                    source = back;
                }
                wf_graph *g = wf_begin(ctx);
                wf_out(g, target, wf_add(wf_in(g, source), 1000));
                OK(ctx, wf_run(g));
                float *x = contents(a);
                for (int i = 0; i < N; ++i) {
                    int k = i - to;
                    float want = (float)i;
                    if (k >= 0 && k < M)
                        want = (float)(from + (reverse ? M - 1 - k : k)) + 1000;
                    assert_true(x[i] == want);
                }
                free(x);
                RELEASE(a, source, target);
            }
}

static void test_transposed_onto_itself(void **state)
{
    (void)state;
    wf_array *flat = counting(49), *a = wf_view_reshape(flat, WF_SHAPE(7, 7));
    const int swap[] = { 1, 0 };
    wf_array *t = wf_view_permute(a, swap);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_in(g, t));
    OK(ctx, wf_run(g));
    float *x = contents(a);
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j)
            assert_true(x[i * 7 + j] == (float)(j * 7 + i));
    free(x);
    g = wf_begin(ctx);
    wf_out(g, a, wf_sub(wf_in(g, a), wf_in(g, t)));
    OK(ctx, wf_run(g));
    x = contents(a);
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j)
            assert_true(x[i * 7 + j] == (float)(6 * (j - i)));
    free(x);
    RELEASE(flat, a, t);
}

/* a row of an array added to all of it */
static void test_broadcast_of_itself(void **state)
{
    (void)state;
    wf_array *flat = counting(6), *a = wf_view_reshape(flat, WF_SHAPE(2, 3)), *row = wf_view_at(a, 0, 0);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, a), wf_in(g, row)));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 0, 2, 4, 3, 5, 7);
    RELEASE(flat, a, row);
}

static void test_program_order(void **state)
{
    (void)state;
    wf_array *a = counting(4), *b = wf_full(ctx, WF_F32, WF_SHAPE(4), 100), *c = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val old = wf_in(g, a);
    wf_out(g, a, wf_in(g, b));
    wf_val now = wf_in(g, a);
    wf_out(g, b, wf_add(old, now)); /* values are what they were when read */
    wf_out(g, a, 1);
    wf_out(g, c, wf_add(now, wf_in(g, a)));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 1, 1, 1, 1);
    EXPECT_F32(b, 100, 101, 102, 103);
    EXPECT_F32(c, 101, 101, 101, 101);
    RELEASE(a, b, c);
}

/* swap through values; a load between two stores of the same array, the first one broadcast */
static void test_old_values_are_saved(void **state)
{
    (void)state;
    wf_array *a = counting(3), *b = wf_full(ctx, WF_F32, WF_SHAPE(3), 7), *one = wf_full(ctx, WF_F32, WF_SHAPE(1), 9);
    wf_array *c = wf_full(ctx, WF_F32, WF_SHAPE(3), 5), *d = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b);
    wf_out(g, a, y);
    wf_out(g, b, x);
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 7, 7, 7);
    EXPECT_F32(b, 0, 1, 2);
    g = wf_begin(ctx);
    wf_out(g, a, wf_in(g, one));
    wf_val between = wf_in(g, a);
    wf_out(g, a, wf_in(g, c));
    wf_out(g, d, between);
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 5, 5, 5);
    EXPECT_F32(d, 9, 9, 9);
    RELEASE(a, b, one, c, d);
}

/* halves of one array written separately around a read of the whole */
static void test_parts_and_whole(void **state)
{
    (void)state;
    wf_array *a = counting(8), *left = wf_view_slice(a, 0, 0, 4, 1), *right = wf_view_slice(a, 0, 4, 8, 1);
    wf_array *even = wf_view_slice(a, 0, 0, WF_END_INDEX, 2), *odd = wf_view_slice(a, 0, 1, WF_END_INDEX, 2);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, left, -1);
    wf_val whole = wf_in(g, a);
    wf_out(g, right, -2);
    wf_array *seen = wf_keep(whole);
    OK(ctx, wf_run(g));
    EXPECT_F32(seen, -1, -1, -1, -1, 4, 5, 6, 7);
    EXPECT_F32(a, -1, -1, -1, -1, -2, -2, -2, -2);
    g = wf_begin(ctx);
    wf_val e = wf_in(g, even), o = wf_in(g, odd);
    wf_out(g, even, wf_add(o, 10));
    wf_out(g, odd, wf_add(e, 20));
    wf_out(g, left, wf_in(g, right));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 8, 18, 8, 18, 8, 18, 8, 18);
    RELEASE(a, left, right, even, odd, seen);
}

static void test_several_outputs_of_several_shapes(void **state)
{
    (void)state;
    wf_array *a = counting(6), *m = wf_view_reshape(a, WF_SHAPE(2, 3)), *p = wf_empty(ctx, WF_F64, WF_SHAPE(2, 3));
    wf_array *q = wf_empty(ctx, WF_I32, WF_SHAPE(6)), *r = wf_empty(ctx, WF_F32, WF_SHAPE(2, 2, 3));
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, m);
    wf_out(g, p, wf_mul(v, v));
    wf_out(g, q, wf_add(wf_in(g, a), 0.75));
    wf_out(g, r, wf_neg(v));
    OK(ctx, wf_run(g));
    double *d = contents(p);
    int32_t *i = contents(q);
    for (int k = 0; k < 6; ++k)
        assert_true(d[k] == (double)k * k && i[k] == k);
    free(d);
    free(i);
    EXPECT_F32(r, -0.f, -1, -2, -3, -4, -5, -0.f, -1, -2, -3, -4, -5);
    RELEASE(a, m, p, q, r);
}

static void test_kept_arrays(void **state)
{
    (void)state;
    wf_array *a = counting(3);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_add(wf_in(g, a), 1);
    wf_array *k = wf_keep(v), *same = wf_keep(v), *number = wf_keep(wf_const(g, WF_F32, 4));
    assert_int_equal(wf_array_state(k), WF_STATE_LAZY);
    OK(ctx, wf_run(g));
    assert_int_equal(wf_array_state(k), WF_STATE_READY);
    EXPECT_F32(k, 1, 2, 3);
    EXPECT_F32(same, 1, 2, 3);
    EXPECT_F32(number, 4);
    g = wf_begin(ctx);
    wf_array *never = wf_keep(wf_in(g, k));
    wf_drop(g);
    assert_int_equal(wf_array_state(never), WF_STATE_LAZY);
    g = wf_begin(ctx);
    wf_out(g, a, wf_in(g, never));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "never computed");
    /* a kept array may be released before the graph runs */
    g = wf_begin(ctx);
    wf_release(wf_keep(wf_in(g, k)));
    OK(ctx, wf_run(g));
    RELEASE(a, k, same, number, never);
}

static void test_gather(void **state)
{
    (void)state;
    const int32_t at[] = { 3, 0, -5, 9 };
    const uint8_t rows[] = { 1, 0, 1, 1 };
    wf_array *a = counting(5), *i = array_of(ctx, WF_I32, WF_SHAPE(4), at),
             *u = array_of(ctx, WF_U8, WF_SHAPE(4), rows);
    wf_array *flat = counting(6), *m = wf_view_reshape(flat, WF_SHAPE(2, 3));
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, i);
    wf_array *clamped = wf_keep(wf_read_border(g, a, WF_BORDER_CLAMP, 0, x));
    wf_array *other = wf_keep(wf_read_or(g, a, -1, x));
    wf_array *wrapped = wf_keep(wf_read_border(g, a, WF_BORDER_PERIODIC, 0, x));
    wf_array *mirror = wf_keep(wf_read_border(g, a, WF_BORDER_MIRROR, 0, x));
    wf_array *reflect = wf_keep(wf_read_border(g, a, WF_BORDER_REFLECT, 0, x));
    wf_array *pairs = wf_keep(wf_read(g, m, wf_in(g, u), 2));
    OK(ctx, wf_run(g));
    EXPECT_F32(clamped, 3, 0, 0, 4);
    EXPECT_F32(other, 3, 0, -1, -1);
    EXPECT_F32(wrapped, 3, 0, 0, 4);
    EXPECT_F32(mirror, 3, 0, 4, 0);
    EXPECT_F32(reflect, 3, 0, 3, 1);
    EXPECT_F32(pairs, 5, 2, 5, 5);
    /* a permutation of an array onto itself */
    const int64_t order[] = { 4, 2, 0, 1, 3 };
    wf_array *perm = array_of(ctx, WF_I64, WF_SHAPE(5), order);
    g = wf_begin(ctx);
    wf_out(g, a, wf_read(g, a, wf_in(g, perm)));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 4, 2, 0, 1, 3);
    RELEASE(a, i, u, flat, m, clamped, other, wrapped, mirror, reflect, pairs, perm);
}

static void test_iota_and_dim(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(2, 3), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val y = wf_iota(g, WF_SHAPE(2, 3), 0), x = wf_iota(g, WF_SHAPE(3), -1);
    wf_array *both = wf_keep(wf_cast(wf_add(wf_mul(y, wf_dim(g, a, 1)), x), WF_F32));
    OK(ctx, wf_run(g));
    EXPECT_F32(both, 0, 1, 2, 3, 4, 5);
    g = wf_begin(ctx);
    wf_iota(g, WF_SHAPE(3), 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "axis 1");
    g = wf_begin(ctx);
    wf_dim(g, a, 2);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "axis 2");
    g = wf_begin(ctx);
    wf_index(g, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_iota");
    RELEASE(a, both);
}

static void test_variables(void **state)
{
    (void)state;
    wf_array *a = counting(4);
    wf_graph *g = wf_begin(ctx);
    wf_var x = wf_local(g, WF_F32, 1), n = wf_local(g, WF_I32, 0);
    wf_val before = wf_get(x);
    for (int k = 0; k < 3; ++k) {
        wf_set(x, wf_mul(x, wf_in(g, a)));
        wf_inc(n, 2);
    }
    wf_array *cube = wf_keep(x), *one = wf_keep(before), *six = wf_keep(wf_cast(n, WF_F32));
    OK(ctx, wf_run(g));
    EXPECT_F32(cube, 0, 1, 8, 27);
    EXPECT_F32(one, 1);
    EXPECT_F32(six, 6);
    RELEASE(a, cube, one, six);
}

/* More arrays than any fixed table in Weft has entries. */
static void test_many_arrays(void **state)
{
    (void)state;
    enum { MANY = 150 };
    wf_array *in[MANY], *out[MANY];
    wf_graph *g = wf_begin(ctx);
    wf_val sum = wf_const(g, WF_F32, 0);
    for (int i = 0; i < MANY; ++i) {
        in[i] = wf_full(ctx, WF_F32, WF_SHAPE(33), i);
        out[i] = wf_like(in[i]);
        wf_val v = wf_in(g, in[i]);
        sum = wf_add(sum, v);
        wf_out(g, out[i], wf_add(v, 0.5));
    }
    wf_array *total = wf_keep(sum);
    OK(ctx, wf_run(g));
    float *t = contents(total);
    assert_true(t[32] == MANY * (MANY - 1) / 2);
    free(t);
    for (int i = 0; i < MANY; ++i) {
        float *x = contents(out[i]);
        assert_true(x[0] == (float)i + 0.5f && x[32] == (float)i + 0.5f);
        free(x);
        RELEASE(in[i], out[i]);
    }
    wf_release(total);
}

/* ---- poison ---- */
static void test_messages(void **state)
{
    (void)state;
    wf_array *a = counting(3), *b = counting(4), *u = wf_full(ctx, WF_U8, WF_SHAPE(3), 1);
    wf_graph *g = wf_begin(ctx, .name = "gain");
    wf_val x = wf_in(g, a), y = wf_in(g, b), bad = wf_add(x, y);
    assert_int_equal(wf_val_dtype(bad), WF_NONE);
    wf_out(g, a, wf_sqrt(wf_in(g, u))); /* a second mistake is not reported */
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "add: shapes (3) and (4) do not broadcast");
    g = wf_begin(ctx, .name = "gain");
    wf_out(g, a, wf_in(g, b));
    assert_int_equal(wf_run(g), WF_ERR_SHAPE);
    assert_non_null(
        strstr(wf_last_message(ctx), "a value of shape (4) does not fit array 2 of the recording (in order of"));
    assert_non_null(strstr(wf_last_message(ctx), "gain"));
    assert_non_null(strstr(wf_last_message(ctx), "test_ewise.c:"));
    wf_clear_error(ctx);
    EXPECT_F32(a, 0, 1, 2); /* nothing ran */
    g = wf_begin(ctx);
    wf_in(g, NULL);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "NULL");
    g = wf_begin(ctx);
    wf_out(g, NULL, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "NULL");
    g = wf_begin(ctx);
    wf_read(g, a, 0, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "2 indices given for array ");
    g = wf_begin(ctx);
    wf_read(g, a, wf_in(g, a));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "index 0 is f32");
    g = wf_begin(ctx);
    wf_write(g, a, 1, 0.5);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_write");
    g = wf_begin(ctx);
    wf_read_border(g, a, (wf_border)9, 0, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "border mode 9");
    wf_array *wide = wf_view_broadcast(a, WF_SHAPE(2, 3));
    g = wf_begin(ctx);
    wf_out(g, wide, 1);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG,
            "array 1 of the recording (in order of first use; f32 of shape (2, 3)) is read-only");
    g = wf_begin(ctx);
    wf_fail(g, WF_ERR_CONTRACT, "from outside");
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "from outside");
    for (int k = 0; k < 2; ++k) {
        g = wf_begin(ctx);
        wf_fail(g, WF_ERR_CONTRACT, k ? "" : NULL);
        REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_fail: the program gives no reason");
    }
    g = wf_begin(ctx, .device = 9);
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "9");
    RELEASE(a, b, u, wide);
}

/* Two arrays that each fit, broadcast to a space with more than 2^63 points. */
static void test_uncountable_space(void **state)
{
    (void)state;
    wf_array *one = wf_full(ctx, WF_F32, WF_SHAPE(1, 1), 1), *out = NULL;
    wf_array *a = wf_view_broadcast(one, WF_SHAPE((int64_t)1 << 40, 1)),
             *b = wf_view_broadcast(one, WF_SHAPE(1, (int64_t)1 << 40));
    wf_graph *g = wf_begin(ctx);
    out = wf_keep(wf_sum(wf_add(wf_in(g, a), wf_in(g, b)), WF_ALL_AXES));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "too many points");
    RELEASE(one, a, b, out);
}

static void test_null_graphs(void **state)
{
    (void)state;
    wf_array *a = counting(2);
    assert_null(wf_begin_with(NULL, NULL));
    wf_val v = wf_in(NULL, a);
    wf_out(NULL, a, v);
    wf_write(NULL, a, 1, 0);
    assert_null(wf_keep(wf_in(NULL, a)));
    wf_set(wf_local(NULL, WF_F32, 1), 2);
    wf_section(NULL, WF_SECTION_POST);
    wf_fail(NULL, WF_ERR_ARG, "");
    wf_drop(NULL);
    assert_null(wf_compile(NULL));
    assert_int_equal(wf_run(NULL), WF_ERR_ARG);
    wf_release(a);
}

static void test_graphs_do_not_mix(void **state)
{
    (void)state;
    wf_array *a = counting(2);
    wf_graph *g = wf_begin(ctx), *h = wf_begin(ctx);
    wf_val v = wf_in(g, a);
    wf_out(h, a, v);
    REFUSED(ctx, wf_run(h), WF_ERR_ARG, "another recording");
    wf_val sum = wf_add(v, 1);
    wf_out(g, a, sum);
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 1, 2);
    wf_graph *again = wf_begin(ctx); /* values of an ended recording are invalid in the next one */
    wf_out(again, a, sum);
    assert_int_not_equal(wf_run(again), WF_OK);
    wf_clear_error(ctx);
    wf_context *other = test_context(WF_INTERP, 1);
    g = wf_begin(other);
    wf_in(g, a);
    REFUSED(other, wf_run(g), WF_ERR_ARG, "another context");
    wf_context_free(other);
    wf_release(a);
}

static int warnings;
static void log_warning(int level, const char *text, void *user)
{
    (void)user;
    warnings += level == 1 && strstr(text, "never run") && strstr(text, "test_ewise.c");
    warnings += 10 * (level == 1 && strstr(text, "wf_freeze_begin was never ended"));
    warnings += 100 * (level == 1 && strstr(text, "WEFT_THREADS is '2 cores' in the environment") != NULL);
    warnings += 1000 * (level == 1 && strstr(text, "WEFT_CACHE_BYTES is '1G' in the environment") != NULL);
    warnings += 10000 * (level == 1 && strncmp(text, "WEFT_ISA is none; ", 18) == 0);
}

/* A graph that the program never ended is freed with its context, which logs where it began. */
static void test_forgotten_graphs(void **state)
{
    (void)state;
    wf_config config = {
        .size = sizeof config, .device = WF_INTERP, .flags_on = WF_FLAG_NO_DISK_CACHE, .log = log_warning
    };
    wf_context *own = wf_context_new(&config);
    wf_array *a = wf_full(own, WF_F32, WF_SHAPE(3), 1);
    for (int i = 0; i < 3; ++i) {
        wf_graph *g = wf_begin(own);
        wf_in(g, a);
    }
    wf_release(a);
    warnings = 0;
    wf_context_free(own);
    assert_int_equal(warnings, 3);
    own = wf_context_new(&config);
    a = wf_full(own, WF_F32, WF_SHAPE(3), 1);
    OK(own, wf_freeze_begin(own, WF_ARRAYS(a)));
    warnings = 0;
    wf_release(a);
    wf_context_free(own);
    assert_int_equal(warnings, 10);
}

/* Values of variables that are no numbers count as unset, with a warning. */
static void test_environment(void **state)
{
    (void)state;
    static const char *const names[] = { "WEFT_THREADS", "WEFT_CACHE_BYTES", "WEFT_ISA" }, *const values[] = {
        "2 cores", "1G", "none"
    };
    char *before[3];
    for (int i = 0; i < 3; ++i) {
        const char *text = getenv(names[i]);
        before[i] = text ? strdup(text) : NULL;
        setenv(names[i], values[i], 1);
    }
    warnings = 0;
    wf_context *own = wf_context_new(
        &(wf_config){ .size = sizeof(wf_config), .flags_on = WF_FLAG_NO_DISK_CACHE, .log = log_warning });
    assert_int_equal(warnings, 1100);
    wf_array *a = wf_full(own, WF_F32, WF_SHAPE(3), 1);
    wf_graph *g = wf_begin(own);
    wf_out(g, a, wf_mul(wf_in(g, a), 3));
    OK(own, wf_run(g));
    wf_kernel *k = wf_compile((g = wf_begin(own), wf_out(g, a, wf_mul(wf_in(g, a), 5)), g));
    OK(own, wf_launch(k, WF_NO_ARGS));
    wf_kernel_free(k);
    assert_true(warnings == 1100 || warnings == 11100); /* without a code generator there is another message */
    setenv(names[0], "3", 1);
    unsetenv(names[1]);
    wf_context *three = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .log = log_warning });
    assert_int_equal(wf_get_threads(three), 3);
    assert_true(warnings < 12000);
    for (int i = 0; i < 3; ++i) {
        if (before[i])
            setenv(names[i], before[i], 1);
        else
            unsetenv(names[i]);
        free(before[i]);
    }
    wf_release(a);
    wf_context_free(own);
    wf_context_free(three);
}

/* Every store runs once, whatever the flags. */
static void test_flags(void **state)
{
    (void)state;
    uint32_t flags = wf_get_flags(ctx);
    for (uint32_t off = 0; off < 4; ++off) {
        wf_set_flags(ctx, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING, 0);
        wf_set_flags(ctx, 0, off);
        assert_int_equal(wf_get_flags(ctx) & 3, 3 & ~off);
        wf_array *a = counting(3);
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a), y = wf_mul(wf_add(x, 0), 1);
        wf_out(g, a, wf_add(wf_mul(x, y), wf_mul(y, x)));
        wf_array *b = wf_keep(wf_select(wf_lt(1, 2), wf_in(g, a), 5));
        OK(ctx, wf_run(g));
        EXPECT_F32(b, 0, 2, 8);
        RELEASE(a, b);
    }
    wf_set_flags(ctx, flags, 0);
}

/* A context or a recording turns fast math on. It then does what is documented: here, one rounding instead of two. */
static void test_fast_math(void **state)
{
    (void)state;
    const float a = 1 + 0x1p-12f, strict = a * a - 1, once = 0x1p-11f + 0x1p-24f;
    assert_true(strict != once);
    uint32_t flags = wf_get_flags(ctx);
    for (int how = 0; how < 4; ++how) { /* never, for the recording, for the context, for all but the recording */
        wf_set_flags(ctx, how >= 2 ? WF_FLAG_FAST_MATH : 0, 0);
        wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(37), (double)a);
        wf_graph *g =
            wf_begin(ctx, .flags_on = how == 1 ? WF_FLAG_FAST_MATH : 0, .flags_off = how == 3 ? WF_FLAG_FAST_MATH : 0);
        wf_val v = wf_in(g, x);
        wf_array *out = wf_keep(wf_sub(wf_mul(v, v), 1));
        OK(ctx, wf_run(g));
        float got[37];
        OK(ctx, wf_download(out, got, sizeof got));
        for (int i = 0; i < 37; ++i)
            assert_true(got[i] == (how == 1 || how == 2 ? once : strict));
        RELEASE(x, out);
        wf_set_flags(ctx, flags, WF_FLAG_FAST_MATH);
    }
}

/* Bits as another dtype of the same size are the same bytes. */
static void test_bits(void **state)
{
    (void)state;
    enum { N = 600 };
    for (int to = 0; to < 2; ++to) {
        wf_array *truth = wf_full(ctx, to ? WF_U8 : WF_BOOL, WF_SHAPE(N), 1);
        wf_graph *g = wf_begin(ctx);
        wf_bitcast(wf_in(g, truth), to ? WF_BOOL : WF_I8);
        REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, to ? "u8 to bool: bool has no bits" : "bool to i8: bool has no bits");
        wf_release(truth);
    }
    for (int from = WF_BOOL + 1; from < WF_C32; ++from)
        for (int to = WF_BOOL + 1; to < WF_C32; ++to) {
            size_t size = wf_dtype_size((wf_dtype)from);
            if (size != wf_dtype_size((wf_dtype)to) || size == 0)
                continue;
            uint8_t x[N * 8];
            uint64_t random = 1;
            for (size_t i = 0; i < N * size; ++i) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                x[i] = (uint8_t)(random >> 56);
            }
            wf_array *a = array_of(ctx, (wf_dtype)from, WF_SHAPE(N), x);
            wf_graph *g = wf_begin(ctx);
            wf_array *b = wf_keep(wf_bitcast(wf_in(g, a), (wf_dtype)to));
            OK(ctx, wf_run(g));
            uint8_t *got = contents(b);
            if (memcmp(got, x, N * size) != 0)
                fail_msg("%s as %s", wf_dtype_name((wf_dtype)from), wf_dtype_name((wf_dtype)to));
            free(got);
            wf_release(a);
            wf_release(b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expression),
        cmocka_unit_test(test_broadcasting),
        cmocka_unit_test(test_empty_and_one),
        cmocka_unit_test(test_mixed_dtypes),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_shifted_overlap),
        cmocka_unit_test(test_transposed_onto_itself),
        cmocka_unit_test(test_broadcast_of_itself),
        cmocka_unit_test(test_program_order),
        cmocka_unit_test(test_old_values_are_saved),
        cmocka_unit_test(test_parts_and_whole),
        cmocka_unit_test(test_several_outputs_of_several_shapes),
        cmocka_unit_test(test_kept_arrays),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_iota_and_dim),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_many_arrays),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_uncountable_space),
        cmocka_unit_test(test_null_graphs),
        cmocka_unit_test(test_graphs_do_not_mix),
        cmocka_unit_test(test_forgotten_graphs),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_fast_math),
        cmocka_unit_test(test_bits),
    };
    return RUN_ON_ALL(tests);
}
