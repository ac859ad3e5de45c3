/* test_packets.c - records moved as vectors (WF_FLAG_PACKETS): gathers, scatters and accumulations of every record
 * size have the bits of the interpreter on every vector width; masks, borders, tails, orders that must be kept.
 *
 * ctest: baseline threads
 */
#include "weft_test.h"

enum { POINTS = 77, MOST_RECORDS = 700 };

static const char *const isas[] = { "avx512", "avx2", "sse4.2", "neon" };

typedef struct place { /* where a recording runs */
    wf_context *ctx;
    const char *isa;
} place;

static place places[6];
static int place_n;

static int begin(void **state)
{
    (void)state;
    places[place_n++] = (place){ test_context(WF_INTERP, 1), "interpreter" };
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        setenv("WEFT_ISA", isas[k], 1);
        wf_context *ctx = test_context(WF_CPU, 2);
        wf_info info = { .size = sizeof info };
        OK(ctx, wf_get_info(ctx, false, &info));
        if (strcmp(info.isa, isas[k]) == 0)
            places[place_n++] = (place){ ctx, isas[k] };
        else
            wf_context_free(ctx);
    }
    unsetenv("WEFT_ISA");
    return 0;
}

static int end(void **state)
{
    (void)state;
    while (place_n)
        wf_context_free(places[--place_n].ctx);
    return 0;
}

static uint64_t next(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 33;
}

/* Small numbers, fractions and signs: sums of floats depend on their order. */
static wf_array *noise(wf_context *ctx, wf_dtype t, wf_shape shape, uint64_t seed)
{
    int64_t n = 1;
    for (int d = 0; d < shape.rank; d++)
        n *= shape.dim[d];
    double *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)((int64_t)(next(&seed) % 2001) - 1000) / 7;
    wf_array *wide = array_of(ctx, WF_F64, shape, x);
    wf_graph *g = wf_begin(ctx);
    wf_array *r = wf_keep(wf_cast(wf_in(g, wide), t));
    OK(ctx, wf_run(g));
    wf_release(wide);
    free(x);
    return r;
}

typedef struct input {
    wf_dtype dtype;
    int n, first, record; /* parts first .. first + n - 1 of records of so many elements */
    int64_t records;
    uint32_t flags_off;
} input;

enum { RESULTS = 5 };

/* Gathers with borders, scatters under a condition, gathers of strided records, accumulations that meet and that do
 * not. */
static void compute(wf_context *ctx, const input *x, void *result[RESULTS], size_t bytes[RESULTS])
{
    int32_t index[POINTS], unique[POINTS];
    uint8_t on[POINTS];
    uint64_t s = 5;
    for (int i = 0; i < POINTS; i++) {
        index[i] = (int32_t)(next(&s) % (uint64_t)(x->records + 4)) - 2;
        unique[i] = (i * 19) % POINTS;
        on[i] = next(&s) % 3 != 0;
    }
    wf_array *at = array_of(ctx, WF_I32, WF_SHAPE(POINTS), index),
             *to = array_of(ctx, WF_I32, WF_SHAPE(POINTS), unique);
    wf_array *when = array_of(ctx, WF_BOOL, WF_SHAPE(POINTS), on);
    wf_array *source = noise(ctx, x->dtype, WF_SHAPE(x->records, x->record), 1);
    wf_array *own = noise(ctx, x->dtype, WF_SHAPE(POINTS, x->record), 2);
    wf_array *out[RESULTS] = {
        noise(ctx, x->dtype, WF_SHAPE(POINTS, x->record), 3),     noise(ctx, x->dtype, WF_SHAPE(x->record, POINTS), 4),
        noise(ctx, x->dtype, WF_SHAPE(x->records, x->record), 5), noise(ctx, x->dtype, WF_SHAPE(POINTS, x->record), 6),
        noise(ctx, x->dtype, WF_SHAPE(POINTS, x->record), 7),
    };
    wf_join join = x->dtype == WF_BOOL ? WF_JOIN_XOR : WF_JOIN_ADD;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS), .flags_off = x->flags_off);
    wf_val i = wf_in(g, at), j = wf_in(g, to), p = wf_index(g, 0), c = wf_in(g, when), v[32], w[32];
    wf_val inside = wf_min(wf_max(i, 0), (double)(x->records - 1));
    for (int k = 0; k < x->n; k++) {
        v[k] = wf_read_or(g, source, k % 2, i, x->first + k);
        w[k] = wf_read_border(g, source, WF_BORDER_MIRROR, 0, i, x->first + k);
    }
    WF_IF (g, c) {
        for (int k = x->n - 1; k >= 0; k--)
            wf_write(g, out[0], v[k], j, x->first + k);
    }
    WF_END(g);
    for (int k = 0; k < x->n; k++)
        wf_write(g, out[1], wf_read(g, own, p, x->first + k), x->first + k, p);
    for (int k = 0; k < x->n; k++) {
        wf_accumulate_if(g, c, join, out[2], w[k], inside, x->first + k);
        wf_accumulate(g, join, out[3], w[k], p, x->first + k);
        wf_write(g, out[4], w[k], p, x->first + k);
    }
    OK(ctx, wf_run(g));
    for (int k = 0; k < RESULTS; k++) {
        bytes[k] = (size_t)wf_array_count(out[k]) * wf_dtype_size(x->dtype);
        result[k] = contents(out[k]);
        wf_release(out[k]);
    }
    wf_release(at), wf_release(to), wf_release(when), wf_release(source), wf_release(own);
}

static void compare(const input *x)
{
    void *want[RESULTS], *got[RESULTS];
    size_t bytes[RESULTS];
    compute(places[0].ctx, x, want, bytes);
    for (int k = 1; k < place_n; k++) {
        compute(places[k].ctx, x, got, bytes);
        for (int r = 0; r < RESULTS; r++) {
            if (memcmp(want[r], got[r], bytes[r]) != 0)
                fail_msg("%s, %s: %d of %d parts from %d, %lld records: result %d differs", places[k].isa,
                         wf_dtype_name(x->dtype), x->n, x->record, x->first, (long long)x->records, r);
            free(got[r]);
        }
    }
    for (int r = 0; r < RESULTS; r++)
        free(want[r]);
}

static void every_size(void **state)
{
    (void)state;
    static const int sizes[] = { 2, 3, 4, 6, 8, 16, 24 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        compare(&(input){ WF_F32, sizes[s], 0, sizes[s], s % 2 ? 5 : MOST_RECORDS, 0 });
}

static void parts_of_records(void **state)
{
    (void)state;
    compare(&(input){ WF_F32, 3, 0, 4, 40, 0 }); /* neighbours of the records may be read, not written */
    compare(&(input){ WF_F32, 3, 1, 4, 40, 0 });
    compare(&(input){ WF_F32, 5, 2, 9, 3, 0 });
}

static void every_dtype(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_BOOL, WF_U8, WF_I16, WF_F16, WF_BF16, WF_I64, WF_F64, WF_C64 };
    static const int sizes[] = { 3, 4, 5 };
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        compare(&(input){ dtypes[d], sizes[d % 3], (int)d % 2, sizes[d % 3] + 1, d % 2 ? 3 : 90, 0 });
}

static void the_flag(void **state)
{
    (void)state;
    compare(&(input){ WF_F32, 4, 0, 4, 40, WF_FLAG_PACKETS });
    for (int k = 1; k < place_n; k++) { /* with it, there are no gathers of elements */
        char *text[2];
        bool code = true; /* without a code generator there is no code to check */
        for (int off = 0; off < 2; off++) {
            wf_context *ctx = places[k].ctx;
            wf_array *a = noise(ctx, WF_F32, WF_SHAPE(50, 4), 1), *b = wf_full(ctx, WF_I32, WF_SHAPE(POINTS), 3);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS), .flags_off = off ? WF_FLAG_PACKETS : 0);
            wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(POINTS), 0);
            wf_val i = wf_in(g, b), sum = wf_read(g, a, i, 0);
            for (int p = 1; p < 4; p++)
                sum = wf_add(sum, wf_read(g, a, i, p));
            wf_out(g, out, sum);
            wf_kernel *kernel = wf_compile(g);
            size_t n = 0, cap = 1 << 20;
            text[off] = malloc(cap);
            assert_non_null(text[off]);
            wf_status status = wf_kernel_dump(kernel, WF_NO_ARGS, WF_DUMP_LLVM, text[off], cap, &n);
            code = status != WF_ERR_BACKEND;
            EXPECT(ctx, status, code ? WF_OK : WF_ERR_BACKEND);
            wf_kernel_free(kernel);
            wf_release(a), wf_release(b), wf_release(out);
        }
        assert_true(!code || strstr(text[0], "load <4 x float>"));
        assert_true(!code || !strstr(text[0], "masked.gather"));
        assert_true(!code || strstr(text[1], "masked.gather") || !strstr(text[1], "load <4 x float>") ||
                    strcmp(places[k].isa, "sse4.2") == 0 || strcmp(places[k].isa, "neon") == 0);
        free(text[0]), free(text[1]);
    }
}

/* Scatters between which other arrays are read also move whole records. */
static void stores_between_loads(void **state)
{
    (void)state;
    for (int k = 1; k < place_n; k++) {
        wf_context *ctx = places[k].ctx;
        wf_array *from = noise(ctx, WF_F32, WF_SHAPE(4, POINTS), 1), *at = wf_full(ctx, WF_I32, WF_SHAPE(POINTS), 3);
        wf_array *to = wf_full(ctx, WF_F32, WF_SHAPE(50, 4), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
        wf_val i = wf_in(g, at), p = wf_index(g, 0);
        for (int c = 0; c < 4; c++)
            wf_write(g, to, wf_read(g, from, c, p), i, c);
        wf_kernel *kernel = wf_compile(g);
        size_t n = 0, cap = 1 << 20;
        char *text = malloc(cap);
        assert_non_null(text);
        wf_status status = wf_kernel_dump(kernel, WF_NO_ARGS, WF_DUMP_LLVM, text, cap, &n);
        bool code = status != WF_ERR_BACKEND; /* without a code generator there is no code to check */
        EXPECT(ctx, status, code ? WF_OK : WF_ERR_BACKEND);
        assert_true(!code || strstr(text, "store <4 x float>"));
        assert_true(!code || !strstr(text, "masked.scatter"));
        free(text);
        wf_kernel_free(kernel);
        wf_release(from), wf_release(at), wf_release(to);
    }
}

/* Two records of one array, which at some points are the same record: the last write stays, and a read between two
 * writes sees the first of them. */
static void order_is_kept(void **state)
{
    (void)state;
    float *want[2] = { NULL };
    for (int k = 0; k < place_n; k++) {
        wf_context *ctx = places[k].ctx;
        int32_t other[POINTS];
        for (int i = 0; i < POINTS; i++)
            other[i] = i % 2 ? i : i + POINTS; /* odd points: both are the same */
        wf_array *a = noise(ctx, WF_F32, WF_SHAPE(2 * POINTS, 3), 1),
                 *b = noise(ctx, WF_F32, WF_SHAPE(2 * POINTS, 3), 2);
        wf_array *at = array_of(ctx, WF_I32, WF_SHAPE(POINTS), other);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
        wf_val i = wf_index(g, 0), j = wf_in(g, at);
        wf_val x = wf_read(g, a, i, 0), y = wf_read(g, a, i, 1), z = wf_read(g, a, i, 2);
        for (int c = 0; c < 3; c++) { /* by turns */
            wf_write(g, a, wf_add(x, c), i, c);
            wf_write(g, a, wf_mul(y, c), j, c);
        }
        wf_write(g, b, z, j, 0); /* not in the order of the others */
        wf_write(g, b, x, i, 0);
        wf_write(g, b, y, i, 1);
        wf_write(g, b, wf_read(g, b, i, 0), j, 1);
        wf_write(g, b, x, i, 2);
        wf_write(g, b, wf_add(y, 1), j, 2);
        OK(ctx, wf_run(g));
        float *got[2] = { contents(a), contents(b) };
        for (int r = 0; r < 2; r++) {
            if (!k)
                want[r] = got[r];
            else if (memcmp(want[r], got[r], 2 * POINTS * 3 * sizeof(float)) != 0)
                fail_msg("%s: array %d", places[k].isa, r);
            if (k)
                free(got[r]);
        }
        wf_release(a), wf_release(b), wf_release(at);
    }
    free(want[0]), free(want[1]);
}

/* Three accumulations into one array: two parts of records of their own, and a part that one of them has, too. */
static void parts_that_collide(void **state)
{
    (void)state;
    float *want = NULL;
    for (int k = 0; k < place_n; k++) {
        wf_context *ctx = places[k].ctx;
        wf_array *a = noise(ctx, WF_F32, WF_SHAPE(3, 4), 1), *x = noise(ctx, WF_F32, WF_SHAPE(5000), 2);
        wf_array *b = noise(ctx, WF_F32, WF_SHAPE(5000), 3);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(5000));
        wf_val v = wf_in(g, x), i = wf_cast(wf_mod(wf_index(g, 0), 3), WF_I32), j = wf_cast(wf_in(g, b), WF_I32);
        j = wf_mod(wf_mul(j, j), 3);
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, a, v, j, 0);
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, a, wf_mul(v, v), j, 1);
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, a, wf_neg(v), j, 3);
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, a, wf_mul(v, 3), i, 1);
        OK(ctx, wf_run(g));
        float *got = contents(a);
        if (!k)
            want = got;
        else if (memcmp(want, got, 12 * sizeof *got) != 0)
            fail_msg("%s", places[k].isa);
        if (k)
            free(got);
        wf_release(a), wf_release(x), wf_release(b);
    }
    free(want);
}

/* Rows of a tile as parts of records: permuted reads and writes of every dtype, with incomplete rows and lanes, and
 * in tiles of 7 rows (of 21), whose last pieces must not reach beyond them. With less work there are no such tiles. */
static void transposed_rows(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = {
        WF_BOOL, WF_U8, WF_I16, WF_F16, WF_BF16, WF_U32, WF_F32, WF_F64, WF_I64, WF_C64
    };
    static const int order[][3] = { { 0, 2, 1 }, { 1, 0, 2 }, { 2, 1, 0 }, { 2, 0, 1 }, { 1, 2, 0 } };
    static const wf_shape shapes[] = { WF_SHAPE(2, 1600, 21), WF_SHAPE(3, 170, 305), WF_SHAPE(130, 2, 500),
                                       WF_SHAPE(1, 217, 600) };
    for (unsigned t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (unsigned c = t % 3; c < 20; c += 3 * TEST_EVERY) {
            void *want[2] = { NULL, NULL };
            for (int k = 0; k < place_n; k++) {
                wf_context *ctx = places[k].ctx;
                wf_array *x = noise(ctx, dtypes[t], shapes[c % 4], c), *view = wf_view_permute(x, order[c / 4]);
                wf_array *y = noise(ctx, dtypes[t], wf_array_shape(view), 50 + c), *out[2] = { wf_like(y), wf_like(x) };
                wf_array *crossed = wf_view_permute(out[1], order[c / 4]);
                wf_graph *g = wf_begin(ctx);
                wf_val a = wf_in(g, view), b = wf_in(g, y);
                wf_out(g, out[0], wf_select(wf_ne(a, b), a, b));
                wf_out(g, crossed, dtypes[t] == WF_BOOL ? wf_xor(a, b) : wf_sub(a, b));
                OK(ctx, wf_run(g));
                for (int i = 0; i < 2; i++) {
                    void *got = contents(out[i]);
                    size_t bytes = (size_t)wf_array_count(x) * wf_dtype_size(dtypes[t]);
                    if (k && memcmp(want[i], got, bytes) != 0)
                        fail_msg("%s, %s, case %u: result %d differs", places[k].isa, wf_dtype_name(dtypes[t]), c, i);
                    if (k)
                        free(got);
                    else
                        want[i] = got;
                    wf_release(out[i]);
                }
                wf_release(x), wf_release(view), wf_release(y), wf_release(crossed);
            }
            free(want[0]), free(want[1]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),         cmocka_unit_test(parts_of_records),     cmocka_unit_test(every_dtype),
        cmocka_unit_test(the_flag),           cmocka_unit_test(stores_between_loads), cmocka_unit_test(order_is_kept),
        cmocka_unit_test(parts_that_collide), cmocka_unit_test(transposed_rows),
    };
    return cmocka_run_group_tests_name("packets", tests, begin, end);
}
