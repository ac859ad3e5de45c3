/* test_cost.c - the cost model: every node has a class, classes agree with the operations, sums over recordings count
 * loops, and every threshold names the benchmark that shows a wrong value. */
#include "weft_test.h"
#include "ir/cost.h"
#include "ir/thresholds.h"

static wf__cost_class class_of(unsigned op, uint32_t b)
{
    return wf__cost_class_of(&(wf__node){ .op = (uint16_t)op, .b = b });
}

static void test_every_node_has_a_class(void **state)
{
    bool used[WF__COST_CLASSES] = { false };
    (void)state;
    for (unsigned op = 0; op < WF__OP_COUNT; ++op)
        for (uint32_t b = 0; b < 2; ++b) {
            wf__cost_class c = class_of(op, b);
            if (c <= WF__COST_MISSING || c >= WF__COST_CLASSES)
                fail_msg("%s has no cost class", wf__op_table[op].name);
            used[c] = true;
        }
    for (int c = WF__COST_MISSING + 1; c < WF__COST_CLASSES; ++c)
        if (!used[c])
            fail_msg("no node is of cost class %d", c);
}

static void test_classes_agree_with_operations(void **state)
{
    (void)state;
    for (unsigned op = 0; op < WF__OP_COUNT; ++op)
        for (unsigned t = WF_BOOL; t <= WF_F64; ++t) {
            const wf__node n = { .op = (uint16_t)op, .dtype = (uint8_t)t },
                           at = { .op = n.op, .dtype = n.dtype, .b = 1 };
            const wf__cost *c = wf__cost_of(&n);
            bool pure = wf__op_is_pure(op), expands = wf__op_table[op].flags & WF__EXPAND;
            bool local = op == WF__PUT || op == WF__GET, memory = wf__op_is_access(op) || local;
            bool good = (wf__cost_class_of(&n) == WF__COST_FUNCTION) == expands;
            good = good && (c->recompute > 0) == (pure || op == WF__GET) && (c->work > 0) == (pure || memory);
            good = good && (!c->is_long || pure) && c->code > 0;
            good = good && (wf__cost_bytes(&n) > 0) == wf__op_is_access(op);
            good = good && (c->masked == WF__NEVER_MASKED) == (op == WF__LOOP);
            /* an index makes a load cost more; it changes no other class */
            good = good && (wf__cost_of(&at)->recompute > c->recompute) == (op == WF__LOAD);
            if (!good)
                fail_msg("the cost of %s, dtype %u, does not fit what the operation is", wf__op_table[op].name, t);
        }
}

/* Returns the cost, in additions, of what `op` of parameters of dtype t expands into. */
static uint32_t expanded_cost(unsigned op, unsigned t)
{
    wf__ir ir, lowered;
    wf__ref x[3] = { 0 };
    unsigned arity = wf__op_table[op].arity;
    wf__ir_init(&ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    for (unsigned i = 0; i < arity; ++i)
        x[i] = wf__param(&ir, t);
    wf__ref r = arity == 1   ? wf__op1(&ir, op, x[0])
                : arity == 2 ? wf__op2(&ir, op, x[0], x[1])
                             : wf__op3(&ir, op, x[0], x[1], x[2]);
    uint32_t slot = wf__slot_new(&ir, wf__dtype(&ir, r), 1, true, 0);
    wf__store(&ir, slot, 0, r, 0);
    assert_true(wf__pass_lower(&ir, &lowered));
    for (wf__ref i = 1; i < lowered.n; ++i)
        assert_false(wf__op_expands(lowered.node[i].op, lowered.node[i].dtype));
    uint32_t cost = wf__cost_recompute_of_all(&lowered);
    wf__ir_free(&ir);
    wf__ir_free(&lowered);
    return cost;
}

/* Functions that for some dtype expand into less than their class says. Planning stores their values sooner than it
 * should. A new such function deserves a lowering, or a class, of its own. */
static const uint16_t cheap_functions[] = { WF__OP_rcp,       WF__OP_sign,      WF__OP_signbit,   WF__OP_frexp,
                                            WF__OP_frexp_exp, WF__OP_floor_div, WF__OP_floor_mod, WF__OP_clamp };

static bool is_listed(unsigned op)
{
    for (size_t i = 0; i < WF__COUNT(cheap_functions); ++i)
        if (cheap_functions[i] == op)
            return true;
    return false;
}

static void test_functions_expand_into_what_they_cost(void **state)
{
    (void)state;
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op) {
        bool expands = false, cheap = false;
        for (unsigned t = WF_I32; t <= WF_F64; ++t) {
            if (!wf__op_expands(op, t) || wf__is_half(t) || !wf__types_allow(wf__op_table[op].types, t))
                continue;
            expands = true;
            cheap = cheap || expanded_cost(op, t) <
                                 wf__cost_of(&(wf__node){ .op = (uint16_t)op, .dtype = (uint8_t)t })->recompute;
        }
        if (expands && cheap != is_listed(op))
            fail_msg("%s expands into %s than its cost class says", wf__op_table[op].name, cheap ? "less" : "no less");
    }
}

/* ---- sums ---- */
/* `depth` loops in one another, or conditions, around one addition. */
static uint64_t work_in(unsigned depth, bool once)
{
    wf__ir ir;
    wf__ref loop[8];
    wf__ir_init(&ir, 1, 0);
    wf__ref x = wf__param(&ir, WF_F32), on = wf__param(&ir, WF_BOOL);
    uint32_t slot = wf__slot_new(&ir, WF_F32, 1, true, 0);
    wf__ref guard[8];
    for (unsigned d = 0; d < depth; ++d) {
        loop[d] = wf__loop(&ir, once);
        guard[d] = wf__state(&ir, loop[d], on, true);
    }
    wf__op2(&ir, WF__OP_add, x, x);
    for (unsigned d = depth; d-- > 0;) {
        wf__next(&ir, guard[d], once ? wf__const_bits(&ir, WF_BOOL, 0) : on);
        wf__end(&ir, loop[d]);
    }
    wf__store(&ir, slot, 0, x, 0);
    assert_int_equal(ir.status, WF_OK);
    uint64_t work = wf__work_of_point(&ir);
    wf__ir_free(&ir);
    return work;
}

static void test_work_counts_loops(void **state)
{
    (void)state;
    const uint64_t stored = work_in(0, false) - 1, turns = WF__TURNS_OF_LOOP;
    assert_int_equal(stored, wf__cost_of(&(wf__node){ .op = WF__STORE, .dtype = WF_F32 })->work);
    assert_int_equal(work_in(1, false), turns + stored);
    assert_int_equal(work_in(2, false), turns * turns + stored);
    assert_int_equal(work_in(2, true), 1 + stored);
}

static void test_costs_on_gpus(void **state)
{
    const wf__node f32 = { .op = WF__OP_div, .dtype = WF_F32 }, f64 = { .op = WF__OP_div, .dtype = WF_F64 };
    const wf__node byte = { .op = WF__LOAD, .dtype = WF_U8, .b = 1 },
                   word = { .op = WF__LOAD, .dtype = WF_F32, .b = 1 };
    (void)state;
    assert_int_equal(wf__cost_recompute_on_gpu(&f32), wf__cost_of(&f32)->recompute);
    assert_int_equal(wf__cost_recompute_on_gpu(&f64), 2 * wf__cost_of(&f64)->recompute);
    assert_true(wf__code_apart(&byte) > wf__code_apart(&word));
    assert_true(wf__code_apart(&word) > wf__cost_of(&word)->code);
}

/* ---- thresholds ---- */
typedef struct threshold {
    const char *name;
    int64_t value;
    const char *unit, *decision, *shown_by;
} threshold;
static const threshold thresholds[] = {
#define WF_THRESHOLD(name, value, unit, decision, shown_by) { #name, value, unit, decision, shown_by },
#include "ir/thresholds.def"
#undef WF_THRESHOLD
};

/* The text of a file of the tree. */
static char *text_of(const char *name)
{
    char path[4096];
    const char *source = getenv("WEFT_SOURCE");
    snprintf(path, sizeof path, "%s/%s", source ? source : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("no file %s; run this in the tree, or set WEFT_SOURCE", path);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* True if the page names the row, or has the section, that shows the threshold. */
static bool is_shown(const char *page, const char *by)
{
    char want[200];
    if (!strcmp(by, "none"))
        return true;
    if (!strncmp(by, "section ", 8))
        snprintf(want, sizeof want, "\n## %s\n", by + 8);
    else if (!strncmp(by, "row ", 4) || !strncmp(by, "gpu ", 4))
        snprintf(want, sizeof want, "`%s`", by + 4);
    else
        return false;
    return strstr(page, want) != NULL;
}

static void test_thresholds_say_where_they_show(void **state)
{
    (void)state;
    char *page = text_of("docs/performance.md");
    for (size_t i = 0; i < WF__COUNT(thresholds); ++i) {
        const threshold *t = &thresholds[i];
        size_t n = strlen(t->decision);
        if (t->value <= 0 || !t->unit[0] || n < 2 || t->decision[n - 1] != '.')
            fail_msg("%s: a value above 0, a unit, and a sentence", t->name);
        if (!is_shown(page, t->shown_by))
            fail_msg("%s is shown by '%s', which docs/performance.md does not have", t->name, t->shown_by);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_node_has_a_class),
        cmocka_unit_test(test_classes_agree_with_operations),
        cmocka_unit_test(test_functions_expand_into_what_they_cost),
        cmocka_unit_test(test_work_counts_loops),
        cmocka_unit_test(test_costs_on_gpus),
        cmocka_unit_test(test_thresholds_say_where_they_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
