/* test_prefetch.c - arrays larger than the caches, accessed through index arrays. Generated code prefetches their
 * elements, which must change no result. Loops of plain C compute the expected integers.
 *
 * ctest: baseline
 */
#include "on_devices.h"

enum { N = 5003, TABLE = 3 << 20 }; /* points; elements of 4 bytes, 12 MiB */

static uint32_t state_of(uint32_t *x) { return *x = *x * 1664525u + 1013904223u; }

typedef struct places {
    int32_t at[N], value[N];
    uint8_t on[N];
    wf_array *index, *values, *flags;
} places;

/* kind 0: random places; 1: one after the other; 2: backwards. */
static places *places_new(int kind, int32_t n)
{
    places *p = calloc(1, sizeof *p);
    uint32_t x = 12345 + (uint32_t)kind;
    assert_non_null(p);
    for (int i = 0; i < N; ++i) {
        p->at[i] = kind == 0 ? (int32_t)(state_of(&x) % (uint32_t)n) : kind == 1 ? i : n - 1 - i;
        p->value[i] = (int32_t)(state_of(&x) >> 8);
        p->on[i] = (uint8_t)(state_of(&x) >> 31);
    }
    p->index = array_of(ctx, WF_I32, WF_SHAPE(N), p->at);
    p->values = array_of(ctx, WF_I32, WF_SHAPE(N), p->value);
    p->flags = array_of(ctx, WF_BOOL, WF_SHAPE(N), p->on);
    return p;
}

static void places_free(places *p)
{
    wf_release(p->index);
    wf_release(p->values);
    wf_release(p->flags);
    free(p);
}

/* Element e of the table at the beginning. */
static int32_t before(int64_t e) { return (int32_t)(e * 7 + 3); }

static wf_array *table_new(wf_shape shape)
{
    int32_t *data = malloc(TABLE * sizeof *data);
    for (int64_t e = 0; e < TABLE; ++e)
        data[e] = before(e);
    wf_array *a = array_of(ctx, WF_I32, shape, data);
    free(data);
    return a;
}

static void expect_table(wf_array *table, const int32_t *want)
{
    int32_t *got = contents(table);
    assert_memory_equal(got, want, TABLE * sizeof *got);
    free(got);
}

static int32_t *table_copy(void)
{
    int32_t *want = malloc(TABLE * sizeof *want);
    for (int64_t e = 0; e < TABLE; ++e)
        want[e] = before(e);
    return want;
}

/* Records of so many elements: read, with neighbours, where a flag is set, and through computed indices. */
static void test_reads(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 2, 3, 4, 16, 24 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        for (int kind = 0; kind < 3; ++kind) {
            const int size = sizes[s];
            const int32_t rows = TABLE / size - 8;
            wf_array *flat = table_new(WF_SHAPE(TABLE)), *part = wf_view_slice(flat, 0, 0, (int64_t)rows * size, 1);
            wf_array *table = wf_view_reshape(part, WF_SHAPE(rows, size));
            places *p = places_new(kind, rows - 2);
            wf_array *out = wf_full(ctx, WF_I32, WF_SHAPE(4, N), 0);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
            wf_val i = wf_in(g, p->index), here = wf_index(g, 0), sum = wf_const(g, WF_I32, 0);
            for (int k = 0; k < size; ++k)
                sum = wf_add(sum, wf_mul(wf_read(g, table, i, k), k + 1));
            wf_write(g, out, sum, 0, here);
            wf_write(g, out, wf_sub(wf_read(g, table, wf_add(i, 1), 0), wf_read(g, table, i, 0)), 1, here);
            wf_val turned = wf_mod(wf_add(wf_mul(wf_cast(i, WF_I64), 3), 5), rows);
            wf_write(g, out, wf_read(g, table, turned, size - 1), 2, here);
            wf_write_if(g, wf_in(g, p->flags), out, wf_read(g, flat, wf_mul(wf_cast(i, WF_I64), size)), 3, here);
            OK(ctx, wf_run(g));
            int32_t *got = contents(out);
            for (int64_t q = 0; q < N; ++q) {
                int64_t row = p->at[q];
                int32_t want = 0;
                for (int k = 0; k < size; ++k)
                    want = (int32_t)((uint32_t)want + (uint32_t)before(row * size + k) * (uint32_t)(k + 1));
                assert_int_equal(got[q], want);
                assert_int_equal(got[N + q], 7 * size);
                assert_int_equal(got[2 * N + q], before((row * 3 + 5) % rows * size + size - 1));
                assert_int_equal(got[3 * N + q], p->on[q] ? before(row * size) : 0);
            }
            free(got);
            places_free(p);
            wf_release(out);
            wf_release(table);
            wf_release(part);
            wf_release(flat);
        }
}

/* Two axes of points, with rows of the space shorter and longer than a step; the index into the table depends on the
 * row. */
static void test_two_axes(void **state)
{
    (void)state;
    static const int64_t widths[] = { 3, 40, 700 };
    for (size_t s = 0; s < sizeof widths / sizeof *widths; ++s) {
        const int64_t w = widths[s], h = 7, rows = TABLE / 1024;
        wf_array *table = table_new(WF_SHAPE(rows, 1024));
        places *p = places_new(0, 1024);
        wf_array *index = wf_view_slice(p->index, 0, 0, w, 1), *out = wf_empty(ctx, WF_I32, WF_SHAPE(h, w));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(h, w));
        wf_val i = wf_in(g, index), y = wf_index(g, 0);
        wf_out(g, out,
               wf_add(wf_read(g, table, wf_mul(y, 100), i), wf_read(g, table, wf_cast(i, WF_I64), wf_add(y, 5))));
        OK(ctx, wf_run(g));
        int32_t *got = contents(out);
        for (int64_t q = 0; q < h * w; ++q) {
            int64_t k = p->at[q % w], row = q / w;
            assert_int_equal(got[q], before(row * 100 * 1024 + k) + before(k * 1024 + row + 5));
        }
        free(got);
        places_free(p);
        wf_release(index);
        wf_release(out);
        wf_release(table);
    }
}

static void test_writes(void **state)
{
    (void)state;
    for (int size = 1; size <= 4; ++size) {
        const int32_t rows = TABLE / size;
        wf_array *table = table_new(WF_SHAPE(TABLE)), *part = wf_view_slice(table, 0, 0, (int64_t)rows * size, 1);
        wf_array *records = wf_view_reshape(part, WF_SHAPE(rows, size));
        places *p = places_new(1, rows);
        int32_t *want = table_copy();
        for (int i = 0; i < N; ++i)
            p->at[i] = (int32_t)((int64_t)i * 40503 % rows); /* no two alike */
        OK(ctx, wf_upload(p->index, p->at, sizeof p->at));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_in(g, p->index);
        for (int k = 0; k < size; ++k)
            wf_write(g, records, wf_add(wf_in(g, p->values), k), i, k);
        OK(ctx, wf_run(g));
        for (int64_t q = 0; q < N; ++q)
            for (int k = 0; k < size; ++k)
                want[(int64_t)p->at[q] * size + k] = p->value[q] + k;
        expect_table(table, want);
        g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_write_if(g, wf_in(g, p->flags), records, -5, wf_in(g, p->index), size - 1);
        OK(ctx, wf_run(g));
        for (int64_t q = 0; q < N; ++q)
            if (p->on[q])
                want[(int64_t)p->at[q] * size + size - 1] = -5;
        expect_table(table, want);
        free(want);
        places_free(p);
        wf_release(records);
        wf_release(part);
        wf_release(table);
    }
}

/* Sums, by one thread and by several, in the mode that the planner takes and in others. */
static void test_sums(void **state)
{
    (void)state;
    static const wf_mode modes[] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_EXPAND, WF_MODE_LOCAL };
    for (int size = 1; size <= 4; size += 3)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m)
            for (int threads = 1; threads <= 2; ++threads) {
                const int32_t rows = TABLE / size;
                wf_array *table = table_new(WF_SHAPE(rows, size));
                places *p = places_new(0, rows);
                int32_t *want = table_copy();
                wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .threads = threads, .serial_below = 1);
                for (int k = 0; k < size; ++k)
                    wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], table, wf_add(wf_in(g, p->values), k),
                                       wf_in(g, p->index), k);
                OK(ctx, wf_run(g));
                for (int64_t q = 0; q < N; ++q)
                    for (int k = 0; k < size; ++k) {
                        int32_t *e = &want[(int64_t)p->at[q] * size + k];
                        *e = (int32_t)((uint32_t)*e + (uint32_t)p->value[q] + (uint32_t)k);
                    }
                expect_table(table, want);
                free(want);
                places_free(p);
                wf_release(table);
            }
}

/* True if the code of the kernel has prefetches. *known: whether there is code to check. */
static bool asks(wf_kernel *k, bool *known)
{
    enum { CAP = 1 << 22 };
    char *text = malloc(CAP);
    size_t n = 0;
    assert_non_null(text);
    *known = wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_LLVM, text, CAP, &n) == WF_OK;
    if (!*known)
        wf_clear_error(ctx);
    else
        assert_true(n < CAP);
    bool found = *known && strstr(text, "llvm.prefetch") != NULL;
    free(text);
    return found;
}

/* Long rows beside sums into memory that fits the caches: the rows are prefetched, up to their ends and beyond. */
static void test_rows_beside(void **state)
{
    (void)state;
    enum { LONG = (3 << 20) + 77 };
    static const int64_t bins[] = { 10, 3000, 100000 };
    int32_t *at = malloc(LONG * sizeof *at);
    uint8_t *value = malloc(LONG);
    assert_non_null(at);
    assert_non_null(value);
    for (size_t s = 0; s < sizeof bins / sizeof *bins; ++s) {
        uint32_t x = 99;
        int64_t *want = calloc((size_t)bins[s], sizeof *want);
        for (int64_t q = 0; q < LONG; ++q) {
            at[q] = (int32_t)((state_of(&x) >> 8) % (uint32_t)bins[s]);
            value[q] = (uint8_t)(state_of(&x) >> 24);
        }
        for (int64_t q = 0; q < LONG; ++q)
            want[at[q]] += value[q] + 3 * value[LONG - 1 - q];
        wf_array *index = array_of(ctx, WF_I32, WF_SHAPE(LONG), at),
                 *values = array_of(ctx, WF_U8, WF_SHAPE(LONG), value);
        wf_array *back = wf_view_slice(values, 0, LONG - 1, WF_END_INDEX, -1),
                 *sums = wf_full(ctx, WF_I64, WF_SHAPE(bins[s]), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(LONG));
        wf_val one = wf_cast(wf_in(g, values), WF_I64), three = wf_mul(wf_cast(wf_in(g, back), WF_I64), 3);
        wf_accumulate(g, WF_JOIN_ADD, sums, wf_add(one, three), wf_in(g, index));
        wf_kernel *k = wf_compile(g);
        assert_non_null(k);
        OK(ctx, wf_launch(k, WF_NO_ARGS));
        int64_t *got = contents(sums);
        assert_memory_equal(got, want, (size_t)bins[s] * sizeof *want);
        bool known, asked = asks(k, &known);
        if (known)
            assert_int_equal(asked, bins[s] > 10);
        free(got);
        free(want);
        wf_kernel_free(k);
        wf_release(index);
        wf_release(values);
        wf_release(back);
        wf_release(sums);
    }
    free(at);
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reads), cmocka_unit_test(test_two_axes),
                                        cmocka_unit_test(test_writes), cmocka_unit_test(test_sums),
                                        cmocka_unit_test(test_rows_beside) };
    return RUN_ON_CPU(tests);
}
