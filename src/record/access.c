/* access.c - arrays in a recording: their slots, elements, accesses by index, scratch and kept values. */
#include "ad/stores.h"
#include "record/record.h"
#include <stdio.h>

/* ---- arrays become slots ---- */
static bool may_overlap(const wf_array *a, const wf_array *b)
{
    return !a->buffer || !b->buffer || wf__array_may_meet(a, b); /* formals: any array may be bound */
}

enum { LOOKS, READS, WRITES }; /* use of an array by a recording, as bits; LOOKS = of its shape alone */

static bool acceptable(wf_graph *g, const wf_array *array, unsigned does, const char *function)
{
    if (g->section == WF_SECTION_JOIN) {
        wf__poison(g, WF_ERR_CONTRACT,
                   "%s: there are no arrays in section WF_SECTION_JOIN, only reduced variables and wf_other", function);
        return false;
    }
    if (!array) {
        wf__poison(g, WF_ERR_ARG, "%s: the array is NULL", function);
        return false;
    }
    if (array->ctx != g->ctx) {
        wf__poison(g, WF_ERR_ARG, "%s: the array belongs to another context", function);
        return false;
    }
    if (does && !wf__array_evaluate(array, g)) {
        wf__poison(g, WF_ERR_ARG, "%s: the array was never computed: its recording failed", function);
        return false;
    }
    wf_state state = wf__array_promised(array);
    if (state == WF_STATE_FORMAL && array->graph != g) {
        wf__poison(g, WF_ERR_ARG,
                   array->local  ? "%s: a local array of another recording"
                   : array->name ? "%s: '%s' is a formal of another recording"
                                 : "%s: the array is the scratch of another recording",
                   function, array->name);
        return false;
    }
    if (does & READS && state == WF_STATE_LAZY && array->graph != g) { /* else the value was kept here */
        wf__poison(g, WF_ERR_ARG, "%s: the array was never computed: its recording has not run", function);
        return false;
    }
    if (does & WRITES && array->read_only) {
        char called[WF__CALLED];
        wf__poison(g, WF_ERR_ARG, "%s: %s is " WF__READ_ONLY, function,
                   wf__array_called(&g->program, array, array, called));
        return false;
    }
    return true;
}

/* True if the recording can run where the array is. The first array places a recording whose device is not final.
 * False after poisoning. */
static bool placed(wf_graph *g, const wf_array *array, const char *function)
{
    wf__program *p = &g->program;
    if (!array->device || array->device == wf__memory_of(p->device)) {
        p->placed = p->placed || array->device;
        return true;
    }
    if (!p->placed) {
        p->device = array->device;
        p->placed = true;
        return true;
    }
    char called[WF__CALLED], here[32], there[32];
    wf__poison(g, WF_ERR_DEVICE, "%s: %s is in the memory of %s, but the recording runs on %s; wf_copy_to moves it",
               function, wf__array_called(p, array, array, called), wf__device_name(array->device, there),
               wf__device_name(p->device, here));
    return false;
}

static uint32_t object_of(wf_graph *g, const wf_array *array, const char *function)
{
    wf__program *p = &g->program;
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array == array)
            return i;
    if (!placed(g, array, function))
        return UINT32_MAX;
    if (!wf__grow(&p->object, &p->object_cap, p->object_n + 1, sizeof *p->object)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a recording");
        return UINT32_MAX;
    }
    p->object[p->object_n] = (wf__object){ .array = wf_retain(array) };
    return p->object_n++;
}

/* Makes a slot. Its epoch begins at 1 if its memory was already stored to through another slot. */
static uint32_t new_slot(wf_graph *g, const wf_array *array, bool element, uint32_t object)
{
    wf__ir *ir = wf__graph_ir(g);
    uint32_t shape = ir->arrays ? wf__shape_id(ir, &array->shape) : 0;
    uint32_t slot = wf__slot_new(ir, array->dtype, array->shape.rank, element, object);
    if (ir->status != WF_OK)
        return slot;
    ir->slot[slot].shape = shape;
    ir->slot[slot].scratch = (uint8_t)array->scratch;
    ir->slot[slot].zeroed = array->zeroed;
    ir->slot[slot].grows = array->shown != NULL;
    bool named = ir->flags & WF_FLAG_DEBUG;
    if (named)
        wf__set_label(ir, wf__array_ref(slot), array->name);
    for (uint32_t s = 0; s < slot; ++s) {
        if (ir->slot[s].written && may_overlap(array, g->program.object[ir->slot[s].object].array))
            ir->slot[slot].epoch = 1;
        if (ir->slot[s].object == object && named)
            wf__set_label(ir, wf__array_ref(slot), wf__label_of(ir, wf__array_ref(s)));
    }
    return slot;
}

/* Sets *out to the slot of an array in the current section. False after poisoning. */
static bool slot_of(wf_graph *g, const wf_array *array, bool element, const char *function, uint32_t *out)
{
    uint32_t object = object_of(g, array, function);
    if (object == UINT32_MAX)
        return false;
    wf__ir *ir = wf__graph_ir(g);
    if (g->section != WF_SECTION_CALL) { /* few slots, so a search is cheap */
        for (uint32_t s = 0; s < ir->slot_n; ++s)
            if (ir->slot[s].object == object && ir->slot[s].element == element) {
                *out = s;
                return true;
            }
        *out = new_slot(g, array, element, object);
        return ir->status == WF_OK;
    }
    uint32_t *known = element ? &g->program.object[object].element : &g->program.object[object].indexed;
    if (!*known)
        *known = new_slot(g, array, element, object) + 1;
    *out = *known - 1;
    return ir->status == WF_OK;
}

bool wf__array_slot(wf_graph *g, const wf_array *array, bool element, bool writes, const char *function, uint32_t *slot)
{
    return acceptable(g, array, writes ? READS | WRITES : READS, function) &&
           slot_of(g, array, element, function, slot);
}

/* Begins a new epoch of every other slot whose memory may overlap the stored one. */
void wf__note_store(wf_graph *g, uint32_t slot)
{
    wf__ir *ir = wf__graph_ir(g);
    const wf_array *stored = g->program.object[ir->slot[slot].object].array;
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (s != slot && may_overlap(stored, g->program.object[ir->slot[s].object].array)) {
            ++ir->slot[s].epoch;
            ir->slot[s].last_store = 0;
        }
}

/* ---- elements ---- */
/* True if wf_in and wf_out may access the array in this section. False after poisoning. */
static bool has_elements(wf_graph *g, const wf_array *array, const char *function)
{
    if (g->section == WF_SECTION_INIT || g->section == WF_SECTION_DEINIT)
        wf__poison(g, WF_ERR_CONTRACT,
                   "%s: not in sections WF_SECTION_INIT and WF_SECTION_DEINIT; say wf_read or wf_write", function);
    else if (array && array->scratch)
        wf__poison(g, WF_ERR_CONTRACT, "%s: scratch is read, written and accumulated into by index", function);
    else if (array && array->local)
        wf__poison(g, WF_ERR_CONTRACT, "%s: a local array is read, written and accumulated into by index", function);
    return wf__is_recording(g);
}

/* True if the array has no more axes than the index space, apart from leading axes of extent 1. The launch checks all
 * other extents. False after poisoning. */
static bool fits_space(wf_graph *g, const wf_array *array, const char *function)
{
    const wf_shape *space = &g->program.rec.space, *shape = &array->shape;
    bool fits = true;
    for (int d = 0; d < shape->rank - space->rank && g->program.rec.options.kind == WF__SPACE; ++d)
        fits = fits && (shape->dim[d] == 1 || shape->dim[d] < 0);
    if (!fits) {
        char called[WF__CALLED], of[160];
        wf_shape_text(space, of, sizeof of);
        wf__poison(g, WF_ERR_SHAPE, "%s: %s has more axes than the space %s; read and write it by index", function,
                   wf__array_called(&g->program, array, array, called), of);
    }
    return fits;
}

wf_val wf_in(wf_graph *g, const wf_array *array)
{
    uint32_t slot;
    if (!wf__is_recording(g) || !acceptable(g, array, READS, "wf_in") || !has_elements(g, array, "wf_in") ||
        !fits_space(g, array, "wf_in") || !slot_of(g, array, true, "wf_in", &slot))
        return wf__no_value(g);
    return wf__value(g, wf__load(wf__graph_ir(g), slot, 0, WF_BORDER_NONE, 0));
}

static bool fits_array(wf_graph *g, wf__ref value, const wf_array *array)
{
    wf__ir *ir = wf__graph_ir(g);
    const wf_shape *have = &ir->shape[wf__shape_of(ir, value)];
    wf_shape both;
    if (!ir->arrays)
        return true;
    bool ok = wf__broadcast(have, &array->shape, &both) && both.rank == array->shape.rank;
    for (int d = 0; ok && d < both.rank; ++d)
        ok = both.dim[d] == array->shape.dim[d] || array->shape.dim[d] < 0;
    if (!ok) {
        char from[160], to[WF__CALLED];
        wf_shape_text(have, from, sizeof from);
        wf__poison(g, WF_ERR_SHAPE, "wf_out: a value of shape %s does not fit %s", from,
                   wf__array_called(&g->program, array, array, to));
    }
    return ok;
}

void(wf_out)(wf_graph *g, wf_array *array, wf_val v)
{
    uint32_t slot;
    if (!wf__is_recording(g) || !acceptable(g, array, WRITES, "wf_out") || !has_elements(g, array, "wf_out") ||
        !fits_space(g, array, "wf_out"))
        return;
    wf__ref value = wf__converted(g, v, array->dtype, "wf_out");
    wf__ref on = wf__lanes_on(g);
    if (!value || !fits_array(g, value, array) || (on && !fits_array(g, on, array)) ||
        !slot_of(g, array, true, "wf_out", &slot))
        return;
    wf__store(wf__graph_ir(g), slot, 0, value, on);
    wf__note_store(g, slot);
}

void wf__note_contents(wf_graph *g, const wf_array *array, unsigned join)
{
    if (g->program.rec.options.kind == WF__ARRAYS && wf__is_float(array->dtype) && join >= WF_JOIN_MUL &&
        join <= WF_JOIN_MAX && !wf__loop_around(wf__graph_ir(g), wf__graph_ir(g)->n, 1))
        (void)wf_in(g, array);
}

/* ---- by index ---- */

static wf_val read_at(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index,
                      const char *function)
{
    uint32_t slot, tuple;
    if (!wf__is_recording(g) || !acceptable(g, array, READS, function))
        return wf__no_value(g);
    if (array->local)
        return wf__local_read(g, array, border, other, index, function);
    if (g->section == WF_SECTION_POST) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "%s: not in section WF_SECTION_POST", function);
        return wf__no_value(g);
    }
    if (array->shape.rank == 0)
        return wf__array_tuple(g, array, index, false, function, &tuple) ? wf_in(g, array) : wf__no_value(g);
    wf__ref outside = border == WF_BORDER_VALUE ? wf__converted(g, other, array->dtype, function) : 0;
    if ((border == WF_BORDER_VALUE && !outside) ||
        !wf__array_tuple(g, array, index, border != WF_BORDER_NONE, function, &tuple) ||
        !slot_of(g, array, false, function, &slot))
        return wf__no_value(g);
    wf__ref when = border == WF_BORDER_NONE ? wf__lanes_on(g) : 0; /* with a border mode, every index is valid */
    return wf__value(g, wf__load_when(wf__graph_ir(g), slot, tuple, border, outside, when));
}

wf_val wf_read_n(wf_graph *g, const wf_array *array, wf_vals index)
{
    return read_at(g, array, WF_BORDER_NONE, (wf_val){ { 0, NULL } }, index, "wf_read");
}

wf_val wf_read_or_n(wf_graph *g, const wf_array *array, wf_val other, wf_vals index)
{
    return read_at(g, array, WF_BORDER_VALUE, other, index, "wf_read_or");
}

wf_val wf_read_border_n(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index)
{
    if (wf__is_recording(g) && (border < WF_BORDER_NONE || border >= (int)WF__BORDERS))
        wf__poison(g, WF_ERR_ARG, "wf_read_border: there is no border mode %d", (int)border);
    return read_at(g, array, border, other, index, "wf_read_border");
}

static bool writes_by_index(wf_graph *g, const char *function)
{
    if (g->section == WF_SECTION_POST)
        wf__poison(g, WF_ERR_UNSUPPORTED,
                   "%s: not in section WF_SECTION_POST, where wf_out writes the results of the kept axes' points",
                   function);
    else if (g->program.rec.options.kind == WF__ELEMENTS && g->section == WF_SECTION_CALL)
        wf__poison(g, WF_ERR_UNSUPPORTED, "%s: only in array graphs and index spaces; say wf_begin(ctx, .shape = ...)",
                   function);
    return wf__is_recording(g);
}

static void write_at(wf_graph *g, const wf_val *condition, wf_array *array, wf_val v, wf_vals index,
                     const char *function)
{
    uint32_t slot, tuple;
    wf__ref on;
    if (!wf__is_recording(g) || !acceptable(g, array, WRITES, function))
        return;
    if (array->local) {
        wf__local_write(g, condition, 0, array, v, index, function);
        return;
    }
    if (!writes_by_index(g, function))
        return;
    wf__ref value = wf__converted(g, v, array->dtype, function);
    if (!value || !wf__array_tuple(g, array, index, false, function, &tuple) ||
        !slot_of(g, array, array->shape.rank == 0, function, &slot) || !wf__condition_of(g, condition, function, &on))
        return;
    wf__store(wf__graph_ir(g), slot, tuple, value, on);
    wf__note_store(g, slot);
}

void wf_write_n(wf_graph *g, wf_array *array, wf_val v, wf_vals index)
{
    write_at(g, NULL, array, v, index, "wf_write");
}

void wf_write_if_n(wf_graph *g, wf_val condition, wf_array *array, wf_val v, wf_vals index)
{
    write_at(g, &condition, array, v, index, "wf_write_if");
}

bool wf__update_target(wf_graph *g, const wf_array *array, wf_vals index, const char *function, uint32_t *slot,
                       uint32_t *tuple)
{
    if (!acceptable(g, array, READS | WRITES, function))
        return false;
    if (array->local)
        wf__poison(g, WF_ERR_CONTRACT, "%s: a local array is its point's alone; say wf_read and wf_write", function);
    if (!wf__is_recording(g) || !writes_by_index(g, function))
        return false;
    return wf__array_tuple(g, array, index, false, function, tuple) && slot_of(g, array, false, function, slot);
}

wf_val wf_dim(wf_graph *g, const wf_array *array, int axis)
{
    uint32_t slot;
    if (!wf__is_recording(g) || !acceptable(g, array, LOOKS, "wf_dim") ||
        !wf__axis_of(g, &axis, array->shape.rank, "wf_dim"))
        return wf__no_value(g);
    if (array->local)
        return wf__value(g, wf__const_bits(wf__graph_ir(g), WF_I64, (uint64_t)array->shape.dim[axis]));
    if (!slot_of(g, array, false, "wf_dim", &slot))
        return wf__no_value(g);
    return wf__value(g, wf__dim(wf__graph_ir(g), slot, axis));
}

wf_array *wf_scratch(wf_graph *g, wf_dtype dtype, wf_shape shape, bool zeroed)
{
    if (!wf__is_recording(g))
        return NULL;
    const wf__recording *rec = &g->program.rec;
    wf_shape whole = { 0 };
    bool sized = rec->options.kind == WF__SPACE || rec->options.reduce == 0 || rec->options.reduce == WF_ALL_AXES;
    if (rec->options.kind == WF__ARRAYS || !sized || g->section == WF_SECTION_POST || g->section == WF_SECTION_JOIN) {
        wf__poison(
            g, WF_ERR_CONTRACT,
            "wf_scratch: only in sections WF_SECTION_CALL, WF_SECTION_INIT and WF_SECTION_DEINIT of a recording over "
            "an index space whose shape is known");
        return NULL;
    }
    for (int d = 0; g->reducing && d < rec->space.rank; ++d) /* one block for each point of the kept axes */
        if (!(rec->options.reduce >> d & 1))
            whole.dim[whole.rank++] = rec->space.dim[d];
    if (rec->block.rank) {
        if (rec->options.kind != WF__SPACE) {
            wf__poison(g, WF_ERR_CONTRACT, "wf_scratch: with .block, only in a recording with an index space");
            return NULL;
        }
        whole = (wf_shape){ .rank = 1, .dim = { 1 } }; /* the blocks in linear order, along one axis */
        for (int d = 0; d < rec->block.rank; ++d)
            whole.dim[0] *= rec->space.dim[d] / rec->block.dim[d] + (rec->space.dim[d] % rec->block.dim[d] != 0);
    }
    int block = whole.rank;
    if (shape.rank < 0 || block + shape.rank > WF_MAX_RANK) {
        wf__poison(g, WF_ERR_SHAPE, "wf_scratch: %d axes are too many, with the %d of the blocks", (int)shape.rank,
                   block);
        return NULL;
    }
    for (int d = 0; d < shape.rank; ++d)
        whole.dim[whole.rank++] = shape.dim[d];
    g->program.placed = true;
    wf_array *a = wf__array_planned(g->ctx, "wf_scratch", dtype, &whole, g->program.device);
    if (!a || !wf__grow(&g->scratch, &g->scratch_cap, g->scratch_n + 1, sizeof *g->scratch)) {
        wf__poison(g, a ? WF_ERR_MEMORY : wf_last_status(g->ctx), "wf_scratch: out of memory, or of devices");
        wf_release(a);
        return NULL;
    }
    a->scratch = 1 + block;
    a->graph = g;
    a->zeroed = zeroed;
    g->scratch[g->scratch_n++] = a;
    return a;
}

/* Notes that memory for a kept value has run out, which ends the group of a distributed operand. Returns NULL. */
static wf_array *cannot_keep(const wf_graph *g, const char *function)
{
    char message[80];
    snprintf(message, sizeof message, "%s: out of memory", function);
    wf__cannot_begin(g->ctx, &g->program, message);
    return NULL;
}

wf_array *wf__keep_value(wf_graph *g, wf__ref value, const char *function)
{
    wf__ir *ir = wf__graph_ir(g);
    const wf_dtype dtype = (wf_dtype)wf__dtype(ir, value);
    const wf_shape shape = ir->shape[wf__shape_of(ir, value)];
    wf__beside as;
    if (!wf__beside_value(g, value, NULL, 0, &shape, &as) ||
        !wf__grow(&g->kept, &g->kept_cap, g->kept_n + 1, sizeof *g->kept))
        return cannot_keep(g, function);
    wf_array *a = wf__array_beside(g->ctx, function, dtype, &shape, &as, g->program.device);
    if (!a)
        return wf_last_status(g->ctx) == WF_ERR_MEMORY ? cannot_keep(g, function) : NULL;
    atomic_store(&a->state, WF_STATE_LAZY);
    a->kept = true;
    a->graph = g;
    g->kept[g->kept_n++] = wf_retain(a);
    wf_out(g, a, wf__value(g, value).h);
    return a;
}

wf_array *(wf_keep)(wf_val v)
{
    wf_graph *g = wf__graph_of(v);
    wf__ref value = wf__whole_value(v, "wf_keep", "; in an index space say wf_out", "keep a variable after it");
    if (!value)
        return NULL;
    const wf__ir *ir = wf__graph_ir(g);
    const wf_shape *shape = &ir->shape[wf__shape_of(ir, value)];
    for (int d = 0; d < shape->rank; ++d)
        if (shape->dim[d] < 0) {
            wf__poison(g, WF_ERR_SHAPE, "wf_keep: the shape depends on a formal; say wf_out into another formal");
            return NULL;
        }
    wf_array *a = wf__keep_value(g, value, "wf_keep");
    if (!a)
        wf__poison(g, wf_last_status(g->ctx), "wf_keep: out of memory, or of devices");
    return a;
}
