/* test_distributed_memory_fails.c - functions of the library on distributed arrays, where one allocation after the other fails on
 * one rank: all ranks go on with right results, or the group ends. Only debug builds can make allocations fail.
 *
 * ctest: threads no_kernels first_tier
 */
#include "distributed_world.h"
#include "weft/fft.h"
#include "weft/functions.h"
#include "weft/linalg.h"
#include "weft/signal.h"
#include "weft/xform.h"
#include "weft_test.h"

#ifdef WEFT_DEBUG_CHECKS
/* ---- functions ---- */
static wf_array *fft_of(const wf_array *x) { return wf_fft_r2c(x, WF_AXES(0, 1), WF_FFT_BACKWARD); }
static wf_array *cosine_of(const wf_array *x) { return wf_dct(x, 2, WF_AXES(0, 1), false, WF_FFT_BACKWARD); }
static wf_array *spline_of(const wf_array *x) { return wf_spline_filter(x, WF_ALL_AXES, WF_BORDER_MIRROR, 0); }
static wf_array *sort_of(const wf_array *x) { return wf_array_sort(x, 0, false); }
/* Of the elements as a line that the ranks divide. */
static wf_array *line_order_of(const wf_array *x)
{
    wf_array *line = wf_array_reshape(x, WF_SHAPE(-1)), *order = line ? wf_array_argsort(line, 0, true) : NULL;
    wf_release(line);
    return order;
}

static wf_array *places_of(const wf_array *x) { return wf_array_where(x); }
static wf_array *median_of(const wf_array *x) { return wf_array_median(x, WF_AXES(0)); }
static wf_array *middle_of(const wf_array *x) { return wf_array_median(x, WF_ALL_AXES); }
static wf_array *bin_of(const wf_array *x) { return wf_bin(x, 2, WF_ALL_AXES); }
static wf_array *part_of(const wf_array *x)
{
    return wf_array_extract(x, WF_SHAPE(3, 4), (int64_t[]){ 2, 1 }, WF_BORDER_NONE, 0);
}
static wf_array *argmax_of(const wf_array *x) { return wf_array_argmax(x, WF_AXES(0)); }
static wf_array *gaussian_of(const wf_array *x)
{
    return wf_gaussian_filter(x, &(double){ 1 }, WF_AXES(0), WF_BORDER_MIRROR, 0);
}

/* Sums in an array of more than 1 MiB, whose values ranks send, with the numbers of their points. */
static wf_array *sums_of(const wf_array *x)
{
    const int64_t after[] = { 714, 392 };
    wf_array *sums = wf_array_resize(x, NULL, after, WF_BORDER_VALUE, 2);
    if (!sums)
        return NULL;
    wf_graph *g = wf_begin(wf_array_context(x), .shape = WF_SHAPE(8, 6));
    wf_val i = wf_index(g, 0), k = wf_index(g, 1), at = wf_add(wf_mul(i, 6), k);
    wf_accumulate(g, WF_JOIN_ADD, sums, wf_read(g, x, k, i), wf_mod(wf_mul(at, 311), 720), wf_mod(at, 3));
    wf_accumulate(g, WF_JOIN_ADD, sums, 0.1, wf_mul(wf_mod(at, 2), 700), 5);
    if (wf_run(g) == WF_OK)
        return sums;
    wf_release(sums);
    return NULL;
}

/* Most of it is computed while elements of other ranks are on their way. */
static wf_array *step_of(const wf_array *x)
{
    const int64_t after[] = { 714, 232 };
    wf_array *wide = wf_array_resize(x, NULL, after, WF_BORDER_VALUE, 2), *kept = NULL;
    if (!wide)
        return NULL;
    wf_graph *g = wf_begin_with(wf_array_context(x), NULL);
    wf_val v = wf_in(g, wide);
    for (int k = 0; k < 2; ++k)
        v = wf_log(wf_add(wf_exp(v), 0.5));
    kept = (wf_keep)(wf_add(
        v, wf_concat(0, wf_slice(wf_in(g, wide), 0, 1, 720, 1), wf_slice(wf_in(g, wide), 0, 719, 720, 1))));
    wf_array *out = NULL;
    if (wf_run(g) == WF_OK)
        out = wf_retain(kept);
    wf_release(kept);
    wf_release(wide);
    return out;
}

/* By Fourier transforms: the array is large, as is the kernel. */
static wf_array *convolution_of(const wf_array *x)
{
    const int64_t after[] = { 58, 56 };
    wf_array *kernel = wf_full(wf_array_context(x), WF_F32, WF_SHAPE(65, 65), 1);
    if (!kernel && wf_array_ranks(x)) /* as a program does that cannot go on */
        wf_ranks_abort(wf_array_ranks(x), EXIT_FAILURE, "out of memory");
    wf_array *wide = kernel ? wf_array_resize(x, NULL, after, WF_BORDER_VALUE, 2) : NULL;
    wf_array *out = wide ? wf_convolve(wide, kernel, WF_ALL_AXES, WF_BORDER_VALUE, 0) : NULL;
    wf_release(wide);
    wf_release(kernel);
    return out;
}

static wf_array *column_sums_of(const wf_array *x) { return wf_array_sum(x, WF_AXES(1) | WF_DROP_AXES); }

/* A slice, with another shape, of an array that a slice of another one was written to. */
static wf_array *slice_of(const wf_array *x)
{
    const wf_axis_slice turned[] = { { 1, 1, 1 }, { 7, -2, 0 } }, to[] = { { 1, 1, 0 }, { 0, 1, 1 } };
    wf_array *y = wf_array_copy(x), *part = y ? wf_array_slice(x, WF_SHAPE(4, 5), turned) : NULL;
    const bool ok = part && wf_array_assign_slice(y, WF_SHAPE(4, 5), to, part) == WF_OK;
    wf_array *out = ok ? wf_array_reshape(y, WF_SHAPE(16, 3)) : NULL;
    wf_release(y);
    wf_release(part);
    return out;
}

/* Values for the elements where a mask holds. */
static wf_array *assigned_of(const wf_array *x)
{
    wf_array *y = wf_array_copy(x), *few = y ? wf_array_compress(x, x) : NULL;
    const bool ok = few && wf_array_assign_where(y, x, few) == WF_OK;
    wf_release(few);
    if (ok)
        return y;
    wf_release(y);
    return NULL;
}

/* Of an array that is cut as the product is, and one of which each rank needs all rows. */
static wf_array *product_of(const wf_array *x)
{
    wf_array *square = wf_array_extract(x, WF_SHAPE(6, 6), (int64_t[]){ 0, 1 }, WF_BORDER_NONE, 0);
    wf_array *out = square ? wf_array_matmul(square, x) : NULL;
    wf_release(square);
    return out;
}

/* Of small matrices, in blocks of them. */
static wf_array *eigenvectors_of(const wf_array *x)
{
    wf_array *small = wf_array_reshape(x, WF_SHAPE(12, 2, 2)), *values = NULL, *vectors = NULL;
    if (small)
        wf_eigh(small, &values, &vectors);
    wf_release(small);
    wf_release(values);
    return vectors;
}

/* Of one matrix, whose rows ranks divide: by LAPACK. */
static wf_array *orthonormal_of(const wf_array *x)
{
    wf_array *q = NULL, *r = NULL;
    wf_qr(x, false, &q, &r);
    wf_release(r);
    return q;
}

/* A number that all ranks have. */
static wf_array *determinant_of(const wf_array *x)
{
    wf_array *square = wf_array_extract(x, WF_SHAPE(6, 6), (int64_t[]){ 0, 1 }, WF_BORDER_NONE, 0);
    wf_array *sign = NULL, *log_of = NULL;
    if (square)
        wf_slogdet(square, &sign, &log_of);
    wf_release(square);
    wf_release(sign);
    return log_of;
}

static bool has_lapack(const wf_array *x)
{
    wf_context *ctx = wf_array_context(x);
    wf_array *q = orthonormal_of(x);
    const bool found = q || wf_last_status(ctx) != WF_ERR_UNSUPPORTED;
    wf_release(q);
    wf_clear_error(ctx);
    return found;
}

static wf_array *whitened_of(const wf_array *x)
{
    wf_array *z = fft_of(x);
    const wf_spectrum s = { .layout = WF_LAYOUT_H, .rank = 2, .size = { 6, 8 } };
    if (z && wf_spectrum_whiten(z, z, &s) == WF_OK)
        return z;
    wf_release(z);
    return NULL;
}

/* ---- failures ---- */
typedef struct failing {
    wf_array *(*of)(const wf_array *x);
    bool together; /* ranks fail together */
    int rank;      /* whose memory fails */
    long after;    /* allocation */
    bool happened;
    wf_status status[3]; /* of the function in which it fails */
    char text[3][1200];
    void *want; /* result of one process */
    size_t bytes;
} failing;

static wf_array *alone(wf_context *ctx)
{
    wf_array *x = wf_empty(ctx, WF_F32, WF_SHAPE(6, 8));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6, 8));
    wf_out(g, x, wf_cast(wf_mod(wf_add(wf_mul(wf_index(g, 0), 37), wf_mul(wf_index(g, 1), 23)), 41), WF_F32));
    wf_run(g);
    return x;
}

static bool failure_happened(void)
{
    for (int i = 0; i < 100000; ++i)
        if (wf__alloc_fails())
            return false;
    return true;
}

static wf_status run_with_failure(wf_ranks *ranks, void *user)
{
    failing *f = user;
    const int me = wf_ranks_rank(ranks);
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(6, 8), 3, &(wf_dist_options){ .size = sizeof(wf_dist_options), .grid = { 3, 1 } }, &dist);
    wf_array *from = alone(ctx), *x = wf_empty_distributed(ctx, WF_F32, ranks, &dist), *all = NULL;
    wf_array_assign(x, from);
    if (me == f->rank)
        wf__alloc_fail_after(f->after);
    wf_array *y = f->of(x);
    if (me == f->rank) {
        f->happened = failure_happened();
        wf__alloc_fail_after(-1);
    }
    f->status[me] = y ? WF_OK : wf_last_status(ctx);
    snprintf(f->text[me], sizeof f->text[me], "%s", wf_last_message(ctx));
    wf_status status = f->status[me];
    if (status != WF_ERR_BACKEND) { /* the next one is right */
        wf_clear_error(ctx);
        wf_release(y);
        y = f->of(x);
        all = y && wf_array_dist(y) ? wf_array_collect(y) : wf_retain(y);
        void *data = NULL;
        status = all && wf_map(all, &data, NULL) == WF_OK ? memcmp(data, f->want, f->bytes) ? WF_ERR_CONTRACT : WF_OK
                                                          : wf_last_status(ctx);
    }
    wf_release(from);
    wf_release(x);
    wf_release(y);
    wf_release(all);
    wf_context_free(ctx);
    return status;
}

/* Fails one allocation after the other, on each rank. Either all ranks go on, or the group ends. With the address sanitizer
 * the ranks share the allocations of short steps. */
static void fail_each(failing *f, const char *name, long step, long part)
{
    const bool share = TEST_EVERY == 3 && step < 3;
    const long stride = TEST_EVERY * (share ? 3 : step);
    long failures = 0, ended = 0;
    for (f->rank = 0; f->rank < 3; ++f->rank) {
        bool more = true;
        for (f->after = share ? f->rank * TEST_EVERY : 0; more; f->after += stride) {
            const wf_ranks_threads_options o = { .size = sizeof o, .seed = 1 + (uint64_t)f->after };
            const int me = f->rank;
            wf_ranks_error e = { 0 };
            const wf_status status = wf_ranks_threads(3, run_with_failure, f, &o, &e);
            more = f->happened;
            failures += f->status[me] != WF_OK;
            ended += status == WF_ERR_BACKEND;
            if ((status != WF_OK && status != WF_ERR_BACKEND) || strstr(e.text, "wait for each other"))
                fail_msg("%s, rank %d, allocation %ld: rank %d: %s: %s", name, me, f->after, (int)e.rank,
                         wf_status_name(e.status), e.text);
            for (int r = 0; r < 3 && status == WF_OK && f->together; ++r)
                if (f->status[r] != f->status[me] || (f->status[r] == WF_ERR_MEMORY && !*f->text[r]))
                    fail_msg("%s, rank %d, allocation %ld: rank %d has %s: %s", name, me, f->after, r,
                             wf_status_name(f->status[r]), f->text[r]);
        }
    }
    if (failures < 6 || ended > failures / part)
        fail_msg("%s: %ld failures, of which %ld ended the group", name, failures, ended);
}

static void memory_fails(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wf_array *(*of)(const wf_array *x);
        bool together; /* false: a single launch, with a result that each rank has */
        long step;     /* between allocations that fail */
        long part;     /* at most one of so many failures ends the group */
    } functions[] = { { "fft", fft_of, true, 1, 7 },
                      { "cosine", cosine_of, true, 5, 7 },
                      { "spline", spline_of, true, 2, 7 },
                      { "sort", sort_of, true, 1, 7 },
                      { "median", median_of, true, 1, 7 },
                      { "bin", bin_of, true, 1, 3 },
                      { "all", middle_of, true, 11, 3 },
                      { "line", line_order_of, true, 3, 3 },
                      { "places", places_of, true, 3, 3 },
                      { "extract", part_of, true, 1, 3 },
                      { "argmax", argmax_of, false, 1, 3 },
                      { "gaussian", gaussian_of, true, 1, 2 },
                      { "step", step_of, false, 9, 2 },
                      { "sums", sums_of, false, 5, 2 },
                      { "convolve", convolution_of, true, 17, 2 },
                      { "whiten", whitened_of, true, 3, 2 },
                      { "sum", column_sums_of, true, 1, 3 },
                      { "product", product_of, true, 3, 3 },
                      { "slice", slice_of, true, 2, 3 },
                      { "assigned", assigned_of, true, 5, 3 },
                      { "eigenvectors", eigenvectors_of, true, 2, 3 },
                      { "one matrix", orthonormal_of, true, 1, 3 },
                      { "determinant", determinant_of, true, 2, 3 } };
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_array *x = alone(ctx);
    /* The thread sanitizer sees the same messages in all of them, and in each failure. */
    const size_t count = TEST_RACES ? 1 : sizeof functions / sizeof *functions;
    for (size_t k = 0; k < count; ++k) {
        if ((functions[k].of == orthonormal_of || functions[k].of == determinant_of) && !has_lapack(x))
            continue;
        failing f = { .of = functions[k].of, .together = functions[k].together };
        wf_array *want = f.of(x);
        assert_non_null(want);
        f.bytes = (size_t)wf_array_count(want) * wf_dtype_size(wf_array_dtype(want));
        assert_int_equal(wf_map(want, &f.want, NULL), WF_OK);
        fail_each(&f, functions[k].name, functions[k].step * (TEST_RACES ? 5 : 1), functions[k].part);
        wf_release(want);
    }
    wf_release(x);
    wf_context_free(ctx);
}
#else
static void memory_fails(void **state)
{
    (void)state;
    print_message("test_distributed_memory_fails: skipped, as this build cannot make allocations fail\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
