/* gen.c - types, constants, intrinsic calls and small idioms. */
#include "codegen/gen.h"

void wf__gen_fail(wf__gen *g, const char *format, ...)
{
    if (g->failed)
        return;
    g->failed = true;
    va_list args;
    va_start(args, format);
    wf__str_addv(g->error, format, args);
    va_end(args);
}

LLVMTypeRef wf__gen_wide(wf__gen *g, LLVMTypeRef scalar, int w)
{
    return w > 1 ? g->L->VectorType(scalar, (unsigned)w) : scalar;
}

static LLVMTypeRef scalar_type(wf__gen *g, unsigned dtype)
{
    switch (dtype) {
    case WF_BOOL:
        return g->i1;
    case WF_I8:
    case WF_U8:
        return g->i8;
    case WF_I16:
    case WF_U16:
    case WF_F16: /* floats in casts to and from f32 only */
    case WF_BF16:
        return g->i16;
    case WF_I32:
    case WF_U32:
        return g->i32;
    case WF_F32:
        return g->f32;
    case WF_F64:
        return g->f64;
    case WF_C32: /* a pair of parts; emit_op.c splits and joins them */
        return g->i32;
    case WF_C128:
        return g->L->IntTypeInContext(g->context, 128);
    default: /* c64 too */
        return g->i64;
    }
}

LLVMTypeRef wf__gen_type(wf__gen *g, unsigned dtype, int w) { return wf__gen_wide(g, scalar_type(g, dtype), w); }

LLVMTypeRef wf__gen_memory_type(wf__gen *g, unsigned dtype, int w)
{
    return wf__gen_wide(g, dtype == WF_BOOL ? g->i8 : scalar_type(g, dtype), w);
}

static val repeat_scalar(wf__gen *g, val scalar, int w)
{
    val lane[WF__LANES];
    if (w == 1)
        return scalar;
    for (int i = 0; i < w; i++)
        lane[i] = scalar;
    return g->L->ConstVector(lane, (unsigned)w);
}

val wf__gen_int(wf__gen *g, LLVMTypeRef scalar, int w, uint64_t value)
{
    return repeat_scalar(g, g->L->ConstInt(scalar, value, 0), w);
}

val wf__gen_const(wf__gen *g, unsigned dtype, int w, uint64_t bits)
{
    if (dtype == WF_F32)
        return repeat_scalar(g, g->L->ConstBitCast(g->L->ConstInt(g->i32, (uint32_t)bits, 0), g->f32), w);
    if (dtype == WF_F64)
        return repeat_scalar(g, g->L->ConstBitCast(g->L->ConstInt(g->i64, bits, 0), g->f64), w);
    return wf__gen_int(g, scalar_type(g, dtype), w, dtype == WF_BOOL ? bits != 0 : bits);
}

val wf__gen_real(wf__gen *g, unsigned dtype, int w, double value)
{
    return repeat_scalar(g, g->L->ConstReal(scalar_type(g, dtype), value), w);
}

val wf__gen_iota(wf__gen *g, LLVMTypeRef scalar, int w, int64_t first, int64_t step)
{
    val lane[WF__LANES] = { NULL };
    for (int i = 0; i < w; i++)
        lane[i] =
            g->L->ConstInt(scalar, (unsigned long long)first + (unsigned long long)i * (unsigned long long)step, 0);
    return w > 1 ? g->L->ConstVector(lane, (unsigned)w) : lane[0];
}

val wf__gen_splat(wf__gen *g, val scalar, int w)
{
    if (w == 1)
        return scalar;
    if (g->L->IsConstant(scalar))
        return repeat_scalar(g, scalar, w);
    LLVMTypeRef type = g->L->VectorType(g->L->TypeOf(scalar), (unsigned)w);
    val undefined = g->L->GetPoison(type);
    val one = g->L->BuildInsertElement(g->b, undefined, scalar, g_i32(g, 0), "");
    return g->L->BuildShuffleVector(g->b, one, undefined, wf__gen_int(g, g->i32, w, 0), "");
}

val wf__gen_half(wf__gen *g, val v, int s, bool upper)
{
    if (s == 1)
        return g->L->BuildExtractElement(g->b, v, g_i32(g, upper), "");
    return g->L->BuildShuffleVector(g->b, v, g->L->GetPoison(g->L->TypeOf(v)),
                                    wf__gen_iota(g, g->i32, s, upper ? s : 0, 1), "");
}

/* LLVM finds an intrinsic by the text of its name and types, which is slow. So the last ones are cached. */
static val declare_intrinsic(wf__gen *g, const char *intrinsic, LLVMTypeRef const types[2], unsigned n)
{
    for (unsigned i = 0; i < WF__COUNT(g->intrinsic); i++) {
        const wf__intrinsic *known = &g->intrinsic[i];
        if (known->f && known->types[0] == types[0] && known->types[1] == types[1] && !strcmp(known->name, intrinsic))
            return known->f;
    }
    unsigned id = g->L->LookupIntrinsicID(intrinsic, strlen(intrinsic));
    LLVMTypeRef copy[2] = { types[0], types[1] };
    val f = id ? g->L->GetIntrinsicDeclaration(g->module, id, copy, n) : NULL;
    wf__intrinsic *slot = &g->intrinsic[g->intrinsic_n++ % WF__COUNT(g->intrinsic)];
    *slot = (wf__intrinsic){ .types = { types[0], types[1] }, .f = f };
    if (strlen(intrinsic) < sizeof slot->name)
        strcpy(slot->name, intrinsic);
    return f;
}

val wf__gen_call(wf__gen *g, const char *intrinsic, LLVMTypeRef const *overloads, unsigned n_overloads, val *args,
                 unsigned n)
{
    LLVMTypeRef types[2] = { n_overloads > 0 ? overloads[0] : NULL, n_overloads > 1 ? overloads[1] : NULL };
    val f = declare_intrinsic(g, intrinsic, types, n_overloads);
    if (!f) {
        wf__gen_fail(g, "this LLVM has no %s", intrinsic);
        return args[0];
    }
    return g->L->BuildCall2(g->b, g->L->GlobalGetValueType(f), f, args, n, "");
}

bool wf__gen_has(wf__gen *g, const char *intrinsic)
{
    for (unsigned i = 0; i < WF__COUNT(g->intrinsic); i++)
        if (g->intrinsic[i].f && !strcmp(g->intrinsic[i].name, intrinsic))
            return true;
    return g->L->LookupIntrinsicID(intrinsic, strlen(intrinsic)) != 0;
}

val wf__gen_call1(wf__gen *g, const char *intrinsic, val a)
{
    LLVMTypeRef type = g->L->TypeOf(a);
    return wf__gen_call(g, intrinsic, &type, 1, &a, 1);
}

val wf__gen_call2(wf__gen *g, const char *intrinsic, val a, val b)
{
    LLVMTypeRef type = g->L->TypeOf(a);
    val args[2] = { a, b };
    return wf__gen_call(g, intrinsic, &type, 1, args, 2);
}

static void add_attribute(wf__gen *g, val function, const char *name, const char *value)
{
    LLVMAttributeRef a =
        value ? g->L->CreateStringAttribute(g->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value))
              : g->L->CreateEnumAttribute(g->context, g->L->GetEnumAttributeKindForName(name, strlen(name)), 0);
    g->L->AddAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex, a);
}

val wf__gen_function(wf__gen *g, const char *name, LLVMTypeRef result, LLVMTypeRef *params, unsigned n, bool internal)
{
    val f = g->L->AddFunction(g->module, name, g->L->FunctionType(result, params, n, 0));
    add_attribute(g, f, "nounwind", NULL);
    if (g->options->target->vector_bits > 128) /* spilled vectors must not straddle cache lines */
        add_attribute(g, f, "stackrealign", "");
    if (g->isa == WF__ISA_AVX512) { /* by default LLVM uses 256 bits on most processors */
        add_attribute(g, f, "prefer-vector-width", "512");
        add_attribute(g, f, "min-legal-vector-width", "512");
    }
    if (internal) {
        g->L->SetLinkage(f, LLVMInternalLinkage);
        g->L->SetFunctionCallConv(f, LLVMFastCallConv);
        add_attribute(g, f, "noinline", NULL);
    }
    return f;
}

bb wf__gen_bb(wf__gen *g, const char *name) { return g->L->AppendBasicBlockInContext(g->context, g->function, name); }

void wf__gen_at(wf__gen *g, bb b)
{
    val end = g->L->GetBasicBlockTerminator(b);
    if (end)
        g->L->PositionBuilderBefore(g->b, end);
    else
        g->L->PositionBuilderAtEnd(g->b, b);
}

val wf__gen_mask(wf__gen *g, val bits)
{
    LLVMTypeRef narrow = g->L->IntTypeInContext(g->context, (unsigned)g->width);
    if (g->L->TypeOf(bits) != narrow)
        bits = g->L->BuildTrunc(g->b, bits, narrow, "");
    return g_bits(g, bits, wf__gen_wide(g, g->i1, g->width));
}

val wf__lanes_below(wf__gen *g, val n)
{
    val at = wf__gen_splat(g, g->L->BuildTrunc(g->b, n, g->i32, ""), g->width);
    return g_icmp(g, LLVMIntSLT, wf__gen_iota(g, g->i32, g->width, 0, 1), at);
}

val wf__gen_any(wf__gen *g, val mask, int w)
{
    if (w == 1)
        return mask;
    LLVMTypeRef bits = g->L->IntTypeInContext(g->context, (unsigned)w);
    return g_icmp(g, LLVMIntNE, g_bits(g, mask, bits), g->L->ConstNull(bits));
}

val wf__gen_opaque_zero(wf__gen *g)
{
    LLVMTypeRef type = g->L->FunctionType(g->i64, &g->i64, 1, 0);
    val same = g->L->GetInlineAsm(type, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0), zero = g_i64(g, 0);
    return g->L->BuildCall2(g->b, type, same, &zero, 1, "");
}

void wf__gen_unlikely(wf__gen *g, val branch)
{
    if (!g->likely) {
        LLVMMetadataRef weights[3] = {
            g->L->MDStringInContext2(g->context, "branch_weights", 14),
            g->L->ValueAsMetadata(g_i32(g, 1)),
            g->L->ValueAsMetadata(g_i32(g, 2000)),
        };
        g->likely = g->L->MetadataAsValue(g->context, g->L->MDNodeInContext2(g->context, weights, 3));
    }
    g->L->SetMetadata(branch, g->L->GetMDKindIDInContext(g->context, "prof", 4), g->likely);
}
