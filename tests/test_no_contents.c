/* test_no_contents.c - formals and scratch have no contents of their own: every function that needs contents reports
 * an error.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/functions.h"

enum { ROWS = 4, COLS = 6 };

static void nothing(const wf_chunk *c, void *user) { (void)c, (void)user; }
static void copy(const wf_site *s) { wf_set(s->out[0], s->in[0]); }

/* f32 of shape [ROWS, COLS], or a formal of that rank; `other` is one that has contents. */
static wf_array *without, *other;
static wf_status made(wf_array *a)
{
    assert_null(a);
    return wf_last_status(ctx);
}

#define WANTS(call) REFUSED(ctx, call, WF_ERR_ARG, what)
#define MAKES(call) WANTS(made(call))

static void check_access(const char *what)
{
    float data[ROWS * COLS] = { 0 };
    void *at;
    WANTS(wf_download(without, data, sizeof data));
    WANTS(wf_upload(without, data, sizeof data));
    WANTS(wf_map(without, &at, NULL));
    WANTS(wf_map_device(without, &at, NULL));
    MAKES(wf_copy(without));
    MAKES(wf_copy_to(without, WF_CPU));
    MAKES(wf_like(without));
    MAKES(wf_view_slice(without, 0, 0, 2, 1));
    MAKES(wf_view_at(without, 0, 1));
    MAKES(wf_view_permute(without, (int[]){ 1, 0 }));
    MAKES(wf_view_reshape(without, WF_SHAPE(COLS, ROWS)));
    MAKES(wf_view_broadcast(without, WF_SHAPE(2, ROWS, COLS)));
    WANTS(wf_host_apply(ctx, WF_ARRAYS(without), WF_ARRAYS(other), nothing, NULL));
    WANTS(wf_host_apply(ctx, WF_ARRAYS(other), WF_ARRAYS(without), nothing, NULL));
    WANTS(wf_freeze_begin(ctx, WF_ARRAYS(without)));
    assert_int_equal(wf_array_state(without), WF_STATE_FORMAL);
    assert_true(wf_array_data_id(without) == 0);
}

static void check_recordings(const char *what)
{
    wf_shape shape = WF_SHAPE(ROWS, COLS);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, other, wf_in(g, without));
    WANTS(wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, without, 1);
    WANTS(wf_run(g));
    g = wf_begin(ctx, .shape = shape);
    wf_out(g, other, wf_read(g, without, wf_index(g, 0), wf_index(g, 1)));
    WANTS(wf_run(g));
    g = wf_begin(ctx, .shape = shape);
    wf_write(g, without, 1, wf_index(g, 0), wf_index(g, 1));
    WANTS(wf_run(g));
    g = wf_begin(ctx, .shape = shape);
    wf_accumulate(g, WF_JOIN_ADD, without, 1, wf_index(g, 0), wf_index(g, 1));
    WANTS(wf_run(g));
    WANTS(wf_apply(ctx, WF_ARRAYS(without), WF_ARRAYS(other), WF_OPERATOR(.call = copy)));
    g = wf_begin(ctx);
    wf_out(g, other, wf_in(g, wf_formal(g, "x", WF_F32, 2)));
    wf_kernel *k = wf_compile(g);
    WANTS(wf_launch(k, WF_ARGS(WF_ARG("x", without))));
    wf_kernel_free(k);
}

static void check_functions(const char *what)
{
    wf_random random = { 1, 2, 3 };
    int64_t two[] = { 2, 2 };
    const wf_axis_slice slice[] = { { 0, 1, 0 }, { 0, 1, 1 } };
    bool close;
    wf_array *pair[2] = { NULL };
    WANTS(wf_array_fill(without, 1));
    WANTS(wf_array_assign(without, other));
    WANTS(wf_array_assign(other, without));
    MAKES(wf_array_copy(without));
    MAKES(wf_array_cast(without, WF_F64));
    MAKES(wf_array_permute(without, (int[]){ 1, 0 }));
    MAKES(wf_array_slice(without, WF_SHAPE(1, 1), slice));
    WANTS(wf_array_assign_slice(without, WF_SHAPE(1, 1), slice, other));
    WANTS(wf_array_assign_slice(other, WF_SHAPE(1, 1), slice, without));
    MAKES(wf_array_reshape(without, WF_SHAPE(-1)));
    MAKES(wf_array_extract(without, WF_SHAPE(2, 2), two, WF_BORDER_VALUE, 0));
    WANTS(wf_array_insert(other, without, two));
    WANTS(wf_array_insert(without, other, two));
    MAKES(wf_array_resize(without, two, two, WF_BORDER_CLAMP, 0));
    MAKES(wf_array_tile(without, two));
    MAKES(wf_array_repeat(without, 0, 2));
    MAKES(wf_array_repeat_counts(without, 0, without));
    MAKES(wf_array_sum(without, WF_ALL_AXES));
    MAKES(wf_array_mean(without, WF_AXES(0)));
    MAKES(wf_array_variance(without, WF_ALL_AXES, 0));
    WANTS(wf_array_mean_variance(without, WF_ALL_AXES, 0, &pair[0], &pair[1]));
    MAKES(wf_array_norm(without, WF_NORM_L2, WF_ALL_AXES));
    MAKES(wf_array_rmsd(other, without, WF_ALL_AXES));
    MAKES(wf_array_min(without, WF_AXES(1)));
    WANTS(wf_array_min_max(without, WF_AXES(1), &pair[0], &pair[1]));
    MAKES(wf_array_argmax(without, WF_AXES(1)));
    MAKES(wf_array_any(without, WF_ALL_AXES));
    MAKES(wf_array_count_nonzero(without, WF_ALL_AXES));
    MAKES(wf_array_is_close(without, other, 0, 0, false));
    WANTS(wf_array_all_close(other, without, 0, 0, false, &close));
    MAKES(wf_array_normalize(without, WF_NORMALIZE_L2, WF_ALL_AXES));
    MAKES(wf_array_sort(without, 0, false));
    MAKES(wf_array_argsort(without, 1, true));
    MAKES(wf_array_median(without, WF_ALL_AXES));
    MAKES(wf_array_median(without, WF_AXES(1)));
    MAKES(wf_array_quantiles(without, &(double){ 0.25 }, 1, WF_AXES(0)));
    MAKES(wf_array_cumsum(without, 0, false));
    MAKES(wf_array_cumprod(without, 0, false));
    MAKES(wf_array_searchsorted(without, without, false));
    MAKES(wf_array_where(without));
    MAKES(wf_array_compress(without, without));
    WANTS(wf_array_assign_where(without, other, other));
    WANTS(wf_array_assign_where(other, without, other));
    WANTS(wf_array_assign_where(other, other, without));
    MAKES(wf_array_histogram(without, 4, 0, 1));
    WANTS(wf_array_random_uniform(without, random, 0, 1));
    WANTS(wf_array_random_normal(without, random, 0, 1));
    MAKES(wf_array_dot(without, other, WF_ALL_AXES));
    MAKES(wf_array_matmul(without, other));
    MAKES(wf_array_matmul(other, without));
    wf_array *offsets = wf_full(ctx, WF_I64, WF_SHAPE(3, 2), 0), *regions = wf_full(ctx, WF_F32, WF_SHAPE(3, 1, 1), 0);
    MAKES(wf_array_extract_regions(without, WF_SHAPE(1, 1), offsets, WF_BORDER_VALUE, 0));
    WANTS(wf_array_insert_regions(without, regions, offsets));
    MAKES(wf_array_extract_regions(other, WF_SHAPE(1, 1), without, WF_BORDER_VALUE, 0));
    wf_release(regions), wf_release(offsets);
}

static void check_all(const char *what)
{
    other = wf_full(ctx, WF_F32, WF_SHAPE(ROWS, COLS), 1);
    check_access(what);
    check_recordings(what);
    check_functions(what);
    wf_release(other);
}

static void test_formals(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    without = wf_formal(g, "x", WF_F32, 2);
    check_all("formal");
    wf_drop(g);
}

/* Also for scratch of an ended recording. */
static void test_scratch(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(ROWS, COLS));
    without = wf_scratch(g, WF_F32, WF_SHAPE(ROWS, COLS), true);
    check_all("scratch");
    wf_retain(without);
    wf_write(g, without, 1, wf_index(g, 0), wf_index(g, 1));
    OK(ctx, wf_run(g));
    check_all("scratch");
    wf_release(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_formals), cmocka_unit_test(test_scratch) };
    return RUN_ON_ALL(tests);
}
