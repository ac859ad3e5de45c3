/* interp.c - the reference interpreter: walks a body's nodes over chunks of lanes, one loop per node (wf__eval). The
 * oracle that every other backend is compared with, and the backend of machines without LLVM.
 *
 * A chunk is WF__LANES lanes, beginning at a multiple of WF__LANES of the lane index, so that lane l of a chunk is
 * virtual accumulator l of the reduction contract (kernel.h).
 */
#include "plan/kernel.h"
#include "run/joiner.h"
#include "run/watch.h"

typedef struct cold_body {
    wf__ir ir;
    wf__ref result;
} cold_body;

struct wf__interp {
    const wf__ir *body;
    cold_body *cold; /* one per wf__cold_id, empty where unused */
    uint32_t most_nodes_in_cold;
};

enum { LANES = WF__LANES, ROW = LANES * 16 }; /* bytes per node's buffer */

typedef struct frame { /* one evaluation of one ir over one chunk */
    const wf__interp *interp;
    const wf__ir *ir;
    unsigned char *value; /* [node][ROW] */
    const wf__call *call;
    const int64_t *index;   /* of the chunk's first lane */
    uint32_t first, n;      /* lanes first .. first+n-1 are live */
    unsigned char *acc;     /* [reduction][ROW] */
    const void *const *arg; /* cold bodies: buffers of the arguments */
    unsigned char *cold;    /* scratch of cold bodies */
    void **pairs;           /* [2 * reductions], then scratch of the join */
} frame;

static void *at(const frame *f, wf__ref r) { return f->value + (size_t)r * ROW; }

/* ---- preparing ---- */
static bool prepare_cold(wf__interp *interp, const wf__node *n, wf__str *error)
{
    cold_body *body = &interp->cold[n->c];
    if (body->result)
        return true;
    const wf__ir *ir = interp->body;
    wf__ref args[8] = { 0 };
    uint32_t count = wf__tuple_len(ir, n->d);
    wf__ir_init(&body->ir, 0, WF_FOLD | WF_VALUE_NUMBERING);
    for (uint32_t i = 0; i < count && i < WF__COUNT(args); ++i)
        args[i] = wf__arg(&body->ir, i, wf__dtype(ir, wf__tuple_at(ir, n->d)[i]));
    body->result = wf__cold_body(&body->ir, (wf__cold_id)n->c, args, count);
    if (!body->result) {
        wf__str_addf(error, "interpreter: %s", body->ir.error[0] ? body->ir.error : "a cold path could not be built");
        return false;
    }
    if (body->ir.n > interp->most_nodes_in_cold)
        interp->most_nodes_in_cold = body->ir.n;
    return true;
}

wf__interp *wf__interp_new(const wf__ir *body, wf__str *error)
{
    wf__interp *interp = wf__alloc0(sizeof *interp);
    if (interp)
        interp->cold = wf__alloc0(WF__COLD_COUNT * sizeof *interp->cold);
    if (!interp || !interp->cold) {
        wf__str_add(error, "out of memory for the interpreter");
        wf__interp_free(interp);
        return NULL;
    }
    interp->body = body;
    for (wf__ref r = 1; r < body->n; ++r)
        if (body->node[r].op == WF__COLD && !prepare_cold(interp, &body->node[r], error)) {
            wf__interp_free(interp);
            return NULL;
        }
    return interp;
}

void wf__interp_free(wf__interp *interp)
{
    if (!interp)
        return;
    for (uint32_t i = 0; interp->cold && i < WF__COLD_COUNT; ++i)
        wf__ir_free(&interp->cold[i].ir);
    wf__free(interp->cold);
    wf__free(interp);
}

size_t wf__interp_scratch(const wf__interp *interp)
{
    const wf__ir *body = interp->body;
    size_t pointers = (2 * (size_t)body->red_n * sizeof(void *) + ROW - 1) / ROW;
    return ((size_t)body->n + body->red_n + interp->most_nodes_in_cold + pointers) * ROW + wf__join_scratch(body);
}

/* ---- leaves ---- */
static void splat(void *out, unsigned dtype, uint64_t bits)
{
    unsigned size = wf__size(dtype);
    unsigned char *p = out;
    for (uint32_t l = 0; l < LANES; ++l)
        memcpy(p + l * size, &bits, size); /* little-endian: the low bytes come first */
}

static void index_lanes(const frame *f, void *out, uint32_t axis)
{
    int64_t *r = out;
    bool lane = (int)axis == f->ir->rank - 1;
    for (uint32_t l = 0; l < LANES; ++l)
        r[l] = f->index[axis] + (lane ? (int64_t)l : 0);
}

/* ---- memory ---- */
int64_t wf__border_index(wf_border border, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (n <= 0)
        return 0;
    int64_t period = border == WF_BORDER_MIRROR ? 2 * n : border == WF_BORDER_REFLECT ? 2 * n - 2 : n;
    if (border == WF_BORDER_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (period <= 0)
        return 0;
    int64_t k = i % period;
    k = k < 0 ? k + period : k;
    if (border == WF_BORDER_MIRROR && k >= n)
        return period - 1 - k;
    if (border == WF_BORDER_REFLECT && k >= n)
        return period - k;
    return k;
}

/* ---- debug mode ---- */
static const int64_t *point_of(const frame *f, uint32_t l, int64_t point[WF_MAX_RANK])
{
    memcpy(point, f->index, (size_t)f->ir->rank * sizeof *point);
    point[f->ir->rank - 1] += l;
    return point;
}

static void outside(const frame *f, const wf__node *n, uint32_t l)
{
    int64_t index[WF_MAX_RANK], point[WF_MAX_RANK];
    for (uint32_t k = 0; k < wf__tuple_len(f->ir, n->b); ++k)
        index[k] = ((const int64_t *)at(f, wf__tuple_at(f->ir, n->b)[k]))[l];
    wf__watch_outside(f->call->watch, n, index, point_of(f, l, point));
}

static bool may_store(const frame *f, const wf__node *n, uint32_t l, int64_t offset, const void *value)
{
    int64_t point[WF_MAX_RANK];
    return !f->call->watch || wf__watch_store(f->call->watch, n, offset, value, point_of(f, l, point));
}

static bool may_join(const frame *f, const wf__node *n, uint32_t l, unsigned dtype, const void *value)
{
    int64_t point[WF_MAX_RANK];
    return !f->call->watch || wf__watch_value(f->call->watch, n, dtype, value, point_of(f, l, point));
}

/* Element offset of lane l; false: nothing is read, outside an array or where the predicate is false. */
static bool offset_of(const frame *f, const wf__node *n, uint32_t l, int64_t *out)
{
    const wf__mem *m = &f->call->mem[n->a];
    const wf__ref *index = wf__tuple_at(f->ir, n->b);
    uint32_t rank = wf__tuple_len(f->ir, n->b);
    int64_t offset = 0;
    if (n->op == WF__LOAD && n->when && !((const unsigned char *)at(f, n->when))[l])
        return false;
    for (uint32_t k = 0; k < rank; ++k) {
        int64_t i = ((const int64_t *)at(f, index[k]))[l];
        bool bordered = n->op == WF__LOAD && n->aux != WF_BORDER_NONE;
        if (f->call->watch && !bordered && (i < 0 || i >= m->dim[k]) && !f->ir->slot[n->a].element) {
            outside(f, n, l);
            return false;
        }
        if (n->op == WF__LOAD && n->aux == WF_BORDER_VALUE && (i < 0 || i >= m->dim[k]))
            return false;
        if (n->op == WF__LOAD && n->aux > WF_BORDER_VALUE) {
            if (m->dim[k] <= 0)
                return false; /* nothing to read: the value outside, or 0 */
            i = wf__border_index((wf_border)n->aux, i, m->dim[k]);
        }
        if (k + 1 == rank && f->ir->slot[n->a].spread > 1)
            i %= f->ir->slot[n->a].spread;
        offset += i * m->stride[k];
    }
    *out = offset;
    return true;
}

static void load(const frame *f, wf__ref r, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    unsigned char *out = at(f, r);
    for (uint32_t l = f->first; l < f->first + f->n; ++l) {
        int64_t offset;
        if (offset_of(f, n, l, &offset))
            memcpy(out + l * size, f->call->mem[n->a].base + offset * (int64_t)size, size);
        else if (n->c)
            memcpy(out + l * size, (unsigned char *)at(f, n->c) + l * size, size);
        else
            memset(out + l * size, 0, size);
    }
    if (n->dtype == WF_BOOL)
        for (uint32_t l = f->first; l < f->first + f->n; ++l)
            out[l] = out[l] != 0;
}

static void store(const frame *f, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    const unsigned char *value = at(f, n->c), *keep = n->d ? at(f, n->d) : NULL;
    for (uint32_t l = f->first; l < f->first + f->n; ++l) {
        int64_t offset;
        if ((!keep || keep[l]) && offset_of(f, n, l, &offset) && may_store(f, n, l, offset, value + l * size))
            memcpy(f->call->mem[n->a].base + offset * (int64_t)size, value + l * size, size);
    }
}

/* Lanes one after the other. */
static void update(const frame *f, wf__ref r, const wf__node *n)
{
    const wf__ref *pair = wf__tuple_at(f->ir, n->c);
    unsigned size = wf__size(n->dtype), join = wf__node_join(n);
    wf__ref from = n->op == WF__CAS ? pair[1] : n->c;
    unsigned dtype = wf__dtype(f->ir, from), step = wf__size(dtype);
    const unsigned char *value = at(f, from), *expected = n->op == WF__CAS ? at(f, pair[0]) : NULL;
    const unsigned char *keep = n->d ? at(f, n->d) : NULL;
    unsigned char *old = at(f, r);
    for (uint32_t l = f->first; l < f->first + f->n; ++l) {
        int64_t offset;
        memset(old + l * size, 0, size);
        if ((keep && !keep[l]) || !offset_of(f, n, l, &offset))
            continue;
        if (join != WF_INC && !may_join(f, n, l, dtype, value + l * step))
            continue;
        if (wf__is_alone(n) && !may_store(f, n, l, offset, value + l * step))
            continue;
        char *element = f->call->mem[n->a].base + offset * (int64_t)size;
        memcpy(old + l * size, element, size);
        if (n->dtype == WF_BOOL)
            old[l] = old[l] != 0;
        if (n->op == WF__CAS ? !memcmp(old + l * size, expected + l * size, size) : join == WF_EXCH)
            memcpy(element, value + l * size, size);
        else if (n->op != WF__CAS)
            wf__update(join, n->dtype, element, value + l * step);
    }
}

/* ---- one chunk ---- */
static void walk(const frame *f);

static void cold(const frame *f, wf__ref r, const wf__node *n)
{
    unsigned size = wf__size(n->dtype);
    const unsigned char *when = at(f, n->a);
    unsigned char *out = at(f, r);
    memcpy(out, at(f, n->b), (size_t)LANES * size);
    bool any = false;
    for (uint32_t l = f->first; l < f->first + f->n; ++l)
        any = any || when[l];
    if (!any)
        return;
    const cold_body *body = &f->interp->cold[n->c];
    const void *args[8];
    for (uint32_t i = 0; i < wf__tuple_len(f->ir, n->d) && i < WF__COUNT(args); ++i)
        args[i] = at(f, wf__tuple_at(f->ir, n->d)[i]);
    frame sub = { .interp = f->interp, .ir = &body->ir, .value = f->cold, .call = f->call, .n = LANES, .arg = args };
    walk(&sub);
    const unsigned char *slow = at(&sub, body->result);
    for (uint32_t l = 0; l < LANES; ++l)
        if (when[l])
            memcpy(out + l * size, slow + l * size, size);
}

static void structural(const frame *f, wf__ref r, const wf__node *n)
{
    unsigned char *out = at(f, r);
    switch (n->op) {
    case WF__CONST:
        splat(out, n->dtype, wf__bits(n));
        break;
    case WF__PARAM:
        splat(out, n->dtype, f->call->param[n->a]);
        break;
    case WF__EXTENT:
        splat(out, WF_I64, (uint64_t)f->call->extent[n->a]);
        break;
    case WF__THREAD: /* alone in its block */
        splat(out, WF_I64, n->aux);
        break;
    case WF__DIM:
        splat(out, WF_I64, (uint64_t)f->call->mem[n->a].dim[n->b]);
        break;
    case WF__INDEX:
        index_lanes(f, out, n->a);
        break;
    case WF__ARG:
        memcpy(out, f->arg[n->a], (size_t)LANES * wf__size(n->dtype));
        break;
    case WF__LOAD:
        load(f, r, n);
        break;
    case WF__STORE:
        store(f, n);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        update(f, r, n);
        break;
    case WF__RED:
        memcpy(out, f->acc + (size_t)n->a * ROW, ROW);
        break;
    case WF__SETRED: {
        unsigned size = wf__size(n->dtype);
        memcpy(f->acc + (size_t)n->a * ROW + (size_t)f->first * size,
               (unsigned char *)at(f, n->c) + (size_t)f->first * size, (size_t)f->n * size);
        break;
    }
    case WF__COLD:
        cold(f, r, n);
        break;
    default:
        break;
    }
}

/* ---- loops ---- */
static bool goes_on(const frame *f, wf__ref loop)
{
    for (wf__ref s = loop + 1; f->ir->node[s].op == WF__STATE; ++s) {
        const unsigned char *guard = at(f, s);
        for (uint32_t l = f->first; f->ir->node[s].aux && l < f->first + f->n; ++l)
            if (guard[l])
                return true;
    }
    return false;
}

/* The node to go on with after LOOP (its states get their initial values) or END (their next ones). */
static wf__ref turn(const frame *f, wf__ref r)
{
    const wf__ir *ir = f->ir;
    wf__ref loop = ir->node[r].op == WF__LOOP ? r : ir->node[r].a, s = loop + 1;
    if (r == loop)
        for (; ir->node[s].op == WF__STATE; ++s)
            memcpy(at(f, s), at(f, ir->node[s].b), ROW);
    for (wf__ref n = r; r != loop && ir->node[--n].op == WF__NEXT;)
        memcpy(at(f, ir->node[n].a), at(f, n), ROW);
    while (ir->node[s].op == WF__STATE)
        ++s;
    if (goes_on(f, loop))
        return s;
    return r == loop ? wf__loop_end(ir, loop) + 1 : r + 1;
}

/* An index of a local array. */
static void check(const frame *f, wf__ref r, const wf__node *n)
{
    const unsigned char *right = at(f, n->a);
    const int64_t *index = at(f, n->b);
    int64_t point[WF_MAX_RANK];
    memcpy(at(f, r), index, LANES * sizeof *index);
    for (uint32_t l = f->first; f->call->watch && l < f->first + f->n; ++l)
        if (!right[l])
            wf__watch_local(f->call->watch, n, index[l], point_of(f, l, point));
}

static void walk(const frame *f)
{
    for (wf__ref r = 1; r < f->ir->n; ++r) {
        const wf__node *n = &f->ir->node[r];
        if (wf__is_loop_op(n->op)) {
            if (n->op == WF__NEXT)
                memcpy(at(f, r), at(f, n->b), ROW);
            else
                r = turn(f, r) - 1;
            continue;
        }
        if (n->op == WF__CAST)
            wf__eval_cast(n->dtype, wf__dtype(f->ir, n->a), at(f, r), at(f, n->a), LANES);
        else if (n->op == WF__CHECK)
            check(f, r, n);
        else if (n->op == WF__BITCAST)
            memcpy(at(f, r), at(f, n->a), (size_t)LANES * wf__size(n->dtype));
        else if (!wf__op_is_pure(n->op))
            structural(f, r, n);
        else {
            unsigned arity = wf__op_table[n->op].arity;
            wf__ref last = arity == 3 ? n->c : arity == 2 ? n->b : n->a;
            wf__eval(n->op, wf__dtype(f->ir, last), at(f, r), at(f, n->a), at(f, n->b), at(f, n->c), LANES);
        }
    }
}

static void run_row(frame *f, int64_t *index, int64_t lo, int64_t hi, int lane_axis)
{
    for (int64_t j = lo - lo % LANES; j < hi; j += LANES) {
        index[lane_axis] = j;
        f->first = j < lo ? (uint32_t)(lo - j) : 0;
        f->n = (uint32_t)((hi - j < LANES ? hi - j : LANES)) - f->first;
        walk(f);
    }
}

/* ---- reductions ---- */
static void clear_lanes(const frame *f)
{
    for (uint32_t k = 0; k < f->ir->red_n; ++k) {
        const wf__reduction *red = &f->ir->red[k];
        splat(f->acc + (size_t)k * ROW, red->dtype, wf__red_start(red));
    }
}

/* All lanes into lane 0, pairwise. */
static void join_lanes(const frame *f)
{
    const wf__ir *body = f->ir;
    size_t pointers = (2 * (size_t)body->red_n * sizeof(void *) + ROW - 1) / ROW * ROW;
    for (uint32_t s = LANES / 2; s; s /= 2) {
        for (uint32_t k = 0; k < body->red_n; ++k) {
            f->pairs[k] = f->acc + (size_t)k * ROW;
            f->pairs[body->red_n + k] = f->acc + (size_t)k * ROW + s * wf__size(body->red[k].dtype);
        }
        wf__join_pairs(body, f->pairs, s, (unsigned char *)f->pairs + pointers);
    }
}

/* Where reduction k's result for the current point of the kept axes is; the lane axis counts from `lane`. */
static unsigned char *result(const frame *f, const uint64_t *acc, uint32_t k, int64_t lane)
{
    const int64_t *extent = f->call->extent;
    int64_t at = 0;
    for (int d = 0; d < f->ir->kept; ++d)
        at = at * extent[d] + f->index[d];
    if (f->ir->kept_lane)
        at = at * extent[f->ir->rank - 1] + lane;
    return (unsigned char *)(uintptr_t)acc[k] + at * (int64_t)wf__size(f->ir->red[k].dtype);
}

/* A row whose lanes have accumulators of their own, in memory. */
static void run_kept_row(frame *f, int64_t *index, int64_t lo, int64_t hi, const uint64_t *acc)
{
    for (int64_t j = lo - lo % LANES, next; j < hi; j = next) {
        int64_t from = j < lo ? lo : j, to = j + LANES < hi ? j + LANES : hi;
        next = j + LANES;
        for (int store = 0; store < 2; ++store) {
            for (uint32_t k = 0; k < f->ir->red_n; ++k) {
                size_t size = wf__size(f->ir->red[k].dtype), bytes = (size_t)(to - from) * size;
                unsigned char *lanes = f->acc + (size_t)k * ROW + (size_t)(from - j) * size;
                unsigned char *memory = result(f, acc, k, from);
                memcpy(store ? memory : lanes, store ? lanes : memory, bytes);
            }
            if (!store)
                run_row(f, index, from, to, f->ir->rank - 1);
        }
    }
}

/* All rows of a box, outermost axis slowest; the axes before `outer` stay where they are. */
static void run_rows(frame *f, int64_t *index, const int64_t *lo, const int64_t *hi, int outer, const uint64_t *acc)
{
    int last = f->ir->rank - 1, d;
    do {
        if (f->ir->kept_lane)
            run_kept_row(f, index, lo[last], hi[last], acc);
        else
            run_row(f, index, lo[last], hi[last], last);
        d = last - 1;
        while (d >= outer && ++index[d] >= hi[d]) {
            index[d] = lo[d];
            --d;
        }
    } while (d >= outer);
}

void wf__interp_run(const wf__interp *interp, void *scratch, const wf__call *call, const int64_t *lo, const int64_t *hi,
                    uint64_t *acc)
{
    const wf__ir *body = interp->body;
    int rank = body->rank, d;
    bool keeps = body->kept || body->kept_lane, each = body->kept && !body->kept_lane;
    int64_t index[WF_MAX_RANK];
    frame f = { .interp = interp, .ir = body, .value = scratch, .call = call, .index = index };
    f.acc = f.value + (size_t)body->n * ROW;
    f.cold = f.acc + (size_t)body->red_n * ROW;
    f.pairs = (void **)(f.cold + (size_t)interp->most_nodes_in_cold * ROW);
    memset(scratch, 0, wf__interp_scratch(interp));
    bool empty = false;
    for (d = 0; d < rank; ++d) {
        index[d] = lo[d];
        empty = empty || lo[d] >= hi[d];
    }
    clear_lanes(&f);
    if (!empty && !each)
        run_rows(&f, index, lo, hi, 0, acc);
    if (!keeps)
        join_lanes(&f);
    for (uint32_t k = 0; !keeps && k < body->red_n; ++k) {
        acc[k] = 0;
        memcpy(&acc[k], f.acc + (size_t)k * ROW, wf__size(body->red[k].dtype));
    }
    if (empty || !each)
        return;
    do { /* points of the kept axes */
        clear_lanes(&f);
        index[rank - 1] = lo[rank - 1];
        run_rows(&f, index, lo, hi, body->kept, acc);
        join_lanes(&f);
        for (uint32_t k = 0; k < body->red_n; ++k)
            memcpy(result(&f, acc, k, 0), f.acc + (size_t)k * ROW, wf__size(body->red[k].dtype));
        d = body->kept - 1;
        while (d >= 0 && ++index[d] >= hi[d]) {
            index[d] = lo[d];
            --d;
        }
    } while (d >= 0);
}
