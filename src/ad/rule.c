/* rule.c - records the terms of rules.def.
 *
 * A term is an expression in C's notation: numbers, the names a, b, c, r, g and h, pi, ln2, ln10, two_over_sqrt_pi and
 * half_sqrt_pi; in the order of precedence | and & of conditions, == <= >= < >, + and -, * and /, a minus sign; and the
 * operations of ops.def as functions. A part without names is computed as a double. Terms are read while they are
 * recorded, from left to right, so that the order of the nodes is that of the text.
 */
#include "ad/rule.h"

#define A(term) .operand[0] = { NULL, term }
#define B(term) .operand[1] = { NULL, term }
#define C(term) .operand[2] = { NULL, term }
#define A_IF(condition, term) .operand[0] = { condition, term }
#define B_IF(condition, term) .operand[1] = { condition, term }
#define C_IF(condition, term) .operand[2] = { condition, term }
#define LET(h) .let = h
static const wf__rule rules[] = {
#define WF_RULE(name, kind, ...) [WF__OP_##name - WF__NODES] = { .class = WF__RULE_##kind, __VA_ARGS__ },
#include "ad/rules.def"
#undef WF_RULE
};
#undef A
#undef B
#undef C
enum { /* number of rows: an operation without a row, or with two, does not compile */
       RULES = 0
#define WF_RULE(...) +1
#include "ad/rules.def"
#undef WF_RULE
};
_Static_assert(RULES == WF__OP_COUNT - WF__NODES, "each operation has one rule");

const wf__rule *wf__rule_of(unsigned op)
{
    WF__ASSERT(op >= WF__NODES && op < WF__OP_COUNT);
    return &rules[op - WF__NODES];
}

/* ---- terms ---- */
typedef struct term {
    wf__ir *ir;
    const wf__rule *rule;
    const wf__rule_names *names;
    const char *at; /* the rest of the text */
} term;
typedef struct value {
    wf__ref ref; /* 0 = a number, or the ir has failed */
    double number;
    bool is_number;
} value;

static const struct {
    const char *name;
    double number;
} constants[] = { { "pi", 0x1.921fb54442d18p+1 },
                  { "ln2", 0x1.62e42fefa39efp-1 },
                  { "ln10", 0x1.26bb1bbb55516p+1 },
                  { "two_over_sqrt_pi", 0x1.20dd750429b6dp+0 },
                  { "half_sqrt_pi", 0x1.c5bf891b4ef6bp-1 } };

static value parse(term *t, int level);

static value of_ref(wf__ref r) { return (value){ .ref = r }; }
static value of_number(double x) { return (value){ .number = x, .is_number = true }; }

static char next_of(term *t)
{
    while (*t->at == ' ')
        ++t->at;
    return *t->at;
}

static bool skips(term *t, char c)
{
    bool here = next_of(t) == c;
    t->at += here;
    return here;
}

static wf__ref node_of(term *t, value v) { return v.is_number ? wf__const_f64(t->ir, t->names->t, v.number) : v.ref; }

static value binary(term *t, unsigned op, value x, value y)
{
    if (x.is_number && y.is_number) {
        double a = x.number, b = y.number;
        return of_number(op == WF__OP_add ? a + b : op == WF__OP_sub ? a - b : op == WF__OP_mul ? a * b : a / b);
    }
    wf__ref a = node_of(t, x), b = node_of(t, y);
    return of_ref(wf__op2(t->ir, op, a, b));
}

static value call(term *t, const char *name, size_t length)
{
    value operand[3] = { { 0 } };
    unsigned n = 0;
    int op = wf__op_named(name, length);
    WF__ASSERT(op >= 0);
    do
        operand[n++] = parse(t, 0);
    while (n < 3 && skips(t, ','));
    bool closed = skips(t, ')');
    WF__ASSERT(closed && n == wf__arity((unsigned)op));
    (void)closed;
    wf__ref x[3] = { 0 };
    for (unsigned k = 0; k < n; ++k)
        x[k] = node_of(t, operand[k]);
    return of_ref(n == 1   ? wf__op1(t->ir, (unsigned)op, x[0])
                  : n == 2 ? wf__op2(t->ir, (unsigned)op, x[0], x[1])
                           : wf__op3(t->ir, (unsigned)op, x[0], x[1], x[2]));
}

static value named(term *t, const char *name, size_t length)
{
    const wf__rule_names *names = t->names;
    if (length == 1)
        switch (*name) {
        case 'a':
            return of_ref(names->a);
        case 'b':
            return of_ref(names->b);
        case 'c':
            return of_ref(names->c);
        case 'r':
            return of_ref(names->r);
        case 'g':
            return of_ref(names->g);
        default: {
            term let = { t->ir, t->rule, t->names, t->rule->let };
            WF__ASSERT(*name == 'h');
            return parse(&let, 0);
        }
        }
    for (size_t i = 0; i < WF__COUNT(constants); ++i)
        if (strlen(constants[i].name) == length && !memcmp(constants[i].name, name, length))
            return of_number(constants[i].number);
    WF__ASSERT(false && "a rule uses an unknown name");
    return of_number(0);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

/* Reads a decimal number of at most 15 digits: the quotient is the nearest double. */
static value number(term *t)
{
    double digits = 0, scale = 1;
    for (bool fraction = false; is_digit(*t->at) || (*t->at == '.' && !fraction); ++t->at) {
        fraction = fraction || *t->at == '.';
        if (*t->at == '.')
            continue;
        digits = 10 * digits + (*t->at - '0');
        scale *= fraction ? 10 : 1;
    }
    return of_number(digits / scale);
}

static value primary(term *t)
{
    if (skips(t, '-')) {
        value v = parse(t, 5);
        return v.is_number ? of_number(-v.number) : of_ref(wf__op1(t->ir, WF__OP_neg, v.ref));
    }
    if (skips(t, '(')) {
        value v = parse(t, 0);
        bool closed = skips(t, ')');
        WF__ASSERT(closed);
        (void)closed;
        return v;
    }
    if (is_digit(*t->at))
        return number(t);
    const char *name = t->at;
    while (is_letter(*t->at) || is_digit(*t->at))
        ++t->at;
    size_t length = (size_t)(t->at - name);
    return skips(t, '(') ? call(t, name, length) : named(t, name, length);
}

typedef struct sign {
    unsigned op;
    int level, length; /* length 0 = none */
} sign;

static sign sign_at(term *t)
{
    char c = next_of(t);
    bool equal = c && t->at[1] == '=';
    switch (c) {
    case '|':
        return (sign){ WF__OP_or, 0, 1 };
    case '&':
        return (sign){ WF__OP_and, 1, 1 };
    case '=':
        WF__ASSERT(equal);
        return (sign){ WF__OP_eq, 2, 2 };
    case '<':
        return equal ? (sign){ WF__OP_le, 2, 2 } : (sign){ WF__OP_lt, 2, 1 };
    case '>':
        return equal ? (sign){ WF__OP_ge, 2, 2 } : (sign){ WF__OP_gt, 2, 1 };
    case '+':
        return (sign){ WF__OP_add, 3, 1 };
    case '-':
        return (sign){ WF__OP_sub, 3, 1 };
    case '*':
        return (sign){ WF__OP_mul, 4, 1 };
    case '/':
        return (sign){ WF__OP_div, 4, 1 };
    default:
        return (sign){ 0 };
    }
}

/* Reads an expression of operators that bind as tight as `level` or tighter. */
static value parse(term *t, int level)
{
    value v = primary(t);
    for (sign s = sign_at(t); s.length && s.level >= level; s = sign_at(t)) {
        t->at += s.length;
        value right = parse(t, s.level + 1);
        v = binary(t, s.op, v, right);
    }
    return v;
}

wf__ref wf__computed(wf__ir *ir, wf__ref operand)
{
    return wf__is_half(wf__dtype(ir, operand)) ? wf__cast(ir, operand, WF_F32) : operand;
}

wf__rule_names wf__rule_names_of(wf__ir *ir, wf__ref r)
{
    const wf__node n = ir->node[r];
    const unsigned arity = wf__arity(n.op);
    wf__rule_names names = { .t = wf__adjoint_dtype(n.dtype), .r = r };
    names.a = wf__computed(ir, n.a);
    names.b = arity > 1 ? wf__computed(ir, n.b) : 0;
    names.c = arity > 2 ? wf__computed(ir, n.c) : 0;
    if (wf__is_half(n.dtype))
        names.r = arity == 1   ? wf__op1(ir, n.op, names.a)
                  : arity == 2 ? wf__op2(ir, n.op, names.a, names.b)
                               : wf__op3(ir, n.op, names.a, names.b, names.c);
    return names;
}

static wf__ref record(wf__ir *ir, const wf__rule *rule, const wf__rule_names *names, const char *text)
{
    term t = { ir, rule, names, text };
    value v = parse(&t, 0);
    WF__ASSERT(*t.at == 0);
    return node_of(&t, v);
}

wf__ref wf__rule_term(wf__ir *ir, const wf__rule *rule, unsigned k, const wf__rule_names *names, wf__ref *condition)
{
    const char *text = rule->operand[k].term, *only = rule->operand[k].condition;
    *condition = 0;
    if (!text || ir->status != WF_OK)
        return 0;
    if (only)
        *condition = record(ir, rule, names, only);
    wf__ref r = record(ir, rule, names, text);
    if (rule->class == WF__RULE_EDGE)
        r = wf__guarded(ir, names->g, r);
    return ir->status == WF_OK ? r : 0;
}
