/* inst.c - emits the nodes of one instantiation: each at its level, uniform ones as scalars, varying ones as vectors,
 * affine ones when and as they are asked for.
 */
#include "codegen/body.h"
#include "ir/pass/pass.h"

static void mark_effects(wf__inst *in)
{
    for (uint32_t i = 1; i < in->ir->n; i++) {
        in->live[i] = wf__op_is_effect(in->ir->node[i].op) || wf__is_place(in, i);
    }
    wf__mark_live(in->ir, in->live);
}

/* Marks in `wanted` the uniform values that vector operations use, and so want a register through the inner loop. */
static uint32_t count_uniform_vectors(const wf__inst *in, uint8_t *wanted)
{
    const wf__ir *ir = in->ir;
    uint32_t n = 0;
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *node = &ir->node[i];
        if (!in->live[i] || in->vary[i].kind != WF__VARYING)
            continue;
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = wf__operands(ir, node, operand);
        for (uint32_t k = 0; k < count; k++) {
            wf__ref r = operand[k];
            bool value = wf__op_is_pure(node->op) || node->op == WF__COLD || r == node->c;
            if (!value || in->vary[r].kind != WF__UNIFORM || ir->node[r].op == WF__CONST || wanted[r])
                continue;
            wanted[r] = 1;
            n++;
        }
    }
    return n;
}

/* Levels from the analysis, but for uniform loads and parameters when too many would be held in registers: these are
 * left in the inner loop, where the processor broadcasts them from memory. In FAST, a load whose border test was taken
 * away must not come before the test of the row. */
static bool set_levels(wf__inst *in)
{
    const wf__ir *ir = in->ir;
    const uint8_t rank = (uint8_t)in->f->rank;
    uint8_t *wanted = wf__alloc0(ir->n);
    if (!wanted)
        return false;
    bool many = count_uniform_vectors(in, wanted) > WF__MOST_UNIFORM_VECTORS;
    for (uint32_t i = 1; i < ir->n; i++) {
        const wf__node *n = &ir->node[i];
        uint8_t level = in->vary[i].level;
        if (in->vary[i].kind == WF__UNIFORM) {
            if (n->op == WF__LOAD && !in->safe && level < rank - 1)
                level = (uint8_t)(rank - 1);
            if (many && wanted[i] && (n->op == WF__LOAD || n->op == WF__PARAM))
                level = rank;
            wf__ref operand[WF__MAX_OPERANDS];
            uint32_t count = wf__operands(ir, n, operand);
            for (uint32_t k = 0; k < count; k++)
                if (in->level[operand[k]] > level)
                    level = in->level[operand[k]];
        }
        in->level[i] = level;
    }
    wf__free(wanted);
    return true;
}

static uint32_t count_constants(const wf__inst *in)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < in->ir->n; i++)
        n += in->live[i] && in->ir->node[i].op == WF__CONST && in->ir->node[i].dtype != WF_I64;
    return n;
}

bool wf__inst_init(wf__inst *in, wf__frame *f, const wf__ir *ir, wf__inst_kind kind)
{
    *in = (wf__inst){ .f = f, .g = f->g, .ir = ir, .safe = kind == WF__SAFE, .ahead = kind == WF__AHEAD };
    size_t n = ir->n;
    in->vary = wf__alloc(n * sizeof *in->vary);
    in->level = wf__alloc0(n);
    in->live = wf__alloc0(n);
    in->scalar = wf__alloc0(n * sizeof *in->scalar);
    in->vector = wf__alloc0(n * sizeof *in->vector);
    in->order = wf__alloc(n * sizeof *in->order);
    size_t accumulators = (size_t)ir->red_n * (size_t)f->instances + 1;
    in->red = wf__alloc0(accumulators * sizeof *in->red);
    in->red_phi = wf__alloc0(accumulators * sizeof *in->red_phi);
    in->red_row = wf__alloc0((ir->red_n + 1) * sizeof *in->red_row);
    if (!in->vary || !in->level || !in->live || !in->scalar || !in->vector || !in->order || !in->red || !in->red_phi ||
        !in->red_row)
        return false;
    wf__analyse(ir, in->vary);
    mark_effects(in);
    if (!set_levels(in))
        return false;
    uint32_t bordered = 0;
    for (uint32_t i = 1; i < ir->n; i++) {
        if (in->live[i] && in->level[i] == f->rank && in->vary[i].kind != WF__AFFINE)
            in->order[in->order_n++] = i;
        bordered += ir->node[i].op == WF__LOAD && ir->node[i].aux != WF_BORDER_NONE;
    }
    in->parks = bordered > WF__MOST_MASKED_LOADS;
    in->tables = count_constants(in) > WF__MOST_HELD_CONSTANTS;
    return true;
}

void wf__inst_free(wf__inst *in)
{
    wf__free(in->vary);
    wf__free(in->level);
    wf__free(in->live);
    wf__free(in->scalar);
    wf__free(in->vector);
    wf__free(in->order);
    wf__free(in->red);
    wf__free(in->red_phi);
    wf__free(in->red_row);
    wf__free(in->memo);
    wf__free(in->made);
    wf__free(in->packet);
    wf__free(in->packet_of);
}

block *wf__inst_block(wf__inst *in, int level)
{
    if (level >= in->f->rank)
        return &in->inner;
    return level == in->f->rank - 1 ? &in->row : &in->f->level[level];
}

static uint32_t *memo_head(wf__inst *in, int kind, val a, val b, val c)
{
    uint64_t h = (uint64_t)(uintptr_t)a * 31 + (uint64_t)(uintptr_t)b * 7 + (uint64_t)(uintptr_t)c * 3 + (uint64_t)kind;
    return &in->memo_head[wf__mix32(h) % WF__MEMO_HEADS];
}

val wf__inst_recall(wf__inst *in, int kind, val a, val b, val c)
{
    for (uint32_t i = *memo_head(in, kind, a, b, c); i; i = in->memo[i].next) {
        const wf__memo *m = &in->memo[i];
        if (m->kind == kind && m->a == a && m->b == b && m->c == c)
            return m->made;
    }
    return NULL;
}

void wf__inst_forget(wf__inst *in, uint32_t n)
{
    for (; in->memo_n > n; in->memo_n--) {
        const wf__memo *m = &in->memo[in->memo_n];
        *memo_head(in, m->kind, m->a, m->b, m->c) = m->next;
    }
}

val wf__inst_keep(wf__inst *in, int kind, val a, val b, val c, val made)
{
    if (!wf__grow(&in->memo, &in->memo_cap, in->memo_n + 2, sizeof *in->memo))
        return made; /* made again next time */
    uint32_t *head = memo_head(in, kind, a, b, c);
    in->memo[++in->memo_n] = (wf__memo){ kind, a, b, c, made, *head };
    *head = in->memo_n;
    return made;
}

static unsigned operand_dtype(const wf__ir *ir, const wf__node *n)
{
    return wf__dtype(ir, n->op == WF__OP_select ? n->c : n->a);
}

/* A pure node from its operands, all scalars or all vectors. */
static val emit_pure(wf__inst *in, const wf__node *n, int w)
{
    const wf__ir *ir = in->ir;
    const wf__ref operand[3] = { n->a, n->b, n->c };
    if (n->op == WF__CAST || n->op == WF__BITCAST) {
        val x = w > 1 ? wf__inst_vector(in, n->a) : wf__inst_scalar(in, n->a);
        return n->op == WF__CAST ? wf__gen_cast(in->g, n->dtype, wf__dtype(ir, n->a), w, x)
                                 : wf__gen_bitcast(in->g, n->dtype, wf__dtype(ir, n->a), w, x);
    }
    if (n->op == WF__CHECK) /* the interpreter looks */
        return w > 1 ? wf__inst_vector(in, n->b) : wf__inst_scalar(in, n->b);
    val x[3] = { NULL };
    uint64_t bits[3];
    const uint64_t *known[3] = { NULL };
    for (unsigned i = 0; i < wf__op_table[n->op].arity; i++) {
        x[i] = w > 1 ? wf__inst_vector(in, operand[i]) : wf__inst_scalar(in, operand[i]);
        if (wf__at(ir, operand[i])->op == WF__CONST) {
            bits[i] = wf__bits(wf__at(ir, operand[i]));
            known[i] = &bits[i];
        }
    }
    return wf__gen_op(in->g, n->op, operand_dtype(ir, n), w, x, known);
}

static void emit_uniform(wf__inst *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    wf__gen *g = in->g;
    switch (n->op) {
    case WF__CONST:
        in->scalar[r] = wf__gen_const(g, n->dtype, 1, wf__bits(n));
        break;
    case WF__PARAM:
        in->scalar[r] = wf__frame_param(in->f, n->a, n->dtype);
        break;
    case WF__INDEX:
        in->scalar[r] = in->index[n->a];
        break;
    case WF__EXTENT:
        in->scalar[r] = wf__frame_extent(in->f, (int)n->a);
        break;
    case WF__THREAD: /* alone in its block */
        in->scalar[r] = wf__gen_const(g, WF_I64, 1, n->aux);
        break;
    case WF__BARRIER:
        break;
    case WF__DIM:
        in->scalar[r] = wf__frame_dim(in->f, n->a, (int)n->b);
        break;
    case WF__LOAD:
        wf__emit_load(in, r);
        break;
    case WF__COLD:
        wf__emit_cold(in, &r, 1);
        break;
    default:
        in->scalar[r] = emit_pure(in, n, 1);
    }
}

val wf__inst_scalar(wf__inst *in, wf__ref r)
{
    if (!in->scalar[r]) {
        const wf__node *n = wf__at(in->ir, r);
        if (n->op == WF__CONST)
            emit_uniform(in, r);
        else if (n->op == WF__INDEX)
            in->scalar[r] = in->index[n->a];
        else if (in->vary[r].kind == WF__AFFINE)
            in->scalar[r] = emit_pure(in, n, 1);
        else
            wf__gen_fail(in->g, "code generator: node %u is used before it is made", r);
        if (!in->scalar[r])
            in->scalar[r] = wf__gen_const(in->g, n->dtype, 1, 0);
        wf__inst_made(in, &in->scalar[r]);
    }
    return in->scalar[r];
}

static val affine_vector(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    int w = g->width;
    int64_t coef, constant, lane = in->vary[r].coef;
    if (wf__as_lane(in, r, &coef, &constant) && coef == 1) {
        if (!in->index_vector)
            in->index_vector = wf__gen_splat(g, in->index[in->f->rank - 1], w);
        return g_add(g, in->index_vector, wf__gen_iota(g, g->i64, w, constant, 1));
    }
    return g_add(g, wf__gen_splat(g, wf__inst_scalar(in, r), w), wf__gen_iota(g, g->i64, w, 0, lane));
}

val wf__inst_vector(wf__inst *in, wf__ref r)
{
    if (in->vector[r])
        return in->vector[r];
    const wf__node *n = wf__at(in->ir, r);
    wf__gen *g = in->g;
    val v;
    if (n->op == WF__CONST) {
        if (in->tables && n->dtype != WF_BOOL && wf__bits(n))
            v = wf__gen_splat(g, wf__frame_constant(in->f, n->dtype, wf__bits(n)), g->width);
        else
            v = wf__gen_const(g, n->dtype, g->width, wf__bits(n));
    } else if (in->vary[r].kind == WF__UNIFORM) {
        val scalar = wf__inst_scalar(in, r);
        block back = g->L->GetInsertBlock(g->b);
        if (in->level[r] < in->f->rank)
            wf__gen_at(g, in->row);
        v = wf__gen_splat(g, scalar, g->width);
        wf__gen_at(g, back);
    } else if (in->vary[r].kind == WF__AFFINE) {
        v = affine_vector(in, r);
    } else {
        wf__gen_fail(g, "code generator: node %u is used before it is made", r);
        v = wf__gen_const(g, n->dtype, g->width, 0);
    }
    wf__inst_made(in, &in->vector[r]);
    return in->vector[r] = v;
}

/* A part of a packet, which is emitted in the place of one of them. */
static void emit_part(wf__inst *in, wf__ref r)
{
    const wf__packet *packet = &in->packet[in->packet_of[r] - 1];
    unsigned op = wf__at(in->ir, r)->op;
    if (r != packet->at)
        return;
    (op == WF__LOAD    ? wf__emit_packet_load
     : op == WF__STORE ? wf__emit_packet_store
                       : wf__emit_packet_update)(in, packet);
}

static val emit_vector(wf__inst *in, wf__ref r)
{
    wf__ref index, extent;
    return wf__within(in, r, &index, &extent) ? wf__emit_within(in, index, extent)
                                              : emit_pure(in, wf__at(in->ir, r), in->g->width);
}

static void emit_varying(wf__inst *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    if (in->packet_of && in->packet_of[r]) {
        emit_part(in, r);
        return;
    }
    switch (n->op) {
    case WF__LOAD:
        (wf__is_place(in, r) ? wf__emit_place : wf__emit_load)(in, r);
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
    default:
        in->vector[r] = wf__narrow(in, r) ? wf__emit_narrow(in, r) : emit_vector(in, r);
    }
}

static void emit(wf__inst *in, wf__ref r)
{
    if (in->vary[r].kind == WF__UNIFORM && in->ir->node[r].op != WF__STATE)
        emit_uniform(in, r);
    else
        emit_varying(in, r);
}

void wf__inst_level(wf__inst *in, int level)
{
    if (level == in->f->rank) {
        for (uint32_t i = 0; i < in->order_n;) {
            bool cold = in->ir->node[in->order[i]].op == WF__COLD;
            uint32_t run = cold ? wf__cold_run(in, in->order + i, in->order_n - i) : 1;
            if (cold)
                wf__emit_cold(in, in->order + i, run);
            else
                emit(in, in->order[i]);
            i += run;
        }
        return;
    }
    wf__gen_at(in->g, *wf__inst_block(in, level));
    for (uint32_t i = 1; i < in->ir->n; i++)
        if (in->live[i] && in->level[i] == level && in->ir->node[i].op != WF__CONST) {
            emit(in, i);
            *wf__inst_block(in, level) = in->g->L->GetInsertBlock(in->g->b); /* a cold path begins a new one */
        }
}
