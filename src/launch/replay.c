/* replay.c - runs a frozen sequence again. With the inputs of the latest replay, the calls of all steps are ready. With
 * others, everything is checked before anything runs.
 */
#include "launch/frozen.h"
#include "base/floats.h"

/* Checks that each two inputs overlap as they did when the sequence was noted. Each step checks the overlaps of its
 * own arrays only, but a result of one step may be read by another. */
static wf_status check_pairs(const wf_frozen *f, wf_arrays inputs)
{
    for (uint32_t i = 1; i < f->inputs; ++i)
        for (uint32_t j = 0; j < i; ++j) {
            int64_t was = f->apart[wf__frozen_pair(i, j)], is = wf__frozen_distance(inputs.at[i], inputs.at[j]);
            if (is != was)
                return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: inputs %u and %u %s", (unsigned)j, (unsigned)i,
                                 was == WF__FROZEN_APART  ? "have common memory, and had none"
                                 : is == WF__FROZEN_APART ? "have no common memory, and had some"
                                                          : "overlap in another way than they did");
        }
    return WF_OK;
}

static wf_status misfit(const wf_frozen *f, uint32_t i, const wf_array *a)
{
    const wf__frozen_input *was = &f->expected[i];
    char now[160], then[160];
    wf_shape_text(&a->shape, now, sizeof now);
    wf_shape_text(&was->shape, then, sizeof then);
    if (a->dtype != was->dtype)
        return wf__error(f->ctx, WF_ERR_DTYPE, "wf_frozen_replay: input %u is %s, was %s", (unsigned)i,
                         wf_dtype_name(a->dtype), wf_dtype_name(was->dtype));
    return wf__error(f->ctx, WF_ERR_SHAPE, "wf_frozen_replay: input %u is %s, was %s", (unsigned)i, now, then);
}

static wf_status check_inputs(const wf_frozen *f, wf_arrays inputs)
{
    for (uint32_t i = 0; i < f->inputs; ++i) {
        const wf_array *a = inputs.at[i];
        const wf__frozen_input *was = &f->expected[i];
        if (!a || a->ctx != f->ctx)
            return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: input %u is %s", (unsigned)i,
                             a ? "another context's" : "NULL");
        if (!wf__array_usable(a, "wf_frozen_replay"))
            return wf_last_status(f->ctx);
        wf__array_wait(a); /* wf__array_usable may have queued the work that computes it */
        bool same = a->dtype == was->dtype && wf__same_shape(&a->shape, &was->shape);
        if (!same)
            return misfit(f, i, a);
        for (int d = 0; was->viewed && d < a->shape.rank; ++d)
            if (a->stride[d] != was->stride[d] && a->shape.dim[d] > 1)
                return wf__error(f->ctx, WF_ERR_ARG,
                                 "wf_frozen_replay: the strides of input %u, of which views are used, are not what "
                                 "they were",
                                 (unsigned)i);
        char here[32], there[32];
        if (a->device != was->device)
            return wf__error(f->ctx, WF_ERR_DEVICE,
                             "wf_frozen_replay: input %u is in the memory of %s, was in that of %s", (unsigned)i,
                             wf__device_name(a->device, here), wf__device_name(was->device, there));
        if (a->read_only && was->written)
            return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: input %u is written, but is " WF__READ_ONLY,
                             (unsigned)i);
    }
    return check_pairs(f, inputs);
}

/* Fills the addresses of a step. Fails if an array is not laid out as the step's plan requires. */
static wf_status lay_step(const wf_frozen *f, wf__frozen_step *s, wf_array **arrays)
{
    const wf__plan_entry *e = s->plan;
    uint32_t n = e->plan.objects;
    size_t bytes = e->key_len - e->recording_len;
    uint64_t *words = wf__alloc(wf__most_layout_words(n) * sizeof *words), rank;
    if (!words)
        return wf__error(f->ctx, WF_ERR_MEMORY, "out of memory for a launch");
    wf_shape space = { 0 };
    memcpy(&rank, e->key + e->recording_len, sizeof rank);
    space.rank = (int32_t)rank;
    memcpy(space.dim, e->key + e->recording_len + sizeof rank, (size_t)rank * sizeof *space.dim);
    for (uint32_t i = 0; i < n; ++i)
        s->base[i] = arrays[i]->base;
    bool same =
        wf__write_layouts(arrays, n, &space, words) == bytes && !memcmp(words, e->key + e->recording_len, bytes);
    wf__free(words);
    return same ? WF_OK
                : wf__error(
                      f->ctx, WF_ERR_ARG,
                      "wf_frozen_replay: in launch %u%s%s%s the strides of an input, or the way that arrays overlap, "
                      "are not what they were",
                      (unsigned)(s - f->step) + 1, s->name ? " ('" : "", s->name ? s->name : "", s->name ? "')" : "");
}

static wf_status run_frozen_step(wf_frozen *f, wf__frozen_step *s)
{
    wf__failure failure = { 0 };
    wf_status status = WF_OK;
    if (!wf__execute_plan(f->ctx, (wf__gpu_on){ .gpu = s->gpu }, &s->plan->plan, s->name, wf__str_get(&s->where),
                          s->base, s->param, &(wf__limits){ 0 }, s->interpret, NULL, &failure))
        status = wf__error(f->ctx, failure.status, "wf_frozen_replay: launch %u: %s%s", (unsigned)(s - f->step) + 1,
                           wf__str_get(&failure.text), wf__str_get(&s->where));
    wf__str_free(&failure.text);
    return status;
}

/* Makes views, as the sequence uses them, of the inputs that are in the table now. */
static wf_status make_aliases(wf_frozen *f)
{
    for (uint32_t i = 0; i < f->alias_n; ++i) {
        const wf__frozen_alias *v = &f->alias[i];
        const wf_array *of = f->array[v->input];
        wf_array *a = wf__array_handle(f->ctx, v->dtype, &v->shape);
        if (!a)
            return WF_ERR_MEMORY;
        memcpy(a->stride, v->stride, sizeof a->stride);
        a->device = of->device;
        a->read_only = v->read_only;
        wf__view_begin(a, of);
        a->base += v->offset;
        f->array[v->number] = wf__view_end(a);
    }
    return WF_OK;
}

/* Replays with inputs that are not bound. While there are copies on write, addresses hold for one run only. */
static wf_status replay_anew(wf_frozen *f, wf_arrays inputs)
{
    bool sharing = wf__sharing(f->ctx);
    wf_status status = check_inputs(f, inputs);
    uint32_t most = 1;
    for (uint32_t k = 0; k < f->step_n; ++k)
        most = f->step[k].plan->plan.objects > most ? f->step[k].plan->plan.objects : most;
    wf_array **arrays = wf__alloc(most * sizeof(wf_array *));
    wf__buffer **pinned = wf__alloc(most * sizeof(wf__buffer *));
    if (status == WF_OK && (!arrays || !pinned))
        status = wf__error(f->ctx, WF_ERR_MEMORY, "out of memory for a launch");
    memset(f->id, 0, f->inputs * sizeof *f->id);
    for (uint32_t i = 0; status == WF_OK && i < f->inputs; ++i)
        f->array[i] = inputs.at[i];
    if (status == WF_OK)
        status = make_aliases(f);
    for (int run = 0; run < 2; ++run) /* everything is checked before anything runs */
        for (uint32_t k = 0; status == WF_OK && k < f->step_n; ++k) {
            wf__frozen_step *s = &f->step[k];
            uint32_t n = s->plan->plan.objects;
            for (uint32_t i = 0; i < n; ++i)
                arrays[i] = f->array[s->array[i]];
            if (!wf__arrays_begin(f->ctx, arrays, n, s->written, pinned, "wf_frozen_replay"))
                status = WF_ERR_MEMORY;
            if (status == WF_OK && (!run || sharing))
                status = lay_step(f, s, arrays);
            if (status == WF_OK && run)
                status = run_frozen_step(f, s);
            wf__arrays_end(f->ctx, n, pinned);
            s->call.entry = NULL;
            if (status == WF_OK && run && !sharing && !s->interpret && !s->gpu)
                wf__cpu_prepare(f->ctx->engine, &s->plan->plan, s->base, &s->call);
        }
    for (uint32_t i = 0; status == WF_OK && !sharing && i < f->inputs; ++i)
        f->id[i] = inputs.at[i]->id;
    f->bound = status == WF_OK && !sharing;
    wf__frozen_drop_aliases(f);
    wf__free(arrays);
    wf__free(pinned);
    return status;
}

static bool is_bound(const wf_frozen *f, wf_arrays inputs)
{
    bool same = f->bound && !wf__sharing(f->ctx);
    for (uint32_t i = 0; i < f->inputs && same; ++i)
        same = inputs.at[i] && inputs.at[i]->id == f->id[i] && inputs.at[i]->ctx == f->ctx;
    return same;
}

/* Waits for queued work that uses an array of the replay. A replay is a launch without a stream. */
static void wait_for_queued(const wf_frozen *f, wf_arrays inputs)
{
    if (!atomic_load_explicit(&f->ctx->streaming, memory_order_acquire))
        return;
    /* Views of inputs are not in the table now, and use memory of the inputs. */
    for (uint32_t i = 0; i < f->array_n; ++i) {
        const wf_array *a = i < f->inputs ? inputs.at[i] : f->array[i];
        if (a)
            wf__array_wait(a);
    }
}

wf_status wf_frozen_replay(wf_frozen *f, wf_arrays inputs)
{
    if (!f)
        return WF_ERR_ARG;
    if (!wf__is_given(f->ctx, inputs.at, inputs.n, "wf_frozen_replay"))
        return WF_ERR_ARG;
    if (inputs.n != f->inputs)
        return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: %u inputs are given, the sequence has %u",
                         (unsigned)inputs.n, (unsigned)f->inputs);
    wf_status status = WF_OK;
    wf_freeze_refuse(f->ctx, "wf_frozen_replay", "its launches are not noted again");
    wf__mutex_lock(&f->lock);
    wait_for_queued(f, inputs);
    wf__floats floats = wf__floats_begin();
    if (is_bound(f, inputs)) {
        f->turned = !f->turned;
        for (uint32_t k = 0; k < f->step_n && status == WF_OK; ++k) {
            wf__frozen_step *s = &f->step[k];
            if (s->call.entry)
                wf__cpu_run_prepared(f->ctx->engine, &s->call, s->param, &(wf__limits){ 0 }, f->turned);
            else
                status = run_frozen_step(f, s);
        }
    } else
        status = replay_anew(f, inputs);
    wf__floats_end(floats);
    wf__mutex_unlock(&f->lock);
    return status;
}
