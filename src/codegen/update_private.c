/* update_private.c - accumulation into private memory.
 *
 * No other thread touches this memory, so plain loads and stores update it lane by lane. If the copies are spread so
 * far that each lane has an element of its own beside those of the others, one vector does. Offsets fit 32 bits, so one
 * extraction from a vector yields two of them.
 */
#include "codegen/update.h"

/* Lane l of a vector of integers of `size` bytes; extracted as 64-bit words, which processors do best. */
static val extract_lane(wf__gen *g, val v, unsigned size, int l)
{
    LLVMTypeRef own = g->L->IntTypeInContext(g->context, 8 * size);
    unsigned bytes = size * (unsigned)g->width, at = (unsigned)l * size;
    if (size == 8 || bytes < 8)
        return g->L->BuildExtractElement(g->b, v, g_i32(g, l), "");
    val words = g_bits(g, v, g->L->VectorType(g->i64, bytes / 8));
    val word = g->L->BuildExtractElement(g->b, words, g_i32(g, at / 8), "");
    if (at % 8)
        word = g->L->BuildLShr(g->b, word, g_i64(g, at % 8 * 8), "");
    return g->L->BuildTrunc(g->b, word, own, "");
}

static val get_lane(wf__gen *g, unsigned dtype, val v, int l)
{
    if (!wf__is_int(dtype))
        return g->L->BuildExtractElement(g->b, v, g_i32(g, l), "");
    return extract_lane(g, v, wf__size(dtype), l);
}

/* Bytes from element to element along an axis of private memory; 0 = known at run time only. */
static int64_t private_step(const wf__update_op *u, uint32_t axis, uint32_t rank)
{
    int64_t size = wf__size(u->dtype), together = u->together;
    if (axis + 1 == rank)
        return together > 1 ? size : u->spread * size;
    return axis + 2 == rank && together > 1 ? u->spread * together * size : 0;
}

val wf__private_offsets(const wf__update_op *u, val *base)
{
    wf__instance *in = u->in;
    wf__gen *g = in->g;
    uint32_t rank = wf__tuple_len(in->ir, u->n->b) - (u->spread > 1);
    LLVMTypeRef words = wf__gen_wide(g, g->i32, g->width);
    val sum = NULL;
    *base = wf__load_base(in->kernel, u->n->a);
    for (uint32_t k = 0; k < rank; k++) {
        wf__ref r = wf__tuple_at(in->ir, u->n->b)[k];
        int64_t known = private_step(u, k, rank);
        val stride = known ? g_i64(g, known) : wf__load_stride(in->kernel, u->n->a, (int)k);
        if (in->vary[r].kind == WF__UNIFORM) {
            *base = g_gep(g, g->i8, *base, g_mul(g, wf__get_scalar(in, r), stride));
            continue;
        }
        val index = g->L->BuildTrunc(g->b, wf__get_vector(in, r), words, "");
        val step = known ? wf__gen_int(g, g->i32, g->width, (uint64_t)known)
                         : wf__gen_splat(g, g->L->BuildTrunc(g->b, stride, g->i32, ""), g->width);
        index = g_mul(g, index, step);
        sum = sum ? g_add(g, sum, index) : index;
    }
    if (u->spread > g->width) { /* the vector begins at one of several vectors of copies */
        val lane = wf__get_scalar(in, wf__tuple_at(in->ir, u->n->b)[rank]);
        lane = g_and(g, lane, g_i64(g, u->spread - 1));
        *base = g_gep(g, g->i8, *base, g_mul(g, lane, g_i64(g, u->together * (int64_t)wf__size(u->dtype))));
    }
    return sum;
}

val wf__private_lane(const wf__update_op *u, val base, val offset, int l)
{
    wf__gen *g = u->in->g;
    val p = g_gep(g, g->i8, base, g->L->BuildZExt(g->b, extract_lane(g, offset, 4, l), g->i64, ""));
    int64_t apart = u->together * (int64_t)wf__size(u->dtype);
    return u->spread > 1 ? g_gep(g, g->i8, p, g_i64(g, l % u->spread * apart)) : p;
}

/* The offset of the spare element behind the last one of a copy with spread elements (copies.c). NULL = there is none,
 * or the base has uniform indices added, which move the spare element away from this offset. */
static val spare_offset(const wf__update_op *u)
{
    wf__instance *in = u->in;
    uint32_t rank = wf__tuple_len(in->ir, u->n->b) - (u->spread > 1);
    if (u->spread == 1 || u->together > 1 || !rank)
        return NULL;
    for (uint32_t k = 0; k < rank; k++)
        if (in->vary[wf__tuple_at(in->ir, u->n->b)[k]].kind == WF__UNIFORM)
            return NULL;
    val bytes = g_mul(in->g, wf__load_dim(in->kernel, u->n->a, 0), wf__load_stride(in->kernel, u->n->a, 0));
    return in->g->L->BuildTrunc(in->g->b, bytes, in->g->i32, "");
}

/* Inactive lanes update too, without branches: the spare element with the common value, if there is a spare element and
 * the value is uniform; else the first element with the neutral element. */
static void update_private_lanes(const wf__update_op *u, val base, val offset)
{
    wf__instance *in = u->in;
    wf__gen *g = in->g;
    val vector = NULL, scalar = NULL, spare = NULL;
    bool uniform = in->vary[u->value].kind == WF__UNIFORM;
    if (u->mask) {
        spare = uniform ? spare_offset(u) : NULL;
        uniform = spare != NULL;
        offset = g_select(g, u->mask, offset, wf__gen_splat(g, spare ? spare : g_i32(g, 0), g->width));
    }
    if (uniform)
        scalar = wf__get_scalar(in, u->value);
    else
        vector = wf__select_neutral(u, u->mask, wf__get_vector(in, u->value));
    for (int l = 0; l < g->width; l++) {
        val p = wf__private_lane(u, base, offset, l);
        wf__update_element(g, u->join, u->dtype, p, uniform ? scalar : get_lane(g, u->with, vector, l));
    }
}

bool wf__update_private(const wf__update_op *u)
{
    wf__gen *g = u->in->g;
    bool varying = false;
    val base;
    for (uint32_t k = 0; k < wf__tuple_len(u->in->ir, u->n->b) - (u->spread > 1); k++)
        varying |= u->in->vary[wf__tuple_at(u->in->ir, u->n->b)[k]].kind == WF__VARYING;
    if (!varying && u->spread == 1)
        return false;
    val offset = wf__private_offsets(u, &base);
    if (!offset && u->spread >= g->width && u->together == 1)
        wf__update_vector(u, &(wf__address){ .pattern = WF__ASCENDING, .base = base });
    else
        update_private_lanes(u, base, offset ? offset : wf__gen_int(g, g->i32, g->width, 0));
    return true;
}
