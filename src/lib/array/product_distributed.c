/* product_distributed.c - products of distributed arrays of matrices.
 *
 * The result is distributed by the rule for results. To compute its block, a rank needs the rows of `a` and the columns of `b`
 * that it has in the block, whole along k (operands.h). Then it multiplies as one process does.
 *
 * A matrix and a vector are one launch with a reduction, which ranks join if they divide k of the matrix.
 */
#include "operands.h"
#include "product.h"

static const char *const function = "wf_array_matmul";

/* ---- matrices ---- */
/* Computes this rank's block of c. */
static bool multiply_block(wf_array *c, const wfl_operand *a, const wfl_operand *b)
{
    wf_array *to = wf_array_block(c), *made = NULL;
    const wf_shape shape = wf_array_shape(to);
    bool ok = to && a->view && b->view;
    if (ok && wf_array_count(to)) {
        made = wfl_matrix_product(a->view, b->view, &shape, wf_array_dtype(c));
        ok = made && wf_array_assign(to, made) == WF_OK;
    }
    wf_release(made);
    return wf_array_block_end(c, to) == WF_OK && ok;
}

static wf_array *of_matrices(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype)
{
    wf_context *ctx = wf_array_context(a);
    const wf_array *from[] = { a, b };
    wf_array *c = wf_empty_beside(ctx, dtype, *out, .operand = from, .operands = 2);
    wfl_operand left = { .owner = NULL }, right = { .owner = NULL };
    bool ok = c && wfl_operand_fits(function, a, c) && wfl_operand_fits(function, b, c) &&
              wfl_operand_fetch(&left, function, a, c, wf_array_dist(c), out->rank - 1) &&
              wfl_operand_fetch(&right, function, b, c, wf_array_dist(c), out->rank - 2);
    const bool fetched = ok;
    if (fetched) {
        wfl_operand_begin(&left);
        wfl_operand_begin(&right);
        ok = multiply_block(c, &left, &right);
    }
    ok = wfl_operand_end(&left) && ok;
    ok = wfl_operand_end(&right) && ok;
    if (fetched)
        ok = wfl_ranks_agree(ctx, function, c, ok ? WF_OK : wfl_array_error(ctx)) == WF_OK;
    if (ok)
        return c;
    wf_release(c);
    return NULL;
}

/* ---- a matrix and a vector ---- */
/* Returns a value with the last two axes of x exchanged. It reads by index, so that the rule for results knows which axes of x
 * go along which of the result. */
static wf_val turned(wf_graph *g, const wf_array *x)
{
    wf_shape shape = wf_array_shape(x);
    const int last = shape.rank - 1;
    const int64_t columns = shape.dim[last];
    wf_val index[WF_MAX_RANK];
    shape.dim[last] = shape.dim[last - 1];
    shape.dim[last - 1] = columns;
    for (int d = 0; d <= last; ++d)
        index[d] = wf_iota(g, shape, d == last ? last - 1 : d == last - 1 ? last : d);
    return wf_read_n(g, x, (wf_vals){ index, (size_t)shape.rank });
}

static wf_array *with_vector(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype)
{
    wf_context *ctx = wf_array_context(a);
    const bool row = out->dim[out->rank - 1] != 1; /* `a` is the vector */
    const wf_array *matrix = row ? b : a, *vector = row ? a : b;
    const wf_axes along = 1u << (out->rank - (row ? 2 : 1));
    const wf_dtype work = wfl_dot_dtype(dtype);
    wf_array *c = wf_array_dist(matrix)
                      ? wf_empty_beside(ctx, dtype, *out, .operand = &matrix, .operands = 1, .reduced = along)
                      : NULL;
    if (wf_array_dist(matrix) && !c)
        return NULL;
    wf_graph *g = wfl_begin(ctx, function);
    wf_val x = wf_cast(wf_in(g, matrix), work), y = wf_cast(turned(g, vector), work);
    wf_val sum = wf_cast(wf_reduce(WF_JOIN_ADD, wf_mul(x, y), along), dtype);
    if (!c)
        return wfl_kept(g, vector, sum);
    wf_out(g, c, sum);
    return wfl_array_run(g, c);
}

wf_array *wfl_distributed_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype)
{
    if (!wfl_axes_count(out, WF_ALL_AXES) || !wf_array_shape(a).dim[wf_array_shape(a).rank - 1]) {
        const wf_array *from[] = { a, b };
        wf_array *c = wf_empty_beside(wf_array_context(a), dtype, *out, .operand = from, .operands = 2);
        wf_array_fill(c, 0);
        return wfl_agreed(c, function, c);
    }
    return out->dim[out->rank - 2] == 1 || out->dim[out->rank - 1] == 1 ? with_vector(a, b, out, dtype)
                                                                        : of_matrices(a, b, out, dtype);
}
