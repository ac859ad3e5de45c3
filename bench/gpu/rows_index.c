/* rows_index.c - where indices decide what is read and written: histograms, sums by key, records. */
#include "gpu.h"
#include "../kernels.h"
#include <stdlib.h>

enum { BINS = HISTOGRAM_BINS, INDICES = 100000000 };

/* ---- histograms of [rows, side]: one for each row, or (rows == 1) one of all --------------------------------------- */

/* f32 in [-1, 1): multiples of 2^-20, which no rounding moves to another bin. */
static double point(int64_t i) { return (double)(gpu_random_at(i, 0) >> 11) * 0x1p-20 - 1; }
static int64_t bin_at(int64_t i) { return (int64_t)((point(i) + 1) * 0.5 * BINS); }
static wf_val bin_of(wf_val x) { return wf_cast(wf_mul(wf_mul(wf_add(x, 1), 0.5), BINS), WF_I32); }

/* Of one row after the other: counted once each. data: its counts, and before them which it is. */
static double counted(const gpu_case *c, int64_t i)
{
    int64_t *counts = c->data, row = i / BINS, width = c->b->n / c->m;
    if (counts[0] != row + 1) {
        counts[0] = row + 1;
        for (int k = 0; k < BINS; ++k)
            counts[1 + k] = 0;
        for (int64_t k = row * width; k < (row + 1) * width; ++k)
            ++counts[1 + bin_at(k)];
    }
    return (double)counts[1 + i % BINS];
}

static wf_kernel *accumulated(gpu_case *c, int64_t rows, int64_t width)
{
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE(rows, width), .name = "histogram");
    wf_array *in = wf_formal(g, "in", WF_F32, 2), *hist = wf_formal(g, "hist", WF_I32, 2);
    wf_accumulate(g, WF_JOIN_ADD, hist, 1, wf_index(g, 0), bin_of(wf_in(g, in)));
    return wf_compile(g);
}

static wf_kernel *in_scratch(gpu_case *c, int64_t rows, int64_t width)
{
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE(rows, width), .reduce = WF_AXES(1), .name = "histogram in scratch");
    wf_array *in = wf_formal(g, "in", WF_F32, 2), *hist = wf_formal(g, "hist", WF_I32, 2);
    wf_array *mine = wf_scratch(g, WF_I32, WF_SHAPE(BINS), true);
    wf_accumulate(g, WF_JOIN_ADD, mine, 1, bin_of(wf_in(g, in)));
    wf_section(g, WF_SECTION_DEINIT);
    wf_barrier(g);
    wf_val i;
    WF_FOR (g, i, wf_thread_id(g, -1), BINS, wf_block_size(g, -1)) {
        wf_accumulate(g, WF_JOIN_ADD, hist, wf_read(g, mine, i), wf_index(g, 0), i);
    }
    WF_END(g);
    return wf_compile(g);
}

static void histogram(gpu_case *c)
{
    int64_t rows = c->m = c->row->of ? c->b->side : 1, width = c->b->n / rows;
    wf_array *random = gpu_random(c, c->b->n, 0), *values = gpu_empty(c, WF_F32, WF_SHAPE(c->b->n));
    wf_array *in = gpu_keep(c, wf_view_reshape(values, WF_SHAPE(rows, width)));
    wf_array *hist = gpu_empty(c, WF_I32, WF_SHAPE(rows, BINS));
    wf_graph *g = GPU_RECORD(c, .name = "points");
    wf_out(g, values, wf_sub(wf_mul(wf_cast(wf_shr(wf_in(g, random), 11), WF_F32), 0x1p-20), 1));
    gpu_ok(c, wf_run(g));
    gpu_launches(c, "", c->row->of == 2 ? in_scratch(c, rows, width) : accumulated(c, rows, width), WF_NAMED(in, hist));
    gpu_by_hand(
        c, c->row->of ? "histogram_rows" : "histogram",
        (hand_args){ .in = { gpu_at(c, in) }, .out = { gpu_at(c, hist) }, .n = c->b->n, .side = width, .m = rows });
    c->data = calloc(1 + BINS, sizeof(int64_t));
    c->result = hist;
    c->has_before = true; /* counts begin with 0 */
    c->expected = counted;
    c->looked_at = 64 * BINS;
    c->tolerance = 0;
    c->bytes = 4 * (double)c->b->n;
    if (!c->data)
        gpu_fail(c, "no memory");
}

/* ---- out[key[i]] += 1, or += value[i], which is 1 or -1: exact in f32, too ------------------------------------------ */

static int64_t key_at(const gpu_case *c, int64_t i)
{
    return (int64_t)((uint64_t)gpu_random_at(i, 1) * (uint64_t)c->m >> 32);
}
static double sign_at(int64_t i) { return gpu_random_at(i, 2) & 1 ? 1 : -1; }

static double by_key(const gpu_case *c, int64_t i) { return ((const double *)c->data)[i]; }

static bool sum_by_key(gpu_case *c, int64_t count, bool is_float)
{
    double *sums = c->data = calloc((size_t)c->m, sizeof *sums);
    for (int64_t i = 0; sums && i < count; ++i)
        sums[key_at(c, i)] += is_float ? sign_at(i) : 1;
    return sums != NULL || gpu_fail(c, "no memory");
}

/* keys, and signs of dtype f32 if asked for */
static wf_array *make_keys(gpu_case *c, int64_t count)
{
    wf_array *random = gpu_random(c, count, 1), *keys = gpu_empty(c, WF_U32, WF_SHAPE(count));
    wf_graph *g = GPU_RECORD(c, .name = "keys");
    wf_val wide = wf_mul(wf_cast(wf_in(g, random), WF_U64), wf_const(g, WF_U64, (double)c->m));
    wf_out(g, keys, wf_cast(wf_shr(wide, 32), WF_U32));
    gpu_ok(c, wf_run(g));
    return keys;
}

static wf_array *make_signs(gpu_case *c, int64_t count)
{
    wf_array *random = gpu_random(c, count, 2), *signs = gpu_empty(c, WF_F32, WF_SHAPE(count));
    wf_graph *g = GPU_RECORD(c, .name = "signs");
    wf_out(g, signs, wf_select(wf_ne(wf_and(wf_in(g, random), 1), 0), 1.0, -1.0));
    gpu_ok(c, wf_run(g));
    return signs;
}

static wf_kernel *adding(gpu_case *c, int64_t count, bool is_float, wf_mode mode)
{
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE(count), .name = "scatter_add");
    wf_array *key = wf_formal(g, "keys", WF_U32, 1), *out = wf_formal(g, "out", is_float ? WF_F32 : WF_U32, 1);
    wf_val v = is_float ? wf_in(g, wf_formal(g, "signs", WF_F32, 1)) : WF_V(1);
    wf_accumulate_mode(g, WF_JOIN_ADD, mode, out, v, wf_in(g, key));
    return wf_compile(g);
}

/* of: the number of targets; negative: of f32 */
static void scatter_add(gpu_case *c)
{
    static const struct {
        const char *name;
        wf_mode mode;
    } modes[] = { { "direct", WF_MODE_DIRECT }, { "local", WF_MODE_LOCAL }, { "expand", WF_MODE_EXPAND } };
    bool is_float = c->row->of < 0;
    int64_t count = c->b->n < INDICES ? c->b->n : INDICES;
    c->m = is_float ? -c->row->of : c->row->of;
    if (c->m > 100 * count)
        return; /* tiny, on the emulator: the row is left out */
    wf_array *keys = make_keys(c, count), *signs = is_float ? make_signs(c, count) : NULL;
    wf_array *out = gpu_empty(c, is_float ? WF_F32 : WF_U32, WF_SHAPE(c->m));
    const wf_args args = is_float ? WF_NAMED(keys, signs, out) : WF_NAMED(keys, out);
    gpu_launches(c, "", adding(c, count, is_float, WF_MODE_AUTO), args);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; ++k)
        gpu_aside(c, modes[k].name, adding(c, count, is_float, modes[k].mode), args);
    gpu_by_hand(
        c, is_float ? "scatter_f32" : "scatter_u32",
        (hand_args){ .in = { gpu_at(c, keys), gpu_at(c, signs) }, .out = { gpu_at(c, out) }, .n = count, .m = c->m });
    sum_by_key(c, count, is_float);
    c->result = out;
    c->has_before = true;
    c->expected = by_key;
    c->looked_at = 1 << 25;
    c->tolerance = 0;
    c->bytes = (is_float ? 8 : 4) * (double)count;
}

/* ---- records of four f32, at places that are a permutation ---------------------------------------------------------- */

enum { FIELDS = 4, SPREAD = 0x9e3779b1, FEW = 1 << 14 };

static int64_t place_of(int64_t i, int64_t records)
{
    return (int64_t)((uint64_t)i * SPREAD & (uint64_t)(records - 1));
}
static int64_t place_to(int64_t place, int64_t records) /* its inverse */
{
    uint64_t inverse = SPREAD; /* modulo powers of two; each step doubles the bits that are right */
    for (int k = 0; k < 5; ++k)
        inverse *= 2 - SPREAD * inverse;
    return (int64_t)((uint64_t)place * inverse & (uint64_t)(records - 1));
}

static double gathered(const gpu_case *c, int64_t i)
{
    return gpu_number(place_of(i / FIELDS, c->m) * FIELDS + i % FIELDS);
}
static double scattered(const gpu_case *c, int64_t i)
{
    return gpu_number(place_to(i / FIELDS, c->m) * FIELDS + i % FIELDS);
}
static double added(const gpu_case *c, int64_t i)
{
    double sum = 0;
    int64_t few = wf_array_count(c->result) / FIELDS;
    for (int64_t at = place_to(i / FIELDS, few); at < c->m; at += few)
        sum += gpu_number(at * FIELDS + i % FIELDS);
    return sum;
}

static wf_kernel *moving(gpu_case *c)
{
    wf_graph *g = GPU_RECORD(c, .shape = WF_SHAPE(c->m), .name = c->row->name);
    wf_array *in = wf_formal(g, "in", WF_F32, 2), *out = wf_formal(g, "out", WF_F32, 2);
    wf_val place = wf_in(g, wf_formal(g, "places", WF_U32, 1)), i = wf_index(g, 0);
    for (int k = 0; k < FIELDS; ++k)
        switch (c->row->of) {
        case 0:
            wf_write(g, out, wf_read(g, in, place, k), i, k);
            break;
        case 1:
            wf_write(g, out, wf_read(g, in, i, k), place, k);
            break;
        default:
            wf_accumulate(g, WF_JOIN_ADD, out, wf_read(g, in, i, k), place, k);
        }
    return wf_compile(g);
}

static void records(gpu_case *c)
{
    static double (*const expected[])(const gpu_case *, int64_t) = { gathered, scattered, added };
    int64_t n = 16;
    while (2 * n <= c->b->n / 16)
        n *= 2;
    c->m = n;
    int64_t targets = c->row->of == 2 && n > FEW ? FEW : n;
    wf_array *flat = gpu_numbers(c, n * FIELDS), *places = gpu_empty(c, WF_U32, WF_SHAPE(n));
    wf_array *in = gpu_keep(c, wf_view_reshape(flat, WF_SHAPE(n, FIELDS)));
    wf_array *out = gpu_empty(c, WF_F32, WF_SHAPE(targets, FIELDS));
    wf_graph *g = GPU_RECORD(c, .name = "places");
    wf_out(g, places, wf_and(wf_mul(wf_iota(g, WF_SHAPE(n), 0), (double)SPREAD), (double)(targets - 1)));
    gpu_ok(c, wf_run(g));
    gpu_launches(c, "", moving(c), WF_NAMED(in, out, places));
    gpu_by_hand(c, c->row->name,
                (hand_args){ .in = { gpu_at(c, in), gpu_at(c, places) }, .out = { gpu_at(c, out) }, .n = n });
    c->result = out;
    c->has_before = c->row->of == 2;
    c->expected = expected[c->row->of];
    c->bytes = (16.0 + 16 + 4) * (double)n;
}

#define SCATTER(m, text)                                                                               \
    { "scatter_u32_" #m, "1 at each of 10^8 random keys, " text, GPU_OF_HAND, 1, scatter_add, m },     \
    {                                                                                                  \
        "scatter_f32_" #m, "f32 at each of 10^8 random keys, " text, GPU_OF_HAND, 1, scatter_add, -(m) \
    }
const gpu_row gpu_index_rows[] = {
    { "histogram", "128 bins of all", GPU_OF_HAND, 1, histogram, 0 },
    { "histogram_rows", "128 bins of each row of a square", GPU_OF_HAND, 1, histogram, 1 },
    { "histogram_scratch", "the same in scratch of a block for each row", GPU_OF_HAND, 1, histogram, 2 },
    SCATTER(1, "one target"),
    SCATTER(10, "10 targets"),
    SCATTER(100, "100 targets"),
    SCATTER(1000, "10^3 targets"),
    SCATTER(10000, "10^4 targets"),
    SCATTER(100000, "10^5 targets"),
    SCATTER(1000000, "10^6 targets"),
    SCATTER(10000000, "10^7 targets"),
    { "gather_records", "records of four f32, random places", GPU_OF_HAND, 1, records, 0 },
    { "scatter_records", "likewise written", GPU_OF_HAND, 1, records, 1 },
    { "add_records", "likewise added to 2^14 records", GPU_OF_HAND, 1, records, 2 },
    { 0 },
};
