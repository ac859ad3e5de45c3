/* freeze.c - a sequence of launches, noted while it runs, and run again with other inputs: no recording, no key, no
 * plan.
 *
 * What can be frozen is decided here. While a thread notes, launches say so (wf__freeze_note), so does everything that
 * gets at contents without one (wf__freeze_host), what cannot be frozen at all (wf_freeze_refuse), and every error
 * (wf__freeze_failed). The first that does not fit is the message of wf_freeze_end.
 */
#include "launch/launch.h"
#include <stdio.h>

typedef struct step {     /* one launch */
    wf__plan_entry *plan; /* used */
    bool interpret;
    wf__gpu *gpu;    /* NULL: the processor */
    char *name;      /* label; NULL: none */
    wf__str where;   /* what messages call the recording */
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
    bool viewed;                 /* there are aliases of it: strides count */
    int64_t stride[WF_MAX_RANK]; /* then */
} expected;

typedef struct alias { /* a view of an input, made anew for each replay with others */
    uint32_t number, input;
    int64_t offset; /* bytes from the input's first element */
    wf_dtype dtype;
    wf_shape shape;
    int64_t stride[WF_MAX_RANK];
    bool read_only;
} alias;

struct wf_frozen {
    wf_context *ctx;
    wf_frozen *next; /* of those that are being noted, under the context's lock */
    wf__thread thread;
    wf__mutex lock; /* of all that follows, once it is made */
    step *step;
    uint32_t step_n, step_cap;
    wf_array **array;   /* inputs (retained while it is noted), then what else was used, retained */
    uint64_t *id;       /* of the inputs bound now; 0: none */
    expected *expected; /* the same */
    int64_t
        *apart;  /* of each two inputs, in the order of pair_of: bytes from one to the other; APART: no common ones */
    bool bound;  /* calls and addresses hold for these */
    bool turned; /* the latest replay was, see wf__cpu_run_prepared */
    uint32_t array_n, array_cap, inputs;
    alias *alias;
    uint32_t alias_n, alias_cap;
    wf_array **filled; /* by the host, while it is noted: retained until its end */
    uint32_t filled_n, filled_cap;
    wf_status status; /* of noting */
    char text[1200];
};

enum { APART = INT64_MIN };

/* ---- inputs that share memory ---- */
static size_t pair_of(uint32_t i, uint32_t j) { return (size_t)i * (i - 1) / 2 + j; } /* j < i */

static int64_t way_between(const wf_array *a, const wf_array *b)
{
    if (!wf__array_may_meet(a, b))
        return APART;
    wf__mutex_lock(&a->ctx->share_lock); /* who writes a copy may move both */
    int64_t way = (int64_t)((uintptr_t)a->base - (uintptr_t)b->base);
    wf__mutex_unlock(&a->ctx->share_lock);
    return way;
}

/* Each launch sees how its own arrays overlap; what goes from launch to launch depends on this. */
static wf_status check_pairs(const wf_frozen *f, wf_arrays inputs)
{
    for (uint32_t i = 1; i < f->inputs; ++i)
        for (uint32_t j = 0; j < i; ++j) {
            int64_t was = f->apart[pair_of(i, j)], is = way_between(inputs.at[i], inputs.at[j]);
            if (is != was)
                return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: inputs %u and %u %s", (unsigned)j, (unsigned)i,
                                 was == APART  ? "have common memory, and had none"
                                 : is == APART ? "have no common memory, and had some"
                                               : "overlap in another way than they did");
        }
    return WF_OK;
}

/* ---- noting ---- */
static wf_frozen **find(wf_context *ctx) /* under the lock: where this thread's is, or the end */
{
    wf_frozen **at = &ctx->launcher->freezing;
    while (*at && !wf__thread_is_this((*at)->thread))
        at = &(*at)->next;
    return at;
}

/* What the calling thread notes; NULL: nothing. */
static wf_frozen *noting(wf_context *ctx)
{
    if (!wf__is_freezing(ctx))
        return NULL;
    wf__mutex_lock(&ctx->lock);
    wf_frozen *f = *find(ctx); /* nobody else changes it */
    wf__mutex_unlock(&ctx->lock);
    return f;
}

bool wf__freezes(wf_context *ctx) { return noting(ctx) != NULL; }

static void free_step(wf_context *ctx, step *s)
{
    wf__plan_release(ctx, s->plan);
    wf__prepared_free(&s->call);
    wf__free(s->name);
    wf__str_free(&s->where);
    wf__free(s->array);
    wf__free(s->written);
    wf__free(s->param);
    wf__free(s->base);
}

static void drop_aliases(wf_frozen *f)
{
    for (uint32_t i = 0; i < f->alias_n; ++i) {
        wf_release(f->array[f->alias[i].number]);
        f->array[f->alias[i].number] = NULL;
    }
}

/* What is needed only until the sequence is complete. */
static void end_noting(wf_frozen *f)
{
    drop_aliases(f);
    for (uint32_t i = 0; i < f->inputs; ++i)
        wf_release(f->array[i]);
    for (uint32_t i = 0; i < f->filled_n; ++i)
        wf_release(f->filled[i]);
    wf__free(f->filled);
    f->filled = NULL;
    f->filled_n = 0;
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
    wf__free(f->apart);
    wf__free(f->alias);
    wf__mutex_free(&f->lock);
    wf__free(f);
    wf__context_release(ctx);
}

static void fail(wf_frozen *f, wf_status status, const char *format, ...) WF__PRINTF(3, 4);
static void fail(wf_frozen *f, wf_status status, const char *format, ...)
{
    va_list args;
    if (f->status != WF_OK)
        return;
    f->status = status;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

static void no_memory(wf_frozen *f) { fail(f, WF_ERR_MEMORY, "out of memory for a frozen sequence"); }

void wf__freeze_failed(wf_context *ctx, wf_status status, const char *text)
{
    wf_frozen *f = noting(ctx);
    if (f)
        fail(f, status, "wf_freeze_end: nothing is frozen, as a call in between failed: %s", text);
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
            return wf_last_status(ctx);
    }
    wf_frozen *f = wf__alloc0(sizeof *f);
    uint32_t n = (uint32_t)inputs.n;
    bool ok = f && wf__grow(&f->array, &f->array_cap, n + 1, sizeof(wf_array *));
    if (ok) {
        f->id = wf__alloc0((n + 1) * sizeof *f->id);
        f->expected = wf__alloc0((n + 1) * sizeof *f->expected);
        f->apart = wf__alloc(pair_of(n + 1, 0) * sizeof *f->apart + 1);
    }
    if (!ok || !f->id || !f->expected || !f->apart || !wf__mutex_init(&f->lock)) {
        if (f) {
            wf__free(f->array);
            wf__free(f->id);
            wf__free(f->expected);
            wf__free(f->apart);
        }
        wf__free(f);
        return wf__error(ctx, WF_ERR_MEMORY, "out of memory for a frozen sequence");
    }
    f->ctx = ctx;
    wf__context_retain(ctx);
    f->thread = wf__thread_this();
    for (uint32_t i = 0; i < n; ++i)
        f->array[i] = wf_retain(inputs.at[i]);
    f->array_n = f->inputs = n;
    for (uint32_t i = 0; i < n; ++i)
        f->expected[i] = (expected){ .dtype = inputs.at[i]->dtype,
                                     .shape = inputs.at[i]->shape,
                                     .read_only = inputs.at[i]->read_only,
                                     .device = inputs.at[i]->device };
    for (uint32_t i = 1; i < n; ++i)
        for (uint32_t j = 0; j < i; ++j)
            f->apart[pair_of(i, j)] = way_between(inputs.at[i], inputs.at[j]);
    wf__mutex_lock(&ctx->lock);
    bool nested = *find(ctx) != NULL;
    if (!nested) {
        f->next = ctx->launcher->freezing;
        ctx->launcher->freezing = f;
        atomic_fetch_or(&ctx->flags, WF__FREEZING);
    }
    wf__mutex_unlock(&ctx->lock);
    if (!nested)
        return WF_OK;
    end_noting(f);
    wf_frozen_free(f);
    return wf__error(ctx, WF_ERR_ARG, "wf_freeze_begin: this thread is freezing a sequence already");
}

/* Notes that the array after those of the table is a view of an input. false: it is not, or more than that. */
static bool note_alias(wf_frozen *f, const wf_array *a, uint32_t input)
{
    const wf_array *of = f->array[input];
    alias v = { f->array_n, input, 0, a->dtype, a->shape, { 0 }, a->read_only };
    memcpy(v.stride, a->stride, sizeof v.stride);
    wf__mutex_lock(&f->ctx->share_lock); /* who writes a copy may move both */
    bool inside = a->buffer == of->buffer && a->lo >= of->lo && a->hi <= of->hi;
    v.offset = inside ? a->base - of->base : 0;
    wf__mutex_unlock(&f->ctx->share_lock);
    if (!inside)
        return false;
    if (!wf__grow(&f->alias, &f->alias_cap, f->alias_n + 1, sizeof *f->alias)) {
        no_memory(f);
        return true;
    }
    f->alias[f->alias_n++] = v;
    f->expected[input].viewed = true;
    memcpy(f->expected[input].stride, of->stride, sizeof of->stride);
    return true;
}

/* The number of an array in the table; UINT32_MAX: the sequence cannot be frozen. */
static uint32_t number_of(wf_frozen *f, wf_array *a, const char *name)
{
    for (uint32_t i = 0; i < f->array_n; ++i)
        if (f->array[i] == a)
            return i;
    if (!wf__grow(&f->array, &f->array_cap, f->array_n + 1, sizeof(wf_array *))) {
        no_memory(f);
        return UINT32_MAX;
    }
    uint32_t of = f->inputs;
    bool found = false;
    for (uint32_t i = 0; i < f->inputs && !found; ++i)
        if (wf__array_may_meet(f->array[i], a)) {
            of = i;
            found = note_alias(f, a, i);
        }
    if (of < f->inputs && !found)
        fail(f, WF_ERR_UNSUPPORTED,
             "wf_freeze_end: launch %u%s%s%s uses an array that has memory of input %u and more; make it an input, too",
             (unsigned)f->step_n, name ? " ('" : "", name ? name : "", name ? "')" : "", (unsigned)of);
    if (f->status != WF_OK)
        return UINT32_MAX;
    f->array[f->array_n] = wf_retain(a);
    return f->array_n++;
}

/* What the host gave an array once is not there again when a launch has changed it. */
static void check_filled(wf_frozen *f, const wf_array *written)
{
    for (uint32_t i = 0; i < f->filled_n; ++i)
        if (wf__array_may_meet(f->filled[i], written))
            fail(f, WF_ERR_UNSUPPORTED,
                 "wf_freeze_end: launch %u changes an array that the host had access to since wf_freeze_begin (by "
                 "wf_map, wf_upload, ...), and a replay would not restore it; do that before wf_freeze_begin",
                 (unsigned)f->step_n);
}

static void note(wf_frozen *f, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays, const uint64_t *param)
{
    uint32_t n = p->object_n;
    if (!wf__grow(&f->step, &f->step_cap, f->step_n + 1, sizeof *f->step)) {
        no_memory(f);
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
    wf__add_where(p, &s->where);
    ++f->step_n;
    if (!s->array || !s->written || !s->param || !s->base || (p->name && !s->name)) {
        no_memory(f);
        return;
    }
    s->plan = e;
    atomic_fetch_add(&e->users, 1);
    if (p->param_n)
        memcpy(s->param, param, p->param_n * sizeof *param);
    for (uint32_t i = 0; i < n && f->status == WF_OK; ++i) {
        s->array[i] = number_of(f, arrays[i], s->name);
        s->written[i] = wf__program_writes(p, i);
        if (s->written[i])
            check_filled(f, arrays[i]);
    }
}

void wf__freeze_note(wf_context *ctx, const wf__program *p, wf__plan_entry *e, wf_array *const *arrays,
                     const uint64_t *param)
{
    wf_frozen *f = noting(ctx);
    if (f && f->status == WF_OK)
        note(f, p, e, arrays, param);
}

/* ---- what the host does in between ---- */
/* Is the array's memory an input's, or written by a launch; or (`reads`) read by one? */
static bool is_used(const wf_frozen *f, const wf_array *a, bool reads)
{
    bool used = false;
    for (uint32_t i = 0; i < f->inputs && !used; ++i)
        used = wf__array_may_meet(f->array[i], a);
    for (uint32_t k = 0; k < f->step_n && !used; ++k) {
        const step *s = &f->step[k];
        for (uint32_t i = 0; i < s->plan->plan.objects && !used; ++i)
            used = (reads || s->written[i]) && wf__array_may_meet(f->array[s->array[i]], a);
    }
    return used;
}

void wf__freeze_host(const wf_array *a, bool fills, const char *function)
{
    wf_frozen *f = noting(a->ctx);
    if (!f || f->status != WF_OK)
        return;
    if (is_used(f, a, fills)) {
        const char *to = fills ? "gives the host access to" : "reads";
        fail(f, WF_ERR_UNSUPPORTED,
             "wf_freeze_end: %s cannot be in a frozen sequence: it %s contents on which the sequence depends, and a "
             "replay would not do that again; do it before wf_freeze_begin or after wf_freeze_end",
             function, to);
    } else if (fills && !wf__grow(&f->filled, &f->filled_cap, f->filled_n + 1, sizeof(wf_array *)))
        no_memory(f);
    else if (fills)
        f->filled[f->filled_n++] = wf_retain((wf_array *)(uintptr_t)a);
}

void wf_freeze_refuse(wf_context *ctx, const char *function, const char *why)
{
    wf_frozen *f = ctx ? noting(ctx) : NULL;
    if (f)
        fail(f, WF_ERR_UNSUPPORTED, "wf_freeze_end: %s cannot be in a frozen sequence%s%s", function ? function : "",
             why ? ": " : "", why ? why : "");
}

wf_frozen *wf_freeze_end(wf_context *ctx)
{
    if (!ctx)
        return NULL;
    wf__mutex_lock(&ctx->lock);
    wf_frozen **at = find(ctx), *f = *at;
    if (f)
        *at = f->next;
    if (!ctx->launcher->freezing)
        atomic_fetch_and(&ctx->flags, ~(uint32_t)WF__FREEZING);
    wf__mutex_unlock(&ctx->lock);
    if (f)
        end_noting(f);
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
        const expected *was = &f->expected[i];
        if (!a || a->ctx != f->ctx)
            return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: input %u is %s", (unsigned)i,
                             a ? "another context's" : "NULL");
        if (!wf__array_usable(a, "wf_frozen_replay"))
            return wf_last_status(f->ctx);
        wf__array_wait(a); /* what it was to be made of may have been queued just now */
        bool same = a->dtype == was->dtype && a->shape.rank == was->shape.rank &&
                    !memcmp(a->shape.dim, was->shape.dim, (size_t)a->shape.rank * sizeof *a->shape.dim);
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
        if (a->read_only && !was->read_only)
            return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: input %u is a broadcast view", (unsigned)i);
    }
    return check_pairs(f, inputs);
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
    if (!wf__execute_plan(f->ctx, (wf__gpu_on){ .gpu = s->gpu }, &s->plan->plan, s->name, wf__str_get(&s->where),
                          s->base, s->param, &(wf__limits){ 0 }, s->interpret, NULL, &failure))
        status = wf__error(f->ctx, failure.status, "wf_frozen_replay: launch %u: %s%s", (unsigned)(s - f->step) + 1,
                           wf__str_get(&failure.text), wf__str_get(&s->where));
    wf__str_free(&failure.text);
    return status;
}

/* Views of the inputs that are in the table now. */
static wf_status make_aliases(wf_frozen *f)
{
    for (uint32_t i = 0; i < f->alias_n; ++i) {
        const alias *v = &f->alias[i];
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
    if (status == WF_OK)
        status = make_aliases(f);
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
                wf__cpu_prepare(&s->plan->plan, s->base, &s->call);
        }
    for (uint32_t i = 0; status == WF_OK && !sharing && i < f->inputs; ++i)
        f->id[i] = inputs.at[i]->id;
    f->bound = status == WF_OK && !sharing;
    drop_aliases(f);
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

/* A replay is a launch without a stream: it comes after what is queued with any of its arrays. */
static void wait_for_queued(const wf_frozen *f, wf_arrays inputs)
{
    if (!atomic_load_explicit(&f->ctx->streaming, memory_order_acquire))
        return;
    for (uint32_t i = 0; i < f->array_n; ++i) { /* views of inputs are not there now, and are of their memory */
        const wf_array *a = i < f->inputs ? inputs.at[i] : f->array[i];
        if (a)
            wf__array_wait(a);
    }
}

wf_status wf_frozen_replay(wf_frozen *f, wf_arrays inputs)
{
    if (!f)
        return WF_ERR_ARG;
    if (inputs.n != f->inputs)
        return wf__error(f->ctx, WF_ERR_ARG, "wf_frozen_replay: %u inputs are given, the sequence has %u",
                         (unsigned)inputs.n, (unsigned)f->inputs);
    wf_status status = WF_OK;
    wf_freeze_refuse(f->ctx, "wf_frozen_replay", "its launches are not noted again");
    wf__mutex_lock(&f->lock);
    wait_for_queued(f, inputs);
    if (is_bound(f, inputs)) {
        f->turned = !f->turned;
        for (uint32_t k = 0; k < f->step_n && status == WF_OK; ++k) {
            step *s = &f->step[k];
            if (s->call.entry)
                wf__cpu_run_prepared(f->ctx->engine, &s->call, s->param, &(wf__limits){ 0 }, f->turned);
            else
                status = run_step(f, s);
        }
    } else
        status = replay_anew(f, inputs);
    wf__mutex_unlock(&f->lock);
    return status;
}
