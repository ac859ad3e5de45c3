/* test_merge_loops.c - loops whose variables a later loop has, too: the earlier one goes only if the later one computes the
 * same, and what depends on the earlier one is computed after the later one. */
#include "weft_test.h"
#include "ir/ir.h"

typedef enum variant {
    SAME,      /* the later loop has one variable more */
    OFF,       /* the same, without WF_FLAG_LOOP_OPT */
    COMMUTED,  /* its product is recorded in the other order */
    STARTS,    /* its first value is another one */
    TURNS,     /* it has more turns */
    COMPUTES,  /* it computes another value */
    GUARDED,   /* it has one more guard */
    LACKS,     /* it has no variable that is a result of the earlier one */
    DEPENDS,   /* it begins with the result of the earlier one */
    STORED,    /* the result is stored before it */
    PARTED,    /* a barrier is between them */
    INSIDE,    /* a condition between them joins the result to an accumulator */
    READ,      /* it reads an array that is stored */
    INDEXED,   /* both read an array by index */
    WRITTEN,   /* which is written between them */
    ALIASED,   /* which shares memory with one that is written between them */
    RELOADED,  /* it begins with an element that has changed meanwhile */
    ELSEWHERE, /* the later one reads the next element */
    VARIANTS
} variant;

enum { X, BETWEEN, AFTER, TABLE, SLOTS };

typedef struct loop {
    wf__ref loop, value, sum;
} loop;

/* y = (y + x) (y - x) with y = start at first, some times; with `sum`, also the sum of all y. */
static loop record_loop(wf__ir *ir, wf__ref x, wf__ref start, variant v, bool later)
{
    wf__ref yes = wf__const_bits(ir, WF_BOOL, 1), none = wf__const_bits(ir, WF_I64, 0);
    wf__ref least = wf__const_f64(ir, WF_F32, -1e30), zero = wf__const_f64(ir, WF_F32, 0);
    loop l = { .loop = wf__loop(ir, false) };
    if (later) /* before the others: variables need not have the same places */
        l.sum = wf__state(ir, l.loop, zero, false);
    wf__ref y = l.value = wf__state(ir, l.loop, start, false), i = wf__state(ir, l.loop, none, false);
    wf__ref more = !later && v == LACKS ? wf__state(ir, l.loop, none, false) : 0;
    wf__ref on = wf__state(ir, l.loop, yes, true), also = later && v == GUARDED ? wf__state(ir, l.loop, yes, true) : 0;
    wf__ref p[2] = { 0 };
    if (later && v == READ)
        y = wf__op2(ir, WF__OP_add, y, wf__load(ir, AFTER, 0, WF_BORDER_NONE, 0));
    for (int k = 0; k < 2; ++k) {
        const int which = k ^ (later && v == COMMUTED);
        p[which] = wf__op2(ir, which ? WF__OP_sub : WF__OP_add, y, x);
    }
    if (v == INDEXED || v == WRITTEN || v == ALIASED || v == ELSEWHERE) {
        wf__ref at = later && v == ELSEWHERE ? wf__op2(ir, WF__OP_add, i, wf__const_bits(ir, WF_I64, 1)) : i;
        p[0] = wf__op2(ir, WF__OP_add, p[0], wf__load(ir, TABLE, wf__tuple(ir, &at, 1), WF_BORDER_NONE, 0));
    }
    wf__ref next = wf__op2(ir, later && v == COMPUTES ? WF__OP_add : WF__OP_mul, p[0], p[1]);
    wf__ref count = wf__op2(ir, WF__OP_add, i, wf__const_bits(ir, WF_I64, 1));
    wf__ref turns = wf__const_bits(ir, WF_I64, later && v == TURNS ? 9 : 8);
    wf__next(ir, l.value, next);
    wf__next(ir, i, count);
    wf__next(ir, on, wf__op2(ir, WF__OP_lt, count, turns));
    if (later)
        wf__next(ir, l.sum, wf__op2(ir, WF__OP_add, l.sum, y));
    if (also)
        wf__next(ir, also, wf__op2(ir, WF__OP_gt, next, least));
    if (more) {
        wf__next(ir, more, wf__op2(ir, WF__OP_add, more, wf__const_bits(ir, WF_I64, 3)));
        l.value = wf__cast(ir, more, WF_F32);
    }
    wf__end(ir, l.loop);
    if (more)
        l.value = more;
    return l;
}

static void add_to(wf__ir *ir, uint32_t red, wf__ref value)
{
    wf__setred(ir, red, 0, wf__op2(ir, WF__OP_add, wf__cast(ir, value, WF_F64), wf__red(ir, red, 0)));
}

static void record(wf__ir *ir, variant v)
{
    wf__ir_init(ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING | (v == OFF ? 0 : WF_FLAG_LOOP_OPT));
    for (uint32_t k = 0; k < SLOTS; ++k)
        wf__slot_new(ir, WF_F32, 1, k != TABLE, k);
    for (int k = 0; k < 2; ++k)
        wf__red_new(ir, WF_F64, WF_JOIN_ADD);
    wf__ref x = wf__load(ir, X, 0, WF_BORDER_NONE, 0), two = wf__const_f64(ir, WF_F32, 2);
    if (v == READ)
        wf__store(ir, AFTER, 0, x, 0);
    wf__ref first = wf__index(ir, 0), other = wf__op2(ir, WF__OP_sub, wf__const_bits(ir, WF_I64, 99), first);
    const uint32_t at = wf__tuple(ir, &first, 1), place = wf__tuple(ir, &other, 1);
    wf__ref start = v == RELOADED ? wf__load(ir, TABLE, at, WF_BORDER_NONE, 0) : two;
    const loop a = record_loop(ir, x, start, v, false);
    add_to(ir, 0, a.value);
    if (v == STORED)
        wf__store(ir, BETWEEN, 0, a.value, 0);
    add_to(ir, 0, x); /* joins the accumulator after the loop's value */
    add_to(ir, 1, x);
    if (v == WRITTEN || v == RELOADED)
        wf__store(ir, TABLE, place, x, 0);
    if (v == ALIASED) {
        wf__store(ir, BETWEEN, 0, x, 0);
        ir->slot[TABLE].may_alias = ir->slot[BETWEEN].may_alias = true; /* as planning of the layout finds */
    }
    if (v == INSIDE) {
        wf__ref block = wf__loop(ir, true), on = wf__state(ir, block, wf__op2(ir, WF__OP_gt, x, two), true);
        add_to(ir, 0, wf__op2(ir, WF__OP_add, a.value, x));
        wf__next(ir, on, wf__const_bits(ir, WF_BOOL, 0));
        wf__end(ir, block);
    }
    if (v == PARTED)
        wf__barrier(ir, 0);
    start = v == DEPENDS ? a.value : v == STARTS ? x : v == RELOADED ? wf__load(ir, TABLE, at, WF_BORDER_NONE, 0) : two;
    const loop b = record_loop(ir, x, start, v, true);
    add_to(ir, 1, b.value);
    wf__store(ir, AFTER, 0, b.sum, 0);
    assert_int_equal(ir->status, WF_OK);
}

static uint32_t count_of(const wf__ir *ir, unsigned op)
{
    uint32_t n = 0;
    for (wf__ref r = 1; r < ir->n; ++r)
        n += ir->node[r].op == op;
    return n;
}

/* The value that the k-th SETRED of a reduction adds. */
static wf__ref added(const wf__ir *ir, uint32_t red, int k)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op != WF__SETRED || n->a != red || k--)
            continue;
        const wf__node *sum = &ir->node[n->c];
        assert_int_equal(sum->op, WF__OP_add);
        const wf__ref value = ir->node[sum->a].op == WF__CAST ? sum->a : sum->b;
        assert_int_equal(ir->node[value].op, WF__CAST);
        return ir->node[value].a;
    }
    fail();
    return 0;
}

static void loops_that_compute_the_same(void **state)
{
    (void)state;
    for (int v = 0; v < VARIANTS; ++v) {
        wf__ir ir;
        record(&ir, (variant)v);
        const uint32_t more = v == INSIDE;
        assert_int_equal(count_of(&ir, WF__LOOP), 2 + more);
        assert_true(wf__pass_merge_loops(&ir));
        const bool merged = v == SAME || v == COMMUTED || v == INDEXED;
        if (count_of(&ir, WF__LOOP) != (merged ? 1u : 2u) + more)
            fail_msg("variant %d: %u loops", v, (unsigned)count_of(&ir, WF__LOOP));
        assert_int_equal(count_of(&ir, WF__SETRED), 4 + more);
        assert_int_equal(count_of(&ir, WF__STATE), merged ? 4 : v == LACKS || v == GUARDED || v == INSIDE ? 8 : 7);
        if (merged) {
            const wf__ref first = added(&ir, 0, 0), last = added(&ir, 1, 1);
            assert_int_equal(ir.node[first].op, WF__STATE);
            assert_int_equal(first, last);
            assert_int_equal(ir.node[added(&ir, 0, 1)].op, WF__LOAD); /* still joined after the loop's value */
        }
        wf__ir_free(&ir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(loops_that_compute_the_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
