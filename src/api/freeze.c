/* freeze.c - a sequence of launches, noted while it runs, and run again with other inputs: no recording, no key, no
 * plan.
 */
#include "api/api.h"

typedef struct step {     /* one launch */
    wf__plan_entry *plan; /* used */
    bool interpret;
    wf__gpu *gpu;    /* NULL: the processor */
    char *name;      /* label; NULL: none */
    uint32_t *array; /* [plan.objects]: numbers in the frozen table */
    bool *written;   /* the same */
    uint64_t *param;
    char **base;       /* for the arrays bound now */
    wf__prepared call; /* for these, too */
} step;

typedef struct expected { /* what an input has to be like */
    wf_dtype dtype;
    wf_shape shape;
    bool read_only;
    wf_device device;
} expected;

struct wf_frozen {
    wf_context *ctx;
    wf_frozen *next; /* of those that are being noted, under the context's lock */
    wf__thread thread;
    wf__mutex lock; /* of all that follows, once it is made */
    step *step;
    uint32_t step_n, step_cap;
    wf_array **array;   /* inputs (not retained once noted), then what else was used, retained */
    uint64_t *id;       /* of the inputs bound now; 0: none */
    expected *expected; /* the same */
    bool bound;         /* calls and addresses hold for these */
    uint32_t array_n, array_cap, inputs;
    wf_status status; /* of noting */
    const char *text;
};

/* ---- noting ---- */
static wf_frozen **find(wf_context *ctx) /* under the lock: where this thread's is, or the end */
{
    wf_frozen **at = &ctx->freezing;
    while (*at && !wf__thread_is_this((*at)->thread))
        at = &(*at)->next;
    return at;
}

static void free_step(wf_context *ctx, step *s)
{
    wf__plan_release(ctx, s->plan);
    wf__prepared_free(&s->call);
    wf__free(s->name);
    wf__free(s->array);
    wf__free(s->written);
    wf__free(s->param);
    wf__free(s->base);
}

void wf_frozen_free(wf_frozen *f)
{
    if (!f)
        return;
    wf_context *ctx = f->ctx;
    for (uint32_t i = 0; i < f->step_n; ++i)
        free_step(ctx, &f->step[i]);
    for (uint32_t i = f->inputs; i < f->array_n; ++i)
        wf_release(f->array[i]);
    wf__free(f->step);
    wf__free(f->array);
    wf__free(f->id);
    wf__free(f->expected);
    wf__mutex_free(&f->lock);
    wf__free(f);
    wf__context_release(ctx);
}

static void fail(wf_frozen *f, wf_status status, const char *text)
{
    if (f->status != WF_OK)
        return;
    f->status = status;
    f->text = text;
}

wf_status wf_freeze_begin(wf_context *ctx, wf_arrays inputs)
{
    if (!ctx)
        return WF_ERR_ARG;
    for (size_t i = 0; i < inputs.n; ++i) {
        if (!inputs.at[i] || inputs.at[i]->ctx != ctx)
            return wf__error(ctx, WF_ERR_ARG, "wf_freeze_begin: input %u is %s", (unsigned)i,
                             inputs.at[i] ? "another context's" : "NULL");
        if (!wf__array_usable(inputs.at[i], "wf_freeze_begin"))
            return wf_check(ctx);
    }
    wf_frozen *f = wf__alloc0(sizeof *f);
    uint32_t n = (uint32_t)inputs.n;
    bool ok = f && wf__grow(&f->array, &f->array_cap, n + 1, sizeof(wf_array *));
    if (ok) {
        f->id = wf__alloc0((n + 1) * sizeof *f->id);
        f->expected = wf__alloc0((n + 1) * sizeof *f->expected);
    }
    if (!ok || !f->id || !f->expected || !wf__mutex_init(&f->lock)) {
        if (f) {
            wf__free(f->array);
            wf__free(f->id);
            wf__free(f->expected);
        }
        wf__free(f);
        return wf__error(ctx, WF_ERR_MEMORY, "out of memory for a frozen sequence");
    }
    f->ctx = ctx;
    wf__context_retain(ctx);
    f->thread = wf__thread_this();
    if (n)
        memcpy(f->array, inputs.at, n * sizeof *inputs.at);
    f->array_n = f->inputs = n;
    for (uint32_t i = 0; i < n; ++i)
        f->expected[i] =
            (expected){ inputs.at[i]->dtype, inputs.at[i]->shape, inputs.at[i]->read_only, inputs.at[i]->device };
    wf__mutex_lock(&ctx->lock);
    bool nested = *find(ctx) != NULL;
    if (!nested) {
        f->next = ctx->freezing;
        ctx->freezing = f;
        atomic_fetch_or(&ctx->flags, WF__FREEZING);
    }
    wf__mutex_unlock(&ctx->lock);
    if (!nested)
        return WF_OK;
    wf_frozen_free(f);
    return wf__error(ctx, WF_ERR_ARG, "wf_freeze_begin: this thread is freezing a sequence already");
}

/* The number of an array in the table; UINT32_MAX: the sequence cannot be frozen. */
static uint32_t number_of(wf_frozen *f, wf_array *a)
{
    for (uint32_t i = 0; i < f->array_n; ++i)
        if (f->array[i] == a)
            return i;
    for (uint32_t i = 0; i < f->inputs; ++i)
        if (wf__array_may_meet(f->array[i], a)) {
            fail(f, WF_ERR_UNSUPPORTED,
                 "wf_freeze_end: an array is used that shares memory with an input; make it an input, too");
            return UINT32_MAX;
        }
    if (!wf__grow(&f->array, &f->array_cap, f->array_n + 1, sizeof(wf_array *))) {
        fail(f, WF_ERR_MEMORY, "out of memory for a frozen sequence");
        return UINT32_MAX;
    }
    f->array[f->array_n] = wf_retain(a);
    return f->array_n++;
}

static void note(wf_frozen *f, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays, const uint64_t *param)
{
    uint32_t n = p->object_n;
    if (!wf__grow(&f->step, &f->step_cap, f->step_n + 1, sizeof *f->step)) {
        fail(f, WF_ERR_MEMORY, "out of memory for a frozen sequence");
        return;
    }
    step *s = &f->step[f->step_n];
    *s = (step){ .interpret = p->device == WF_INTERP };
    s->gpu =
        wf__is_gpu(p->device) ? wf__gpu_of(f->ctx, "wf_freeze_end", p->device) : NULL; /* it is open: it ran there */
    s->array = wf__alloc((n + 1) * sizeof *s->array);
    s->written = wf__alloc(n + 1);
    s->param = wf__alloc((p->param_n + 1) * sizeof *s->param);
    s->base = wf__alloc0((n + 1) * sizeof(char *));
    s->name = p->name ? wf__strdup(p->name) : NULL;
    ++f->step_n;
    if (!s->array || !s->written || !s->param || !s->base || (p->name && !s->name)) {
        fail(f, WF_ERR_MEMORY, "out of memory for a frozen sequence");
        return;
    }
    s->plan = e;
    atomic_fetch_add(&e->users, 1);
    if (p->param_n)
        memcpy(s->param, param, p->param_n * sizeof *param);
    for (uint32_t i = 0; i < n && f->status == WF_OK; ++i) {
        s->array[i] = number_of(f, arrays[i]);
        s->written[i] = wf__program_writes(p, i);
    }
}

void wf__freeze_note(wf_context *ctx, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays,
                     const uint64_t *param, wf_status status)
{
    wf__mutex_lock(&ctx->lock);
    wf_frozen *f = *find(ctx); /* this thread's: nobody else changes it */
    wf__mutex_unlock(&ctx->lock);
    if (f && status != WF_OK)
        fail(f, status, "wf_freeze_end: a launch failed");
    else if (f && f->status == WF_OK)
        note(f, p, e, arrays, param);
}

wf_frozen *wf_freeze_end(wf_context *ctx)
{
    if (!ctx)
        return NULL;
    wf__mutex_lock(&ctx->lock);
    wf_frozen **at = find(ctx), *f = *at;
    if (f)
        *at = f->next;
    if (!ctx->freezing)
        atomic_fetch_and(&ctx->flags, ~(uint32_t)WF__FREEZING);
    wf__mutex_unlock(&ctx->lock);
    if (!f)
        wf__error(ctx, WF_ERR_ARG, "wf_freeze_end: this thread is not freezing anything");
    else if (f->status != WF_OK) {
        wf__error(ctx, f->status, "%s", f->text);
        wf_frozen_free(f);
        f = NULL;
    }
    return f;
}

/* ---- running it again ---- */
static wf_status misfit(const wf_frozen *f, uint32_t i, const wf_array *a)
{
    const expected *was = &f->expected[i];
    char now[160], then[160];
    wf__shape_text(&a->shape, now, sizeof now);
    wf__shape_text(&was->shape, then, sizeof then);
    if (a->dtype != was->dtype)
        return wf__error(f->ctx, WF_ERR_DTYPE, "wf_frozen_replay: input %u is %s, was %s", (unsigned)i,
                         wf_dtype_name(a->dtype), wf_dtype_name(was->dtype));
    return wf__error(f->ctx, WF_ERR_SHAPE, "wf_frozen_replay: input %u is %s, was %s", (unsigned)i, now, then);
}

static wf_status check_inputs(const wf_frozen *f, wf_arrays inputs)
{
    for (uint32_t i = 0; i < f->inputs; ++i) {
        const wf_array *a = inputs.at[i];
        const expected *was = &f->expected[i];
        if (!a || a->ctx != f->ctx)
            return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: input %u is %s", (unsigned)i,
                             a ? "another context's" : "NULL");
        if (a)
            wf__array_wait(a); /* for queued work */
        if (!wf__array_usable(a, "wf_frozen_replay"))
            return wf_check(f->ctx);
        bool same = a->dtype == was->dtype && a->shape.rank == was->shape.rank &&
                    !memcmp(a->shape.dim, was->shape.dim, (size_t)a->shape.rank * sizeof *a->shape.dim);
        if (!same)
            return misfit(f, i, a);
        char here[32], there[32];
        if (a->device != was->device)
            return wf__error(f->ctx, WF_ERR_DEVICE,
                             "wf_frozen_replay: input %u is in the memory of %s, was in that of %s", (unsigned)i,
                             wf__device_name(a->device, here), wf__device_name(was->device, there));
        if (a->read_only && !was->read_only)
            return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: input %u is a broadcast view", (unsigned)i);
    }
    return WF_OK;
}

/* Are the arrays of a step laid out as its plan wants? Fills base. */
static wf_status lay_step(const wf_frozen *f, step *s, wf_array **arrays)
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

static wf_status run_step(wf_frozen *f, step *s)
{
    wf__failure failure = { 0 };
    wf_status status = WF_OK;
    if (!wf__run_on(f->ctx, (wf__gpu_on){ .gpu = s->gpu }, &s->plan->plan, s->name, s->base, s->param,
                    &(wf__limits){ 0 }, s->interpret, NULL, &failure))
        status = wf__error(f->ctx, failure.status, "%s%s%s", s->name ? s->name : "", s->name ? ": " : "",
                           wf__str_get(&failure.text));
    wf__str_free(&failure.text);
    return status;
}

/* With arrays that may be others than last time. While there are copies on write, addresses hold for one run only. */
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
    for (int run = 0; run < 2; ++run) /* everything is checked before anything runs */
        for (uint32_t k = 0; status == WF_OK && k < f->step_n; ++k) {
            step *s = &f->step[k];
            uint32_t n = s->plan->plan.objects;
            for (uint32_t i = 0; i < n; ++i)
                arrays[i] = f->array[s->array[i]];
            if (!wf__arrays_begin(f->ctx, arrays, n, s->written, pinned, "wf_frozen_replay"))
                status = WF_ERR_MEMORY;
            if (status == WF_OK && (!run || sharing))
                status = lay_step(f, s, arrays);
            if (status == WF_OK && run)
                status = run_step(f, s);
            wf__arrays_end(f->ctx, n, pinned);
            s->call.entry = NULL;
            if (status == WF_OK && run && !sharing && !s->interpret && !s->gpu)
                wf__prepare(&s->plan->plan, s->base, &s->call);
        }
    for (uint32_t i = 0; status == WF_OK && !sharing && i < f->inputs; ++i)
        f->id[i] = inputs.at[i]->id;
    f->bound = status == WF_OK && !sharing;
    wf__free(arrays);
    wf__free(pinned);
    return status;
}

static bool is_bound(const wf_frozen *f, wf_arrays inputs)
{
    bool same = f->bound && !wf__sharing(f->ctx);
    for (uint32_t i = 0; i < f->inputs && same; ++i)
        same = inputs.at[i] && inputs.at[i]->id == f->id[i];
    return same;
}

wf_status wf_frozen_replay(wf_frozen *f, wf_arrays inputs)
{
    if (!f)
        return WF_ERR_ARG;
    if (inputs.n != f->inputs)
        return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: %u inputs are given, the sequence has %u",
                         (unsigned)inputs.n, (unsigned)f->inputs);
    wf_status status = WF_OK;
    wf__mutex_lock(&f->lock);
    if (is_bound(f, inputs)) {
        for (uint32_t k = 0; k < f->step_n && status == WF_OK; ++k) {
            step *s = &f->step[k];
            if (s->call.entry)
                wf__engine_run_prepared(f->ctx->engine, &s->call, s->param);
            else
                status = run_step(f, s);
        }
    } else
        status = replay_anew(f, inputs);
    wf__mutex_unlock(&f->lock);
    return status;
}
