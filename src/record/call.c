/* call.c - calls of traced functions: inline, or through a table from which an index chooses at each point.
 *
 * A switch is a chain of conditions, one for each distinct function. The body of a condition runs for a vector if at
 * least one lane chooses its function. Each function is recorded once, in its condition. If its nodes equal those of
 * an earlier body, they are removed and the earlier condition is widened. For this purpose the guards are nodes in
 * front of all bodies, and may be changed.
 */
#include "record/record.h"

typedef struct body { /* a function that some index reaches */
    const wf_function *function;
    wf__ref wanted; /* bool: the lanes that choose it */
    wf__ref guard;  /* `or` of `wanted` with itself, or after a merge with the guard merged before */
    wf__ref loop, end;
    uint32_t last; /* number of the latest body that was merged into this one, or its own */
    bool merged;   /* true after a merge into an earlier body */
} body;

typedef struct table {
    wf_graph *g;
    const char *name, *here; /* public function, and place of the call */
    wf_site site;
    const wf_function *function;
    size_t n;
    wf__ref index;
    int64_t lo, hi; /* range of the index */
    body *body;     /* [n] */
    uint32_t bodies;
    wf_var *in;      /* [n_in] values of the operands at the call: a function may set a variable among them */
    wf__ref *before; /* values of the variables before a body */
    uint32_t before_cap;
} table;

static bool is_on(const table *t, uint32_t flag) { return (wf__graph_ir(t->g)->flags & flag) != 0; }

static bool no_memory(wf_graph *g)
{
    wf__poison(g, WF_ERR_MEMORY, "out of memory for a call");
    return false;
}

/* ---- range of an index ---- */
static void range_of_dtype(unsigned t, int64_t *lo, int64_t *hi)
{
    unsigned bits = 8 * wf__size(t) - wf__is_signed(t);
    *hi = t == WF_BOOL ? 1 : bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    *lo = wf__is_signed(t) ? -*hi - 1 : 0;
}

static void range_of(const wf__ir *ir, wf__ref r, int depth, int64_t *lo, int64_t *hi)
{
    const wf__node *n = &ir->node[r];
    int64_t first, last, by, same;
    range_of_dtype(n->dtype, lo, hi);
    if (n->op == WF__CONST) {
        int64_t x = 0;
        const uint64_t bits = wf__bits(n);
        wf__eval_cast(WF_I64, n->dtype, &x, &bits, 1);
        if (n->dtype != WF_U64 || x >= 0)
            *lo = *hi = x;
    } else if (!depth)
        return;
    else if (n->op == WF__CAST && wf__dtype(ir, n->a) <= WF_I64) { /* not of u64, nor of floats */
        range_of(ir, n->a, depth - 1, &first, &last);
        if (first >= *lo && last <= *hi) {
            *lo = first;
            *hi = last;
        }
    } else if (n->op == WF__OP_and || n->op == WF__OP_mod || n->op == WF__OP_floor_mod) {
        range_of(ir, n->a, depth - 1, &first, &last);
        range_of(ir, n->b, 0, &by, &same);
        if (by != same || by <= 0 || (n->op == WF__OP_mod && first < 0) || !wf__is_int(n->dtype))
            return;
        *lo = 0;
        *hi = n->op == WF__OP_and ? by : by - 1;
    }
}

static bool reaches(const table *t, size_t k) { return (int64_t)k >= t->lo && (int64_t)k <= t->hi; }
/* True if every possible index chooses a function. */
static bool covers(const table *t) { return t->lo >= 0 && t->hi < (int64_t)t->n; }

/* ---- conditions ---- */
static wf__ref equals(table *t, size_t k)
{
    wf__ir *ir = wf__graph_ir(t->g);
    return wf__op2(ir, WF__OP_eq, t->index, wf__const_bits(ir, wf__dtype(ir, t->index), k));
}

static wf__ref where_on(table *t, wf__ref lanes)
{
    wf__ref on = wf__lanes_on(t->g);
    return on ? wf__op2(wf__graph_ir(t->g), WF__OP_and, lanes, on) : lanes;
}

/* Returns the lanes whose index chooses a function. */
static wf__ref in_range(table *t)
{
    wf__ir *ir = wf__graph_ir(t->g);
    unsigned dtype = wf__dtype(ir, t->index);
    wf__ref in = wf__const_bits(ir, WF_BOOL, 1);
    if (t->lo < 0)
        in = wf__op2(ir, WF__OP_and, in, wf__op2(ir, WF__OP_ge, t->index, wf__const_bits(ir, dtype, 0)));
    if (t->hi >= (int64_t)t->n)
        in = wf__op2(ir, WF__OP_and, in, wf__op2(ir, WF__OP_lt, t->index, wf__const_bits(ir, dtype, t->n)));
    return where_on(t, in);
}

/* Returns an `or` that value numbering shares with no other use, so that it may be changed. */
static wf__ref own_or(wf__ir *ir, wf__ref a, wf__ref b)
{
    wf__node n = { .op = WF__OP_or, .dtype = WF_BOOL, .a = a, .b = b, .shape = wf__shape_of(ir, a) };
    const wf__numbering numbering = wf__stop_numbering(ir);
    wf__ref r = a && b ? wf__append(ir, &n) : 0;
    wf__resume_numbering(ir, numbering);
    return r;
}

static bool make_bodies(table *t)
{
    wf__ir *ir = wf__graph_ir(t->g);
    t->body = wf__alloc0((t->n + 1) * sizeof *t->body);
    if (!t->body)
        return no_memory(t->g);
    for (size_t k = 0; k < t->n; ++k) {
        if (!reaches(t, k))
            continue;
        const wf_function *f = &t->function[k];
        if (!f->call) {
            wf__poison(t->g, WF_ERR_ARG, "wf_switch at %s: function %u of the table is NULL", t->here, (unsigned)k);
            return false;
        }
        uint32_t b = 0;
        while (b < t->bodies && !(is_on(t, WF_FLAG_CALL_OPT) && t->body[b].function->call == f->call &&
                                  t->body[b].function->user == f->user))
            ++b;
        wf__ref selected = equals(t, k);
        if (b < t->bodies)
            t->body[b].wanted = wf__op2(ir, WF__OP_or, t->body[b].wanted, selected);
        else
            t->body[t->bodies++] = (body){ .function = f, .wanted = selected, .last = b };
    }
    for (uint32_t b = 0; b < t->bodies; ++b)
        t->body[b].wanted = where_on(t, t->body[b].wanted);
    for (uint32_t b = 0; b < t->bodies; ++b)
        t->body[b].guard = own_or(ir, t->body[b].wanted, t->body[b].wanted);
    return ir->status == WF_OK;
}

/* ---- equality of bodies ---- */
typedef struct pair { /* two bodies; node numbers of the later one are higher by `apart` */
    const wf__ir *ir;
    wf__ref loop, later, apart;
} pair;

static bool same_ref(const pair *p, wf__ref a, wf__ref b) { return (b >= p->later ? b - p->apart : b) == a; }

/* True if the fields of two nodes are equal. Of operands, compares only presence and the length of lists. Epochs may
 * differ, since they count stores in front of the bodies, too. */
static bool same_fields(const pair *p, const wf__node *x, const wf__node *y)
{
    bool same = true;
    for (const wf__field *f = wf__fields_of(x->op); f->at && same; ++f) {
        uint32_t a = wf__field_of(p->ir, x, f->at), b = wf__field_of(p->ir, y, f->at);
        switch ((wf__form)wf__field_table[f->kind].form) {
        case WF__FORM_REF:
        case WF__FORM_OPTIONAL:
            same = !a == !b;
            break;
        case WF__FORM_LIST:
            same = wf__tuple_len(p->ir, a) == wf__tuple_len(p->ir, b);
            break;
        case WF__FORM_LINK:
            same = same_ref(p, a, b);
            break;
        case WF__FORM_SLOT:
        case WF__FORM_NUMBER:
        case WF__FORM_NAME:
        case WF__FORM_FLAG:
        case WF__FORM_BITS:
        case WF__FORM_HIDDEN:
            same = a == b || f->kind == WF__EPOCH_FIELD || f->kind == WF__STORED_EPOCH_FIELD;
            break;
        }
    }
    return same;
}

/* True if node r of the earlier body equals its counterpart in the later one. The initial values of the loops' states
 * may differ. */
static bool same_node(const pair *p, wf__ref r)
{
    const wf__ir *ir = p->ir;
    const wf__node *x = &ir->node[r], *y = &ir->node[r + p->apart];
    wf__ref a[WF__MAX_OPERANDS], b[WF__MAX_OPERANDS];
    if (x->op != y->op || x->dtype != y->dtype || wf__shape_of(ir, r) != wf__shape_of(ir, r + p->apart) ||
        !same_fields(p, x, y))
        return false;
    if (x->op == WF__STATE && x->a == p->loop)
        return true;
    uint32_t n = wf__operands(ir, x, a);
    bool same = n == wf__operands(ir, y, b);
    for (uint32_t i = 0; same && i < n; ++i)
        same = same_ref(p, a[i], b[i]);
    return same;
}

static bool same_body(const wf__ir *ir, const body *a, const body *b)
{
    const pair p = { ir, a->loop, b->loop, b->loop - a->loop };
    bool same = b->end - b->loop == a->end - a->loop;
    for (wf__ref r = a->loop; same && r <= a->end; ++r)
        same = same_node(&p, r);
    return same;
}

/* ---- recording ---- */
static void call(const table *t, const wf_function *f)
{
    wf_site site = t->site;
    uint32_t blocks = t->g->block_n;
    site.user = f->user;
    if (!wf__hook_begin(t->g, t->name, t->here))
        return;
    f->call(&site);
    wf__hook_end(t->g);
    if (t->g->block_n != blocks)
        wf__poison(t->g, WF_ERR_CONTRACT,
                   "the function called at %s leaves a block open, or ends one that is not its own", t->here);
}

static wf__ref *guard_of(wf__ir *ir, wf__ref loop)
{
    wf__ref s = loop + 1;
    while (!ir->node[s].aux)
        ++s;
    return &ir->node[s].b;
}

/* Removes body b and lets its lanes run body a. */
static void merge(table *t, body *a, body *b, uint32_t vars)
{
    wf__ir *ir = wf__graph_ir(t->g);
    for (wf__ref r = b->loop; r <= b->end; ++r)
        ir->node[r] = (wf__node){ .op = WF__NOP };
    for (uint32_t i = 0; i < vars; ++i)
        *wf__holds(t->g, &t->g->var[i]) = t->before[i];
    ir->node[b->guard].b = t->body[a->last].guard;
    *guard_of(ir, a->loop) = b->guard;
    a->last = (uint32_t)(b - t->body);
    b->merged = true;
    ++ir->merged;
}

static bool record_body(table *t, body *b)
{
    wf_graph *g = t->g;
    wf__ir *ir = wf__graph_ir(g);
    uint32_t vars = g->var_n;
    if (!wf__grow(&t->before, &t->before_cap, vars + 1, sizeof *t->before))
        return no_memory(g);
    for (uint32_t i = 0; i < vars; ++i)
        t->before[i] = *wf__holds(g, &g->var[i]);
    b->loop = wf__open_condition(g, t->here, b->guard);
    if (b->loop)
        call(t, b->function);
    if (wf__is_recording(g))
        wf_end_(g, t->here);
    if (!wf__is_recording(g))
        return false;
    b->end = ir->n - 1;
    for (body *a = t->body; is_on(t, WF_FLAG_CALL_OPT) && a < b; ++a)
        if (!a->merged && same_body(ir, a, b)) {
            merge(t, a, b, vars);
            break;
        }
    return true;
}

static void record(table *t)
{
    wf__ir *ir = wf__graph_ir(t->g);
    range_of(ir, t->index, 4, &t->lo, &t->hi);
    if (!make_bodies(t))
        return;
    uint32_t different = t->bodies;
    wf__ref any = in_range(t);
    if (is_on(t, WF_FLAG_CALL_OPT) && t->bodies == 1 && covers(t)) { /* inline */
        call(t, t->body[0].function);
        return;
    }
    for (uint32_t b = 0; b < t->bodies; ++b) {
        if (!record_body(t, &t->body[b]))
            return;
        different -= t->body[b].merged;
    }
    bool shaped = different && wf__shape_of(ir, any) == wf__shape_of(ir, t->body[0].guard);
    if (different == 1 && shaped && is_on(t, WF_FLAG_CALL_OPT)) /* the only body runs for every index in range */
        *guard_of(ir, t->body[0].loop) = any;
}

/* ---- the public functions ---- */
static bool begin_table(table *t, wf_graph *g, const char *here, wf_vals in, wf_vars out, const char *function)
{
    if (!wf__is_recording(g))
        return false;
    if (in.n > INT32_MAX || out.n > INT32_MAX) {
        wf__poison(g, WF_ERR_ARG, "%s at %s: too many operands or results", function, here);
        return false;
    }
    if (!wf__is_list(g, in.at, in.n, function) || !wf__is_list(g, out.at, out.n, function))
        return false;
    for (size_t i = 0; i < out.n; ++i)
        if (out.at[i].graph != g || !wf__variable_of(out.at[i])) {
            wf__poison(g, WF_ERR_ARG, "%s at %s: result %u is not a variable of this recording", function, here,
                       (unsigned)i);
            return false;
        }
    *t = (table){ .g = g, .name = function, .here = here, .in = wf__alloc((in.n + 1) * sizeof *t->in) };
    if (!t->in)
        return no_memory(g);
    for (size_t i = 0; i < in.n; ++i)
        t->in[i] = wf_get(in.at[i].h).h; /* a value serves as a variable that is never set */
    t->site = (wf_site){ .graph = g, .in = t->in, .out = out.at, .n_in = (int32_t)in.n, .n_out = (int32_t)out.n };
    return true;
}

static void end_table(const table *t)
{
    wf__free(t->in);
    wf__free(t->body);
    wf__free(t->before);
}

void wf_call_(wf_graph *g, const char *here, wf_function function, wf_vals in, wf_vars out)
{
    table t;
    if (!begin_table(&t, g, here, in, out, "wf_call"))
        return;
    if (!function.call)
        wf__poison(g, WF_ERR_ARG, "wf_call at %s: the function is NULL", here);
    else
        call(&t, &function);
    end_table(&t);
}

static void choose(table *t, wf_val index)
{
    wf_graph *g = t->g;
    bool number;
    t->index = wf__resolve(g, index, "wf_switch", &number);
    if (number)
        t->index = wf__number(g, index.h.num, WF_I64, "wf_switch");
    if (!t->index)
        return;
    wf__ir *ir = wf__graph_ir(g);
    if (wf__dtype(ir, t->index) == WF_BOOL)
        t->index = wf__cast(ir, t->index, WF_U8);
    if (t->index && !wf__is_int(wf__dtype(ir, t->index)))
        wf__poison(g, WF_ERR_DTYPE, "wf_switch at %s: the index is %s, not an integer", t->here,
                   wf_dtype_name((wf_dtype)wf__dtype(ir, t->index)));
    else if (t->n > INT32_MAX)
        wf__poison(g, WF_ERR_ARG, "wf_switch at %s: the table has too many functions", t->here);
    else
        record(t);
}

void wf_switch_(wf_graph *g, const char *here, wf_val index, wf_functions functions, wf_vals in, wf_vars out)
{
    table t;
    if (!wf__may_branch(g, "wf_switch") || !wf__is_list(g, functions.at, functions.n, "wf_switch") ||
        !begin_table(&t, g, here, in, out, "wf_switch"))
        return;
    t.function = functions.at;
    t.n = functions.n;
    choose(&t, index);
    end_table(&t);
}
