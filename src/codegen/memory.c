/* memory.c - loads and stores. Full vectors of neighbours are plain loads and stores; lanes that are off never touch
 * memory: the processor's masked accesses where it has them, else lane by lane, an off lane turned to a harmless place
 * on the stack, without branches.
 */
#include "codegen/body.h"

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

/* Calls llvm.masked.*; LLVM 22 has the alignment as an attribute of the pointer, not as an operand. */
static val masked_call(wf__gen *g, const char *name, LLVMTypeRef vector, val pointer, unsigned pointer_at,
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
    return masked_call(g, "llvm.masked.load", vector, p, 0, align, args, 3);
}

void wf__store_masked(wf__gen *g, val v, val p, unsigned align, val mask)
{
    val args[3] = { v, p, mask };
    masked_call(g, "llvm.masked.store", g->L->TypeOf(v), p, 1, align, args, 3);
}

/* ---- loads ---- */
static val reverse(wf__gen *g, val v, int w)
{
    return g->L->BuildShuffleVector(g->b, v, g->L->GetPoison(g->L->TypeOf(v)), wf__gen_iota(g, g->i32, w, w - 1, -1),
                                    "");
}

static val first_of_reversed(wf__gen *g, unsigned dtype, val base)
{
    return g_gep(g, wf__gen_memory_type(g, dtype, 1), base, g_i64(g, 1 - g->width));
}

static val load_lanes(wf__gen *g, unsigned dtype, const wf__where *at, val mask, val other, val nowhere)
{
    LLVMTypeRef element = wf__gen_memory_type(g, dtype, 1);
    val pointer[WF__LANES];
    val r = mask ? other : g->L->GetPoison(wf__gen_memory_type(g, dtype, g->width));
    wf__lane_pointers(g, dtype, at, pointer);
    for (int l = 0; l < g->width; l++) {
        val p = pointer[l], on = NULL, v;
        if (mask) {
            on = g->L->BuildExtractElement(g->b, mask, g_i32(g, l), "");
            p = g_select(g, on, p, nowhere);
        }
        v = g_load(g, element, p);
        g->L->SetAlignment(v, wf__align(dtype));
        r = g->L->BuildInsertElement(g->b, r, v, g_i32(g, l), "");
    }
    return mask ? g_select(g, mask, r, other) : r;
}

static val gather(wf__gen *g, unsigned dtype, const wf__where *at, val mask, val other)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width), element = wf__gen_memory_type(g, dtype, 1);
    val offset = at->offset;
    if (at->way == WF__STRIDED)
        offset = g_mul(g, wf__gen_splat(g, at->stride, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    val pointers = g_gep(g, at->scaled ? element : g->i8, at->base, offset);
    val args[3] = { pointers, mask ? mask : wf__gen_int(g, g->i1, g->width, 1),
                    mask ? other : g->L->GetPoison(vector) };
    return masked_call(g, "llvm.masked.gather", vector, pointers, 0, wf__align(dtype), args, 3);
}

/* Where it is known where lanes are, loads of their own take no longer than a gather, and much less on many processors.
 * `mask` NULL: all lanes. `nowhere`: where lanes that are off may read. */
val wf__load_vector(wf__gen *g, unsigned dtype, const wf__where *at, val mask, val other, val nowhere)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width);
    bool against = at->way == WF__AGAINST;
    if (at->way == WF__AT_POINT)
        return load_lanes(g, dtype, at, mask, other, nowhere);
    if (at->way == WF__STRIDED || at->way == WF__SCATTERED)
        return has_gather(g, dtype) && (mask || at->way == WF__SCATTERED)
                   ? gather(g, dtype, at, mask, other)
                   : load_lanes(g, dtype, at, mask, other, nowhere);
    val p = against ? first_of_reversed(g, dtype, at->base) : at->base;
    if (!mask) {
        val v = g_load(g, vector, p);
        g->L->SetAlignment(v, wf__align(dtype));
        return against ? reverse(g, v, g->width) : v;
    }
    if (!wf__has_masked(g, dtype))
        return load_lanes(g, dtype, at, mask, other, nowhere);
    val v = wf__load_masked(g, vector, p, wf__align(dtype), against ? reverse(g, mask, g->width) : mask,
                            against ? reverse(g, other, g->width) : other);
    return against ? reverse(g, v, g->width) : v;
}

/* The same element in every lane; `on`: whether it is there at all. */
static val load_scalar(wf__inst *in, unsigned dtype, val p, val on, val other)
{
    wf__gen *g = in->g;
    if (on)
        p = g_select(g, on, p, wf__frame_nowhere(in->f));
    val v = g_load(g, wf__gen_memory_type(g, dtype, 1), p);
    g->L->SetAlignment(v, wf__align(dtype));
    return on ? g_select(g, on, v, other) : v;
}

val wf__from_memory(wf__gen *g, unsigned dtype, int w, val v)
{
    return dtype == WF_BOOL ? g_icmp(g, LLVMIntNE, v, wf__gen_int(g, g->i8, w, 0)) : v;
}

val wf__to_memory(wf__gen *g, unsigned dtype, int w, val v)
{
    return dtype == WF_BOOL ? g->L->BuildZExt(g->b, v, wf__gen_memory_type(g, dtype, w), "") : v;
}

static unsigned held(unsigned dtype) { return dtype == WF_BOOL ? WF_U8 : dtype; }

val wf__outside(wf__inst *in, const wf__node *n)
{
    wf__gen *g = in->g;
    return n->c ? wf__to_memory(g, n->dtype, g->width, wf__inst_vector(in, n->c))
                : wf__gen_const(g, held(n->dtype), g->width, 0);
}

static val outside_once(wf__inst *in, const wf__node *n)
{
    wf__gen *g = in->g;
    return n->c ? wf__to_memory(g, n->dtype, 1, wf__inst_scalar(in, n->c)) : wf__gen_const(g, held(n->dtype), 1, 0);
}

/* Adds a predicate to a guard; one known to be true is none. */
static void only_when(wf__inst *in, wf__ref predicate, wf__guard *guard)
{
    wf__gen *g = in->g;
    if (in->vary[predicate].kind == WF__UNIFORM) {
        val on = wf__inst_scalar(in, predicate);
        if (on == wf__gen_int(g, g->i1, 1, 1))
            return;
        guard->scalar = guard->scalar ? g_and(g, guard->scalar, on) : on;
        guard->early = false;
        return;
    }
    val on = wf__inst_vector(in, predicate);
    if (in->safe && !guard->vector)
        guard->vector = in->lane_mask;
    guard->vector = guard->vector ? g_and(g, guard->vector, on) : on;
}

val wf__load_mask(wf__inst *in, const wf__node *n, wf__guard *guard)
{
    if (n->when)
        only_when(in, n->when, guard);
    if (in->safe && !guard->vector)
        guard->vector = in->lane_mask;
    return wf__guard_mask(in, guard);
}

void wf__emit_load(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    val mapped[WF_MAX_RANK];
    bool wide[WF_MAX_RANK] = { false }, bordered = n->aux != WF_BORDER_NONE, uniform = in->vary[r].kind == WF__UNIFORM;
    wf__guard guard = { 0 };
    if (bordered && !n->when && wf__emit_edge_load(in, r)) {
        in->vector[r] = wf__from_memory(g, n->dtype, g->width, in->vector[r]);
        return;
    }
    if (bordered)
        wf__border(in, n, &guard, mapped, wide);
    if (n->when)
        only_when(in, n->when, &guard);
    wf__where at = wf__address(in, n->a, n->b, bordered ? mapped : NULL, wide);
    bool once = at.way == WF__AT_POINT && (!guard.vector || guard.vector == in->lane_mask) &&
                (!n->c || in->vary[n->c].kind == WF__UNIFORM);
    if (uniform || once) {
        val v = load_scalar(in, n->dtype, at.base, guard.scalar, guard.scalar ? outside_once(in, n) : NULL);
        v = wf__from_memory(g, n->dtype, 1, v);
        if (uniform)
            in->scalar[r] = v;
        else
            in->vector[r] = wf__gen_splat(g, v, g->width);
        return;
    }
    if (in->safe && !guard.vector)
        guard.vector = in->lane_mask;
    wf__ask_further_on(in, n, &at);
    val mask = wf__guard_mask(in, &guard), other = mask ? wf__outside(in, n) : NULL;
    val v = wf__load_vector(g, n->dtype, &at, mask, other, mask ? wf__frame_nowhere(in->f) : NULL);
    in->vector[r] = wf__from_memory(g, n->dtype, g->width, v);
}

/* ---- stores ---- */
static void store_lanes(wf__inst *in, unsigned dtype, const wf__where *at, val mask, val v)
{
    wf__gen *g = in->g;
    val pointer[WF__LANES], nowhere = mask ? wf__frame_nowhere(in->f) : NULL;
    wf__lane_pointers(g, dtype, at, pointer);
    for (int l = 0; l < g->width; l++) {
        val p = pointer[l];
        if (mask)
            p = g_select(g, g->L->BuildExtractElement(g->b, mask, g_i32(g, l), ""), p, nowhere);
        g->L->SetAlignment(g->L->BuildStore(g->b, g->L->BuildExtractElement(g->b, v, g_i32(g, l), ""), p),
                           wf__align(dtype));
    }
}

static void scatter(wf__inst *in, unsigned dtype, const wf__where *at, val mask, val v)
{
    wf__gen *g = in->g;
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width), element = wf__gen_memory_type(g, dtype, 1);
    val offset = at->offset;
    if (at->way == WF__STRIDED)
        offset = g_mul(g, wf__gen_splat(g, at->stride, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    val pointers = g_gep(g, at->scaled ? element : g->i8, at->base, offset);
    val args[3] = { v, pointers, mask ? mask : wf__gen_int(g, g->i1, g->width, 1) };
    masked_call(g, "llvm.masked.scatter", vector, pointers, 1, wf__align(dtype), args, 3);
}

/* Does the store stream past the cache? The caller promises rows aligned to the vector. Small vectors of many rows in
 * turn would leave cache lines half full. */
static bool streams(const wf__inst *in, const wf__node *n)
{
    const wf__slot *s = &in->ir->slot[n->a];
    int bytes = in->g->width * (int)wf__size(s->dtype);
    return in->g->options->nontemporal && !in->safe && !n->d && (s->element || s->rows) &&
           bytes >= (in->f->stores > WF__STREAMED_ROWS ? WF__STREAMED_VECTOR_OF_ROWS : WF__STREAMED_VECTOR);
}

static void store_past_cache(wf__inst *in, const wf__node *n, val p, val v)
{
    wf__gen *g = in->g;
    val store = g->L->BuildStore(g->b, v, p);
    unsigned bytes = wf__size(n->dtype) * (unsigned)g->width;
    g->L->SetAlignment(store, bytes < 64 ? bytes : 64);
    if (!g->nontemporal) {
        LLVMMetadataRef one = g->L->ValueAsMetadata(g_i32(g, 1));
        g->nontemporal = g->L->MetadataAsValue(g->context, g->L->MDNodeInContext2(g->context, &one, 1));
    }
    g->L->SetMetadata(store, g->L->GetMDKindIDInContext(g->context, "nontemporal", 11), g->nontemporal);
}

val wf__effect_mask(wf__inst *in, wf__ref predicate)
{
    wf__guard guard = { .vector = in->safe ? in->lane_mask : NULL };
    if (predicate)
        only_when(in, predicate, &guard);
    return wf__guard_mask(in, &guard);
}

void wf__store_vector(wf__inst *in, unsigned dtype, const wf__where *at, val mask, val v)
{
    wf__gen *g = in->g;
    bool against = at->way == WF__AGAINST;
    if (at->way == WF__STRIDED || at->way == WF__SCATTERED) {
        if (has_gather(g, dtype))
            scatter(in, dtype, at, mask, v);
        else
            store_lanes(in, dtype, at, mask, v);
        return;
    }
    if (at->way == WF__AT_POINT || (mask && !wf__has_masked(g, dtype))) {
        store_lanes(in, dtype, at, mask, v);
        return;
    }
    val p = against ? first_of_reversed(g, dtype, at->base) : at->base;
    v = against ? reverse(g, v, g->width) : v;
    if (mask) {
        wf__store_masked(g, v, p, wf__align(dtype), against ? reverse(g, mask, g->width) : mask);
    } else {
        g->L->SetAlignment(g->L->BuildStore(g->b, v, p), wf__align(dtype));
    }
}

void wf__emit_store(wf__inst *in, const wf__node *n)
{
    wf__gen *g = in->g;
    val mask = wf__effect_mask(in, n->d);
    wf__where at = wf__address(in, n->a, n->b, NULL, NULL);
    val v = wf__to_memory(g, n->dtype, g->width, wf__inst_vector(in, n->c));
    if (!mask && streams(in, n) && (at.way == WF__ALONG || at.way == WF__AGAINST))
        store_past_cache(in, n, at.way == WF__AGAINST ? first_of_reversed(g, n->dtype, at.base) : at.base,
                         at.way == WF__AGAINST ? reverse(g, v, g->width) : v);
    else
        wf__store_vector(in, n->dtype, &at, mask, v);
}
