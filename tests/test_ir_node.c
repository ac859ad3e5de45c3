/* test_ir_node.c - the rows of node.def against recordings in which every node occurs: each node prints, reads back,
 * verifies and is copied as it is, its operands are those of its text, and the verifier refuses a wrong value in each of
 * its fields.
 */
#include <stdlib.h>
#include "weft_test.h"
#include "ir/pass/pass.h"

static const char body[] = "rank 2 flags 0\n"
                           "slot 0 f32 2 steps any any\n"
                           "slot 1 u32 1 steps any\n"
                           "param 0 f32\n"
                           "red 0 f32 add 2\n"
                           "%1 = const f32 0x3f800000 # 1\n"
                           "%2 = index i64 1\n"
                           "%3 = extent i64 0\n"
                           "%4 = dim i64 s0 1\n"
                           "%5 = param f32 0\n"
                           "%6 = arg f32 3\n"
                           "%7 = lt bool %5 %1\n"
                           "%8 = load f32 s0 [%2 %3] border clamp other %6 epoch 0 if %7\n"
                           "%9 = cast u32 %8\n"
                           "%10 = bitcast u32 %8\n"
                           "%11 = check i64 %7 %2 8 65537 write\n"
                           "store f32 s0 [%2 %11] %8 if %7\n"
                           "accum u32 s1 [%2] max direct %9 if %7\n"
                           "%14 = atomic u32 s1 [%4] add %9 if %7\n"
                           "%15 = cas u32 s1 [%4] swap [%9 %10] if %7\n"
                           "%16 = red f32 0 1\n"
                           "setred f32 0 1 %16\n"
                           "%18 = cold f32 %7 %8 1 [%16]\n"
                           "%19 = loop bool once\n"
                           "%20 = state bool %19 %7 guard\n"
                           "%21 = state f32 %19 %18\n"
                           "%22 = const bool 0x0 # 0\n"
                           "next bool %20 %22\n"
                           "next f32 %21 %1\n"
                           "end bool %19\n"
                           "%26 = thread i64 1 0\n"
                           "barrier bool 0\n"
                           "store f32 s0 [%26 %26] %21\n"
                           "%29 = local f32 8\n"
                           "%30 = put f32 %29 %9 %21 if %7\n"
                           "%31 = get f32 %30 %9\n";
static const char graph[] = "arrays flags 0\n"
                            "slot 0 f32 1 element steps any\n"
                            "param 0 bool\n"
                            "%1 = load f32 (3) s0 epoch 0\n"
                            "%2 = iota i64 (3) 0\n"
                            "%3 = param bool 0\n"
                            "%4 = load f32 (3) s0 [%2] epoch 0 if %3\n"
                            "%5 = load f32 (3) s0 [%2] border value other %4 epoch 0\n"
                            "%6 = reduce f32 (1) mul %5 axes 1\n"
                            "%7 = scan f32 (3) add %1 axis 0 exclusive reversed\n"
                            "%8 = view f32 (3) gather %7 [%2] other %6\n"
                            "%9 = const i64 0x2 # 2\n"
                            "%10 = view f32 (6) tile %8 [%9]\n"
                            "%11 = scatter f32 (6) %8 [%2] if %3\n"
                            "%12 = derived f32 (3) %7 [%1 %2] 0 1\n";

static void parse(const char *text, wf__ir *out)
{
    wf__str error = { 0 };
    if (!wf__parse(text, out, &error)) {
        print_error("%s\n", wf__str_get(&error));
        fail();
    }
    wf__str_free(&error);
}

static void expect_text(const wf__ir *ir, const char *want)
{
    wf__str text = { 0 };
    wf__print(ir, &text);
    assert_string_equal(wf__str_get(&text), want);
    wf__str_free(&text);
}

static void test_every_node_reads_back(void **state)
{
    (void)state;
    bool seen[WF__OP_COUNT] = { [WF__NOP] = true };
    for (int k = 0; k < 2; ++k) {
        wf__ir ir;
        parse(k ? graph : body, &ir);
        expect_text(&ir, k ? graph : body);
        for (wf__ref r = 1; r < ir.n; ++r)
            seen[ir.node[r].op] = true;
        wf__ir_free(&ir);
    }
    for (unsigned op = 0; op < WF__NODES; ++op)
        if (!seen[op])
            fail_msg("no recording of this test has a node '%s'", wf__op_table[op].name);
}

static void test_rows(void **state)
{
    (void)state;
    for (unsigned op = 0; op < WF__OP_COUNT; ++op) {
        unsigned n = 0, kind = 0;
        for (const wf__field *f = wf__fields_of(op); f->at; ++f, ++n)
            kind += wf__field_table[f->kind].form <= WF__FORM_LIST && op >= WF__CAST;
        assert_true(n <= WF__MOST_FIELDS);
        assert_int_equal(kind, wf__op_table[op].arity); /* the operands of what computes are a, b, c */
        assert_true(strlen(wf__op_table[op].doc) > 4 && wf__op_table[op].function && wf__op_table[op].where);
        assert_true(!wf__op_is_update(op) || wf__op_is_store(op));
        assert_true(!wf__op_is_store(op) || (wf__op_is_effect(op) && wf__op_is_access(op)));
        assert_true(!wf__op_is_access(op) || wf__op_names_slot(op));
        assert_false(wf__op_is_effect(op) && wf__op_is(op, WF__IS_NUMBERED));
        assert_false(wf__op_is(op, WF__IS_NUMBERED) && !wf__op_has_value(op));
    }
}

/* ---- operands ---- */
static int ascending(const void *a, const void *b)
{
    wf__ref x = *(const wf__ref *)a, y = *(const wf__ref *)b;
    return x < y ? -1 : x > y;
}

/* The ids in a node's line, behind its own, that are no links; returns how many. */
static uint32_t ids_of(const wf__ir *ir, const char *line, wf__ref *out)
{
    uint32_t n = 0;
    const char *end = strchr(line, '\n'), *p = strchr(line, '=');
    for (p = p && p < end ? p : line; p < end; ++p)
        if (*p == '%') {
            wf__ref id = (wf__ref)strtoul(p + 1, NULL, 10);
            if (ir->node[id].op != WF__LOOP)
                out[n++] = id;
        }
    return n;
}

static void expect_operands(const char *text)
{
    wf__ir ir;
    parse(text, &ir);
    const char *line = strstr(text, "%1 =");
    for (wf__ref r = 1; r < ir.n; ++r, line = strchr(line, '\n') + 1) {
        wf__ref have[WF__MAX_OPERANDS], want[WF__MAX_OPERANDS];
        uint32_t n = wf__operands(&ir, &ir.node[r], have), m = ids_of(&ir, line, want);
        assert_int_equal(n, m);
        qsort(have, n, sizeof *have, ascending);
        qsort(want, n, sizeof *want, ascending);
        assert_memory_equal(have, want, n * sizeof *have);
    }
    wf__ir_free(&ir);
}

static void test_operands(void **state)
{
    (void)state;
    expect_operands(body);
    expect_operands(graph);
}

/* ---- copies ---- */
static void test_every_node_is_copied(void **state)
{
    (void)state;
    wf__ir in, out;
    parse(body, &in);
    wf__ir_init(&out, in.rank, 0);
    assert_true(wf__copy_tables(&in, &out));
    wf__ref *map = calloc(in.n, sizeof *map);
    for (wf__ref r = 1; r < in.n; ++r) {
        wf__ref next = out.n;
        map[r] = wf__copy_node(&in, r, map, &out);
        assert_int_equal(out.status, WF_OK);
        assert_int_equal(map[r], wf__op_has_value(in.node[r].op) || in.node[r].op == WF__LOOP ? next : 0);
    }
    expect_text(&out, body);
    free(map);
    wf__ir_free(&in);
    wf__ir_free(&out);
}

/* ---- wrong values ---- */
static bool accepts_any(const wf__node *n, unsigned kind)
{
    bool bits = kind == WF__BITS_FIELD || kind == WF__HIGH_BITS_FIELD;
    return kind == WF__EPOCH_FIELD || kind == WF__STORED_EPOCH_FIELD || kind == WF__NUMBER_FIELD ||
           (bits && (wf__size(n->dtype) == 8 || (kind == WF__BITS_FIELD && wf__size(n->dtype) == 4)));
}

static uint32_t wrong_for(wf__field f)
{
    return f.at == WF__AT_join || f.at == WF__AT_mode ? 15 : f.at == WF__AT_aux ? 0x80 : 1u << 30;
}

static void expect_refused(const wf__ir *ir, wf__ref r, const char *what)
{
    wf__str why = { 0 };
    if (wf__verify(ir, &why))
        fail_msg("node %%%u (%s): a wrong value of %s is accepted", (unsigned)r, wf__op_table[ir->node[r].op].name,
                 what);
    assert_true(why.len > 0);
    wf__str_free(&why);
}

static void refuse_wrong_fields(const char *text)
{
    static const char *const places[] = { "", "a", "b", "c", "d", "aux" };
    wf__ir ir;
    parse(text, &ir);
    for (wf__ref r = 1; r < ir.n; ++r) {
        const wf__node good = ir.node[r];
        bool has[WF__AT_when + 1] = { false };
        for (const wf__field *f = wf__fields_of(good.op); f->at; ++f) {
            has[f->at] = true;
            if (accepts_any(&good, f->kind) || !wf__has_field(&ir, &good, f->at))
                continue;
            wf__set_field(&ir, &ir.node[r], f->at, wrong_for(*f));
            expect_refused(&ir, r, wf__field_table[f->kind].name);
            ir.node[r] = good;
        }
        has[WF__AT_aux] |= has[WF__AT_join];
        has[WF__AT_c] |= has[WF__AT_otherwise];
        for (unsigned at = WF__AT_a; at <= WF__AT_aux; ++at)
            if (!has[at]) {
                wf__set_field(&ir, &ir.node[r], at, 1);
                expect_refused(&ir, r, places[at]);
                ir.node[r] = good;
            }
    }
    wf__str why = { 0 };
    assert_true(wf__verify(&ir, &why));
    wf__str_free(&why);
    wf__ir_free(&ir);
}

static void test_wrong_fields_are_refused(void **state)
{
    (void)state;
    refuse_wrong_fields(body);
    refuse_wrong_fields(graph);
    wf__ir ir; /* a reduction that keeps all axes */
    wf__str why = { 0 };
    parse(body, &ir);
    ir.kept = (uint8_t)ir.rank;
    assert_false(wf__verify(&ir, &why));
    assert_string_equal(wf__str_get(&why), "no axis is reduced");
    wf__str_free(&why);
    wf__ir_free(&ir);
}

/* ---- names of what fields hold ---- */
static void expect_name(const char *format, const char *name)
{
    wf__ir ir;
    wf__str text = { 0 };
    wf__str_addf(&text, "rank 1 flags 0\nslot 0 u32 1 steps any\n%%1 = index i64 0\n%%2 = const u32 0x7 # 7\n");
    const char *at = strchr(format, '@');
    wf__str_addn(&text, format, (size_t)(at - format));
    wf__str_addf(&text, "%s%s\n", name, at + 1);
    parse(wf__str_get(&text), &ir);
    expect_text(&ir, wf__str_get(&text));
    wf__str_free(&text);
    wf__ir_free(&ir);
}

static void test_names(void **state)
{
    (void)state;
    for (unsigned k = WF_BORDER_NONE + 1; k < WF__BORDERS; ++k)
        expect_name("%3 = load u32 s0 [%1] border @ epoch 0", wf__border_names[k]);
    for (unsigned k = 0; k < WF__MODES; ++k)
        expect_name("accum u32 s0 [%1] add @ %2", wf__mode_names[k]);
    for (unsigned k = WF_JOIN_ADD; k < WF__JOINS; ++k)
        expect_name("%3 = atomic u32 s0 [%1] @ %2", wf__join_names[k]);
    for (unsigned k = 0; k < WF__VIEWS; ++k) {
        const wf__node n = { .op = WF__VIEW, .aux = (uint8_t)k };
        assert_non_null(strstr(wf__function_of(&n), wf__view_names[k]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_node_reads_back),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_every_node_is_copied),
        cmocka_unit_test(test_wrong_fields_are_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
