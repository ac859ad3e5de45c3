/* address.c - where the elements of an access lie.
 *
 * An index is the sum of lane number times a constant, uniform terms, and a constant. Each uniform term is added to the
 * pointer in the loop where it is known, and the constant becomes a displacement. What is left for the innermost loop
 * is one addressing mode.
 */
#include "codegen/memory.h"

/* pointer + index * stride at `level`; equal sums are made once. */
static val add_term(wf__instance *in, val pointer, val index, val stride, int level)
{
    wf__gen *g = in->g;
    val sum = wf__find_cached(in, WF__CACHED_SUM, pointer, index, stride);
    if (sum)
        return sum;
    bb back = g->L->GetInsertBlock(g->b);
    if (level < in->kernel->rank)
        wf__gen_at(g, *wf__bb_of_level(in, level));
    sum = g_gep(g, g->i8, pointer, g_mul(g, index, stride));
    wf__gen_at(g, back);
    return wf__cache_value(in, WF__CACHED_SUM, pointer, index, stride, sum);
}

typedef struct term {
    val index, stride;
    int level;
} term;

typedef struct builder {
    wf__instance *in;
    uint32_t slot;
    int64_t size, bytes; /* of an element; constant displacement */
    int64_t lane_bytes;  /* constant part of the distance from lane to lane */
    val lane_stride;     /* its other part; NULL = none */
    val offset;
    bool scaled, lanes; /* lanes: the lane number is added last, as an addressing mode */
    term term[6 * WF_MAX_RANK];
    int n;
} builder;

static void push_term(builder *a, val index, val stride, int level)
{
    int i = a->n++;
    for (; i > 0 && a->term[i - 1].level > level; i--)
        a->term[i] = a->term[i - 1];
    a->term[i] = (term){ index, stride, level };
}

static void add_offset(builder *a, val vector, val stride, bool unit)
{
    wf__gen *g = a->in->g;
    int w = g->width;
    if (unit && !a->offset) {
        a->offset = vector;
        a->scaled = true;
        return;
    }
    if (a->scaled) { /* a second varying index: offsets count bytes from here on */
        a->offset = g_mul(g, a->offset, wf__gen_int(g, g->i64, w, (uint64_t)a->size));
        a->scaled = false;
    }
    val bytes = g_mul(g, vector, unit ? wf__gen_int(g, g->i64, w, (uint64_t)a->size) : wf__gen_splat(g, stride, w));
    a->offset = a->offset ? g_add(g, a->offset, bytes) : bytes;
}

/* Bytes from element to element along an axis of the slot; 0 = known at run time only. */
static int64_t known_bytes(const builder *a, int axis)
{
    const wf__slot *slot = &a->in->ir->slot[a->slot];
    unsigned step = slot->step[axis];
    return step == WF__STEP_UNIT ? a->size : step == WF__STEP_BACK ? -a->size : slot->stride[axis] * a->size;
}

static val stride_of(builder *a, int axis)
{
    int64_t known = known_bytes(a, axis);
    return known ? g_i64(a->in->g, known) : wf__load_stride(a->in->kernel, a->slot, axis);
}

/* Adds the uniform terms of an index. */
static void push_terms(builder *a, const wf__linear *l, val stride)
{
    wf__instance *in = a->in;
    wf__gen *g = in->g;
    for (int i = 0; i < l->n; i++) {
        int level = in->level[l->term[i]];
        val index = wf__get_scalar(in, l->term[i]);
        if (l->scale[i] != 1) {
            bb back = g->L->GetInsertBlock(g->b);
            if (level < in->kernel->rank)
                wf__gen_at(g, *wf__bb_of_level(in, level));
            index = g_mul(g, index, g_i64(g, l->scale[i]));
            wf__gen_at(g, back);
        }
        push_term(a, index, stride, level);
    }
}

static void add_affine(builder *a, wf__ref r, int axis)
{
    wf__instance *in = a->in;
    wf__gen *g = in->g;
    wf__linear l = wf__split_index(in, r);
    int64_t coef = in->vary[r].coef, known = known_bytes(a, axis), bytes;
    val stride = stride_of(a, axis);
    if (l.failed || l.coef != coef || !wf__mul_i64(coef, a->size, &bytes) ||
        !wf__mul_i64(l.constant, a->size, &bytes)) {
        push_term(a, wf__get_scalar(in, r), stride, in->kernel->rank);
    } else {
        push_terms(a, &l, stride);
        if (known)
            a->bytes += l.constant * known;
        else if (l.constant)
            push_term(a, g_i64(g, l.constant), stride, 0);
        if (known == a->size && coef == 1 && !a->lanes)
            a->lanes = true;
        else
            push_term(a,
                      coef == 1 ? in->index[in->kernel->rank - 1]
                                : g_mul(g, in->index[in->kernel->rank - 1], g_i64(g, coef)),
                      stride, in->kernel->rank);
    }
    if (known) {
        a->lane_bytes += coef * known;
        return;
    }
    bb back = g->L->GetInsertBlock(g->b);
    wf__gen_at(g, in->kernel->top);
    val step = coef == 1 ? stride : g_mul(g, stride, g_i64(g, coef));
    a->lane_stride = a->lane_stride ? g_add(g, a->lane_stride, step) : step;
    wf__gen_at(g, back);
}

static void add_index(builder *a, int axis, wf__ref r, const val *mapped, const bool *wide)
{
    wf__instance *in = a->in;
    int64_t known = known_bytes(a, axis), bytes;
    bool unit = known == a->size;
    if (in->ir->slot[a->slot].step[axis] == WF__STEP_ZERO)
        return;
    if (mapped && mapped[axis]) {
        if (wide[axis])
            add_offset(a, mapped[axis], unit ? NULL : stride_of(a, axis), unit);
        else
            push_term(a, mapped[axis], stride_of(a, axis), in->kernel->rank);
        return;
    }
    switch (in->vary[r].kind) {
    case WF__UNIFORM: {
        const wf__node *n = wf__at(in->ir, r);
        wf__linear l = wf__split_index(in, r);
        if (known && !l.failed && wf__mul_i64(l.constant, known, &bytes)) {
            push_terms(a, &l, stride_of(a, axis));
            a->bytes += bytes;
        } else if (n->op != WF__CONST || wf__bits(n))
            push_term(a, wf__get_scalar(in, r), stride_of(a, axis), in->level[r]);
        break;
    }
    case WF__AFFINE:
        add_affine(a, r, axis);
        break;
    default:
        add_offset(a, wf__get_vector(in, r), unit ? NULL : stride_of(a, axis), unit);
    }
}

wf__address wf__make_address(wf__instance *in, uint32_t slot, uint32_t tuple, const val *mapped, const bool *wide)
{
    wf__gen *g = in->g;
    unsigned dtype = in->ir->slot[slot].dtype;
    builder a = { .in = in, .slot = slot, .size = wf__size(dtype) };
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, tuple); k++)
        add_index(&a, (int)k, wf__tuple_at(in->ir, tuple)[k], mapped, wide);
    val p = wf__load_base(in->kernel, slot);
    for (int i = 0; i < a.n; i++)
        p = add_term(in, p, a.term[i].index, a.term[i].stride, a.term[i].level);
    if (a.lanes) {
        val j = in->index[in->kernel->rank - 1], row = p;
        p = wf__find_cached(in, WF__CACHED_SUM, row, j, NULL);
        if (!p)
            p = wf__cache_value(in, WF__CACHED_SUM, row, j, NULL, g_gep(g, wf__gen_memory_type(g, dtype, 1), row, j));
    }
    if (a.bytes)
        p = g_gep(g, g->i8, p, g_i64(g, a.bytes));
    wf__address at = { .pattern = WF__ONE_ELEMENT, .base = p, .offset = a.offset, .scaled = a.scaled };
    if (a.lane_stride)
        at.stride = a.lane_bytes ? g_add(g, a.lane_stride, g_i64(g, a.lane_bytes)) : a.lane_stride;
    else if (a.lane_bytes)
        at.stride = g_i64(g, a.lane_bytes);
    if (a.offset) {
        at.pattern = WF__SCATTERED;
        if (at.stride) { /* lanes step as well */
            val steps = g_mul(g, wf__gen_splat(g, at.stride, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
            val bytes = a.scaled ? g_mul(g, at.offset, wf__gen_int(g, g->i64, g->width, (uint64_t)a.size)) : at.offset;
            at.offset = g_add(g, bytes, steps);
            at.scaled = false;
        }
    } else if (a.lane_stride) {
        at.pattern = WF__STRIDED;
    } else if (a.lane_bytes) {
        at.pattern = a.lane_bytes == a.size ? WF__ASCENDING : a.lane_bytes == -a.size ? WF__DESCENDING : WF__STRIDED;
    }
    return at;
}

void wf__lane_pointers(wf__gen *g, unsigned dtype, const wf__address *at, val out[WF__LANES])
{
    LLVMTypeRef element = wf__gen_memory_type(g, dtype, 1);
    for (int l = 0; l < g->width; l++) {
        switch (at->pattern) {
        case WF__ONE_ELEMENT:
            out[l] = at->base;
            break;
        case WF__ASCENDING:
            out[l] = l ? g_gep(g, element, at->base, g_i64(g, l)) : at->base;
            break;
        case WF__DESCENDING:
            out[l] = l ? g_gep(g, element, at->base, g_i64(g, -l)) : at->base;
            break;
        case WF__STRIDED:
            out[l] = l ? g_gep(g, g->i8, at->base, g_mul(g, at->stride, g_i64(g, l))) : at->base;
            break;
        case WF__SCATTERED:
            out[l] = g_gep(g, at->scaled ? element : g->i8, at->base,
                           g->L->BuildExtractElement(g->b, at->offset, g_i32(g, l), ""));
            break;
        }
    }
}

val wf__lane_addresses(wf__instance *in, unsigned dtype, const wf__address *at, val mask)
{
    wf__gen *g = in->g;
    int w = g->width;
    int64_t size = wf__size(dtype), each = at->pattern == WF__ASCENDING    ? size
                                           : at->pattern == WF__DESCENDING ? -size
                                                                           : 0;
    val a = wf__gen_splat(g, g->L->BuildPtrToInt(g->b, at->base, g->i64, ""), w);
    if (at->pattern == WF__SCATTERED)
        a = g_add(g, a, at->scaled ? g_mul(g, at->offset, wf__gen_int(g, g->i64, w, (uint64_t)size)) : at->offset);
    if (at->pattern == WF__STRIDED)
        a = g_add(g, a, g_mul(g, wf__gen_splat(g, at->stride, w), wf__gen_iota(g, g->i64, w, 0, 1)));
    if (each)
        a = g_add(g, a, wf__gen_iota(g, g->i64, w, 0, each));
    if (!mask)
        return a;
    val dummy = g->L->BuildPtrToInt(g->b, wf__get_dummy(in->kernel), g->i64, "");
    return g_select(g, mask, a, wf__gen_splat(g, dummy, w));
}

val wf__spill_lanes(wf__instance *in, int which, val v)
{
    wf__gen *g = in->g;
    val *room = &in->kernel->lane_spill[which];
    if (!*room)
        *room = wf__add_alloca(in->kernel, g->L->VectorType(g->i64, (unsigned)(2 * g->width)));
    g->L->SetAlignment(g->L->BuildStore(g->b, v, *room), 8);
    return *room;
}

void wf__active_pointers(wf__instance *in, unsigned dtype, const wf__address *at, val mask, val out[WF__LANES])
{
    wf__gen *g = in->g;
    if (!mask && at->pattern != WF__SCATTERED) {
        wf__lane_pointers(g, dtype, at, out);
        return;
    }
    val where = wf__spill_lanes(in, 0, wf__lane_addresses(in, dtype, at, mask));
    for (int l = 0; l < g->width; l++)
        out[l] = g_load(g, g->ptr, g_gep(g, g->i64, where, g_i64(g, l)));
}
