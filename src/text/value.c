/* value.c - how operators and functions of operator text convert dtypes before they call the recording functions.
 *
 * The library is strict: 0.5 does not fit an i32, and sqrt of an integer is an error. At a shell that would be a
 * nuisance, so text converts first (docs/text.md states the rules):
 *   - Integers that meet a real number, are divided, or enter a function of floats become f32 (8 and 16 bits) or f64.
 *     Beside an array of floats they take its dtype.
 *   - Bools in arithmetic take the dtype of the other operand, else i32.
 * All other conversions are the library's.
 */
#include "text/text.h"
#include <math.h>
#include <stdio.h>

/* ---- the op table, callable ---- */

typedef enum operand_class { NUM, INT, FLT, BITS, ANY, FIRST_BOOL, CPLX } operand_class; /* as WF_OPERATIONS has them */
typedef enum result_class { SAME, BOOL } result_class;

typedef struct function {
    const char *name;
    uint8_t arity, operands, result;
    bool complex; /* operands may be complex */
    union {
        wf_val (*f1)(wf_val);
        wf_val (*f2)(wf_val, wf_val);
        wf_val (*f3)(wf_val, wf_val, wf_val);
    } call;
} function;

#define F(name, arity, operands, result, complex) \
    { #name, arity, operands, result, complex, { .f##arity = wf_##name } },
static const function functions[] = { WF_OPERATIONS(F) };
#undef F

int wf__tval_function(const char *name, size_t len)
{
    for (size_t i = 0; i < WF__COUNT(functions); i++)
        if (strlen(functions[i].name) == len && memcmp(functions[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

int wf__tval_arity(int f) { return functions[f].arity; }

const char *wf__tval_function_name(int f)
{
    return f >= 0 && (size_t)f < WF__COUNT(functions) ? functions[f].name : NULL;
}

/* ---- numbers and nodes ---- */

static wf_dtype dtype_of(wf__tval a) { return wf__tval_is_number(a) ? WF_NONE : wf_val_dtype(a.v); }

wf__tval wf__tval_number(double value, bool real)
{
    wf__tval a = { .real = real || value != floor(value) || isinf(value) }; /* NaN included */
    a.v.h.num = value;
    return a;
}

/* The number that an operation on numbers gives; a whole one is never -0. */
static wf__tval number_outcome(double value, bool real)
{
    return wf__tval_number(real || value != 0 ? value : 0, real);
}

wf__tval wf__tval_node(wf_val v)
{
    return v.h.graph ? (wf__tval){ .v = v, .real = wf__text_is_pair(v) } : wf__tval_number(v.h.num, false);
}

static bool any_pair(const wf__tval *a, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= wf__text_is_pair(a[i].v);
    return any;
}

static wf__tval poison_value(wf__tctx *c, const char *why)
{
    if (why && !c->why[0])
        snprintf(c->why, sizeof c->why, "%s", why);
    wf__tval a = { 0 };
    a.v.h.graph = c->graph;
    return a;
}

static double number_of(wf__tval a) { return a.v.h.num; }
static double imaginary(wf__tval a) /* of a complex number */
{
    double im = 0;
    wf_val_number(a.v, NULL, &im);
    return im;
}
static bool is_whole(wf__tval a) /* a number that an i64 holds exactly */
{
    return !a.real && fabs(number_of(a)) < 9007199254740992.0;
}

static wf_dtype float_of(wf_dtype t)
{
    if (wf__text_is_float(t) || wf__text_is_complex(t))
        return t;
    return t == WF_I32 || t == WF_U32 || t == WF_I64 || t == WF_U64 ? WF_F64 : WF_F32;
}

static wf__tval convert_value(wf__tval a, wf_dtype to)
{
    return wf__tval_is_number(a) || dtype_of(a) == to ? a : wf__tval_node(wf_cast(a.v, to));
}

/* Returns the common dtype of the operands that are floats and of the parts of complex ones; NONE if there are none. */
static wf_dtype widest_float(const wf__tval *a, int n)
{
    wf_dtype widest = WF_NONE;
    for (int i = 0; i < n; i++) {
        wf_dtype t = dtype_of(a[i]);
        if (wf__text_is_complex(t))
            t = wf_dtype_part(t);
        if (t == WF_NONE || !wf__text_is_float(t) || t == widest)
            continue;
        bool halves = wf_dtype_size(t) == 2 && wf_dtype_size(widest) == 2;
        widest = halves ? WF_F32 : t > widest ? t : widest;
    }
    return widest;
}

/* Converts the operands of a function of floats: every node becomes a float. */
static void to_floats(wf__tval *a, int n)
{
    wf_dtype widest = widest_float(a, n);
    for (int i = 0; i < n; i++)
        if (dtype_of(a[i]) != WF_NONE && !wf__text_is_float(dtype_of(a[i])) && !wf__text_is_complex(dtype_of(a[i])))
            a[i] = convert_value(a[i], widest != WF_NONE ? widest : float_of(dtype_of(a[i])));
}

/* Converts the operands of arithmetic or of a comparison. Bools stay bools where they are compared with bools, 0 or 1.
 */
static void to_common(wf__tval *a, int n, bool comparison)
{
    bool real = false, beyond_bool = !comparison;
    wf_dtype target = WF_NONE, widest = widest_float(a, n);
    for (int i = 0; i < n; i++)
        if (wf__tval_is_number(a[i])) {
            real |= a[i].real;
            beyond_bool |= number_of(a[i]) != 0 && number_of(a[i]) != 1;
        }
    real |= any_pair(a, n);
    for (int i = 0; i < n; i++) {
        wf_dtype t = dtype_of(a[i]);
        if (real && wf__text_is_int(t))
            a[i] = convert_value(a[i], widest != WF_NONE ? widest : float_of(t));
        if (t != WF_NONE && t != WF_BOOL)
            target = dtype_of(a[i]);
    }
    if (widest != WF_NONE)
        target = widest;
    if (target == WF_NONE && real)
        target = WF_F32;
    if (target == WF_NONE && beyond_bool)
        target = WF_I32;
    for (int i = 0; i < n && target != WF_NONE; i++)
        if (dtype_of(a[i]) == WF_BOOL)
            a[i] = convert_value(a[i], target);
}

static wf__tval to_bool(wf__tval a)
{
    if (wf__tval_is_number(a))
        return wf__tval_number(number_of(a) != 0, false);
    if (wf__text_is_pair(a.v))
        return wf__tval_number(number_of(a) != 0 || imaginary(a) != 0, false);
    return dtype_of(a) == WF_BOOL || dtype_of(a) == WF_NONE ? a : wf__tval_node(wf_ne(a.v, 0));
}

static bool all_numbers(const wf__tval *a, int n)
{
    for (int i = 0; i < n; i++)
        if (!wf__tval_is_number(a[i]))
            return false;
    return true;
}

static bool any_float(const wf__tval *a, int n)
{
    for (int i = 0; i < n; i++)
        if (wf__text_is_float(dtype_of(a[i])) || (wf__tval_is_number(a[i]) && !is_whole(a[i])))
            return true;
    return any_pair(a, n);
}

/* Calls a function of the table; the operands have been converted. */
static wf__tval apply_function(int f, const wf__tval *a)
{
    const function *op = &functions[f];
    bool real = op->operands == FLT;
    wf_val r;
    if (op->arity == 1)
        r = op->call.f1(a[0].v);
    else if (op->arity == 2)
        r = op->call.f2(a[0].v, a[1].v);
    else
        r = op->call.f3(a[0].v, a[1].v, a[2].v);
    for (int i = 0; i < op->arity; i++)
        real |= wf__tval_is_number(a[i]) && a[i].real;
    return r.h.graph ? wf__tval_node(r) : number_outcome(r.h.num, real && op->result != BOOL);
}

static wf__tval apply_named(const char *name, const wf__tval *a)
{
    return apply_function(wf__tval_function(name, strlen(name)), a);
}

/* ---- functions ---- */

/* True if none of the operands is a complex number, or the function is for them. */
static bool pairs_allowed(const function *f, const wf__tval *a) { return f->complex || !any_pair(a, f->arity); }

wf__tval wf__tval_call(wf__tctx *c, int f, const wf__tval *args)
{
    const function *op = &functions[f];
    wf__tval a[3] = { { .real = false }, { .real = false }, { .real = false } };
    memcpy(a, args, op->arity * sizeof *a);
    if (!pairs_allowed(op, a))
        return poison_value(c, "this function is not for complex numbers");
    switch (op->operands) {
    case FIRST_BOOL:
        return wf__tval_select(c, a[0], a[1], a[2]);
    case FLT:
    case CPLX:
        to_floats(a, op->arity);
        break;
    case NUM:
        to_common(a, op->arity, false);
        break;
    case ANY:
        to_common(a, op->arity, true);
        break;
    default:
        if (any_float(a, op->arity) && f == wf__tval_function("floor_div", 9)) {
            wf__tval quotient = wf__tval_call(c, wf__tval_function("div", 3), a);
            return wf__tval_call(c, wf__tval_function("floor", 5), &quotient);
        }
        if (any_float(a, op->arity))
            return poison_value(c, "this function works on integers");
        if (op->operands == INT)
            to_common(a, op->arity, false);
    }
    return apply_function(f, a);
}

wf_dtype wf__tval_real(const wf__tctx *c, wf__tval a)
{
    bool exact = !is_whole(a) || (double)(float)number_of(a) == number_of(a);
    return c->real == WF_F64 || !exact ? WF_F64 : WF_F32;
}

wf__tval wf__tval_cast(wf__tctx *c, wf__tval a, wf_dtype to)
{
    if (wf__text_is_pair(a.v))
        a = wf__tval_node(wf_const_complex(c->graph, WF_C128, number_of(a), imaginary(a)));
    if (wf__tval_is_number(a))
        a = wf__tval_node(is_whole(a) ? wf_const_i64(c->graph, WF_I64, (int64_t)number_of(a))
                                      : wf_const(c->graph, WF_F64, number_of(a)));
    return wf__tval_node(wf_cast(a.v, to));
}

wf__tval wf__tval_integer(wf__tctx *c, wf__tval a)
{
    if (wf__tval_is_number(a))
        return is_whole(a)
                   ? a
                   : poison_value(c, "an index is a whole number; round(i) or floor(i) gives one, as i64(round(i))");
    if (dtype_of(a) == WF_BOOL)
        return convert_value(a, WF_I64);
    if (wf__text_is_pair(a.v))
        return poison_value(c, "an index is an integer, not a complex number");
    return wf__text_is_float(dtype_of(a))
               ? poison_value(c, "an index is an integer; i64(round(i)) makes one of a float")
               : a;
}

wf__tval wf__tval_index(wf__tctx *c, wf__tval a)
{
    if (dtype_of(a) == WF_U64)
        a = wf__tval_node(wf_min(a.v, wf_const_i64(c->graph, WF_U64, INT64_MAX)));
    return wf__tval_cast(c, a, WF_I64);
}

wf__tval wf__tval_select(wf__tctx *c, wf__tval cond, wf__tval a, wf__tval b)
{
    wf__tval choice[2] = { a, b };
    cond = to_bool(cond);
    if (wf__tval_is_number(cond) && !dtype_of(a) && !dtype_of(b))
        return number_of(cond) != 0 ? a : b;
    if (all_numbers(choice, 2)) {
        bool integers = is_whole(a) && is_whole(b),
             small = fabs(number_of(a)) < 2147483648.0 && fabs(number_of(b)) < 2147483648.0;
        bool wide = wf__tval_real(c, a) == WF_F64 || wf__tval_real(c, b) == WF_F64;
        wf_dtype t = !integers ? wide ? WF_F64 : WF_F32 : small ? WF_I32 : WF_I64;
        for (int i = 0; i < 2; i++)
            choice[i] = wf__tval_node(wf_const(c->graph, t, number_of(choice[i])));
    } else if (!dtype_of(a) && !dtype_of(b)) {
        for (int i = 0; i < 2; i++)
            choice[i] = wf__tval_cast(c, choice[i], c->real == WF_F64 ? WF_C128 : WF_C64);
    } else {
        to_common(choice, 2, true);
    }
    return wf__tval_node(wf_select(cond.v, choice[0].v, choice[1].v));
}

/* ---- operators ---- */

/* Returns true if no operand is a float or a complex number. */
static bool all_bits(const wf__tval *a, int n)
{
    for (int i = 0; i < n; i++)
        if (wf__text_is_complex(dtype_of(a[i])) || wf__text_is_pair(a[i].v))
            return false;
    return !any_float(a, n);
}

static const char *only_integers(int op)
{
    switch (op) {
    case '^':
        return "^ is the exclusive or of integers or bools; a power is a ** b";
    case '&':
        return "& works on the bits of integers or bools; conditions are joined by &&";
    case '|':
        return "| works on the bits of integers or bools; conditions are joined by ||";
    case '~':
        return "~ works on the bits of integers or bools";
    default:
        return "<< and >> shift integers";
    }
}

wf__tval wf__tval_unary(wf__tctx *c, int op, wf__tval a)
{
    bool is_number = wf__tval_is_number(a);
    switch (op) {
    case '-':
        to_common(&a, 1, false);
        return is_number ? wf__tval_number(a.real ? -number_of(a) : 0 - number_of(a), a.real) : apply_named("neg", &a);
    case '!':
        a = to_bool(a);
        return wf__tval_is_number(a) ? wf__tval_number(number_of(a) == 0, false) : apply_named("not", &a);
    default:
        if (!all_bits(&a, 1))
            return poison_value(c, only_integers('~'));
        return is_number ? wf__tval_number(-number_of(a) - 1, false) : apply_named("not", &a);
    }
}

/* Returns the number as a value with the dtype and shape of `like`. */
static wf__tval number_everywhere(wf__tval like, double value)
{
    wf_val always = wf_or(wf_eq(like.v, like.v), 1);
    return wf__tval_node(wf_select(always, value, like.v));
}

/* Returns a ** n by multiplications; n >= 1. */
static wf__tval power_by_squaring(wf__tval a, int n)
{
    wf__tval result = a;
    bool started = false;
    for (wf__tval square = a;; square = apply_named("mul", (wf__tval[]){ square, square })) {
        if (n & 1) {
            result = started ? apply_named("mul", (wf__tval[]){ result, square }) : square;
            started = true;
        }
        n >>= 1;
        if (n == 0)
            return result;
    }
}

static wf__tval apply_power(wf__tval a, wf__tval b)
{
    enum { MAX_SQUARING = 16 };
    wf__tval ab[2] = { a, b };
    if (!wf__tval_is_number(b) || number_of(b) != floor(number_of(b)) || fabs(number_of(b)) > MAX_SQUARING) {
        to_floats(ab, 2);
        bool root = wf__tval_is_number(b) && number_of(b) == 0.5;
        return root ? apply_named("sqrt", ab) : apply_named("pow", ab);
    }
    int n = (int)number_of(b);
    if (n == 0 && wf__tval_is_number(a))
        return wf__tval_number(1, b.real || a.real);
    if (n < 0 || b.real)
        to_floats(ab, 1);
    else
        to_common(ab, 1, false);
    if (n == 0 && wf__text_is_pair(a.v))
        return wf__tval_node(wf_complex(1, 0));
    if (n == 0)
        return number_everywhere(ab[0], 1);
    ab[1] = power_by_squaring(ab[0], n < 0 ? -n : n);
    ab[1].real |= wf__tval_is_number(ab[1]) && (n < 0 || b.real);
    ab[0] = wf__tval_number(1, true);
    return n < 0 ? apply_named("div", ab) : ab[1];
}

static wf__tval apply_remainder(wf__tctx *c, wf__tval *ab)
{
    if (any_pair(ab, 2))
        return poison_value(c, "% is not for complex numbers");
    if (all_numbers(ab, 2)) {
        bool zero =
            number_of(ab[1]) == 0 && is_whole(ab[0]) && is_whole(ab[1]); /* as integers of an array: a % 0 is 0 */
        return number_outcome(zero ? 0 : fmod(number_of(ab[0]), number_of(ab[1])), ab[0].real || ab[1].real);
    }
    to_common(ab, 2, false);
    return apply_named("mod", ab);
}

static wf__tval apply_bits(wf__tctx *c, int op, const wf__tval *ab)
{
    if (!all_bits(ab, 2))
        return poison_value(c, only_integers(op));
    if (all_numbers(ab, 2)) {
        int64_t x = (int64_t)number_of(ab[0]), y = (int64_t)number_of(ab[1]);
        bool outside = y < 0 || y > 63;
        double factor = outside ? 1 : ldexp(1, (int)y);
        switch (op) {
        case '&':
            return wf__tval_number((double)(x & y), false);
        case '|':
            return wf__tval_number((double)(x | y), false);
        case '^':
            return wf__tval_number((double)(x ^ y), false);
        case WF__TOK_SHL:
            return wf__tval_number(outside ? 0 : (double)x * factor, false);
        default:
            return wf__tval_number(outside ? (x < 0 ? -1 : 0) : floor((double)x / factor), false);
        }
    }
    bool shift = op == WF__TOK_SHL || op == WF__TOK_SHR;
    wf__tval a[2] = { ab[0], ab[1] };
    if (shift) {
        to_common(a, 2, false);
        return apply_named(op == WF__TOK_SHL ? "shl" : "shr", a);
    }
    for (int i = 0; i < 2; i++) {
        bool number_0_1 = wf__tval_is_number(a[1 - i]) && (number_of(a[1 - i]) == 0 || number_of(a[1 - i]) == 1);
        if (dtype_of(a[i]) == WF_BOOL && dtype_of(a[1 - i]) != WF_BOOL && !number_0_1)
            return poison_value(
                c, "the bits of a bool and an integer; & ^ | bind weaker than comparisons, as in C: use brackets");
    }
    return apply_named(op == '&' ? "and" : op == '|' ? "or" : "xor", a);
}

static wf__tval apply_logic(bool conjunction, wf__tval *ab)
{
    for (int i = 0; i < 2; i++)
        ab[i] = to_bool(ab[i]);
    if (all_numbers(ab, 2)) {
        bool x = number_of(ab[0]) != 0, y = number_of(ab[1]) != 0;
        return wf__tval_number(conjunction ? x && y : x || y, false);
    }
    return apply_named(conjunction ? "and" : "or", ab); /* not folded: true && b and false && b have b's shape */
}

wf__tval wf__tval_binary(wf__tctx *c, int op, wf__tval a, wf__tval b)
{
    wf__tval ab[2] = { a, b };
    bool arithmetic = op == '+' || op == '-' || op == '*';
    const char *name;
    switch (op) {
    case WF__TOK_OROR:
        return apply_logic(false, ab);
    case WF__TOK_ANDAND:
        return apply_logic(true, ab);
    case WF__TOK_POW:
        return apply_power(a, b);
    case '%':
        return apply_remainder(c, ab);
    case '&':
    case '|':
    case '^':
    case WF__TOK_SHL:
    case WF__TOK_SHR:
        return apply_bits(c, op, ab);
    case '/':
        to_floats(ab, 2);
        return apply_named("div", ab);
    case '+':
        name = "add";
        break;
    case '-':
        name = "sub";
        break;
    case '*':
        name = "mul";
        break;
    case WF__TOK_EQ:
        name = "eq";
        break;
    case WF__TOK_NE:
        name = "ne";
        break;
    case '<':
        name = "lt";
        break;
    case WF__TOK_LE:
        name = "le";
        break;
    case '>':
        name = "gt";
        break;
    default:
        name = "ge";
        break;
    }
    to_common(ab, 2, !arithmetic);
    int f = wf__tval_function(name, strlen(name));
    if (!pairs_allowed(&functions[f], ab))
        return poison_value(c, "complex numbers have no order");
    return apply_function(f, ab);
}
