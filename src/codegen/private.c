/* private.c - accumulation into private memory: plain loads and stores, lane after lane, or vectors where lanes have
 * elements of their own side by side. The lanes' offsets fit 32 bits, so two of them come out of a vector at a time.
 */
#include "codegen/update.h"

/* Lane l of a vector of integers of `size` bytes. */
static val take_out(wf__gen *g, val v, unsigned size, int l)
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

static val lane_of_vector(wf__gen *g, unsigned dtype, val v, int l)
{
    if (!wf__is_int(dtype))
        return g->L->BuildExtractElement(g->b, v, g_i32(g, l), "");
    return take_out(g, v, wf__size(dtype), l);
}

/* Bytes from element to element along an axis of private memory, where code may depend on them; else 0. */
static int64_t private_step(const wf__change *u, uint32_t axis, uint32_t rank)
{
    int64_t size = wf__size(u->dtype), together = u->together;
    if (axis + 1 == rank)
        return together > 1 ? size : u->spread * size;
    return axis + 2 == rank && together > 1 ? u->spread * together * size : 0;
}

/* Byte offsets from *base, as i32, without what is uniform: that is added to *base. NULL: nothing else. */
val wf__private_offsets(const wf__change *u, val *base)
{
    wf__inst *in = u->in;
    wf__gen *g = in->g;
    uint32_t rank = wf__tuple_len(in->ir, u->n->b) - (u->spread > 1);
    LLVMTypeRef words = wf__gen_wide(g, g->i32, g->width);
    val sum = NULL;
    *base = wf__frame_base(in->f, u->n->a);
    for (uint32_t k = 0; k < rank; k++) {
        wf__ref r = wf__tuple_at(in->ir, u->n->b)[k];
        int64_t known = private_step(u, k, rank);
        val stride = known ? g_i64(g, known) : wf__frame_stride(in->f, u->n->a, (int)k);
        if (in->vary[r].kind == WF__UNIFORM) {
            *base = g_gep(g, g->i8, *base, g_mul(g, wf__inst_scalar(in, r), stride));
            continue;
        }
        val index = g->L->BuildTrunc(g->b, wf__inst_vector(in, r), words, "");
        val step = known ? wf__gen_int(g, g->i32, g->width, (uint64_t)known)
                         : wf__gen_splat(g, g->L->BuildTrunc(g->b, stride, g->i32, ""), g->width);
        index = g_mul(g, index, step);
        sum = sum ? g_add(g, sum, index) : index;
    }
    if (u->spread > g->width) { /* where among the elements side by side this vector begins */
        val lane = wf__inst_scalar(in, wf__tuple_at(in->ir, u->n->b)[rank]);
        lane = g_and(g, lane, g_i64(g, u->spread - 1));
        *base = g_gep(g, g->i8, *base, g_mul(g, lane, g_i64(g, u->together * (int64_t)wf__size(u->dtype))));
    }
    return sum;
}

/* The address of lane l's element. */
val wf__private_lane(const wf__change *u, val base, val offset, int l)
{
    wf__gen *g = u->in->g;
    val p = g_gep(g, g->i8, base, g->L->BuildZExt(g->b, take_out(g, offset, 4, l), g->i64, ""));
    int64_t apart = u->together * (int64_t)wf__size(u->dtype);
    return u->spread > 1 ? g_gep(g, g->i8, p, g_i64(g, l % u->spread * apart)) : p;
}

/* The offset of what lies behind the last element of a copy whose elements are spread (copies.c), to be spoilt. NULL:
 * there is none, or it is not so far from *base. */
static val behind(const wf__change *u)
{
    wf__inst *in = u->in;
    uint32_t rank = wf__tuple_len(in->ir, u->n->b) - (u->spread > 1);
    if (u->spread == 1 || u->together > 1 || !rank)
        return NULL;
    for (uint32_t k = 0; k < rank; k++)
        if (in->vary[wf__tuple_at(in->ir, u->n->b)[k]].kind == WF__UNIFORM)
            return NULL;
    val bytes = g_mul(in->g, wf__frame_dim(in->f, u->n->a, 0), wf__frame_stride(in->f, u->n->a, 0));
    return in->g->L->BuildTrunc(in->g->b, bytes, in->g->i32, "");
}

/* Lanes that are off join the same value as others with nobody's element, where there is such a one, or else the
 * neutral element with the first one. */
static void each_private_lane(const wf__change *u, val base, val offset)
{
    wf__inst *in = u->in;
    wf__gen *g = in->g;
    val vector = NULL, scalar = NULL, nobodys = NULL;
    bool uniform = in->vary[u->value].kind == WF__UNIFORM;
    if (u->mask) {
        nobodys = uniform ? behind(u) : NULL;
        uniform = nobodys != NULL;
        offset = g_select(g, u->mask, offset, wf__gen_splat(g, nobodys ? nobodys : g_i32(g, 0), g->width));
    }
    if (uniform)
        scalar = wf__inst_scalar(in, u->value);
    else
        vector = wf__neutral_where_off(u, u->mask, wf__inst_vector(in, u->value));
    for (int l = 0; l < g->width; l++) {
        val p = wf__private_lane(u, base, offset, l);
        wf__update_plainly(g, u->join, u->dtype, p, uniform ? scalar : lane_of_vector(g, u->with, vector, l));
    }
}

/* False: not the way to do it. */
bool wf__in_private(const wf__change *u)
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
        wf__change_vector(u, &(wf__where){ .way = WF__ALONG, .base = base });
    else
        each_private_lane(u, base, offset ? offset : wf__gen_int(g, g->i32, g->width, 0));
    return true;
}
