/* prefetch.c - prefetches memory beyond the second cache.
 *
 * Problem: where an index array names the elements, the processor cannot foresee them, and a core can wait for few
 * cache lines at once. Idea: the indices of such accesses form a small body of their own, the PREFETCH instance. It
 * computes them for later points of the row, and prefetches these elements into the second cache. The instance loads
 * only what the row loads anyway, on the same conditions, so no access can fault.
 *
 * Indices that are computed from the point alone, as for rotations, are left to the processor: their prefetches cost
 * more than they gain. Rows that are read beside such accesses are prefetched at a fixed distance.
 */
#include "codegen/emit.h"
#include "codegen/phases.h"
#include "ir/pass/pass.h"

enum { LINE = 64 };

typedef struct slicer {
    const wf__ir *in;
    const wf__vary *vary;
    wf__ref *map;
    wf__ir *out;
    int left; /* nodes that the current prefetch may still copy */
} slicer;

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
        return n->aux == WF_BORDER_NONE && !wf__tuple_varies(s->in, s->vary, n->b);
    default:
        return wf__op_is_pure(n->op) && n->op != WF__COLD;
    }
}

/* Copies node r and its operands to `out`. Returns 0 if they are too many or cannot be computed for other points. */
static wf__ref copy_slice(slicer *s, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    const wf__node *n = wf__at(s->in, r);
    if (s->map[r])
        return s->map[r];
    if (!is_simple(s, n) || --s->left < 0)
        return 0;
    uint32_t count = wf__operands(s->in, n, operand);
    for (uint32_t k = 0; k < count; ++k)
        if (!copy_slice(s, operand[k]))
            return 0;
    return s->map[r] = wf__copy_node(s->in, r, s->map, s->out);
}

/* The index without a small constant offset: neighbours along the last axis share one prefetch. */
static wf__ref without_offset(const wf__ir *ir, wf__ref r, unsigned size)
{
    const wf__node *n = wf__at(ir, r);
    const wf__node *offset = n->op == WF__OP_add ? wf__at(ir, n->b) : NULL;
    if (!offset || offset->op != WF__CONST || n->dtype != WF_I64)
        return r;
    int64_t k = (int64_t)wf__bits(offset);
    return k > -LINE && k < LINE && k * size > -LINE && k * size < LINE ? n->a : r;
}

/* Adds a LOAD at the indices of access n. Returns false if there is one already, or none is possible. */
static bool add_prefetch(slicer *s, const wf__node *n)
{
    const wf__slot *slot = &s->in->slot[n->a];
    wf__ref index[WF_MAX_RANK];
    uint32_t rank = wf__tuple_len(s->in, n->b);
    s->left = WF__PREFETCH_NODES;
    for (uint32_t k = 0; k < rank; ++k) {
        wf__ref r = wf__tuple_at(s->in, n->b)[k];
        bool last = k + 1 == rank;
        r = last ? without_offset(s->in, r, wf__size(slot->dtype)) : r;
        index[k] = copy_slice(s, r);
        if (!index[k])
            return false;
        if (last && slot->record && wf__at(s->in, r)->op == WF__CONST)
            index[k] = wf__const_bits(s->out, WF_I64, 0);
    }
    const uint32_t before = s->out->n;
    return wf__load(s->out, n->a, wf__tuple(s->out, index, rank), WF_BORDER_NONE, 0) >= before;
}

bool wf__find_prefetches(const wf__ir *body, wf__ir *out)
{
    bool far = false;
    int prefetches = 0;
    for (uint32_t i = 0; i < body->slot_n; ++i)
        far = far || body->slot[i].large_indexed;
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
    for (wf__ref r = 1; ok && r < body->n && prefetches < WF__PREFETCH_PLACES; ++r) {
        const wf__node *n = wf__at(body, r);
        if (wf__op_is_access(n->op) && body->slot[n->a].large_indexed && wf__is_scattered(body, vary, read, n->b))
            prefetches += add_prefetch(&s, n);
    }
    wf__free(vary);
    wf__free(read);
    wf__free(s.map);
    return ok && out->status == WF_OK;
}

void wf__set_prefetch_index(wf__instance *in, val lane, val last)
{
    in->index[in->kernel->rank - 1] = g_smaller(in->g, g_add(in->g, lane, g_i64(in->g, WF__PREFETCH_POINTS)), last);
}

/* True if the records of all lanes are close together: then the processor prefetches them itself. */
static val are_close(wf__gen *g, const val *pointer, unsigned bytes)
{
    val first = g->L->BuildPtrToInt(g->b, pointer[0], g->i64, "");
    val last = g->L->BuildPtrToInt(g->b, pointer[g->width - 1], g->i64, "");
    const int64_t near = 2 * (int64_t)g->width * bytes;
    return g_icmp(g, LLVMIntULT, g_add(g, g_sub(g, last, first), g_i64(g, near)), g_i64(g, 2 * near));
}

static void prefetch_line(wf__gen *g, val pointer, int64_t offset)
{
    enum { READ, SECOND_CACHE = 2, DATA = 1 };
    val p = offset ? g_gep(g, g->i8, pointer, g_i64(g, offset)) : pointer;
    val args[4] = { p, g_i32(g, READ), g_i32(g, SECOND_CACHE), g_i32(g, DATA) };
    wf__gen_call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}

void wf__emit_prefetch(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    const wf__slot *slot = &in->ir->slot[n->a];
    wf__address at = wf__make_address(in, n->a, n->b, NULL, NULL);
    val pointer[WF__LANES];
    unsigned bytes = (slot->record ? slot->record : 1) * wf__size(slot->dtype), lines = (bytes + LINE - 1) / LINE;
    bool crosses = LINE % bytes && bytes % (LINE / 2); /* a record may cross a line, depending on its number */
    wf__lane_pointers(g, slot->dtype, &at, pointer);
    bb ask = wf__gen_bb(g, "prefetch"), after = wf__gen_bb(g, "prefetched");
    g->L->BuildCondBr(g->b, are_close(g, pointer, bytes), after, ask);
    wf__gen_at(g, ask);
    for (int l = 0; l < g->width; ++l) {
        for (unsigned k = 0; k < lines && k < WF__PREFETCH_LINES; ++k)
            prefetch_line(g, pointer[l], (int64_t)k * LINE);
        if (crosses && lines < WF__PREFETCH_LINES)
            prefetch_line(g, pointer[l], bytes - 1);
    }
    g->L->BuildBr(g->b, after);
    wf__gen_at(g, after);
    in->inner = after;
}

void wf__prefetch_row(wf__instance *in, const wf__node *load, const wf__address *at)
{
    int axis;
    int64_t offset = 0;
    uint32_t rank = wf__tuple_len(in->ir, load->b);
    if (in->kind == WF__BORDER || in->kind == WF__PREFETCH || at->pattern != WF__ASCENDING ||
        !in->ir->slot[load->a].prefetch_rows)
        return;
    if (rank && !wf__as_offset(in->ir, wf__tuple_at(in->ir, load->b)[rank - 1], &axis, &offset))
        return;
    if (offset % in->g->width == 0) /* other offsets lie in the same lines or their neighbours */
        prefetch_line(in->g, at->base, WF__PREFETCH_ROW_BYTES);
}
