/* join_ranks.c - see join_ranks.h.
 *
 * Rows of partial results are joined as a binary tree (partials.c). A rank joins the subtrees of which it has all rows. The
 * largest of these, the roots, go to all ranks, and each rank joins the rest of the tree by itself. A rank that owns
 * consecutive rows has at most twice as many roots as the tree has levels.
 *
 * If axes are kept, several ranks may own a row: each has other kept points. These ranks are a class, which the first of
 * them stands for.
 */
#include "run/cpu/join_ranks.h"

enum { NOBODY = -1 };

typedef struct tree {
    const wf__partials *p;
    const wf__others *others;
    int32_t *owner; /* [rows] class of the ranks that have a row */
    int64_t *root;  /* [roots] first rows of the roots, in order of the tree */
    int64_t *end;   /* [rows] at the first row of a root: the end of its rows; else 0 */
    int64_t roots;
    int32_t *class_of;      /* [ranks] */
    size_t *bytes, *offset; /* [ranks] pieces of `all` */
    char *all;
} tree;

/* ---- who has which rows ---- */
/* Notes the rows of a rank. Ranks with the same rows become one class. */
static void note_rows(tree *t, int rank)
{
    const wf__stage *stage = t->p->stage;
    const wf__box *share = &stage->division.share[rank];
    int64_t first[WF_MAX_RANK], count[WF_MAX_RANK], all[WF_MAX_RANK], index[WF_MAX_RANK];
    int n = 0;
    t->class_of[rank] = NOBODY;
    if (wf__box_is_empty(share, stage->lowered.rank))
        return;
    for (int d = 0; d < stage->lowered.rank; ++d) {
        int64_t size = stage->partition.box[d];
        if (wf__keeps_loop(&stage->lowered, d))
            continue;
        first[n] = share->lo[d] / size;
        count[n] = (share->hi[d] + size - 1) / size - first[n];
        all[n] = (stage->extent[d] + size - 1) / size;
        index[n++] = 0;
    }
    for (int d = 0; d >= 0;) {
        int64_t row = 0;
        for (int k = 0; k < n; ++k)
            row = row * all[k] + first[k] + index[k];
        if (t->owner[row] == NOBODY)
            t->owner[row] = rank;
        t->class_of[rank] = t->owner[row];
        for (d = n - 1; d >= 0 && ++index[d] >= count[d]; --d)
            index[d] = 0;
    }
}

/* Joins the subtrees of rows lo .. hi - 1 that this rank has. Returns the class that has all of these rows; NOBODY = none
 * has, and the roots among them are noted. */
static int32_t join_own(tree *t, int64_t lo, int64_t hi)
{
    if (hi - lo < 2)
        return t->owner[lo];
    int64_t mid = lo + (hi - lo) / 2;
    int32_t left = join_own(t, lo, mid), right = join_own(t, mid, hi);
    if (left == right && left != NOBODY) {
        if (left == t->class_of[t->others->rank] && t->p->at)
            wf__partials_join_pair(t->p, lo, mid);
        return left;
    }
    if (left != NOBODY) {
        t->end[lo] = mid;
        t->root[t->roots++] = lo;
    }
    if (right != NOBODY) {
        t->end[mid] = hi;
        t->root[t->roots++] = mid;
    }
    return NOBODY;
}

static void join_rest(const tree *t, int64_t lo, int64_t hi)
{
    if (t->end[lo] == hi || hi - lo < 2)
        return;
    int64_t mid = lo + (hi - lo) / 2;
    join_rest(t, lo, mid);
    join_rest(t, mid, hi);
    wf__partials_join_pair(t->p, lo, mid);
}

/* ---- pieces ---- */
/* Copies the values of the kept points that a rank has, between a row of partial results and its piece; returns the end of
 * the copied part of the piece. `at` NULL: only counts, from NULL. */
static size_t copy_values(const tree *t, int rank, int64_t row, char *at, bool out)
{
    const wf__stage *stage = t->p->stage;
    const wf__ir *body = &stage->lowered;
    const wf__box *share = &stage->division.share[rank];
    int loop[WF_MAX_RANK], n = 0;
    size_t done = 0;
    for (int d = 0; d < body->rank; ++d)
        if (wf__keeps_loop(body, d))
            loop[n++] = d;
    for (uint32_t k = 0; k < body->red_n; ++k) {
        size_t size = stage->reduce.axes ? wf__size(body->red[k].dtype) : sizeof(uint64_t);
        int64_t index[WF_MAX_RANK] = { 0 }, run = n ? share->hi[loop[n - 1]] - share->lo[loop[n - 1]] : 1;
        char *values = at ? wf__partial_of(t->p, row, k) : NULL;
        for (int d = 0; d >= 0;) {
            int64_t first = 0;
            for (int i = 0; i < n; ++i)
                first = first * stage->extent[loop[i]] + share->lo[loop[i]] + index[i];
            if (at)
                memcpy(out ? at + done : values + (size_t)first * size, out ? values + (size_t)first * size : at + done,
                       (size_t)run * size);
            done += (size_t)run * size;
            for (d = n - 2; d >= 0 && ++index[d] >= share->hi[loop[d]] - share->lo[loop[d]]; --d)
                index[d] = 0;
        }
    }
    return done;
}

/* Copies the roots of a rank's class to or from its piece. Returns the bytes. */
static size_t copy_roots(const tree *t, int rank, char *at, bool out)
{
    size_t done = 0;
    for (int64_t i = 0; i < t->roots && t->class_of[rank] != NOBODY; ++i)
        if (t->owner[t->root[i]] == t->class_of[rank])
            done += copy_values(t, rank, t->root[i], at ? at + done : NULL, out);
    return done;
}

/* ---- the join ---- */
static bool begin(tree *t, const wf__partials *p, const wf__others *others)
{
    size_t rows = (size_t)wf__partials_rows(p->stage), ranks = (size_t)others->ranks, total = 0;
    *t = (tree){ .p = p, .others = others };
    t->owner = wf__alloc(rows * sizeof *t->owner);
    t->root = wf__alloc(rows * sizeof *t->root);
    t->end = wf__alloc0((rows + 1) * sizeof *t->end);
    t->class_of = wf__alloc(ranks * sizeof *t->class_of);
    t->bytes = wf__alloc(ranks * sizeof *t->bytes);
    t->offset = wf__alloc(ranks * sizeof *t->offset);
    if (!p->at || !t->owner || !t->root || !t->end || !t->class_of || !t->bytes || !t->offset)
        return false;
    for (size_t i = 0; i < rows; ++i)
        t->owner[i] = NOBODY;
    for (int r = 0; r < others->ranks; ++r)
        note_rows(t, r);
    if (join_own(t, 0, (int64_t)rows) != NOBODY) {
        t->end[0] = (int64_t)rows;
        t->root[t->roots++] = 0;
    }
    for (int r = 0; r < others->ranks; ++r) {
        t->offset[r] = total;
        t->bytes[r] = copy_roots(t, r, NULL, true);
        total += t->bytes[r];
    }
    if (!(t->all = wf__alloc(total + 1)))
        return false;
    copy_roots(t, others->rank, t->all + t->offset[others->rank], true);
    return true;
}

static void done(tree *t)
{
    wf__free(t->owner);
    wf__free(t->root);
    wf__free(t->end);
    wf__free(t->class_of);
    wf__free(t->bytes);
    wf__free(t->offset);
    wf__free(t->all);
}

bool wf__ranks_go_on(const wf__others *others, wf_status mine, wf__failure *f)
{
    wf__failure unreached = { .status = WF_OK };
    int64_t few[64], *all = others->ranks <= (int)WF__COUNT(few) ? few : wf__alloc((size_t)others->ranks * sizeof *all);
    bool ok = all && others->agree(others->user, (int64_t)mine, all, &unreached);
    for (int r = 0; ok && r < others->ranks; ++r)
        if (all[r] != WF_OK && f->status == WF_OK) {
            f->status = (wf_status)all[r];
            wf__str_addf(&f->text, "rank %d could not compute its part%s", r,
                         all[r] == WF_ERR_MEMORY ? ", for lack of memory" : "");
        }
    if (!ok && f->status == WF_OK) {
        f->status = all ? unreached.status : WF_ERR_MEMORY;
        wf__str_add(&f->text, all ? wf__str_get(&unreached.text) : "out of memory for a join of ranks");
    }
    wf__str_free(&unreached.text);
    if (all != few)
        wf__free(all);
    return f->status == WF_OK;
}

void wf__join_failed(const wf__others *others, wf__failure *f)
{
    wf__ranks_go_on(others, f->status == WF_OK ? WF_ERR_BACKEND : f->status, f);
}

bool wf__join_ranks(const wf__partials *p, const wf__others *others, bool ok, wf__failure *f)
{
    tree t = { .p = NULL };
    if (ok && !begin(&t, p, others))
        ok = wf__out_of_memory(f, "a join of ranks");
    ok = wf__ranks_go_on(others,
                         ok                   ? WF_OK
                         : f->status == WF_OK ? WF_ERR_BACKEND
                                              : f->status,
                         f) &&
         ok && others->gather(others->user, t.all, t.bytes, t.offset, f);
    for (int r = 0; ok && r < others->ranks; ++r)
        if (t.class_of[r] != NOBODY && r != others->rank)
            copy_roots(&t, r, t.all + t.offset[r], false);
    if (ok)
        join_rest(&t, 0, wf__partials_rows(p->stage));
    done(&t);
    return ok;
}
