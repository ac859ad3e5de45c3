/* vary.c - how each value varies over the space: the difference between a plain vector load and a gather, and
 * between work done once a row and work done for every point.
 *
 * A value is UNIFORM along the lane axis, AFFINE (a 64-bit integer that grows by a known constant from lane to lane) or
 * VARYING. `level` says which loop it needs: a value of level k is computed once in each turn of loop k-1.
 */
#include "ir/analyse/affine.h"

typedef struct walk {
    const wf__ir *ir;
    const wf__vary *vary; /* of the nodes before */
    uint8_t kind, level;  /* of the operands so far: the weakest kind and the innermost level */
} walk;

static void see(walk *w, wf__ref r)
{
    if (!r)
        return;
    const wf__vary *v = &w->vary[r];
    if (v->kind != WF__UNIFORM)
        w->kind = WF__VARYING;
    if (v->level > w->level)
        w->level = v->level;
}

static void see_tuple(walk *w, uint32_t tuple)
{
    for (uint32_t i = 0; i < wf__tuple_len(w->ir, tuple); i++)
        see(w, wf__tuple_at(w->ir, tuple)[i]);
}

static wf__vary vary_load(const wf__ir *ir, const wf__vary *vary, const wf__node *n)
{
    walk w = { .ir = ir, .vary = vary, .kind = WF__UNIFORM };
    const wf__slot *slot = &ir->slot[n->a];
    if (!n->b) /* element by element */
        return (wf__vary){ .kind = WF__VARYING, .level = (uint8_t)ir->rank };
    for (uint32_t i = 0; i < wf__tuple_len(ir, n->b); i++)
        if (n->aux != WF_BORDER_NONE || slot->step[i] != WF__STEP_ZERO)
            see(&w, wf__tuple_at(ir, n->b)[i]);
    see(&w, n->c);
    see(&w, wf__when(ir, n));
    if (slot->written || slot->may_alias || n->when || w.kind != WF__UNIFORM)
        w.level = (uint8_t)ir->rank;
    return (wf__vary){ .kind = w.kind, .level = w.level };
}

/* Finds the coefficient of an affine result; false if there is none. Uniform operands have coefficient 0. */
static bool affine_coef(const wf__ir *ir, const wf__vary *vary, const wf__node *n, int64_t *coef)
{
    const wf__node *a = wf__at(ir, n->a), *b = wf__arity(n->op) >= 2 ? wf__at(ir, n->b) : NULL;
    if (n->op == WF__CAST || n->op == WF__BITCAST) {
        *coef = vary[n->a].coef;
        return wf__size(a->dtype) == 8 && wf__is_int(a->dtype);
    }
    int64_t x = (int64_t)wf__bits(a), y = b ? (int64_t)wf__bits(b) : 0;
    return wf__growth(n->op, vary[n->a].coef, b ? vary[n->b].coef : 0, a->op == WF__CONST ? &x : NULL,
                      b && b->op == WF__CONST ? &y : NULL, coef);
}

static wf__vary vary_pure(const wf__ir *ir, const wf__vary *vary, const wf__node *n)
{
    walk w = { .ir = ir, .vary = vary, .kind = WF__UNIFORM };
    const wf__ref operand[3] = { n->a, n->b, n->c };
    unsigned arity = wf__arity(n->op);
    bool varying = false;
    for (unsigned i = 0; i < arity; i++) {
        see(&w, operand[i]);
        varying |= vary[operand[i]].kind == WF__VARYING;
    }
    if (w.kind == WF__UNIFORM)
        return (wf__vary){ .kind = WF__UNIFORM, .level = w.level };
    int64_t coef;
    if (varying || !wf__is_int(n->dtype) || wf__size(n->dtype) != 8 || !affine_coef(ir, vary, n, &coef))
        return (wf__vary){ .kind = WF__VARYING, .level = (uint8_t)ir->rank };
    return (wf__vary){ .kind = coef ? WF__AFFINE : WF__UNIFORM, .level = w.level, .coef = coef };
}

/* Returns the assumption that a state varies as its initial value does, which holds until a NEXT contradicts it. */
static wf__vary vary_state(const wf__ir *ir, const wf__vary *before, const wf__vary *initial)
{
    wf__vary v = *initial;
    if (before && (before->kind != v.kind || before->coef != v.coef))
        v = (wf__vary){ .kind = WF__VARYING };
    v.level = (uint8_t)ir->rank;
    return v;
}

/* Returns true if the state varies otherwise than assumed. Values that depend on the state may then do so, too. */
static bool check_next(const wf__ir *ir, const wf__node *n, wf__vary *vary)
{
    wf__vary *state = &vary[n->a];
    const wf__vary *value = &vary[n->b];
    if (state->kind == WF__VARYING || (state->kind == value->kind && state->coef == value->coef))
        return false;
    *state = (wf__vary){ .kind = WF__VARYING, .level = (uint8_t)ir->rank };
    return true;
}

static bool analyse_once(const wf__ir *ir, wf__vary *out, bool first)
{
    const uint8_t rank = (uint8_t)ir->rank;
    bool changed = false;
    for (uint32_t i = 0; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        wf__vary v = { .kind = WF__UNIFORM };
        switch ((wf__op)n->op) {
        case WF__NOP:
        case WF__CONST:
        case WF__PARAM:
        case WF__EXTENT:
        case WF__DIM:
        case WF__THREAD: /* on processors a block is one thread */
        case WF__BARRIER:
            break;
        case WF__DERIVED:
            v = out[n->a];
            break;
        case WF__INDEX:
            v.level = (uint8_t)(n->a + 1);
            if (n->a + 1 == rank) {
                v.kind = WF__AFFINE;
                v.coef = 1;
            }
            break;
        case WF__LOAD:
            v = vary_load(ir, out, n);
            break;
        case WF__STATE:
            v = vary_state(ir, first ? NULL : &out[i], &out[n->b]);
            break;
        case WF__NEXT:
            changed |= check_next(ir, n, out);
            v = (wf__vary){ .kind = WF__VARYING, .level = rank };
            break;
        case WF__LOCAL: /* uniform, until something that varies is put there */
            v.level = rank;
            break;
        case WF__PUT:
        case WF__GET: {
            walk w = { .ir = ir, .vary = out, .kind = WF__UNIFORM };
            see(&w, n->a);
            see(&w, n->b);
            see(&w, n->c);
            see(&w, n->d);
            v = (wf__vary){ .kind = w.kind, .level = rank };
            break;
        }
        case WF__COLD: {
            walk w = { .ir = ir, .vary = out, .kind = WF__UNIFORM };
            see(&w, n->a);
            see(&w, n->b);
            see_tuple(&w, n->d);
            v.kind = w.kind;
            v.level = w.kind == WF__UNIFORM ? w.level : rank;
            break;
        }
        case WF__ARG:
        case WF__STORE:
        case WF__ACCUM:
        case WF__ATOMIC:
        case WF__CAS:
        case WF__RED:
        case WF__SETRED:
        case WF__LOOP:
        case WF__END:
#include "ir/case_graphs.def"
            v = (wf__vary){ .kind = WF__VARYING, .level = rank };
            break;
#include "ir/case_pure.def"
            v = vary_pure(ir, out, n);
            break;
        }
        out[i] = v;
    }
    return changed;
}

void wf__analyse(const wf__ir *ir, wf__vary *out)
{
    for (bool first = true; analyse_once(ir, out, first); first = false)
        ;
}

void wf__mark_common_memory(const wf__ir *ir, const wf__vary *vary, bool *common)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = wf__at(ir, r);
        if (n->op == WF__LOCAL)
            common[r] = true;
        else if (n->op == WF__PUT && vary[r].kind != WF__UNIFORM)
            common[wf__local_of(ir, r)] = false;
    }
}

bool wf__load_splits(const wf__ir *ir, const wf__node *load)
{
    wf__affine x;
    int axis;
    if (load->op != WF__LOAD || load->aux == WF_BORDER_NONE)
        return false;
    for (uint32_t i = 0; i < wf__tuple_len(ir, load->b); i++)
        if (!wf__as_shifted(ir, wf__tuple_at(ir, load->b)[i], &axis, &x))
            return false;
    return true;
}

void wf__mark_read(const wf__ir *ir, uint8_t *read)
{
    wf__ref operand[WF__MAX_OPERANDS];
    read[0] = 0;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = wf__at(ir, r);
        uint32_t count = wf__operands(ir, n, operand);
        read[r] = n->op == WF__LOAD || n->op == WF__STATE || wf__op_is_update(n->op);
        for (uint32_t k = 0; k < count; ++k)
            read[r] |= read[operand[k]];
    }
}

bool wf__is_scattered(const wf__ir *ir, const wf__vary *vary, const uint8_t *read, uint32_t tuple)
{
    for (uint32_t k = 0; k < wf__tuple_len(ir, tuple); ++k) {
        wf__ref r = wf__tuple_at(ir, tuple)[k];
        if (vary[r].kind == WF__VARYING && read[r])
            return true;
    }
    return false;
}
