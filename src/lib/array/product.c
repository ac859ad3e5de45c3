/* product.c - dot and matrix products. A matrix product is one loop over k for each point of an index space [batch,
 * panel, block, lane]. A point computes ROWS results of one column: each element of b that it loads is used ROWS times,
 * and the sums stay in registers. Both operands are packed so that the loop reads consecutive memory: b as panels [k,
 * lanes], a as blocks [k, ROWS].
 */
#include "blas.h"
#include "product.h"
#include "weft/distributed.h"

enum { ROWS = 6, PAIR_ROWS = 3, LANE_BYTES = 256 };

bool wfl_product_of(const char *function, const wf_array *a, const wf_array *b, wf_dtype *dtype, wf_shape *shape)
{
    wf_graph *g = wfl_begin(wf_array_context(a ? a : b), function);
    wf_val x = wf_in(g, a), v = wf_mul(x, wf_in(g, b));
    *dtype = wf_val_dtype(v);
    *shape = wf_val_shape(v);
    if (*dtype == WF_NONE) {
        wf_run(g); /* reports the error */
        return false;
    }
    wf_drop(g);
    return true;
}

wf_dtype wfl_dot_dtype(wf_dtype t)
{
    const bool is_unsigned = wf_dtype_kind(t) == WF_KIND_UNSIGNED;
    return t < WF_F16 ? (is_unsigned ? WF_U64 : WF_I64) : wfl_is_complex_dtype(t) ? WF_C128 : WF_F64;
}

wf_array *wf_array_dot(const wf_array *a, const wf_array *b, wf_axes axes)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    wf_shape shape;
    wf_dtype t;
    bool drop;
    if (!ctx)
        return NULL;
    wf_dtype ta = wf_array_dtype(a), tb = wf_array_dtype(b);
    if (ta == WF_BOOL && tb == WF_BOOL) { /* products of bools are counted */
        wf_array *count = wf_array_cast(a, WF_I8), *out = count ? wf_array_dot(count, b, axes) : NULL;
        wf_release(count);
        return out;
    }
    if (!wfl_product_of(__func__, a, b, &t, &shape) || !wfl_axes_of(ctx, &shape, &axes, &drop, "wf_array_dot"))
        return NULL;
    const wf_dtype work = wfl_dot_dtype(t);
    wf_graph *g = wfl_begin(ctx, __func__);
    wf_val x = wf_cast(wf_in(g, a), work), y = wf_cast(wf_in(g, b), work);
    wf_val sum = wf_reduce(WF_JOIN_ADD, wf_mul(x, y), axes);
    wf_array *out = wfl_kept(g, wf_array_ranks(a) ? a : b, wf_cast(sum, t < WF_F16 ? work : t));
    return drop ? wfl_without_axes(out, axes) : out;
}

/* ---- matrices ---- */
static wf_array *transposed(const wf_array *a) /* returns a view, which is only read */
{
    int axes[WF_MAX_RANK], rank = wf_array_shape(a).rank;
    for (int d = 0; d < rank; ++d)
        axes[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    return wf_view_permute((wf_array *)a, axes);
}

/* Returns [..., rows, k] as [batch or 1, blocks, k, per]: rows in blocks of `per`, padded with zeros, transposed within
 * a block. */
static wf_array *pack(const wf_array *matrix, const wf_shape *out, wf_dtype work, int64_t per)
{
    wf_shape shape = wf_array_shape(matrix), whole = *out;
    int64_t rows = shape.dim[shape.rank - 2], k = shape.dim[shape.rank - 1], batch = 1, all = 1;
    for (int d = 0; d < shape.rank - 2; ++d)
        batch *= shape.dim[d];
    for (int d = 0; d < out->rank - 2; ++d)
        all *= out->dim[d];
    whole.dim[whole.rank - 2] = rows;
    whole.dim[whole.rank - 1] = k;
    if (batch == 1)
        whole = shape;
    int64_t more[WF_MAX_RANK] = { 0 };
    more[whole.rank - 2] = (per - rows % per) % per;
    wf_array *wide = wf_view_broadcast((wf_array *)matrix, whole);
    wf_array *cast = wide ? (wf_array_dtype(wide) == work ? wf_retain(wide) : wf_array_cast(wide, work)) : NULL;
    wf_array *padded = !cast                  ? NULL
                       : more[whole.rank - 2] ? wf_array_resize(cast, NULL, more, WF_BORDER_VALUE, 0)
                                              : wf_array_contiguous(cast);
    wf_shape blocks = WF_SHAPE(batch == 1 ? 1 : all, (rows + per - 1) / per, per, k);
    wf_array *view = padded ? wf_view_reshape(padded, blocks) : NULL;
    wf_array *packed = view ? wf_array_permute(view, (const int[]){ 0, 1, 3, 2 }) : NULL;
    wf_array *spent[] = { wide, cast, padded, view };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return packed;
}

/* Computes c [batch, blocks * rows, panels * lanes] from the packed a and b. */
static wf_status multiply(wf_array *c, const wf_array *a, const wf_array *b)
{
    wf_shape sa = wf_array_shape(a), sb = wf_array_shape(b), sc = wf_array_shape(c);
    int64_t rows = sa.dim[3], lanes = sb.dim[3];
    wf_dtype work = wf_array_dtype(c), part = wf_dtype_part(work);
    bool pairs = part != work;
    wf_graph *g = wfl_begin(wf_array_context(c), NULL, .shape = WF_SHAPE(sc.dim[0], sb.dim[1], sa.dim[1], lanes));
    wf_val batch = wf_index(g, 0), panel = wf_index(g, 1), block = wf_index(g, 2), lane = wf_index(g, 3), k;
    wf_val none = wf_const(g, WF_I64, 0), at_a = sa.dim[0] == 1 ? none : batch, at_b = sb.dim[0] == 1 ? none : batch;
    wf_var sum[ROWS], imaginary[PAIR_ROWS];
    for (int64_t r = 0; r < rows; ++r) {
        sum[r] = wf_local(g, part, 0);
        if (pairs)
            imaginary[r] = wf_local(g, part, 0);
    }
    WF_FOR (g, k, 0, wf_const_i64(g, WF_I64, sa.dim[2]), 1) {
        wf_val y = wf_read(g, b, at_b, panel, k, lane);
        for (int64_t r = 0; r < rows; ++r) {
            wf_val x = wf_read(g, a, at_a, block, k, (double)r);
            if (!pairs) {
                wf_set(sum[r], wf_fma(x, y, wf_get(sum[r])));
                continue;
            }
            wf_val xr = wf_real(x), xi = wf_imag(x), yr = wf_real(y), yi = wf_imag(y);
            wf_set(sum[r], wf_fma(wf_neg(xi), yi, wf_fma(xr, yr, wf_get(sum[r]))));
            wf_set(imaginary[r], wf_fma(xi, yr, wf_fma(xr, yi, wf_get(imaginary[r]))));
        }
    }
    WF_END(g);
    for (int64_t r = 0; r < rows; ++r) {
        wf_val v = pairs ? wf_complex(wf_get(sum[r]), wf_get(imaginary[r])) : wf_get(sum[r]);
        wf_val row = wf_add(wf_mul(block, (double)rows), (double)r),
               column = wf_add(wf_mul(panel, (double)lanes), lane);
        wf_write(g, c, v, batch, row, column);
    }
    return wf_run(g);
}

/* Returns the product of nonempty matrices; `out` and `dtype` are those of the result. */
static wf_array *product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype)
{
    wf_dtype work = wfl_work_dtype(dtype);
    int64_t m = out->dim[out->rank - 2], n = out->dim[out->rank - 1], batch = 1;
    for (int d = 0; d < out->rank - 2; ++d)
        batch *= out->dim[d];
    int64_t rows = wfl_is_complex_dtype(work) ? PAIR_ROWS : ROWS, lanes = LANE_BYTES / (int64_t)wf_dtype_size(work);
    wf_array *columns = transposed(b);
    wf_array *left = pack(a, out, work, rows), *right = columns ? pack(columns, out, work, lanes) : NULL;
    wf_shape padded = WF_SHAPE(batch, (m + rows - 1) / rows * rows, (n + lanes - 1) / lanes * lanes);
    wf_array *c = left && right ? wfl_array_beside(a, work, &padded) : NULL, *result = NULL;
    if (c && multiply(c, left, right) == WF_OK) {
        wf_array *cut = wf_view_slice(c, 1, 0, m, 1), *part = cut ? wf_view_slice(cut, 2, 0, n, 1) : NULL;
        wf_array *packed = part ? (work == dtype ? wf_array_contiguous(part) : wf_array_cast(part, dtype)) : NULL;
        result = packed ? wf_view_reshape(packed, *out) : NULL;
        wf_array *spent[] = { cut, part, packed };
        for (int i = 0; i < 3; ++i)
            wf_release(spent[i]);
    }
    wf_array *spent[] = { columns, left, right, c };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return result;
}

wf_array *wfl_matrix_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype)
{
    const int64_t m = out->dim[out->rank - 2], n = out->dim[out->rank - 1],
                  lanes = LANE_BYTES / (int64_t)wf_dtype_size(dtype);
    wf_array *by_blas;
    if (wfl_blas_product(a, b, out, dtype, &by_blas))
        return by_blas;
    if (n >= lanes || n >= m)
        return product(a, b, out, dtype);
    /* few columns: the lanes go along the rows of the transposed product */
    wf_shape across = *out;
    across.dim[out->rank - 2] = n;
    across.dim[out->rank - 1] = m;
    wf_array *ta = transposed(a), *tb = transposed(b), *tc = ta && tb ? product(tb, ta, &across, dtype) : NULL;
    wf_array *view = tc ? transposed(tc) : NULL, *result = view ? wf_array_contiguous(view) : NULL;
    wf_array *spent[] = { ta, tb, tc, view };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    return result;
}

/* No element of the matrix is used twice, so nothing is packed. */
wf_array *wfl_vector_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype)
{
    bool row = out->dim[out->rank - 1] != 1; /* `a` is the vector */
    wf_array *turned = transposed(row ? a : b);
    wf_axes along = 1u << (out->rank - (row ? 2 : 1));
    wf_array *sum = !turned ? NULL : row ? wf_array_dot(turned, b, along) : wf_array_dot(a, turned, along);
    wf_array *result = !sum || wf_array_dtype(sum) == dtype ? wf_retain(sum) : wf_array_cast(sum, dtype);
    wf_release(turned);
    wf_release(sum);
    return result;
}
