/* kernel.c - the module around a body: checks, the kind of kernel (ptx.h lists them), and the text as a whole. */
#include "base/code_log.h"
#include "ptx/gen.h"

static int version_of(int arch)
{
    return arch < 80 ? 64 : arch < 86 ? 70 : arch < 87 ? 71 : arch < 89 ? 74 : arch < 100 ? 78 : 87;
}

static void write_module(gen *g)
{
    const wf__thread_block *thread_block = &g->options->thread_block;
    bool join = g->options->join;
    uint32_t shared = join ? wf__ptx_join_shared(g->ir) : thread_block->own.bytes + g->options->private_bytes;
    wf__str *out = &g->code->text;
    uint32_t bytes = 8 * (g->code->fields ? g->code->fields : 1);
    int version = version_of(g->options->arch);
    version = version > g->code->version ? version : g->code->version;
    wf__str_addf(out, ".version %d.%d\n.target sm_%d\n.address_size 64\n\n", version / 10, version % 10,
                 g->options->arch);
    if (shared > WF__SHARED_MEMORY) /* dynamic: the launch gives the size */
        wf__str_add(out, ".extern .shared .align 16 .b8 weft_shared[];\n");
    wf__str_addf(out, ".visible .entry weft_kernel(.param .align 8 .b8 weft[%u])\n.maxntid %d, 1, 1\n{\n",
                 (unsigned)bytes,
                 join                    ? wf__ptx_join_threads(g->ir)
                 : thread_block->threads ? thread_block->threads
                                         : 256);
    if (shared && shared <= WF__SHARED_MEMORY)
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

static void check_support(gen *g)
{
    const wf__ir *ir = g->ir;
    if (g->options->arch < WF__PTX_OLDEST)
        wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "a GPU of compute capability %d.%d; 7.0 is the oldest that will do",
                     g->options->arch / 10, g->options->arch % 10);
    for (uint32_t k = 0; k < ir->red_n; ++k)
        if (wf__is_complex(ir->red[k].dtype) || wf__is_half(ir->red[k].dtype))
            wf__ptx_fail(g, WF_ERR_UNSUPPORTED, "a reduction of %s on a GPU", wf_dtype_name(ir->red[k].dtype));
}

static void emit_kernel(gen *g)
{
    val exit = wf__ptx_new_label(g);
    const wf__ir *ir = g->ir;
    if (g->options->thread_block.threads)
        wf__ptx_emit_thread_block(g, exit);
    else if (g->options->join)
        wf__ptx_emit_join(g);
    else if (g->options->copies_n)
        wf__ptx_emit_private(g);
    else if (!ir->red_n)
        wf__ptx_emit_points(g, wf__ptx_block_number(g), exit);
    else if (ir->kept_lane)
        wf__ptx_reduce_by_threads(g, exit);
    else
        wf__ptx_reduce_by_warps(g, exit);
    wf__ptx_place_label(g, exit);
}

bool wf__ptx_emit(const wf__ir *body, const wf__ptx_options *options, wf__ptx_code *out, wf__failure *failure)
{
    gen *g = wf__alloc0(sizeof *g);
    if (!g) {
        failure->status = WF_ERR_MEMORY;
        wf__str_add(&failure->text, "out of memory for PTX");
        return false;
    }
    *g = (gen){ .ir = body, .options = options, .code = out, .failure = failure };
    g->out = &g->body;
    g->width = out->width =
        options->thread_block.threads || options->join ? 1 : wf__ptx_width(body, options->columns, out);
    g->node = wf__alloc0(body->n * sizeof *g->node);
    g->widened = wf__alloc0(body->n * sizeof *g->widened);
    g->acc = wf__alloc0((body->red_n + 1) * sizeof *g->acc);
    check_support(g);
    if (!g->node || !g->widened || !g->acc || !wf__ptx_ranges(g))
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
    if (wf__ptx_is_sound(g))
        wf__ptx_find_packets(g);
    if (wf__ptx_is_sound(g))
        emit_kernel(g);
    if (wf__ptx_is_sound(g))
        write_module(g);
    bool ok = wf__ptx_is_sound(g);
    if (ok)
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
    return ok;
}
