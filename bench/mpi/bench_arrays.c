/* bench_arrays.c - launches with distributed arrays beside programs for MPI that are written by hand, in one run of two ranks:
 * bench/mpi/run. Each rank has one thread. The C code is compiled for this processor; its blocks are slabs of the volume, with
 * a layer of ghost cells all around. A line of the table has the medians of the times, and the median of the ratios of
 * neighbouring rounds with the range that holds half of them. */
#include "compare.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/distributed.h>
#include <weft/weft.h>

enum { TAG = 3, RANKS = 2, SIDE = 256, SMALL = 2048, VALUES = 1 << 28, BINS = 256, PERIOD = 251 };
enum { PART = SIDE / RANKS, ROW = SIDE + 2, PLANE = ROW * ROW, MOST = VALUES / RANKS };
enum { SHORT = 2000, LONG = 100000 }; /* microseconds of a round */

typedef struct launching {
    wf_kernel *kernel;
    wf_array *in, *out;
} launching;

typedef struct bench {
    MPI_Comm comm;
    int me, other;
    wf_ranks *ranks;
    wf_context *ctx;
    launching own, ordinary;
    /* by hand */
    float *at[2];            /* slabs with ghost cells, or blocks */
    MPI_Request faces[2][2]; /* of both */
    int now;                 /* the one that has the newest values */
    int points;              /* of the stencil */
    float *pack[2];          /* what is sent, what is received */
    uint8_t *bytes;
    int64_t count[BINS];
    float sum;
} bench;

static void *memory(size_t bytes)
{
    void *at = malloc(bytes);
    must(at != NULL, "malloc");
    return at;
}

static void row(bench *p, const char *name, bench_way *plain, bench_way *own, double round_us)
{
    comparison c = compare_ways(plain, own, p, p->comm, round_us);
    if (p->me)
        return;
    printf("| %s | %.4g | %.4g | %.2f (%.2f to %.2f) |\n", name, c.plain, c.own, c.ratio, c.low, c.high);
    fflush(stdout);
}

/* ---- arrays and launches ---------------------------------------------------------------------------------------- */

/* Returns a new array of slabs along an axis. */
static wf_array *slabs(const bench *p, wf_dtype dtype, wf_shape shape, int axis)
{
    wf_dist dist;
    wf_dist_options cut = { .size = sizeof cut };
    for (int d = 0; d < shape.rank; d++)
        cut.grid[d] = d == axis ? RANKS : 1;
    must(wf_dist_make(&shape, RANKS, &cut, &dist) == WF_OK, "wf_dist_make");
    wf_array *a = wf_empty_distributed(p->ctx, dtype, p->ranks, &dist);
    must(a != NULL, "wf_empty_distributed");
    return a;
}

/* The value of element [i], or [z, y, x], before a benchmark. */
static float value_of(int64_t i) { return (float)(i % PERIOD); }
static float value_at(int64_t z, int64_t y, int64_t x) { return value_of(z + 2 * y + 3 * x); }

static void fill(const bench *p, wf_array *a)
{
    wf_graph *g = wf_begin(p->ctx, .shape = wf_array_shape(a));
    wf_val i = wf_index(g, 0);
    if (wf_array_shape(a).rank == 3)
        i = wf_add(i, wf_add(wf_mul(wf_index(g, 1), 2), wf_mul(wf_index(g, 2), 3)));
    wf_out(g, a, wf_cast(wf_mod(i, PERIOD), wf_array_dtype(a)));
    must(wf_run(g) == WF_OK, wf_last_message(p->ctx));
}

static void launch(const bench *p, const launching *l)
{
    must(wf_launch(l->kernel, WF_ARGS(WF_ARG("a", l->in), WF_ARG("out", l->out))) == WF_OK, wf_last_message(p->ctx));
}

static void launch_own(void *user)
{
    const bench *p = user;
    launch(p, &p->own);
}

static void end(launching *l)
{
    wf_release(l->in);
    wf_release(l->out);
    wf_kernel_free(l->kernel);
    *l = (launching){ NULL };
}

/* Returns this rank's block, as an array in C order. */
static void *data_of(wf_array *a, wf_array **block)
{
    void *data = NULL;
    *block = wf_array_block(a);
    must(*block && wf_map(*block, &data, NULL) == WF_OK, "wf_array_block");
    return data;
}

/* ---- launches that send nothing --------------------------------------------------------------------------------- */

static void launch_ordinary(void *user)
{
    const bench *p = user;
    launch(p, &p->ordinary);
}

static wf_kernel *doubling(const bench *p, int64_t n)
{
    wf_graph *g = wf_begin(p->ctx, .shape = WF_SHAPE(n));
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_out(g, out, wf_mul(wf_in(g, a), 2));
    return wf_compile(g);
}

static void compare_launches(bench *p)
{
    p->own =
        (launching){ doubling(p, SMALL), slabs(p, WF_F32, WF_SHAPE(SMALL), 0), slabs(p, WF_F32, WF_SHAPE(SMALL), 0) };
    fill(p, p->own.in);
    wf_array *a = wf_full(p->ctx, WF_F32, WF_SHAPE(SMALL / RANKS), 1);
    p->ordinary = (launching){ doubling(p, SMALL / RANKS), a, wf_like(a) };
    row(p, "a launch that sends nothing, beside one of ordinary arrays", launch_ordinary, launch_own, SHORT);
    end(&p->own);
    end(&p->ordinary);
}

/* ---- steps of stencils ------------------------------------------------------------------------------------------ */

static float *cell(float *slab, int64_t z, int64_t y, int64_t x)
{
    return slab + ((z + 1) * ROW + y + 1) * ROW + x + 1;
}

/* The means of the points of a stencil around the cells of a row. */
static void row_of_7(const float *restrict from, float *restrict to)
{
    for (int64_t x = 0; x < SIDE; x++) {
        float sum = from[x - PLANE] + from[x - ROW];
        sum += from[x - 1];
        sum += from[x];
        sum += from[x + 1];
        sum += from[x + ROW];
        sum += from[x + PLANE];
        to[x] = sum * (1.0f / 7);
    }
}

static void row_of_27(const float *restrict from, float *restrict to)
{
    for (int64_t x = 0; x < SIDE; x++) {
        float sum = 0;
        for (int64_t k = -1; k <= 1; k++)
            for (int64_t j = -1; j <= 1; j++)
                for (int64_t i = -1; i <= 1; i++)
                    sum += from[x + k * PLANE + j * ROW + i];
        to[x] = sum * (1.0f / 27);
    }
}

/* Copies the cells at the borders of the volume into the ghost cells beyond them. */
static void fill_borders(const bench *p, float *slab)
{
    int64_t edge = p->me ? PART : -1, inside = p->me ? PART - 1 : 0;
    memcpy(cell(slab, edge, -1, -1), cell(slab, inside, -1, -1), PLANE * sizeof *slab);
    for (int64_t z = -1; z <= PART; z++) {
        memcpy(cell(slab, z, -1, -1), cell(slab, z, 0, -1), ROW * sizeof *slab);
        memcpy(cell(slab, z, SIDE, -1), cell(slab, z, SIDE - 1, -1), ROW * sizeof *slab);
        for (int64_t y = -1; y <= SIDE; y++) {
            *cell(slab, z, y, -1) = *cell(slab, z, y, 0);
            *cell(slab, z, y, SIDE) = *cell(slab, z, y, SIDE - 1);
        }
    }
}

static void step_by_hand(void *user)
{
    bench *p = user;
    MPI_Status both[2];
    MPI_Startall(2, p->faces[p->now]);
    MPI_Waitall(2, p->faces[p->now], both);
    fill_borders(p, p->at[p->now]);
    for (int64_t z = 0; z < PART; z++)
        for (int64_t y = 0; y < SIDE; y++)
            (p->points == 7 ? row_of_7 : row_of_27)(cell(p->at[p->now], z, y, 0), cell(p->at[!p->now], z, y, 0));
    p->now = !p->now;
}

static void step_own(void *user)
{
    bench *p = user;
    launch(p, &p->own);
    wf_array *in = p->own.in;
    p->own.in = p->own.out;
    p->own.out = in;
}

static wf_kernel *record_stencil(const bench *p, int points)
{
    wf_graph *g = wf_begin(p->ctx, .shape = WF_SHAPE(SIDE, SIDE, SIDE));
    wf_array *a = wf_formal(g, "a", WF_F32, 3), *out = wf_formal(g, "out", WF_F32, 3);
    wf_val z = wf_index(g, 0), y = wf_index(g, 1), x = wf_index(g, 2), sum = { 0 };
    bool any = false;
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                if (points == 7 && abs(i) + abs(j) + abs(k) > 1)
                    continue;
                wf_val v = wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_add(z, k), wf_add(y, j), wf_add(x, i));
                sum = any ? wf_add(sum, v) : v;
                any = true;
            }
    wf_out(g, out, wf_mul(sum, 1.0f / (float)points));
    return wf_compile(g);
}

/* Both ways must have the same values after as many steps. */
static void check_steps(bench *p, int64_t steps)
{
    fill(p, p->own.in);
    for (int64_t z = 0; z < PART; z++)
        for (int64_t y = 0; y < SIDE; y++)
            for (int64_t x = 0; x < SIDE; x++)
                *cell(p->at[p->now], z, y, x) = value_at(z + (int64_t)p->me * PART, y, x);
    for (int64_t s = 0; s < steps; s++) {
        step_by_hand(p);
        step_own(p);
    }
    wf_array *block;
    const float *own = data_of(p->own.in, &block);
    double most = 0;
    for (int64_t z = 0; z < PART; z++)
        for (int64_t y = 0; y < SIDE; y++)
            for (int64_t x = 0; x < SIDE; x++) {
                double d = *own++ - *cell(p->at[p->now], z, y, x);
                most = d * d > most ? d * d : most;
            }
    must(most < 1e-4, "the comparison of both stencils");
    wf_array_block_end(p->own.in, block);
}

static void compare_stencils(bench *p, int points)
{
    const wf_shape cube = WF_SHAPE(SIDE, SIDE, SIDE);
    char name[64];
    p->points = points;
    p->now = 0;
    p->own = (launching){ record_stencil(p, points), slabs(p, WF_F32, cube, 0), slabs(p, WF_F32, cube, 0) };
    for (int i = 0; i < 2; i++) {
        float *a = p->at[i] = memory((PART + 2) * PLANE * sizeof *a);
        memset(a, 0, (PART + 2) * PLANE * sizeof *a);
        MPI_Recv_init(cell(a, p->me ? -1 : PART, -1, -1), PLANE, MPI_FLOAT, p->other, TAG, p->comm, &p->faces[i][0]);
        MPI_Send_init(cell(a, p->me ? 0 : PART - 1, -1, -1), PLANE, MPI_FLOAT, p->other, TAG, p->comm, &p->faces[i][1]);
    }
    check_steps(p, 5);
    snprintf(name, sizeof name, "a step of a stencil of %d points, %d^3 f32", points, SIDE);
    row(p, name, step_by_hand, step_own, LONG);
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&p->faces[i][0]);
        MPI_Request_free(&p->faces[i][1]);
        free(p->at[i]);
    }
    end(&p->own);
}

/* ---- sums and histograms ---------------------------------------------------------------------------------------- */

static void sum_by_hand(void *user)
{
    enum { LANES = 64 };
    bench *p = user;
    float part[LANES] = { 0 }, sum = 0;
    for (int64_t i = 0; i < MOST; i += LANES)
        for (int k = 0; k < LANES; k++)
            part[k] += p->at[0][i + k];
    for (int k = 0; k < LANES; k++)
        sum += part[k];
    MPI_Allreduce(&sum, &p->sum, 1, MPI_FLOAT, MPI_SUM, p->comm);
}

static void compare_sums(bench *p)
{
    wf_graph *g = wf_begin(p->ctx, .shape = WF_SHAPE(VALUES), .reduce = WF_ALL_AXES);
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_var sum_of = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_set(sum_of, wf_add(wf_get(sum_of), wf_in(g, a)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, wf_get(sum_of));
    p->own =
        (launching){ wf_compile(g), slabs(p, WF_F32, WF_SHAPE(VALUES), 0), wf_full(p->ctx, WF_F32, WF_SHAPE(1), 0) };
    p->at[0] = memory(MOST * sizeof(float));
    fill(p, p->own.in);
    for (int64_t i = 0; i < MOST; i++)
        p->at[0][i] = value_of(i + (int64_t)p->me * MOST);
    row(p, "the sum of 2^28 f32", sum_by_hand, launch_own, LONG);
    float sum;
    wf_download(p->own.out, &sum, sizeof sum);
    must(sum > p->sum * 0.99f && sum < p->sum * 1.01f, "the comparison of both sums");
    free(p->at[0]);
    end(&p->own);
}

/* Like the kernels of scans, both passes join 8 elements before they depend on the elements before. */
static void scan_by_hand(void *user)
{
    enum { LANES = 64, GROUP = 8 };
    bench *p = user;
    const float *x = p->at[0];
    double part[LANES] = { 0 }, sum = 0, before = 0;
    for (int64_t i = 0; i < MOST; i += LANES)
        for (int k = 0; k < LANES; k++)
            part[k] += x[i + k];
    for (int k = 0; k < LANES; k++)
        sum += part[k];
    MPI_Exscan(&sum, &before, 1, MPI_DOUBLE, MPI_SUM, p->comm);
    if (p->me == 0)
        before = 0;
    for (int64_t i = 0; i < MOST; i += GROUP) {
        double of[GROUP];
        for (int k = 0; k < GROUP; k++)
            of[k] = k ? of[k - 1] + x[i + k] : x[i];
        for (int k = 0; k < GROUP; k++)
            p->at[1][i + k] = (float)(before + of[k]);
        before += of[GROUP - 1];
    }
}

static void compare_scans(bench *p)
{
    wf_graph *g = wf_begin(p->ctx);
    wf_array *a = wf_formal(g, "a", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1), *block;
    wf_out(g, out, wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false));
    p->own = (launching){ wf_compile(g), slabs(p, WF_F32, WF_SHAPE(VALUES), 0), slabs(p, WF_F32, WF_SHAPE(VALUES), 0) };
    fill(p, p->own.in);
    for (int i = 0; i < 2; i++)
        p->at[i] = memory(MOST * sizeof(float));
    for (int64_t i = 0; i < MOST; i++)
        p->at[0][i] = value_of(i + (int64_t)p->me * MOST);
    scan_by_hand(p);
    launch_own(p);
    const float *own = data_of(p->own.out, &block);
    for (int64_t i = 0; i < MOST; i++)
        must(own[i] >= p->at[1][i] * 0.9999f && own[i] <= p->at[1][i] * 1.0001f, "the comparison of both scans");
    wf_array_block_end(p->own.out, block);
    row(p, "the running sum of 2^28 f32", scan_by_hand, launch_own, LONG);
    for (int i = 0; i < 2; i++)
        free(p->at[i]);
    end(&p->own);
}

static void count_by_hand(void *user)
{
    enum { TABLES = 4 };
    static uint32_t part[TABLES][BINS];
    bench *p = user;
    int64_t count[BINS];
    memset(part, 0, sizeof part);
    for (int64_t i = 0; i < MOST; i += TABLES)
        for (int k = 0; k < TABLES; k++)
            part[k][p->bytes[i + k]]++;
    for (int k = 0; k < BINS; k++)
        count[k] = (int64_t)part[0][k] + part[1][k] + part[2][k] + part[3][k];
    MPI_Allreduce(count, p->count, BINS, MPI_INT64_T, MPI_SUM, p->comm);
}

/* Each launch adds its counts to those that the array has. */
static void compare_histograms(bench *p)
{
    wf_graph *g = wf_begin(p->ctx, .shape = WF_SHAPE(VALUES));
    wf_array *a = wf_formal(g, "a", WF_U8, 1), *out = wf_formal(g, "out", WF_I64, 1);
    wf_accumulate(g, WF_JOIN_ADD, out, 1, wf_cast(wf_in(g, a), WF_I32));
    p->own =
        (launching){ wf_compile(g), slabs(p, WF_U8, WF_SHAPE(VALUES), 0), wf_full(p->ctx, WF_I64, WF_SHAPE(BINS), 0) };
    p->bytes = memory(MOST);
    fill(p, p->own.in);
    for (int64_t i = 0; i < MOST; i++)
        p->bytes[i] = (uint8_t)value_of(i + (int64_t)p->me * MOST);
    launch_own(p);
    count_by_hand(p);
    int64_t count[BINS];
    wf_download(p->own.out, count, sizeof count);
    must(!memcmp(count, p->count, sizeof count), "the comparison of both histograms");
    row(p, "the histogram of 2^28 u8, 256 bins", count_by_hand, launch_own, LONG);
    free(p->bytes);
    end(&p->own);
}

/* ---- other blocks ----------------------------------------------------------------------------------------------- */

/* Copies slabs along the first axis to slabs along the second one. What goes to the other rank is packed. */
static void redistribute(bench *p)
{
    const size_t run = (size_t)PART * SIDE, piece = run * PART;
    MPI_Request both[2];
    MPI_Status status[2];
    MPI_Irecv(p->pack[1], (int)piece, MPI_FLOAT, p->other, TAG, p->comm, &both[0]);
    for (size_t z = 0; z < PART; z++)
        memcpy(p->pack[0] + z * run, p->at[0] + (z * RANKS + (size_t)p->other) * run, run * sizeof(float));
    MPI_Isend(p->pack[0], (int)piece, MPI_FLOAT, p->other, TAG, p->comm, &both[1]);
    for (size_t z = 0; z < PART; z++)
        memcpy(p->at[1] + ((size_t)p->me * PART + z) * run, p->at[0] + (z * RANKS + (size_t)p->me) * run,
               run * sizeof(float));
    MPI_Waitall(2, both, status);
    memcpy(p->at[1] + (size_t)p->other * piece, p->pack[1], piece * sizeof(float));
}

/* Two of the same, as the way back costs the same. */
static void redistribute_by_hand(void *user)
{
    redistribute(user);
    redistribute(user);
}

/* There and back, as a launch fetches nothing that has not been written since. */
static void redistribute_own(void *user)
{
    const bench *p = user;
    launch(p, &p->own);
    launch(p, &(launching){ p->own.kernel, p->own.out, p->own.in });
}

static void redistribute_by_function(void *user)
{
    const bench *p = user;
    must(wf_array_redistribute(p->own.out, p->own.in) == WF_OK, wf_last_message(p->ctx));
    must(wf_array_redistribute(p->own.in, p->own.out) == WF_OK, wf_last_message(p->ctx));
}

static void compare_redistributions(bench *p)
{
    const wf_shape cube = WF_SHAPE(SIDE, SIDE, SIDE);
    const size_t values = (size_t)PART * SIDE * SIDE;
    wf_graph *g = wf_begin(p->ctx, .shape = cube);
    wf_array *a = wf_formal(g, "a", WF_F32, 3), *out = wf_formal(g, "out", WF_F32, 3), *block;
    wf_out(g, out, wf_in(g, a));
    p->own = (launching){ wf_compile(g), slabs(p, WF_F32, cube, 0), slabs(p, WF_F32, cube, 1) };
    fill(p, p->own.in);
    for (int i = 0; i < 2; i++) {
        p->at[i] = memory(values * sizeof(float));
        p->pack[i] = memory(values / 2 * sizeof(float));
        memset(p->at[i], 0, values * sizeof(float));
    }
    memcpy(p->at[0], data_of(p->own.in, &block), values * sizeof(float));
    wf_array_block_end(p->own.in, block);
    redistribute_by_hand(p);
    launch_own(p);
    must(!memcmp(data_of(p->own.out, &block), p->at[1], values * sizeof(float)), "the comparison of other blocks");
    wf_array_block_end(p->own.out, block);
    row(p, "slabs along z to slabs along y and back, 256^3 f32: launches", redistribute_by_hand, redistribute_own,
        LONG);
    row(p, "the same by wf_array_redistribute", redistribute_by_hand, redistribute_by_function, LONG);
    for (int i = 0; i < 2; i++) {
        free(p->at[i]);
        free(p->pack[i]);
    }
    end(&p->own);
}

int main(int argc, char **argv)
{
    bench p = { 0 };
    begin_ranks(&argc, &argv, &p.comm, &p.me, &p.ranks);
    p.other = 1 - p.me;
    p.ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1 });
    must(p.ctx != NULL, "wf_context_new");
    if (p.me == 0)
        printf("%s\n\n| | by hand, us | Weft, us | Weft / by hand |\n|---|---|---|---|\n", wf_ranks_library(p.ranks));
    compare_launches(&p);
    compare_stencils(&p, 7);
    compare_stencils(&p, 27);
    compare_sums(&p);
    compare_scans(&p);
    compare_histograms(&p);
    compare_redistributions(&p);
    wf_context_free(p.ctx);
    end_ranks(&p.comm, p.ranks);
    return 0;
}
