/* test_codegen_keys.c - code is kept by a key that holds every property of a body and every option that code depends on. The
 * code generator of this test makes the same object for all of them, so that only keys decide.
 */
#include "ir/ir.h"
#include "run/engine_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* ---- a code generator that does not look at the body ---- */
static const char *const SIMPLE = "rank 1\n"
                                  "slot 0 f32 1 element steps unit\n"
                                  "slot 1 f32 1 element steps unit\n"
                                  "%1 = index i64 0\n"
                                  "%2 = load f32 s0 [%1] epoch 0\n"
                                  "store f32 s1 [%1] %2\n";
static wf__ir simple, tried; /* what is compiled, and what the tests change */
static wf__str object;       /* of `simple` */

static bool compile_simple(wf__codegen *codegen, const wf__ir *body, const wf__code_options *how, wf__product what,
                           wf__str *out, wf__str *error)
{
    (void)body;
    const wf__code_options plain = { .target = how->target };
    if (!object.len && !wf__llvm.compile(codegen, &simple, &plain, what, &object, error))
        return false;
    wf__str_addn(out, object.at, object.len);
    return true;
}

static wf__engine *engine;

static int begin(void **state)
{
    (void)state;
    static wf__codegen_ops ops;
    wf__str error = { 0 };
    ops = wf__llvm;
    ops.compile = compile_simple;
    engine = wf__engine_new(&(wf__engine_config){ .threads = 1, .codegen = &ops });
    bool ok = engine && wf__parse(SIMPLE, &simple, &error) && wf__parse(SIMPLE, &tried, &error);
    wf__str_free(&error);
    if (ok)
        wf__engine_use_disk(engine, false);
    return ok ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    wf__engine_free(engine);
    wf__ir_free(&simple);
    wf__ir_free(&tried);
    wf__str_free(&object);
    return 0;
}

/* ---- bodies ---- */
/* Makes code for a body. Returns false without a compiler. */
static bool make_code(const wf__ir *body, const wf__code_options *how)
{
    wf__str error = { 0 };
    wf__held *held = wf__engine_get_code(engine, body, how, NULL, NULL, &error);
    wf__str_free(&error);
    wf__map_let_go(engine->code, held);
    return held != NULL;
}

/* Expects that no code has the key of this body yet, and that the next body of this kind takes the code. */
static void expect_new(const wf__ir *body, const wf__code_options *how, const char *what)
{
    uint64_t compiled = wf__engine_count(engine).compiled;
    assert_true(make_code(body, how));
    if (wf__engine_count(engine).compiled != compiled + 1)
        fail_msg("the key does not change with %s", what);
    assert_true(make_code(body, how));
    assert_int_equal(wf__engine_count(engine).compiled, compiled + 1);
}

static const wf__code_options no_options = { .rows = 0 };

/* Makes code for the body as it is. Skips the test without a compiler. */
static void make_first(void)
{
    if (!make_code(&tried, &no_options))
        skip();
}

/* All combinations of the properties of a slot that are bits of the key. */
static void test_bits_of_slots(void **state)
{
    (void)state;
    make_first();
    for (uint32_t s = 0; s < tried.slot_n; ++s) {
        wf__slot *slot = &tried.slot[s];
        const wf__slot as_it_was = *slot;
        for (unsigned bits = 0; bits < 1u << 7; ++bits) {
            slot->read = bits & 1;
            slot->written = bits >> 1 & 1;
            slot->may_alias = bits >> 2 & 1;
            slot->large_indexed = bits >> 3 & 1;
            slot->prefetch_rows = bits >> 4 & 1;
            slot->element = bits >> 5 & 1;
            slot->spread = bits >> 6 & 1;
            bool same = slot->read == as_it_was.read && slot->written == as_it_was.written && !slot->may_alias &&
                        !slot->large_indexed && !slot->prefetch_rows && slot->element && !slot->spread;
            if (!same)
                expect_new(&tried, &no_options, "a bit of a slot");
        }
        *slot = as_it_was;
    }
}

static void test_numbers_of_slots(void **state)
{
    (void)state;
    wf__slot *slot = &tried.slot[1];
    const wf__slot as_it_was = *slot;
    make_first();
    for (unsigned k = 0; k < 4 + 2 * WF_MAX_RANK; ++k) {
        if (k >= 4 + WF_MAX_RANK)
            slot->stride[k - 4 - WF_MAX_RANK] = 1000000;
        else if (k >= 4)
            slot->step[k - 4] ^= 8;
        else
            *(k == 0 ? &slot->dtype : k == 1 ? &slot->rank : k == 2 ? &slot->record : &slot->spread) ^= 64;
        expect_new(&tried, &no_options, k < 4 ? "dtype, rank, record or spread" : "a step or stride");
        *slot = as_it_was;
    }
}

static void test_nodes(void **state)
{
    (void)state;
    make_first();
    for (wf__ref r = 1; r < tried.n; ++r) {
        wf__node *n = &tried.node[r];
        const wf__node as_it_was = *n;
        for (int k = 0; k < 8; ++k) {
            if (k < 5)
                *(k == 0 ? &n->a : k == 1 ? &n->b : k == 2 ? &n->c : k == 3 ? &n->d : &n->when) ^= 1u << 20;
            n->dtype ^= k == 5 ? 64 : 0;
            n->aux ^= k == 6 ? 64 : 0;
            n->op = (uint16_t)(n->op ^ (k == 7 ? 512 : 0));
            expect_new(&tried, &no_options, "a field of a node");
            *n = as_it_was;
        }
    }
    const wf__ref index = tried.tuple[tried.tuple_n - 1];
    tried.tuple[tried.tuple_n - 1] = 77;
    expect_new(&tried, &no_options, "an index of an access");
    tried.tuple[tried.tuple_n - 1] = index;
}

static void test_heads(void **state)
{
    (void)state;
    wf__reduction reduction[2] = { { .dtype = WF_F32, .instances = 1 }, { .dtype = WF_F32, .instances = 1 } };
    uint8_t param[2] = { WF_F32, WF_F32 };
    wf__ir body = tried;
    const int32_t rank = body.rank;
    make_first();
    body.rank = 3;
    expect_new(&body, &no_options, "the rank");
    body.rank = rank;
    body.kept = 1;
    expect_new(&body, &no_options, "the number of kept axes");
    body.kept = 0;
    body.kept_lane = true;
    expect_new(&body, &no_options, "the lane axis, kept");
    body.kept_lane = false;
    body.red = reduction;
    for (body.red_n = 1; body.red_n <= 2; ++body.red_n)
        for (int k = 0; k < 4; ++k) {
            wf__reduction *r = &reduction[body.red_n - 1];
            *(k == 1 ? &r->dtype : k == 2 ? &r->join : &r->instances) ^= k ? 64 : 0;
            expect_new(&body, &no_options, "a reduction");
            *r = (wf__reduction){ .dtype = WF_F32, .instances = 1 };
        }
    body.red_n = 1;
    body.joiner = &tried;
    expect_new(&body, &no_options, "the join");
    reduction[0].start = 5;
    expect_new(&body, &no_options, "the start of a custom join");
    wf__ir joiner = tried;
    joiner.rank = 4;
    body.joiner = &joiner;
    expect_new(&body, &no_options, "the body of a custom join");
    body.joiner = NULL;
    body.red_n = 0;
    body.param = param;
    for (body.param_n = 1; body.param_n <= 2; ++body.param_n)
        for (int k = 0; k < 2; ++k) {
            param[body.param_n - 1] = k ? WF_F64 : WF_F32;
            expect_new(&body, &no_options, "a parameter");
        }
}

/* All combinations of the options of code. */
static void test_options(void **state)
{
    (void)state;
    make_first();
    for (unsigned bits = 0; bits < 1u << 8; ++bits) {
        const wf__code_options how = { .nontemporal = bits & 1,
                                       .long_rows = bits >> 1 & 1,
                                       .single_thread = bits >> 2 & 1,
                                       .baseline = bits >> 3 & 1,
                                       .columns = bits >> 4 & 1 ? 8 : 0,
                                       .rows_at_once = bits >> 5 & 1 ? 8 : 1,
                                       .row_points = bits >> 6 & 1 ? 1 : 0,
                                       .vector_units = bits >> 7 & 1 ? 4 : 2 };
        expect_new(&tried, &how, "an option");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bits_of_slots, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_of_slots, begin, end),
        cmocka_unit_test_setup_teardown(test_nodes, begin, end),
        cmocka_unit_test_setup_teardown(test_heads, begin, end),
        cmocka_unit_test_setup_teardown(test_options, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
