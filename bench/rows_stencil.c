/* rows_stencil.c - sums of the 27 neighbours in a volume: reads by index with the border mode clamp. In small volumes much
 * of the work is at the ends of rows. */
#include "bench.h"
#include "kernels.h"
#include <math.h>

typedef struct stencil_row {
    bench_stream s; /* volume, out: [side^3] */
    int64_t side;
    wf_array *volume, *out;
} stencil_row;

static void weft(void *data)
{
    stencil_row *r = data;
    wf_graph *g = wf_begin(r->s.b->ctx, .shape = WF_SHAPE(r->side, r->side, r->side), .name = "neighbours");
    wf_val z = wf_index(g, 0), y = wf_index(g, 1), x = wf_index(g, 2), sum = WF_V(0);
    for (int k = 0; k < 27; ++k)
        sum = wf_add(sum, wf_read_border(g, r->volume, WF_BORDER_CLAMP, 0, wf_add(z, k / 9 - 1),
                                         wf_add(y, k / 3 % 3 - 1), wf_add(x, k % 3 - 1)));
    wf_write(g, r->out, sum, z, y, x);
    bench_ok(r->s.b, wf_run(g), r->s.b->ctx, "wf_run");
}

typedef void stencil_fn(float *out, const float *x, int64_t side, int64_t lo, int64_t hi);
static stencil_fn *const plain = plain_stencil27, *const blocks = plain_blocks_stencil27,
                         *const fast = fast_blocks_stencil27;

static void part(void *data, const void *how, int part, int parts)
{
    const stencil_row *r = data;
    const bench_range at = bench_split(r->side, 1, part, parts);
    (*(stencil_fn *const *)how)(r->s.at[1], r->s.at[0], r->side, at.lo, at.hi);
}

static int64_t inside(int64_t i, int64_t side) { return i < 0 ? 0 : i >= side ? side - 1 : i; }

static bool check(void *data, char *why, size_t cap)
{
    const stencil_row *r = data;
    const int64_t n = r->side;
    for (int64_t at = 0; at < n * n * n; ++at) {
        const int64_t z = at / (n * n), y = at / n % n, x = at % n;
        const bool edge = z == 0 || y == 0 || x < 20 || z == n - 1 || y == n - 1 || x >= n - 20;
        if (at % (edge ? 7 : 61))
            continue;
        double want = 0, got = (double)r->s.at[1][at];
        for (int k = 0; k < 27; ++k)
            want += (double)r->s.at[0][(inside(z + k / 9 - 1, n) * n + inside(y + k / 3 % 3 - 1, n)) * n +
                                       inside(x + k % 3 - 1, n)];
        if (fabs(got - want) <= 1e-5 * fabs(want))
            continue;
        snprintf(why, cap, "element [%lld, %lld, %lld] is %.9g, not %.9g", (long long)z, (long long)y, (long long)x,
                 got, want);
        return false;
    }
    return true;
}

static const bench_kind kind = { sizeof(stencil_row), bench_spoil_results, check, NULL };

static void setup(bench *b, bench_case *c, int64_t side)
{
    stencil_row *r = bench_stream_data(b, c, &kind, side * side * side, 1, 1, 0.5f, 1.5f);
    if (!r)
        return;
    r->side = side;
    r->volume = bench_keep(c, wf_view_reshape(r->s.array[0], WF_SHAPE(side, side, side)));
    r->out = bench_keep(c, wf_view_reshape(r->s.array[1], WF_SHAPE(side, side, side)));
    bench_add(c, "weft", "", weft);
    bench_add_parts(c, "plain", "", part, &plain);
    bench_add_parts(c, "plain", "ends of rows apart", part, &blocks);
    bench_add_parts(c, "plain fast-math", "ends of rows apart", part, &fast);
}

static void setup_256(bench *b, bench_case *c) { setup(b, c, 256); }
static void setup_64(bench *b, bench_case *c) { setup(b, c, 64); }
const bench_row bench_stencil27_256 = {
    "stencil27_256", "sums of 27 neighbours by index, 256^3 f32, clamped", "ms", 1e3, "<= 1.05 of C", setup_256, NULL
};
const bench_row bench_stencil27_64 = { "stencil27_64", "the same of 64^3", "us", 1e6, "<= 1.5 of C", setup_64, NULL };
