/* vector_memory.c - loads and stores of vectors, and the cheapest instructions for each pattern of lanes.
 *
 * Full vectors of neighbours are plain loads and stores. A mask uses the masked instructions of the processor. Without
 * such instructions each lane has an access of its own, and an inactive lane accesses the dummy element: that needs no
 * branch.
 */
#include "codegen/memory.h"

bool wf__has_masked(const wf__gen *g, unsigned dtype)
{
    return (g->isa == WF__ISA_AVX512 || (g->isa == WF__ISA_AVX2 && wf__size(dtype) >= 4)) && wf__size(dtype) <= 8;
}

static bool has_gather(const wf__gen *g, unsigned dtype)
{
    return g->isa == WF__ISA_AVX512 && wf__size(dtype) >= 4 && wf__size(dtype) <= 8;
}

static void set_align(wf__gen *g, val call, unsigned parameter, unsigned align)
{
    unsigned kind = g->L->GetEnumAttributeKindForName("align", 5);
    g->L->AddCallSiteAttribute(call, parameter, g->L->CreateEnumAttribute(g->context, kind, align));
}

/* Calls llvm.masked.*. From LLVM 22 on the alignment is an attribute of the pointer; before, it is an operand. */
static val call_masked(wf__gen *g, const char *name, LLVMTypeRef vector, val pointer, unsigned pointer_at,
                       unsigned align, val *args, unsigned n)
{
    LLVMTypeRef types[2] = { vector, g->L->TypeOf(pointer) };
    val with[5];
    unsigned count = 0;
    bool operand = g->L->major < 22;
    for (unsigned i = 0; i < n; i++) {
        with[count++] = args[i];
        if (i == pointer_at && operand)
            with[count++] = g->L->ConstInt(g->i32, align, 0);
    }
    val call = wf__gen_call(g, name, types, 2, with, count);
    if (!operand && !g->failed)
        set_align(g, call, pointer_at + 1, align);
    return call;
}

val wf__load_masked(wf__gen *g, LLVMTypeRef vector, val p, unsigned align, val mask, val other)
{
    val args[3] = { p, mask, other };
    return call_masked(g, "llvm.masked.load", vector, p, 0, align, args, 3);
}

void wf__store_masked(wf__gen *g, val v, val p, unsigned align, val mask)
{
    val args[3] = { v, p, mask };
    call_masked(g, "llvm.masked.store", g->L->TypeOf(v), p, 1, align, args, 3);
}

val wf__from_memory(wf__gen *g, unsigned dtype, int w, val v)
{
    return dtype == WF_BOOL ? g_icmp(g, LLVMIntNE, v, wf__gen_int(g, g->i8, w, 0)) : v;
}

val wf__to_memory(wf__gen *g, unsigned dtype, int w, val v)
{
    return dtype == WF_BOOL ? g->L->BuildZExt(g->b, v, wf__gen_memory_type(g, dtype, w), "") : v;
}

val wf__load_outside(wf__instance *in, const wf__node *n)
{
    wf__gen *g = in->g;
    return n->c ? wf__to_memory(g, n->dtype, g->width, wf__get_vector(in, n->c))
                : wf__gen_const(g, wf__memory_dtype(n->dtype), g->width, 0);
}

/* ---- loads ---- */
static val reverse_lanes(wf__gen *g, val v, int w)
{
    return g->L->BuildShuffleVector(g->b, v, g->L->GetPoison(g->L->TypeOf(v)), wf__gen_iota(g, g->i32, w, w - 1, -1),
                                    "");
}

/* ---- lanes in any order ---- */
bool wf__has_permutation(const wf__gen *g, unsigned dtype)
{
    const unsigned size = wf__size(dtype), bytes = size * (unsigned)g->width;
    const bool x86 = g->isa == WF__ISA_AVX2 || g->isa == WF__ISA_AVX512;
    const bool known = bytes == 32 || (bytes == 64 && g->isa == WF__ISA_AVX512) || (bytes == 16 && size == 4);
    return x86 && (size == 4 || size == 8) && known;
}

val wf__permutation(wf__gen *g, unsigned dtype, val lanes)
{
    const int w = g->width;
    if (wf__size(dtype) == 4)
        return lanes;
    if (w == 8)
        return g->L->BuildZExt(g->b, lanes, wf__gen_wide(g, g->i64, w), "");
    val twice[8], half[8]; /* AVX2 permutes 32-bit lanes: both halves of each element */
    for (int l = 0; l < 2 * w; l++) {
        twice[l] = g_i32(g, l / 2);
        half[l] = g_i32(g, l % 2);
    }
    lanes = g_add(g, lanes, lanes);
    lanes = g->L->BuildShuffleVector(g->b, lanes, g->L->GetPoison(g->L->TypeOf(lanes)),
                                     g->L->ConstVector(twice, (unsigned)(2 * w)), "");
    return g_or(g, lanes, g->L->ConstVector(half, (unsigned)(2 * w)));
}

val wf__permute_lanes(wf__gen *g, unsigned dtype, val v, val permutation)
{
    const unsigned size = wf__size(dtype), bytes = size * (unsigned)g->width;
    const bool doubles = bytes == 64 && size == 8;
    LLVMTypeRef type = g->L->TypeOf(v);
    val args[2] = { g_bits(g, v, doubles ? wf__gen_wide(g, g->f64, 8) : wf__gen_wide(g, g->f32, (int)bytes / 4)),
                    permutation };
    const char *name = bytes == 16   ? "llvm.x86.avx.vpermilvar.ps"
                       : bytes == 32 ? "llvm.x86.avx2.permps"
                       : doubles     ? "llvm.x86.avx512.permvar.df.512"
                                     : "llvm.x86.avx512.permvar.sf.512";
    return g_bits(g, wf__gen_call(g, name, NULL, 0, args, 2), type);
}

static val lowest_address(wf__gen *g, unsigned dtype, val base)
{
    return g_gep(g, wf__gen_memory_type(g, dtype, 1), base, g_i64(g, 1 - g->width));
}

static val load_lanes(wf__gen *g, unsigned dtype, const wf__address *at, val mask, val other, val dummy)
{
    LLVMTypeRef element = wf__gen_memory_type(g, dtype, 1);
    val pointer[WF__LANES];
    val r = mask ? other : g->L->GetPoison(wf__gen_memory_type(g, dtype, g->width));
    wf__lane_pointers(g, dtype, at, pointer);
    for (int l = 0; l < g->width; l++) {
        val p = pointer[l], on = NULL, v;
        if (mask) {
            on = g->L->BuildExtractElement(g->b, mask, g_i32(g, l), "");
            p = g_select(g, on, p, dummy);
        }
        v = g_load(g, element, p);
        g->L->SetAlignment(v, wf__align(dtype));
        r = g->L->BuildInsertElement(g->b, r, v, g_i32(g, l), "");
    }
    return mask ? g_select(g, mask, r, other) : r;
}

static val gather_lanes(wf__gen *g, unsigned dtype, const wf__address *at, val mask, val other)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width), element = wf__gen_memory_type(g, dtype, 1);
    val offset = at->offset;
    if (at->pattern == WF__STRIDED)
        offset = g_mul(g, wf__gen_splat(g, at->stride, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    val pointers = g_gep(g, at->scaled ? element : g->i8, at->base, offset);
    val args[3] = { pointers, mask ? mask : wf__gen_int(g, g->i1, g->width, 1),
                    mask ? other : g->L->GetPoison(vector) };
    return call_masked(g, "llvm.masked.gather", vector, pointers, 0, wf__align(dtype), args, 3);
}

/* If the distance from lane to lane is known, loads lane by lane are as fast as a gather, and much faster on many
 * processors. */
val wf__load_vector(wf__gen *g, unsigned dtype, const wf__address *at, val mask, val other, val dummy)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width);
    bool descending = at->pattern == WF__DESCENDING;
    if (at->pattern == WF__ONE_ELEMENT)
        return load_lanes(g, dtype, at, mask, other, dummy);
    if (at->pattern == WF__STRIDED || at->pattern == WF__SCATTERED)
        return has_gather(g, dtype) && (mask || at->pattern == WF__SCATTERED)
                   ? gather_lanes(g, dtype, at, mask, other)
                   : load_lanes(g, dtype, at, mask, other, dummy);
    val p = descending ? lowest_address(g, dtype, at->base) : at->base;
    if (!mask) {
        val v = g_load(g, vector, p);
        g->L->SetAlignment(v, wf__align(dtype));
        return descending ? reverse_lanes(g, v, g->width) : v;
    }
    if (!wf__has_masked(g, dtype))
        return load_lanes(g, dtype, at, mask, other, dummy);
    val v = wf__load_masked(g, vector, p, wf__align(dtype), descending ? reverse_lanes(g, mask, g->width) : mask,
                            descending ? reverse_lanes(g, other, g->width) : other);
    return descending ? reverse_lanes(g, v, g->width) : v;
}

/* ---- stores ---- */
static void store_lanes(wf__instance *in, unsigned dtype, const wf__address *at, val mask, val v)
{
    wf__gen *g = in->g;
    val pointer[WF__LANES], dummy = mask ? wf__get_dummy(in->kernel) : NULL;
    wf__lane_pointers(g, dtype, at, pointer);
    for (int l = 0; l < g->width; l++) {
        val p = pointer[l];
        if (mask)
            p = g_select(g, g->L->BuildExtractElement(g->b, mask, g_i32(g, l), ""), p, dummy);
        g->L->SetAlignment(g->L->BuildStore(g->b, g->L->BuildExtractElement(g->b, v, g_i32(g, l), ""), p),
                           wf__align(dtype));
    }
}

static void scatter_lanes(wf__instance *in, unsigned dtype, const wf__address *at, val mask, val v)
{
    wf__gen *g = in->g;
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width), element = wf__gen_memory_type(g, dtype, 1);
    val offset = at->offset;
    if (at->pattern == WF__STRIDED)
        offset = g_mul(g, wf__gen_splat(g, at->stride, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    val pointers = g_gep(g, at->scaled ? element : g->i8, at->base, offset);
    val args[3] = { v, pointers, mask ? mask : wf__gen_int(g, g->i1, g->width, 1) };
    call_masked(g, "llvm.masked.scatter", vector, pointers, 1, wf__align(dtype), args, 3);
}

void wf__store_past_cache(wf__gen *g, unsigned dtype, const wf__address *at, val v)
{
    bool descending = at->pattern == WF__DESCENDING;
    v = descending ? reverse_lanes(g, v, g->width) : v;
    val store = g->L->BuildStore(g->b, v, descending ? lowest_address(g, dtype, at->base) : at->base);
    unsigned bytes = wf__size(dtype) * (unsigned)g->width;
    g->L->SetAlignment(store, bytes < 64 ? bytes : 64);
    if (!g->nontemporal) {
        LLVMMetadataRef one = g->L->ValueAsMetadata(g_i32(g, 1));
        g->nontemporal = g->L->MetadataAsValue(g->context, g->L->MDNodeInContext2(g->context, &one, 1));
    }
    g->L->SetMetadata(store, g->L->GetMDKindIDInContext(g->context, "nontemporal", 11), g->nontemporal);
}

void wf__store_vector(wf__instance *in, unsigned dtype, const wf__address *at, val mask, val v)
{
    wf__gen *g = in->g;
    bool descending = at->pattern == WF__DESCENDING;
    if (at->pattern == WF__STRIDED || at->pattern == WF__SCATTERED) {
        if (has_gather(g, dtype))
            scatter_lanes(in, dtype, at, mask, v);
        else
            store_lanes(in, dtype, at, mask, v);
        return;
    }
    if (at->pattern == WF__ONE_ELEMENT || (mask && !wf__has_masked(g, dtype))) {
        store_lanes(in, dtype, at, mask, v);
        return;
    }
    val p = descending ? lowest_address(g, dtype, at->base) : at->base;
    v = descending ? reverse_lanes(g, v, g->width) : v;
    if (mask) {
        wf__store_masked(g, v, p, wf__align(dtype), descending ? reverse_lanes(g, mask, g->width) : mask);
    } else {
        g->L->SetAlignment(g->L->BuildStore(g->b, v, p), wf__align(dtype));
    }
}
