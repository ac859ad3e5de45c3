/* custom.c - values with derivatives that the program gives: rules, values with the derivative of another one, constants.
 *
 * Such a value is a DERIVED node. The hooks of a rule record the derivative when it is asked for, into the recording or,
 * for an operator whose derivative runs as kernels of its own, into a copy of it (wf__ad_space).
 */
#include "record/record.h"
#include <math.h>
#include <stdio.h>

enum { MOST = WF__MAX_OPERANDS - 1 };

static const wf_shape *shape_of(const wf__ir *ir, wf__ref r) { return &ir->shape[wf__shape_of(ir, r)]; }

static bool broadcasts(const wf_shape *from, const wf_shape *to)
{
    wf_shape both;
    return wf__broadcast(from, to, &both) && wf__same_shape(&both, to);
}

bool wf__derivative_of(wf_graph *g, wf_val v, wf__ref of, bool sums, const char *function, const char *what,
                       wf__ref *out)
{
    wf__ir *ir = wf__graph_ir(g);
    *out = wf__converted(g, v, wf__adjoint_dtype(wf__dtype(ir, of)), function);
    const wf_shape *have = *out ? shape_of(ir, *out) : NULL, *want = shape_of(ir, of);
    if (have && !broadcasts(have, want) && !(sums && broadcasts(want, have))) {
        char a[160], b[160];
        wf_shape_text(have, a, sizeof a);
        wf_shape_text(want, b, sizeof b);
        wf__poison(g, WF_ERR_SHAPE, "%s: %s of shape %s does not %s that of its value, %s", function, what, a,
                   sums ? "fit" : "broadcast to", b);
    }
    return wf__is_recording(g);
}

/* ---- asking a rule ---- */
typedef struct asked {
    wf_graph *g;
    const wf__custom_call *call;
    wf_val in[WF__MAX_OPERANDS], out[WF__MAX_OPERANDS], seed[WF__MAX_OPERANDS], result[WF__MAX_OPERANDS];
} asked;

static wf_val value_or_zero(wf_graph *g, wf__ref r) { return r ? wf__value(g, r) : (wf_val){ { 0, NULL } }; }

/* Calls the hook, and sets result[] to the nodes of what it gave. */
static void ask(asked *a, wf__ref *result)
{
    wf_graph *g = a->g;
    const wf__custom_call *call = a->call;
    const uint32_t outs = call->rule->outs, seeds = call->reverse ? outs : call->ins;
    const uint32_t results = call->reverse ? call->ins : outs, blocks = g->block_n;
    for (uint32_t k = 0; k < call->ins; ++k)
        a->in[k] = wf__value(g, call->in[k]);
    for (uint32_t k = 0; k < outs; ++k)
        a->out[k] = wf__value(g, call->out[k]);
    for (uint32_t k = 0; k < seeds; ++k)
        a->seed[k] = value_or_zero(g, call->seed[k]);
    const wf_rule_site site = { .graph = g,
                                .user = call->rule->user,
                                .in = a->in,
                                .out = a->out,
                                .seed = a->seed,
                                .result = a->result,
                                .n_in = (int32_t)call->ins,
                                .n_out = (int32_t)outs };
    if (!wf__hook_begin(g, call->function, NULL))
        return;
    (call->reverse ? call->rule->vjp : call->rule->jvp)(&site);
    wf__hook_end(g);
    if (g->block_n != blocks)
        wf__poison(g, WF_ERR_CONTRACT, "%s: a hook of the rule '%s' leaves a block open", call->function,
                   call->rule->name);
    char what[96];
    snprintf(what, sizeof what, "the derivative by rule '%s'", call->rule->name);
    for (uint32_t k = 0; k < results && wf__is_recording(g); ++k) {
        const wf__ref of = call->reverse ? call->in[k] : call->out[k];
        const wf_val v = a->result[k];
        bool zero = !v.h.graph && v.h.num == 0;
        if (of && !zero && wf__has_adjoint(wf__dtype(wf__graph_ir(g), of)))
            wf__derivative_of(g, v, of, call->reverse, call->function, what, &result[k]);
    }
}

bool wf__record_custom(void *user, wf__ir *ir, const wf__custom_call *call, wf__ref *result)
{
    wf_graph *g = user;
    asked a = { .g = g, .call = call };
    if (ir == wf__graph_ir(g)) {
        ask(&a, result);
        return ir->status == WF_OK;
    }
    /* The hook sees the recording that it knows, with the ir in its place. */
    const wf_section_id section = g->section;
    const uint32_t objects = g->program.object_n, moved = g->moved;
    wf__ir own = g->program.rec.ir;
    g->program.rec.ir = *ir;
    g->section = WF_SECTION_CALL;
    g->moved = 0;
    ask(&a, result);
    if (g->program.object_n != objects)
        wf__poison(
            g, WF_ERR_UNSUPPORTED,
            "%s: a hook of the rule '%s' reads an array that the operator does not; make it an input of the rule",
            call->function, call->rule->name);
    *ir = g->program.rec.ir;
    g->program.rec.ir = own;
    g->section = section;
    g->moved = moved;
    return ir->status == WF_OK;
}

/* ---- the public functions ---- */
typedef struct custom {
    wf_graph *g;
    const wf_rule *rule;
    const char *name;
    wf__ref in[WF__MAX_OPERANDS];
    wf_val given[WF__MAX_OPERANDS], result[WF__MAX_OPERANDS];
    uint32_t ins, outs;
} custom;

/* Returns the recording of the values; NULL = all are numbers. */
static wf_graph *graph_of(wf_vals in)
{
    wf_graph *g = NULL;
    for (size_t i = 0; in.at && i < in.n && !g; ++i)
        g = wf__graph_of(in.at[i]);
    return g;
}

static bool set_inputs(custom *c, wf_vals in)
{
    unsigned t = WF_F32;
    for (size_t i = in.n; i-- > 0;)
        if (wf_val_dtype(in.at[i]) != WF_NONE)
            t = wf_val_dtype(in.at[i]);
    for (uint32_t i = 0; i < in.n && wf__is_recording(c->g); ++i) {
        bool number = !wf__graph_of(in.at[i]);
        c->in[i] = number ? wf__converted(c->g, in.at[i], t, c->name) : wf__resolve(c->g, in.at[i], c->name, &number);
        c->given[i] = wf__value(c->g, c->in[i]);
    }
    c->ins = (uint32_t)in.n;
    return wf__is_recording(c->g);
}

static bool begin(custom *c, const wf_rule *rule, wf_vals in)
{
    wf_graph *g = c->g;
    c->name = rule && rule->name ? rule->name : "wf_custom";
    c->outs = rule && rule->outs ? (uint32_t)rule->outs : 1;
    c->rule = rule;
    if (!wf__is_recording(g))
        return false;
    if (!rule || !rule->call || rule->outs < 0 || c->outs > MOST || !in.n || in.n > MOST) {
        wf__poison(g, WF_ERR_ARG, "wf_custom: %s",
                   !rule || !rule->call ? "the rule has no .call" : "a rule has 1 to 15 inputs and 1 to 15 outputs");
        return false;
    }
    return set_inputs(c, in);
}

/* Calls the rule, and sets out[] to its results. */
static void call(custom *c, wf_val *out)
{
    wf_graph *g = c->g;
    const uint32_t blocks = g->block_n;
    const wf_rule_site site = { .graph = g,
                                .user = c->rule->user,
                                .in = c->given,
                                .result = c->result,
                                .n_in = (int32_t)c->ins,
                                .n_out = (int32_t)c->outs };
    if (!wf__hook_begin(g, c->name, NULL))
        return;
    c->rule->call(&site);
    wf__hook_end(g);
    wf__ir *ir = wf__graph_ir(g);
    if (g->block_n != blocks)
        wf__poison(g, WF_ERR_CONTRACT, "%s: the rule's call leaves a block open", c->name);
    wf__custom entry = { .jvp = c->rule->jvp, .vjp = c->rule->vjp, .user = c->rule->user, .outs = c->outs };
    snprintf(entry.name, sizeof entry.name, "%s", c->name);
    wf__ref value[WF__MAX_OPERANDS] = { 0 };
    for (uint32_t k = 0; k < c->outs && wf__is_recording(g); ++k) {
        bool number = !wf__graph_of(c->result[k]);
        value[k] = number ? wf__converted(g, c->result[k], wf__dtype(ir, c->in[0]), c->name)
                          : wf__resolve(g, c->result[k], c->name, &number);
    }
    uint32_t tuple = wf__is_recording(g) ? wf__tuple(ir, c->in, c->ins) : 0;
    uint32_t rule = tuple ? wf__custom_rule(ir, &entry) : 0;
    for (uint32_t k = 0; k < c->outs && rule; ++k) {
        bool derived = wf__has_adjoint(wf__dtype(ir, value[k])) && g->section != WF_SECTION_JOIN;
        out[k] = wf__value(g, derived ? wf__derived(ir, value[k], tuple, rule, k) : value[k]);
    }
}

void wf_custom_n(const wf_rule *rule, wf_vals in, wf_val *out)
{
    custom c = { .g = graph_of(in) };
    wf_rule whole = { .size = sizeof whole };
    if (!wf__take_options(&whole, sizeof whole, rule))
        wf__poison(c.g, WF_ERR_ARG, "wf_custom: " WF__WRONG_SIZE);
    bool begun = begin(&c, rule ? &whole : NULL, in);
    if (!wf__is_list(c.g, out, c.outs, c.name))
        return;
    for (uint32_t k = 0; k < c.outs && k < MOST; ++k)
        out[k] = c.g ? wf__no_value(c.g) : (wf_val){ { NAN, NULL } };
    if (begun)
        call(&c, out);
}

static wf_val derived(wf_graph *g, wf__ref value, const wf__ref *of)
{
    wf__ir *ir = wf__graph_ir(g);
    bool plain = !wf__has_adjoint(wf__dtype(ir, value)) || g->section == WF_SECTION_JOIN;
    uint32_t tuple = of && !plain ? wf__tuple(ir, of, 1) : 0;
    return wf__value(g, plain ? value : wf__derived(ir, value, tuple, 0, 0));
}

wf_val(wf_stop)(wf_val v)
{
    wf_graph *g = wf__graph_of(v);
    bool number;
    if (!g)
        return v;
    wf__ref r = wf__is_recording(g) ? wf__resolve(g, v, "wf_stop", &number) : 0;
    return r ? derived(g, r, NULL) : wf__no_value(g);
}

wf_val(wf_replace_gradient)(wf_val v, wf_val of)
{
    static const char function[] = "wf_replace_gradient";
    wf_graph *g = wf__graph_of(v) ? wf__graph_of(v) : wf__graph_of(of);
    bool number;
    wf__ref value = 0, other = 0;
    if (!g)
        return v;
    if (wf__is_recording(g) && wf__graph_of(of))
        other = wf__resolve(g, of, function, &number);
    if (wf__is_recording(g) && wf__graph_of(v))
        value = wf__resolve(g, v, function, &number);
    if (!wf__is_recording(g))
        return wf__no_value(g);
    const wf__ir *ir = wf__graph_ir(g);
    if (!wf__graph_of(v)) { /* a number has the shape of the other value */
        value = wf__converted(g, v, wf__dtype(ir, other), function);
        if (ir->arrays && value)
            value = wf__resolve(g, (wf_broadcast)(wf__value(g, value), *shape_of(ir, other)), function, &number);
    }
    if (value && other) {
        bool fits = broadcasts(shape_of(ir, other), shape_of(ir, value));
        if (!fits || wf__is_complex(wf__dtype(ir, value)) != wf__is_complex(wf__dtype(ir, other)))
            wf__poison(g, fits ? WF_ERR_DTYPE : WF_ERR_SHAPE, "%s: %s", function,
                       fits ? "one of the two values is complex"
                            : "the second value's shape does not broadcast to that of the first");
    }
    if (!wf__is_recording(g) || !value)
        return wf__no_value(g);
    return derived(g, value, wf__graph_of(of) ? &other : NULL);
}
