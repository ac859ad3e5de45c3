/* test_ir.c - the builder: constant folding is exact for every dtype and special value, equal expressions become one
 * node, the text form reads back, and the verifier refuses broken recordings. */
#include "weft_test.h"
#include "ir/ir.h"
#include "test_eval.h"

/* ---- the value of a node by definition: its operands, then wf__eval ---- */
static uint64_t value_of(const wf__ir *ir, wf__ref r, const uint64_t *param)
{
    const wf__node *n = wf__at(ir, r);
    uint64_t a = 0, b = 0, c = 0, out = 0;
    if (n->op == WF__CONST)
        return wf__bits(n);
    if (n->op == WF__PARAM)
        return param[n->a];
    assert_true(wf__op_is_pure(n->op));
    unsigned arity = wf__op_table[n->op].arity;
    wf__ref last = arity == 3 ? n->c : arity == 2 ? n->b : n->a;
    a = value_of(ir, n->a, param);
    b = arity > 1 ? value_of(ir, n->b, param) : 0;
    c = arity > 2 ? value_of(ir, n->c, param) : 0;
    if (n->op == WF__CAST)
        wf__eval_cast(n->dtype, wf__dtype(ir, n->a), &out, &a, 1);
    else if (n->op == WF__BITCAST)
        out = a;
    else
        out = test_eval(n->op, wf__dtype(ir, last), a, b, c);
    return out;
}

static bool same_bits(unsigned t, uint64_t a, uint64_t b) { return same_element((wf_dtype)t, &a, &b); }

/* Special values of a dtype, as bits. */
static uint32_t specials(unsigned t, uint64_t *out)
{
    static const double floats[] = { 0.0, -0.0,     1,        -1,      2,         -2,       0.5,
                                     4,   -0.25,    3,        1e30,    0x1p-70,   INFINITY, -INFINITY,
                                     NAN, 0x1p-126, 0x1p-149, 0x1p127, 0x1p-1022, 0x1p1023 };
    static const int64_t ints[] = { 0,   1,         -1,        2,         -2,        3,         4,
                                    7,   8,         16,        64,        127,       -128,      128,
                                    255, INT16_MIN, INT32_MIN, INT64_MIN, INT64_MAX, INT32_MAX, 0x80000000 };
    uint32_t n = 0;
    if (t == WF_BOOL) {
        out[0] = 0, out[1] = 1;
        return 2;
    }
    for (size_t i = 0; wf__is_float(t) && i < WF__COUNT(floats); ++i)
        out[n] = 0, wf__eval_cast(t, WF_F64, &out[n++], &floats[i], 1);
    for (size_t i = 0; wf__is_int(t) && i < WF__COUNT(ints); ++i)
        out[n] = 0, wf__eval_cast(t, WF_I64, &out[n++], &ints[i], 1);
    return n;
}
enum { MOST_SPECIALS = 24 };

/* One operation whose operands are parameters or constants (a bit of `constant` each), with and without folding. */
static void compare_folded(wf__ir *plain, wf__ir *folding, unsigned op, unsigned t, const uint64_t *v,
                           unsigned constant)
{
    wf__ir *const both[2] = { plain, folding };
    uint64_t result[2];
    unsigned arity = wf__op_table[op].arity, type = t;
    for (int k = 0; k < 2; ++k) {
        wf__ir *ir = both[k];
        wf__ir_reset(ir, 1, k ? WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING : 0);
        wf__ref o[3] = { 0 };
        for (unsigned i = 0; i < arity; ++i) {
            unsigned ti = op == WF__OP_select && i == 0 ? WF_BOOL : t;
            o[i] = constant >> i & 1 ? wf__const_bits(ir, ti, v[i]) : 0;
            wf__ref p = wf__param(ir, ti);
            o[i] = o[i] ? o[i] : p;
        }
        wf__ref r = arity == 1   ? wf__op1(ir, op, o[0])
                    : arity == 2 ? wf__op2(ir, op, o[0], o[1])
                                 : wf__op3(ir, op, o[0], o[1], o[2]);
        assert_int_not_equal(r, 0);
        type = wf__dtype(ir, r);
        result[k] = value_of(ir, r, v);
    }
    if (same_bits(type, result[0], result[1]))
        return;
    print_error("%s %s (constants %u) of %#llx %#llx %#llx: %#llx, folded %#llx\n", wf__op_table[op].name,
                wf_dtype_name((wf_dtype)t), constant, (unsigned long long)v[0], (unsigned long long)v[1],
                (unsigned long long)v[2], (unsigned long long)result[0], (unsigned long long)result[1]);
    fail();
}

static void test_folding_is_exact(void **state)
{
    (void)state;
    wf__ir plain, folding;
    wf__ir_init(&plain, 1, 0);
    wf__ir_init(&folding, 1, 0);
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op)
        for (int k = 0; k < TEST_DTYPES; ++k) {
            unsigned t = test_dtypes[k], arity = wf__op_table[op].arity;
            if (wf__op_expands(op, t) || !wf__types_allow(wf__op_table[op].types, t))
                continue;
            uint64_t value[MOST_SPECIALS], v[3] = { 0 };
            uint32_t n = specials(t, value), na = op == WF__OP_select ? 2 : n, nb = arity > 1 ? n : 1,
                     nc = arity > 2 ? n : 1;
            for (uint32_t a = 0; a < na; ++a)
                for (uint32_t b = 0; b < nb; ++b)
                    for (uint32_t c = 0; c < nc; c += 3)
                        for (unsigned constant = 1; constant < 1u << arity; ++constant) {
                            v[0] = op == WF__OP_select ? a : value[a];
                            v[1] = value[b];
                            v[2] = value[c];
                            compare_folded(&plain, &folding, op, t, v, constant);
                        }
        }
    wf__ir_free(&plain);
    wf__ir_free(&folding);
}

/* Random expressions over two parameters and constants: rules that look at operands of operands. */
static wf__ref random_expression(wf__ir *ir, unsigned t, uint64_t *random, const wf__ref *param, int depth)
{
    uint64_t pick = test_random(random), value[MOST_SPECIALS];
    if (depth == 0 || pick % 8 == 0) {
        uint32_t n = specials(t, value);
        return pick & 256 ? param[pick >> 9 & 1] : wf__const_bits(ir, t, value[(pick >> 16) % n]);
    }
    if (pick % 8 == 1) { /* there and back through another dtype */
        unsigned via = test_dtypes[(pick >> 16) % TEST_DTYPES];
        return wf__cast(ir, wf__cast(ir, random_expression(ir, t, random, param, depth - 1), via), t);
    }
    for (;; pick = test_random(random)) {
        unsigned op = WF__BITCAST + 1 + (unsigned)(pick >> 20) % (WF__OP_COUNT - WF__BITCAST - 1);
        const wf__op_info *info = &wf__op_table[op];
        if (wf__op_expands(op, t) ||
            info->to_bool != (t == WF_BOOL && info->types != WF__T_BITS && op != WF__OP_select) ||
            op == WF__OP_copysign)
            continue;
        unsigned of = info->to_bool ? WF_I32 : t;
        if (!wf__types_allow(info->types, of) || (of != t && depth == 1))
            continue;
        if (of != t) { /* a comparison of converted values */
            wf__ref a = wf__cast(ir, random_expression(ir, t, random, param, depth - 1), of);
            wf__ref b = wf__cast(ir, random_expression(ir, t, random, param, depth - 1), of);
            return info->arity == 1 ? wf__op1(ir, op, a) : wf__op2(ir, op, a, b);
        }
        wf__ref o[3] = { 0 };
        for (unsigned i = 0; i < info->arity; ++i)
            o[i] = random_expression(ir, t, random, param, depth - 1);
        if (op == WF__OP_select)
            o[0] = wf__op2(ir, WF__OP_lt, o[0], o[1]);
        return info->arity == 1   ? wf__op1(ir, op, o[0])
               : info->arity == 2 ? wf__op2(ir, op, o[0], o[1])
                                  : wf__op3(ir, op, o[0], o[1], o[2]);
    }
}

static void test_random_folding_is_exact(void **state)
{
    (void)state;
    wf__ir ir[2];
    wf__ir_init(&ir[0], 1, 0);
    wf__ir_init(&ir[1], 1, 0);
    for (uint64_t seed = 1; seed <= 20000; ++seed) {
        unsigned t = test_dtypes[seed % TEST_DTYPES];
        uint64_t value[MOST_SPECIALS], random = seed, param[2], result[2];
        uint32_t n = specials(t, value);
        param[0] = value[test_random(&random) % n];
        param[1] = value[test_random(&random) % n];
        for (int k = 0; k < 2; ++k) {
            wf__ir_reset(&ir[k], 1, k ? WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING : 0);
            uint64_t same = random;
            const wf__ref p[2] = { wf__param(&ir[k], t), wf__param(&ir[k], t) };
            wf__ref r = random_expression(&ir[k], t, &same, p, 4);
            wf__str error = { 0 };
            if (!wf__verify(&ir[k], &error)) {
                print_error("seed %llu: %s\n", (unsigned long long)seed, wf__str_get(&error));
                fail();
            }
            wf__str_free(&error);
            assert_int_equal(wf__dtype(&ir[k], r), t);
            result[k] = value_of(&ir[k], r, param);
        }
        if (!same_bits(t, result[0], result[1])) {
            print_error("seed %llu, %s: %#llx, folded %#llx\n", (unsigned long long)seed, wf_dtype_name((wf_dtype)t),
                        (unsigned long long)result[0], (unsigned long long)result[1]);
            fail();
        }
    }
    wf__ir_free(&ir[0]);
    wf__ir_free(&ir[1]);
}

/* ---- rules that must fire, and some that must not ---- */
typedef struct fixture {
    wf__ir ir;
    wf__ref x, y, i, j, u; /* f32, f32, i32, i32, u32 parameters */
} fixture;

static void start(fixture *f)
{
    wf__ir_init(&f->ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    f->x = wf__param(&f->ir, WF_F32);
    f->y = wf__param(&f->ir, WF_F32);
    f->i = wf__param(&f->ir, WF_I32);
    f->j = wf__param(&f->ir, WF_I32);
    f->u = wf__param(&f->ir, WF_U32);
}

static wf__ref num(fixture *f, unsigned t, double v) { return wf__const_f64(&f->ir, t, v); }
static wf__ref op2(fixture *f, unsigned op, wf__ref a, wf__ref b) { return wf__op2(&f->ir, op, a, b); }

static void test_rules_fire(void **state)
{
    (void)state;
    fixture f;
    start(&f);
    wf__ir *ir = &f.ir;
    assert_int_equal(op2(&f, WF__OP_add, f.x, num(&f, WF_F32, -0.0)), f.x);
    assert_int_not_equal(op2(&f, WF__OP_add, f.x, num(&f, WF_F32, 0.0)), f.x);
    assert_int_equal(op2(&f, WF__OP_sub, f.x, num(&f, WF_F32, 0.0)), f.x);
    assert_int_not_equal(op2(&f, WF__OP_sub, f.x, num(&f, WF_F32, -0.0)), f.x);
    assert_int_equal(op2(&f, WF__OP_mul, num(&f, WF_F32, 1), f.x), f.x);
    assert_int_not_equal(wf__at(ir, op2(&f, WF__OP_mul, f.x, num(&f, WF_F32, 0)))->op, WF__CONST);
    assert_true(wf__is_const(ir, op2(&f, WF__OP_mul, f.i, num(&f, WF_I32, 0)), 0));
    assert_true(wf__is_const(ir, op2(&f, WF__OP_sub, f.i, f.i), 0));
    assert_int_not_equal(wf__at(ir, op2(&f, WF__OP_sub, f.x, f.x))->op, WF__CONST);
    assert_int_equal(op2(&f, WF__OP_div, f.x, num(&f, WF_F32, 4)), op2(&f, WF__OP_mul, f.x, num(&f, WF_F32, 0.25)));
    assert_int_equal(wf__at(ir, op2(&f, WF__OP_div, f.x, num(&f, WF_F32, 3)))->op, WF__OP_div);
    assert_int_equal(wf__at(ir, op2(&f, WF__OP_div, f.x, num(&f, WF_F32, 0x1p127)))->op, WF__OP_div);
    assert_int_equal(op2(&f, WF__OP_idiv, f.u, num(&f, WF_U32, 8)), op2(&f, WF__OP_shr, f.u, num(&f, WF_U32, 3)));
    assert_int_equal(op2(&f, WF__OP_mod, f.u, num(&f, WF_U32, 8)), op2(&f, WF__OP_and, f.u, num(&f, WF_U32, 7)));
    assert_int_equal(wf__at(ir, op2(&f, WF__OP_idiv, f.i, num(&f, WF_I32, 8)))->op, WF__OP_idiv);
    /* constants of integer sums meet */
    wf__ref a = op2(&f, WF__OP_add, op2(&f, WF__OP_add, f.i, num(&f, WF_I32, 3)), num(&f, WF_I32, -5));
    assert_int_equal(a, op2(&f, WF__OP_sub, f.i, num(&f, WF_I32, 2)));
    assert_int_equal(op2(&f, WF__OP_add, a, num(&f, WF_I32, 2)), f.i);
    wf__ref fa = op2(&f, WF__OP_add, op2(&f, WF__OP_add, f.x, num(&f, WF_F32, 3)), num(&f, WF_F32, -3));
    assert_int_not_equal(fa, f.x); /* floats do not associate */
    /* selects and comparisons */
    wf__ref less = op2(&f, WF__OP_lt, f.x, f.y), t = wf__const_bits(ir, WF_BOOL, 1),
            no = wf__const_bits(ir, WF_BOOL, 0);
    assert_int_equal(wf__op3(ir, WF__OP_select, less, f.x, f.x), f.x);
    assert_int_equal(wf__op3(ir, WF__OP_select, t, f.x, f.y), f.x);
    assert_int_equal(wf__op3(ir, WF__OP_select, no, f.x, f.y), f.y);
    assert_int_equal(wf__op3(ir, WF__OP_select, less, t, no), less);
    assert_int_equal(wf__op3(ir, WF__OP_select, wf__op1(ir, WF__OP_not, less), f.x, f.y),
                     wf__op3(ir, WF__OP_select, less, f.y, f.x));
    assert_int_not_equal(wf__at(ir, op2(&f, WF__OP_eq, f.x, f.x))->op, WF__CONST); /* NaN */
    assert_true(wf__is_const(ir, op2(&f, WF__OP_eq, f.i, f.i), 1));
    /* casts */
    assert_int_equal(wf__cast(ir, wf__cast(ir, f.i, WF_I64), WF_I32), f.i);
    assert_int_equal(wf__cast(ir, wf__cast(ir, f.x, WF_F64), WF_F32), f.x);
    assert_int_not_equal(wf__cast(ir, wf__cast(ir, f.i, WF_I8), WF_I32), f.i);
    assert_int_not_equal(wf__cast(ir, wf__cast(ir, f.i, WF_F32), WF_I32), f.i);
    assert_int_equal(wf__bitcast(ir, wf__bitcast(ir, f.x, WF_U32), WF_F32), f.x);
    assert_int_equal(wf__op1(ir, WF__OP_neg, wf__op1(ir, WF__OP_neg, f.x)), f.x);
    assert_int_equal(wf__op1(ir, WF__OP_abs, f.u), f.u);
    wf__ir_free(ir);
}

static void test_value_numbering(void **state)
{
    (void)state;
    fixture f;
    start(&f);
    wf__ir *ir = &f.ir;
    for (unsigned op = WF__BITCAST + 1; op < WF__OP_COUNT; ++op) {
        const wf__op_info *info = &wf__op_table[op];
        if (info->arity != 2 || (info->flags & WF__EXPAND) || info->types == WF__T_CPLX)
            continue;
        bool flt = wf__types_allow(info->types, WF_F32);
        wf__ref a = flt ? f.x : f.i, b = flt ? f.y : f.j, r = op2(&f, op, a, b);
        assert_int_equal(op2(&f, op, a, b), r);
        if (info->flags & WF__COMM)
            assert_int_equal(op2(&f, op, b, a), r);
        else
            assert_int_not_equal(op2(&f, op, b, a), r);
    }
    assert_int_equal(wf__op3(ir, WF__OP_fma, f.x, f.y, f.x), wf__op3(ir, WF__OP_fma, f.y, f.x, f.x));
    assert_int_equal(wf__const_bits(ir, WF_F32, 0), wf__const_f64(ir, WF_F32, 0.0));
    assert_int_not_equal(wf__const_f64(ir, WF_F32, -0.0), wf__const_f64(ir, WF_F32, 0.0));
    assert_int_not_equal(wf__const_bits(ir, WF_I32, 1), wf__const_bits(ir, WF_U32, 1));
    /* many nodes: the table grows, and still finds the early ones */
    wf__ref early = op2(&f, WF__OP_mul, f.x, f.y), last = f.x;
    uint32_t before = ir->n;
    for (int k = 0; k < 5000; ++k)
        last = op2(&f, WF__OP_add, op2(&f, WF__OP_mul, last, f.y), f.x);
    assert_int_equal(ir->n, before + 10000 - 1); /* the first product is `early` */
    assert_int_equal(op2(&f, WF__OP_mul, f.x, f.y), early);
    for (int k = 0, at = (int)f.x; k < 5000; ++k)
        at = (int)op2(&f, WF__OP_add, op2(&f, WF__OP_mul, (wf__ref)at, f.y), f.x);
    assert_int_equal(ir->n, before + 10000 - 1);
    wf__ir_free(ir);
}

static void test_loads_and_stores(void **state)
{
    (void)state;
    wf__ir ir;
    wf__ir_init(&ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    uint32_t s = wf__slot_new(&ir, WF_F32, 1, false, 0);
    wf__ref i = wf__index(&ir, 0), k = wf__op2(&ir, WF__OP_add, i, wf__const_bits(&ir, WF_I64, 1));
    uint32_t at = wf__tuple(&ir, &i, 1), next = wf__tuple(&ir, &k, 1);
    wf__ref a = wf__load(&ir, s, at, WF_BORDER_NONE, 0), b = wf__load(&ir, s, next, WF_BORDER_NONE, 0);
    assert_int_equal(wf__load(&ir, s, at, WF_BORDER_NONE, 0), a);
    wf__ref sum = wf__op2(&ir, WF__OP_add, a, b);
    wf__store(&ir, s, at, sum, 0);
    assert_int_equal(wf__load(&ir, s, at, WF_BORDER_NONE, 0), sum);     /* what was just stored */
    assert_int_not_equal(wf__load(&ir, s, next, WF_BORDER_NONE, 0), b); /* may have the same address */
    assert_int_not_equal(wf__load(&ir, s, at, WF_BORDER_CLAMP, 0), sum);
    wf__ir_free(&ir);
}

/* A store is dead only if a later one hides it from all readers. */
static void test_dead_stores(void **state)
{
    (void)state;
    for (int reading = 0; reading < 3; ++reading) {
        wf__ir ir, out;
        wf__ir_init(&ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
        uint32_t s = wf__slot_new(&ir, WF_F32, 1, false, 0), view = wf__slot_new(&ir, WF_F32, 1, false, 1);
        uint32_t result = wf__slot_new(&ir, WF_F32, 1, false, 2);
        wf__ref i = wf__index(&ir, 0), j = wf__op2(&ir, WF__OP_add, i, i), zero = wf__const_f64(&ir, WF_F32, 0);
        uint32_t at = wf__tuple(&ir, &i, 1), other = wf__tuple(&ir, &j, 1);
        wf__store(&ir, s, at, zero, 0);
        ir.slot[view].epoch = reading == 2; /* a view of the same memory */
        if (reading)
            wf__store(&ir, result, at, wf__load(&ir, reading == 1 ? s : view, other, WF_BORDER_NONE, 0), 0);
        wf__store(&ir, s, at, wf__const_f64(&ir, WF_F32, 1), 0);
        assert_true(wf__pass_lower(&ir, &out));
        int stores = 0;
        for (wf__ref r = 1; r < out.n; ++r)
            stores += wf__at(&out, r)->op == WF__STORE;
        assert_int_equal(stores, reading ? 3 : 1);
        wf__ir_free(&ir);
        wf__ir_free(&out);
    }
}

/* The node stored by a lowered recording of one float operation on x, y and z = x*y under fast math. */
static const wf__node *fast_result(wf__ir *ir, wf__ir *out, unsigned op, char left, char right)
{
    wf__ir_init(ir, 1, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING | WF_FLAG_FAST_MATH);
    wf__ref v['z' + 1] = { 0 };
    for (char c = 'x'; c <= 'y'; ++c)
        v[(int)c] = wf__load(ir, wf__slot_new(ir, WF_F32, 1, true, (uint32_t)(c - 'x')), 0, WF_BORDER_NONE, 0);
    v['z'] = wf__op2(ir, WF__OP_mul, v['x'], v['y']);
    for (char c = '0'; c <= '9'; ++c)
        v[(int)c] = wf__const_f64(ir, WF_F32, c - '0');
    v['c'] = wf__op2(ir, WF__OP_add, v['x'], v['3']);
    v['m'] = wf__op2(ir, WF__OP_mul, v['x'], v['3']);
    wf__store(ir, wf__slot_new(ir, WF_F32, 1, true, 9), 0, wf__op2(ir, op, v[(int)left], v[(int)right]), 0);
    assert_true(wf__pass_lower(ir, out));
    for (wf__ref r = 1; r < out->n; ++r)
        if (wf__at(out, r)->op == WF__STORE)
            return wf__at(out, wf__at(out, r)->c);
    fail();
    return NULL;
}

static void test_fast_math(void **state)
{
    (void)state;
    const struct {
        unsigned op;
        char left, right;
        unsigned becomes;
        double second; /* a constant second operand; 0: not one, or the value of a constant result */
    } cases[] = { { WF__OP_add, 'z', 'x', WF__OP_fma, 0 },    { WF__OP_add, 'y', 'z', WF__OP_fma, 0 },
                  { WF__OP_sub, 'z', 'x', WF__OP_fma, 0 },    { WF__OP_sub, 'x', 'z', WF__OP_fma, 0 },
                  { WF__OP_add, 'x', 'y', WF__OP_add, 0 },    { WF__OP_sub, 'x', 'x', WF__CONST, 0 },
                  { WF__OP_div, 'x', 'x', WF__CONST, 1 },     { WF__OP_mul, 'x', '0', WF__CONST, 0 },
                  { WF__OP_div, 'x', '5', WF__OP_mul, 0.2f }, { WF__OP_div, 'x', '0', WF__OP_div, 0 },
                  { WF__OP_div, 'x', 'y', WF__OP_div, 0 },    { WF__OP_mul, 'm', '2', WF__OP_mul, 6 },
                  { WF__OP_add, 'c', '2', WF__OP_add, 5 },    { WF__OP_add, 'x', '0', WF__LOAD, 0 },
                  { WF__OP_min, 'x', 'y', WF__OP_select, 0 }, { WF__OP_fmax, 'x', 'y', WF__OP_select, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        wf__ir ir, out;
        const wf__node *n = fast_result(&ir, &out, cases[i].op, cases[i].left, cases[i].right);
        assert_int_equal(n->op, cases[i].becomes);
        if (n->op == WF__CONST)
            assert_int_equal(wf__bits(n), wf__bits(wf__at(&out, wf__const_f64(&out, WF_F32, cases[i].second))));
        else if (cases[i].second != 0)
            assert_true(wf__is_const(&out, n->b, cases[i].second));
        wf__ir_free(&ir);
        wf__ir_free(&out);
    }
}

static void test_builder_refuses(void **state)
{
    (void)state;
    fixture f;
    start(&f);
    assert_int_equal(op2(&f, WF__OP_add, f.x, f.i), 0);
    assert_int_equal(f.ir.status, WF_ERR_DTYPE);
    assert_non_null(strstr(f.ir.error, "f32, i32"));
    assert_int_equal(op2(&f, WF__OP_add, f.x, f.x), 0); /* poisoned */
    wf__ir_free(&f.ir);
    start(&f);
    assert_int_equal(wf__op1(&f.ir, WF__OP_sqrt, f.i), 0);
    assert_int_equal(f.ir.status, WF_ERR_DTYPE);
    wf__ir_free(&f.ir);
    start(&f);
    assert_int_equal(wf__bitcast(&f.ir, f.x, WF_F64), 0);
    assert_int_equal(f.ir.status, WF_ERR_DTYPE);
    wf__ir_free(&f.ir);
    start(&f);
    assert_int_equal(wf__cast(&f.ir, f.x, WF_C128 + 1), 0);
    assert_int_equal(f.ir.status, WF_ERR_UNSUPPORTED);
    wf__ir_free(&f.ir);
}

static void test_broadcast(void **state)
{
    (void)state;
    const wf_shape a = WF_SHAPE(4, 1, 3), b = WF_SHAPE(2, 1), zero = WF_SHAPE(0), three = WF_SHAPE(3),
                   open = WF_SHAPE(-1);
    wf_shape out;
    assert_true(wf__broadcast(&a, &b, &out));
    assert_int_equal(out.rank, 3);
    assert_int_equal(out.dim[0], 4);
    assert_int_equal(out.dim[1], 2);
    assert_int_equal(out.dim[2], 3);
    assert_false(wf__broadcast(&a, &zero, &out));
    assert_true(wf__broadcast(&b, &zero, &out));
    assert_int_equal(out.dim[1], 0);
    assert_true(wf__broadcast(&three, &open, &out));
    assert_int_equal(out.dim[0], 3);
    assert_true(wf__broadcast(&open, &b, &out));
    assert_int_equal(out.dim[1], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folding_is_exact), cmocka_unit_test(test_random_folding_is_exact),
        cmocka_unit_test(test_rules_fire),       cmocka_unit_test(test_value_numbering),
        cmocka_unit_test(test_loads_and_stores), cmocka_unit_test(test_dead_stores),
        cmocka_unit_test(test_fast_math),        cmocka_unit_test(test_builder_refuses),
        cmocka_unit_test(test_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
