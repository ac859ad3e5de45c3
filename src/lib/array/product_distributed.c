/* product_distributed.c - products of distributed arrays of matrices.
 *
 * The result is distributed by the rule for results. To compute its block, a rank needs the rows of `a` and the columns of `b`
 * that it has in the block, whole along k. Where it does not have them already, one launch for each operand fetches them into
 * an array of which each rank's block is what that rank needs. Rows that several ranks need are several times in this array,
 * along an axis of its own. Then each rank multiplies as one process does.
 *
 * A matrix and a vector are one launch with a reduction, which ranks join if they divide k of the matrix.
 */
#include "lines.h"
#include "product.h"
#include "weft/derivative.h"

static const char *const function = "wf_array_matmul";

/* ---- matrices ---- */
/* What a rank needs of an operand. */
typedef struct operand {
    wf_array *owner, *block; /* a distributed array and its block; NULL = the operand is an ordinary one */
    int part;                /* the axis of the block that was inserted; -1 = none */
    bool began;              /* the view of the block */
    wf_array *matrix;        /* a view of it: [..., rows, k], or [..., k, columns] */
} operand;

/* Sets how an array is distributed of which each block is what a rank needs for its block of c. Axes of the operand are counted
 * from the last one, as those of c; k is the axis along which each rank needs all of it. repeated: axes along which all ranks
 * need the same element. Returns the number of axes that were inserted before k. */
static int find_parts(const wf_shape *shape, const wf_dist *c, int k, wf_dist *dist, wf_axes *repeated)
{
    const int first = c->shape.rank - shape->rank, inserted = c->grid[k] > 1;
    *dist = *c;
    *repeated = 0;
    dist->shape.rank += inserted;
    for (int d = c->shape.rank; d-- > k;) {
        const int to = d + inserted;
        dist->shape.dim[to] = shape->dim[d - first];
        dist->grid[to] = d == k ? 1 : c->grid[d];
        dist->unit[to] = d == k ? 1 : c->unit[d];
    }
    if (inserted) {
        dist->shape.dim[k] = dist->grid[k] = c->grid[k];
        dist->unit[k] = 1;
    }
    for (int d = 0; d < k; ++d) {
        const int64_t extent = d < first ? 1 : shape->dim[d - first];
        if (extent == c->shape.dim[d])
            continue;
        *repeated |= 1u << d;
        dist->shape.dim[d] = c->grid[d];
        dist->unit[d] = 1;
    }
    return inserted;
}

/* Returns an array of the parts of x, cut so. */
static wf_array *fetch_parts(const wf_array *x, const wf_dist *dist, int k, int inserted, wf_axes repeated)
{
    wf_context *ctx = wf_array_context(x);
    const int rank = wf_array_shape(x).rank, first = dist->shape.rank - inserted - rank;
    wf_array *parts = wf_empty_distributed(ctx, wf_array_dtype(x), wf_array_ranks(x), dist);
    if (!parts)
        return NULL;
    wf_graph *g = wfl_begin(ctx, function, .shape = dist->shape);
    wf_val index[WF_MAX_RANK];
    for (int i = 0; i < rank; ++i) {
        const int d = first + i;
        index[i] = repeated >> d & 1 ? wf_const_i64(g, WF_I64, 0) : wf_index(g, d < k ? d : d + inserted);
    }
    wf_out(g, parts, wf_read_n(g, x, (wf_vals){ index, (size_t)rank }));
    return wfl_array_run(g, parts);
}

/* Returns a view of what this rank needs of an array that it has all of. */
static wf_array *part_of_ordinary(const wf_array *x, const wf_array *c, int k)
{
    const wf_dist *dist = wf_array_dist(c);
    wf_shape shape = wf_array_shape(x);
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK], offset[WF_MAX_RANK] = { 0 };
    wf_dist_range(dist, wf_ranks_rank(wf_array_ranks(c)), lo, hi);
    for (int i = 0; i < shape.rank; ++i) {
        const int d = dist->shape.rank - shape.rank + i;
        if (d == k || shape.dim[i] != dist->shape.dim[d])
            continue;
        offset[i] = lo[d];
        shape.dim[i] = hi[d] - lo[d];
    }
    return wfl_array_part(x, &shape, offset);
}

/* Collective: gets what the ranks need of an operand for their blocks of c. False: an error, the same on all ranks. */
static bool fetch_operand(operand *o, const wf_array *x, const wf_array *c, int k)
{
    const wf_shape shape = wf_array_shape(x);
    if (!wf_array_dist(x)) {
        o->matrix = part_of_ordinary(x, c, k);
        return true;
    }
    wf_dist dist;
    wf_axes repeated;
    if (shape.rank == WF_MAX_RANK && wf_array_dist(c)->grid[k] > 1) {
        wfl_array_fail(
            wf_array_context(x), WF_ERR_UNSUPPORTED,
            "%s: the operands have %d axes, and ranks divide axis %d of the result, so that there is no axis "
            "left for what several ranks need (wf_array_redistribute)",
            function, WF_MAX_RANK, k);
        return false;
    }
    const int inserted = find_parts(&shape, wf_array_dist(c), k, &dist, &repeated);
    o->owner = !repeated && wfl_same_dist(&dist, wf_array_dist(x)) ? wf_retain(x)
                                                                   : fetch_parts(x, &dist, k, inserted, repeated);
    o->part = inserted ? k : -1;
    return o->owner != NULL;
}

/* Begins the view of this rank's part. The memory of an array does not grow while there is one, so all is fetched before. */
static void begin_operand(operand *o)
{
    if (!o->owner)
        return;
    o->block = wf_array_block(o->owner);
    o->matrix = !o->block ? NULL : o->part >= 0 ? wf_view_at(o->block, o->part, 0) : wf_retain(o->block);
    o->began = true;
}

static bool end_operand(operand *o)
{
    wf_release(o->matrix);
    const bool ended = !o->began || wf_array_block_end(o->owner, o->block) == WF_OK;
    wf_release(o->owner);
    return ended;
}

/* Computes this rank's block of c. */
static bool multiply_block(wf_array *c, const operand *a, const operand *b)
{
    wf_array *to = wf_array_block(c), *made = NULL;
    const wf_shape shape = wf_array_shape(to);
    bool ok = to && a->matrix && b->matrix;
    if (ok && wf_array_count(to)) {
        made = wfl_matrix_product(a->matrix, b->matrix, &shape, wf_array_dtype(c));
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
    operand left = { .owner = NULL }, right = { .owner = NULL };
    bool ok = c != NULL;
    for (int i = 0; i < 2 && ok; ++i)
        if (wf_array_dist(from[i]))
            ok = wfl_distributed_together(ctx, function, c, from[i]);
        else if (wf_is_taped(from[i])) {
            wfl_array_fail(ctx, WF_ERR_UNSUPPORTED, "%s: tapes do not know distributed arrays", function);
            ok = false;
        }
    ok = ok && fetch_operand(&left, a, c, out->rank - 1) && fetch_operand(&right, b, c, out->rank - 2);
    const bool fetched = ok;
    if (fetched) {
        begin_operand(&left);
        begin_operand(&right);
        ok = multiply_block(c, &left, &right);
    }
    ok = end_operand(&left) && ok;
    ok = end_operand(&right) && ok;
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
