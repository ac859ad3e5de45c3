/* regions.c - many regions of one array at once. Their places are an array, so one kernel handles all regions. */
#include "array_internal.h"
#include "weft/distributed.h"

typedef struct places {
    wf_context *ctx;
    int64_t n;
    wf_shape whole, region; /* whole: of the array; region: of one region */
    wf_array *offsets;      /* i64, [n, rank], in C order */
    wf_array *here;         /* `offsets` in the processor's memory */
    const int64_t *at;      /* the elements of `here` */
} places;

static void free_places(places *p)
{
    wf_release(p->offsets);
    wf_release(p->here);
}

/* Checks that the arrays' shapes fit, and converts the offsets; false, with an error. *all becomes [n, region...]. */
static bool places_of(places *p, const wf_array *array, const wf_shape *region, const wf_array *offsets,
                      const char *function)
{
    wf_shape o = wf_array_shape(offsets);
    wf_dtype t = wf_array_dtype(offsets);
    int rank = wf_array_shape(array).rank;
    *p = (places){ .ctx = wf_array_context(array), .n = o.dim[0], .whole = wf_array_shape(array), .region = *region };
    if (!wfl_array_known(array, function) || !wfl_array_known(offsets, function) || !wfl_array_whole(offsets, function))
        return false;
    if (!offsets || o.rank != 2 || o.dim[1] != rank || region->rank != rank || rank >= WF_MAX_RANK || !rank)
        wfl_array_fail(
            p->ctx, offsets ? WF_ERR_SHAPE : WF_ERR_ARG,
            "%s: needs an array of rank 1 to %d, regions of its rank, %d (they have %d), and offsets [n, %d]", function,
            WF_MAX_RANK - 1, rank, (int)region->rank, rank);
    else if (t == WF_BOOL || t >= WF_F16)
        wfl_array_fail(p->ctx, WF_ERR_DTYPE, "%s: offsets are integers, not %s", function, wf_dtype_name(t));
    else if (wfl_array_together(array, offsets, function))
        p->offsets = wf_array_cast(offsets, WF_I64);
    wf_freeze_refuse(p->ctx, function, "the offsets are read and checked by the processor");
    void *data = NULL;
    if (p->offsets)
        p->here = wfl_on_gpu(p->offsets) ? wf_copy_to(p->offsets, WF_CPU) : wf_retain(p->offsets);
    if (!p->here || wf_map(p->here, &data, NULL) != WF_OK) {
        free_places(p);
        return false;
    }
    p->at = data;
    return true;
}

static wf_shape all_regions(const places *p)
{
    wf_shape all = { .rank = p->region.rank + 1, .dim = { p->n } };
    for (int d = 0; d < p->region.rank; ++d)
        all.dim[d + 1] = p->region.dim[d];
    return all;
}

static bool is_inside(const places *p, int64_t i)
{
    const int64_t *at = p->at + i * p->whole.rank;
    for (int d = 0; d < p->whole.rank; ++d)
        if (at[d] < 0 || at[d] > p->whole.dim[d] || p->region.dim[d] > p->whole.dim[d] - at[d])
            return false;
    return true;
}

/* Sets `index` to the place in the array of the current point of [n, region...]. */
static void index_of(const places *p, wf_graph *g, wf_val index[WF_MAX_RANK])
{
    for (int d = 0; d < p->whole.rank; ++d)
        index[d] = wf_add(wf_read(g, p->offsets, wf_index(g, 0), (double)d), wf_index(g, d + 1));
}

wf_array *wf_array_extract_regions(const wf_array *array, wf_shape shape, const wf_array *offsets, wf_border border,
                                   double value)
{
    places p;
    if (!array || !places_of(&p, array, &shape, offsets, "wf_array_extract_regions"))
        return NULL;
    wf_shape all = all_regions(&p);
    wf_dtype t = wf_array_dtype(array);
    wf_array *out = wfl_border_known(p.ctx, border, __func__) ? wfl_array_beside(array, t, &all) : NULL;
    bool ok = out != NULL, nothing = ok && !wf_array_count(out);
    for (int64_t i = 0; ok && !nothing && border == WF_BORDER_NONE && i < p.n; ++i)
        if (!is_inside(&p, i)) {
            wfl_array_fail(p.ctx, WF_ERR_BOUNDS,
                           "wf_array_extract_regions: region %lld is not inside the array; give a border",
                           (long long)i);
            ok = false;
        }
    if (ok && !nothing && !wf_array_count(array) && border != WF_BORDER_VALUE) {
        wfl_array_fail(p.ctx, WF_ERR_SHAPE,
                       "wf_array_extract_regions: the array is empty, so only WF_BORDER_VALUE gives "
                       "values");
        ok = false;
    }
    if (ok && !nothing) {
        wf_val index[WF_MAX_RANK];
        wf_graph *g = wfl_begin(p.ctx, __func__, .shape = all);
        index_of(&p, g, index);
        wf_val outside = border == WF_BORDER_VALUE ? wf_const(g, t, value) : (wf_val){ { 0, NULL } };
        wf_out(g, out, (wf_read_border_n)(g, array, border, outside, (wf_vals){ index, (size_t)p.whole.rank }));
        ok = wf_run(g) == WF_OK;
    }
    free_places(&p);
    if (ok)
        return out;
    wf_release(out);
    return NULL;
}

/* ---- insertion ---- */
enum { FEW = 256 };

/* True if there are few regions and no two have an element in common. */
static bool apart(const places *p)
{
    int rank = p->whole.rank;
    for (int64_t i = 0; p->n <= FEW && i < p->n; ++i)
        for (int64_t j = 0; j < i; ++j) {
            bool meet = true;
            for (int d = 0; d < rank; ++d) {
                int64_t a = p->at[i * rank + d], b = p->at[j * rank + d];
                meet = meet &&
                       (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b) < (uint64_t)p->region.dim[d];
            }
            if (meet)
                return false;
        }
    return p->n <= FEW;
}

/* Records whether the current point lies inside the array. */
static wf_val lies_inside(const places *p, wf_graph *g, const wf_val *index)
{
    wf_val inside = wf_const(g, WF_BOOL, 1);
    for (int d = 0; d < p->whole.rank; ++d) {
        inside = wf_and(inside, wf_ge(index[d], 0));
        inside = wf_and(inside, wf_lt(index[d], wf_const_i64(g, WF_I64, p->whole.dim[d])));
    }
    return inside;
}

/* True if the arrays may share memory; always for arrays of a GPU, whose addresses are not known, and for distributed ones, of
 * which wf_map knows none. */
static bool overlap(const wf_array *a, const wf_array *b)
{
    const wf_array *of[2] = { a, b };
    uintptr_t first[2], end[2];
    if (wfl_on_gpu(a) || wfl_on_gpu(b) || wf_array_dist(a) || wf_array_dist(b))
        return true;
    for (int i = 0; i < 2; ++i) {
        wf_shape shape = wf_array_shape(of[i]);
        int64_t stride[WF_MAX_RANK];
        size_t size = wf_dtype_size(wf_array_dtype(of[i]));
        void *data;
        if (wf_map(of[i], &data, stride) != WF_OK)
            return true;
        first[i] = (uintptr_t)data;
        end[i] = first[i] + size;
        for (int d = 0; d < shape.rank; ++d) {
            uintptr_t span = (uintptr_t)((shape.dim[d] - 1) * (stride[d] < 0 ? -stride[d] : stride[d])) * size;
            if (stride[d] < 0)
                first[i] -= span;
            else
                end[i] += span;
        }
    }
    return first[0] < end[1] && first[1] < end[0];
}

/* Returns, for each element of the array, the last region that has it, counted from 1; 0: none. */
static wf_array *owners(const places *p, const wf_array *array, const wf_shape *all)
{
    wf_array *owner = wfl_array_zeros_beside(array, p->n < INT32_MAX ? WF_I32 : WF_I64, &p->whole);
    if (!owner)
        return NULL;
    wf_val index[WF_MAX_RANK];
    wf_graph *g = wfl_begin(p->ctx, NULL, .shape = *all);
    index_of(p, g, index);
    wf_vals at = { index, (size_t)p->whole.rank };
    wf_accumulate_if_n(g, lies_inside(p, g, index), WF_JOIN_MAX, WF_MODE_AUTO, owner, wf_add(wf_index(g, 0), 1), at);
    return wfl_array_run(g, owner);
}

static wf_status insert(const places *p, wf_array *array, const wf_array *regions, const wf_array *owner)
{
    wf_shape all = wf_array_shape(regions);
    wf_val index[WF_MAX_RANK];
    wf_graph *g = wfl_begin(p->ctx, NULL, .shape = all);
    index_of(p, g, index);
    wf_vals at = { index, (size_t)p->whole.rank };
    wf_val inside = lies_inside(p, g, index), x = wf_in(g, regions);
    WF_IF (g, inside) {
        if (owner) {
            WF_IF (g, wf_eq(wf_read_n(g, owner, at), wf_add(wf_index(g, 0), 1)))
                (wf_write_n)(g, array, x, at);
            WF_END(g);
        } else
            (wf_write_n)(g, array, x, at);
    }
    WF_END(g);
    return wf_run(g);
}

wf_status wf_array_insert_regions(wf_array *array, const wf_array *regions, const wf_array *offsets)
{
    if (!array || !wfl_array_known(regions, "wf_array_insert_regions"))
        return WF_ERR_ARG;
    wf_shape all = wf_array_shape(regions), region = { .rank = all.rank - 1 };
    for (int d = 0; d < region.rank; ++d)
        region.dim[d] = all.dim[d + 1];
    places p;
    if (!places_of(&p, array, &region, offsets, "wf_array_insert_regions"))
        return wfl_array_error(wf_array_context(array));
    wf_status status = WF_OK;
    wf_array *own = NULL, *owner = NULL;
    if (all.dim[0] != p.n)
        status = wfl_array_fail(p.ctx, WF_ERR_SHAPE, "wf_array_insert_regions: %lld regions and %lld offsets",
                                (long long)all.dim[0], (long long)p.n);
    else if (!wfl_array_together(array, regions, "wf_array_insert_regions") ||
             !(wf_array_dist(array) || wfl_array_whole(regions, "wf_array_insert_regions")))
        status = wfl_array_error(p.ctx);
    else if (wf_array_count(regions) && wf_array_count(array)) {
        own = overlap(array, regions) ? wf_array_copy(regions) : wf_retain(regions);
        owner = own && !apart(&p) ? owners(&p, array, &all) : NULL;
        status = own && (owner || apart(&p)) ? insert(&p, array, own, owner) : wfl_array_error(p.ctx);
    }
    wf_release(owner);
    wf_release(own);
    free_places(&p);
    return status;
}
