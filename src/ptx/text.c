/* text.c - PTX text: instructions from templates, registers, immediates, and fields of the kernel's parameter. Text is
 * written without printf, so that generating a kernel takes less time than a lookup in the disk cache. */
#include "ptx/gen.h"

void wf__ptx_fail(gen *g, wf_status status, const char *format, ...)
{
    if (!wf__ptx_is_sound(g))
        return;
    g->failure->status = status;
    va_list args;
    va_start(args, format);
    wf__str_addv(&g->failure->text, format, args);
    va_end(args);
}

static bool make_room(wf__str *s, size_t more)
{
    if (s->cap - s->len > more)
        return true;
    size_t cap = 2 * s->cap + more + 4096;
    char *at = s->failed ? NULL : wf__realloc(s->at, cap);
    if (!at) {
        s->failed = true;
        return false;
    }
    s->at = at;
    s->cap = cap;
    return true;
}

static char *put_pair(char *p, unsigned x)
{
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
        "474849505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394"
        "9596979899";
    memcpy(p, pairs + 2 * x, 2);
    return p + 2;
}

static char *put_number(char *p, uint64_t x)
{
    char digits[24];
    int n = sizeof digits;
    if (x < 10) {
        *p = (char)('0' + x);
        return p + 1;
    }
    if (x < 100)
        return put_pair(p, (unsigned)x);
    for (; x >= 100; x /= 100)
        put_pair(digits + (n -= 2), (unsigned)(x % 100));
    p = put_number(p, x);
    memcpy(p, digits + n, sizeof digits - (size_t)n);
    return p + sizeof digits - n;
}

static char *put_hex(char *p, uint64_t x, int digits)
{
    for (int i = digits - 1; i >= 0; --i)
        *p++ = "0123456789ABCDEF"[x >> 4 * i & 15];
    return p;
}

static char *put_value(char *p, const val *v)
{
    static const char prefix[] = { [V_P] = 'p', [V_H] = 'h', [V_R] = 'r', [V_D] = 'd' };
    int64_t x = (int64_t)v->bits;
    switch (v->kind) {
    case V_P:
    case V_H:
    case V_R:
    case V_D:
        *p++ = '%';
        *p++ = prefix[v->kind];
        return put_number(p, v->number);
    case V_INT:
        if (x == INT64_MIN) {
            memcpy(p, "0x", 2);
            return put_hex(p + 2, v->bits, 16);
        }
        if (x < 0)
            *p++ = '-';
        return put_number(p, x < 0 ? 0 - v->bits : v->bits);
    case V_F32:
    case V_F64:
        *p++ = '0';
        *p++ = v->kind == V_F32 ? 'f' : 'd';
        return put_hex(p, v->bits, v->kind == V_F32 ? 8 : 16);
    case V_LABEL:
        *p++ = '$';
        *p++ = 'L';
        return put_number(p, v->number);
    case V_TEXT:
        for (const char *t = v->text; *t;)
            *p++ = *t++;
        return p;
    default:
        return p;
    }
}

void wf__ptx_line(gen *g, const char *template, const val *v)
{
    enum { MOST = 512 }; /* bytes of a line; values and templates are short */
    if (!make_room(g->out, MOST))
        return;
    char *p = g->out->at + g->out->len;
    *p++ = '\t';
    for (const char *t = template; *t; ++t) {
        if (*t == '$') {
            const val *x = &v[*++t - '0'];
            if (x->kind == V_NONE)
                wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "PTX: %s without an operand", template);
            p = put_value(p, x);
        } else
            *p++ = *t;
    }
    *p++ = ';';
    *p++ = '\n';
    *p = 0;
    g->out->len = (size_t)(p - g->out->at);
}

val wf__ptx_reg(gen *g, wf__ptx_kind kind) { return (val){ .kind = kind, .number = g->regs[kind]++ }; }
val wf__ptx_new(gen *g, unsigned dtype) { return wf__ptx_reg(g, wf__ptx_class(dtype)); }
val wf__ptx_new_label(gen *g) { return (val){ .kind = V_LABEL, .number = g->labels++ }; }

void wf__ptx_place_label(gen *g, val label)
{
    if (!make_room(g->out, 32))
        return;
    char *p = put_value(g->out->at + g->out->len, &label);
    *p++ = ':';
    *p++ = '\n';
    *p = 0;
    g->out->len = (size_t)(p - g->out->at);
}

val wf__ptx_const(gen *g, unsigned dtype, uint64_t bits)
{
    val r;
    switch (dtype) {
    case WF_BOOL:
        r = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.ne.s32 $0, $1, 0", r, v_int(bits & 1));
        return r;
    case WF_F16:
    case WF_BF16:
        r = wf__ptx_reg(g, V_H);
        EMIT(g, "mov.b16 $0, $1", r, v_int((int64_t)(bits & 0xffff)));
        return r;
    case WF_F32:
        return (val){ .kind = V_F32, .bits = bits & 0xffffffffu };
    case WF_F64:
        return (val){ .kind = V_F64, .bits = bits };
    case WF_I8:
        return v_int((int8_t)bits);
    case WF_I16:
        return v_int((int16_t)bits);
    case WF_I32:
        return v_int((int32_t)bits);
    default:
        return v_int((int64_t)bits);
    }
}

val wf__ptx_field_value(gen *g, wf__ptx_what what, uint32_t number, int axis, bool narrow)
{
    wf__ptx_code *c = g->code;
    uint32_t i = 0;
    bool most = number >= WF__PTX_OF_POST;
    number |= g->post ? WF__PTX_OF_POST : 0;
    while (i < c->fields && (c->field[i].what != what || c->field[i].number != number || c->field[i].axis != axis))
        ++i;
    if (i == WF__PTX_MOST_FIELDS || most) {
        wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "a kernel with so many arrays and parameters: more than %d fields",
                     WF__PTX_MOST_FIELDS);
        return v_int(0);
    }
    if (i == c->fields)
        c->field[c->fields++] =
            (wf__ptx_field){ .what = (uint8_t)what, .axis = (uint8_t)axis, .number = (uint16_t)number };
    val *v = &g->field[i][narrow];
    if (v->kind == V_NONE) {
        wf__str *out = g->out;
        *v = wf__ptx_reg(g, narrow ? V_R : V_D);
        g->out = &g->head;
        EMIT(g, "ld.param.$1 $0, [weft+$2]", *v, v_text(narrow ? "b32" : "b64"), v_int(8 * (int64_t)i));
        g->out = out;
    }
    return *v;
}
