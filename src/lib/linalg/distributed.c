/* distributed.c - linear algebra on distributed arrays of matrices.
 *
 * Results are distributed by the rule for results. Ranks divide the batch, so that each has whole matrices, with their
 * right-hand sides (operands.h), and computes as one process does; results that are cut in another way are moved at the end.
 * Of a batch without axes the first rank computes the only matrix. Ranks then agree on the matrix without a result that one
 * process would name.
 */
#include "lib/array/lines.h"
#include "lib/array/operands.h"
#include "matrices.h"

/* ---- how arrays are cut ---- */
/* Returns an array for a result, distributed by the rule for results. */
static wf_array *result_beside(const wfl_job *j, const wfl_wanted *want, const wf_array *a, const wf_array *b)
{
    const wf_array *from[] = { a, b };
    const wf_shape shape = wfl_job_shape(j, want->rows, want->columns);
    int along[WF_MAX_RANK];
    for (int d = 0; d < WF_MAX_RANK; ++d)
        along[d] = d < j->batch.rank ? d : -1;
    if (want->columns >= 0)
        return wf_empty_beside(j->ctx, want->dtype, shape, .operand = from, .operands = 2);
    return wf_empty_beside(j->ctx, want->dtype, shape, .operand = &a, .operands = 1, .along = along,
                           .device = wf_array_device(a));
}

/* Cuts the batch among the ranks of `as`, [batch..., m, n]: as that is, if it has whole matrices. */
static wf_dist cut_batch(const wfl_job *j, const wf_array *as)
{
    const wf_shape shape = wf_array_shape(as);
    const int m = j->batch.rank;
    if (!m)
        return *wf_array_dist(as);
    wf_dist dist = wfl_dist_whole(as, &shape, WF_AXES(m, m + 1));
    wf_dist_options o = { .size = sizeof o };
    o.grid[m] = o.grid[m + 1] = 1;
    if (dist.grid[m] > 1 || dist.grid[m + 1] > 1) /* all matrices are on ranks of one place along these axes */
        wf_dist_make(&shape, dist.ranks, &o, &dist);
    return dist;
}

/* Cuts an array of a matrix, a vector or a number for each of the batch. Numbers without a batch have one axis. */
static wf_dist cut_array(const wfl_job *j, const wf_dist *batch, int64_t rows, int64_t columns)
{
    wf_dist dist = *batch;
    dist.shape = wfl_job_shape(j, rows, columns);
    for (int d = j->batch.rank; d < WF_MAX_RANK; ++d) {
        dist.grid[d] = 1;
        dist.unit[d] = 1;
    }
    if (j->batch.rank)
        return dist;
    if (!dist.shape.rank)
        dist.shape = WF_SHAPE(1);
    dist.grid[0] = dist.ranks;
    dist.unit[0] = dist.shape.dim[0] > 0 ? dist.shape.dim[0] : 1;
    return dist;
}

/* ---- the matrices of a rank ---- */
/* Returns the job of this rank's matrices. */
static wfl_job part_of(const wfl_job *j, const wf_array *as, const wf_dist *dist)
{
    const int me = wf_ranks_rank(wf_array_ranks(as));
    int64_t hi[WF_MAX_RANK];
    wfl_job part = *j;
    wf_dist_range(dist, me, part.first, hi);
    for (int d = 0; d < j->batch.rank; ++d)
        part.batch.dim[d] = hi[d] - part.first[d];
    part.count = j->batch.rank ? wfl_axes_count(&part.batch, WF_ALL_AXES) : me == 0;
    return part;
}

/* Computes results into the blocks of this rank. */
static bool compute_into(wfl_job *part, wfl_compute *compute, const wf_array *a, const wf_array *b,
                         wf_array *const blocks[])
{
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    part->device = wf_array_device(a);
    bool ok = compute(part, a, b, out);
    for (int i = 0; i < WFL_JOB_RESULTS; ++i) {
        ok = ok && (!out[i] || wf_array_assign(blocks[i], out[i]) == WF_OK);
        wf_release(out[i]);
    }
    return ok;
}

/* Computes the results of this rank's matrices, if it has some. `right`: the call has right-hand sides, b. */
static bool compute_own(wfl_job *part, wfl_compute *compute, const wfl_operand *a, const wfl_operand *b, bool right,
                        wf_array *const made[])
{
    wf_array *blocks[WFL_JOB_RESULTS] = { NULL };
    bool ok = a->view && (b->view || !right);
    for (int i = 0; i < WFL_JOB_RESULTS; ++i) {
        blocks[i] = made[i] ? wf_array_block(made[i]) : NULL;
        ok = ok && (blocks[i] || !made[i]);
    }
    if (ok && part->count)
        ok = compute_into(part, compute, a->view, b->view, blocks);
    for (int i = 0; i < WFL_JOB_RESULTS; ++i)
        ok = (!made[i] || wf_array_block_end(made[i], blocks[i]) == WF_OK) && ok;
    return ok;
}

/* All ranks learn whether one has failed, and which matrix without a result one process would name. */
static bool agree(wfl_job *j, const wfl_job *part, const wf_array *as, bool ok)
{
    typedef struct note {
        int64_t why, place;
    } note;
    const note own = { part->refusal, part->refused };
    wf_ranks *ranks = wf_array_ranks(as);
    void *data = NULL;
    wf_array *memory = wfl_array_scratch(j->ctx, wf_ranks_size(ranks), sizeof own, &data);
    const bool failed = !memory || (!ok && part->refusal == WFL_NOT_REFUSED);
    ok = wfl_ranks_agree(j->ctx, j->function, as, failed ? wfl_array_error(j->ctx) : WF_OK) == WF_OK &&
         wfl_ranks_done(as, j->function, wf_ranks_all_gather(ranks, &own, data, (wf_pieces){ .each = sizeof own }));
    for (int r = 0; ok && r < wf_ranks_size(ranks); ++r) {
        const note n = ((const note *)data)[r];
        const bool before = n.why < (int64_t)j->refusal || (n.why == (int64_t)j->refusal && n.place < j->refused);
        if (n.why == WFL_NOT_REFUSED || (j->refusal != WFL_NOT_REFUSED && !before))
            continue;
        j->refusal = (wfl_refusal)n.why;
        j->refused = n.place;
    }
    wf_release(memory);
    return ok && j->refusal == WFL_NOT_REFUSED;
}

/* Copies what ranks have made into a result, which may be the same array. */
static bool deliver(const wfl_job *j, wf_array *out, const wf_array *made)
{
    if (out == made)
        return true;
    if (wf_array_dist(out))
        return wf_array_redistribute(out, made) == WF_OK;
    wf_array *all = wf_array_collect(made), *one = all ? wf_view_reshape(all, WF_SCALAR) : NULL;
    const bool collected = all != NULL, ok = one && wf_array_assign(out, one) == WF_OK;
    wf_release(one);
    wf_release(all);
    return collected && wfl_ranks_agree(j->ctx, j->function, made, ok ? WF_OK : wfl_array_error(j->ctx)) == WF_OK;
}

/* ---- the function ---- */
bool wfl_job_distributed(wfl_job *j, wfl_compute *compute, const wf_array *a, const wf_array *b,
                         wf_array *out[WFL_JOB_RESULTS])
{
    wf_array *made[WFL_JOB_RESULTS] = { NULL };
    bool ok = true;
    for (int i = 0; ok && i < WFL_JOB_RESULTS; ++i)
        if (j->want[i].dtype != WF_NONE)
            ok = (out[i] = result_beside(j, &j->want[i], a, b)) != NULL;
    const wf_array *as = b ? out[0] : a;
    if (!ok || !wfl_operand_fits(j->function, a, as) || (b && !wfl_operand_fits(j->function, b, as)))
        return false;
    const wf_dist batch = cut_batch(j, as), dist = cut_array(j, &batch, j->rows, j->columns),
                  right = cut_array(j, &batch, j->rows, j->k);
    for (int i = 0; ok && i < WFL_JOB_RESULTS; ++i) {
        if (!out[i])
            continue;
        const wf_dist cut = cut_array(j, &batch, j->want[i].rows, j->want[i].columns);
        made[i] = wf_array_dist(out[i]) && wfl_same_dist(&cut, wf_array_dist(out[i]))
                      ? wf_retain(out[i])
                      : wf_empty_distributed(j->ctx, j->want[i].dtype, wf_array_ranks(as), &cut);
        ok = made[i] != NULL;
    }
    const int last = j->batch.rank + 1;
    wfl_operand x = { .owner = NULL }, y = { .owner = NULL };
    ok = ok && wfl_operand_fetch(&x, j->function, a, as, &dist, last) &&
         (!b || wfl_operand_fetch(&y, j->function, b, as, &right, last));
    const bool fetched = ok;
    wfl_job part = part_of(j, as, &dist);
    if (fetched) {
        wfl_operand_begin(&x);
        wfl_operand_begin(&y);
        ok = compute_own(&part, compute, &x, &y, b != NULL, made);
    }
    ok = wfl_operand_end(&x) && ok;
    ok = wfl_operand_end(&y) && ok;
    if (fetched)
        ok = agree(j, &part, as, ok);
    for (int i = 0; i < WFL_JOB_RESULTS; ++i) {
        ok = ok && (!made[i] || deliver(j, out[i], made[i]));
        wf_release(made[i]);
    }
    return ok;
}
