/* space.c - finds the index space of an operator text that needs one. Its shape is the first of these that exists:
 *   the shape of the argument named ""
 *   the shape of the arrays that the text assigns, else of those that it writes by index
 *   the broadcast shape of the arrays read at the point, without those of one element
 *   the broadcast shape of the arrays read by an index in which a coordinate takes part
 *   the broadcast shape of all arrays
 */
#include "text/record.h"

/* ---- shapes ---- */

bool wf__text_same_shape(const wf_shape *a, const wf_shape *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->dim[d] == b->dim[d] || a->dim[d] < 0 || b->dim[d] < 0;
    return same;
}

/* Broadcasts *common and s into *common; false if they do not broadcast. An extent below 0 is open (a formal). */
static bool join_shape(wf_shape *common, wf_shape s)
{
    int rank = s.rank > common->rank ? s.rank : common->rank;
    wf_shape out = { .rank = rank };
    for (int k = 1; k <= rank; k++) {
        int64_t a = k <= common->rank ? common->dim[common->rank - k] : 1;
        int64_t b = k <= s.rank ? s.dim[s.rank - k] : 1;
        if (a != b && a != 1 && b != 1 && a >= 0 && b >= 0)
            return false;
        out.dim[rank - k] = a == 1 || (a < 0 && b != 1) ? b : a;
    }
    *common = out;
    return true;
}

/* Sets r->common to the broadcast shape of all array arguments, and r->convert.real to the dtype of numbers alone. */
static void find_common_shape(wf__recorder *r)
{
    r->fits = true;
    r->shaped = false;
    r->common = (wf_shape){ .rank = 0 };
    bool operands = false, wide = false;
    for (size_t i = 0; i < r->args.n; i++) {
        const wf_arg *arg = &r->args.at[i];
        wf_shape s = { .rank = 0 };
        wf_dtype t = WF_NONE;
        if (arg->kind == WF_ARG_ARRAY && arg->as.array) {
            s = wf_array_shape(arg->as.array);
            t = wf_array_dtype(arg->as.array);
            operands |= arg->name && *arg->name; /* the argument named "" gives only its shape */
            r->shaped = true;
        } else if (arg->kind == WF_ARG_VALUE && !wf_val_number(arg->as.val, NULL, NULL)) {
            s = wf_val_shape(arg->as.val);
            t = wf_val_dtype(arg->as.val);
            operands = true;
            r->shaped = true;
        }
        wide |= t == WF_F64;
        if (!join_shape(&r->common, s))
            r->fits = false;
    }
    r->convert.real = wide || !operands ? WF_F64 : WF_F32;
}

/* ---- the search ---- */

typedef struct search {
    wf__recorder *r;
    wf_shape shape;
    bool found;
    uint8_t *moves; /* [node]: a coordinate takes part in its value */
    const wf__stmt **moving;
    uint32_t moving_n; /* number of statements that give such a value to a name */
    bool whole;        /* values are whole arrays: a reduction has no coordinates */
} search;

static void fail_disagreement(search *s, uint32_t at, const wf_shape *other, const char *how)
{
    char first[160], second[160];
    wf_shape_text(&s->shape, first, sizeof first);
    wf_shape_text(other, second, sizeof second);
    wf__text_mistake(s->r, WF_ERR_SHAPE, at, "the index space would be %s and, by this array, %s: %s", first, second,
                     how);
}

/* Returns the array of that name: of an earlier part, or an argument. NULL: there is none. With `old`, an argument that
 * a result replaces is such an array, too. */
static const wf_array *array_named(const search *s, uint32_t at, uint32_t len, bool old)
{
    const wf__text_name *name = s->whole ? NULL : wf__text_assigned(s->r, at, len);
    if (name)
        return name->stored ? name->whole : NULL;
    int w = wf__text_wanted(s->r, at, len);
    if (w >= 0 && !s->whole && s->r->made && s->r->made[w])
        return s->r->made[w];
    const wf_arg *arg = wf__text_arg(s->r, at, len);
    return arg && arg->kind == WF_ARG_ARRAY && (w < 0 || old) ? arg->as.array : NULL;
}

static bool search_outputs(search *s, bool by_index)
{
    const wf__text *t = s->r->text;
    int level = 0;
    for (uint32_t i = s->r->first; i < wf__text_end(s->r) && !s->r->failed; i++) {
        const wf__stmt *w = &t->stmt[i];
        level += wf__stmt_opens(w);
        bool whole = w->kind == WF__STMT_ASSIGN || (w->kind == WF__STMT_LOCAL && level == 0);
        if (by_index ? w->kind != WF__STMT_WRITE || w->op : !whole)
            continue;
        const wf__text_name *name = wf__text_assigned(s->r, w->at, w->len);
        bool value = name && name->dtype == WF_NONE && !by_index; /* the name is going to stand for something else */
        const wf_array *a = value ? NULL : array_named(s, w->at, w->len, false);
        wf_shape shape = a ? wf_array_shape(a) : WF_SCALAR;
        if (a && s->found && !wf__text_same_shape(&shape, &s->shape))
            fail_disagreement(s, w->at, &shape, "all arrays that a text assigns have one shape");
        if (a && !s->found)
            s->shape = shape;
        s->found |= a != NULL;
    }
    return s->found;
}

static void join_space(search *s, uint32_t at, const wf_array *a)
{
    wf_shape shape = wf_array_shape(a), both = s->shape;
    if (!join_shape(&both, shape))
        fail_disagreement(s, at, &shape,
                          "they do not broadcast; give the shape (weft calc: --shape), or read it by index");
    s->shape = both;
    s->found = true;
}

static bool search_point_reads(search *s)
{
    const wf__text *t = s->r->text;
    uint32_t first = t->n, end = 1;
    for (uint32_t i = s->r->first; i < wf__text_end(s->r); i++) {
        const wf__stmt *w = &t->stmt[i];
        first = w->first < w->last && w->first < first ? w->first : first;
        end = w->first < w->last && w->last > end ? w->last : end;
    }
    for (uint32_t i = first; i < end && !s->r->failed; i++) {
        const wf__tree *n = &t->node[i];
        const wf__text_ready *ready = wf__text_ready_at(s->r, i);
        if (ready) { /* the nodes before it have been computed */
            i = ready->node;
            continue;
        }
        const wf_array *a = n->kind == WF__TREE_NAME ? array_named(s, n->at, n->len, true) : NULL;
        if (a && wf_array_count(a) != 1)
            join_space(s, n->at, a);
    }
    return s->found;
}

/* ---- indices made of coordinates ---- */

static bool name_moves(const search *s, const wf__tree *n)
{
    const wf__text *t = s->r->text;
    for (uint32_t i = 0; i < s->moving_n; i++)
        if (wf__text_same(t, s->moving[i]->at, s->moving[i]->len, n->at, n->len))
            return true;
    return !wf__text_arg(s->r, n->at, n->len) && wf__text_coordinate(t, n->at, n->len);
}

static bool node_moves(const search *s, const wf__tree *n)
{
    const uint32_t *list = s->r->text->list;
    bool any = false;
    if (n->kind == WF__TREE_NAME)
        return name_moves(s, n);
    if (n->kind != WF__TREE_CALL && n->kind != WF__TREE_READ)
        return s->moves[n->a] || s->moves[n->b] || s->moves[n->c];
    if (s->whole && n->kind == WF__TREE_CALL) {
        wf__text_fold kind = wf__text_fold_named(s->r->text->src + n->at, n->len, n->n);
        if (kind != WF__FOLD_NONE && !wf__text_fold_keeps(kind))
            return false;
    }
    if (s->whole && n->kind == WF__TREE_READ) {
        const wf_array *a = array_named(s, n->at, n->len, false);
        any = a && wf_array_shape(a).rank > (int)n->n; /* the point's own index along the first axes */
    }
    for (uint32_t k = 0; k < n->n; k++)
        any |= s->moves[list[n->a + k]] != 0;
    return any;
}

/* An assignment in an array graph gives the name another value, which may have no coordinates. */
static void forget_moving(search *s, const wf__stmt *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->moving_n; i++)
        if (!wf__text_same(s->r->text, s->moving[i]->at, s->moving[i]->len, w->at, w->len))
            s->moving[kept++] = s->moving[i];
    s->moving_n = kept;
}

/* Sets s->moves of all nodes. Joins the shape of each array that a node reads by an index made of coordinates; in array
 * graphs instead that of each array argument that is assigned a value made of them. */
static void search_moves(search *s)
{
    enum { MAX_MOVING = 1000 };
    const wf__text *t = s->r->text;
    s->moves = wf__alloc0(t->n);
    s->moving = wf__alloc0((t->stmt_n < MAX_MOVING ? t->stmt_n : MAX_MOVING) * sizeof *s->moving);
    if (!s->moves || !s->moving)
        wf__text_mistake(s->r, WF_ERR_MEMORY, 0, "out of memory");
    for (uint32_t i = s->whole ? 0 : s->r->first; i < (s->whole ? t->stmt_n : wf__text_end(s->r)) && !s->r->failed;
         i++) {
        const wf__stmt *w = &t->stmt[i];
        for (uint32_t k = w->first; k < w->last && !s->r->failed; k++) {
            const wf__tree *n = &t->node[k];
            s->moves[k] = node_moves(s, n);
            bool reads = n->kind == WF__TREE_READ && s->moves[k] && !s->whole;
            const wf_array *a = reads ? array_named(s, n->at, n->len, false) : NULL;
            if (a)
                join_space(s, n->at, a);
        }
        bool gives = (w->kind == WF__STMT_ASSIGN || w->kind == WF__STMT_LOCAL) && w->value && s->moves[w->value];
        const wf_array *target = gives && s->whole ? array_named(s, w->at, w->len, false) : NULL;
        if (target)
            join_space(s, w->at, target);
        if (s->whole && !w->op)
            forget_moving(s, w);
        if (gives && s->moving_n < MAX_MOVING)
            s->moving[s->moving_n++] = w;
    }
    wf__free(s->moves);
    wf__free(s->moving);
}

/* The argument that gives a shape and has no name; NULL if there is none. */
static const wf_array *shape_argument(const wf__recorder *r)
{
    for (size_t i = 0; i < r->args.n; i++)
        if (r->args.at[i].kind == WF_ARG_ARRAY && r->args.at[i].name && !*r->args.at[i].name)
            return r->args.at[i].as.array;
    return NULL;
}

/* True if all array arguments have the common shape: then no other rule gives another one. */
static bool is_uniform(const wf__recorder *r)
{
    bool same = r->fits;
    for (size_t i = 0; i < r->args.n && same; i++) {
        const wf_arg *arg = &r->args.at[i];
        wf_shape shape = arg->kind == WF_ARG_ARRAY ? wf_array_shape(arg->as.array) : r->common;
        same = wf__text_same_shape(&shape, &r->common);
    }
    return same;
}

void wf__text_array_shape(wf__recorder *r)
{
    const wf_array *given = shape_argument(r);
    search s = { .r = r, .whole = true };
    find_common_shape(r);
    if (!given && !r->text->expression && !is_uniform(r))
        search_moves(&s);
    if (!given && !s.found)
        return;
    r->common = given ? wf_array_shape(given) : s.shape;
    r->fits = true;
}

bool wf__text_space(wf__recorder *r, wf_shape *shape)
{
    search s = { .r = r };
    const wf_array *given = shape_argument(r);
    if (given) {
        s.shape = wf_array_shape(given);
        s.found = true;
    }
    if (!s.found && !search_outputs(&s, false) && !search_outputs(&s, true) && !search_point_reads(&s) && !r->failed)
        search_moves(&s);
    find_common_shape(r);
    if (!s.found && !r->failed && r->shaped && r->fits) {
        s.shape = r->common;
        s.found = true;
    }
    if (!s.found && !r->failed)
        wf__text_mistake(r, WF_ERR_SHAPE, r->text->program_at,
                         "no array gives the shape of the index space: read one at the point, "
                         "or give the shape (weft calc: --shape)");
    *shape = s.shape;
    return !r->failed;
}
