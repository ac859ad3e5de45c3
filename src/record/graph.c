/* graph.c - recordings: their beginning and end, and their labels, constants, formals and parameters. */
#include "record/record.h"
#include "base/floats.h"
#include <math.h>
#include <stdio.h>

/* Gives the label of an array's own elements to the array, too, in debug mode. */
static void name_array(wf__ir *ir, wf__ref r, const char *text)
{
    const wf__node *n = wf__at(ir, r);
    bool whole = ir->flags & WF_FLAG_DEBUG && n->op == WF__LOAD && !n->b;
    for (uint32_t s = 0; whole && s < ir->slot_n; ++s)
        if (ir->slot[s].object == ir->slot[n->a].object)
            wf__set_label(ir, wf__array_ref(s), text);
}

wf_val wf_label(wf_val v, const char *text)
{
    wf_graph *g = wf__graph_of(v);
    bool number;
    wf__ref r = wf__is_recording(g) && text ? wf__resolve(g, v, "wf_label", &number) : 0;
    if (r)
        wf__set_label(wf__graph_ir(g), r, text);
    if (r)
        name_array(wf__graph_ir(g), r, text);
    return v;
}

void wf_label_array(wf_graph *g, const wf_array *array, const char *text)
{
    uint32_t object = 0;
    if (!wf__is_recording(g) || !array || !text)
        return;
    while (object < g->program.object_n && g->program.object[object].array != array)
        ++object;
    wf__ir *ir = wf__graph_ir(g);
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (ir->slot[s].object == object && !wf__label_of(ir, wf__array_ref(s)))
            wf__set_label(ir, wf__array_ref(s), text);
}

wf_context *wf_graph_context(const wf_graph *g) { return g ? g->ctx : NULL; }

wf_device wf_graph_device(const wf_graph *g) { return g && g->program.placed ? g->program.device : 0; }

bool wf_graph_space(const wf_graph *g, wf_shape *shape)
{
    bool spaced = g && g->program.rec.options.kind == WF__SPACE;
    if (spaced && shape)
        *shape = g->program.rec.space;
    return spaced;
}

bool wf_graph_indexed(const wf_graph *g) { return g && g->program.rec.options.kind != WF__ARRAYS; }

/* ---- life ---- */
static wf_graph *take_spare(wf_context *ctx)
{
    wf__mutex_lock(&ctx->lock);
    wf_graph *g = ctx->graphs->spare;
    double first_id = ctx->graphs->ids;
    if (g) {
        ctx->graphs->spare = g->next;
        --ctx->graphs->spares;
    }
    wf__mutex_unlock(&ctx->lock);
    if (!g)
        g = wf__alloc0(sizeof *g);
    if (g)
        g->first_id = first_id;
    return g;
}

/* Counts the ids that the recording has used. */
static void count_ids(wf_graph *g)
{
    g->last_id = fmax(g->last_id, g->first_id + (double)g->var_n);
    for (int k = 0; k < WF__SECTIONS; ++k)
        g->last_id = fmax(g->last_id, g->id_distance + (double)g->program.rec.section[k].n);
}

/* Keeps later recordings from using the ids again. They begin anew before they reach those of the next section. */
static void pass_ids(const wf_graph *g, wf__graphs *graphs)
{
    const double last = fmax(g->last_id, graphs->ids);
    graphs->ids = last < WF__SECTION_IDS / 2 ? last : 0;
}

/* Fails all sections, so that nothing can be recorded. Without a text, since wf__may_end has one: this runs for each
 * recording. */
static void fail_sections(wf_graph *g)
{
    for (int k = 0; k < WF__SECTIONS; ++k)
        g->program.rec.section[k].status = WF_ERR_CONTRACT;
}

static void enlist(wf_context *ctx, wf_graph *g)
{
    wf__mutex_lock(&ctx->lock);
    g->prev = NULL;
    g->next = ctx->graphs->open;
    if (g->next)
        g->next->prev = g;
    ctx->graphs->open = g;
    wf__mutex_unlock(&ctx->lock);
    wf__context_retain(ctx);
}

void wf__graph_free(wf_graph *g)
{
    wf__program_free(&g->program);
    wf__free(g->var);
    wf__free(g->block);
    wf__free(g->state);
    wf__free(g->kept);
    wf__free(g->id);
    wf__free(g->scratch);
    wf__str_free(&g->key);
    wf__free(g);
}

void wf__release_kept(wf_graph *g)
{
    for (uint32_t i = 0; i < g->kept_n; ++i) {
        g->kept[i]->graph = NULL;
        wf_release(g->kept[i]);
    }
    g->kept_n = 0;
}

void wf__graph_retire(wf_graph *g)
{
    enum { MOST_SPARES = 16, MOST_NODES = 1 << 16, MOST_OF_ONE = 1 << 18 };
    wf_context *ctx = g->ctx;
    wf__release_kept(g);
    for (uint32_t i = 0; i < g->scratch_n; ++i) {
        g->scratch[i]->graph = NULL;
        wf_release(g->scratch[i]);
    }
    g->scratch_n = g->locals = 0;
    count_ids(g);
    wf__program_clear(&g->program);
    fail_sections(g);
    g->ended = true;
    wf__mutex_lock(&ctx->lock);
    pass_ids(g, ctx->graphs);
    if (g->prev)
        g->prev->next = g->next;
    else
        ctx->graphs->open = g->next;
    if (g->next)
        g->next->prev = g->prev;
    uint32_t most = ctx->graphs->spares ? MOST_NODES : MOST_OF_ONE;
    bool keep = ctx->graphs->spares < MOST_SPARES && g->program.rec.ir.node_cap <= most;
    if (keep) {
        g->next = ctx->graphs->spare;
        ctx->graphs->spare = g;
        ++ctx->graphs->spares;
    }
    wf__mutex_unlock(&ctx->lock);
    if (!keep)
        wf__graph_free(g);
    wf__context_release(ctx);
}

static void set_block(wf_graph *g, const wf_shape *block)
{
    wf__recording *rec = &g->program.rec;
    bool good = block->rank > 0 && block->rank <= WF_MAX_RANK && !g->reducing && rec->options.kind != WF__ARRAYS &&
                (rec->options.kind == WF__ELEMENTS || block->rank == rec->space.rank);
    for (int d = 0; good && d < block->rank; ++d)
        good = block->dim[d] > 0;
    if (good) {
        rec->block = *block;
        return;
    }
    char have[192], space[192];
    wf__bad_shape_text(block, have, sizeof have);
    wf__bad_shape_text(&rec->space, space, sizeof space);
    wf__poison(g, WF_ERR_ARG,
               "wf_begin: .block, %s, needs an extent above 0 for each axis of an index space%s%s or of elements, "
               "without .reduce (whose blocks are the points of the kept axes)",
               have, rec->options.kind == WF__SPACE ? ", here " : "", rec->options.kind == WF__SPACE ? space : "");
}

/* Resets a graph for a new recording. */
static void reset_graph(wf_graph *g, wf_context *ctx, const wf_space *given)
{
    g->ctx = ctx;
    g->here = g->program.here = given->here;
    g->begun = wf__has_history(ctx) ? wf__now() : 0;
    g->stream = given->stream;
    g->var_n = g->block_n = g->state_n = 0;
    g->surely_set = 0;
    g->ended = g->evaluated = g->accumulates = false;
    g->hooks = 0;
    g->moved = 0;
    g->id_distance = g->last_id = g->first_id;
    g->section = WF_SECTION_CALL;
    g->reducing = given->reduce != 0;
    g->program.limits = (wf__limits){ given->threads, given->serial_below, given->block_threads };
    g->program.device = given->device   ? given->device
                        : given->stream ? ctx->services->stream_device(given->stream)
                                        : ctx->device;
    g->program.placed = given->device || given->stream;
}

static bool is_ranked(const wf_space *given) { return given->shape.rank >= 0 && given->shape.rank <= WF_MAX_RANK; }

static void reset_recording(wf_context *ctx, const wf_space *given, bool indexed, wf__recording *rec)
{
    int rank = is_ranked(given) ? given->shape.rank : 0;
    uint32_t chosen = (wf_get_flags(ctx) | given->flags_on) & ~given->flags_off;
    uint32_t flags = chosen & WF__IR_FLAGS & ~(uint32_t)WF__KEEP_DEAD;
    if (!(chosen & WF_FLAG_DEAD_CODE))
        flags |= WF__KEEP_DEAD;
    if (wf__is_freezing(ctx))
        flags &= ~(uint32_t)(WF_FLAG_TIERED | WF_FLAG_INTERPRET_FIRST);
    rec->options.kind = indexed ? WF__SPACE : given->reduce || given->elements ? WF__ELEMENTS : WF__ARRAYS;
    rec->space = (wf_shape){ .rank = given->shape.rank };
    memcpy(rec->space.dim, given->shape.dim, (size_t)rank * sizeof *given->shape.dim);
    rec->options.expand_bytes = wf_get_expand_bytes(ctx);
    rec->options.expand_bytes += !rec->options.expand_bytes; /* 0 becomes 1: no array fits into one byte, either */
    for (int k = 0; k < WF__SECTIONS; ++k)
        wf__ir_reset(&rec->section[k], k == WF_SECTION_JOIN ? 0 : rank,
                     k == WF_SECTION_JOIN ? flags & ~(uint32_t)WF_FLAG_FAST_MATH : flags);
    rec->ir.arrays = rec->options.kind == WF__ARRAYS;
    rec->options.reduce = given->reduce;
    rec->block = (wf_shape){ 0 };
    rec->options.columns = 0;
}

static void check_space(wf_graph *g, const wf_space *given, bool indexed)
{
    int64_t count;
    char text[192];
    bool ranked = is_ranked(given), bad = !ranked || (indexed && !wf__shape_count(&g->program.rec.space, &count));
    bool beyond =
        given->reduce & ~WF_ALL_AXES || (ranked && indexed && wf__axes_beyond(given->reduce, given->shape.rank));
    if (bad || beyond)
        wf__bad_shape_text(&given->shape, text, sizeof text);
    if (bad)
        wf__poison(g, WF_ERR_SHAPE, "wf_begin: the shape %s has a bad rank, a negative extent or too many points",
                   text);
    if (beyond)
        wf__poison(
            g, WF_ERR_ARG,
            given->reduce & WF_DROP_AXES
                ? "wf_begin: .reduce (mask 0x%x) of the space of rank %d, %s, has WF_DROP_AXES, which is for array "
                  "functions; arrays in WF_SECTION_POST may leave out the reduced axes"
                : "wf_begin: .reduce (mask 0x%x) names axes beyond the %d of the space %s",
            (unsigned)given->reduce, (int)given->shape.rank, text);
}

static void check_device(wf_graph *g, const wf_space *given)
{
    wf_device device = g->program.device;
    if (device != WF_CPU && device != WF_INTERP && !wf__is_gpu(device))
        wf__poison(g, WF_ERR_DEVICE, "wf_begin: there is no device %d here", (int)device);
    const char *misfit = given->stream ? g->ctx->services->stream_misfit(given->stream, g->ctx, device) : NULL;
    if (misfit)
        wf__poison(g, WF_ERR_DEVICE, "wf_begin: %s", misfit);
}

static void set_options(wf_graph *g, const wf_space *given)
{
    if (given->threads < 0 || given->serial_below < 0)
        wf__poison(g, WF_ERR_ARG, "wf_begin: .threads and .serial_below must not be negative");
    if (!wf__is_block_threads(given->block_threads))
        wf__poison(g, WF_ERR_ARG, "wf_begin: .block_threads must be a power of two from 32 to 256, or 0");
    if (given->columns < 0 || given->columns > 8 || given->columns & (given->columns - 1))
        wf__poison(g, WF_ERR_ARG, "wf_begin: .columns is %d; it must be 1, 2, 4, 8 or 0", (int)given->columns);
    else
        g->program.rec.options.columns = (uint8_t)given->columns;
    if (given->block.rank && is_ranked(given))
        set_block(g, &given->block);
    if (given->name && !(g->program.name = wf__strdup(given->name)))
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a name");
}

wf_graph *wf_begin_with(wf_context *ctx, const wf_space *space)
{
    if (!ctx)
        return NULL;
    wf_space given = { .size = sizeof given };
    const bool taken = wf__take_options(&given, sizeof given, space);
    wf_graph *g = take_spare(ctx);
    if (!g) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for a recording");
        return NULL;
    }
    if (wf__is_pair((wf_val){ { 0, g } })) {
        wf__free(g);
        wf__error(ctx, WF_ERR_UNSUPPORTED, "addresses with marks in their upper 16 bits (a memory tagging mode?)");
        return NULL;
    }
    bool indexed = given.indexed || given.shape.rank > 0;
    reset_graph(g, ctx, &given);
    reset_recording(ctx, &given, indexed, &g->program.rec);
    enlist(ctx, g);
    if (!taken)
        wf__poison(g, WF_ERR_ARG, "wf_begin: " WF__WRONG_SIZE);
    check_space(g, &given, indexed);
    check_device(g, &given);
    set_options(g, &given);
    return g;
}

void wf_drop(wf_graph *g)
{
    if (g && wf__may_end(g, "wf_drop"))
        wf__graph_retire(g);
}

wf_status wf__graph_finish(wf_graph *g)
{
    wf__recording *rec = &g->program.rec;
    for (uint32_t i = 0; i < g->var_n; ++i) {
        const wf__variable *var = &g->var[i];
        if (var->red < 0)
            continue;
        bool pairs = wf__is_complex(var->dtype);
        for (uint32_t k = 0; k <= pairs; ++k) {
            wf__ref value = !pairs ? var->value : k ? wf__imag(&rec->ir, var->value) : wf__real(&rec->ir, var->value);
            const wf__node *n = &rec->ir.node[value];
            if (n->op != WF__RED || n->a != (uint32_t)var->red + k) /* its value is no longer its own RED */
                wf__setred(&rec->ir, (uint32_t)var->red + k, 0, value);
        }
    }
    wf__end_section(g, true);
    count_ids(g);
    wf__check_reductions(g);
    wf__check_accumulation(g);
    g->program.record_s = g->begun > 0 ? wf__now() - g->begun : 0;
    rec->options.objects = g->program.object_n;
    wf__set_target(rec, g->program.device);
    const wf__ir *failed = wf__failed_section(g);
    return failed ? wf__graph_failure(g, failed) : WF_OK;
}

bool wf__graph_launchable(wf_graph *g, const char *function)
{
    uint32_t i = 0;
    while (i < g->program.object_n && !g->program.object[i].array->name)
        ++i;
    if (i == g->program.object_n)
        return true;
    wf__str text = { 0 };
    wf__str_addf(&text, "%s: '%s' is a formal, which only wf_launch can bind; say wf_compile", function,
                 g->program.object[i].array->name);
    wf__program_error(g->ctx, &g->program, WF_ERR_ARG, wf__str_get(&text), WF_SECTION_CALL, NULL);
    wf__str_free(&text);
    return false;
}

/* ---- arrays and parameters ---- */
wf_array *wf_formal(wf_graph *g, const char *name, wf_dtype dtype, int rank)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return NULL;
    if (!name || !*name || rank < 0 || rank > WF_MAX_RANK || !wf__computable(dtype)) {
        wf__poison(g, WF_ERR_ARG, "wf_formal: needs a name, a rank of 0 to 8 and a supported dtype");
        return NULL;
    }
    wf__program *p = &g->program;
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array->name && !strcmp(p->object[i].array->name, name)) {
            wf__poison(g, WF_ERR_ARG, "wf_formal: there is a formal '%s' already", name);
            return NULL;
        }
    for (uint32_t i = 0; i < p->param_n; ++i)
        if (!strcmp(p->param[i].name, name)) {
            wf__poison(g, WF_ERR_ARG, "wf_formal: there is a parameter '%s' already", name);
            return NULL;
        }
    wf_array *a = wf__formal_new(g->ctx, name, dtype, rank);
    if (!a || !wf__grow(&p->object, &p->object_cap, p->object_n + 1, sizeof *p->object)) {
        wf_release(a);
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a formal");
        return NULL;
    }
    a->graph = g;
    p->object[p->object_n++] = (wf__object){ .array = a };
    return a;
}

/* True if the declaration agrees with parameter i, which has the same name. A name denotes one parameter. False after
 * poisoning. */
static bool is_that_param(wf_graph *g, uint32_t i, wf_dtype dtype, double initial, uint64_t bits)
{
    const wf__named_param *p = &g->program.param[i];
    unsigned t = g->program.rec.ir.param[i];
    double first = 0;
    if (p->dtype == dtype && p->initial == bits)
        return true;
    wf__eval_cast(WF_F64, t, &first, &p->initial, 1);
    wf__poison(g, p->dtype == dtype ? WF_ERR_ARG : WF_ERR_DTYPE,
               "wf_param: '%s' is %s, initially %.17g, and now %s, initially %.17g; give one of them another name",
               p->name, wf_dtype_name(p->dtype), first, wf_dtype_name(dtype), initial);
    return false;
}

static wf__ref param_again(wf_graph *g, uint32_t i)
{
    if (g->section == WF_SECTION_JOIN)
        wf__poison(g, WF_ERR_CONTRACT, "wf_param: there are no parameters in section WF_SECTION_JOIN");
    return g->section == WF_SECTION_JOIN ? 0 : wf__param_at(wf__graph_ir(g), i);
}

static wf__ref new_param(wf_graph *g, const char *name, wf_dtype dtype, unsigned real, uint64_t bits)
{
    wf__program *p = &g->program;
    if (g->section != WF_SECTION_CALL) {
        wf__poison(g, WF_ERR_CONTRACT, "wf_param: '%s' must be declared in section WF_SECTION_CALL", name);
        return 0;
    }
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array->name && !strcmp(p->object[i].array->name, name)) {
            wf__poison(g, WF_ERR_ARG, "wf_param: there is a formal '%s' already", name);
            return 0;
        }
    char *own = wf__strdup(name);
    if (!own || !wf__grow(&p->param, &p->param_cap, p->param_n + 1, sizeof *p->param)) {
        wf__free(own);
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a parameter");
        return 0;
    }
    p->param[p->param_n++] = (wf__named_param){ own, bits, dtype };
    return wf__param(&p->rec.ir, real);
}

/* Declares a parameter. A complex one is a real parameter with imaginary part 0, since a launch sets one number
 * only. */
wf_val wf_param(wf_graph *g, const char *name, wf_dtype dtype, double initial)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return wf__value(g, 0);
    if (!name || !*name || !wf__computable(dtype)) {
        wf__poison(g, WF_ERR_ARG, "wf_param: needs a name and a supported dtype");
        return wf__value(g, 0);
    }
    if (!wf_number_fits(initial, dtype)) {
        wf__poison(g, WF_ERR_DTYPE, "wf_param: the initial value %.17g of '%s' does not fit %s", initial, name,
                   wf_dtype_name(dtype));
        return wf__value(g, 0);
    }
    unsigned part = wf__part_dtype(dtype), real = part ? part : dtype;
    uint64_t bits = 0;
    wf__floats floats = wf__floats_begin();
    wf__eval_cast(real, WF_F64, &bits, &initial, 1);
    wf__floats_end(floats);
    const wf__program *p = &g->program;
    uint32_t i = 0;
    while (i < p->param_n && strcmp(p->param[i].name, name) != 0)
        ++i;
    wf__ref r = i == p->param_n                             ? new_param(g, name, dtype, real, bits)
                : is_that_param(g, i, dtype, initial, bits) ? param_again(g, i)
                                                            : 0;
    return wf__value(g, part && r ? wf__cast(wf__graph_ir(g), r, dtype) : r);
}

void wf__params_again(wf_graph *g, const wf__named_param *param, const uint8_t *dtype, uint32_t n)
{
    for (uint32_t i = 0; i < n && wf__is_recording(g); ++i) {
        double initial = 0;
        wf__eval_cast(WF_F64, dtype[i], &initial, &param[i].initial, 1);
        wf_param(g, param[i].name, param[i].dtype, initial);
    }
}

wf_val wf_const(wf_graph *g, wf_dtype dtype, double value)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return wf__value(g, 0);
    if (!wf__computable(dtype)) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_const: dtype %s is not supported", wf_dtype_name(dtype));
        return wf__value(g, 0);
    }
    return wf__value(g, wf__number(g, value, dtype, "wf_const"));
}

wf_val wf_const_complex(wf_graph *g, wf_dtype dtype, double re, double im)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return wf__value(g, 0);
    if (!wf__is_complex(dtype)) {
        wf__poison(g, WF_ERR_DTYPE, "wf_const_complex: %s is not a complex dtype", wf_dtype_name(dtype));
        return wf__value(g, 0);
    }
    unsigned t = wf__part_dtype(dtype);
    wf__ir *ir = wf__graph_ir(g);
    wf__ref x = wf__const_f64(ir, t, re);
    return wf__value(g, wf__complex(ir, x, wf__const_f64(ir, t, im)));
}

wf_val wf_const_i64(wf_graph *g, wf_dtype dtype, int64_t bits)
{
    if (!g || wf__graph_ir(g)->status != WF_OK)
        return wf__value(g, 0);
    if (!wf__is_int(dtype)) {
        wf__poison(g, WF_ERR_DTYPE, "wf_const_i64: %s is not an integer dtype", wf_dtype_name(dtype));
        return wf__value(g, 0);
    }
    int64_t back = 0;
    uint64_t raw = 0;
    wf__eval_cast(dtype, WF_I64, &raw, &bits, 1);
    wf__eval_cast(WF_I64, dtype, &back, &raw, 1);
    if (back != bits) {
        wf__poison(g, WF_ERR_DTYPE, "wf_const_i64: %lld does not fit %s", (long long)bits, wf_dtype_name(dtype));
        return wf__value(g, 0);
    }
    return wf__value(g, wf__const_bits(wf__graph_ir(g), dtype, raw));
}
