/* tile.c - copies a body for a tile of rows x columns points, so that value numbering merges the nodes that
 * neighbours share.
 *
 * A node is copied for every point of a group before the next node, which leaves independent chains side by side.
 * Accumulators must take their lanes in ascending order. So if columns share accumulators (there are more columns
 * than instances), the columns of a group are as many as the instances, and one group follows the other. If rows
 * share accumulators (the lane axis is kept), each row is a group. With `in_turn`, each column is a group. A node
 * whose operands are the same for all points is copied once.
 */
#include "plan/kernel.h"

typedef struct tiler {
    const wf__ir *body;
    wf__ir *out;
    wf__ref *map;        /* [node][point of the group] */
    bool *shared;        /* [node]: one copy serves all points */
    wf__vary *vary;      /* [node] only for bodies with loops */
    wf__ref *value;      /* [reduction][instance]: the accumulator's latest value; 0 = not set yet */
    int rows, first_row; /* rows of a group; the group's first row */
    int group, first;    /* columns of a group; the group's first column */
    int width, instances;
    bool interior;
} tiler;

static wf__ref *at(const tiler *t, wf__ref r) { return t->map + (size_t)r * (size_t)(t->rows * t->group); }
static int point_row(const tiler *t, int p) { return t->first_row + p / t->group; }
static int point_column(const tiler *t, int p) { return t->first + p % t->group; }

static bool same(const tiler *t, wf__ref r) { return !r || t->shared[r]; }

static bool same_tuple(const tiler *t, uint32_t tuple)
{
    for (uint32_t i = 0; i < wf__tuple_len(t->body, tuple); i++)
        if (!same(t, wf__tuple_at(t->body, tuple)[i]))
            return false;
    return true;
}

static bool is_shared(const tiler *t, wf__ref r)
{
    const wf__node *n = &t->body->node[r];
    switch ((wf__op)n->op) {
    case WF__NOP:
    case WF__CONST:
    case WF__PARAM:
    case WF__EXTENT:
    case WF__DIM:
    case WF__ARG:
    case WF__THREAD:
    case WF__BARRIER:
        return true;
    case WF__INDEX: {
        int axis = (int)n->a, rank = t->body->rank;
        return axis + 1 != rank && (axis + 2 != rank || t->rows == 1);
    }
    case WF__LOAD:
        return same_tuple(t, n->b) && same(t, n->c) && same(t, n->when);
    case WF__LOOP:
    case WF__END:
        return true;
    case WF__STATE: /* a state that is uniform along the lane axis is the same for all columns */
        return t->vary[r].kind == WF__UNIFORM;
    case WF__NEXT:
        return t->shared[n->a];
    case WF__COLD:
        return same(t, n->a) && same(t, n->b) && same_tuple(t, n->d);
    case WF__STORE:
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
    case WF__RED:
    case WF__SETRED:
#include "ir/case_graphs.def"
        return false;
#include "ir/case_pure.def"
        break;
    }
    int arity = wf__op_table[n->op].arity;
    return same(t, n->a) && (arity < 2 || same(t, n->b)) && (arity < 3 || same(t, n->c));
}

static uint32_t map_tuple(tiler *t, uint32_t tuple, int p)
{
    wf__ref refs[64];
    uint32_t n = wf__tuple_len(t->body, tuple);
    if (n > WF__COUNT(refs)) {
        wf__ir_fail(t->out, WF_ERR_UNSUPPORTED, "a tuple of %u values", n);
        return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        refs[i] = at(t, wf__tuple_at(t->body, tuple)[i])[p];
    return wf__tuple(t->out, refs, n);
}

static wf__ref copy_index(tiler *t, const wf__node *n, int p)
{
    wf__ref r = wf__index(t->out, (int)n->a);
    int64_t offset = 0;
    if ((int)n->a == t->body->rank - 1)
        offset = (int64_t)point_column(t, p) * t->width;
    else if ((int)n->a == t->body->rank - 2)
        offset = point_row(t, p);
    return offset ? wf__op2(t->out, WF__OP_add, r, wf__const_bits(t->out, WF_I64, (uint64_t)offset)) : r;
}

/* Records a pure operation. Sums of i64 are folded, so that index + constant + constant has one form. */
static wf__ref copy_pure(tiler *t, const wf__node *n, int p)
{
    int arity = wf__op_table[n->op].arity;
    wf__ref a = at(t, n->a)[p], b = arity > 1 ? at(t, n->b)[p] : 0, c = arity > 2 ? at(t, n->c)[p] : 0;
    if (n->dtype == WF_I64 && n->op == WF__OP_add) {
        int axis;
        int64_t x, y;
        const wf__node *k = wf__at(t->out, b);
        if (k->op == WF__CONST && wf__as_offset(t->out, a, &axis, &x) && axis >= 0 &&
            !__builtin_add_overflow(x, (int64_t)wf__bits(k), &y)) {
            wf__ref index = wf__index(t->out, axis);
            return y ? wf__op2(t->out, WF__OP_add, index, wf__const_bits(t->out, WF_I64, (uint64_t)y)) : index;
        }
        return wf__op2(t->out, n->op, a, b);
    }
    wf__node copy = *n;
    copy.a = a;
    copy.b = b;
    copy.c = n->op == WF__CHECK ? n->c : c;
    return wf__append(t->out, &copy);
}

static wf__ref *accumulator(const tiler *t, const wf__node *n)
{
    return &t->value[n->a * (uint32_t)t->instances + n->b];
}

static wf__ref copy_node(tiler *t, const wf__node *n, int p)
{
    wf__node copy = *n;
    switch ((wf__op)n->op) {
    case WF__INDEX:
        return copy_index(t, n, p);
    case WF__LOAD:
        copy.b = map_tuple(t, n->b, p);
        copy.c = n->c ? at(t, n->c)[p] : 0;
        copy.when = n->when ? at(t, n->when)[p] : 0;
        if (t->interior && wf__load_splits(t->body, n)) {
            copy.aux = WF_BORDER_NONE;
            copy.c = n->when ? copy.c : 0;
        }
        break;
    case WF__STORE:
        copy.b = map_tuple(t, n->b, p);
        copy.c = at(t, n->c)[p];
        copy.d = n->d ? at(t, n->d)[p] : 0;
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        copy.b = map_tuple(t, n->b, p);
        copy.c = n->op == WF__CAS ? map_tuple(t, n->c, p) : at(t, n->c)[p];
        copy.d = n->d ? at(t, n->d)[p] : 0;
        break;
    case WF__RED:
        copy.b = (uint32_t)(point_column(t, p) % t->instances);
        if (*accumulator(t, &copy))
            return *accumulator(t, &copy);
        break;
    case WF__SETRED:
        copy.b = (uint32_t)(point_column(t, p) % t->instances);
        copy.c = *accumulator(t, &copy) = at(t, n->c)[p];
        break;
    case WF__COLD:
        copy.a = at(t, n->a)[p];
        copy.b = at(t, n->b)[p];
        copy.d = map_tuple(t, n->d, p);
        break;
    case WF__LOOP:
        return wf__loop(t->out, n->aux);
    case WF__STATE:
        return wf__state(t->out, at(t, n->a)[0], at(t, n->b)[p], n->aux);
    case WF__NEXT:
        wf__next(t->out, at(t, n->a)[p], at(t, n->b)[p]);
        return 0;
    case WF__END:
        wf__end(t->out, at(t, n->a)[0]);
        return 0;
#include "ir/case_pure.def"
        return copy_pure(t, n, p);
    case WF__NOP:
    case WF__CONST:
    case WF__PARAM:
    case WF__EXTENT:
    case WF__DIM:
    case WF__ARG:
    case WF__THREAD:
    case WF__BARRIER:
#include "ir/case_graphs.def"
        break;
    }
    return wf__append(t->out, &copy);
}

static bool copy_tables(const wf__ir *in, wf__ir *out, int instances)
{
    if (!wf__grow(&out->slot, &out->slot_cap, in->slot_n, sizeof *in->slot) ||
        !wf__grow(&out->red, &out->red_cap, in->red_n, sizeof *in->red) ||
        !wf__grow(&out->param, &out->param_cap, in->param_n, sizeof *in->param))
        return false;
    if (in->slot_n)
        memcpy(out->slot, in->slot, in->slot_n * sizeof *in->slot);
    if (in->param_n)
        memcpy(out->param, in->param, in->param_n * sizeof *in->param);
    for (uint32_t i = 0; i < in->red_n; i++) {
        out->red[i] = in->red[i];
        out->red[i].instances = (uint8_t)instances;
    }
    out->slot_n = in->slot_n;
    out->red_n = in->red_n;
    out->param_n = in->param_n;
    return true;
}

static void copy_group(tiler *t)
{
    int points = t->rows * t->group;
    for (uint32_t i = 1; i < t->body->n && !t->out->status; i++) {
        const wf__node *n = &t->body->node[i];
        wf__ref *image = at(t, i);
        if (n->op == WF__NOP)
            continue;
        t->shared[i] = is_shared(t, i);
        image[0] = copy_node(t, n, 0);
        for (int p = 1; p < points; p++)
            image[p] = t->shared[i] ? image[0] : copy_node(t, n, p);
    }
}

bool wf__tile(const wf__ir *body, int rows, int columns, int width, bool interior, bool in_turn, wf__ir *out)
{
    wf__ir_init(out, body->rank, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    bool by_row = body->red_n && body->kept_lane;
    int instances = by_row ? columns : body->red_n ? WF__LANES / width : 1;
    int group = in_turn ? 1 : body->red_n && columns > instances ? instances : columns;
    rows = body->rank > 1 ? rows : 1;
    tiler t = { .body = body,
                .out = out,
                .rows = by_row ? 1 : rows,
                .group = group,
                .width = width,
                .instances = instances,
                .interior = interior };
    size_t cells;
    bool fits = wf__mul_size(body->n, (size_t)(t.rows * group), &cells) && wf__mul_size(cells, sizeof *t.map, &cells);
    t.map = fits ? wf__alloc0(cells) : NULL;
    t.shared = wf__alloc0(body->n);
    t.vary = wf__alloc(body->loops ? body->n * sizeof *t.vary : 1);
    t.value = wf__alloc0((body->red_n * (size_t)instances + 1) * sizeof *t.value);
    if (!t.map || !t.shared || !t.vary || !t.value || !copy_tables(body, out, instances))
        wf__ir_fail(out, WF_ERR_MEMORY, "out of memory");
    else if (body->loops)
        wf__analyse(body, t.vary);
    out->kept = body->kept;
    out->kept_lane = body->kept_lane;
    for (t.first_row = 0; t.first_row < rows && !out->status; t.first_row += t.rows)
        for (t.first = 0; t.first < columns && !out->status; t.first += group)
            copy_group(&t);
    wf__free(t.map);
    wf__free(t.shared);
    wf__free(t.vary);
    wf__free(t.value);
    return !out->status;
}
