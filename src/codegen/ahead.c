/* ahead.c - asks for memory before it is needed: what points further on in a row touch at places that an index array
 * says, in arrays beyond the second cache. The processor foresees no such places, and can wait for few lines at once;
 * asked for ahead of time they wait in the second cache. And what such code reads in rows beside these places.
 *
 * The indices of these accesses are a body of their own, computed once more for points further on in the row; it reads
 * what they will read themselves, on the same conditions. Indices that are computed alone, as for rotations, are left to
 * the processor: what it takes to compute them once more is a quarter of such kernels, and mostly they lead to lines that
 * are there.
 */
#include "codegen/body.h"
#include "ir/pass/pass.h"

enum { LINE = 64 };

typedef struct slicer {
    const wf__ir *in;
    const wf__vary *vary;
    wf__ref *map;
    wf__ir *out;
    int left; /* nodes that one place may take */
} slicer;

static bool varies(const wf__ir *ir, const wf__vary *vary, uint32_t tuple)
{
    for (uint32_t k = 0; k < wf__tuple_len(ir, tuple); ++k)
        if (vary[wf__tuple_at(ir, tuple)[k]].kind == WF__VARYING)
            return true;
    return false;
}

static bool is_simple(const slicer *s, const wf__node *n)
{
    switch (n->op) {
    case WF__CONST:
    case WF__PARAM:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__DIM:
        return true;
    case WF__LOAD:
        return n->aux == WF_BORDER_NONE && !varies(s->in, s->vary, n->b);
    default:
        return wf__op_is_pure(n->op) && n->op != WF__COLD;
    }
}

/* Node r in `out`, with all that it is made of; 0: that is too much, or not for any point. */
static wf__ref slice(slicer *s, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    const wf__node *n = wf__at(s->in, r);
    if (s->map[r])
        return s->map[r];
    if (!is_simple(s, n) || --s->left < 0)
        return 0;
    uint32_t count = wf__operands(s->in, n, operand);
    for (uint32_t k = 0; k < count; ++k)
        if (!slice(s, operand[k]))
            return 0;
    return s->map[r] = wf__copy_node(s->in, r, s->map, s->out);
}

/* The index of a place in the same line, or about: neighbours along the last axis are one place. */
static wf__ref without_offset(const wf__ir *ir, wf__ref r, unsigned size)
{
    const wf__node *n = wf__at(ir, r);
    const wf__node *offset = n->op == WF__OP_add ? wf__at(ir, n->b) : NULL;
    if (!offset || offset->op != WF__CONST || n->dtype != WF_I64)
        return r;
    int64_t k = (int64_t)wf__bits(offset);
    return k > -LINE && k < LINE && k * size > -LINE && k * size < LINE ? n->a : r;
}

/* Is it a place that is not there yet? */
static bool record_place(slicer *s, const wf__node *n)
{
    const wf__slot *slot = &s->in->slot[n->a];
    wf__ref index[WF_MAX_RANK];
    uint32_t rank = wf__tuple_len(s->in, n->b);
    s->left = WF__PREFETCH_NODES;
    for (uint32_t k = 0; k < rank; ++k) {
        wf__ref r = wf__tuple_at(s->in, n->b)[k];
        bool last = k + 1 == rank;
        r = last ? without_offset(s->in, r, wf__size(slot->dtype)) : r;
        index[k] = slice(s, r);
        if (!index[k])
            return false;
        if (last && slot->record && wf__at(s->in, r)->op == WF__CONST)
            index[k] = wf__const_bits(s->out, WF_I64, 0);
    }
    const uint32_t before = s->out->n;
    return wf__load(s->out, n->a, wf__tuple(s->out, index, rank), WF_BORDER_NONE, 0) >= before;
}

bool wf__find_ahead(const wf__ir *body, wf__ir *out)
{
    bool far = false;
    int places = 0;
    for (uint32_t i = 0; i < body->slot_n; ++i)
        far = far || body->slot[i].far;
    wf__ir_init(out, body->rank, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    if (!far || body->loops)
        return true;
    slicer s = { .in = body, .out = out };
    wf__vary *vary = wf__alloc(body->n * sizeof *vary);
    s.map = wf__alloc0(body->n * sizeof *s.map);
    uint8_t *read = wf__alloc(body->n);
    bool ok = vary && read && s.map && wf__copy_tables(body, out);
    if (ok) {
        wf__analyse(body, vary);
        wf__mark_read(body, read);
    }
    s.vary = vary;
    for (wf__ref r = 1; ok && r < body->n && places < WF__PREFETCH_PLACES; ++r) {
        const wf__node *n = wf__at(body, r);
        if (wf__op_is_access(n->op) && body->slot[n->a].far && wf__is_scattered(body, vary, read, n->b))
            places += record_place(&s, n);
    }
    wf__free(vary);
    wf__free(read);
    wf__free(s.map);
    return ok && out->status == WF_OK;
}

bool wf__is_place(const wf__inst *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    return in->ahead && n->op == WF__LOAD && varies(in->ir, in->vary, n->b);
}

/* Which lanes: those so far on in the row, or its last ones. */
void wf__ahead_index(wf__inst *in, val lane, val last)
{
    in->index[in->f->rank - 1] = g_smaller(in->g, g_add(in->g, lane, g_i64(in->g, WF__PREFETCH_POINTS)), last);
}

/* Are the lanes' records one after the other, or nearly? Then the processor asks for them by itself. */
static val lie_together(wf__gen *g, const val *pointer, unsigned bytes)
{
    val first = g->L->BuildPtrToInt(g->b, pointer[0], g->i64, "");
    val last = g->L->BuildPtrToInt(g->b, pointer[g->width - 1], g->i64, "");
    const int64_t near = 2 * (int64_t)g->width * bytes;
    return g_icmp(g, LLVMIntULT, g_add(g, g_sub(g, last, first), g_i64(g, near)), g_i64(g, 2 * near));
}

static void ask_for(wf__gen *g, val pointer, int64_t offset)
{
    enum { READ, SECOND_CACHE = 2, DATA = 1 };
    val p = offset ? g_gep(g, g->i8, pointer, g_i64(g, offset)) : pointer;
    val args[4] = { p, g_i32(g, READ), g_i32(g, SECOND_CACHE), g_i32(g, DATA) };
    wf__gen_call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}

void wf__emit_place(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    const wf__slot *slot = &in->ir->slot[n->a];
    wf__where at = wf__address(in, n->a, n->b, NULL, NULL);
    val pointer[WF__LANES];
    unsigned bytes = (slot->record ? slot->record : 1) * wf__size(slot->dtype), lines = (bytes + LINE - 1) / LINE;
    bool crosses = LINE % bytes && bytes % (LINE / 2); /* where lines end depends on the record */
    wf__lane_pointers(g, slot->dtype, &at, pointer);
    block ask = wf__gen_block(g, "ask"), after = wf__gen_block(g, "asked");
    g->L->BuildCondBr(g->b, lie_together(g, pointer, bytes), after, ask);
    wf__gen_at(g, ask);
    for (int l = 0; l < g->width; ++l) {
        for (unsigned k = 0; k < lines && k < WF__PREFETCH_LINES; ++k)
            ask_for(g, pointer[l], (int64_t)k * LINE);
        if (crosses && lines < WF__PREFETCH_LINES)
            ask_for(g, pointer[l], bytes - 1);
    }
    g->L->BuildBr(g->b, after);
    wf__gen_at(g, after);
    in->inner = after;
}

void wf__ask_further_on(wf__inst *in, const wf__node *load, const wf__where *at)
{
    int axis;
    int64_t offset = 0;
    uint32_t rank = wf__tuple_len(in->ir, load->b);
    if (in->safe || in->ahead || at->way != WF__ALONG || !in->ir->slot[load->a].flows)
        return;
    if (rank && !wf__as_offset(in->ir, wf__tuple_at(in->ir, load->b)[rank - 1], &axis, &offset))
        return;
    if (offset % in->g->width == 0) /* other neighbours are in the same lines, or about */
        ask_for(in->g, at->base, WF__PREFETCH_ROW_BYTES);
}
