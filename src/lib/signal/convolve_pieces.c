/* convolve_pieces.c - convolution with a kernel that is much smaller than the array, through Fourier transforms of pieces
 * of it (overlap-save).
 *
 * A piece is what one transform of L elements along each axis gives: the array is read with n - 1 more elements than the
 * piece has, n being the kernel's extent, with its border mode, and of the cyclic convolution the elements from n - 1 on
 * are the sums. Pieces are an array [pieces..., L...], made and transformed in groups of bounded memory. All groups have
 * one shape, so that their kernels are compiled once; what lies beyond the end of the result is not stored.
 */
#include "pieces.h"
#include "weft/distributed.h"
#include "weft/fft.h"
#include <math.h>

/* The most bytes of a group, unless one piece has more. */
static const double most_bytes = 1 << 24;

/* ---- the choice ---- */

/* The cost of an element of the result, in the unit of wfl_convolve_fft_cost, measured as it is there. Arrays that caches
 * hold with their spectra are transformed in half of the time and less; lines of more than 4096 elements take two passes. */
static double cost_of(const wfl_window *w, const wfl_pieces *p, wf_dtype dtype, bool on_gpu)
{
    const double of_axis = 1.6, of_long_axis = 4.5, near = 1 << 18, far = 1 << 20, of_far_axis = 1.3;
    double bytes = (double)wf_dtype_size(dtype), transformed = 1, cost = WFL_FFT_OF_COPIES, axes = 0;
    for (int d = 0; d < w->shape.rank; ++d)
        if (w->axes >> d & 1) {
            bytes *= (double)p->whole.dim[d];
            transformed *= (double)p->whole.dim[d] / (double)p->own[d];
            cost += p->whole.dim[d] > 4096 ? of_long_axis : of_axis;
            ++axes;
        }
    if (bytes > near)
        cost += of_far_axis * axes;
    if (bytes > far || on_gpu) /* as an array that is transformed as a whole */
        cost = WFL_FFT_OF_COPIES + WFL_FFT_OF_AXIS * axes;
    return cost * transformed * (wfl_is_complex_dtype(dtype) ? 2 : 1);
}

/* Sets the extents of a piece along an axis so that it has `own` elements of the result or some more. */
static bool set_extent(const wfl_window *w, wfl_pieces *p, int d, int64_t own, int last)
{
    int64_t all = w->shape.dim[d], n = w->size[d], fast = wf_fft_fast_size((own < all ? own : all) + n - 1, d == last);
    if (fast < 0)
        return false;
    p->whole.dim[d] = fast;
    p->own[d] = fast - n + 1 < all ? fast - n + 1 : all;
    return true;
}

/* Chooses the cheapest pieces: from small ones on, extents are doubled one after the other while that makes them cheaper,
 * or makes those cheaper that follow. Returns their cost; infinity: there are none. */
static double choose_pieces(const wfl_window *w, wf_dtype dtype, bool on_gpu, wfl_pieces *best)
{
    int axes = 0, last = 0;
    wfl_pieces p = { .whole = w->shape };
    for (int d = 0; d < w->shape.rank; ++d)
        if (w->axes >> d & 1) {
            ++axes;
            last = d;
        }
    if (w->shape.rank + axes > WF_MAX_RANK)
        return INFINITY;
    for (int d = 0; d < w->shape.rank; ++d)
        if (w->axes >> d & 1 && !set_extent(w, &p, d, w->size[d] < 16 ? 16 : w->size[d], last))
            return INFINITY;
    double least = INFINITY;
    for (;;) {
        double cost = cost_of(w, &p, dtype, on_gpu), next = INFINITY;
        if (cost < least) {
            least = cost;
            *best = p;
        }
        wfl_pieces larger = p;
        for (int d = 0; d < w->shape.rank; ++d) {
            wfl_pieces q = p;
            if (!(w->axes >> d & 1) || p.own[d] == w->shape.dim[d] || !set_extent(w, &q, d, 2 * p.own[d], last))
                continue;
            cost = cost_of(w, &q, dtype, on_gpu);
            if (cost < next) {
                next = cost;
                larger = q;
            }
        }
        if (next == INFINITY)
            return least;
        p = larger;
    }
}

wfl_convolve_way wfl_convolve_choose(const wf_array *x, const wfl_window *w, wf_dtype dtype, wfl_pieces *p)
{
    /* Nanoseconds for each element of the kernel, and for a call. */
    const double of_tap = 0.025, of_call = 1e5, large = 1 << 30;
    double taps = (double)wfl_window_count(w), all = 1, parts = wfl_is_complex_dtype(dtype) ? 2 : 1;
    for (int d = 0; d < w->shape.rank; ++d)
        all *= (double)w->shape.dim[d];
    if (taps <= WFL_WINDOW_WRITTEN || all < 1)
        return WFL_BY_SUMS;
    double whole = wfl_convolve_fft_cost(w, dtype), pieces = INFINITY;
    if (!wf_array_dist(x)) /* pieces are made by views, which distributed arrays do not have */
        pieces = choose_pieces(w, dtype, wfl_on_gpu(x), p);
    if (all * (double)wf_dtype_size(dtype) > large) /* copies of large arrays may not fit into memory */
        whole *= 3;
    double least = pieces < whole ? pieces : whole;
    double sums = parts * parts * taps * of_tap; /* products of complex numbers are four of real ones */
    if (least + of_call / all >= sums)
        return WFL_BY_SUMS;
    return pieces < whole ? WFL_IN_PIECES : WFL_BY_FFT;
}

/* ---- groups ---- */

/* A group of pieces: along axes of the kernel so many pieces, along others so many elements. */
typedef struct group {
    const wfl_window *w;
    const wfl_pieces *p;
    int rank, axes;             /* of the array; those of the kernel */
    int64_t count[WF_MAX_RANK]; /* of all groups */
    int64_t first[WF_MAX_RANK];
} group;

/* The shape of a group; with `own` without the elements that pieces share. */
static wf_shape shape_of(const group *q, bool own)
{
    wf_shape s = { .rank = q->axes + q->rank };
    for (int d = 0, k = 0; d < q->rank; ++d) {
        bool along = q->w->axes >> d & 1;
        if (along)
            s.dim[k++] = q->count[d];
        s.dim[q->axes + d] = !along ? q->count[d] : own ? q->p->own[d] : q->p->whole.dim[d];
    }
    return s;
}

/* Sets the place in the array of the current point of a group. */
static void place_of(const group *q, wf_graph *g, bool own, wf_val *at)
{
    static const char *const names[WF_MAX_RANK] = { "first 0", "first 1", "first 2", "first 3",
                                                    "first 4", "first 5", "first 6", "first 7" };
    for (int d = 0, k = 0; d < q->rank; ++d) {
        wf_val first = wf_param(g, names[d], WF_I64, (double)q->first[d]), i = wf_index(g, q->axes + d);
        if (q->w->axes >> d & 1) {
            wf_val piece = wf_add(first, wf_index(g, k++));
            first = wf_sub(wf_mul(piece, wf_const_i64(g, WF_I64, q->p->own[d])),
                           wf_const_i64(g, WF_I64, own ? 0 : q->w->before[d]));
        }
        at[d] = wf_add(first, i);
    }
}

/* Reads the pieces of a group. */
static wf_status gather(const group *q, const wf_array *x, wf_array *pieces)
{
    wf_graph *g = wfl_begin(wf_array_context(x), q->w->function, .shape = shape_of(q, false));
    wf_val at[WF_MAX_RANK];
    place_of(q, g, false, at);
    wf_val outside = wf_const(g, wf_array_dtype(x), q->w->outside);
    wf_val v = wf_read_border_n(g, x, q->w->border, outside, (wf_vals){ at, (size_t)q->rank });
    wf_out(g, pieces, wf_cast(v, wf_array_dtype(pieces)));
    return wf_run(g);
}

/* Stores what the pieces of a group have of the result. */
static wf_status scatter(const group *q, const wf_array *pieces, wf_array *out)
{
    wf_graph *g = wfl_begin(wf_array_context(out), q->w->function, .shape = shape_of(q, true));
    wf_val at[WF_MAX_RANK], from[WF_MAX_RANK], inside = { { 1, NULL } };
    place_of(q, g, true, at);
    for (int d = 0; d < q->axes + q->rank; ++d)
        from[d] = wf_index(g, d);
    for (int d = 0; d < q->rank; ++d) {
        from[q->axes + d] = wf_add(from[q->axes + d], wf_const_i64(g, WF_I64, q->w->size[d] - 1));
        inside = wf_and(inside, wf_lt(at[d], wf_const_i64(g, WF_I64, q->w->shape.dim[d])));
    }
    wf_val v = wf_read_n(g, pieces, (wf_vals){ from, (size_t)(q->axes + q->rank) });
    wf_write_if_n(g, inside, out, wf_cast(v, wf_array_dtype(out)), (wf_vals){ at, (size_t)q->rank });
    return wf_run(g);
}

static int64_t steps_along(const group *q, int d)
{
    return q->w->axes >> d & 1 ? (q->w->shape.dim[d] - 1) / q->p->own[d] + 1 : q->w->shape.dim[d];
}

/* Sets how many pieces, or elements, groups have along each axis: from the last axis on as many as fit. */
static void set_counts(group *q, double bytes)
{
    for (int d = 0; d < q->rank; ++d) {
        q->count[d] = 1;
        if (q->w->axes >> d & 1)
            bytes *= (double)q->p->whole.dim[d];
    }
    for (int d = q->rank - 1; d >= 0; --d) {
        int64_t all = steps_along(q, d), most = bytes * (double)all <= most_bytes ? all : (int64_t)(most_bytes / bytes);
        most = most < 1 ? 1 : most;
        int64_t groups = (all - 1) / most + 1;
        q->count[d] = (all - 1) / groups + 1; /* the last group is nearly as full as the others */
        bytes *= (double)q->count[d];
    }
}

/* Goes on to the next group. False: there is none. */
static bool next_group(group *q)
{
    for (int d = q->rank - 1; d >= 0; --d) {
        q->first[d] += q->count[d];
        if (q->first[d] < steps_along(q, d))
            return true;
        q->first[d] = 0;
    }
    return false;
}

wf_array *wfl_convolve_in_pieces(const wf_array *x, const wf_array *kernel, const wfl_window *w, const wfl_pieces *p,
                                 wf_dtype dtype, wf_dtype to)
{
    group q = { .w = w, .p = p, .rank = w->shape.rank };
    for (int d = 0; d < q.rank; ++d)
        q.axes += (int)(w->axes >> d & 1);
    set_counts(&q, (double)wf_dtype_size(dtype));
    wf_shape shape = shape_of(&q, false);
    wf_array *spectrum = wfl_kernel_spectrum(w, kernel, &p->whole, dtype);
    wf_array *pieces = wfl_array_beside(x, dtype, &shape), *out = wfl_array_beside(x, to, &w->shape);
    wf_status status = spectrum && pieces && out ? WF_OK : wfl_array_error(wf_array_context(x));
    for (bool more = status == WF_OK; more; more = status == WF_OK && next_group(&q)) {
        status = gather(&q, x, pieces);
        if (status == WF_OK)
            status = wfl_convolve_cyclic(pieces, w->axes << q.axes, spectrum, w->function);
        if (status == WF_OK)
            status = scatter(&q, pieces, out);
    }
    wf_release(spectrum);
    wf_release(pieces);
    if (status == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}
