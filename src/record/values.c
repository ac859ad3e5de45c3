/* values.c - operations on values. Operands are C numbers, nodes and variables. Their dtypes are made the same, and
 * the builder does the rest. Every public operation of ops.h is one call of `operation` or of its short form for the
 * usual case. */
#include "record/record.h"
#include "base/floats.h"
#include <math.h>

wf_val wf__value(wf_graph *g, wf__ref ref)
{
    double id = ref ? wf__id_of(g, ref) + (double)g->section * WF__SECTION_IDS : 0;
    return (wf_val){ { id, g } };
}

static wf_val number(double x) { return (wf_val){ { x, NULL } }; }

/* ---- operands ---- */
/* Fails g because an operand is poison or belongs to another recording, `of`. The message includes the failure of
 * `of` if it is still open. */
static void refuse(wf_graph *g, const wf_graph *of, bool poison, const char *function)
{
    wf__str why = { 0 };
    wf_status status = WF_ERR_ARG;
    wf__mutex_lock(&g->ctx->lock);
    const wf_graph *open = g->ctx->graphs->open;
    while (open && open != of)
        open = open->next;
    const wf__ir *failed = open ? wf__failed_section(open) : NULL;
    if (failed) {
        status = failed->status;
        wf__str_addf(&why, ": %s", failed->error);
    }
    wf__mutex_unlock(&g->ctx->lock);
    wf__poison(g, status, "%s: an operand belongs to another recording%s%s", function,
               failed || poison ? ", which failed" : "", wf__str_get(&why));
    wf__str_free(&why);
}

static wf__ref out_of_use(wf_graph *g, const char *function)
{
    wf__poison(g, WF_ERR_CONTRACT,
               "%s: a value is used that was read from an array which wf_eval has changed since; wf_keep it before",
               function);
    return 0;
}

wf__ref wf__usable(wf_graph *g, wf__ref ref, const char *function)
{
    bool gone = ref && g->evaluated && wf__graph_ir(g)->node[ref].op == WF__NOP;
    return gone ? out_of_use(g, function) : ref;
}

wf__ref wf__resolve(wf_graph *g, wf_val v, const char *function, bool *is_number)
{
    *is_number = v.h.graph == NULL;
    if (*is_number)
        return 0;
    if (wf__is_pair(v)) {
        wf__poison(g, WF_ERR_DTYPE, "%s: a complex number is not for this; wf_const_complex makes a value of it",
                   function);
        return 0;
    }
    if (v.h.graph != g || v.h.num == 0) {
        if (!wf__failed_section(g)) /* else the earlier failure says why */
            refuse(g, v.h.graph, v.h.num == 0, function);
        return 0;
    }
    if (v.h.num < 0) {
        wf__variable *var = wf__variable_of(v.h);
        if (!var) {
            wf__poison(g, WF_ERR_ARG, "%s: a variable of a recording that has ended is used", function);
            return 0;
        }
        wf__ref ref = *wf__holds(g, var);
        if (var->contract == WF__CONTRACT_OUTPUT && !(g->surely_set >> var->operand & 1)) {
            wf__poison(g, WF_ERR_CONTRACT,
                       "%s: the operator reads output %u before it is set on every path (vectorize)", function,
                       (unsigned)var->operand);
            return 0;
        }
        if (!ref)
            wf__poison(
                g, WF_ERR_CONTRACT,
                g->section != WF_SECTION_CALL
                    ? "%s: a variable of section WF_SECTION_CALL is used in another section; only reduced ones cross "
                      "(and only those with a custom join into WF_SECTION_JOIN)"
                    : "%s: a variable declared in a block that has ended is used",
                function);
        return wf__usable(g, ref, function);
    }
    double section = (double)((int64_t)v.h.num / (int64_t)WF__SECTION_IDS);
    if (section != (double)g->section) {
        wf__poison(g, WF_ERR_CONTRACT, "%s: a value of another section is used; only reduced variables cross",
                   function);
        return 0;
    }
    wf__ref ref = wf__node_of(g, v.h.num - section * WF__SECTION_IDS);
    if (ref < wf__graph_ir(g)->n && !wf__is_hidden(wf__graph_ir(g), ref))
        return ref;
    if (ref < wf__graph_ir(g)->n && g->evaluated)
        return out_of_use(g, function);
    if (ref < wf__graph_ir(g)->n) {
        wf__poison(g, WF_ERR_CONTRACT,
                   "%s: a value of a block that has ended is used; keep it in a variable declared before the block "
                   "(wf_local)",
                   function);
        return 0;
    }
    wf__poison(g, WF_ERR_ARG, "%s: a value of a recording that has ended is used", function);
    return 0;
}

WF__APART bool wf__number_fits(double value, wf_dtype dtype)
{
    wf_kind kind = wf_dtype_kind(dtype);
    if (kind == WF_KIND_FLOAT || kind == WF_KIND_COMPLEX)
        return true;
    if (kind == WF_KIND_NONE || value != floor(value) || value != value)
        return false;
    if (kind == WF_KIND_BOOL)
        return value == 0 || value == 1;
    bool is_signed = kind == WF_KIND_SIGNED;
    double top = ldexp(1, 8 * (int)wf__size(dtype) - is_signed);
    return value < top && value >= (is_signed ? -top : 0) && fabs(value) < 0x1p53;
}

static WF__APART bool is_whole(double value) { return value == trunc(value); }

bool wf__is_whole(double value)
{
    wf__floats floats = wf__floats_begin();
    bool ok = is_whole(value);
    wf__floats_end(floats);
    return ok;
}

bool wf_number_fits(double value, wf_dtype dtype)
{
    wf__floats floats = wf__floats_begin();
    bool ok = wf__number_fits(value, dtype);
    wf__floats_end(floats);
    return ok;
}

static WF__APART wf__ref to_constant(wf_graph *g, double value, unsigned dtype, const char *function,
                                     const char *advice)
{
    const char *name = wf_dtype_name((wf_dtype)dtype);
    if (wf__number_fits(value, (wf_dtype)dtype))
        return wf__const_f64(wf__graph_ir(g), dtype, value);
    if (fabs(value) >= 0x1p53)
        wf__poison(g, WF_ERR_DTYPE, "%s: %.17g is too large for a number; say wf_const_i64 (for %s)", function, value,
                   name);
    else
        wf__poison(g, WF_ERR_DTYPE, "%s: the number %.17g does not fit %s%s", function, value, name, advice);
    return 0;
}

/* Returns the number as a constant of `dtype`; 0 after poisoning. `advice` ends the message. */
static wf__ref number_as(wf_graph *g, double value, unsigned dtype, const char *function, const char *advice)
{
    if (wf__is_float(dtype)) /* the usual case: any number fits */
        return wf__const_f64(wf__graph_ir(g), dtype, value);
    wf__floats floats = wf__floats_begin();
    wf__ref r = to_constant(g, value, dtype, function, advice);
    wf__floats_end(floats);
    return r;
}

wf__ref wf__number(wf_graph *g, double value, unsigned dtype, const char *function)
{
    return number_as(g, value, dtype, function, "");
}

wf__ref wf__converted(wf_graph *g, wf_val v, unsigned dtype, const char *function)
{
    bool is_number;
    if (wf__is_pair(v))
        return wf__pair_as(g, v, dtype, function);
    wf__ref ref = wf__resolve(g, v, function, &is_number);
    if (is_number)
        return wf__number(g, v.h.num, dtype, function);
    return ref ? wf__cast(wf__graph_ir(g), ref, dtype) : 0;
}

/* Returns the node of a value whose properties the program queries; 0 = a number, or poison. */
static wf__ref queried_node(wf_val v, const char *function)
{
    bool is_number;
    return v.h.num != 0 && wf__is_recording(wf__graph_of(v)) ? wf__resolve(v.h.graph, v, function, &is_number) : 0;
}

wf_dtype wf_val_dtype(wf_val v)
{
    wf__ref ref = queried_node(v, "wf_val_dtype");
    return ref ? (wf_dtype)wf__dtype(wf__graph_ir(v.h.graph), ref) : WF_NONE;
}

wf_shape wf_val_shape(wf_val v)
{
    wf__ref ref = queried_node(v, "wf_val_shape");
    const wf__ir *ir = ref ? wf__graph_ir(v.h.graph) : NULL;
    return ref ? ir->shape[wf__shape_of(ir, ref)] : (wf_shape){ 0 };
}

bool wf_val_number(wf_val v, double *re, double *im)
{
    bool pair = wf__is_pair(v);
    if (v.h.graph && !pair)
        return false;
    if (re)
        *re = v.h.num;
    if (im)
        *im = pair ? wf__pair_imag(v) : 0;
    return true;
}

/* True if the value is computed from constants alone, by at most `depth` nested operations. */
static bool is_constant(const wf__ir *ir, wf__ref r, int depth)
{
    wf__ref operand[WF__MAX_OPERANDS];
    const wf__node *n = &ir->node[r];
    if (n->op == WF__CONST)
        return true;
    if (!wf__op_is_pure(n->op) || depth == 0)
        return false;
    bool all = true;
    for (uint32_t i = 0, count = wf__operands(ir, n, operand); i < count && all; i++)
        all = is_constant(ir, operand[i], depth - 1);
    return all;
}

bool wf_val_is_constant(wf_val v)
{
    enum { LIMIT = 8 }; /* folded values are one node; without folding, deeper ones do not count */
    wf__ref r = queried_node(v, "wf_val_is_constant");
    return r ? is_constant(wf__graph_ir(v.h.graph), r, LIMIT) : wf_val_number(v, NULL, NULL);
}

/* ---- bringing dtypes together: C's usual conversions, without the promotion of small integers to int ---- */
static unsigned common_real(unsigned a, unsigned b)
{
    if (a == b)
        return a;
    if (wf__is_float(a) && wf__is_float(b))
        return wf__is_half(a) && wf__is_half(b) ? WF_F32 : a > b ? a : b; /* neither f16 nor bf16 holds the other */
    if (wf__is_float(a) || wf__is_float(b))
        return wf__is_float(a) ? a : b;
    if (a == WF_BOOL || b == WF_BOOL)
        return a == WF_BOOL ? b : a;
    if (wf__size(a) == wf__size(b))
        return WF_NONE; /* signed with unsigned */
    return wf__size(a) > wf__size(b) ? a : b;
}

static unsigned common_dtype(unsigned a, unsigned b)
{
    unsigned x = wf__is_complex(a) ? wf__part_dtype(a) : a, y = wf__is_complex(b) ? wf__part_dtype(b) : b;
    unsigned t = common_real(x, y);
    return x == a && y == b ? t : wf__complex_dtype(t);
}

typedef struct operand {
    wf_val v;
    wf__ref ref;
    bool number, pair; /* a C number: real or complex; both false for a value */
} operand;

/* Returns the complex dtype of a complex number beside a value of dtype t; WF_NONE after poisoning. */
static unsigned beside_pair(wf_graph *g, unsigned op, unsigned t)
{
    if (wf__is_complex(t) || wf__is_float(t))
        return wf__is_complex(t) ? t : t == WF_BF16 ? WF_C64 : wf__complex_dtype(t);
    wf__poison(g, WF_ERR_DTYPE, "%s: a complex number meets %s; cast that to a float first", wf__function_name(op),
               wf_dtype_name((wf_dtype)t));
    return WF_NONE;
}

static WF__APART bool is_exact(double x) { return (double)(float)x == x || x != x; }

/* True if f32 holds x exactly, or x is NaN. */
static bool is_short(double x)
{
    wf__floats floats = wf__floats_begin();
    bool ok = is_exact(x);
    wf__floats_end(floats);
    return ok;
}

/* Returns the common dtype of operands first .. count - 1; WF_NONE after poisoning. */
static unsigned meeting_dtype(wf_graph *g, unsigned op, const operand *o, unsigned first, unsigned count)
{
    const wf__ir *ir = wf__graph_ir(g);
    unsigned t = WF_NONE;
    bool pairs = false;
    for (unsigned i = first; i < count; ++i) {
        pairs = pairs || o[i].pair;
        if (o[i].number || o[i].pair)
            continue;
        unsigned u = wf__dtype(ir, o[i].ref), both = t == WF_NONE ? u : common_dtype(t, u);
        if (both == WF_NONE) {
            wf__poison(g, WF_ERR_DTYPE, "%s: %s meets %s; cast one of them", wf__function_name(op),
                       wf_dtype_name((wf_dtype)t), wf_dtype_name((wf_dtype)u));
            return WF_NONE;
        }
        t = both;
    }
    if (t != WF_NONE)
        return pairs ? beside_pair(g, op, t) : t;
    for (unsigned i = first; i < count; ++i) /* numbers only (select): f32 if all are exact in f32 */
        if (!is_short(o[i].v.h.num) || (o[i].pair && !is_short(wf__pair_imag(o[i].v))))
            return pairs ? WF_C128 : WF_F64;
    return pairs ? WF_C64 : WF_F32;
}

static bool allowed(wf_graph *g, unsigned op, unsigned t)
{
    if (wf__op_allows(op, t))
        return true;
    const char *advice =
        op == WF__OP_div && wf__is_int(t)                      ? "say wf_idiv (truncates) or cast to a float first"
        : t == WF_BF16 && wf__op_table[op].types == WF__T_CPLX ? "there is no complex bf16; cast to f32 first"
        : wf__is_complex(t)                                    ? "it is complex; say wf_real or wf_abs"
        : wf__op_table[op].types == WF__T_FLT || wf__op_table[op].types == WF__T_CPLX ? "cast to a float first"
                                                                                      : "cast first";
    wf__poison(g, WF_ERR_DTYPE, "%s: not for %s; %s", wf__function_name(op), wf_dtype_name((wf_dtype)t), advice);
    return false;
}

static WF__APART wf_val of_numbers(unsigned op, const wf_val *v)
{
    const wf__op_info *info = &wf__op_table[op];
    bool pairs = op == WF__OP_complex || op == WF__OP_polar;
    for (unsigned i = 0; i < info->arity; ++i)
        pairs = pairs || wf__is_pair(v[i]);
    if (pairs)
        return wf__on_pairs(op, v);
    uint64_t bits[3] = { 0 }, out = 0;
    bool remainder = op == WF__OP_mod || op == WF__OP_floor_mod;
    bool integer = info->types == WF__T_INT || info->types == WF__T_BITS ||
                   (remainder && wf__number_fits(v[0].h.num, WF_I64) && wf__number_fits(v[1].h.num, WF_I64));
    for (unsigned i = 0; i < info->arity; ++i) {
        int64_t whole = 0;
        if (integer) {
            if (!wf__number_fits(v[i].h.num, WF_I64))
                return number(NAN);
            whole = (int64_t)v[i].h.num;
            memcpy(&bits[i], &whole, sizeof whole);
        } else
            memcpy(&bits[i], &v[i].h.num, sizeof bits[i]);
    }
    if (info->types == WF__T_FIRST_BOOL)
        return v[0].h.num != 0 ? v[1] : v[2];
    if (info->types == WF__T_CPLX) { /* parts of a real number */
        const wf_val point[2] = { number(0), v[0] };
        return op == WF__OP_real || op == WF__OP_conj ? v[0]
               : op == WF__OP_imag                    ? number(0)
                                                      : of_numbers(WF__OP_atan2, point);
    }
    if (op == WF__OP_copysign && v[1].h.num != v[1].h.num)
        bits[1] = 0; /* the sign of a NaN is no result */
    unsigned t = integer ? WF_I64 : WF_F64;
    if (wf__op_expands(op, t)) {
        wf__ir ir;
        wf__ir_init(&ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
        wf__ref a = wf__const_bits(&ir, t, bits[0]), b = wf__const_bits(&ir, t, bits[1]),
                c = wf__const_bits(&ir, t, bits[2]);
        wf__ref r = info->arity == 1   ? wf__op1(&ir, op, a)
                    : info->arity == 2 ? wf__op2(&ir, op, a, b)
                                       : wf__op3(&ir, op, a, b, c);
        out = r && ir.node[r].op == WF__CONST ? wf__bits(&ir.node[r]) : 0x7ff8000000000000u;
        wf__ir_free(&ir);
    } else
        wf__eval(op, t, &out, &bits[0], &bits[1], &bits[2], 1);
    if (info->to_bool)
        return number((double)(out & 1));
    double x;
    int64_t whole;
    memcpy(&x, &out, sizeof x);
    memcpy(&whole, &out, sizeof whole);
    return number(integer ? (double)whole : x);
}

/* Computes an operation on numbers: in double, or in i64 for integer operations on integral numbers. */
static wf_val on_numbers(unsigned op, const wf_val *v)
{
    wf__floats floats = wf__floats_begin();
    wf_val result = of_numbers(op, v);
    wf__floats_end(floats);
    return result;
}

/* Returns b, with 0 for NaN: the sign of a NaN is no result, so copysign must not read it. */
static wf__ref without_nan(wf__ir *ir, wf__ref b)
{
    const wf__ref nan = wf__op2(ir, WF__OP_ne, b, b), zero = wf__const_f64(ir, wf__dtype(ir, b), 0);
    return wf__op3(ir, WF__OP_select, nan, zero, b);
}

static wf_val operation(unsigned op, unsigned arity, wf_val a, wf_val b, wf_val c)
{
    const wf_val v[3] = { a, b, c };
    wf_graph *g = wf__graph_of(a);
    for (unsigned i = 1; i < arity && !g; ++i)
        g = wf__graph_of(v[i]);
    if (!g)
        return on_numbers(op, v);
    wf__ir *ir = wf__graph_ir(g);
    if (ir->status != WF_OK)
        return wf__value(g, 0);
    operand o[3];
    bool same = true;
    unsigned first = wf__op_table[op].types == WF__T_FIRST_BOOL;
    for (unsigned i = 0; i < arity; ++i) {
        o[i] = (operand){ .v = v[i], .pair = wf__is_pair(v[i]) && (i || !first) };
        o[i].ref = o[i].pair ? 0 : wf__resolve(g, v[i], wf__function_name(op), &o[i].number);
        if (!o[i].number && !o[i].pair && !o[i].ref) {
            wf__poison(g, WF_ERR_ARG, "%s: an operand is not a value", wf__function_name(op));
            return wf__value(g, 0);
        }
        same = same && o[i].ref && wf__dtype(ir, o[i].ref) == wf__dtype(ir, o[0].ref);
    }
    if (!same || first) {
        unsigned t = meeting_dtype(g, op, o, first, arity);
        if (t == WF_NONE)
            return wf__value(g, 0);
        if (!allowed(g, op, t))
            return wf__value(g, 0);
        for (unsigned i = first; i < arity; ++i) { /* a real operand stays real beside a complex one */
            if (o[i].pair) {
                o[i].ref = wf__pair_as(g, o[i].v, t, wf__function_name(op));
                continue;
            }
            bool real = wf__is_complex(t) && (o[i].number || !wf__is_complex(wf__dtype(ir, o[i].ref)));
            unsigned to = real ? wf__part_dtype(t) : t;
            o[i].ref = o[i].number ? number_as(g, o[i].v.h.num, to, wf__function_name(op), "; cast the other operand")
                                   : wf__cast(ir, o[i].ref, to);
        }
        if (first)
            o[0].ref = o[0].number ? wf__const_bits(ir, WF_BOOL, o[0].v.h.num != 0) : wf__cast(ir, o[0].ref, WF_BOOL);
    } else if (!allowed(g, op, wf__dtype(ir, o[0].ref)))
        return wf__value(g, 0);
    if (op == WF__OP_copysign)
        o[1].ref = without_nan(ir, o[1].ref);
    wf__ref r = arity == 1   ? wf__op1(ir, op, o[0].ref)
                : arity == 2 ? wf__op2(ir, op, o[0].ref, o[1].ref)
                             : wf__op3(ir, op, o[0].ref, o[1].ref, o[2].ref);
    return wf__value(g, r);
}

/* ---- the usual case: nodes of one recording and one dtype, and numbers that meet floats ---- */
/* Sets *out to the node of a value of section WF_SECTION_CALL. False: a variable, poison, or a value of another
 * section or of an earlier recording. */
static inline bool plain(const wf_graph *g, wf_val v, wf__ref *out)
{
    int64_t node = (int64_t)(v.h.num - g->id_distance);
    *out = (wf__ref)node;
    return (uint64_t)(node - 1) < g->program.rec.ir.n - 1;
}
static inline wf_val plain_value(wf_graph *g, wf__ref ref)
{
    return (wf_val){ { ref ? (double)ref + g->id_distance : 0, g } };
}

/* Returns the IR in which plain operands of `g` can be combined; NULL = only `operation` can tell. */
static inline wf__ir *plain_ir(wf_graph *g)
{
    wf__ir *ir = &g->program.rec.ir;
    return g->section == WF_SECTION_CALL && ir->status == WF_OK && !ir->closed_n ? ir : NULL;
}

static inline wf_val operation1(unsigned op, wf_val a)
{
    wf__ir *ir = wf__graph_of(a) ? plain_ir(a.h.graph) : NULL;
    wf__ref x;
    if (ir && plain(a.h.graph, a, &x) && wf__types_allow(wf__op_table[op].types, wf__dtype(ir, x)))
        return plain_value(a.h.graph, wf__op1_fitting(ir, op, x));
    return operation(op, 1, a, number(0), number(0));
}

static inline wf_val operation2(unsigned op, wf_val a, wf_val b)
{
    wf_graph *g = wf__graph_of(a);
    wf__ir *ir = g ? plain_ir(g) : NULL;
    wf__ref x, y = 0;
    if (ir && plain(g, a, &x)) {
        unsigned t = wf__dtype(ir, x);
        if (g == b.h.graph) {
            if (!plain(g, b, &y) || wf__dtype(ir, y) != t)
                y = 0;
        } else if (!b.h.graph && wf__is_float(t))
            y = wf__const_f64(ir, t, b.h.num);
        if (y && wf__types_allow(wf__op_table[op].types, t))
            return plain_value(g, wf__op2_fitting(ir, op, x, op == WF__OP_copysign ? without_nan(ir, y) : y));
    }
    return operation(op, 2, a, b, number(0));
}

/* ---- the public functions, from the table ---- */
#define DEFINE1(name) \
    wf_val(wf_##name)(wf_val a) { return operation1(WF__OP_##name, a); }
#define DEFINE2(name) \
    wf_val(wf_##name)(wf_val a, wf_val b) { return operation2(WF__OP_##name, a, b); }
#define DEFINE3(name) \
    wf_val(wf_##name)(wf_val a, wf_val b, wf_val c) { return operation(WF__OP_##name, 3, a, b, c); }
#define WF_OP(name, arity, ...) DEFINE##arity(name)
#include "ir/ops.def"
#undef WF_OP

wf_val(wf_cast)(wf_val a, wf_dtype dtype)
{
    wf_graph *g = wf__graph_of(a);
    bool is_number;
    if (!g)
        return a; /* numbers have no dtype: they take that of the other operand */
    wf__ref r = wf__resolve(g, a, "wf_cast", &is_number);
    return wf__value(g, r ? wf__cast(wf__graph_ir(g), r, dtype) : 0);
}

wf_val(wf_bitcast)(wf_val a, wf_dtype dtype)
{
    wf_graph *g = wf__graph_of(a);
    bool is_number;
    if (!g)
        return a;
    wf__ref r = wf__resolve(g, a, "wf_bitcast", &is_number);
    return wf__value(g, r ? wf__bitcast(wf__graph_ir(g), r, dtype) : 0);
}

void(wf_sincos)(wf_val a, wf_val *sine, wf_val *cosine)
{
    if (sine)
        *sine = wf_sin(a);
    if (cosine)
        *cosine = wf_cos(a);
}
