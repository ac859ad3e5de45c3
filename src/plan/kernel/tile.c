/* tile.c - copies a body for a tile of rows x columns points, so that value numbering merges the nodes that
 * neighbours share.
 *
 * A node is copied for every point of a group before the next node, which leaves independent chains side by side.
 * Accumulators must take their lanes in ascending order. So if columns share accumulators (there are more columns
 * than instances), the columns of a group are as many as the instances, and one group follows the other. If rows
 * share accumulators (the lane axis is kept), each row is a group. With `in_turn`, each column is a group. A node
 * whose operands are the same for all points is copied once.
 *
 * A loop of one group would end before that of the next one begins, and hide less latency. So in bodies with loops all
 * nodes that accumulators do not reach are copied first, for all columns. The others, which only join values to
 * accumulators, follow group by group. Where accumulators are joined in a loop, or a tile has several rows, all nodes
 * are copied group by group.
 */
#include "ir/pass/pass.h"
#include "plan/kernel.h"

typedef struct tiler {
    const wf__ir *body;
    wf__ir *out;
    wf__ref *map;        /* [point of the group][node] */
    bool *shared;        /* [node]: one copy serves all points */
    wf__vary *vary;      /* [node] only for bodies with loops */
    bool *local;         /* [node] of a LOCAL: one memory serves all points */
    wf__ref *value;      /* [reduction][instance]: the accumulator's latest value; 0 = not set yet */
    bool *joins;         /* [node]: it reads or sets accumulators, and may be copied after all others */
    int rows, first_row; /* rows of a group; the group's first row */
    int group, first;    /* columns of a group; the group's first column */
    int width, instances;
    bool interior;
} tiler;

/* Returns the nodes of the tile by the nodes of the body, for point p of the group. */
static wf__ref *map_of(const tiler *t, int p) { return t->map + (size_t)p * t->body->n; }
static int point_row(const tiler *t, int p) { return t->first_row + p / t->group; }
static int point_column(const tiler *t, int p) { return t->first + p % t->group; }

static bool has_shared_operands(const tiler *t, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(t->body, &t->body->node[r], operand);
    for (uint32_t i = 0; i < count; i++)
        if (!t->shared[operand[i]])
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
    case WF__LOOP:
    case WF__END:
        return true;
    case WF__LOCAL: /* each point has its own, unless the points of a row put the same there */
        return t->local[r];
    case WF__PUT:
    case WF__GET:
        return t->vary[r].kind == WF__UNIFORM && t->local[wf__local_of(t->body, r)];
    case WF__STATE: /* a state that is uniform along the lane axis is the same for all columns */
        return t->vary[r].kind == WF__UNIFORM && (!wf__local_of(t->body, r) || t->local[wf__local_of(t->body, r)]);
    case WF__NEXT:
        return t->shared[n->a];
    case WF__STORE:
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
    case WF__RED:
    case WF__SETRED:
#include "ir/case_graphs.def"
        return false;
    case WF__LOAD:
    case WF__COLD:
    case WF__DERIVED: /* not in plans */
#include "ir/case_pure.def"
        break;
    }
    return has_shared_operands(t, r);
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

/* Records a sum of i64. The builder folds it, and index + constant + constant gets one form. */
static wf__ref copy_sum(tiler *t, wf__ref a, wf__ref b)
{
    int axis;
    int64_t x, y;
    const wf__node *k = wf__at(t->out, b);
    if (k->op == WF__CONST && wf__as_offset(t->out, a, &axis, &x) && axis >= 0 &&
        !__builtin_add_overflow(x, (int64_t)wf__bits(k), &y)) {
        wf__ref index = wf__index(t->out, axis);
        return y ? wf__op2(t->out, WF__OP_add, index, wf__const_bits(t->out, WF_I64, (uint64_t)y)) : index;
    }
    return wf__op2(t->out, WF__OP_add, a, b);
}

static wf__ref *accumulator(const tiler *t, const wf__node *n)
{
    return &t->value[n->a * (uint32_t)t->instances + n->b];
}

/* Records node r of the body for point p. */
static wf__ref copy_node(tiler *t, wf__ref r, int p)
{
    const wf__node *n = &t->body->node[r];
    if (n->op == WF__INDEX)
        return copy_index(t, n, p);
    wf__node copy = wf__map_node(t->body, r, map_of(t, p), t->out);
    switch (n->op) {
    case WF__LOAD:
        if (t->interior && wf__load_splits(t->body, n)) {
            copy.aux = WF_BORDER_NONE;
            copy.c = n->when ? copy.c : 0;
        }
        break;
    case WF__RED:
        copy.b = (uint32_t)(point_column(t, p) % t->instances);
        if (*accumulator(t, &copy))
            return *accumulator(t, &copy);
        break;
    case WF__SETRED:
        copy.b = (uint32_t)(point_column(t, p) % t->instances);
        *accumulator(t, &copy) = copy.c;
        break;
    case WF__LOOP:
        return wf__loop(t->out, copy.aux);
    case WF__STATE:
        return wf__state(t->out, copy.a, copy.b, copy.aux);
    case WF__NEXT:
        wf__next(t->out, copy.a, copy.b);
        return 0;
    case WF__END:
        wf__end(t->out, copy.a);
        return 0;
    case WF__OP_add:
        if (n->dtype == WF_I64)
            return copy_sum(t, copy.a, copy.b);
        break;
    default:
        break;
    }
    return wf__append(t->out, &copy);
}

static bool copy_tables(const wf__ir *in, wf__ir *out, int instances)
{
    if (!wf__copy_tables(in, out))
        return false;
    if (in->slot_n) /* nodes are appended as they are, so that slots also keep what recording has set */
        memcpy(out->slot, in->slot, in->slot_n * sizeof *in->slot);
    for (uint32_t i = 0; i < in->red_n; i++)
        out->red[i].instances = (uint8_t)instances;
    return true;
}

static void copy_to_group(tiler *t, wf__ref r)
{
    int points = t->rows * t->group;
    if (t->body->node[r].op == WF__NOP)
        return;
    t->shared[r] = is_shared(t, r);
    wf__ref first = copy_node(t, r, 0);
    map_of(t, 0)[r] = first;
    for (int p = 1; p < points; p++) {
        wf__ref image = t->shared[r] ? first : copy_node(t, r, p);
        map_of(t, p)[r] = image;
    }
}

static void copy_group(tiler *t)
{
    for (uint32_t i = 1; i < t->body->n && !t->out->status; i++)
        copy_to_group(t, i);
}

/* Finds the nodes that read or set accumulators. Returns false if they cannot be copied after all others: some are in a
 * loop, or are not pure. */
static bool find_joins(const tiler *t)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t depth = 0;
    for (uint32_t i = 1; i < t->body->n; i++) {
        const wf__node *n = &t->body->node[i];
        bool joins = n->op == WF__RED || n->op == WF__SETRED;
        for (uint32_t count = wf__operands(t->body, n, operand), k = 0; k < count; k++)
            joins |= t->joins[operand[k]];
        depth += n->op == WF__LOOP;
        depth -= n->op == WF__END;
        if (joins && (depth || !(wf__op_is_pure(n->op) || n->op == WF__RED || n->op == WF__SETRED)))
            return false;
        t->joins[i] = joins;
    }
    return true;
}

/* Copies the nodes without accumulators for all columns, and then the others for one group after the other. */
static void copy_joins_last(tiler *t, int group)
{
    const int columns = t->group;
    wf__ref *const map = t->map;
    for (uint32_t i = 1; i < t->body->n && !t->out->status; i++)
        if (!t->joins[i])
            copy_to_group(t, i);
    t->group = group;
    for (; t->first < columns; t->first += group) {
        t->map = map + (size_t)t->first * t->body->n;
        for (uint32_t i = 1; i < t->body->n && !t->out->status; i++)
            if (t->joins[i])
                copy_to_group(t, i);
    }
    t->map = map;
}

bool wf__tile(const wf__ir *body, int rows, int columns, int width, bool interior, bool in_turn, wf__ir *out)
{
    wf__ir_init(out, body->rank, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    bool by_row = body->red_n && body->kept_lane;
    int instances = by_row ? columns : body->red_n ? WF__LANES / width : 1;
    int group = in_turn ? 1 : body->red_n && columns > instances ? instances : columns;
    rows = body->rank > 1 ? rows : 1;
    const int at_once = body->loops && !by_row && !in_turn ? columns : group;
    tiler t = { .body = body,
                .out = out,
                .rows = by_row ? 1 : rows,
                .group = group,
                .width = width,
                .instances = instances,
                .interior = interior };
    size_t cells;
    bool fits = wf__mul_size(body->n, (size_t)(t.rows * at_once), &cells) && wf__mul_size(cells, sizeof *t.map, &cells);
    t.map = fits ? wf__alloc0(cells) : NULL;
    t.shared = wf__alloc0(body->n);
    t.vary = wf__alloc(body->loops ? body->n * sizeof *t.vary : 1);
    t.local = wf__alloc0(body->n);
    t.value = wf__alloc0((body->red_n * (size_t)instances + 1) * sizeof *t.value);
    t.joins = wf__alloc0(body->n * sizeof *t.joins);
    if (!t.map || !t.shared || !t.vary || !t.local || !t.value || !t.joins || !copy_tables(body, out, instances))
        wf__ir_fail(out, WF_ERR_MEMORY, "out of memory");
    else if (body->loops) {
        wf__analyse(body, t.vary);
        wf__mark_common_memory(body, t.vary, t.local);
    }
    const bool joins_last = at_once > group && rows == 1 && !out->status && find_joins(&t);
    if (joins_last) {
        t.group = at_once;
        copy_joins_last(&t, group);
    }
    for (t.first_row = 0; t.first_row < rows && !joins_last && !out->status; t.first_row += t.rows)
        for (t.first = 0; t.first < columns && !out->status; t.first += group)
            copy_group(&t);
    wf__free(t.map);
    wf__free(t.shared);
    wf__free(t.vary);
    wf__free(t.local);
    wf__free(t.value);
    wf__free(t.joins);
    return !out->status;
}
