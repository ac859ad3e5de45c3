/* address.c - where a load or store goes. An index is taken apart into lane number times a constant, uniform terms and
 * a constant; each uniform term is added to the pointer in the loop where it is known, and the constant becomes a
 * displacement, so that what is left for the innermost loop is one addressing mode.
 */
#include "codegen/body.h"

/* The sum of terms that an affine index is. */
typedef struct linear {
    int64_t coef, constant;
    wf__ref term[4];
    int64_t scale[4];
    int n;
    bool failed;
} linear;

static void take_apart(const wf__inst *in, wf__ref r, int64_t scale, linear *out, int depth)
{
    const wf__node *n = wf__at(in->ir, r);
    int64_t k;
    if (depth > 12) {
        out->failed = true;
    } else if (n->op == WF__CONST) {
        if (!wf__mul_i64(scale, (int64_t)wf__bits(n), &k) || __builtin_add_overflow(out->constant, k, &out->constant))
            out->failed = true;
    } else if (n->op == WF__INDEX && (int)n->a == in->f->rank - 1) {
        out->failed |= __builtin_add_overflow(out->coef, scale, &out->coef);
    } else if (n->op == WF__OP_add && n->dtype == WF_I64) {
        take_apart(in, n->a, scale, out, depth + 1);
        take_apart(in, n->b, scale, out, depth + 1);
    } else if (n->op == WF__OP_sub && n->dtype == WF_I64 && scale != INT64_MIN) {
        take_apart(in, n->a, scale, out, depth + 1);
        take_apart(in, n->b, -scale, out, depth + 1);
    } else if (n->op == WF__OP_mul && wf__at(in->ir, n->b)->op == WF__CONST &&
               wf__mul_i64(scale, (int64_t)wf__bits(wf__at(in->ir, n->b)), &k)) {
        take_apart(in, n->a, k, out, depth + 1);
    } else if (in->vary[r].kind == WF__UNIFORM && out->n < (int)WF__COUNT(out->term)) {
        out->term[out->n] = r;
        out->scale[out->n++] = scale;
    } else {
        out->failed = true;
    }
}

bool wf__as_lane(const wf__inst *in, wf__ref r, int64_t *coef, int64_t *constant)
{
    linear l = { 0 };
    if (in->vary[r].kind != WF__AFFINE)
        return false;
    take_apart(in, r, 1, &l, 0);
    *coef = l.coef;
    *constant = l.constant;
    return !l.failed && !l.n;
}

/* pointer + index * stride at `level`; the same sum is made once. */
static val add_term(wf__inst *in, val pointer, val index, val stride, int level)
{
    wf__gen *g = in->g;
    val sum = wf__inst_recall(in, WF__SUM, pointer, index, stride);
    if (sum)
        return sum;
    block back = g->L->GetInsertBlock(g->b);
    if (level < in->f->rank)
        wf__gen_at(g, *wf__inst_block(in, level));
    sum = g_gep(g, g->i8, pointer, g_mul(g, index, stride));
    wf__gen_at(g, back);
    return wf__inst_keep(in, WF__SUM, pointer, index, stride, sum);
}

typedef struct term {
    val index, stride;
    int level;
} term;

typedef struct address {
    wf__inst *in;
    uint32_t slot;
    int64_t size, bytes; /* of an element; constant displacement */
    int64_t lane_bytes;  /* from lane to lane, as far as it is constant */
    val lane_stride;     /* the rest of it; NULL: none */
    val offset;
    bool scaled, lanes; /* lanes: the lane number is not in a term yet */
    term term[6 * WF_MAX_RANK];
    int n;
} address;

static void push(address *a, val index, val stride, int level)
{
    int i = a->n++;
    for (; i > 0 && a->term[i - 1].level > level; i--)
        a->term[i] = a->term[i - 1];
    a->term[i] = (term){ index, stride, level };
}

static void add_offset(address *a, val vector, val stride, bool unit)
{
    wf__gen *g = a->in->g;
    int w = g->width;
    if (unit && !a->offset) {
        a->offset = vector;
        a->scaled = true;
        return;
    }
    if (a->scaled) { /* a second varying index: count bytes from here on */
        a->offset = g_mul(g, a->offset, wf__gen_int(g, g->i64, w, (uint64_t)a->size));
        a->scaled = false;
    }
    val bytes = g_mul(g, vector, unit ? wf__gen_int(g, g->i64, w, (uint64_t)a->size) : wf__gen_splat(g, stride, w));
    a->offset = a->offset ? g_add(g, a->offset, bytes) : bytes;
}

/* Bytes from element to element along an axis of the slot, where code may depend on them; 0: read at run time. */
static int64_t known_bytes(const address *a, int axis)
{
    unsigned step = a->in->ir->slot[a->slot].step[axis];
    return step == WF__STEP_UNIT ? a->size : step == WF__STEP_BACK ? -a->size : 0;
}

static val stride_of(address *a, int axis)
{
    int64_t known = known_bytes(a, axis);
    return known ? g_i64(a->in->g, known) : wf__frame_stride(a->in->f, a->slot, axis);
}

static void add_affine(address *a, wf__ref r, int axis)
{
    wf__inst *in = a->in;
    wf__gen *g = in->g;
    linear l = { 0 };
    take_apart(in, r, 1, &l, 0);
    int64_t coef = in->vary[r].coef, known = known_bytes(a, axis), bytes;
    val stride = stride_of(a, axis);
    if (l.failed || l.coef != coef || !wf__mul_i64(coef, a->size, &bytes) ||
        !wf__mul_i64(l.constant, a->size, &bytes)) {
        push(a, wf__inst_scalar(in, r), stride, in->f->rank);
    } else {
        for (int i = 0; i < l.n; i++) {
            int level = in->level[l.term[i]];
            val index = wf__inst_scalar(in, l.term[i]);
            if (l.scale[i] != 1) {
                block back = g->L->GetInsertBlock(g->b);
                if (level < in->f->rank)
                    wf__gen_at(g, *wf__inst_block(in, level));
                index = g_mul(g, index, g_i64(g, l.scale[i]));
                wf__gen_at(g, back);
            }
            push(a, index, stride, level);
        }
        if (known)
            a->bytes += l.constant * known;
        else if (l.constant)
            push(a, g_i64(g, l.constant), stride, 0);
        if (known == a->size && coef == 1 && !a->lanes)
            a->lanes = true; /* added last, as an addressing mode */
        else
            push(a, coef == 1 ? in->index[in->f->rank - 1] : g_mul(g, in->index[in->f->rank - 1], g_i64(g, coef)),
                 stride, in->f->rank);
    }
    if (known) {
        a->lane_bytes += coef * known;
        return;
    }
    block back = g->L->GetInsertBlock(g->b);
    wf__gen_at(g, in->f->top);
    val step = coef == 1 ? stride : g_mul(g, stride, g_i64(g, coef));
    a->lane_stride = a->lane_stride ? g_add(g, a->lane_stride, step) : step;
    wf__gen_at(g, back);
}

static void add_index(address *a, int axis, wf__ref r, const val *mapped, const bool *wide)
{
    wf__inst *in = a->in;
    int64_t known = known_bytes(a, axis), bytes;
    bool unit = known == a->size;
    if (in->ir->slot[a->slot].step[axis] == WF__STEP_ZERO)
        return;
    if (mapped && mapped[axis]) {
        if (wide[axis])
            add_offset(a, mapped[axis], unit ? NULL : stride_of(a, axis), unit);
        else
            push(a, mapped[axis], stride_of(a, axis), in->f->rank);
        return;
    }
    switch (in->vary[r].kind) {
    case WF__UNIFORM: {
        const wf__node *n = wf__at(in->ir, r);
        if (n->op == WF__CONST && known && wf__mul_i64((int64_t)wf__bits(n), known, &bytes))
            a->bytes += bytes;
        else if (n->op != WF__CONST || wf__bits(n))
            push(a, wf__inst_scalar(in, r), stride_of(a, axis), in->level[r]);
        break;
    }
    case WF__AFFINE:
        add_affine(a, r, axis);
        break;
    default:
        add_offset(a, wf__inst_vector(in, r), unit ? NULL : stride_of(a, axis), unit);
    }
}

wf__where wf__address(wf__inst *in, uint32_t slot, uint32_t tuple, const val *mapped, const bool *wide)
{
    wf__gen *g = in->g;
    unsigned dtype = in->ir->slot[slot].dtype;
    address a = { .in = in, .slot = slot, .size = wf__size(dtype) };
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, tuple); k++)
        add_index(&a, (int)k, wf__tuple_at(in->ir, tuple)[k], mapped, wide);
    val p = wf__frame_base(in->f, slot);
    for (int i = 0; i < a.n; i++)
        p = add_term(in, p, a.term[i].index, a.term[i].stride, a.term[i].level);
    if (a.lanes) {
        val j = in->index[in->f->rank - 1], row = p;
        p = wf__inst_recall(in, WF__SUM, row, j, NULL);
        if (!p)
            p = wf__inst_keep(in, WF__SUM, row, j, NULL, g_gep(g, wf__gen_memory_type(g, dtype, 1), row, j));
    }
    if (a.bytes)
        p = g_gep(g, g->i8, p, g_i64(g, a.bytes));
    wf__where at = { .way = WF__AT_POINT, .base = p, .offset = a.offset, .scaled = a.scaled };
    if (a.lane_stride)
        at.stride = a.lane_bytes ? g_add(g, a.lane_stride, g_i64(g, a.lane_bytes)) : a.lane_stride;
    else if (a.lane_bytes)
        at.stride = g_i64(g, a.lane_bytes);
    if (a.offset) {
        at.way = WF__SCATTERED;
        if (at.stride) { /* lanes step as well */
            val steps = g_mul(g, wf__gen_splat(g, at.stride, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
            val bytes = a.scaled ? g_mul(g, at.offset, wf__gen_int(g, g->i64, g->width, (uint64_t)a.size)) : at.offset;
            at.offset = g_add(g, bytes, steps);
            at.scaled = false;
        }
    } else if (a.lane_stride) {
        at.way = WF__STRIDED;
    } else if (a.lane_bytes) {
        at.way = a.lane_bytes == a.size ? WF__ALONG : a.lane_bytes == -a.size ? WF__AGAINST : WF__STRIDED;
    }
    return at;
}

void wf__lane_pointers(wf__gen *g, unsigned dtype, const wf__where *at, val out[WF__LANES])
{
    LLVMTypeRef element = wf__gen_memory_type(g, dtype, 1);
    for (int l = 0; l < g->width; l++) {
        switch (at->way) {
        case WF__AT_POINT:
            out[l] = at->base;
            break;
        case WF__ALONG:
            out[l] = l ? g_gep(g, element, at->base, g_i64(g, l)) : at->base;
            break;
        case WF__AGAINST:
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
