/* matmul.c - wf_array_matmul: checks the arrays, and chooses how they are multiplied. */
#include "blas.h"
#include "product.h"
#include "weft/distributed.h"

static bool matrices(wf_context *ctx, const wf_array *a, const wf_array *b, wf_shape *out)
{
    if (!wfl_array_known(a, "wf_array_matmul") || !wfl_array_known(b, "wf_array_matmul"))
        return false;
    wf_shape s = wf_array_shape(a), t = wf_array_shape(b);
    if (a && b && s.rank >= 2 && t.rank >= 2 && s.dim[s.rank - 1] == t.dim[t.rank - 2] &&
        wfl_batch_broadcast(&s, 2, &t, 2, out)) {
        out->dim[out->rank++] = s.dim[s.rank - 2];
        out->dim[out->rank++] = t.dim[t.rank - 1];
        return true;
    }
    if (!a || !b || s.rank < 2 || t.rank < 2)
        wfl_array_fail(ctx, a && b ? WF_ERR_SHAPE : WF_ERR_ARG,
                       "wf_array_matmul: needs [..., m, k] and [..., k, n]; ranks are %d and %d", (int)s.rank,
                       (int)t.rank);
    else
        wfl_array_fail(
            ctx, WF_ERR_SHAPE,
            s.dim[s.rank - 1] == t.dim[t.rank - 2]
                ? "wf_array_matmul: the axes before the last two do not broadcast; m, k is %lld, %lld and k, "
                  "n is %lld, %lld"
                : "wf_array_matmul: needs [..., m, k] and [..., k, n], but m, k is %lld, %lld and k, n is "
                  "%lld, %lld",
            (long long)s.dim[s.rank - 2], (long long)s.dim[s.rank - 1], (long long)t.dim[t.rank - 2],
            (long long)t.dim[t.rank - 1]);
    return false;
}

wf_array *wf_array_matmul(const wf_array *a, const wf_array *b)
{
    wf_context *ctx = wf_array_context(a ? a : b);
    wf_shape out, one;
    wf_dtype t;
    if (!ctx || !matrices(ctx, a, b, &out))
        return NULL;
    wf_array *x = wfl_array_beside(a, wf_array_dtype(a), &WF_SCALAR),
             *y = wfl_array_beside(b, wf_array_dtype(b), &WF_SCALAR);
    bool ok = x && y && wfl_product_of(__func__, x, y, &t, &one);
    wf_release(x);
    wf_release(y);
    if (!ok) {
        wfl_end_group(a);
        wfl_end_group(b);
    }
    if (ok && t == WF_BOOL)
        wfl_array_fail(ctx, WF_ERR_DTYPE, "wf_array_matmul: both arrays are bools; cast them");
    if (!ok || t == WF_BOOL)
        return NULL;
    if (wf_array_dist(a) || wf_array_dist(b))
        return wfl_distributed_product(a, b, &out, t);
    wf_shape sa = wf_array_shape(a);
    if (!wfl_axes_count(&out, WF_ALL_AXES) || !sa.dim[sa.rank - 1]) /* no elements, or sums of none */
        return wfl_array_zeros_beside(a, t, &out);
    if (out.dim[out.rank - 2] != 1 && out.dim[out.rank - 1] != 1)
        return wfl_matrix_product(a, b, &out, t);
    wf_array *by_blas;
    return wfl_blas_product(a, b, &out, t, &by_blas) ? by_blas : wfl_vector_product(a, b, &out, t);
}
