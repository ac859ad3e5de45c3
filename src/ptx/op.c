/* op.c - one pure operation with the meaning that src/ir/ops.def gives it. Every result rounds to nearest even (.rn,
 * which also keeps the assembler from contracting), keeps subnormals (no .ftz), and is defined for every operand.
 */
#include "ptx/gen.h"

typedef struct call {
    gen *g;
    unsigned op, dtype;
    val d;        /* result */
    val a, b, c;  /* operands */
    val type, in; /* arithmetic type and type of bits: "s32", "b32" */
    int bits;
    bool wide;
} call;

#define LINE(c, template, ...) EMIT((c)->g, template, (c)->d, (c)->a, (c)->b, (c)->c, (c)->type, (c)->in, ##__VA_ARGS__)

/* ---- bools are predicates ---- */
static bool op_bool(const call *c)
{
    val t = wf__ptx_is_sound(c->g) ? wf__ptx_reg(c->g, V_P) : c->d;
    switch (c->op) {
    case WF__OP_not:
        LINE(c, "not.pred $0, $1");
        return true;
    case WF__OP_and:
    case WF__OP_min:
        LINE(c, "and.pred $0, $1, $2");
        return true;
    case WF__OP_or:
    case WF__OP_max:
        LINE(c, "or.pred $0, $1, $2");
        return true;
    case WF__OP_xor:
    case WF__OP_ne:
        LINE(c, "xor.pred $0, $1, $2");
        return true;
    case WF__OP_eq:
        LINE(c, "xor.pred $0, $1, $2");
        LINE(c, "not.pred $0, $0");
        return true;
    case WF__OP_lt:
        LINE(c, "not.pred $6, $1", t);
        LINE(c, "and.pred $0, $6, $2", t);
        return true;
    case WF__OP_gt:
        LINE(c, "not.pred $6, $2", t);
        LINE(c, "and.pred $0, $1, $6", t);
        return true;
    case WF__OP_le:
        LINE(c, "not.pred $6, $1", t);
        LINE(c, "or.pred $0, $6, $2", t);
        return true;
    case WF__OP_ge:
        LINE(c, "not.pred $6, $2", t);
        LINE(c, "or.pred $0, $1, $6", t);
        return true;
    default:
        return false;
    }
}

val wf__ptx_select(gen *g, unsigned dtype, val when, val a, val b)
{
    val r = wf__ptx_new(g, dtype);
    if (r.kind == V_P) {
        val t = wf__ptx_reg(g, V_P), not = wf__ptx_reg(g, V_P);
        EMIT(g, "and.pred $0, $1, $2", t, when, a);
        EMIT(g, "not.pred $0, $1", not, when);
        EMIT(g, "and.pred $0, $0, $1", not, b);
        EMIT(g, "or.pred $0, $1, $2", r, t, not );
    } else
        EMIT(g, "selp.$1 $0, $2, $3, $4", r, wf__ptx_bits(dtype), a, b, when);
    return r;
}

/* ---- comparisons ---- */
static bool op_compare(const call *c)
{
    static const char *const names[] = { "eq", "ne", "lt", "le", "gt", "ge" };
    if (c->op < WF__OP_eq || c->op > WF__OP_ge)
        return false;
    bool unordered = c->op == WF__OP_ne && wf__is_float(c->dtype);
    LINE(c, "setp.$6.$4 $0, $1, $2", v_text(unordered ? "neu" : names[c->op - WF__OP_eq]));
    return true;
}

/* ---- floats ---- */
/* The instructions put -0 below +0, as wanted, but prefer numbers to NaNs. Here a NaN operand is the result. */
static void float_min(const call *c, const char *name)
{
    if (c->dtype == WF_F32 && c->g->options->arch >= 80) {
        LINE(c, "$6.NaN.f32 $0, $1, $2", v_text(name));
        return;
    }
    val nan = wf__ptx_reg(c->g, V_P), sum = wf__ptx_new(c->g, c->dtype);
    LINE(c, "$6.$4 $0, $1, $2", v_text(name));
    LINE(c, "setp.nan.$4 $6, $1, $2", nan);
    LINE(c, "add.rn.$4 $6, $1, $2", sum);
    LINE(c, "selp.$5 $0, $6, $0, $7", sum, nan);
}

static bool float_test(const call *c)
{
    val abs = wf__ptx_new(c->g, c->dtype);
    val inf = wf__ptx_const(c->g, c->dtype, c->wide ? 0x7ff0000000000000 : 0x7f800000);
    if (c->op == WF__OP_isnan)
        LINE(c, "setp.nan.$4 $0, $1, $1");
    else {
        LINE(c, "abs.$4 $6, $1", abs);
        LINE(c, "setp.$8.$4 $0, $6, $7", abs, inf, v_text(c->op == WF__OP_isinf ? "eq" : "lt"));
    }
    return true;
}

static bool op_float(const call *c)
{
    switch (c->op) {
#define X(name, template)  \
    case WF__OP_##name:    \
        LINE(c, template); \
        return true;
        X(neg, "neg.$4 $0, $1")
        X(abs, "abs.$4 $0, $1")
        X(sqrt, "sqrt.rn.$4 $0, $1")
        X(floor, "cvt.rmi.$4.$4 $0, $1")
        X(ceil, "cvt.rpi.$4.$4 $0, $1")
        X(round, "cvt.rni.$4.$4 $0, $1")
        X(trunc, "cvt.rzi.$4.$4 $0, $1")
        X(add, "add.rn.$4 $0, $1, $2")
        X(sub, "sub.rn.$4 $0, $1, $2")
        X(mul, "mul.rn.$4 $0, $1, $2")
        X(div, "div.rn.$4 $0, $1, $2")
        X(fma, "fma.rn.$4 $0, $1, $2, $3")
        X(fmin, "min.$4 $0, $1, $2")
        X(fmax, "max.$4 $0, $1, $2")
        X(copysign, "copysign.$4 $0, $2, $1")
#undef X
    case WF__OP_min:
    case WF__OP_max:
        float_min(c, c->op == WF__OP_min ? "min" : "max");
        return true;
    case WF__OP_isnan:
    case WF__OP_isinf:
    case WF__OP_isfinite:
        return float_test(c);
    default:
        return false;
    }
}

/* ---- integers ---- */
/* Division by zero and, if signed, by -1 is replaced by division by 1; the defined result is selected afterwards. */
static void emit_divide(const call *c)
{
    gen *g = c->g;
    bool remainder = c->op == WF__OP_mod, is_signed = wf__is_signed(c->dtype);
    bool known = c->b.kind == V_INT && c->b.bits + 1 > 1; /* neither 0 nor -1 */
    if (known) {
        LINE(c, remainder ? "rem.$4 $0, $1, $2" : "div.$4 $0, $1, $2");
        return;
    }
    val zero = wf__ptx_reg(g, V_P), by = wf__ptx_new(g, c->dtype), minus = wf__ptx_reg(g, V_P);
    val opposite = wf__ptx_new(g, c->dtype);
    LINE(c, "setp.eq.$4 $6, $2, 0", zero);
    LINE(c, "selp.$5 $7, 1, $2, $6", zero, by);
    if (is_signed) {
        LINE(c, "setp.eq.$4 $6, $2, -1", minus);
        LINE(c, "selp.$5 $7, 1, $7, $6", minus, by);
    }
    LINE(c, remainder ? "rem.$4 $0, $1, $6" : "div.$4 $0, $1, $6", by);
    if (is_signed && !remainder) {
        LINE(c, "sub.$4 $6, 0, $1", opposite);
        LINE(c, "selp.$5 $0, $6, $0, $7", opposite, minus);
    }
    if (!remainder) /* a % 1 is 0 already */
        LINE(c, "selp.$5 $0, 0, $0, $6", zero);
}

/* The operand with zeros above its width. */
static val unsigned_bits(const call *c)
{
    if (c->bits >= 32 || !wf__is_signed(c->dtype))
        return c->a;
    val r = wf__ptx_reg(c->g, V_R);
    EMIT(c->g, "and.b32 $0, $1, $2", r, c->a, v_int((1 << c->bits) - 1));
    return r;
}

static void emit_absolute(const call *c)
{
    val sign = wf__ptx_new(c->g, c->dtype);
    if (!wf__is_signed(c->dtype)) {
        LINE(c, "mov.$5 $0, $1");
        return;
    }
    LINE(c, "shr.$4 $6, $1, $7", sign, v_int(c->wide ? 63 : 31));
    LINE(c, "xor.$5 $0, $1, $6", sign);
    LINE(c, "sub.$4 $0, $0, $6", sign);
}

static void count_bits(const call *c)
{
    gen *g = c->g;
    val n = wf__ptx_reg(g, V_R), x = unsigned_bits(c), t = wf__ptx_new(g, c->dtype);
    if (c->op == WF__OP_popcount)
        EMIT(g, "popc.$1 $0, $2", n, c->in, x);
    else if (c->op == WF__OP_clz) {
        EMIT(g, "clz.$1 $0, $2", n, c->in, x);
        if (c->bits < 32)
            EMIT(g, "sub.u32 $0, $0, $1", n, v_int(32 - c->bits));
    } else {
        if (c->bits < 32) {
            EMIT(g, "or.b32 $0, $1, $2", t, x, v_int(1 << c->bits)); /* so that 0 gives the width */
            x = t;
        }
        EMIT(g, "brev.$1 $0, $2", t, c->in, x);
        EMIT(g, "clz.$1 $0, $2", n, c->in, t);
    }
    EMIT(g, c->wide ? "cvt.u64.u32 $0, $1" : "mov.b32 $0, $1", c->d, n);
}

static void multiply_high(const call *c)
{
    if (c->bits >= 32) {
        LINE(c, "mul.hi.$4 $0, $1, $2");
        return;
    }
    LINE(c, "mul.lo.$4 $0, $1, $2");
    LINE(c, "shr.$4 $0, $0, $6", v_int(c->bits));
}

/* The instruction clamps a count beyond the width to the width, which gives the defined result. Counts have 32 bits. */
static void emit_shift(const call *c)
{
    val by = c->b;
    if (c->wide) {
        val most = wf__ptx_reg(c->g, V_D);
        by = wf__ptx_reg(c->g, V_R);
        EMIT(c->g, "min.u64 $0, $1, 64", most, c->b);
        EMIT(c->g, "cvt.u32.u64 $0, $1", by, most);
    }
    if (c->op == WF__OP_shl)
        LINE(c, "shl.$5 $0, $1, $6", by);
    else
        LINE(c, "shr.$4 $0, $1, $6", by);
}

static void emit_rotate(const call *c)
{
    gen *g = c->g;
    bool left = c->op == WF__OP_rotl;
    if (c->bits == 32) {
        LINE(c, left ? "shf.l.wrap.b32 $0, $1, $1, $2" : "shf.r.wrap.b32 $0, $1, $1, $2");
        return;
    }
    val x = unsigned_bits(c), by = wf__ptx_reg(g, V_R), back = wf__ptx_reg(g, V_R), low = wf__ptx_new(g, c->dtype);
    EMIT(g, c->wide ? "cvt.u32.u64 $0, $1" : "mov.b32 $0, $1", by, c->b);
    EMIT(g, "and.b32 $0, $0, $1", by, v_int(c->bits - 1));
    EMIT(g, "sub.u32 $0, $1, $2", back, v_int(c->bits), by);
    EMIT(g, left ? "shl.$1 $0, $2, $3" : "shr.$4 $0, $2, $3", c->d, c->in, x, by, v_text(c->wide ? "u64" : "u32"));
    EMIT(g, left ? "shr.$4 $0, $2, $3" : "shl.$1 $0, $2, $3", low, c->in, x, back, v_text(c->wide ? "u64" : "u32"));
    EMIT(g, "or.$1 $0, $0, $2", c->d, c->in, low);
}

static void reverse_bits(const call *c)
{
    LINE(c, "brev.$5 $0, $1");
    if (c->bits < 32)
        LINE(c, "shr.u32 $0, $0, $6", v_int(32 - c->bits));
}

static bool op_int(const call *c)
{
    switch (c->op) {
#define X(name, statement) \
    case WF__OP_##name:    \
        statement;         \
        return true;
        X(neg, LINE(c, "sub.$4 $0, 0, $1"))
        X(abs, emit_absolute(c))
        X(not, LINE(c, "not.$5 $0, $1"))
        X(floor, LINE(c, "mov.$5 $0, $1"))
        X(ceil, LINE(c, "mov.$5 $0, $1"))
        X(round, LINE(c, "mov.$5 $0, $1"))
        X(trunc, LINE(c, "mov.$5 $0, $1"))
        X(isnan, LINE(c, "setp.ne.s32 $0, 0, 0"))
        X(isinf, LINE(c, "setp.ne.s32 $0, 0, 0"))
        X(isfinite, LINE(c, "setp.eq.s32 $0, 0, 0"))
        X(popcount, count_bits(c))
        X(clz, count_bits(c))
        X(ctz, count_bits(c))
        X(brev, reverse_bits(c))
        X(add, LINE(c, "add.$4 $0, $1, $2"))
        X(sub, LINE(c, "sub.$4 $0, $1, $2"))
        X(mul, LINE(c, "mul.lo.$4 $0, $1, $2"))
        X(fma, LINE(c, "mad.lo.$4 $0, $1, $2, $3"))
        X(mulhi, multiply_high(c))
        X(idiv, emit_divide(c))
        X(mod, emit_divide(c))
        X(min, LINE(c, "min.$4 $0, $1, $2"))
        X(max, LINE(c, "max.$4 $0, $1, $2"))
        X(fmin, LINE(c, "min.$4 $0, $1, $2"))
        X(fmax, LINE(c, "max.$4 $0, $1, $2"))
        X(and, LINE(c, "and.$5 $0, $1, $2"))
        X(or, LINE(c, "or.$5 $0, $1, $2"))
        X(xor, LINE(c, "xor.$5 $0, $1, $2"))
        X(shl, emit_shift(c))
        X(shr, emit_shift(c))
        X(rotl, emit_rotate(c))
        X(rotr, emit_rotate(c))
#undef X
    default:
        return false;
    }
}

val wf__ptx_op(gen *g, unsigned op, unsigned dtype, const val *x)
{
    const wf__op_info *info = &wf__op_table[op];
    if (op == WF__OP_select)
        return wf__ptx_select(g, dtype, x[0], x[1], x[2]);
    call c = { .g = g, .op = op, .dtype = dtype };
    c.d = wf__ptx_new(g, info->to_bool ? WF_BOOL : dtype);
    c.a = x[0];
    c.b = info->arity > 1 ? x[1] : x[0];
    c.c = info->arity > 2 ? x[2] : x[0];
    c.type = wf__ptx_type(dtype);
    c.in = wf__ptx_bits(dtype);
    c.bits = 8 * (int)wf__size(dtype);
    c.wide = wf__ptx_wide(dtype);
    bool done;
    if (dtype == WF_BOOL)
        done = op_bool(&c);
    else if (op_compare(&c))
        done = true;
    else
        done = wf__is_float(dtype) ? op_float(&c) : op_int(&c);
    if (!done)
        wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "%s of %s on a GPU", info->name, wf_dtype_name((wf_dtype)dtype));
    if (!info->to_bool && wf__is_int(dtype) && c.bits < 32)
        wf__ptx_normalise(g, dtype, c.d);
    return c.d;
}
