/* watch.c - wf_watch: stores a value, where it is computed, in an array that only the recording holds. Debug mode
 * passes that array to the callback after each store (run/debug/watchpoint.h). */
#include "record/record.h"
#include "run/debug/watchpoint.h"

enum { MOST_SHOWN = 16 }; /* most elements in a line of the log */

struct wf__shown {
    wf__watchpoint watchpoint;
    wf_array *value, *lanes; /* views of the memory, which a running launch does not hold */
    char *name, *here;
    wf_look *look;
    void *user;
};

/* ---- memory ---- */
static void leave_place(wf_context *ctx, wf__shown *s)
{
    wf__watchpoint_remove(ctx->engine, &s->watchpoint);
    wf_release(s->value);
    wf_release(s->lanes);
    wf__free(s->watchpoint.on);
}

void wf__shown_free(wf_context *ctx, wf__shown *s)
{
    if (!s)
        return;
    leave_place(ctx, s);
    wf__free(s->name);
    wf__free(s->here);
    wf__free(s);
}

/* Replaces the array's memory by memory for the shape. False without memory. */
static bool place(wf_array *a, const wf_shape *shape)
{
    wf__shown *s = a->shown;
    wf_array *room = wf__array_make(a->ctx, "wf_watch", a->dtype, shape, NULL, WF_CPU), *value = NULL, *lanes = NULL;
    const int64_t elements = wf_array_count(room);
    unsigned char *on = room ? wf__alloc0((size_t)elements + 1) : NULL;
    if (on) {
        memset(room->base, 0, (size_t)elements * wf__size(a->dtype));
        value = wf_wrap_with(a->ctx, room->base, a->dtype, *shape, NULL, NULL, NULL);
        lanes = wf_wrap_with(a->ctx, on, WF_BOOL, *shape, NULL, NULL, NULL);
    }
    const bool ok = value && lanes;
    if (ok) {
        wf__buffer *old = a->buffer;
        leave_place(a->ctx, s);
        s->value = value;
        s->lanes = lanes;
        s->watchpoint =
            (wf__watchpoint){ .base = room->base, .elements = elements, .on = on, .look = s->watchpoint.look };
        a->buffer = room->buffer;
        a->base = room->base;
        a->shape = room->shape;
        memcpy(a->stride, room->stride, sizeof a->stride);
        wf__array_span(a);
        room->buffer = old;
        wf__watchpoint_add(a->ctx->engine, &s->watchpoint);
    } else {
        wf_release(value);
        wf_release(lanes);
        wf__free(on);
    }
    wf_release(room);
    return ok;
}

void wf__shown_grow(wf_graph *g)
{
    wf__ir *ir = wf__graph_ir(g);
    for (uint32_t i = 0; i < ir->slot_n && ir->status == WF_OK; ++i) {
        wf_array *a = g->program.object[ir->slot[i].object].array;
        const wf_shape shape = ir->shape[ir->slot[i].shape];
        if (ir->slot[i].grows && wf__shape_id(ir, &a->shape) != ir->slot[i].shape && !place(a, &shape))
            wf__poison(g, WF_ERR_MEMORY, "wf_watch: out of memory");
    }
}

/* ---- looking ---- */
static void add_part(wf__str *out, unsigned dtype, const char *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, wf__size(dtype));
    const wf__node n = { .op = WF__CONST, .dtype = (uint8_t)dtype, .a = (uint32_t)bits, .b = (uint32_t)(bits >> 32) };
    wf__number_text(&n, out);
}

static void add_element(wf__str *out, unsigned dtype, const char *at)
{
    const unsigned part = wf__part_dtype(dtype);
    wf__str imag = { 0 };
    add_part(out, part ? part : dtype, at);
    if (part) {
        add_part(&imag, part, at + wf__size(part));
        wf__str_addf(out, "%s%si", wf__str_get(&imag)[0] == '-' ? "" : "+", wf__str_get(&imag));
    }
    wf__str_free(&imag);
}

static void write_line(const wf__shown *s, wf_context *ctx, int64_t stored)
{
    const unsigned dtype = s->value->dtype;
    wf__str text = { 0 };
    if (!ctx->log)
        return;
    wf__str_addf(&text, "%s: time %lld, %lld of %lld on:", s->name, (long long)s->watchpoint.time, (long long)stored,
                 (long long)s->watchpoint.elements);
    for (int64_t i = 0; i < s->watchpoint.elements && i < MOST_SHOWN; ++i) {
        wf__str_add(&text, " ");
        if (s->watchpoint.on[i])
            add_element(&text, dtype, s->watchpoint.base + (size_t)i * wf__size(dtype));
        else
            wf__str_add(&text, "-");
    }
    wf__str_addf(&text, "%s (at %s)", s->watchpoint.elements > MOST_SHOWN ? " ..." : "", s->here);
    if (!text.failed)
        ctx->log(2, wf__str_get(&text), ctx->log_user);
    wf__str_free(&text);
}

static wf_status look(wf__watchpoint *watchpoint, int64_t stored)
{
    wf__shown *s = (wf__shown *)watchpoint;
    if (!s->look) {
        write_line(s, s->value->ctx, stored);
        return WF_OK;
    }
    const wf_seen seen = { .size = sizeof seen,
                           .name = s->name,
                           .here = s->here,
                           .time = watchpoint->time,
                           .on = stored,
                           .value = s->value,
                           .lanes = s->lanes };
    return s->look(s->user, &seen);
}

/* ---- recording ---- */
static wf_array *make_shown(wf_graph *g, const char *here, const char *name, unsigned dtype, const wf_shape *shape)
{
    wf_array *a = wf__array_handle(g->ctx, (wf_dtype)dtype, shape);
    wf__shown *s = a ? a->shown = wf__alloc0(sizeof *s) : NULL;
    if (s) {
        s->watchpoint.look = look;
        s->name = wf__strdup(name ? name : "");
        s->here = wf__strdup(here ? here : "?");
    }
    if (s && s->name && s->here && place(a, shape))
        return a;
    wf_release(a);
    return NULL;
}

/* Sets *out to the shape of the stored values: the space, or in array graphs the common shape of the value and the
 * lanes of the block. False after poisoning. */
static bool shape_of(wf_graph *g, wf__ref value, wf_shape *out)
{
    const wf__ir *ir = wf__graph_ir(g);
    wf__ref on = wf__lanes_on(g);
    *out = g->program.rec.space;
    if (ir->arrays) {
        *out = ir->shape[wf__shape_of(ir, value)];
        if (on && !wf__fits_block(g, value, on, "wf_watch"))
            return false;
        if (on)
            wf__broadcast(out, &ir->shape[wf__shape_of(ir, on)], out);
    }
    bool known = g->program.rec.options.kind != WF__ELEMENTS;
    for (int d = 0; d < out->rank; ++d)
        known = known && out->dim[d] >= 0;
    if (!known)
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_watch: the shape is not known before the launch");
    return known;
}

void wf_watch_(wf_graph *g, const char *here, const char *name, wf_val v, wf_look *look_at, void *user)
{
    bool number;
    wf_shape shape;
    if (!wf__is_recording(g) || !(wf__graph_ir(g)->flags & WF_FLAG_DEBUG))
        return;
    wf__ref value = wf__resolve(g, v, "wf_watch", &number);
    if (number)
        value = wf__converted(g, v, WF_F64, "wf_watch");
    if (!value)
        return;
    if (g->section != WF_SECTION_CALL)
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_watch: only in section WF_SECTION_CALL");
    else if (wf__decides_gpu(g))
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_watch: not on a GPU; say .device = WF_CPU, with arrays there");
    if (!wf__is_recording(g) || !shape_of(g, value, &shape))
        return;
    for (int d = 0; d < shape.rank; ++d)
        if (!shape.dim[d])
            return; /* no element is ever computed */
    wf_array *a = make_shown(g, here, name, wf__dtype(wf__graph_ir(g), value), &shape);
    if (!a) {
        wf__poison(g, WF_ERR_MEMORY, "wf_watch: out of memory");
        return;
    }
    a->shown->look = look_at;
    a->shown->user = user;
    (wf_out)(g, a, wf__value(g, value));
    wf_release(a); /* the recording retains the array */
}
