/* emit_node.c - emits the nodes of one level of an instance: uniform nodes as scalars, varying ones as vectors. Affine
 * values are not emitted here, but on demand (values.c).
 */
#include "codegen/emit.h"

static void emit_uniform(wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    wf__gen *g = in->g;
    switch ((wf__op)n->op) {
    case WF__CONST:
        in->scalar[r] = wf__gen_const(g, n->dtype, 1, wf__bits(n));
        break;
    case WF__PARAM:
        in->scalar[r] = wf__load_param(in->kernel, n->a, n->dtype);
        break;
    case WF__INDEX:
        in->scalar[r] = in->index[n->a];
        break;
    case WF__EXTENT:
        in->scalar[r] = wf__load_extent(in->kernel, (int)n->a);
        break;
    case WF__THREAD: /* a block has one thread on processors */
        in->scalar[r] = wf__gen_const(g, WF_I64, 1, n->aux);
        break;
    case WF__BARRIER:
        break;
    case WF__DIM:
        in->scalar[r] = wf__load_dim(in->kernel, n->a, (int)n->b);
        break;
    case WF__LOAD:
        wf__emit_load(in, r);
        break;
    case WF__COLD:
        wf__emit_cold(in, &r, 1);
        break;
    case WF__LOCAL:
    case WF__PUT:
    case WF__GET:
        wf__emit_local(in, r);
        break;
#include "ir/case_pure.def"
        if (!wf__is_tested(in, r))
            in->scalar[r] = wf__emit_pure_scalar(in, r);
        break;
    case WF__NOP:
    case WF__DERIVED: /* not in plans */
    case WF__ARG:     /* vary.c finds none of these uniform but STATE, which emit_node treats as varying */
    case WF__STORE:
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
    case WF__RED:
    case WF__SETRED:
    case WF__LOOP:
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
#include "ir/case_graphs.def"
        break;
    }
}

/* Emits a whole packet in the place of one of its parts. */
static void emit_part(wf__instance *in, wf__ref r)
{
    const wf__packet *packet = &in->packets.all[in->packets.of[r] - 1];
    unsigned op = wf__at(in->ir, r)->op;
    if (r != packet->at)
        return;
    (op == WF__LOAD    ? wf__emit_packet_load
     : op == WF__STORE ? wf__emit_packet_store
                       : wf__emit_packet_update)(in, packet);
}

static val emit_vector(wf__instance *in, wf__ref r)
{
    wf__ref index, extent;
    return wf__is_range_test(in, r, &index, &extent) ? wf__emit_range_test(in, index, extent)
                                                     : wf__emit_pure_vector(in, r);
}

static void emit_varying(wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    if (in->packets.of && in->packets.of[r]) {
        emit_part(in, r);
        return;
    }
    switch ((wf__op)n->op) {
    case WF__LOAD:
        (wf__is_prefetch(in, r) ? wf__emit_prefetch : wf__emit_load)(in, r);
        break;
    case WF__STORE:
        wf__emit_store(in, n);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        wf__emit_update(in, r);
        break;
    case WF__RED:
        wf__emit_red(in, r);
        break;
    case WF__SETRED:
        wf__emit_setred(in, n);
        break;
    case WF__COLD:
        wf__emit_cold(in, &r, 1);
        break;
    case WF__LOOP:
    case WF__STATE:
    case WF__NEXT:
    case WF__END:
        wf__emit_loop(in, r);
        break;
    case WF__LOCAL:
    case WF__PUT:
    case WF__GET:
        wf__emit_local(in, r);
        break;
#include "ir/case_pure.def"
        in->vector[r] = wf__is_narrow(in, r) ? wf__emit_narrow(in, r) : emit_vector(in, r);
        break;
    case WF__NOP:
    case WF__DERIVED: /* not in plans */
    case WF__ARG:     /* in cold bodies only: emit_op.c */
    case WF__CONST:   /* uniform */
    case WF__PARAM:
    case WF__EXTENT:
    case WF__DIM:
    case WF__THREAD:
    case WF__BARRIER:
    case WF__INDEX: /* affine: made on demand */
#include "ir/case_graphs.def"
        break;
    }
}

static void emit_node(wf__instance *in, wf__ref r)
{
    if (in->vary[r].kind == WF__UNIFORM && in->ir->node[r].op != WF__STATE)
        emit_uniform(in, r);
    else
        emit_varying(in, r);
}

/* Emits in->order[from .. to): one node, or COLD nodes that share a branch. Returns `to`. */
static uint32_t emit_next(wf__instance *in, uint32_t from)
{
    const uint32_t *order = in->order + from;
    if (in->ir->node[order[0]].op != WF__COLD) {
        emit_node(in, order[0]);
        return from + 1;
    }
    uint32_t run = wf__count_cold_run(in, order, in->order_n - from);
    wf__emit_cold(in, order, run);
    return from + run;
}

/* Emits a long body as several basic blocks, as the time of LLVM grows by the square of a block's length. Values of a
 * block that a later block uses stay where they are: LLVM would move most of a chain into the last block. */
static bool emit_in_blocks(wf__instance *in)
{
    uint32_t *last = wf__alloc0(in->ir->n * sizeof *last); /* 1 + the position of each node's last user */
    val *kept = wf__alloc(WF__LONG_BODY_BLOCK * 2 * sizeof(val));
    wf__ref operand[WF__MAX_OPERANDS];
    for (uint32_t i = 0; last && i < in->order_n; i++)
        for (uint32_t n = wf__operands(in->ir, wf__at(in->ir, in->order[i]), operand), k = 0; k < n; k++)
            last[operand[k]] = i + 1;
    for (uint32_t begin = 0, i = 0; last && kept && i < in->order_n;) {
        if (i - begin >= WF__LONG_BODY_BLOCK) {
            uint32_t n = 0;
            for (; begin < i; begin++) {
                wf__ref r = in->order[begin];
                val v = in->vector[r] ? in->vector[r] : in->scalar[r];
                if (v && last[r] > i)
                    kept[n++] = v;
            }
            wf__cut_block(in->kernel, kept, n);
        }
        i = emit_next(in, i);
    }
    bool ok = last && kept;
    wf__free(last);
    wf__free(kept);
    return ok;
}

void wf__emit_level(wf__instance *in, int level)
{
    if (level == in->kernel->rank) {
        if (in->order_n <= WF__LONG_BODY)
            for (uint32_t i = 0; i < in->order_n;)
                i = emit_next(in, i);
        else if (!emit_in_blocks(in))
            wf__gen_fail(in->g, "code generator: out of memory");
        return;
    }
    wf__gen_at(in->g, *wf__bb_of_level(in, level));
    for (uint32_t i = 1; i < in->ir->n; i++)
        if (in->live[i] && in->level[i] == level && in->ir->node[i].op != WF__CONST) {
            emit_node(in, i);
            *wf__bb_of_level(in, level) = in->g->L->GetInsertBlock(in->g->b); /* a cold path ends in a new one */
        }
}
