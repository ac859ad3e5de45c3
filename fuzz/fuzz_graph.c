/* fuzz_graph.c - makes a random recording over all operations and dtypes from bytes. It must compute the same bits in
 * each of these ways:
 *
 *   interpreter      with folding and value numbering
 *   CPU              with both, and without either
 *   interpreter      without folding and value numbering
 *   as a kernel      the arrays are formals, bound at launch
 *   in turns         array graphs: wf_eval runs them again and again while they are recorded (graph_eval.h)
 *   naively          array graphs: every operation runs at once, in a graph of its own, on whole arrays;
 *                    index spaces: every point is a recording of its own, run one after the other
 *
 * and with other sets of arrays, which the end of the input decides:
 *
 *   launched         one kernel many times, beside the recording made anew each time (graph_launch.h)
 *   replayed         a frozen sequence of several recordings, beside the same recordings made anew (graph_frozen.h)
 *
 * The naive ways have no stages, fusion, layouts, hazards or blocks: they are the meaning of the public API.
 * NaN equals NaN: where the bits of a NaN could be seen (bitcast, copysign), the NaN is replaced first.
 *
 * WEFT_FUZZ_DEVICE=cuda-emu (or cuda:0) compares the interpreter with that device instead: recordings, kernels, fast
 * math, debug mode, turns, launches and replays, all arrays in the device's memory. Now and then ptxas, if it is
 * installed, assembles the kernels.
 *
 * ctest: devices
 */
#include "graph_frozen.h"
#include "graph_ptxas.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int assemble_for; /* 10 x the compute capability for which ptxas assembles kernels; 0: ptxas is not used */

/* ---- one run ---- */
/* With WEFT_FUZZ_TRACE=1 prints the recording and the plan, to examine a mismatch; of kernels, with and without
 * folding. */
static void trace(const recorder *r, const wf_kernel *k, wf_args args)
{
    static char text[1 << 20];
    if (!getenv("WEFT_FUZZ_TRACE"))
        return;
    for (int i = 0; i < r->set.arrays; ++i) {
        const fz_array *a = &r->set.array[i];
        int64_t stride[WF_MAX_RANK];
        void *data = NULL;
        if (wf_array_device(a->a) >= WF_GPU(0))
            wf_map_device(a->a, &data, stride);
        else
            wf_map(a->a, &data, stride);
        fprintf(stderr, "a%d: %s in buffer %d,", i, wf_dtype_name(a->dtype), a->buffer);
        for (int d = 0; d < a->shape.rank; ++d)
            fprintf(stderr, " %lld:%lld", (long long)a->shape.dim[d], (long long)stride[d]);
        fprintf(stderr, " at %p\n", data);
    }
    size_t n;
    wf_kernel_dump(k, args, WF_DUMP_TRACE, text, sizeof text, &n);
    fprintf(stderr, "%s\n", text);
    wf_kernel_dump(k, args, WF_DUMP_KERNELS, text, sizeof text, &n);
    fprintf(stderr, "%s\n", text);
}

static void launch(recorder *r)
{
    wf_kernel *k = wf_compile(r->g);
    if (!k)
        check(r, wf_last_status(r->ctx));
    fz_args args;
    bind(&args, r, &r->set, r->kept);
    trace(r, k, args_of(&args));
    if (assemble_for)
        fz_assemble(r->ctx, k, args_of(&args), assemble_for);
    check(r, wf_launch_with(k, args_of(&args), NULL));
    wf_kernel_free(k);
}

static void run_points(recorder *r, fz_reader start)
{
    const wf_shape *s = &r->set.space;
    bool any = fz_points(s) > 0;
    while (any) {
        r->in = start;
        r->n = r->vars = r->params = 0;
        for (int b = 0; b < r->set.buffers; ++b)
            r->set.buffer[b].writer = r->set.buffer[b].read = 0;
        begin(r);
        record(r);
        check(r, wf_run(r->g));
        int d = s->rank - 1;
        while (d >= 0 && ++r->point[d] == s->dim[d])
            r->point[d--] = 0;
        any = d >= 0;
    }
}

static recorder *new_recorder(wf_context *ctx, way how, const uint8_t *data, size_t size, fz_notes *notes)
{
    recorder *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->ctx = ctx;
    r->how = how;
    r->in = fz_open(data, size);
    r->atomics = r->in.random % 4 == 3;
    r->turns = fz_open_back(data, size);
    r->notes = notes;
    if (how == IN_TURNS && r->in.random / 4 % 4 == 3)
        r->stream = wf_stream_new(ctx, 0);
    fz_arrays = in_turns(r);
    fz_make_arrays(ctx, &r->in, &r->set);
    fz_arrays = false;
    r->first_arrays = r->set.arrays;
    return r;
}

static void free_recorder(recorder *r)
{
    for (int i = 0; i < r->n; ++i)
        wf_release(r->pool[i].now);
    for (int k = 0; k < r->kept_n; ++k)
        wf_release(r->kept[k]);
    for (int k = 0; k < r->released_n && r->how == AT_ONCE; ++k)
        wf_release(r->released[k]);
    wf_stream_free(r->stream);
    fz_free_arrays(&r->set);
    free(r);
}

/* Runs the recording and collects all visible results in one block of bytes. */
static void run_noting(wf_context *ctx, way how, const uint8_t *data, size_t size, fz_notes *notes, fz_result *out)
{
    recorder *r = new_recorder(ctx, how, data, size, notes);
    if (how == POINTS)
        run_points(r, r->in);
    else {
        begin(r);
        record(r);
        if (how == KERNEL)
            launch(r);
        else
            check(r, wf_run(r->g));
    }
    for (int b = 0; b < r->set.buffers; ++b)
        fz_collect(ctx, out, r->set.buffer[b].whole);
    for (int k = 0; k < r->kept_n; ++k)
        fz_collect(ctx, out, r->kept[k]);
    for (int i = 0; i < r->set.arrays && fz_on_gpu; ++i) {
        wf_array *copy = wf_copy_to(r->set.array[i].a, WF_CPU);
        check(r, copy ? WF_OK : wf_last_status(ctx));
        fz_collect(ctx, out, copy);
        wf_release(copy);
    }
    out->inexact = r->inexact;
    out->whole_blocks = r->whole_blocks;
    free_recorder(r);
}

static void run(wf_context *ctx, way how, const uint8_t *data, size_t size, fz_result *out)
{
    run_noting(ctx, how, data, size, NULL, out);
}

/* One context for each vector width that the machine has; an unknown name gives the widest. */
static const char *const widths[] = { "", "avx2", "sse4.2" };
enum { WIDTHS = sizeof widths / sizeof *widths };
static wf_context *cpu_of[WIDTHS], *cpu_plain_of[WIDTHS], *interp, *interp_plain, *gpu, *gpu_plain;
enum {
    PLAIN = WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING | WF_FLAG_CALL_OPT | WF_FLAG_DEAD_CODE | WF_FLAG_TIERED
}; /* the flags that plain contexts lack */

static void leave(void)
{
    for (int w = 0; w < WIDTHS; ++w) {
        wf_context_free(cpu_of[w]);
        wf_context_free(cpu_plain_of[w]);
    }
    wf_context_free(interp);
    wf_context_free(interp_plain);
    wf_context_free(gpu);
    wf_context_free(gpu_plain);
}

/* Fails if a kernel cannot be compiled: it would be interpreted, and the compiled code would not be tested. */
static void no_failures(int level, const char *text, void *user)
{
    (void)user;
    if (level == 1 && strstr(text, "compiling a kernel failed")) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
}

static wf_context *context(wf_device device, uint32_t off)
{
    return wf_context_new(&(wf_config){ .size = sizeof(wf_config),
                                        .device = device,
                                        .threads = 2,
                                        .flags_on = WF_FLAG_NO_DISK_CACHE | WF_FLAG_TIERED,
                                        .flags_off = off,
                                        .log = no_failures });
}

static bool enter_cpu(void)
{
    const char *given = getenv("WEFT_ISA");
    bool ok = true;
    for (int w = 0; w < WIDTHS; ++w) {
        if (!given && w)
            setenv("WEFT_ISA", widths[w], 1);
        cpu_of[w] = context(WF_CPU, 0);
        cpu_plain_of[w] = context(WF_CPU, PLAIN);
        ok = ok && cpu_of[w] && cpu_plain_of[w];
    }
    if (!given)
        unsetenv("WEFT_ISA");
    return ok;
}

static void enter(void)
{
    const char *name = getenv("WEFT_FUZZ_DEVICE");
    wf_device device = name ? wf_device_named(name) : 0;
    fz_on_gpu = name != NULL;
    interp = context(WF_INTERP, 0);
    interp_plain = context(WF_INTERP, PLAIN);
    gpu = device >= WF_GPU(0) ? context(device, 0) : NULL;
    gpu_plain = gpu ? context(device, PLAIN) : NULL;
    if (!interp || !interp_plain || (name && !gpu_plain) || (!name && !enter_cpu())) {
        fprintf(stderr, "no context%s%s\n", name ? " on " : "", name ? name : "");
        abort();
    }
    atexit(leave);
}

/* A sum that spreads the inputs over the vector widths and the ways to compile. */
static unsigned sum_of(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; ++i)
        sum += data[i];
    return sum;
}

/* Runs the recording in turns in `ctx`, and at once in the oracle; in turns there as well if the order of sums is
 * visible. */
static void compare_turns(wf_context *oracle, wf_context *ctx, const uint8_t *data, size_t size)
{
    fz_notes notes = { 0 };
    fz_result want = { 0 }, got = { 0 };
    run_noting(ctx, IN_TURNS, data, size, &notes, &got);
    if (got.inexact)
        notes.n = 0;
    run_noting(oracle, got.inexact ? IN_TURNS : AT_ONCE, data, size, &notes, &want);
    fz_expect_same(&want, &got, "in turns and at once");
    fz_result_free(&want);
    fz_result_free(&got);
    free(notes.gone);
}

/* Runs the recording as a kernel that is launched many times, or in a frozen sequence. Sums have another order in debug
 * mode, so with `debug` both sides are in that mode. */
static void compare_again(wf_context *oracle, wf_context *ctx, bool debug, const uint8_t *data, size_t size)
{
    wf_context *both[] = { oracle, ctx };
    for (int i = 0; i < 2; ++i)
        wf_set_flags(both[i], debug ? WF_FLAG_DEBUG : 0, 0);
    if (fz_open_back(data, size).random % 2)
        compare_launches(oracle, ctx, data, size);
    else
        compare_frozen(oracle, ctx, data, size);
    for (int i = 0; i < 2; ++i)
        wf_set_flags(both[i], 0, WF_FLAG_DEBUG);
}

/* Compares turns on the processor or in the interpreter, with or without debug mode. */
static void compare_turns_cpu(wf_context *cpu, wf_context *cpu_plain, unsigned sum, const uint8_t *data, size_t size)
{
    bool plain = sum % 8 == 5, debug = sum % 8 == 6, on_cpu = sum % 3;
    wf_context *oracle = plain ? interp_plain : interp, *ctx = !on_cpu ? oracle : plain ? cpu_plain : cpu;
    fz_debug = debug;
    wf_set_flags(ctx, debug ? WF_FLAG_DEBUG : 0, 0);
    compare_turns(oracle, ctx, data, size);
    compare_again(oracle, ctx, debug, data, size);
    wf_set_flags(ctx, 0, WF_FLAG_DEBUG);
    fz_debug = false;
}

static void compare_cpu(const uint8_t *data, size_t size)
{
    unsigned sum = sum_of(data, size);
    wf_context *cpu = cpu_of[sum % WIDTHS], *cpu_plain = cpu_plain_of[sum % WIDTHS];
    unsigned only = sum / WIDTHS % 12; /* one of the ways, since compiling takes most of the time; or all of them */
    fz_reader peek = fz_open(data, size);
    fz_setup set;
    fz_choose_space(&peek, &set);
    fz_result want = { 0 }, plain = { 0 }, got = { 0 };
    if (getenv("WEFT_FUZZ_TRACE")) {
        run(interp, KERNEL, data, size, &got);
        fz_expect_same(&got, &got, "nothing");
        run(interp_plain, KERNEL, data, size, &got);
        fz_expect_same(&got, &got, "nothing");
    }
    run(interp, LAZY, data, size, &want);
    if (only % 3 == 0) {
        run(cpu, LAZY, data, size, &got);
        fz_expect_same(&want, &got, "interpreter and CPU");
    }
    if (only % 3 == 1 || !only) {
        run(cpu, KERNEL, data, size, &got);
        fz_expect_same(&want, &got, "a recording and the same as a kernel");
    }
    run(interp_plain, LAZY, data, size, &plain);
    if (only % 3 == 2 || !only) {
        run(cpu_plain, LAZY, data, size, &got);
        fz_expect_same(&plain, &got, "interpreter and CPU, without folding and value numbering");
    }
    if (only < 2) { /* fast math gives the same bits in all ways, too */
        fz_result fast = { 0 };
        wf_set_flags(cpu, WF_FLAG_FAST_MATH, 0);
        wf_set_flags(interp, WF_FLAG_FAST_MATH, 0);
        run(interp, LAZY, data, size, &fast);
        run(cpu, LAZY, data, size, &got);
        fz_expect_same(&fast, &got, "interpreter and CPU, with fast math");
        wf_set_flags(cpu, 0, WF_FLAG_FAST_MATH);
        wf_set_flags(interp, 0, WF_FLAG_FAST_MATH);
        fz_result_free(&fast);
    }
    if (!want.inexact) {
        fz_expect_same(&want, &plain, "with and without folding and value numbering");
        bool naive = true;
        if (set.kind == KIND_ARRAYS && !want.whole_blocks)
            run(interp_plain, EAGER, data, size, &got);
        else if (set.kind == KIND_SPACE && fz_points(&set.space) <= 64)
            run(interp_plain, POINTS, data, size, &got);
        else
            naive = false;
        if (naive)
            fz_expect_same(&want, &got, "the recording and its meaning");
    }
    compare_turns_cpu(cpu, cpu_plain, sum / WIDTHS / 12, data, size);
    fz_result_free(&want);
    fz_result_free(&plain);
    fz_result_free(&got);
}

/* Compares one of the ways, since the emulator is slow. */
static void compare_gpu(const uint8_t *data, size_t size)
{
    static const struct {
        way how;
        bool plain;
        uint32_t flags;
        const char *what;
    } ways[] = {
        { LAZY, false, 0, "interpreter and GPU" },
        { KERNEL, false, 0, "a recording and the same as a kernel on the GPU" },
        { LAZY, true, 0, "interpreter and GPU, without folding and value numbering" },
        { LAZY, false, WF_FLAG_FAST_MATH, "interpreter and GPU, with fast math" },
        { KERNEL, false, WF_FLAG_DEBUG, "interpreter and GPU, in debug mode" },
    };
    enum { ASSEMBLED = 24 };
    unsigned sum = sum_of(data, size), k = sum % FZ_COUNT(ways);
    wf_context *oracle = ways[k].plain ? interp_plain : interp, *device = ways[k].plain ? gpu_plain : gpu;
    fz_result want = { 0 }, got = { 0 };
    fz_debug = ways[k].flags & WF_FLAG_DEBUG;
    assemble_for = sum / FZ_COUNT(ways) % ASSEMBLED ? 0 : sum & 1 ? 80 : 70;
    wf_set_flags(oracle, ways[k].flags, 0);
    wf_set_flags(device, ways[k].flags, 0);
    if (getenv("WEFT_FUZZ_TRACE")) {
        run(device, KERNEL, data, size, &got);
        fz_expect_same(&got, &got, "nothing");
    }
    run(oracle, LAZY, data, size, &want);
    run(device, ways[k].how, data, size, &got);
    fz_expect_same(&want, &got, ways[k].what);
    wf_set_flags(oracle, 0, WF_FLAG_FAST_MATH | WF_FLAG_DEBUG);
    wf_set_flags(device, 0, WF_FLAG_FAST_MATH | WF_FLAG_DEBUG);
    if (ways[k].flags & WF_FLAG_DEBUG && !want.inexact) {
        run(oracle, LAZY, data, size, &got);
        fz_expect_same(&want, &got, "with and without debug mode");
    }
    compare_turns(oracle, device, data, size);
    compare_again(oracle, device, fz_debug, data, size);
    fz_result_free(&want);
    fz_result_free(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1024)
        return 0;
    if (!interp)
        enter();
    if (gpu)
        compare_gpu(data, size);
    else
        compare_cpu(data, size);
    return 0;
}
