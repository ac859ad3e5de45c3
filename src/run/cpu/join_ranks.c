/* join_ranks.c - see join_ranks.h.
 *
 * Rows of values are joined as a binary tree (plan/join_order.h). A rank joins the subtrees of which it has all rows. The
 * largest of these, the roots, go to all ranks, and each rank joins the rest of the tree by itself. A rank that owns
 * consecutive rows of a reduction has at most twice as many roots as the tree has levels.
 *
 * If axes are kept, several ranks may own a row: each has other kept points. These ranks are a class, which the first of
 * them stands for.
 */
#include "run/cpu/join_ranks.h"
#include "plan/join_order.h"

enum { NOBODY = -1 };

/* What is joined: partial results, or private copies. */
typedef struct joined {
    const wf__stage *stage;
    const wf__partials *partials;
    wf__copies *copies; /* NULL = partial results */
} joined;

typedef struct tree {
    const joined *what;
    const wf__others *others;
    wf__part_grid grid;
    int32_t *owner; /* [rows] class of the ranks that have a row */
    int64_t *root;  /* [roots] first rows of the roots, in order of the tree */
    int64_t *size;  /* [rows] at the first row of a root: its rows; else 0 */
    int64_t roots;
    int32_t *class_of;      /* [ranks] */
    size_t *bytes, *offset; /* [ranks] pieces of `all` */
    char *all;
} tree;

static void join_pair(const tree *t, int64_t to, int64_t from)
{
    if (t->what->copies)
        wf__copies_join_pair(t->what->copies, to, from);
    else
        wf__partials_join_pair(t->what->partials, to, from);
}

/* ---- who has which rows ---- */
/* Notes the rows of a rank. Ranks with the same rows become one class. */
static void note_rows(tree *t, int rank)
{
    const wf__stage *stage = t->what->stage;
    const wf__box *share = &stage->division.share[rank];
    const wf__part_grid parts = wf__parts_of(stage);
    const int axes = stage->lowered.rank;
    wf__box own = { { 0 }, { 0 } };
    int64_t at[WF_MAX_RANK];
    t->class_of[rank] = NOBODY;
    if (wf__box_is_empty(share, axes))
        return;
    for (int d = 0; d < axes; ++d) {
        const int64_t size = stage->partition.box[d];
        const bool kept = wf__keeps_loop(&stage->lowered, d);
        own.lo[d] = kept ? 0 : share->lo[d] / size;
        own.hi[d] = kept ? 1 : (share->hi[d] + size - 1) / size;
    }
    memcpy(at, own.lo, sizeof at);
    for (int d = 0; d >= 0;) {
        const int64_t row = wf__part_number(&parts, at);
        if (t->owner[row] == NOBODY)
            t->owner[row] = rank;
        t->class_of[rank] = t->owner[row];
        for (d = axes - 1; d >= 0 && ++at[d] >= own.hi[d]; --d)
            at[d] = own.lo[d];
    }
}

static int64_t rows_of(const tree *t, const wf__box *range) { return (int64_t)wf__box_elements(range, t->grid.axes); }

static void add_root(tree *t, int64_t row, int64_t size)
{
    t->size[row] = size;
    t->root[t->roots++] = row;
}

/* Joins the subtrees of a range of rows that this rank has. Returns the class that has all of these rows; NOBODY = none
 * has, and the roots among them are noted. The range is as before at the end. */
static int32_t join_own(tree *t, wf__box *range)
{
    const int axis = wf__halved_axis(&t->grid, range);
    const int64_t first = wf__part_number(&t->grid, range->lo);
    if (axis < 0)
        return t->owner[first];
    const int64_t lo = range->lo[axis], hi = range->hi[axis], mid = wf__second_half(range, axis);
    range->hi[axis] = mid;
    const int64_t left_rows = rows_of(t, range);
    const int32_t left = join_own(t, range);
    range->hi[axis] = hi;
    range->lo[axis] = mid;
    const int64_t second = wf__part_number(&t->grid, range->lo), right_rows = rows_of(t, range);
    const int32_t right = join_own(t, range);
    range->lo[axis] = lo;
    if (left == right && left != NOBODY) {
        if (left == t->class_of[t->others->rank])
            join_pair(t, first, second);
        return left;
    }
    if (left != NOBODY)
        add_root(t, first, left_rows);
    if (right != NOBODY)
        add_root(t, second, right_rows);
    return NOBODY;
}

/* Joins the roots in a range of rows. The range is as before at the end. */
static void join_rest(const tree *t, wf__box *range)
{
    const int axis = wf__halved_axis(&t->grid, range);
    const int64_t first = wf__part_number(&t->grid, range->lo);
    if (axis < 0 || t->size[first] == rows_of(t, range))
        return;
    const int64_t lo = range->lo[axis], hi = range->hi[axis], mid = wf__second_half(range, axis);
    range->hi[axis] = mid;
    join_rest(t, range);
    range->hi[axis] = hi;
    range->lo[axis] = mid;
    const int64_t second = wf__part_number(&t->grid, range->lo);
    join_rest(t, range);
    range->lo[axis] = lo;
    join_pair(t, first, second);
}

/* ---- pieces ---- */
/* Copies the values of a row between its memory and a rank's piece: of partial results those of the kept points that the rank
 * has. Returns their bytes. at: NULL = only counts them. */
static size_t copy_values(const tree *t, int rank, int64_t row, char *at, bool out)
{
    const wf__stage *stage = t->what->stage;
    const wf__ir *body = &stage->lowered;
    const wf__box *share = &stage->division.share[rank];
    int loop[WF_MAX_RANK], n = 0;
    size_t done = 0;
    if (t->what->copies)
        return wf__copies_move(t->what->copies, row, at, out);
    for (int d = 0; d < body->rank; ++d)
        if (wf__keeps_loop(body, d))
            loop[n++] = d;
    for (uint32_t k = 0; k < body->red_n; ++k) {
        size_t size = stage->reduce.axes ? wf__size(body->red[k].dtype) : sizeof(uint64_t);
        int64_t index[WF_MAX_RANK] = { 0 }, run = n ? share->hi[loop[n - 1]] - share->lo[loop[n - 1]] : 1;
        char *values = at ? wf__partial_of(t->what->partials, row, k) : NULL;
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
static bool begin(tree *t, const joined *what, const wf__others *others)
{
    const size_t ranks = (size_t)others->ranks;
    size_t total = 0;
    *t = (tree){ .what = what, .others = others };
    t->grid = what->copies ? wf__parts_of(what->stage) : wf__in_line(wf__partials_rows(what->stage));
    wf__box all = wf__all_parts(&t->grid);
    const size_t n = wf__box_elements(&all, t->grid.axes);
    t->owner = wf__alloc(n * sizeof *t->owner);
    t->root = wf__alloc(n * sizeof *t->root);
    t->size = wf__alloc0((n + 1) * sizeof *t->size);
    t->class_of = wf__alloc(ranks * sizeof *t->class_of);
    t->bytes = wf__alloc(ranks * sizeof *t->bytes);
    t->offset = wf__alloc(ranks * sizeof *t->offset);
    if (!t->owner || !t->root || !t->size || !t->class_of || !t->bytes || !t->offset)
        return false;
    for (size_t i = 0; i < n; ++i)
        t->owner[i] = NOBODY;
    for (int r = 0; r < others->ranks; ++r)
        note_rows(t, r);
    if (join_own(t, &all) != NOBODY)
        add_root(t, 0, (int64_t)n);
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
    wf__free(t->size);
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

static bool join(const joined *what, bool there, const wf__others *others, bool ok, wf__failure *f)
{
    tree t = { .what = NULL };
    if (ok && (!there || !begin(&t, what, others)))
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
    if (ok) {
        wf__box all = wf__all_parts(&t.grid);
        join_rest(&t, &all);
    }
    done(&t);
    return ok;
}

bool wf__join_ranks(const wf__partials *p, const wf__others *others, bool ok, wf__failure *f)
{
    return join(&(joined){ .stage = p->stage, .partials = p }, p->at, others, ok, f);
}

bool wf__join_copies_of_ranks(const wf__stage *stage, wf__copies *c, const wf__others *others, bool ok, wf__failure *f)
{
    return join(&(joined){ .stage = stage, .copies = c }, c, others, ok, f);
}
