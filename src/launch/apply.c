/* apply.c - operators as hooks: a thin layer over recording, for functions that are handed an operator. Hooks run while
 * wf_apply records. A hook sees an operand as a variable, and the value that it leaves there is stored to memory.
 *
 * The contract (vectorize): inputs are only read; outputs are set on every path and not read before. Recording checks
 * it. The outputs that every path has set are a set of bits, which blocks keep, so that both branches of a condition
 * count (record/control.c).
 */
#include "launch/launch.h"

enum { MOST = 32 };

typedef struct application {
    wf_graph *g;
    const wf_op *op;
    wf_arrays in, out;
    wf_var vi[MOST], vo[MOST], red[MOST], other[MOST];
    wf_val index[WF_MAX_RANK];
    wf_site site;
} application;

static void run_hook(const application *a, wf_hook *hook, const wf_site *site)
{
    if (!wf__hook_begin(a->g, "wf_apply", NULL))
        return;
    hook(site);
    wf__hook_end(a->g);
}

/* Makes a variable of each output. Its first value is the array's contents. Under the contract it has none, since the
 * operator must not read it. */
static void open_outputs(application *a)
{
    wf_graph *g = a->g;
    for (size_t i = 0; i < a->out.n; ++i) {
        wf_dtype t = wf_array_dtype(a->out.at[i]);
        wf_val before = a->op->vectorize ? (wf_val){ { 0, NULL } } : wf_in(g, a->out.at[i]);
        a->vo[i] = (wf_local)(g, t, before);
        wf__set_contract(a->vo[i], a->op->vectorize ? WF__CONTRACT_OUTPUT : 0, (uint32_t)i);
    }
}

static void close_outputs(application *a)
{
    wf_graph *g = a->g;
    for (size_t i = 0; i < a->out.n; ++i) {
        if (a->op->vectorize && !wf__surely_set(a->vo[i]))
            wf__poison(g, WF_ERR_CONTRACT, "the operator leaves output %u unset on some path", (unsigned)i);
        if (wf__was_set(a->vo[i]))
            wf_out(g, a->out.at[i], wf_get(a->vo[i]));
    }
}

/* Makes variables of the inputs, and with `outputs` of the outputs. */
static void open_operands(application *a, bool outputs)
{
    wf_graph *g = a->g;
    for (size_t i = 0; i < a->in.n; ++i) {
        a->vi[i] = (wf_local)(g, wf_array_dtype(a->in.at[i]), wf_in(g, a->in.at[i]));
        wf__set_contract(a->vi[i], a->op->vectorize ? WF__CONTRACT_INPUT : 0, (uint32_t)i);
    }
    if (outputs)
        open_outputs(a);
}

static void close_operands(application *a, bool outputs)
{
    wf_graph *g = a->g;
    for (size_t i = 0; i < a->in.n; ++i)
        if (wf__was_set(a->vi[i]))
            wf_out(g, a->in.at[i], wf_get(a->vi[i]));
    if (outputs)
        close_outputs(a);
}

/* Records how partial results are joined. Without a join hook, the call hook joins: its inputs are the other
 * results. */
static void record_join(application *a)
{
    const wf_op *op = a->op;
    bool custom = false;
    for (int r = 0; r < op->n_reduced; ++r)
        custom = custom || op->reduced[r].join == WF_JOIN_CUSTOM;
    if (!op->join && (!custom || a->in.n != (size_t)op->n_reduced))
        return; /* no join is needed, or record/reduce.c reports that it is missing */
    wf_section(a->g, WF_SECTION_JOIN);
    for (int r = 0; r < op->n_reduced; ++r)
        if (op->reduced[r].join == WF_JOIN_CUSTOM)
            a->other[r] = wf_other(a->red[r]);
    wf_site site = a->site;
    site.in = op->join ? NULL : a->other;
    site.n_in = op->join ? 0 : op->n_reduced;
    run_hook(a, op->join ? op->join : op->call, &site);
}

/* Sets the indices that a section of a block or of results may use: those of kept axes. The other indices are those
 * of WF_SECTION_CALL, which other sections refuse. */
static void get_indices(const application *a, wf_val index[WF_MAX_RANK])
{
    const wf__recording *rec = &a->g->program.rec;
    for (int d = 0; d < WF_MAX_RANK; ++d) {
        bool kept =
            a->g->reducing && d < a->site.rank && rec->options.kind == WF__SPACE && !(rec->options.reduce >> d & 1);
        index[d] = kept ? wf_index(a->g, d) : a->index[d];
    }
}

static void record_post(application *a)
{
    wf_graph *g = a->g;
    const wf_op *op = a->op;
    wf_val index[WF_MAX_RANK];
    wf_section(g, WF_SECTION_POST);
    open_outputs(a);
    get_indices(a, index);
    wf_site site = a->site;
    site.index = index;
    if (op->post)
        run_hook(a, op->post, &site);
    for (size_t i = 0; !op->post && i < a->out.n && i < (size_t)op->n_reduced; ++i)
        (wf_set)(a->vo[i], wf_get(a->red[i]));
    close_outputs(a);
}

/* Calls a hook that runs once for each block, without operands. */
static void call_once(application *a, wf_hook *hook)
{
    wf_val index[WF_MAX_RANK];
    get_indices(a, index);
    wf_site site = { .graph = a->g, .user = a->op->user, .index = index, .rank = a->site.rank };
    run_hook(a, hook, &site);
}

static void record(application *a)
{
    wf_graph *g = a->g;
    const wf_op *op = a->op;
    bool reduces = g->reducing;
    for (int r = 0; r < op->n_reduced; ++r) {
        wf_val initial = { { op->reduced[r].initial, NULL } };
        a->red[r] = (wf_reduced)(g, op->reduced[r].dtype, initial, op->reduced[r].join);
    }
    if (g->program.rec.options.kind == WF__SPACE)
        for (int d = 0; d < a->site.rank; ++d)
            a->index[d] = wf_index(g, d);
    if (op->init) {
        wf_section(g, WF_SECTION_INIT);
        call_once(a, op->init);
        wf_section(g, WF_SECTION_CALL);
    }
    open_operands(a, !reduces);
    run_hook(a, op->call, &a->site);
    close_operands(a, !reduces);
    if (op->deinit) {
        wf_section(g, WF_SECTION_DEINIT);
        call_once(a, op->deinit);
    }
    if (reduces)
        record_join(a);
    if (reduces && (a->out.n || op->post))
        record_post(a);
}

wf_status wf_apply_with(wf_context *ctx, wf_arrays in, wf_arrays out, const wf_op *given, const wf_space *space)
{
    if (!ctx)
        return WF_ERR_ARG;
    wf_op op = { .size = sizeof op };
    wf_space own = { .size = sizeof own };
    if (!wf__take_options(&op, sizeof op, given) || !wf__take_options(&own, sizeof own, space))
        return wf__error(ctx, WF_ERR_ARG, "wf_apply: " WF__WRONG_SIZE);
    if (!op.call)
        return wf__error(ctx, WF_ERR_ARG, "wf_apply: the operator has no call");
    if (in.n > MOST || out.n > MOST || op.n_reduced < 0 || op.n_reduced > MOST || (op.n_reduced && !op.reduced))
        return wf__error(ctx, WF_ERR_ARG, "wf_apply: at most %d inputs, outputs and reduced values", (int)MOST);
    if (!wf__is_given(ctx, in.at, in.n, "wf_apply") || !wf__is_given(ctx, out.at, out.n, "wf_apply"))
        return WF_ERR_ARG;
    for (size_t i = 0; i < in.n + out.n; ++i)
        if (!(i < in.n ? in.at[i] : out.at[i - in.n]))
            return wf__error(ctx, WF_ERR_ARG, "wf_apply: %s %zu is NULL", i < in.n ? "input" : "output",
                             i < in.n ? i : i - in.n);
    own.size = sizeof own;
    own.elements = !own.indexed && !own.shape.rank;
    application *a = wf__alloc0(sizeof *a);
    if (!a)
        return wf__error(ctx, WF_ERR_MEMORY, "out of memory for a recording");
    a->g = wf_begin_with(ctx, &own);
    a->op = &op;
    a->in = in;
    a->out = out;
    a->site = (wf_site){ .graph = a->g,
                         .user = op.user,
                         .index = a->index,
                         .in = a->vi,
                         .out = a->vo,
                         .reduced = a->red,
                         .other = a->other,
                         .rank = own.shape.rank,
                         .n_in = (int32_t)in.n,
                         .n_out = (int32_t)out.n,
                         .n_reduced = op.n_reduced };
    if (a->g)
        record(a);
    wf_status status = wf_run(a->g);
    wf__free(a);
    return status;
}
