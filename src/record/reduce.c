/* reduce.c - reduced variables, the sections of a recording that reduces, and reductions of lazy arrays. */
#include "record/record.h"
#include <math.h>

/* ---- reductions ---- */
static bool joinable(wf_graph *g, wf_join join, unsigned dtype, const char *function)
{
    unsigned op = wf__join_op(join);
    if (op && wf__types_allow(wf__op_table[op].types, dtype))
        return true;
    if (!op)
        wf__poison(g, WF_ERR_ARG, "%s: there is no join %d here; say WF_JOIN_ADD to WF_JOIN_XOR", function, (int)join);
    else
        wf__poison(g, WF_ERR_DTYPE, "%s: %s does not reduce %s", function, wf__op_table[op].name,
                   wf_dtype_name((wf_dtype)dtype));
    return false;
}

/* Makes a reduction with an initial value. Returns its number; -1 after poisoning. */
static int32_t new_reduction(wf_graph *g, unsigned dtype, wf__ref initial, wf_join join)
{
    wf__recording *rec = &g->program.rec;
    if (initial && rec->ir.node[initial].op != WF__CONST)
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_reduced: the initial value must be a constant");
    if (!wf__is_recording(g) ||
        !wf__grow(&rec->initial, &g->program.initial_cap, rec->ir.red_n + 1, sizeof *rec->initial)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a reduction");
        return -1;
    }
    uint32_t k = wf__red_new(&rec->ir, dtype, join);
    if (!wf__is_recording(g))
        return -1;
    rec->initial[k] = rec->ir.red[k].start = wf__bits(&rec->ir.node[initial]);
    return (int32_t)k;
}

/* True if complex numbers have this join: sums join part by part, and products join both parts together. False after
 * poisoning. */
static bool joins_pairs(wf_graph *g, wf_join join, const char *function)
{
    if (join == WF_JOIN_ADD || join == WF_JOIN_MUL)
        return true;
    wf__poison(g, WF_ERR_UNSUPPORTED, "%s: complex numbers reduce by WF_JOIN_ADD and WF_JOIN_MUL only", function);
    return false;
}

static bool is_product(const wf__variable *var)
{
    return var->red >= 0 && var->join == WF_JOIN_MUL && wf__is_complex(var->dtype);
}

/* Makes a complex reduced variable. Partial products begin with 1; WF_SECTION_POST multiplies by the initial value. */
static wf_var complex_reduced(wf_graph *g, wf_dtype dtype, wf__ref initial, wf_join join)
{
    wf__ir *ir = &g->program.rec.ir;
    unsigned t = wf__part_dtype(dtype);
    bool product = join == WF_JOIN_MUL;
    wf__ref re = wf__real(ir, initial), im = wf__imag(ir, initial), one = wf__const_f64(ir, t, 1);
    wf_join parts = product ? WF_JOIN_CUSTOM : join;
    if (product && re && im && (ir->node[re].op != WF__CONST || ir->node[im].op != WF__CONST))
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_reduced: the initial value must be a constant");
    int32_t k = new_reduction(g, t, product ? one : re, parts), second = -1;
    if (k >= 0)
        second = new_reduction(g, t, product ? wf__const_bits(ir, t, 0) : im, parts);
    if (second < 0)
        return wf__no_value(g).h;
    wf__variable var = { .dtype = (uint8_t)dtype, .join = (uint8_t)join, .red = k };
    var.initial[0] = wf__bits(&ir->node[re]);
    var.initial[1] = wf__bits(&ir->node[im]);
    re = wf__red(ir, (uint32_t)k, 0);
    var.value = wf__complex(ir, re, wf__red(ir, (uint32_t)second, 0));
    return wf__new_variable(g, var);
}

wf_var(wf_reduced)(wf_graph *g, wf_dtype dtype, wf_val initial, wf_join join)
{
    if (!wf__is_recording(g))
        return wf__no_value(g).h;
    wf__recording *rec = &g->program.rec;
    if (!g->reducing || g->section != WF_SECTION_CALL) {
        wf__poison(g, WF_ERR_CONTRACT, "wf_reduced: only in section WF_SECTION_CALL of a recording begun with .reduce");
        return wf__no_value(g).h;
    }
    if (wf__is_half(dtype) || dtype == WF_C32)
        dtype = dtype == WF_C32 ? WF_C64 : WF_F32; /* partial sums need a longer mantissa */
    bool pairs = wf__is_complex(dtype);
    bool custom = join == WF_JOIN_CUSTOM && !pairs;
    if (!wf__computable(dtype))
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_reduced: dtype %s is not supported", wf_dtype_name(dtype));
    if (!wf__is_recording(g) ||
        !(custom || (pairs ? joins_pairs(g, join, "wf_reduced") : joinable(g, join, dtype, "wf_reduced"))))
        return wf__no_value(g).h;
    wf__ref first = wf__converted(g, initial, dtype, "wf_reduced");
    if (pairs && first)
        return complex_reduced(g, dtype, first, join);
    int32_t k = new_reduction(g, dtype, first, join);
    if (k < 0)
        return wf__no_value(g).h;
    return wf__new_variable(
        g, (wf__variable){
               .dtype = (uint8_t)dtype, .join = (uint8_t)join, .red = k, .value = wf__red(&rec->ir, (uint32_t)k, 0) });
}

void wf__reductions_again(wf_graph *g, const wf__ir *call, const wf__ir *join, const uint64_t *initial)
{
    for (uint32_t k = 0; k < call->red_n && wf__is_recording(g); ++k) {
        const wf__reduction *red = &call->red[k];
        wf__ref first = wf__const_bits(wf__graph_ir(g), red->dtype, initial[k]);
        new_reduction(g, red->dtype, first, (wf_join)red->join);
    }
    if (join->n <= 1 || !wf__is_recording(g))
        return;
    wf__ir *own = &g->program.rec.join;
    wf__ir_free(own);
    if (!wf__ir_copy(join, own))
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a recording");
}

/* ---- sections ---- */
static bool has_custom_joins(const wf_graph *g)
{
    for (uint32_t i = 0; i < g->var_n; ++i)
        if (g->var[i].red >= 0 && g->var[i].join == WF_JOIN_CUSTOM)
            return true;
    return false;
}

static void begin_join(wf_graph *g)
{
    wf__recording *rec = &g->program.rec;
    wf__ir *ir = &rec->join;
    for (uint32_t k = 0; k < rec->ir.red_n; ++k)
        wf__red_new(ir, rec->ir.red[k].dtype, (wf_join)rec->ir.red[k].join);
    for (uint32_t i = 0; i < g->var_n && wf__is_recording(g); ++i) {
        wf__variable *var = &g->var[i];
        if (var->red >= 0 && var->join == WF_JOIN_CUSTOM)
            var->other[WF_SECTION_JOIN - 1] = wf__arg(ir, (uint32_t)var->red, var->dtype);
    }
}

/* Records the joins of complex products, for which the program records none. */
static void join_products(wf_graph *g)
{
    for (uint32_t i = 0; i < g->var_n && wf__is_recording(g); ++i)
        if (is_product(&g->var[i])) {
            if (!g->program.rec.join.red_n)
                begin_join(g);
            wf__join_product(&g->program.rec.join, (uint32_t)g->var[i].red);
        }
}

/* Stores as joined the values that the variables hold at the end of WF_SECTION_JOIN. */
static void end_join(wf_graph *g)
{
    for (uint32_t i = 0; i < g->var_n; ++i) {
        const wf__variable *var = &g->var[i];
        if (var->red >= 0 && var->other[WF_SECTION_JOIN - 1] && wf__is_recording(g))
            wf__setred(&g->program.rec.join, (uint32_t)var->red, 0, var->other[WF_SECTION_JOIN - 1]);
    }
}

static void begin_post(wf_graph *g)
{
    wf__recording *rec = &g->program.rec;
    for (uint32_t p = 0; p < rec->ir.param_n; ++p)
        wf__param(&rec->post, rec->ir.param[p]);
    for (uint32_t k = 0; k < rec->ir.red_n; ++k) {
        wf__ref result = wf__param(&rec->post, rec->ir.red[k].dtype);
        for (uint32_t i = 0; i < g->var_n; ++i)
            if (g->var[i].red == (int32_t)k)
                g->var[i].other[WF_SECTION_POST - 1] = result;
            else if (g->var[i].red == (int32_t)k - 1 && wf__is_complex(g->var[i].dtype))
                g->var[i].other[WF_SECTION_POST - 1] =
                    wf__complex(&rec->post, g->var[i].other[WF_SECTION_POST - 1], result);
    }
    for (uint32_t i = 0; i < g->var_n && rec->post.status == WF_OK; ++i)
        if (is_product(&g->var[i])) {
            wf__variable *var = &g->var[i];
            unsigned t = wf__part_dtype(var->dtype);
            wf__ref first = wf__const_bits(&rec->post, t, var->initial[0]);
            first = wf__complex(&rec->post, first, wf__const_bits(&rec->post, t, var->initial[1]));
            var->other[WF_SECTION_POST - 1] = wf__op2(&rec->post, WF__OP_mul, first, var->other[WF_SECTION_POST - 1]);
        }
}

/* Completes the joins of the operator. Fails if a custom join has no section WF_SECTION_JOIN. */
static void end_call(wf_graph *g)
{
    if (has_custom_joins(g) && !g->program.rec.join.red_n)
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_reduced: a custom join needs section WF_SECTION_JOIN, before WF_SECTION_POST");
    if (g->section != WF_SECTION_POST)
        join_products(g);
}

void wf__end_section(wf_graph *g, bool last)
{
    wf__check_blocks(g);
    if (g->section == WF_SECTION_JOIN)
        end_join(g);
    if (last)
        end_call(g);
}

static void begin_once(wf_graph *g, wf__ir *ir)
{
    for (uint32_t p = 0; p < g->program.rec.ir.param_n; ++p)
        wf__param(ir, g->program.rec.ir.param[p]);
}

static bool may_begin(wf_graph *g, wf_section_id section)
{
    wf__recording *rec = &g->program.rec;
    bool follows = g->section == WF_SECTION_CALL || g->section == WF_SECTION_INIT || g->section == WF_SECTION_DEINIT;
    switch (section) {
    case WF_SECTION_CALL:
        return g->section == WF_SECTION_INIT || g->section == WF_SECTION_DEINIT;
    case WF_SECTION_INIT:
        return rec->options.kind != WF__ARRAYS && follows && rec->init.n <= 1;
    case WF_SECTION_DEINIT:
        return rec->options.kind != WF__ARRAYS && follows && rec->deinit.n <= 1;
    case WF_SECTION_JOIN:
        return g->reducing && follows && !rec->join.red_n;
    case WF_SECTION_POST:
        return g->reducing;
    default:
        return false;
    }
}

void wf_section(wf_graph *g, wf_section_id section)
{
    if (!wf__is_recording(g) || section == g->section)
        return;
    if (!may_begin(g, section)) {
        wf__poison(
            g, WF_ERR_CONTRACT,
            "wf_section: WF_SECTION_INIT and WF_SECTION_DEINIT, once each, are for index spaces and elements; in a "
            "recording begun with .reduce, WF_SECTION_JOIN may follow WF_SECTION_CALL, and WF_SECTION_POST comes last, once");
        return;
    }
    if (section == WF_SECTION_JOIN && !has_custom_joins(g)) {
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_section: WF_SECTION_JOIN is for reduced variables with WF_JOIN_CUSTOM; there are none");
        return;
    }
    wf__end_section(g, section == WF_SECTION_POST);
    if (!wf__is_recording(g))
        return;
    g->section = section;
    if (section == WF_SECTION_JOIN)
        begin_join(g);
    else if (section == WF_SECTION_POST)
        begin_post(g);
    else if (section != WF_SECTION_CALL)
        begin_once(g, wf__graph_ir(g));
}

wf_var wf_other(wf_var reduced)
{
    wf_graph *g = reduced.graph;
    const wf__variable *var = wf__variable_of(reduced);
    if (!wf__is_recording(g))
        return wf__no_value(g).h;
    if (g->section != WF_SECTION_JOIN || !var || var->red < 0 || !var->other[WF_SECTION_JOIN - 1]) {
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_other: only in section WF_SECTION_JOIN, of a reduced variable with WF_JOIN_CUSTOM");
        return wf__no_value(g).h;
    }
    uint32_t k = (uint32_t)var->red;
    wf__variable other = { .dtype = var->dtype, .red = -1 };
    other.other[WF_SECTION_JOIN - 1] = wf__arg(&g->program.rec.join, g->program.rec.ir.red_n + k, var->dtype);
    return wf__new_variable(g, other);
}

/* Returns the dtype in which a join of dtype t is computed, and of its result: 64 bits for sums and products of
 * integers. */
static unsigned sum_dtype(wf_join join, unsigned t)
{
    bool sums = join == WF_JOIN_ADD || join == WF_JOIN_MUL;
    return !sums || wf__is_float(t) || wf__is_complex(t) ? t : t == WF_BOOL || wf__is_signed(t) ? WF_I64 : WF_U64;
}

static wf__ref reduce_node(wf__ir *ir, wf_join join, wf__ref value, wf_axes axes, uint32_t shape)
{
    wf__node n = { .op = WF__REDUCE, .a = value, .b = join, .c = axes, .shape = shape };
    n.dtype = (uint8_t)wf__dtype(ir, value);
    return wf__append(ir, &n);
}

static wf_val reduce(wf_join join, wf_val v, wf_axes axes, const char *function)
{
    wf_graph *g = wf__graph_of(v);
    wf__ref value = wf__whole_value(v, function, "; elsewhere say wf_reduced", "reduce a variable before or after it");
    if (!value)
        return g ? wf__no_value(g) : v; /* a number is a value of one element */
    wf__ir *ir = wf__graph_ir(g);
    wf_shape shape = ir->shape[wf__shape_of(ir, value)];
    if (axes & WF_DROP_AXES) {
        wf__poison(
            g, WF_ERR_ARG,
            "%s: WF_DROP_AXES is for array functions; the axes of a value stay with extent 1, and wf_reshape leaves "
            "them out",
            function);
        return wf__no_value(g);
    }
    if (wf__axes_beyond(axes, shape.rank) || (!axes && shape.rank)) {
        char text[160];
        wf_shape_text(&shape, text, sizeof text);
        wf__poison(g, WF_ERR_ARG,
                   axes ? "%s: the mask 0x%x names axes beyond those of the shape %s"
                        : "%s: the mask 0x%x names no axis of the shape %s; say WF_AXES(...)",
                   function, (unsigned)axes, text);
        return wf__no_value(g);
    }
    axes &= (1u << shape.rank) - 1;
    unsigned t = sum_dtype(join, wf__dtype(ir, value));
    bool pairs = wf__is_complex(t);
    value = wf__cast(ir, value, t);
    if (!value || !(pairs ? joins_pairs(g, join, function) : joinable(g, join, t, function)))
        return wf__no_value(g);
    shape = wf__kept_shape(&shape, axes);
    uint32_t id = wf__shape_id(ir, &shape);
    if (!pairs || join == WF_JOIN_MUL) /* the parts of a product depend on each other */
        return wf__value(g, reduce_node(ir, join, value, axes, id));
    wf__ref re = wf__real(ir, value), im = wf__imag(ir, value);
    re = re ? reduce_node(ir, join, re, axes, id) : 0;
    im = im ? reduce_node(ir, join, im, axes, id) : 0;
    return wf__value(g, wf__complex(ir, re, im));
}

wf_val(wf_reduce)(wf_join join, wf_val v, wf_axes axes) { return reduce(join, v, axes, "wf_reduce"); }

/* Returns the result for an axis that the value does not have: poison, or NaN for a number, which has no axes. */
static wf_val no_axes(wf_graph *g) { return g ? wf__no_value(g) : (wf_val){ { NAN, NULL } }; }

static wf__ref scan_real(wf__ir *ir, wf_join join, wf__ref value, int axis, unsigned flags)
{
    unsigned t = wf__dtype(ir, value);
    value = wf__cast(ir, value, wf__is_half(t) ? WF_F32 : t);
    if (!value)
        return 0;
    wf__node n = { .op = WF__SCAN, .aux = (uint8_t)flags, .a = value, .b = join, .c = (uint32_t)axis };
    n.dtype = (uint8_t)wf__dtype(ir, value);
    n.shape = ir->node[value].shape;
    wf__ref r = wf__append(ir, &n);
    return r ? wf__cast(ir, r, t) : 0;
}

wf_val(wf_scan)(wf_join join, wf_val v, int axis, bool exclusive, bool reversed)
{
    wf_graph *g = wf__graph_of(v);
    wf__ref value = wf__whole_value(v, "wf_scan", "", "scan a variable before or after it");
    if (!value)
        return no_axes(g);
    wf__ir *ir = wf__graph_ir(g);
    int given = axis, rank = ir->shape[wf__shape_of(ir, value)].rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank) {
        wf__poison(g, WF_ERR_ARG, "wf_scan: axis %d is out of range for rank %d", given, rank);
        return wf__no_value(g);
    }
    unsigned t = sum_dtype(join, wf__dtype(ir, value)),
             flags = (exclusive ? WF__EXCLUSIVE : 0u) | (reversed ? WF__REVERSED : 0u);
    bool pairs = wf__is_complex(t);
    value = wf__cast(ir, value, t);
    if (pairs && join != WF_JOIN_ADD)
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_scan: complex numbers scan by WF_JOIN_ADD only");
    if (!value || !wf__is_recording(g) || !(pairs || joinable(g, join, t, "wf_scan")))
        return wf__no_value(g);
    if (!pairs)
        return wf__value(g, scan_real(ir, join, value, axis, flags));
    wf__ref re = scan_real(ir, join, wf__real(ir, value), axis, flags);
    wf__ref im = scan_real(ir, join, wf__imag(ir, value), axis, flags);
    return wf__value(g, re && im ? wf__complex(ir, re, im) : 0);
}

wf_val(wf_block_reduce)(wf_join join, wf_val v, int64_t block)
{
    wf_graph *g = wf__graph_of(v);
    if (!wf__whole_value(v, "wf_block_reduce", "", "reduce a variable before or after it"))
        return no_axes(g);
    wf_shape shape = wf_val_shape(v);
    int last = shape.rank - 1;
    if (last < 0 || last + 1 >= WF_MAX_RANK || block < 1 || shape.dim[last] < 0) {
        wf__poison(
            g, WF_ERR_ARG,
            "wf_block_reduce: needs a block of at least 1, and a value of rank 1 to 7 whose last extent is known");
        return wf__no_value(g);
    }
    int64_t n = shape.dim[last], whole = n / block;
    wf_val rest = n % block || !n
                      ? reduce(join, (wf_slice)(v, last, whole * block, WF_END_INDEX, 1), 1u << last, "wf_block_reduce")
                      : v;
    if (!whole)
        return n ? rest : (wf_slice)(rest, last, 0, 0, 1);
    wf_shape cut = shape;
    cut.dim[last] = whole;
    cut.dim[cut.rank++] = block;
    wf_val parts = (wf_reshape)((wf_slice)(v, last, 0, whole * block, 1), cut);
    --cut.rank;
    parts = (wf_reshape)(reduce(join, parts, 1u << (last + 1), "wf_block_reduce"), cut);
    const wf_val both[] = { parts, rest };
    return n % block ? wf_concat_n((wf_vals){ both, 2 }, last) : parts;
}
