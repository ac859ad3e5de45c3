/* loop.c - the loops of operator text. A `for` that counts to a bound which its body does not change is recorded by
 * wf_for_, which the library can unroll. Any other loop is a general one, whose step is recorded at the end of the body
 * and at each `continue`.
 */
#include "text/record.h"

enum { MAX_BLOCKS = 4096 };

bool wf__text_open(wf__recorder *r)
{
    const wf__stmt *s = &r->text->stmt[r->now];
    if (r->level == WF__TEXT_NESTED || ++r->blocks > MAX_BLOCKS)
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, s->at, "more than %d blocks", (int)MAX_BLOCKS);
    if (!r->failed)
        r->block[r->level++] = (wf__text_block){ .stmt = r->now, .outer = r->name_n, .inner = r->name_n };
    return !r->failed;
}

/* Opens a loop that runs while the statement's value holds; without a value, until a break. */
static void record_while(wf__recorder *r, const wf__stmt *s)
{
    wf_loop_(r->graph, WF__TEXT_HERE);
    if (s->value)
        wf__text_evaluate(r, s);
    if (s->value && !r->failed)
        wf_while_(r->graph, WF__TEXT_HERE, r->value[s->value].v);
    wf__text_check(r, s->at);
}

void wf__text_while(wf__recorder *r, const wf__stmt *s)
{
    if (wf__text_open(r))
        record_while(r, s);
}

/* ---- counting loops ---- */

typedef struct counting {
    const wf__stmt *loop, *begin, *step;
    wf_dtype dtype;
    int compare;
} counting;

static bool same_name(const wf__text *t, const wf__stmt *s, uint32_t at, uint32_t len)
{
    return wf__text_same(t, s->at, s->len, at, len);
}

/* True if the body may change the value of this name. Any write to an array changes all arrays: they may share memory.
 */
static bool body_changes(const wf__recorder *r, const wf__stmt *loop, uint32_t at, uint32_t len, bool array)
{
    for (uint32_t i = loop->body; i < loop->end; i++) {
        const wf__stmt *s = &r->text->stmt[i];
        bool sets = s->kind == WF__STMT_ASSIGN || s->kind == WF__STMT_LOCAL || s->kind == WF__STMT_WRITE;
        if (sets && same_name(r->text, s, at, len))
            return true;
        bool memory =
            s->kind == WF__STMT_WRITE ||
            (s->kind == WF__STMT_ASSIGN && (wf__text_arg(r, s->at, s->len) || wf__text_wanted(r, s->at, s->len) >= 0));
        if (array && memory)
            return true;
    }
    return false;
}

/* True if the nodes [first, last) have the same value in each turn of the loop, as far as the text shows. */
static bool nodes_stay(const wf__recorder *r, const wf__stmt *loop, uint32_t first, uint32_t last)
{
    enum { MAX_NODES = 64 }; /* a longer bound is not worth the search */
    const wf__text *t = r->text;
    if (last - first > MAX_NODES)
        return false;
    for (uint32_t i = first; i < last; i++) {
        const wf__tree *n = &t->node[i];
        if (n->kind != WF__TREE_NAME && n->kind != WF__TREE_READ)
            continue;
        const wf_arg *arg = wf__text_arg(r, n->at, n->len);
        bool array =
            n->kind == WF__TREE_READ || (arg && arg->kind == WF_ARG_ARRAY) || wf__text_wanted(r, n->at, n->len) >= 0;
        if (body_changes(r, loop, n->at, n->len, array))
            return false;
    }
    return true;
}

/* True if the beginning of a `for` declares its variable: by a type, or as `k = lo` of a new name. */
static bool is_declaration(const wf__recorder *r, const wf__stmt *s)
{
    return s->kind == WF__STMT_LOCAL || (!s->op && !wf__text_assigned(r, s->at, s->len) &&
                                         !wf__text_arg(r, s->at, s->len) && wf__text_wanted(r, s->at, s->len) < 0);
}

/* True if the loop is for (int k = lo; k < hi; k += step), as far as the text shows; *c then describes it. */
static bool is_counting(const wf__recorder *r, const wf__stmt *loop, counting *c)
{
    const wf__text *t = r->text;
    const wf__stmt *begin = &t->stmt[r->now + 1];
    *c = (counting){ .loop = loop, .begin = begin, .step = &t->stmt[loop->step], .dtype = WF_I64 };
    if (loop->step != r->now + 2 || loop->body != loop->step + 1 || loop->last - loop->first < 3)
        return false; /* a part of the loop is missing */
    if (begin->kind == WF__STMT_LOCAL)
        c->dtype = (wf_dtype)begin->dtype;
    if (!is_declaration(r, begin) || wf__text_arg(r, begin->at, begin->len))
        return false;
    const wf__tree *cond = &t->node[loop->value], *left = &t->node[loop->first];
    c->compare = cond->op;
    return wf__text_is_int(c->dtype) && !begin->constant && !begin->n && cond->kind == WF__TREE_BINARY &&
           cond->a == loop->first && left->kind == WF__TREE_NAME && same_name(t, begin, left->at, left->len) &&
           (c->compare == '<' || c->compare == '>' || c->compare == WF__TOK_LE || c->compare == WF__TOK_GE) &&
           same_name(t, c->step, begin->at, begin->len) && (c->step->op == '+' || c->step->op == '-') &&
           !body_changes(r, loop, begin->at, begin->len, false) && nodes_stay(r, loop, loop->first, loop->last) &&
           nodes_stay(r, loop, c->step->first, c->step->last);
}

/* True if `a` is a number, and the counter's dtype holds both it and a + off. */
static bool counter_holds(wf__tval a, double off, wf_dtype t)
{
    return wf__tval_is_number(a) && !a.real && wf_number_fits(a.v.h.num, t) && wf_number_fits(a.v.h.num + off, t);
}

/* Sets *out to the exclusive bound in the counter's dtype; of `<= hi` that is hi + 1. False if only a comparison in
 * each turn gives what the text says. */
static bool find_bound(wf__recorder *r, const counting *c, wf__tval hi, wf_val *out)
{
    wf__tctx *x = &r->convert;
    double off = c->compare == WF__TOK_LE ? 1 : c->compare == WF__TOK_GE ? -1 : 0;
    if (wf__tval_is_number(hi)) {
        *out = wf_const_i64(r->graph, c->dtype, counter_holds(hi, off, c->dtype) ? (int64_t)(hi.v.h.num + off) : 0);
        return counter_holds(hi, off, c->dtype);
    }
    wf_dtype have = wf_val_dtype(hi.v);
    bool is_signed = wf__text_is_signed(c->dtype), narrower = have != WF_NONE && wf__text_is_int(have) &&
                                                              wf_dtype_size(have) < wf_dtype_size(c->dtype) &&
                                                              (is_signed || !wf__text_is_signed(have));
    if (have != c->dtype && !narrower) {
        if (c->dtype != WF_I32 || (have != WF_I64 && have != WF_U32))
            return false;
        bool up = c->compare == '<' || c->compare == WF__TOK_LE; /* an i32 counter cannot pass this limit */
        wf__tval limit = wf__tval_number(up ? 2147483647 : -2147483648.0 * wf__text_is_signed(have), false);
        hi = wf__tval_call(x, wf__tval_function(up ? "min" : "max", 3), (wf__tval[]){ hi, limit });
    }
    hi = wf__tval_cast(x, hi, c->dtype);
    if (off != 0)
        hi = wf__tval_binary(x, '+', hi, wf__tval_number(off, false));
    *out = hi.v;
    return true;
}

/* Opens a counting loop. False if it must be a general one: then no block was opened in the recording. */
static bool record_counting(wf__recorder *r, const counting *c)
{
    wf__stmt hi = *c->loop;
    hi.first++; /* the counter's name */
    hi.last--;  /* the comparison */
    wf__text_evaluate(r, c->begin);
    wf__text_evaluate(r, &hi);
    wf__text_evaluate(r, c->step);
    if (r->failed)
        return false;
    wf__tval lo = c->begin->value ? r->value[c->begin->value] : wf__tval_number(0, false);
    wf__tval by = r->value[c->step->value];
    const wf__tree *cond = &r->text->node[c->loop->value];
    double turn = c->step->op == '-' ? -by.v.h.num : by.v.h.num;
    bool up = c->compare == '<' || c->compare == WF__TOK_LE;
    wf_val first, last, counter;
    if (!wf__tval_is_number(by) || by.real || (up ? turn <= 0 : turn >= 0) || !wf_number_fits(turn, c->dtype) ||
        !find_bound(r, c, r->value[cond->b], &last))
        return false;
    if (wf__tval_is_number(lo) ? !counter_holds(lo, 0, c->dtype) : !wf__text_is_int(wf_val_dtype(lo.v)))
        return false; /* the declaration reports the error or converts */
    first = wf__tval_is_number(lo) ? wf_const_i64(r->graph, c->dtype, (int64_t)lo.v.h.num)
                                   : wf__tval_cast(&r->convert, lo, c->dtype).v;
    wf_for_(r->graph, WF__TEXT_HERE, &counter, first, last, (wf_val){ { turn, NULL } });
    wf__text_check(r, c->loop->at);
    wf__text_name *name = r->failed ? NULL : wf__text_new_name(r, c->begin->at, c->begin->len);
    if (name)
        name->value = wf__tval_node(counter);
    return true;
}

uint32_t wf__text_for(wf__recorder *r, const wf__stmt *s)
{
    counting c;
    uint32_t first = r->now + 1;
    const wf__stmt *begin = &r->text->stmt[first];
    bool counts = is_counting(r, s, &c);
    if (!wf__text_open(r) || (counts && record_counting(r, &c)) || r->failed)
        return s->body;
    wf__text_block *b = &r->block[r->level - 1];
    if (s->step > first && is_declaration(r, begin)) {
        wf__text_evaluate(r, begin);
        if (!r->failed)
            wf__text_declare(r, begin, begin->kind == WF__STMT_LOCAL ? (wf_dtype)begin->dtype : WF_I64);
    } else if (s->step > first) {
        wf__text_loop_step(r, first, r->name_n);
    }
    b->inner = r->name_n;
    b->stepped = s->body > s->step;
    if (r->failed)
        return s->body;
    record_while(r, s);
    return s->body;
}
