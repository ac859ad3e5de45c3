/* element.c - loads and stores of one element at a known address, and the forms of values in memory and registers. */
#include "ptx/gen.h"

val wf__ptx_shared(gen *g)
{
    if (g->shared.kind == V_NONE) {
        wf__str *out = g->out;
        g->shared = wf__ptx_reg(g, V_D);
        g->out = &g->head;
        EMIT(g, "mov.u64 $0, weft_shared", g->shared);
        g->out = out;
    }
    return g->shared;
}

val wf__ptx_memory_type(unsigned t)
{
    static const char *const names[] = {
        [WF_BOOL] = "u8", [WF_I8] = "s8",   [WF_U8] = "u8",   [WF_I16] = "s16", [WF_U16] = "u16",  [WF_I32] = "b32",
        [WF_U32] = "b32", [WF_I64] = "b64", [WF_U64] = "b64", [WF_F16] = "b16", [WF_BF16] = "b16", [WF_F32] = "b32",
        [WF_F64] = "b64", [WF_C32] = "b16", [WF_C64] = "b32", [WF_C128] = "b64"
    };
    return v_text(names[t]);
}

static void emit_guarded(gen *g, val when, const char *with, const char *without, const val *v)
{
    wf__ptx_line(g, when.kind == V_NONE ? without : with, v);
}

void wf__ptx_load_element(gen *g, unsigned dtype, val address, const char *space, val when, val re, val im)
{
    val v[6] = { re, address, v_text(space), wf__ptx_memory_type(dtype), when, im };
    if (wf__is_complex(dtype))
        emit_guarded(g, when, "@$4 ld.$2.v2.$3 {$0, $5}, [$1]", "ld.$2.v2.$3 {$0, $5}, [$1]", v);
    else
        emit_guarded(g, when, "@$4 ld.$2.$3 $0, [$1]", "ld.$2.$3 $0, [$1]", v);
}

val wf__ptx_in_register(gen *g, unsigned t, val v)
{
    if (v.kind != V_INT && v.kind != V_F32 && v.kind != V_F64)
        return v;
    val r = wf__ptx_new(g, t);
    EMIT(g, "mov.$1 $0, $2", r, wf__ptx_bits(t), v);
    return r;
}

val wf__ptx_stored(gen *g, unsigned dtype, val v)
{
    if (dtype != WF_BOOL)
        return wf__ptx_in_register(g, dtype, v);
    val byte = wf__ptx_reg(g, V_R);
    EMIT(g, "selp.b32 $0, 1, 0, $1", byte, v);
    return byte;
}

void wf__ptx_store_element(gen *g, unsigned dtype, val address, const char *space, val when, val re, val im)
{
    re = wf__ptx_stored(g, dtype, re);
    im = wf__ptx_in_register(g, dtype, im);
    val v[6] = { re, address, v_text(space), wf__ptx_memory_type(dtype), when, im };
    if (wf__is_complex(dtype))
        emit_guarded(g, when, "@$4 st.$2.v2.$3 [$1], {$0, $5}", "st.$2.v2.$3 [$1], {$0, $5}", v);
    else
        emit_guarded(g, when, "@$4 st.$2.$3 [$1], $0", "st.$2.$3 [$1], $0", v);
}
