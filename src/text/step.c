/* step.c - wf_text_step: how far apart in an array the elements lie from which neighbours in a result come.
 *
 * Two things are derived for each node. The first is its value as an index: k times a coordinate plus a part that does
 * not depend on coordinates. The second is how its elements follow the array: for each axis of the array, a coordinate
 * and a step. If the operands of a node disagree, or the assignments to a name, the result is unknown.
 */
#include <math.h>
#include "text/record.h"

enum { AXES = 4, MAX_STATEMENTS = 1000, MAX_NODES = 1 << 16, PASSES = 3 };
typedef enum known { NOTHING, KNOWN, UNKNOWN } known; /* NOTHING: no statement has given a value yet */

/* k times the coordinate `axis` (from the end, 1 is x; 0: none) plus something. Without a coordinate, k is the value, or
 * NaN. */
typedef struct affine {
    known known;
    int axis;
    double k;
} affine;

typedef struct meaning {
    affine index;
    affine of[AXES]; /* for each axis of the array, from the end: the index of its elements */
} meaning;

typedef struct stepper {
    wf__recorder r;
    const char *array;
    meaning *node; /* [node] */
    meaning *name; /* [statement]: of the name that it assigns, if it is the first to do so */
} stepper;

static const affine nothing = { NOTHING, 0, 0 }, unknown = { UNKNOWN, 0, 0 };

static affine constant(double value) { return (affine){ KNOWN, 0, value }; }

/* ---- joining ---- */

/* Returns the value that both have; UNKNOWN if they differ. NOTHING is neutral. */
static affine join(affine a, affine b)
{
    if (a.known == NOTHING || b.known == NOTHING)
        return a.known == NOTHING ? b : a;
    if (a.known == UNKNOWN || b.known == UNKNOWN || a.axis != b.axis)
        return unknown;
    if (a.k != b.k && a.axis)
        return unknown;
    return a.k == b.k ? a : constant((double)NAN);
}

static void join_elements(meaning *to, const meaning *from)
{
    for (int i = 0; i < AXES; i++)
        to->of[i] = join(to->of[i], from->of[i]);
}

/* ---- arithmetic of indices ---- */

static affine scaled(affine a, double by)
{
    if (a.known == NOTHING)
        return a;
    if (a.known == KNOWN && !a.axis)
        return constant(a.k * by);
    return a.known == KNOWN && isfinite(by) && by != 0 ? (affine){ KNOWN, a.axis, a.k * by } : unknown;
}

/* True if an operand has no value yet, because a later statement assigns it. */
static bool is_open(affine a, affine b) { return a.known == NOTHING || b.known == NOTHING; }

static affine sum(affine a, affine b, double sign)
{
    if (a.known != KNOWN || b.known != KNOWN)
        return unknown;
    if (!a.axis && !b.axis)
        return constant(a.k + sign * b.k);
    if (!b.axis)
        return a;
    if (!a.axis)
        return scaled(b, sign);
    double k = a.k + sign * b.k;
    return a.axis == b.axis && k != 0 ? (affine){ KNOWN, a.axis, k } : unknown;
}

static affine binary(int op, affine a, affine b)
{
    if (is_open(a, b))
        return nothing;
    if (a.known != KNOWN || b.known != KNOWN)
        return unknown;
    switch (op) {
    case '+':
        return sum(a, b, 1);
    case '-':
        return sum(a, b, -1);
    case '*':
        return b.axis ? (a.axis ? unknown : scaled(b, a.k)) : scaled(a, b.k);
    case '/':
        return b.axis ? unknown : scaled(a, 1 / b.k);
    case WF__TOK_SHL:
        return b.axis ? unknown : scaled(a, exp2(b.k));
    case WF__TOK_SHR:
        return b.axis ? unknown : scaled(a, exp2(-b.k));
    default:
        return a.axis || b.axis ? unknown : constant((double)NAN);
    }
}

/* Returns the index that a function computes from indices. Rounding and limits keep the step. */
static affine call(const wf__text *t, const wf__tree *n, const affine *a)
{
    static const char *const keeping[] = {
        "round", "floor", "ceil", "trunc", "clamp", "min", "max", "floor_mod", "mod"
    };
    const char *name = t->src + n->at;
    bool keeps = wf__text_dtype_named(name, n->len) != WF_NONE, moves = false;
    for (size_t i = 0; i < WF__COUNT(keeping); i++)
        keeps |= wf__text_is(t, n->at, n->len, keeping[i]);
    affine first = nothing;
    for (uint32_t i = 0; i < n->n; i++) {
        if (a[i].known != KNOWN)
            return a[i];
        moves |= a[i].axis != 0;
        if (a[i].axis)
            first = join(first, a[i]);
    }
    if (n->n == 2 && (wf__text_is(t, n->at, n->len, "idiv") || wf__text_is(t, n->at, n->len, "floor_div")))
        return binary('/', a[0], a[1]);
    if (!moves)
        return n->n == 1 && keeps ? a[0] : constant((double)NAN);
    return keeps ? first : unknown;
}

/* ---- names and nodes ---- */

/* Returns the first statement that assigns the name; NULL: none does. */
static const wf__stmt *first_assignment(const wf__text *t, uint32_t at, uint32_t len)
{
    for (uint32_t i = 0; i < t->stmt_n; i++) {
        const wf__stmt *s = &t->stmt[i];
        if (wf__stmt_assigns(s) && wf__text_same(t, s->at, s->len, at, len))
            return s;
    }
    return NULL;
}

static meaning of_name(const stepper *s, const wf__tree *n)
{
    const wf__text *t = s->r.text;
    static const char *const coordinates[] = { "x", "y", "z" };
    const wf__stmt *assigned = first_assignment(t, n->at, n->len);
    const wf_arg *arg = wf__text_arg(&s->r, n->at, n->len);
    meaning m = { .index = unknown };
    if (assigned)
        m = s->name[assigned - t->stmt];
    if (wf__text_is(t, n->at, n->len, s->array))
        for (int i = 0; i < AXES; i++)
            m.of[i] = (affine){ KNOWN, i + 1, 1 };
    if (assigned || arg) {
        if (arg && arg->kind == WF_ARG_NUMBER && !assigned)
            m.index = constant(arg->as.num);
        return m;
    }
    for (int i = 0; i < 3; i++)
        if (wf__text_is(t, n->at, n->len, coordinates[i]))
            m.index = (affine){ KNOWN, i + 1, 1 };
    if (m.index.known == UNKNOWN && !wf__text_coordinate(t, n->at, n->len))
        m.index = constant((double)NAN); /* nx, pi */
    return m;
}

/* Returns the meaning of a read by index. */
static meaning of_read(const stepper *s, const wf__tree *n)
{
    meaning whole = of_name(s, n), m = { .index = unknown };
    for (int i = 0; i < AXES; i++) {
        affine at = whole.of[i]; /* how the elements of the name lie in the array */
        if (at.known != KNOWN || !at.axis || at.axis > (int)n->n) {
            m.of[i] = at;
            continue;
        }
        affine index = s->node[s->r.text->list[n->a + n->n - (uint32_t)at.axis]].index;
        m.of[i] = index.known != KNOWN || !index.axis ? index : scaled(index, at.k);
    }
    return m;
}

/* The rank of the array that the steps are about; 0: it is not known. */
static int rank_of_array(const stepper *s)
{
    for (size_t i = 0; i < s->r.args.n; i++) {
        const wf_arg *arg = &s->r.args.at[i];
        if (arg->kind == WF_ARG_ARRAY && arg->as.array && arg->name && strcmp(arg->name, s->array) == 0)
            return wf_array_shape(arg->as.array).rank;
    }
    return 0;
}

/* Multiplies the steps along the axes that bin(a, k) shortens. Its operand has as many axes as the array. */
static void bin_elements(const stepper *s, const wf__tree *n, meaning *m)
{
    affine k = s->node[s->r.text->list[n->a + 1]].index;
    int rank = rank_of_array(s);
    *m = s->node[s->r.text->list[n->a]];
    for (int i = 0; i < AXES; i++) {
        bool all = !n->b && !n->c, named = n->c >> i & 1 || (i < rank && n->b >> (rank - 1 - i) & 1);
        if ((n->b && !rank) || k.known != KNOWN || k.axis)
            m->of[i] = unknown;
        else if (all || named)
            m->of[i] = scaled(m->of[i], k.k);
    }
}

static meaning of_call(const stepper *s, const wf__tree *n)
{
    const wf__text *t = s->r.text;
    meaning m = { .index = unknown };
    affine a[16];
    wf__text_fold kind = wf__text_fold_named(t->src + n->at, n->len, n->n);
    bool in_place = kind == WF__FOLD_NONE || wf__text_fold_keeps(kind) || (kind < WF__FOLD_HISTOGRAM && (n->b || n->c));
    for (uint32_t i = 0; i < n->n && i < WF__COUNT(a); i++) {
        a[i] = s->node[t->list[n->a + i]].index;
        if (in_place)
            join_elements(&m, &s->node[t->list[n->a + i]]);
    }
    if (kind == WF__FOLD_bin && n->n == 2)
        bin_elements(s, n, &m);
    m.index = kind == WF__FOLD_NONE ? call(t, n, a) : unknown;
    return m;
}

static meaning of_node(const stepper *s, const wf__tree *n)
{
    meaning m = { .index = unknown };
    switch ((wf__tree_kind)n->kind) {
    case WF__TREE_NUMBER:
        m.index = constant(n->number.value);
        return m;
    case WF__TREE_NAME:
        return of_name(s, n);
    case WF__TREE_READ:
        return of_read(s, n);
    case WF__TREE_CALL:
        return of_call(s, n);
    case WF__TREE_UNARY:
        m = s->node[n->a];
        m.index = n->op == '-' ? scaled(m.index, -1) : unknown;
        return m;
    case WF__TREE_BINARY:
        m.index = binary(n->op, s->node[n->a].index, s->node[n->b].index);
        join_elements(&m, &s->node[n->a]);
        join_elements(&m, &s->node[n->b]);
        return m;
    case WF__TREE_SELECT:
        m.index = join(s->node[n->b].index, s->node[n->c].index);
        join_elements(&m, &s->node[n->a]);
        join_elements(&m, &s->node[n->b]);
        join_elements(&m, &s->node[n->c]);
        return m;
    case WF__TREE_PICK:
    case WF__TREE_NONE:
        break;
    }
    return m;
}

/* ---- statements ---- */

/* Returns the meaning of `out` after out[list] = value: where an index is made of a coordinate, its axis of `out` takes
 * the place of that coordinate. */
static meaning written(const stepper *s, const wf__stmt *w, meaning value)
{
    const wf__text *t = s->r.text;
    for (int i = 0; i < AXES; i++) {
        affine at = value.of[i];
        if (at.known != KNOWN || !at.axis)
            continue;
        value.of[i] = unknown;
        for (uint32_t k = 0; k < w->n; k++) {
            affine index = s->node[t->list[w->a + k]].index;
            if (index.known == KNOWN && index.axis == at.axis)
                value.of[i] = (affine){ KNOWN, (int)(w->n - k), at.k / index.k };
        }
    }
    value.index = unknown;
    return value;
}

static void assign(stepper *s, const wf__stmt *w)
{
    const wf__text *t = s->r.text;
    const wf__stmt *first = first_assignment(t, w->at, w->len);
    if (!first || first->kind == WF__STMT_GLOBAL)
        return;
    meaning *name = &s->name[first - t->stmt];
    meaning value = { .index = constant(0) };
    if (w->value)
        value = s->node[w->value];
    if (w->kind == WF__STMT_WRITE)
        value = written(s, w, value);
    if (w->op)
        value.index = binary(w->op, name->index, value.index);
    name->index = join(name->index, value.index);
    join_elements(name, &value);
}

static void walk(stepper *s)
{
    const wf__text *t = s->r.text;
    for (uint32_t i = 0; i < t->stmt_n; i++) {
        const wf__stmt *w = &t->stmt[i];
        for (uint32_t k = w->first; k < w->last; k++)
            s->node[k] = of_node(s, &t->node[k]);
        if (w->kind == WF__STMT_ASSIGN || w->kind == WF__STMT_WRITE || (w->kind == WF__STMT_LOCAL && !w->n))
            assign(s, w);
    }
}

bool wf_text_step(wf_context *ctx, const char *text, wf_args args, const char *result, const char *array, int axis,
                  int *of, double *step)
{
    wf__text t;
    bool found = false;
    WF__UNUSED(ctx);
    bool parsed = wf__text_parse(&t, text ? text : "", false);
    stepper s = { .r = { .text = &t, .args = args }, .array = array };
    if (parsed && result && array && (args.at || !args.n) && t.stmt_n <= MAX_STATEMENTS && t.n <= MAX_NODES) {
        s.node = wf__alloc0(t.n * sizeof *s.node);
        s.name = wf__alloc0(t.stmt_n * sizeof *s.name);
    }
    for (int pass = 0; pass < PASSES && s.node && s.name; pass++) /* a loop uses names that later statements assign */
        walk(&s);
    for (uint32_t i = 0; i < t.stmt_n && s.node && s.name; i++) {
        const wf__stmt *w = &t.stmt[i];
        if (first_assignment(&t, w->at, w->len) != w || !wf__text_is(&t, w->at, w->len, result))
            continue;
        for (int k = AXES - 1; k >= 0; k--) {
            affine at = s.name[i].of[k];
            if (at.known != KNOWN || at.axis == 0 || at.axis != -axis || !isfinite(at.k) || at.k == 0)
                continue;
            *of = -k - 1;
            *step = fabs(at.k);
            found = true;
        }
    }
    wf__free(s.node);
    wf__free(s.name);
    wf__text_free(&t);
    return found;
}
