/* test_row_by_row.c - reductions of rows and what later operations do with their results, which a processor does row by
 * row: results in f64 by plain C, and the same bits for any number of threads and in the interpreter.
 */
#include "on_devices.h"
#include "weft/derivative.h"
#include <math.h>

/* More than 2 MiB, with rows whose lengths fill neither vectors nor cache lines. */
enum { ROWS = 520, COLUMNS = 1031, ALL = ROWS * COLUMNS };

typedef struct inputs {
    wf_array *x, *w; /* [ROWS, COLUMNS], [COLUMNS] */
} inputs;

typedef void program_of(wf_context *of, inputs in, wf_array *out, wf_array *loss);

static void softmax(wf_context *of, inputs in, wf_array *out, wf_array *loss)
{
    wf_graph *g = wf_begin(of);
    wf_val x = wf_in(g, in.x), e = wf_exp(wf_sub(x, wf_reduce(WF_JOIN_MAX, x, WF_AXES(1))));
    wf_val p = wf_div(e, wf_sum(e, WF_AXES(1)));
    wf_out(g, out, p);
    wf_out(g, loss, wf_sum(wf_mul(p, wf_in(g, in.w)), WF_ALL_AXES));
    OK(of, wf_run(g));
}

static void softmax_gradient(wf_context *of, inputs in, wf_array *out, wf_array *loss)
{
    wf_graph *g = wf_begin(of);
    wf_val x = wf_in(g, in.x), e = wf_exp(wf_sub(x, wf_stop(wf_reduce(WF_JOIN_MAX, x, WF_AXES(1))))), d;
    wf_val sum = wf_sum(wf_mul(wf_div(e, wf_sum(e, WF_AXES(1))), wf_in(g, in.w)), WF_ALL_AXES);
    wf_grad(sum, WF_VALS(x), &d);
    wf_out(g, out, d);
    wf_out(g, loss, sum);
    OK(of, wf_run(g));
}

static void logsumexp_gradient(wf_context *of, inputs in, wf_array *out, wf_array *loss)
{
    wf_graph *g = wf_begin(of);
    wf_val x = wf_in(g, in.x), most = wf_reduce(WF_JOIN_MAX, x, WF_AXES(1)), d;
    wf_val sum = wf_sum(wf_exp(wf_sub(x, most)), WF_AXES(1));
    sum = wf_sum(wf_add(wf_log(sum), most), WF_ALL_AXES);
    wf_grad(sum, WF_VALS(x), &d);
    wf_out(g, out, d);
    wf_out(g, loss, sum);
    OK(of, wf_run(g));
}

/* In place: the rows that are read become the result. */
static void normalized(wf_context *of, inputs in, wf_array *out, wf_array *loss)
{
    wf_graph *copy = wf_begin(of);
    wf_out(copy, out, wf_in(copy, in.x));
    OK(of, wf_run(copy));
    wf_graph *g = wf_begin(of);
    wf_val x = wf_in(g, out), mean = wf_div(wf_sum(x, WF_AXES(1)), COLUMNS), off = wf_tanh(wf_sub(x, mean));
    wf_val size = wf_sqrt(wf_sum(wf_mul(off, off), WF_AXES(1)));
    wf_out(g, out, wf_div(off, size));
    wf_out(g, loss, wf_sum(size, WF_ALL_AXES));
    OK(of, wf_run(g));
}

/* ---- plain C ---- */
static void by_hand(program_of *program, const float *x, const float *w, double *out, double *loss)
{
    *loss = 0;
    for (int i = 0; i < ROWS; ++i, x += COLUMNS, out += COLUMNS) {
        double most = -INFINITY, sum = 0, mean = 0;
        for (int j = 0; j < COLUMNS; ++j)
            most = fmax(most, (double)x[j]);
        for (int j = 0; j < COLUMNS; ++j) {
            out[j] = exp((double)x[j] - most);
            sum += out[j];
            mean += program == normalized ? (double)x[j] : out[j] * (double)w[j];
        }
        mean /= program == normalized ? COLUMNS : sum;
        double size = 0;
        for (int j = 0; j < COLUMNS; ++j) {
            double p = out[j] / sum, off = tanh((double)x[j] - mean);
            size += off * off;
            out[j] = program == softmax_gradient ? p * ((double)w[j] - mean) : program == normalized ? off : p;
        }
        for (int j = 0; j < COLUMNS && program == normalized; ++j)
            out[j] /= sqrt(size);
        *loss += program == logsumexp_gradient ? log(sum) + most : program == normalized ? sqrt(size) : mean;
    }
}

static inputs random_inputs(wf_context *of)
{
    float *x = malloc(ALL * sizeof *x);
    uint64_t random = 7;
    assert_non_null(x);
    for (int i = 0; i < ALL; ++i)
        x[i] = (float)(test_random(&random) % 8000) / 1000;
    inputs in = { wf_empty(of, WF_F32, WF_SHAPE(ROWS, COLUMNS)), wf_empty(of, WF_F32, WF_SHAPE(COLUMNS)) };
    OK(of, wf_upload(in.x, x, ALL * sizeof *x));
    OK(of, wf_upload(in.w, x + COLUMNS, COLUMNS * sizeof *x));
    free(x);
    return in;
}

typedef struct results {
    float *out, loss;
} results;

static results results_of(wf_device device, int threads, program_of *program)
{
    wf_context *of = test_context(device, threads);
    inputs in = random_inputs(of);
    wf_array *out = wf_empty(of, WF_F32, WF_SHAPE(ROWS, COLUMNS)), *loss = wf_empty(of, WF_F32, WF_SHAPE(1, 1));
    program(of, in, out, loss);
    results r = { contents(out), 0 };
    OK(of, wf_download(loss, &r.loss, sizeof r.loss));
    wf_release(in.x);
    wf_release(in.w);
    wf_release(out);
    wf_release(loss);
    wf_context_free(of);
    return r;
}

static void test_results(void **state)
{
    static program_of *const programs[] = { softmax, softmax_gradient, logsumexp_gradient, normalized };
    (void)state;
    wf_context *of = test_context(WF_CPU, 1);
    inputs in = random_inputs(of);
    float *x = contents(in.x), *w = contents(in.w);
    double *want = malloc(ALL * sizeof *want), loss;
    assert_non_null(want);
    for (size_t k = 0; k < sizeof programs / sizeof *programs; ++k) {
        results one = results_of(WF_CPU, 1, programs[k]), three = results_of(WF_CPU, 3, programs[k]);
        results interpreted = results_of(WF_INTERP, 1, programs[k]);
        by_hand(programs[k], x, w, want, &loss);
        for (int i = 0; i < ALL; ++i)
            if (!(fabs((double)one.out[i] - want[i]) <= 1e-5 * fabs(want[i]) + 2e-7))
                fail_msg("program %zu: element %d is %.9g, not %.9g", k, i, (double)one.out[i], want[i]);
        assert_true(fabs((double)one.loss - loss) <= 1e-6 * fabs(loss));
        assert_memory_equal(one.out, three.out, ALL * sizeof *one.out);
        assert_memory_equal(one.out, interpreted.out, ALL * sizeof *one.out);
        assert_memory_equal(&one.loss, &three.loss, sizeof one.loss);
        assert_memory_equal(&one.loss, &interpreted.loss, sizeof one.loss);
        free(one.out);
        free(three.out);
        free(interpreted.out);
    }
    free(want);
    free(x);
    free(w);
    wf_release(in.x);
    wf_release(in.w);
    wf_context_free(of);
}

/* ---- what runs together ---- */
static int fused_kernels(wf_shape shape, wf_axes axes, bool turned)
{
    wf_kernel_info info[16] = { { .size = sizeof *info } };
    wf_context *of = test_context(WF_CPU, 2);
    int fused = 0;
    wf_set_flags(of, WF_FLAG_HISTORY, 0);
    wf_array *x = wf_full(of, WF_F32, shape, 1), *out = wf_empty(of, WF_F32, shape);
    wf_array *view = turned ? wf_view_permute(x, (const int[]){ 1, 0 }) : wf_retain(x);
    wf_graph *g = wf_begin(of);
    wf_val e = wf_exp(wf_in(g, view));
    wf_out(g, out, wf_div(e, wf_sum(e, axes)));
    OK(of, wf_run(g));
    size_t n = wf_history(of, info, 16);
    for (size_t i = 0; i < n && i < 16; ++i)
        fused += info[i].fused;
    float *got = contents(out);
    for (int64_t i = 0, count = wf_array_count(out); i < count; ++i)
        assert_true(fabs((double)got[i] * (double)(axes == WF_AXES(1) ? shape.dim[1] : shape.dim[0]) - 1) < 1e-5);
    free(got);
    wf_release(x);
    wf_release(out);
    wf_release(view);
    wf_context_free(of);
    return fused;
}

static void test_what_is_fused(void **state)
{
    (void)state;
    assert_int_equal(fused_kernels(WF_SHAPE(1024, 1000), WF_AXES(1), false), 2); /* exp; sum; quotient */
    assert_int_equal(fused_kernels(WF_SHAPE(64, 100), WF_AXES(1), false), 0);    /* stays in the cache anyway */
    assert_int_equal(fused_kernels(WF_SHAPE(1024, 1000), WF_AXES(0), false), 0); /* a sum over all rows */
    assert_int_equal(fused_kernels(WF_SHAPE(1000, 1000), WF_AXES(1), true), 0);  /* rows are columns in memory */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_results), cmocka_unit_test(test_what_is_fused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
