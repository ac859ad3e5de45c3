/* rows_layout.c - x * 2 + 1 over 2^26 values in several memory layouts, beside C written for each layout. */
#include "bench.h"
#include "kernels.h"
#include <string.h>

enum { SIDE = 8192, PADDED = SIDE - 64 };

typedef struct layout_row {
    bench_stream s;    /* memory of x, and of the results */
    wf_array *x, *out; /* views of that memory */
    wf_kernel *kernel;
    const float *from; /* x[0, 0] */
    bench_rows_of of;
    bool copy;
} layout_row;

static void weft(void *data)
{
    layout_row *r = data;
    bench_ok(r->s.b, wf_launch(r->kernel, WF_NO_ARGS), r->s.b->ctx, "wf_launch");
}

typedef void rows_fn(float *out, const float *x, const bench_rows_of *of, int64_t lo, int64_t hi);
static rows_fn *const plain = plain_rows, *const blocks = plain_blocks_rows;

static void part(void *data, const void *how, int part, int parts)
{
    const layout_row *r = data;
    const bench_range at = bench_split(SIDE, 32, part, parts);
    if (r->copy)
        memcpy(r->s.at[1] + at.lo * SIDE, r->from + at.lo * SIDE, (size_t)(at.hi - at.lo) * SIDE * sizeof(float));
    else
        (*(rows_fn *const *)how)(r->s.at[1], r->from, &r->of, at.lo, at.hi);
}

static bool check(void *data, char *why, size_t cap)
{
    const layout_row *r = data;
    for (int64_t i = 0; i < SIDE; ++i)
        for (int64_t j = 0; j < r->of.width; ++j) {
            float x = r->from[i * r->of.row + j * r->of.step], want = r->copy ? x : x * 2 + 1;
            float got = r->s.at[1][i * r->of.out_row + j];
            if (got == want)
                continue;
            snprintf(why, cap, "element [%lld, %lld] is %.9g, not %.9g", (long long)i, (long long)j, (double)got,
                     (double)want);
            return false;
        }
    return true;
}

static const bench_kind kind = { sizeof(layout_row), bench_spoil_results, check, NULL };

typedef enum layout { COPY, F_ORDER, TRANSPOSED, PADDED_ROWS, BROADCAST, REVERSED } layout;

/* Releases `array` and returns `view`, which keeps its memory. */
static wf_array *then(wf_array *array, wf_array *view)
{
    wf_release(array);
    return view;
}

static wf_array *view_of(wf_array *memory, layout how, bool is_out)
{
    wf_array *a = wf_view_reshape(memory, WF_SHAPE(SIDE, SIDE));
    if (how == F_ORDER || (how == TRANSPOSED && !is_out))
        return then(a, wf_view_permute(a, (const int[]){ 1, 0 }));
    if (how == PADDED_ROWS)
        return then(a, wf_view_slice(a, 1, 0, PADDED, 1));
    if (how == REVERSED && !is_out)
        return then(a, wf_view_slice(a, 1, -1, WF_END_INDEX, -1));
    if (how == BROADCAST && !is_out) {
        a = then(a, wf_view_slice(a, 0, 0, 1, 1));
        return then(a, wf_view_broadcast(a, WF_SHAPE(SIDE, SIDE)));
    }
    return a;
}

static void setup(bench *b, bench_case *c)
{
    const layout how = *(const layout *)c->row->of;
    layout_row *r = bench_stream_data(b, c, &kind, (int64_t)SIDE * SIDE, 1, 1, 0, 1);
    if (!r)
        return;
    r->x = bench_keep(c, view_of(r->s.array[0], how, false));
    r->out = bench_keep(c, view_of(r->s.array[1], how, true));
    r->copy = how == COPY;
    r->from = r->s.at[0] + (how == REVERSED ? SIDE - 1 : 0);
    r->of = (bench_rows_of){ .width = how == PADDED_ROWS ? PADDED : SIDE, .row = SIDE, .step = 1, .out_row = SIDE };
    if (how == TRANSPOSED)
        r->of.row = 1, r->of.step = SIDE;
    if (how == BROADCAST)
        r->of.row = 0;
    if (how == REVERSED)
        r->of.step = -1;
    wf_graph *g = wf_begin(b->ctx);
    wf_val x = wf_in(g, r->x);
    wf_out(g, r->out, r->copy ? x : wf_add(wf_mul(x, 2), 1));
    r->kernel = c->kernel = wf_compile(g);
    bench_add(c, "weft", "", weft);
    bench_add_parts(c, "plain", r->copy ? "memcpy" : "", part, &plain);
    if (how == TRANSPOSED)
        bench_add_parts(c, "best", "blocks of 32 x 32", part, &blocks);
}

#define ROW(name, what, how) \
    const bench_row bench_##name = { #name, what, "ms", 1e3, "<= C", setup, &(const layout){ how } };
ROW(copy_64m, "a copy, n = 2^26 f32", COPY)
ROW(layout_f, "x * 2 + 1 in F order, 8192 x 8192", F_ORDER)
ROW(layout_transposed, "x * 2 + 1, x transposed, 8192 x 8192", TRANSPOSED)
ROW(layout_padded, "x * 2 + 1, rows of 8128 in 8192", PADDED_ROWS)
ROW(layout_broadcast, "x * 2 + 1, one row for 8192", BROADCAST)
ROW(layout_reversed, "x * 2 + 1, rows from their ends, 8192 x 8192", REVERSED)
