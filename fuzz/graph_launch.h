/* graph_launch.h - for fuzz_graph.c: a recording is made into a kernel once, and launched many times: with other arrays
 * and earlier ones, over other spaces, with other parameters, and with arguments that do not fit. After each launch the
 * arrays must hold what the same recording, made anew over the arrays themselves, leaves in the interpreter.
 *
 * The launches are drawn from the end of the input, backwards.
 */
#ifndef WEFT_GRAPH_LAUNCH_H
#define WEFT_GRAPH_LAUNCH_H
#include "graph_record.h"
#include "graph_sets.h"

/* ---- arguments ---- */
typedef struct fz_args {
    wf_arg at[MOST_ARRAYS + MOST_KEPT + MOST_PARAMS + 1];
    char name[MOST_ARRAYS + MOST_KEPT + MOST_PARAMS + 1][16];
    size_t n;
} fz_args;

static const char *next_name(fz_args *args, char kind, int k)
{
    snprintf(args->name[args->n], sizeof args->name[0], "%c%d", kind, k);
    return args->name[args->n];
}

static void add_array_arg(fz_args *args, char kind, int k, wf_array *a)
{
    const char *name = next_name(args, kind, k);
    args->at[args->n++] = wf__arg_array(name, a);
}

/* Binds the arrays for which the recording made formals. */
static void bind(fz_args *args, const recorder *r, const fz_setup *set, wf_array *const *kept)
{
    args->n = 0;
    for (int k = 0; k < set->arrays; ++k)
        if (r->formal[k])
            add_array_arg(args, 'a', k, set->array[k].a);
    for (int k = 0; k < r->kept_n; ++k)
        add_array_arg(args, 'k', k, kept[k]);
}

static wf_args args_of(const fz_args *args) { return (wf_args){ args->at, args->n }; }

/* ---- launches ---- */
enum { MOST_SETS = 6 }; /* more than the sets of arrays that a kernel remembers */

typedef struct launches {
    wf_context *ctx[SIDES];
    fz_reader in, start; /* in: decisions of this file; start: those of a recording */
    fz_again again;
    double initial[MOST_PARAMS];
    fz_setup shapes; /* of the first set; it does not own the arrays */
    recorder *first; /* recorded with formals */
    wf_kernel *kernel;
    fz_known known;
    fz_both both[MOST_SETS];
    bool contents_only; /* sets differ in contents and extents only */
    fz_args args;
    wf_stream *stream; /* NULL: launches are not queued */
} launches;

static unsigned decide(launches *w, unsigned below) { return fz_take(&w->in, below); }

/* Records over a side's arrays, which the side goes on to own. */
static recorder *recorder_over(const fz_side *side, way how, fz_reader start, fz_again *again)
{
    recorder *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->ctx = side->ctx;
    r->how = how;
    r->in = start;
    r->again = again;
    r->set = side->set;
    for (int b = 0; b < r->set.buffers; ++b)
        r->set.buffer[b].writer = r->set.buffer[b].read = 0;
    r->first_arrays = r->set.arrays;
    return r;
}

static void free_recorder_over(recorder *r)
{
    for (int k = 0; k < r->kept_n; ++k)
        wf_release(r->kept[k]);
    free(r);
}

static void make_first(launches *w, const uint8_t *data, size_t size)
{
    for (int s = 0; s < SIDES; ++s) {
        w->both[0].side[s].ctx = w->ctx[s];
        w->start = fz_open(data, size);
        fz_make_arrays(w->ctx[s], &w->start, &w->both[0].side[s].set);
    }
    w->shapes = w->both[0].side[0].set;
    for (int k = 1; k < MOST_SETS; ++k)
        for (int s = 0; s < SIDES; ++s)
            w->both[k].side[s].ctx = w->ctx[s];
    w->both[0].made = w->both[0].alike = true;
}

/* Returns the arrays that the recording writes, even if folding removes the write, and others of their buffers. */
static uint32_t written_by(const recorder *r)
{
    uint32_t written = 0;
    for (int k = 0; k < r->set.arrays; ++k) {
        int b = r->set.array[k].buffer;
        written |= (uint32_t)(r->set.buffer[b].writer || r->written >> b & 1) << k;
    }
    return written;
}

/* With WEFT_FUZZ_TRACE=1 prints the recording with its formals, and the arguments of each launch. */
static void trace_kernel(const launches *w, const wf_kernel *k)
{
    static char text[1 << 20];
    size_t n;
    if (!getenv("WEFT_FUZZ_TRACE"))
        return;
    wf_kernel_dump(k, (wf_args){ NULL, 0 }, WF_DUMP_TRACE, text, sizeof text, &n);
    fprintf(stderr, "-- a kernel%s\n%s\n", w->again.open ? ", over any extents" : "", text);
}

static void trace_launch(const launches *w, const fz_both *both)
{
    const fz_setup *set = &both->side[TESTED].set;
    if (!getenv("WEFT_FUZZ_TRACE"))
        return;
    fprintf(stderr, "-- launch with set %d%s%s\n", (int)(both - w->both), both->resized ? ", other extents" : "",
            w->again.literal ? ", as constants anew" : "");
    for (size_t i = 0; i < w->args.n; ++i) {
        const wf_array *a = w->args.at[i].as.array;
        if (w->args.at[i].kind != WF_ARG_ARRAY) {
            fprintf(stderr, "%s: %.17g\n", w->args.at[i].name, w->args.at[i].as.val.h.num);
            continue;
        }
        fprintf(stderr, "%s: %s", w->args.at[i].name, wf_dtype_name(a->dtype));
        for (int d = 0; d < a->shape.rank; ++d)
            fprintf(stderr, " %lld:%lld", (long long)a->shape.dim[d], (long long)a->stride[d]);
        fprintf(stderr, " at %p\n", (void *)a->base);
    }
    for (int b = 0; b < set->buffers; ++b)
        fprintf(stderr, "buffer %d: %lld elements\n", b, (long long)wf_array_count(set->buffer[b].whole));
}

static void compile(launches *w, fz_reader start, bool atomics)
{
    recorder *r = w->first = recorder_over(&w->both[0].side[TESTED], KERNEL, start, &w->again);
    r->atomics = atomics;
    w->again.notes = true;
    begin(r);
    record(r);
    w->again.notes = false;
    memcpy(w->initial, w->again.value, sizeof w->initial);
    w->kernel = wf_compile(r->g);
    made(r, w->kernel);
    trace_kernel(w, w->kernel);
    w->known = (fz_known){ &r->set, r->set.kind == KIND_ARRAYS && !r->whole_blocks, written_by(r) };
}

/* ---- the same, recorded anew ---- */
static void run_anew(launches *w, fz_both *both)
{
    fz_side *side = &both->side[ORACLE];
    w->again.kept = side->kept;
    w->again.kept_as = both->kept_as;
    recorder *r = recorder_over(side, LAZY, w->start, &w->again);
    r->atomics = w->first->atomics;
    begin(r);
    record(r);
    check(r, wf_run(r->g));
    free_recorder_over(r);
    w->again.kept = NULL;
}

/* Makes missing results of the tested side, with the properties of the oracle's. */
static void make_results(launches *w, fz_both *both)
{
    fz_side *like = &both->side[ORACLE], *side = &both->side[TESTED];
    for (int k = 0; k < w->first->kept_n; ++k) {
        int as = both->kept_as[k];
        bool shared = as && as <= like->set.arrays && like->kept[k] == like->set.array[as - 1].a;
        if (!side->kept[k])
            side->kept[k] =
                shared ? wf_retain(side->set.array[as - 1].a)
                       : wf_empty_with(side->ctx, wf_array_dtype(like->kept[k]), wf_array_shape(like->kept[k]), NULL);
        must(side->ctx, side->kept[k] != NULL);
    }
}

/* ---- one launch ---- */
static void choose_parameters(launches *w)
{
    static const double values[] = { 0, 1, 2, 3, 100, -1, 0.5, -2.75, 1e10, 65504 };
    for (int p = 0; p < w->again.params; ++p) {
        double x = values[decide(w, FZ_COUNT(values))];
        w->again.value[p] = w->initial[p];
        if (decide(w, 2) && wf_number_fits(x, w->again.dtype[p]))
            w->again.value[p] = x;
    }
}

static void bind_parameters(launches *w)
{
    for (int p = 0; p < w->again.params; ++p)
        if (memcmp(&w->again.value[p], &w->initial[p], sizeof(double)) != 0) {
            const char *name = next_name(&w->args, 'p', p);
            w->args.at[w->args.n++] = wf__arg_val(name, WF_V(w->again.value[p]));
        }
}

/* Reverses the order of the arguments. */
static void turn_round(fz_args *args)
{
    for (size_t i = 0; i < args->n / 2; ++i) {
        wf_arg a = args->at[i];
        args->at[i] = args->at[args->n - 1 - i];
        args->at[args->n - 1 - i] = a;
    }
}

static void choose_options(launches *w, const fz_both *both, wf_launch_opts *o)
{
    static const int32_t block_threads[] = { 0, 0, 32, 256 };
    static const int64_t serial[] = { 0, 0, 1, 1 << 20 };
    *o = (wf_launch_opts){ .size = sizeof *o };
    if (indexed(w->first) && (both->resized || decide(w, 2)))
        o->shape = both->side[TESTED].set.space;
    if (decide(w, 3) == 0) {
        o->threads = (int32_t)decide(w, 4);
        o->serial_below = serial[decide(w, 4)];
        o->block_threads = block_threads[decide(w, 4)];
    }
    o->stream = decide(w, 2) ? w->stream : NULL;
}

static wf_status launch_over(launches *w, const fz_both *both)
{
    wf_launch_opts o;
    choose_options(w, both, &o);
    return wf_launch_with(w->kernel, args_of(&w->args), &o);
}

static void launch_and_compare(launches *w, fz_both *both)
{
    const fz_side *side = &both->side[TESTED];
    choose_parameters(w);
    w->again.literal = decide(w, 3) == 0;
    run_anew(w, both);
    make_results(w, both);
    bind(&w->args, w->first, &side->set, side->kept);
    bind_parameters(w);
    if (decide(w, 3) == 0)
        turn_round(&w->args);
    trace_launch(w, both);
    check(w->first, launch_over(w, both));
    if (w->stream && decide(w, 2))
        return; /* the next step finds the launch still running */
    expect_both_same(both, "a kernel's launch and the recording made anew");
}

/* ---- what does not fit ---- */
/* Returns an array with another dtype, or with another rank, than this one. */
static wf_array *misfit_of(wf_context *ctx, const wf_array *a, bool dtype)
{
    wf_shape shape = wf_array_shape(a);
    wf_dtype t = wf_array_dtype(a);
    if (dtype)
        t = t == WF_F32 ? WF_I32 : WF_F32;
    else if (shape.rank < WF_MAX_RANK)
        shape.dim[shape.rank++] = 1;
    else
        --shape.rank;
    wf_array *misfit = wf_full(ctx, t, shape, 0);
    must(ctx, misfit != NULL);
    return misfit;
}

/* Launches with wrong arguments: the launch must fail and change nothing. */
static void launch_wrongly(launches *w, fz_both *both)
{
    const fz_side *side = &both->side[TESTED];
    wf_array *misfit = NULL;
    fz_args *args = &w->args;
    if (!both->made || (w->first->kept_n && !side->kept[0]))
        return;
    bind(args, w->first, &side->set, side->kept);
    unsigned form = decide(w, 8), at = decide(w, (unsigned)args->n);
    wf_arg *arg = &args->at[at];
    if (form < 6 && !args->n)
        return;
    if (form == 0 || form == 1)
        arg->as.array = misfit = misfit_of(side->ctx, arg->as.array, form);
    else if (form == 2)
        /* an array of another context or dtype */
        arg->as.array = misfit = misfit_of(w->ctx[ORACLE], arg->as.array, true);
    else if (form == 3)
        *arg = args->at[--args->n]; /* an argument is missing */
    else if (form == 4)
        arg->as.array = NULL;
    else if (form == 5) {
        args->at[args->n] = *arg; /* one argument twice */
        ++args->n;
    } else if (form == 6)
        add_array_arg(args, 'x', 0, side->set.array[0].a);
    else {
        int p = 0;
        while (p < w->again.params && (w->again.dtype[p] >= WF_F16 || w->again.dtype[p] == WF_BOOL))
            ++p;
        if (p == w->again.params)
            return;
        const char *name = next_name(args, 'p', p);
        args->at[args->n++] = wf__arg_val(name, WF_V(0.5)); /* a parameter that may be an integer */
    }
    wf_status status = launch_over(w, both);
    if (status == WF_OK || wf_last_status(side->ctx) != status || !*wf_last_message(side->ctx)) {
        fprintf(stderr, "a launch with what does not fit (%u, '%s'): %s\n", form, arg->name, wf_status_name(status));
        abort();
    }
    wf_clear_error(side->ctx);
    wf_clear_error(w->ctx[ORACLE]);
    wf_release(misfit);
    expect_both_same(both, "what a launch left that failed");
}

/* Launches with arrays that are larger than the space. This is an error or not, depending on the recording. Other
 * arrays must not change in either case. */
static void launch_too_large(launches *w)
{
    fz_both larger = { .made = false };
    fz_change c = { .times = 1, .plus = 1, .in = w->in };
    const fz_setup *set = &w->shapes;
    if (!indexed(w->first) || !may_resize(set, &c))
        return;
    for (int s = 0; s < SIDES; ++s)
        larger.side[s].ctx = w->ctx[s];
    make_both(&larger, set, &w->known, &c);
    for (int k = 0; k < w->first->kept_n; ++k)
        larger.side[TESTED].kept[k] = wf_retain(w->first->kept[k]);
    bind(&w->args, w->first, &larger.side[TESTED].set, larger.side[TESTED].kept);
    wf_launch_with(w->kernel, args_of(&w->args), NULL);
    must(w->ctx[TESTED], wf_sync(w->ctx[TESTED]) == WF_OK);
    wf_clear_error(w->ctx[TESTED]);
    free_both(&larger);
}

/* ---- many ---- */
/* Returns an existing set or a new one, which may replace an existing set. */
static fz_both *choose_set(launches *w, bool resizes)
{
    unsigned k = decide(w, MOST_SETS);
    bool anew = decide(w, 4) == 0;
    fz_both *both = &w->both[k];
    if (both->made && (!anew || k == 0))
        return both;
    fz_change c = choose_change(&w->in, &w->shapes, resizes);
    if (w->contents_only)
        c = (fz_change){ .times = c.times, .plus = c.plus, .in = c.in };
    free_both(both);
    make_both(both, &w->shapes, &w->known, &c);
    return both;
}

static launches *new_launches(wf_context *oracle, wf_context *tested, const uint8_t *data, size_t size)
{
    launches *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    w->ctx[ORACLE] = oracle;
    w->ctx[TESTED] = tested;
    w->in = fz_open_back(data, size);
    w->stream = decide(w, 4) == 1 ? wf_stream_new(tested, 0) : NULL;
    if (decide(w, 8) == 1)
        wf_set_flags(tested, WF_FLAG_HISTORY, 0);
    make_first(w, data, size);
    return w;
}

static void free_launches(launches *w)
{
    wf_stream_free(w->stream);
    for (int k = 0; k < MOST_SETS; ++k) {
        if (w->both[k].made)
            expect_both_same(&w->both[k], "in the end, a kernel's launches and the recording made anew");
        free_both(&w->both[k]);
    }
    wf_history(w->ctx[TESTED], NULL, 0);
    wf_set_flags(w->ctx[TESTED], 0, WF_FLAG_HISTORY);
    free(w);
}

static void compare_launches(wf_context *oracle, wf_context *tested, const uint8_t *data, size_t size)
{
    launches *w = new_launches(oracle, tested, data, size);
    w->again.open = decide(w, 2);
    compile(w, w->start, fz_open(data, size).random % 4 == 3);
    unsigned n = fz_on_gpu ? 2 + decide(w, 4) : 3 + decide(w, 20);
    fz_both *both = &w->both[0];
    for (unsigned i = 0; i < n; ++i) {
        both = !i || decide(w, 2) ? both : choose_set(w, w->again.open);
        launch_and_compare(w, both);
        for (unsigned k = decide(w, 3); k > 0; --k)
            disturb(both, &w->in, w->stream, true);
        if (decide(w, 4) == 0)
            launch_wrongly(w, both);
        if (decide(w, 8) == 7)
            launch_too_large(w);
    }
    wf_kernel_free(w->kernel);
    free_recorder_over(w->first);
    free_launches(w);
}
#endif
