/* kernel.c - the kernel around a body: which point or points a thread does, and the module. ptx.h says how points go to
 * threads. */
#include "base/code_log.h"
#include "ptx/gen.h"

val wf__ptx_new_index(gen *g) { return wf__ptx_new(g, wf__ptx_index_dtype(g)); }
val wf__ptx_index_type(const gen *g) { return v_text(g->options->narrow ? "u32" : "u64"); }
val wf__ptx_index_field(gen *g, wf__ptx_what what, int axis)
{
    return wf__ptx_field_value(g, what, 0, axis, g->options->narrow);
}

val wf__ptx_special(gen *g, const char *name)
{
    val r = wf__ptx_reg(g, V_R);
    EMIT(g, "mov.u32 $0, $1", r, v_text(name));
    if (g->options->narrow)
        return r;
    val wide = wf__ptx_reg(g, V_D);
    EMIT(g, "cvt.u64.u32 $0, $1", wide, r);
    return wide;
}

/* Blocks are numbered along x, and if those are too many, along y. */
val wf__ptx_block_number(gen *g)
{
    val x = wf__ptx_special(g, "%ctaid.x");
    if (g->options->narrow)
        return x;
    EMIT(g, "mad.lo.u64 $0, $1, $2, $0", x, wf__ptx_special(g, "%ctaid.y"), wf__ptx_special(g, "%nctaid.x"));
    return x;
}

/* rest % count; rest becomes rest / count. */
val wf__ptx_take_digit(gen *g, val *rest, val count)
{
    val q = wf__ptx_new_index(g), r = wf__ptx_new_index(g);
    EMIT(g, "div.$1 $0, $2, $3", q, wf__ptx_index_type(g), *rest, count);
    EMIT(g, "mul.lo.$1 $0, $2, $3", r, wf__ptx_index_type(g), q, count);
    EMIT(g, "sub.$1 $0, $2, $0", r, wf__ptx_index_type(g), *rest);
    *rest = q;
    return r;
}

void wf__ptx_leave_if(gen *g, val a, val limit, val exit)
{
    val p = wf__ptx_reg(g, V_P);
    EMIT(g, "setp.ge.$1 $0, $2, $3", p, wf__ptx_index_type(g), a, limit);
    EMIT(g, "@$0 bra $1", p, exit);
}

/* Blocks go along the lane axis first; returns the row. */
val wf__ptx_row_and_tile(gen *g, bool rows, val block, val exit, val *tile)
{
    val row = { 0 };
    *tile = block;
    if (rows) {
        *tile = wf__ptx_take_digit(g, &block, wf__ptx_index_field(g, WF__PTX_TILES, 0));
        row = wf__ptx_new_index(g);
        EMIT(g, "mad.lo.$1 $0, $2, $3, $4", row, wf__ptx_index_type(g), block, wf__ptx_special(g, "%ntid.y"),
             wf__ptx_special(g, "%tid.y"));
        wf__ptx_leave_if(g, row, wf__ptx_index_field(g, WF__PTX_ROWS, 0), exit);
    }
    return row;
}

void wf__ptx_find_lane(gen *g, val tile, val exit)
{
    int last = g->ir->rank - 1;
    val j = wf__ptx_new_index(g);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", j, wf__ptx_index_type(g), tile, wf__ptx_special(g, "%ntid.x"),
         wf__ptx_special(g, "%tid.x"));
    wf__ptx_leave_if(g, j, wf__ptx_index_field(g, WF__PTX_EXTENT, last), exit);
    g->index[last] = j;
}

/* The indices of axes first .. end - 1 from the number of a row. */
void wf__ptx_outer_indices(gen *g, val row, int first, int end)
{
    for (int d = end - 1; d > first; --d)
        g->index[d] = wf__ptx_take_digit(g, &row, wf__ptx_index_field(g, WF__PTX_EXTENT, d));
    if (end > first)
        g->index[first] = row;
}

void wf__ptx_points(gen *g, val block, val exit)
{
    int rank = g->ir->rank;
    val tile, row = wf__ptx_row_and_tile(g, rank > 1, block, exit, &tile);
    if (g->width == 1)
        wf__ptx_find_lane(g, tile, exit);
    wf__ptx_outer_indices(g, row, 0, rank - 1);
    if (g->width > 1)
        wf__ptx_vectors(g, tile, exit);
    else
        wf__ptx_walk(g, 1, g->ir->n);
}

wf__ptx_turns wf__ptx_begin_turns(gen *g, val first, val end)
{
    val type = wf__ptx_index_type(g), over = wf__ptx_reg(g, V_P);
    wf__ptx_turns t = { wf__ptx_new_index(g), wf__ptx_new_label(g), wf__ptx_new_label(g), wf__ptx_new_label(g) };
    EMIT(g, "add.$1 $0, $2, 0", t.i, type, first);
    wf__ptx_label(g, t.again);
    EMIT(g, "setp.ge.$1 $0, $2, $3", over, type, t.i, end);
    EMIT(g, "@$0 bra $1", over, t.done);
    return t;
}

void wf__ptx_end_turns(gen *g, const wf__ptx_turns *t, val step)
{
    wf__ptx_label(g, t->next);
    EMIT(g, "add.$1 $0, $0, $2", t->i, wf__ptx_index_type(g), step);
    EMIT(g, "bra $0", t->again);
    wf__ptx_label(g, t->done);
}

/* ---- the module ---- */
static int version_of(int arch)
{
    return arch < 80 ? 64 : arch < 86 ? 70 : arch < 87 ? 71 : arch < 89 ? 74 : arch < 100 ? 78 : 87;
}

static void finish(gen *g)
{
    const wf__team *team = &g->options->team;
    bool join = g->options->join;
    uint32_t shared = join ? wf__ptx_join_shared(g->ir) : team->own.bytes + g->options->private_bytes;
    wf__str *out = &g->code->text;
    uint32_t bytes = 8 * (g->code->fields ? g->code->fields : 1);
    int version = version_of(g->options->arch);
    version = version > g->code->version ? version : g->code->version;
    wf__str_addf(out, ".version %d.%d\n.target sm_%d\n.address_size 64\n\n", version / 10, version % 10,
                 g->options->arch);
    if (shared > WF__TEAM_MEMORY) /* whoever launches it says how much */
        wf__str_add(out, ".extern .shared .align 16 .b8 weft_shared[];\n");
    wf__str_addf(out, ".visible .entry weft_kernel(.param .align 8 .b8 weft[%u])\n.maxntid %d, 1, 1\n{\n",
                 (unsigned)bytes,
                 join            ? wf__ptx_join_threads(g->ir)
                 : team->threads ? team->threads
                                 : 256);
    if (shared && shared <= WF__TEAM_MEMORY)
        wf__str_addf(out, "\t.shared .align 16 .b8 weft_shared[%u];\n", (unsigned)shared);
    static const char *const names[] = { [V_P] = "pred %p", [V_H] = "b16 %h", [V_R] = "b32 %r", [V_D] = "b64 %d" };
    for (int k = V_P; k <= V_D; ++k)
        if (g->regs[k])
            wf__str_addf(out, "\t.reg .%s<%u>;\n", names[k], (unsigned)g->regs[k]);
    wf__str_addn(out, wf__str_get(&g->head), g->head.len);
    wf__str_addn(out, wf__str_get(&g->body), g->body.len);
    wf__str_add(out, "\tret;\n}\n");
    if (out->failed || g->head.failed || g->body.failed)
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
}

static void check(gen *g)
{
    const wf__ir *ir = g->ir;
    if (g->options->arch < WF__PTX_OLDEST)
        wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "a GPU of compute capability %d.%d; 7.0 is the oldest that will do",
                     g->options->arch / 10, g->options->arch % 10);
    for (uint32_t k = 0; k < ir->red_n; ++k)
        if (wf__is_complex(ir->red[k].dtype) || wf__is_half(ir->red[k].dtype))
            wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "a reduction of %s on a GPU", wf_dtype_name(ir->red[k].dtype));
}

static void emit(gen *g)
{
    val exit = wf__ptx_new_label(g);
    const wf__ir *ir = g->ir;
    if (g->options->team.threads)
        wf__ptx_team(g, exit);
    else if (g->options->join)
        wf__ptx_join_rows(g);
    else if (g->options->copies_n)
        wf__ptx_private(g);
    else if (!ir->red_n)
        wf__ptx_points(g, wf__ptx_block_number(g), exit);
    else if (ir->kept_lane)
        wf__ptx_by_threads(g, exit);
    else
        wf__ptx_by_warps(g, exit);
    wf__ptx_label(g, exit);
}

wf_status wf__ptx_emit(const wf__ir *body, const wf__ptx_options *options, wf__ptx_code *out, wf__str *error)
{
    gen *g = wf__alloc0(sizeof *g);
    if (!g) {
        wf__str_add(error, "out of memory for PTX");
        return WF_ERR_MEMORY;
    }
    *g = (gen){ .ir = body, .options = options, .code = out, .error = error };
    g->out = &g->body;
    g->width = out->width = options->team.threads || options->join ? 1 : wf__ptx_width(body, options->columns, out);
    g->node = wf__alloc0(body->n * sizeof *g->node);
    g->widened = wf__alloc0(body->n * sizeof *g->widened);
    g->acc = wf__alloc0((body->red_n + 1) * sizeof *g->acc);
    check(g);
    if (!g->node || !g->widened || !g->acc || !wf__ptx_ranges(g))
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
    if (g->status == WF_OK)
        wf__ptx_find_packets(g);
    if (g->status == WF_OK)
        emit(g);
    if (g->status == WF_OK)
        finish(g);
    wf_status status = g->status;
    if (status == WF_OK)
        wf__log_code("ptx", out->text.at, out->text.len);
    wf__free(g->node);
    wf__free(g->widened);
    wf__free(g->acc);
    wf__free(g->packets);
    wf__free(g->packet_of);
    wf__str_free(&g->list);
    wf__str_free(&g->head);
    wf__str_free(&g->body);
    wf__free(g);
    return status;
}
