/* test_records.c - records on every device beside loops in C: read at indices of which some lie outside, written and
 * summed at indices of which some collide, of all sizes and dtypes, aligned and not; reads between writes; wide
 * accesses on GPUs.
 *
 * ctest: devices baseline sm_70 sm_100
 */
#include "launch/launch.h"
#include "accumulate.h"

enum { POINTS = 300, RECORDS = 64, MOST = 24 };

typedef struct layout {
    int size, first; /* elements of a record, and the first of them in rows of `pitch` */
    int pitch;
} layout;

static int64_t place_of(int64_t p) { return p * 37 % RECORDS; }
static int64_t shaky_place_of(int64_t p) { return p * 31 % (RECORDS + 6) - 3; }

/* [rows][size] of that dtype, in rows of `pitch`, with whole numbers that f16 and u8 hold; bool: 0 and 1. */
static wf_array *records(wf_dtype t, int64_t rows, const layout *l, int seed, wf_array **base)
{
    int64_t *x = malloc((size_t)(rows * l->pitch) * sizeof *x);
    for (int64_t i = 0; i < rows * l->pitch; ++i)
        x[i] = t == WF_BOOL ? (i * 7 + seed) % 3 == 0 : (i * 7 + seed) % 19;
    *base = converted(array_of(ctx, WF_I64, WF_SHAPE(rows, l->pitch), x), t);
    free(x);
    return wf_view_slice(*base, 1, l->first, l->first + l->size, 1);
}

static int64_t *whole(const wf_array *a)
{
    wf_array *wide = as((wf_array *)(uintptr_t)a, WF_I64);
    int64_t *r = contents(wide);
    wf_release(wide);
    return r;
}

static void check_gather(wf_dtype t, const layout *l)
{
    wf_array *base, *table = records(t, RECORDS, l, 3, &base), *out = wf_full(ctx, t, WF_SHAPE(l->size, POINTS), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val p = wf_index(g, 0), at = wf_sub(wf_mod(wf_mul(p, 31), RECORDS + 6), 3);
    for (int k = l->size - 1; k >= 0; --k)
        wf_write(g, out, wf_read_or(g, table, k % 2, at, k), k, p);
    OK(ctx, wf_run(g));
    int64_t *from = whole(table), *got = whole(out);
    for (int k = 0; k < l->size; ++k)
        for (int64_t i = 0; i < POINTS; ++i) {
            int64_t r = shaky_place_of(i), want = r >= 0 && r < RECORDS ? from[r * l->size + k] : k % 2;
            if (got[k * POINTS + i] != want)
                fail_msg("%s, %d of %d from %d: part %d of point %d is %d, not %d", wf_dtype_name(t), l->size, l->pitch,
                         l->first, k, (int)i, (int)got[k * POINTS + i], (int)want);
        }
    free(from), free(got);
    wf_release(table), wf_release(base), wf_release(out);
}

/* Every record by the last of its points; under a condition, too. */
static void check_scatter(wf_dtype t, const layout *l, bool masked)
{
    layout packed = { l->size, 0, l->size };
    wf_array *base, *target = records(t, RECORDS, l, 5, &base), *own, *from = records(t, RECORDS, &packed, 9, &own);
    int64_t *want = whole(target), *value = whole(from);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(RECORDS));
    wf_val p = wf_index(g, 0), at = wf_mod(wf_mul(p, 37), RECORDS), on = wf_ne(wf_mod(p, 3), 0);
    for (int k = 0; k < l->size; ++k) {
        wf_val x = wf_read(g, from, p, k);
        if (masked)
            wf_write_if(g, on, target, x, at, k);
        else
            wf_write(g, target, x, at, k);
    }
    OK(ctx, wf_run(g));
    for (int64_t i = 0; i < RECORDS; ++i)
        for (int k = 0; k < l->size && (!masked || i % 3); ++k)
            want[place_of(i) * l->size + k] = value[i * l->size + k];
    int64_t *got = whole(target);
    assert_memory_equal(got, want, (size_t)(RECORDS * l->size) * sizeof *want);
    free(got), free(want), free(value);
    wf_release(target), wf_release(base), wf_release(own), wf_release(from);
}

static void check_sum(wf_dtype t, const layout *l, wf_mode mode)
{
    wf_array *base, *target = records(t, RECORDS, l, 1, &base);
    int64_t *want = whole(target);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val p = wf_index(g, 0), at = wf_mod(wf_mul(p, 37), RECORDS);
    for (int k = 0; k < l->size; ++k)
        wf_accumulate_if_mode(g, wf_ne(wf_mod(p, 5), 0), WF_JOIN_ADD, mode, target, wf_mod(wf_add(p, k), 4), at, k);
    OK(ctx, wf_run(g));
    for (int64_t i = 0; i < POINTS; ++i)
        for (int k = 0; k < l->size && i % 5; ++k)
            want[place_of(i) * l->size + k] += (i + k) % 4;
    int64_t *got = whole(target);
    assert_memory_equal(got, want, (size_t)(RECORDS * l->size) * sizeof *want);
    free(got), free(want);
    wf_release(target), wf_release(base);
}

static void check(wf_dtype t, const layout *l)
{
    check_gather(t, l);
    check_scatter(t, l, false);
    check_scatter(t, l, true);
    if (t != WF_BOOL) {
        check_sum(t, l, WF_MODE_DIRECT);
        check_sum(t, l, WF_MODE_AUTO);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const int sizes[] = { 2, 3, 4, 5, 7, 8, 16, MOST };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        check(WF_F32, &(layout){ sizes[i], 0, sizes[i] });
        check(WF_F32, &(layout){ sizes[i], 0, sizes[i] + 1 });           /* records that are not aligned */
        check(WF_F32, &(layout){ sizes[i], 1, (sizes[i] + 8) / 8 * 8 }); /* nor is their array */
    }
}

static void test_dtypes_of_records(void **state)
{
    (void)state;
    for (int t = 0; t < TEST_DTYPES; t += TEST_EVERY) {
        check(test_dtypes[t], &(layout){ 4, 0, 4 });
        check(test_dtypes[t], &(layout){ 6, 2, 8 });
        check(test_dtypes[t], &(layout){ 8, 0, 8 });
    }
}

/* A read of a part between the writes of the parts of its record sees the new part if it was written, else the old
 * one. */
static void test_order(void **state)
{
    (void)state;
    enum { SIZE = 4 };
    wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(RECORDS, SIZE), 1),
             *out = wf_full(ctx, WF_I32, WF_SHAPE(3, RECORDS), 0);
    int64_t place[RECORDS]; /* the same index, which planning cannot know */
    for (int i = 0; i < RECORDS; ++i)
        place[i] = place_of(i);
    wf_array *places = array_of(ctx, WF_I64, WF_SHAPE(RECORDS), place);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(RECORDS));
    wf_val p = wf_index(g, 0), at = wf_mod(wf_mul(p, 37), RECORDS), same = wf_in(g, places);
    wf_val before = wf_read(g, a, same, 3);
    wf_write(g, a, 10, at, 0);
    wf_write(g, a, 11, at, 1);
    wf_val between = wf_read(g, a, same, 1), still = wf_read(g, a, same, 2);
    wf_write(g, a, 12, at, 2);
    wf_write(g, a, wf_add(still, 20), at, 3);
    wf_write(g, out, before, 0, p);
    wf_write(g, out, between, 1, p);
    wf_write(g, out, still, 2, p);
    OK(ctx, wf_run(g));
    int32_t *got = contents(out), *now = contents(a);
    for (int i = 0; i < RECORDS; ++i) {
        const int32_t want[SIZE] = { 10, 11, 12, 21 };
        assert_memory_equal(now + i * SIZE, want, sizeof want);
        assert_int_equal(got[i], 1);
        assert_int_equal(got[RECORDS + i], 11);
        assert_int_equal(got[2 * RECORDS + i], 1);
    }
    free(got), free(now);
    wf_release(a), wf_release(out), wf_release(places);
}

/* The PTX of a gather, a scatter or a sum of records of `size` f32. */
static char *ptx_of(int work, int size, int arch, uint32_t off)
{
    enum { CAP = 1 << 20 };
    wf_array *table = wf_full(ctx, WF_F32, WF_SHAPE(RECORDS, size), 1),
             *one = wf_full(ctx, WF_F32, WF_SHAPE(POINTS), 0);
    wf_array *at = wf_full(ctx, WF_I32, WF_SHAPE(POINTS), 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS), .flags_off = off);
    wf_val i = wf_in(g, at), p = wf_index(g, 0), x = wf_in(g, one), sum = x;
    for (int k = 0; k < size; ++k)
        if (work == 0)
            sum = wf_add(sum, wf_read(g, table, i, k));
        else if (work == 1)
            wf_write(g, table, wf_add(x, k), i, k);
        else
            wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_DIRECT, table, wf_add(x, k), i, k);
    wf_write(g, one, sum, p);
    wf_kernel *kernel = wf_compile(g);
    char *text = calloc(1, CAP);
    assert_non_null(kernel);
    assert_non_null(text);
    OK(ctx, wf_kernel_dump(kernel, WF_NO_ARGS, WF_DUMP_PTX_FOR(arch), text, CAP, NULL));
    wf_kernel_free(kernel);
    wf_release(table), wf_release(one), wf_release(at);
    return text;
}

static void expect_ptx(int work, int size, int arch, uint32_t off, const char *part, bool there)
{
    char *text = ptx_of(work, size, arch, off);
    if ((strstr(text, part) != NULL) != there)
        fail_msg("%s is %s the PTX for %d of work %d, %d elements", part, there ? "not in" : "in", arch, work, size);
    free(text);
}

static void test_wide_accesses(void **state)
{
    (void)state;
    if (!is_on_gpu())
        skip();
    for (int work = 0; work < 2; ++work) {
        const char *two = work ? "st.global.v2.b32" : "ld.global.nc.v2.b32";
        const char *four = work ? "st.global.v4.b32" : "ld.global.nc.v4.b32";
        const char *eight = work ? "st.global.v8.b32" : "ld.global.nc.v8.b32";
        expect_ptx(work, 2, 70, 0, two, true);
        expect_ptx(work, 4, 70, 0, four, true);
        expect_ptx(work, 6, 70, 0, four, true);
        expect_ptx(work, 6, 70, 0, two, true);
        expect_ptx(work, 8, 90, 0, four, true);
        expect_ptx(work, 8, 90, 0, eight, false);
        expect_ptx(work, 8, 100, 0, eight, true);
        expect_ptx(work, 3, 80, 0, four, false);
        expect_ptx(work, 8, 100, WF_FLAG_PACKETS, eight, false);
        expect_ptx(work, 2, 80, WF_FLAG_PACKETS, two, false);
    }
    expect_ptx(2, 4, 90, 0, "red.global.add.v4.f32", true);
    expect_ptx(2, 2, 90, 0, "red.global.add.v2.f32", true);
    expect_ptx(2, 4, 80, 0, "red.global.add.v4.f32", false);
}

/* Code that moves records of one size is not run for another size: the same two elements of longer records. */
static void test_code_of_each_size(void **state)
{
    (void)state;
    if (is_on_gpu() || !wf__engine_llvm_major(ctx->engine, true))
        skip();
    wf_set_flags(ctx, WF_FLAG_NO_DISK_CACHE, 0);
    uint32_t compiled[9] = { 0 };
    for (int size = 2; size < 9; ++size) {
        wf_array *base, *from = records(WF_F32, RECORDS, &(layout){ size, 0, size }, 3, &base);
        wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(2, RECORDS), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(RECORDS), .device = WF_CPU);
        wf_val p = wf_index(g, 0);
        for (int k = 0; k < 2; ++k)
            wf_write(g, out, wf_read(g, from, wf_mod(wf_mul(p, 37), RECORDS), k), k, p);
        uint64_t before = wf__engine_count(ctx->engine).compiled;
        OK(ctx, wf_run(g));
        compiled[size] = (uint32_t)(wf__engine_count(ctx->engine).compiled - before);
        wf_release(from), wf_release(base), wf_release(out);
    }
    for (int size = 2; size < 9; ++size)
        assert_int_equal(compiled[size], size <= 4); /* from 4 on, records of 4 elements are moved */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_dtypes_of_records),
                                        cmocka_unit_test(test_order), cmocka_unit_test(test_wide_accesses),
                                        cmocka_unit_test(test_code_of_each_size) };
    return RUN_ON_ALL(tests);
}
